"""Live points: what is added up over places of images, without those where a window reaches beyond the data.

In the gradient for filters the points are places, and the rows positions of a window. At each position the places that
have an element are those of a rectangle, and tables of places go through it alone: of each image that a block of points
meets, along its lines, of which the block may have a part.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.types.dim import evaluate
>>> kernel = parse_kernel('''
... kernel window(in x: f32[4480], out z: f32[1]):
...   for i < 8:
...     for j < 3:
...       for k < 560:
...         v0 = index k % 7 + j - 1
...         v1 = less_equal(0_i64, v0)
...         v2 = index 6
...         v3 = less_equal(v0, v2)
...         v4 = bitwise_and(v1, v3)
...         v5 = x[7*i + 56*(k//7) + k % 7 + j - 1] if v4 else 0.0_f32
...         z[0] add = v5
... ''')
>>> channels = kernel.body[0]
>>> positions = channels.body[0]
>>> *side, _ = positions.body[0].body
>>> live = live_points_of(Side(tuple(side), side[-1].result), [channels, positions], positions.body[0].index, (80, 7),
...                       LoopIndex(5))
>>> live.first, live.counts, live.parts.added
((max(1 - %5, 0),), (max(min(8 - %5, 7) - max(1 - %5, 0), 0),), (7*%1, %2 % 7 + 56*(%2//7)))
>>> count = live.range_of(positions.body[0].index, 0, 512)[1]  # 73 images and a place of the next
>>> [evaluate(count, {"%5": position}) for position in range(3)]
[438, 512, 439]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeGuard

from nervure.kernel.ir import CONTRACT_BLOCK, Address, Body, For, Load, Store, substituted
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.edges import without_condition
from nervure.kernel.schedule.products.extents import block_count
from nervure.kernel.schedule.products.lines import coordinates
from nervure.kernel.schedule.products.places import Parts, parts_of, place_of
from nervure.types.dim import DimLike, affine, dim_max, dim_min, index_symbols, product, simplify


class LivePoints(NamedTuple):
    """A side at the ``place`` of a number, a position of the window, of which there are so many, where its rows are
    channels; ``parts`` are what these and points add to where it lies. Of each image, whose places have these lengths,
    it has elements from the ``first`` on, so many along each length. ``indices`` count images and places.
    """

    side: Side
    parts: Parts
    place: LoopIndex
    places: int
    lengths: tuple[int, ...]
    first: tuple[DimLike, ...]
    counts: tuple[DimLike, ...]
    indices: tuple[LoopIndex, ...]

    def range_of(self, point: LoopIndex, start: DimLike, points: DimLike) -> tuple[DimLike, DimLike]:
        """Of a block of so many points the first in tables, and how many there are."""
        if self._fills_blocks():
            return 0, points // product(self.lengths) * product(self.counts)
        return 0, self._before(start + points) - self._before(start)

    def filled(self, added: DimLike, table: Load, point: LoopIndex, begin: DimLike, start: DimLike,
               points: DimLike) -> Body:
        """What fills a table with what each live point of a block adds to a place: of so many points from ``start`` on,
        the first of which is at ``begin``.
        """
        image, *along = self.indices
        ranges = {index.name: (0, length - 1) for index, length in zip(along, self.lengths, strict=True)}
        at = {point: begin - start + _number(self.indices, self.lengths)}
        place = simplify(substitute_indices(added, at), ranges)
        images, before, count = self._lines(start, points)
        inside, last = self._inside(start), along[-1]
        side = place_of(substitute_indices(place, {**inside, last: inside[last] + before}))
        line = substitute_indices(_number(self.indices, self.counts), {image: inside[image], last: before})
        first = line - self._before(start)
        body: Body = (*side.statements, Store(table.buffer, Address(first, ((last, 1),)), side.value))
        for index, extent in reversed(list(zip(self.indices, (images, *self.counts[:-1], count), strict=True))):
            body = (For(index, extent, body, vector=index is last),)
        return body

    def _lines(self, start: DimLike, points: DimLike) -> tuple[DimLike, DimLike, DimLike]:
        """Of a block of so many points, how many images it meets; and, of the live points of each line of these, how
        many are before it, and how many in it.
        """
        size, count, last = prod(self.lengths), self.counts[-1], self.indices[-1]
        if self._fills_blocks():
            return points // size, 0, count
        line = substitute_indices(_number(self.indices, self.lengths), {**self._inside(start), last: self.first[-1]})
        before, after = [dim_min(dim_max(point - line, 0), count) for point in (start, start + points)]
        return block_count(start + points, size) - start // size, before, after - before

    def _inside(self, start: DimLike) -> dict[LoopIndex, DimLike]:
        """Where indices are that count images from that of a point on, and in each of them live places."""
        image, *along = self.indices
        places = {index: first + index.dim for index, first in zip(along, self.first, strict=True)}
        return {image: start // product(self.lengths) + image.dim, **places}

    def _fills_blocks(self) -> bool:
        """Whether every block of points is one of whole images."""
        return CONTRACT_BLOCK % product(self.lengths) == 0

    def _before(self, point: DimLike) -> DimLike:
        """How many live points there are before a point."""
        found: DimLike = 0
        each: DimLike = 1
        for length, first, count in reversed(list(zip(self.lengths, self.first, self.counts, strict=True))):
            place, point = point % length, point // length
            before, after = [dim_min(dim_max(number - first, 0), count) for number in (place, place + 1)]
            found, each = before * each + (after - before) * found, each * count
        return point * each + found


def live_points_of(side: Side, rows: Sequence[For], point: LoopIndex, extents: Sequence[DimLike],
                   place: LoopIndex) -> LivePoints | None:
    """The live points of a side whose rows are channels and the positions of a window, and whose points are images, if
    there is more than one, and places, of such extents. None where it has others than those of a rectangle at each
    position.
    """
    found, (channels, *window) = without_condition(side), rows
    images = len(extents) - len(window)
    lengths = extents[images:]
    positions = product([loop.extent for loop in window])
    if found is None or not (isinstance(positions, int) and _are_numbers(lengths) and window and lengths):
        return None
    if min(lengths) < 1 or images not in (0, 1):
        return None
    _, *along = indices = [LoopIndex(place.number + 1 + d) for d in range(1 + len(lengths))]
    row = rows[-1].index
    moved = {**coordinates(place.dim, tuple([(loop.index, loop.extent) for loop in window])), channels.index: row.dim}
    bare = Side(substituted(found[0].statements, moved), side.value)
    ranges = {index.name: (0, length - 1) for index, length in zip((*along, place), (*lengths, positions), strict=True)}
    at = {**moved, point: _number(indices[-len(extents):], extents[1:])}
    margins = [simplify(substitute_indices(margin, at), ranges) for margin in found[1]]
    live = spans(margins, along, lengths, place)
    load = bare.element()
    parts = None if load is None else parts_of(load.address, row, point)
    if parts is None or live is None:
        return None
    return LivePoints(bare, parts, place, positions, tuple(lengths), *live, tuple(indices))


def spans(margins: Sequence[DimLike], along: Sequence[LoopIndex], lengths: Sequence[int],
          place: LoopIndex) -> tuple[tuple[DimLike, ...], tuple[DimLike, ...]] | None:
    """Along each length the first place at which no margin is negative, and how many there are; None where a margin
    depends on more than one of the places, or on anything else but the position.
    """
    first: dict[LoopIndex, DimLike] = dict.fromkeys(along, 0)
    end: dict[LoopIndex, DimLike] = dict(zip(along, lengths, strict=True))
    for margin in margins:
        used = [index for index in along if index.occurs_in(margin)]
        found = affine(margin, [index.name for index in used]) if len(used) == 1 else None
        if found is None or not index_symbols(found[1]) <= {place.name}:
            return None
        index, rest = used[0], found[1]
        step = found[0][index.name]
        if not isinstance(step, int):
            return None
        if step > 0:
            first[index] = dim_max(first[index], -(rest // step))
        else:
            end[index] = dim_min(end[index], rest // -step + 1)
    return tuple(first.values()), tuple([dim_max(end[index] - first[index], 0) for index in along])


def _number(indices: Sequence[LoopIndex], lengths: Sequence[DimLike]) -> DimLike:
    """The number of a point, where indices count images and, along these lengths, places."""
    image, *along = indices
    number: DimLike = image.dim
    for index, length in zip(along, lengths, strict=True):
        number = number * length + index.dim
    return number


def _are_numbers(lengths: Sequence[DimLike]) -> TypeGuard[Sequence[int]]:
    return all([isinstance(length, int) for length in lengths])
