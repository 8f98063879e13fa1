"""The types of functions: what each takes in a kernel, and what it gives.

>>> from nervure.types.dtype import complex64, float32, int8
>>> result_type("less", [float32, float32]), result_type("absolute", [complex64])
(nervure.bool, nervure.float32)
>>> result_type("convert", [float32], int8)
nervure.int8
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from nervure.errors import InternalError
from nervure.ops.scalar import SCALAR_FUNCTIONS, ScalarNamespace
from nervure.types.dtype import DType, bool_, complex64, complex128, float32, float64

TYPED = ("convert", "wrap", "bitcast", "constant")
"""The functions that carry the type of their result."""

PREDICATES = ("equal", "not_equal", "less", "less_equal", "is_nan", "is_inf", "is_finite")
"""The functions that give bool."""

_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right")
_ORDERED = ("floordivide", "modulo", "maximum", "minimum", "less", "less_equal", "floor", "ceil", "round", "truncate")
_EXACT = ("negative", "absolute", "sign", "add", "subtract", "multiply", "power", "fma", "equal", "not_equal", "is_nan",
          "is_inf", "is_finite", "real", "imaginary", "conjugate")
_REAL_OF = {complex64: float32, complex128: float64}
_COMPLEX_OF = {float32: complex64, float64: complex128}


def _arity(function: str) -> int:
    parameters = [name for name in inspect.signature(getattr(ScalarNamespace, function)).parameters if name != "self"]
    return len(parameters) - (function in TYPED)


ARITY = {function: _arity(function) for function in SCALAR_FUNCTIONS if function != "index"}
"""How many scalars each function takes. ``index`` is a statement of its own."""


def result_type(function: str, operands: Sequence[DType], carried: DType | None = None) -> DType:
    """The type that a function gives; InternalError where it does not take these operands.

    ``carried`` is the type that the statement carries, for the functions that carry one.
    """
    if function not in ARITY:
        raise InternalError(f"there is no function {function}")
    if len(operands) != ARITY[function]:
        raise InternalError(f"{function} takes {ARITY[function]} operands, not {len(operands)}")
    if function in TYPED:
        return _carried(function, operands[0], carried)
    if function == "where":
        return _chosen(operands)
    first = operands[0]
    if any([operand is not first for operand in operands]):
        raise InternalError(f"{function} takes operands of one type, not {_listed(operands)}")
    if not _takes(function, first):
        raise InternalError(f"{function} does not take {first}")
    if function == "complex":
        return _COMPLEX_OF[first]
    if function in ("real", "imaginary", "absolute"):
        return _REAL_OF.get(first, first)
    return bool_ if function in PREDICATES else first


def computes(dtype: DType) -> bool:
    """Whether functions compute with a type; elements of the others are converted first."""
    return not (dtype.is_low_precision or dtype.storage_only)


def _carried(function: str, operand: DType, carried: DType | None) -> DType:
    if carried is None:
        raise InternalError(f"{function} carries the type of its result")
    if function == "bitcast" and operand.bits != carried.bits:
        raise InternalError(f"bitcast keeps the width: {operand} has {operand.bits} bits, {carried} {carried.bits}")
    return carried


def _chosen(operands: Sequence[DType]) -> DType:
    condition, first, second = operands
    if condition is not bool_:
        raise InternalError(f"where takes a condition, not {condition}")
    if first is not second:
        raise InternalError(f"where takes two scalars of one type, not {_listed(operands[1:])}")
    return first


def _takes(function: str, dtype: DType) -> bool:
    if not computes(dtype):
        return False
    if function == "complex":
        return dtype in _COMPLEX_OF
    if function in _BITS:
        return dtype.is_integer or dtype.kind == "bool"
    if function in _ORDERED:
        return not dtype.is_complex
    return function in _EXACT or dtype.is_float or dtype.is_complex


def _listed(dtypes: Sequence[DType]) -> str:
    return ", ".join(map(str, dtypes))
