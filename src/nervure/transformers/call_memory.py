"""The memory of a call for its results and for its own use, as an expression over symbols.

>>> from nervure.types.dim import dim
>>> n = dim("a")
>>> str(CallMemory(1, 40 * n)), str(CallMemory(3, 40 * n * n + 128, is_exact=False))
('1 tensor, a * 4.0e-5 MB', '3 tensors, at most a**2 * 4.0e-5 + 1.28e-4 MB')
>>> megabytes(40 * n), megabytes(5_000_000)
('a * 4.0e-5', '5.0')

Results are one array each. Temporary values lie in one block, where values that are not needed at the same time share
memory. Their packing depends on the sizes, so in symbols the sum is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Leaf
from nervure.support.plurals import plural
from nervure.transformers.memory_estimate import needed
from nervure.types.dim import DimLike, terms


class CallMemory(NamedTuple):
    """``tensors`` is the number of results and temporary values, ``bytes`` the memory that they take: exactly, or at
    most.
    """

    tensors: int
    bytes: DimLike
    is_exact: bool = True

    def __str__(self) -> str:
        most = "" if self.is_exact else "at most "
        return f"{self.tensors} {plural(self.tensors, 'tensor')}, {most}{megabytes(self.bytes)} MB"


def megabytes(size: DimLike) -> str:
    """Returns a number of bytes in millions, with every digit; the value of a symbol comes first.

    >>> megabytes(40 * nv.dim("a") - 1200)
    'a * 4.0e-5 - 1.2e-3'
    """
    parts = []
    for coefficient, factor in terms(size):
        sign = " - " if coefficient < 0 else " + "
        number = _decimal(abs(coefficient))
        parts.append(sign + (number if factor == 1 else f"{_grouped(factor)} * {number}"))
    return "".join(parts).removeprefix(" + ").strip() or "0"


def _decimal(number: int) -> str:
    """Returns a positive number of bytes in millions: ``1.28e-4``, ``0.05``, ``5.0``."""
    digits = str(number)
    exponent = len(digits) - 7
    if exponent < -2:
        return f"{digits[0]}.{digits[1:].rstrip('0') or '0'}e{exponent}"
    whole, rest = digits[:-6] or "0", digits[-6:].rjust(6, "0").rstrip("0")
    return f"{whole}.{rest or '0'}"


def _grouped(factor: DimLike) -> str:
    """Returns a factor as it is written before a number."""
    text = str(factor)
    return f"({text})" if " " in text or "//" in text or "%" in text else text


def stored_values(function: Function, bindings: Mapping[str, int] | None) -> CallMemory:
    """Returns the memory of a call that stores every value except views and leaves, each until its last read.

    >>> x = nv.Parameter(nv.float32, (nv.dim("n"),))
    >>> str(stored_values(nv.Function([nv.ops.Exp(nv.ops.Exp(x))], [x]), None))
    '2 tensors, at most n * 8.0e-6 MB'
    """
    roots = set(function.roots)
    values = [value for op in function.operations for value in op.outputs
              if value in roots or not isinstance(op, (View, Leaf))]
    if bindings is not None:
        return CallMemory(len(values), needed(function, bindings)[0])
    return CallMemory(len(values), total([value.type.nbytes for value in values]), set(values) <= roots)


def total(sizes: Iterable[DimLike]) -> DimLike:
    """Returns the sum of sizes."""
    found: DimLike = 0
    for size in sizes:
        found = found + size
    return found
