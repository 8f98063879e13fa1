"""Offsets of the elements of an operand: what a row adds to an address, what k adds, and the rest.

A product may read an operand where it lies, although its rows and its k are no regular steps through memory, if tables
say how far each of them moves it.

>>> from nervure.kernel.ir import Buffer, Variable
>>> from nervure.kernel.loop_index import LoopIndex
>>> from nervure.types.dtype import float32
>>> line, place, channel = [LoopIndex(number) for number in range(3)]
>>> rows, k = Grid(LoopIndex(3), ((line, 4), (place, 4))), Grid(channel, ((channel, 8),))
>>> x = Variable(float32)
>>> load = Load(x, Buffer("x", float32, 300, "in"), Address(7, ((line, 60), (place, 10), (channel, 1))))
>>> offsets_of(Side((load,), x), rows, k)
Offsets(of=(60*%0 + 10*%1, %2), rest=Address(base=7, steps=(), terms=()))
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.kernel.ir import Address, Load
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.boxes import Grid
from nervure.types.dim import DimLike, terms


class Offsets(NamedTuple):
    """The part of an address that the point of each grid adds, by its indices or its number, and the rest of it."""

    of: tuple[DimLike, ...]
    rest: Address


def offsets_of(side: Side | Load, *grids: Grid) -> Offsets | None:
    """Returns the offsets of an operand that is but read; None where what one grid adds depends on another one."""
    load = side if isinstance(side, Load) else side.element()
    if load is None or load.address.terms:
        return None
    indices = [grid.every for grid in grids]
    added: list[DimLike] = [sum([step * index.dim for index, step in load.address.steps if index in own], start=0)
                            for own in indices]
    rest: DimLike = 0
    for coefficient, factor in terms(load.address.base):
        found = [number for number, own in enumerate(indices) if any([index.occurs_in(factor) for index in own])]
        if len(found) > 1:
            return None
        if found:
            added[found[0]] = added[found[0]] + coefficient * factor
        else:
            rest = rest + coefficient * factor
    every = set.union(*indices)
    steps = tuple([(index, step) for index, step in load.address.steps if index not in every])
    return Offsets(tuple(added), Address(rest, steps))
