"""Divisions of loop indices in the addresses and expressions of a kernel, and those that a loop can count.

The positions of rows in several loops that became one, and of places with others inserted between them, are quotients
and remainders of an index. Counting them along the loop takes an addition and a comparison; dividing takes longer than
moving a row of a few elements.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel turned(in x: f32[60], out y: f32[60]):
...   for i < 5 parallel:
...     for j < 12:
...       v0 = x[12*i + j]
...       y[4*i + 20*((i + j) % 4) + (i + j)//4] = v0
... ''')
>>> counted_divisions(kernel.body[0].body[0])
[Division(dividend=%0 + %1, divisor=4)]
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from nervure.kernel.ir import Access, For, Index, Loop, Statement, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.types.dim import DimLike, affine, index_symbols, less_equal
from nervure.types.dim.polynomial import Kind
from nervure.types.dim.queries import index_terms


class Division(NamedTuple):
    """The dividend and the divisor of a division in a loop."""

    dividend: DimLike
    divisor: DimLike


def divisions(body: Iterable[Statement], index: LoopIndex) -> list[Division]:
    """Returns the divisions in a ``body`` of what depends on an ``index``, each once, in order."""
    found = [division for entry in walk(body) if isinstance(entry, (Access, Index)) and index.occurs_in(bent(entry))
             for division in _divisions(bent(entry)) if index.occurs_in(division.dividend)]
    return list(dict.fromkeys(found))


def bent(entry: Access | Index) -> DimLike:
    """Returns the part of a statement that need not be affine."""
    return entry.address.base if isinstance(entry, Access) else entry.expression


@lru_cache(maxsize=4096)
def _divisions(x: DimLike) -> tuple[Division, ...]:
    factors = [factor for _, factors in index_terms(x) for factor in factors]
    own = [Division(*factor.operands) for factor in factors if factor.kind in (Kind.FLOOR_DIVIDE, Kind.REMAINDER)]
    return (*own, *[below for factor in factors for operand in factor.operands for below in _divisions(operand)])


def counted_divisions(loop: For) -> list[Division]:
    """Returns the divisions inside of a loop that can be counted. The divisor is a number of at least 1. The dividend
    depends on outer indices and the loop's own, grows by 1 from iteration to iteration and is never negative.
    """
    found = divisions(loop.body, loop.index)
    if not found:
        return []
    inner = {index.name for entry in walk(loop.body) if isinstance(entry, Loop) for index, _ in entry.indices}
    return [division for division in found if _is_counted(division, loop.index, inner)]


def _is_counted(division: Division, index: LoopIndex, inner: set[str]) -> bool:
    parts = affine(division.dividend, [index.name])
    is_counted = (parts is not None and parts[0][index.name] == 1 and not index_symbols(division.divisor)
                  and inner.isdisjoint(index_symbols(division.dividend)))
    return is_counted and less_equal(0, division.dividend) is True and less_equal(1, division.divisor) is True
