"""Margins of a condition: affine numbers, none of which is negative where the condition holds.

Borders of loops, operands of products and masks of attention are all comparisons of places, joined by "and". One
reading of them says by how much each is fulfilled, and whether the condition says anything else besides.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel window(in x: f32[16], out z: f32[16]):
...   for i < 16:
...     v0 = index i - 1
...     v1 = less_equal(0_i64, v0)
...     v2 = index 9
...     v3 = less(v0, v2)
...     v4 = bitwise_and(v1, v3)
...     v5 = x[i - 1] if v4 else 0.0_f32
...     z[i] = v5
... ''')
>>> *statements, load, _ = kernel.body[0].body
>>> margins_of(load.valid, {entry.result: entry for entry in statements})
Margins(known=(%0 - 1, 9 - %0), is_whole=True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.kernel.ir import Apply, Index, Literal, Scalar, Statement, Variable
from nervure.types.dim import DimLike


class Margins(NamedTuple):
    """Numbers that are not negative where a condition holds; ``is_whole`` if it holds wherever none is negative."""

    known: tuple[DimLike, ...]
    is_whole: bool


NOTHING_KNOWN = Margins((), is_whole=False)


def margins_of(condition: Scalar, defined: Mapping[Variable, Statement]) -> Margins:
    """Returns the margins of a condition whose parts ``defined`` gives: of comparisons of places that all hold."""
    made = defined.get(condition) if isinstance(condition, Variable) else None
    if not isinstance(made, Apply):
        return NOTHING_KNOWN
    if made.function == "bitwise_and":
        left, right = [margins_of(operand, defined) for operand in made.operands]
        return Margins(left.known + right.known, left.is_whole and right.is_whole)
    if made.function not in ("less_equal", "less"):
        return NOTHING_KNOWN
    low, high = [_place(operand, defined) for operand in made.operands]
    if low is None or high is None:
        return NOTHING_KNOWN
    return Margins((high - low - (made.function == "less"),), is_whole=True)


def _place(x: Scalar, defined: Mapping[Variable, Statement]) -> DimLike | None:
    """Returns an integer that follows from indices and sizes, as a dimension; None for any other scalar."""
    if isinstance(x, Literal):
        return x.value if type(x.value) is int else None
    made = defined.get(x)
    return made.expression if isinstance(made, Index) else None
