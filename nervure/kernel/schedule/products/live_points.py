"""Live points: what is added up over places of images, without those where a window reaches beyond the data.

In the gradient for filters the points are places, and the rows positions of a window. At each position the places that
have an element are those of a rectangle, and tables of places go through it alone, image by image.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel window(in x: f32[4096], out z: f32[1]):
...   for i < 8:
...     for j < 3:
...       for k < 512:
...         v0 = index k % 8 + j - 1
...         v1 = less_equal(0_i64, v0)
...         v2 = index 7
...         v3 = less_equal(v0, v2)
...         v4 = bitwise_and(v1, v3)
...         v5 = x[8*i + 64*(k//8) + k % 8 + j - 1] if v4 else 0.0_f32
...         z[0] add = v5
... ''')
>>> channels = kernel.body[0]
>>> positions = channels.body[0]
>>> *side, _ = positions.body[0].body
>>> live = live_points_of(Side(tuple(side), side[-1].result), [channels, positions], positions.body[0].index, (64, 8),
...                       LoopIndex(5))
>>> live.first, live.counts, live.parts.added
((max(1 - %5, 0),), (max(min(9 - %5, 8) - max(1 - %5, 0), 0),), (8*%1, %2 % 8 + 64*(%2//8)))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from nervure.kernel.ir import CONTRACT_BLOCK, Address, Body, For, Load, Store, substituted
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.edges import without_condition
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
        """Of a block of so many points, those of whole images, the first in tables and how many there are."""
        return 0, points // product(self.lengths) * product(self.counts)

    def filled(self, added: DimLike, table: Load, point: LoopIndex, start: DimLike, points: DimLike) -> Body:
        """What fills a table with what each live point of a block adds to a place."""
        image, *along = self.indices
        number: DimLike = image.dim
        for index, count in zip(along, self.counts, strict=True):
            number = number * count + index.dim
        ranges = {index.name: (0, length - 1) for index, length in zip(along, self.lengths, strict=True)}
        place = simplify(substitute_indices(added, {point: start + _number(self.indices, self.lengths)}), ranges)
        inside = {index: first + index.dim for index, first in zip(along, self.first, strict=True)}
        side, last = place_of(substitute_indices(place, inside)), along[-1]
        body: Body = (*side.statements, Store(table.buffer, Address(number - last.dim, ((last, 1),)), side.value))
        loops = zip((image, *along), (points // product(self.lengths), *self.counts), strict=True)
        for index, extent in reversed(list(loops)):
            body = (For(index, extent, body, vector=index is last),)
        return body


def live_points_of(side: Side, rows: Sequence[For], point: LoopIndex, extents: Sequence[DimLike],
                   place: LoopIndex) -> LivePoints | None:
    """The live points of a side whose rows are channels and the positions of a window, and whose points are images and
    places, of such extents. None where it has others than those of a rectangle at each position,
    or where blocks of points are not of whole images.
    """
    found, (channels, *window), lengths = without_condition(side), rows, extents[1:]
    positions = product([loop.extent for loop in window])
    if found is None or not (isinstance(positions, int) and _are_numbers(lengths) and window and lengths):
        return None
    if min(lengths) < 1 or CONTRACT_BLOCK % product(lengths):
        return None
    _, *along = indices = [LoopIndex(place.number + 1 + d) for d in range(len(extents))]
    row = rows[-1].index
    moved = {**coordinates(place.dim, tuple([(loop.index, loop.extent) for loop in window])), channels.index: row.dim}
    bare = Side(substituted(found[0].statements, moved), side.value)
    ranges = {index.name: (0, length - 1) for index, length in zip((*along, place), (*lengths, positions), strict=True)}
    at = {**moved, point: _number(indices, lengths)}
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
