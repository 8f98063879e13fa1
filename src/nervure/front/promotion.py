"""Type promotion: the element type of a mixture of types.

Between tensors bool < integers < floats < complex; inside a kind the wider wins. Python and NumPy scalars are weak:
they take the tensors' type unless their own kind is higher.

>>> from nervure.types.dtype import bfloat16, float16, int8, uint8
>>> promote([float16, bfloat16]), promote([int8, uint8]), promote([int8], [float])
(nervure.float32, nervure.int16, nervure.float32)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nervure.errors import WrongKind
from nervure.front.traced_numbers import TracedNumber
from nervure.types import dtype as types
from nervure.types.dtype import DType

_RANK = {"bool": 0, "int": 1, "uint": 1, "float": 2, "complex": 3}
_DEFAULT = {0: types.bool_, 1: types.int32, 2: types.float32, 3: types.complex64}
_WEAK_RANK = {bool: 0, int: 1, float: 2, complex: 3}
_SIGNED = {8: types.int8, 16: types.int16, 32: types.int32, 64: types.int64}


def promote(strong: Iterable[DType], weak: Iterable[type] = (), op: str = "promotion") -> DType:
    """The common type of tensors of types ``strong`` and of weak scalars of Python types ``weak``.

    Raises WrongKind (a TypeError) if there is none: for uint64 with a signed integer, and float8 or smaller types with
    any other.
    """
    result: DType | None = None
    for entry in strong:
        result = entry if result is None else _pair(result, entry, op)
    rank = max((_WEAK_RANK[entry] for entry in weak), default=0)
    if result is None:
        return _DEFAULT[rank]
    if rank <= _RANK[result.kind]:
        return result
    if result.storage_only:
        raise _no_promotion(result, _DEFAULT[rank], op)
    return types.complex128 if rank == 3 and result is types.float64 else _DEFAULT[rank]


def weak_type(value: object) -> type:
    """The Python type that stands for a scalar's kind."""
    if isinstance(value, TracedNumber):
        value = value.example
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return kind
    kind_of = {"b": bool, "i": int, "u": int, "c": complex}
    return kind_of.get(getattr(getattr(value, "dtype", None), "kind", "f"), float)


def type_alone(number: object) -> DType:
    """The element type of a scalar without tensors beside it: float32 for Python's ints and floats."""
    if isinstance(number, TracedNumber):
        number = number.example
    if isinstance(number, np.generic) and number.dtype != np.float64:
        return types.as_dtype(number.dtype)
    kind = weak_type(number)
    return promote([], [kind]) if kind in (bool, complex) else types.float32


def floating(dtype: DType) -> DType:
    """The type in which a function of real numbers takes an argument: integers and bool become float32."""
    return dtype if dtype.is_float or dtype.is_complex else types.float32


def accumulating(dtype: DType) -> DType:
    """The type of sums and products: bool and integers under 32 bits become int32 (uint32)."""
    if dtype.kind == "bool" or (dtype.kind == "int" and dtype.bits < 32):
        return types.int32
    return types.uint32 if dtype.kind == "uint" and dtype.bits < 32 else dtype


def _pair(left: DType, right: DType, op: str) -> DType:
    if left is right:
        return left
    if left.storage_only or right.storage_only:
        raise _no_promotion(left, right, op)
    low, high = sorted((left, right), key=lambda entry: _RANK[entry.kind])
    if _RANK[low.kind] != _RANK[high.kind]:
        wide = high is types.complex64 and low is types.float64
        return types.complex128 if wide else high
    if {left.kind, right.kind} == {"int", "uint"}:
        return _mixed_signs(left, right, op)
    if left.bits == right.bits:
        return types.float32  # float16 with bfloat16: neither holds the other
    return left if left.bits > right.bits else right


def _mixed_signs(left: DType, right: DType, op: str) -> DType:
    signed, unsigned = (left, right) if left.kind == "int" else (right, left)
    if unsigned.bits < signed.bits:
        return signed
    if unsigned.bits == 64:
        raise _no_promotion(left, right, op)
    return _SIGNED[2 * unsigned.bits]


def _no_promotion(left: DType, right: DType, op: str) -> WrongKind:
    return WrongKind("the element types have no common type", op=op, got=f"{left.name} and {right.name}",
                     expected="types of which one holds the values of both",
                     help="convert one first: x.astype(nv.float32)")
