"""Places of the elements of a side as sums: of what a row adds, what a point adds, and the rest.

A product may read a side where it lies, although its rows and points are no regular steps through memory, if tables
say what each of them adds to the place.

>>> from nervure.kernel.loop_index import LoopIndex
>>> row, point = LoopIndex(0), LoopIndex(1)
>>> address = Address(row.dim // 3 * 100 + row.dim % 3 + point.dim // 8 * 10 + 7, ((point, 1),))
>>> parts_of(address, row, point)
Parts(added=(%0 % 3 + 100*(%0//3), %1 + 10*(%1//8)), rest=Address(base=7, steps=(), terms=()))
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.kernel.ir import Address, Index, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import Side
from nervure.types.dim import DimLike, terms
from nervure.types.dtype import int64


class Parts(NamedTuple):
    """What each of some indices adds to an address, and the rest of it."""

    added: tuple[DimLike, ...]
    rest: Address


def parts_of(address: Address, *wanted: LoopIndex) -> Parts | None:
    """An address in parts; None if what an index adds depends on another one."""
    if address.terms:
        return None
    added: dict[LoopIndex, DimLike] = {index: address.step(index) * index.dim for index in wanted}
    rest: DimLike = 0
    for coefficient, factor in terms(address.base):
        found = [index for index in wanted if index.occurs_in(factor)]
        if len(found) > 1:
            return None
        if found:
            added[found[0]] = added[found[0]] + coefficient * factor
        else:
            rest = rest + coefficient * factor
    steps = tuple([(index, step) for index, step in address.steps if index not in wanted])
    return Parts(tuple(added.values()), Address(rest, steps))


def place_of(place: DimLike) -> Side:
    """A place as a side that is computed."""
    value = Variable(int64)
    return Side((Index(value, place),), value)
