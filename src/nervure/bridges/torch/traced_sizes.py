"""Lengths that PyTorch knows as expressions over symbols become dimensions.

>>> import sympy
>>> s = sympy.Symbol("s0", integer=True)
>>> dimension(2 * s + 1, {})
2*s0 + 1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce

import sympy
import torch
from torch.utils._sympy.functions import (
    CleanDiv,
    FloatPow,
    FloatTrueDiv,
    FloorDiv,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    PythonMod,
    ToFloat,
)

from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.leaves import Full
from nervure.ir.op import Value
from nervure.ops.statistics import Extent
from nervure.types.dim import DimLike, dim, dim_max, dim_min
from nervure.types.dtype import float64

LARGEST = 2**62
"""Bounds above this are none."""


def length_of(size: int | torch.SymInt) -> DimLike:
    """Returns a length of a traced tensor, or an integer of a traced program, as a dimension."""
    if isinstance(size, int):
        return size
    node = size.node
    ranges = node.shape_env.var_to_range if node.shape_env is not None else {}
    return dimension(node.expr, ranges)


def dimension(expression: Foreign, ranges: Mapping[Foreign, Foreign]) -> DimLike:
    """Returns a sympy expression over lengths as a dimension; ``ranges`` has the bounds of its symbols."""
    if isinstance(expression, (int, sympy.Integer)):
        return int(expression)
    if isinstance(expression, sympy.Symbol):
        return _symbol(expression, ranges)
    parts = [dimension(part, ranges) for part in expression.args]
    if isinstance(expression, sympy.Add):
        return sum(parts[1:], parts[0])
    if isinstance(expression, sympy.Mul):
        return math.prod(parts[1:], start=parts[0])
    if isinstance(expression, sympy.Pow) and isinstance(parts[1], int) and 0 <= parts[1] <= 8:
        return math.prod([parts[0]] * parts[1])
    if isinstance(expression, (FloorDiv, CleanDiv)):
        return parts[0] // parts[1]
    if isinstance(expression, (Mod, PythonMod)):
        return parts[0] % parts[1]
    if isinstance(expression, (Max, sympy.Max)):
        return dim_max(*parts)
    if isinstance(expression, (Min, sympy.Min)):
        return dim_min(*parts)
    raise Unsupported(f"the length {expression}")


def fraction_of(size: torch.SymFloat) -> Value:
    """Returns a fraction of a traced program as a float64 value without dimensions."""
    node = size.node
    return _fraction(node.expr, node.shape_env.var_to_range)


def _fraction(expression: Foreign, ranges: Mapping[Foreign, Foreign]) -> Value:
    if isinstance(expression, (int, float, sympy.Number)):
        return Full(float(expression), float64, ()).output
    if expression.is_integer:
        return Extent(dimension(expression, ranges), float64, ()).output
    parts = [_fraction(part, ranges) for part in expression.args]
    if isinstance(expression, sympy.Add):
        return reduce(lambda x, y: x + y, parts)
    if isinstance(expression, sympy.Mul):
        return reduce(lambda x, y: x * y, parts)
    if isinstance(expression, (IntTrueDiv, FloatTrueDiv)):
        return parts[0] / parts[1]
    if isinstance(expression, ToFloat):
        return parts[0]
    if isinstance(expression, (sympy.Pow, FloatPow)):
        return parts[0] ** parts[1]
    raise Unsupported(f"the number {expression}")


def _symbol(symbol: Foreign, ranges: Mapping[Foreign, Foreign]) -> DimLike:
    if not str(symbol).startswith("s"):
        raise Unsupported(f"the length {symbol}, which depends on data")
    found = ranges.get(symbol)
    low = _bound(found.lower) if found is not None else None
    high = _bound(found.upper) if found is not None else None
    if low is not None and low < 0:
        raise Unsupported(f"the number {symbol}, which may be negative")
    if high is not None and high < 0:
        raise Unsupported(f"the number {symbol}, which is negative")
    return dim(str(symbol), min=low or 0, max=high)


def _bound(entry: Foreign) -> int | None:
    """Returns a bound of a symbol, or None if there is none in practice."""
    is_number = isinstance(entry, (int, sympy.Integer)) and abs(int(entry)) < LARGEST
    return int(entry) if is_number else None
