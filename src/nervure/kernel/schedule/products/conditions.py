"""Conditions of an operand that is 0 outside of its data: where it has elements, and how these are loaded.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel window(in x: f32[16], out z: f32[1]):
...   for i < 4:
...     for j < 3:
...       v0 = index i + j - 1
...       v1 = less_equal(0_i64, v0)
...       v2 = index 3
...       v3 = less_equal(v0, v2)
...       v4 = bitwise_and(v1, v3)
...       v5 = x[4*i + 4*j - 4] if v4 else 0.0_f32
...       z[0] add = v5
... ''')
>>> *side, _ = kernel.body[0].body[0].body
>>> bare, margins = without_condition(Side(tuple(side), side[-1].result))
>>> len(bare.statements), margins
(1, (%0 + %1 - 1, 4 - %0 - %1))
"""

from __future__ import annotations

from nervure.kernel.ir import Apply, Index, Literal, Load
from nervure.kernel.margins import margins_of
from nervure.kernel.routines import Side
from nervure.support.replacing import replace
from nervure.types.dim import DimLike


def without_condition(side: Side) -> tuple[Side, tuple[DimLike, ...]] | None:
    """Returns an operand without the condition where it is not 0, and the margins none of which is negative there.

    None for an operand that is no load, or is read under another condition than comparisons of places.
    """
    *before, load = side.statements
    if not isinstance(load, Load) or load.valid is None or load.result is not side.value:
        return None
    if not isinstance(load.fill, Literal) or load.fill.value != 0:
        return None
    if not all([isinstance(entry, Index | Apply) for entry in before]):
        return None
    margins = margins_of(load.valid, {entry.results[0]: entry for entry in before})
    return (Side((replace(load, valid=None, fill=None),), load.result), margins.known) if margins.is_whole else None
