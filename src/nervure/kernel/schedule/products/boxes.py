"""Grids and boxes: tuples of loop indices in row-major order, and the loops through a part of them.

The rows of a product, and what it adds up over, are grids: the images, lines and columns of a result; the rows, columns
and channels of a window. A task has a block of such numbers, a region of the result a box of coordinates; loops go
through what is in both, and number it from 0 on.

>>> window, channel = LoopIndex(0), LoopIndex(1)
>>> grid = Grid(LoopIndex(2), ((window, 9), (channel, 256)))
>>> walk = grid.box({window: Range(3, 6, 9)}).walk(start=1024, count=512, unit=512)
>>> walk.loops, walk.at[window], walk.position
(((%0, 2), (%1, 256)), %0 + 4, 256*%0 + %1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nervure.kernel.ir import Body, For, Load, Statement, substituted
from nervure.kernel.loop_index import Indices, LoopIndex, position_among
from nervure.kernel.routines import Side
from nervure.kernel.schedule.loop_partition import Range
from nervure.kernel.simplify.loops import walks_on
from nervure.types.dim import DimLike, dim_max, dim_min, equal, product, simplify


class Grid(NamedTuple):
    """The points of ``indices``, from the outside in. ``number`` is an index that counts them in row-major order: the
    only one of them, if there is one.
    """

    number: LoopIndex
    indices: Indices

    @property
    def extent(self) -> DimLike:
        """The number of points."""
        return product([extent for _, extent in self.indices])

    @property
    def last(self) -> LoopIndex:
        """The innermost index."""
        return self.indices[-1][0]

    @property
    def number_of(self) -> DimLike:
        """The number of a point, by its indices."""
        return position_among(self.indices)

    @property
    def every(self) -> set[LoopIndex]:
        """All indices, and that of the number of a point."""
        return {self.number, *[index for index, _ in self.indices]}

    def is_in(self, *statements: Statement) -> bool:
        """Whether statements depend on single indices, not on the number alone."""
        return any([entry.mentions(index) for entry in statements for index, _ in self.indices
                    if index is not self.number])

    def numbered(self, body: Body) -> Body:
        """Statements that depend on the number alone, if they walk on through all indices; else the same ones."""
        *outer, (inner, extent) = self.indices
        found = body
        for index, count in reversed(outer):
            if not walks_on(found, index, inner, extent):
                return body
            found, extent = substituted(found, {index: 0}), count * extent
        return substituted(found, {inner: self.number.dim}) if inner is not self.number else found

    def numbered_side(self, side: Side) -> Side:
        """Returns the same of an operand."""
        return side._replace(statements=self.numbered(side.statements))

    def merged(self, body: Body) -> tuple[Grid, Body]:
        """Returns the grid without indices that statements walk on through, and the statements over what is left."""
        if not self.is_in(*body):
            return self, body
        indices: list[tuple[LoopIndex, DimLike]] = []
        for index, extent in reversed(self.indices):
            if indices and walks_on(body, index, *indices[0]):
                (inner, inside), body = indices[0], substituted(body, {index: 0})
                indices[0] = inner, extent * inside
            else:
                indices.insert(0, (index, extent))
        return self._replace(indices=tuple(indices)), body

    def walk(self, statements: Body, start: DimLike, count: DimLike, unit: int) -> Walk:
        """Returns the loops through ``count`` points from ``start`` on, both multiples of ``unit`` if the grid goes on.

        There is one loop where ``statements`` depend on the number of a point alone.
        """
        if self.is_in(*statements):
            return self.box().walk(start, count, unit)
        number = self.number
        return Walk(((number, count),), {number: start + number.dim}, number.dim)

    def box(self, ranges: Mapping[LoopIndex, Range] | None = None,
            known: Mapping[str, tuple[int, int]] | None = None) -> Box:
        """Returns the points whose indices are in these ranges, where they have one."""
        found = [(ranges or {}).get(index, Range(0, extent, extent)) for index, extent in self.indices]
        return Box(self, tuple(found), known or {})


def element(side: Side, *grids: Grid) -> Load | None:
    """Returns the load that an operand is, if it moves by a fixed step from each point of some grids to the next."""
    load = side.element(*[grid.number for grid in grids])
    return None if load is None or any([grid.is_in(load) for grid in grids]) else load


def moving(side: Side, grid: Grid) -> LoopIndex:
    """Returns the index with which an operand goes through the points of a grid: their number, or the last loop."""
    return grid.last if grid.is_in(*side.statements) else grid.number


class Walk(NamedTuple):
    """Loops through some points of a grid in order.

    Its indices are ``at`` these values, and ``position`` is that of a point among all: it goes on by 1 with the last
    loop. Of ``is_rectangular`` ones no loop's extent depends on another loop.
    """

    loops: Indices
    at: Mapping[LoopIndex, DimLike]
    position: DimLike
    is_rectangular: bool = True

    @property
    def inner(self) -> tuple[LoopIndex, DimLike]:
        """The last loop."""
        return self.loops[-1]

    def around(self, body: Body) -> Body:
        """Returns all loops but the last, around a body."""
        for index, extent in reversed(self.loops[:-1]):
            body = (For(index, extent, body),)
        return body


@dataclass(frozen=True, eq=False, slots=True)
class Box:
    """The points of a grid each of whose indices is in a range. Ranges may depend on indices of which the values are
    ``known`` to be between two numbers.
    """

    grid: Grid
    ranges: tuple[Range, ...]
    known: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    _walks: dict[tuple[DimLike, DimLike, int], Walk] = field(default_factory=dict)  # that have been asked for

    @property
    def is_whole(self) -> bool:
        """Whether it has all points of the grid."""
        return self.ranges == tuple([Range(0, extent, extent) for _, extent in self.grid.indices])

    def before(self, number: DimLike, unit: int) -> DimLike:
        """Returns the points of the box with a smaller ``number``, which is a multiple of ``unit`` or the end of the
        grid.
        """
        if self.is_whole:
            return number
        found: DimLike = 0
        extents, counts = [extent for _, extent in self.grid.indices], [own.length for own in self.ranges]
        for axis, (first, count, _) in enumerate(self.ranges):
            inside, is_all = product(extents[axis + 1:]), first == 0 and count == extents[axis]
            if isinstance(inside, int) and inside > 0 and unit % inside == 0:
                place = number // inside
                place = place if is_all else dim_min(dim_max(place - first, 0), count)
                found = found + place * product(counts[axis + 1:])
                break
            if not is_all:  # a number in front of the range or behind it is that of its first point or of its end
                number = dim_min(dim_max(number - first * inside, 0), count * inside)
            found, number = found + number // inside * product(counts[axis + 1:]), number % inside
        return found

    def points(self, start: DimLike, count: DimLike, unit: int) -> DimLike:
        """Returns the number of points of the box among ``count`` of the grid from ``start`` on.

        Both are multiples of ``unit`` if the grid goes on.
        """
        if self.is_whole:
            return count
        walk = self.walk(start, count, unit)
        if walk.is_rectangular:
            return product([extent for _, extent in walk.loops])
        return simplify(self.before(start + count, unit) - self.before(start, unit), self.known)

    def walk(self, start: DimLike, count: DimLike, unit: int) -> Walk:
        """Loops through those points of the box that are among ``count`` of the grid from ``start`` on. Both are
        multiples of ``unit``, or end with the grid.
        """
        if (start, count, unit) not in self._walks:
            self._walks[start, count, unit] = self._walk(start, count, unit)
        return self._walks[start, count, unit]

    def _walk(self, start: DimLike, count: DimLike, unit: int) -> Walk:
        extents, end = [extent for _, extent in self.grid.indices], start + count
        is_exact = start == 0 and equal(count, self.grid.extent) is True
        is_rectangular = True  # no loop's extent depends on another loop
        are_known = all([isinstance(extent, int) for extent in extents[1:]])
        number: DimLike = 0  # of the first point where the outer loops are
        rank: DimLike = 0
        turn: DimLike = 0
        loops, at = list[tuple[LoopIndex, DimLike]](), dict[LoopIndex, DimLike]()
        for axis, ((index, extent), (first, own, last)) in enumerate(zip(self.grid.indices, self.ranges, strict=True)):
            inside, begin, turns = product(extents[axis + 1:]), first, own
            is_aligned = isinstance(inside, int) and inside > 0 and unit % inside == 0
            if not is_exact and (axis == 0 or is_aligned or are_known):
                lowest, highest = (start - number) // inside, (end - number + (inside - 1)) // inside
                is_all = axis == 0 and (first, own) == (0, extent)
                begin, last = (lowest, highest) if is_all else (dim_max(first, lowest), dim_min(last, highest))
                turns = count // inside if is_all and is_aligned else dim_max(last - begin, 0)
                is_exact, is_rectangular = is_aligned, axis == 0
            at[index], turns = [simplify(entry, self.known) for entry in (begin, turns)]
            turn = turn * turns
            if turns != 1 or axis == len(extents) - 1 and not loops:
                loops.append((index, turns))
                at[index], turn = at[index] + index.dim, turn + index.dim
            number = number + at[index] * inside
            rank = rank * own + (at[index] - first)
        if not is_rectangular:
            turn = simplify(rank - self.before(start, unit), self.known)
        return Walk(tuple(loops), at, turn, is_rectangular)
