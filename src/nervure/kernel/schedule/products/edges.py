"""Edges: where windows reach beyond the data, points that have no element are left out of products.

A side that is 0 outside of its data is read under a condition. Where that is the same for all channels of a position of
the window, and for all images at a place, those points of a block that have an element are a range, and the images at
a place are multiplied by them alone. So nobody stores zeros around the data, or multiplies them.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel window(in x: f32[65536], out z: f32[1]):
...   for i < 4:
...     for j < 1536:
...       v0 = index i + j//512 - 1
...       v1 = less_equal(0_i64, v0)
...       v2 = index 3
...       v3 = less_equal(v0, v2)
...       v4 = bitwise_and(v1, v3)
...       v5 = x[j % 512 + 4096*i + 4096*(j//512) - 4096] if v4 else 0.0_f32
...       z[0] add = v5
... ''')
>>> place, point = kernel.body[0].index, kernel.body[0].body[0].index
>>> *side, _ = kernel.body[0].body[0].body
>>> bare, margins = without_condition(Side(tuple(side), side[-1].result))
>>> margins
(%0 + %1//512 - 1, 4 - %0 - %1//512)
>>> parts = parts_of(bare.element().address, place, point)
>>> Edges(bare, parts, margins, place, 4, 512).range_of(point, 512, 512)
(0, 512*min(max(4 - %0, 0), 1))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK, Apply, For, Index, Literal, Load, Scalar, substituted
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.lines import coordinates
from nervure.kernel.schedule.products.places import Parts, parts_of
from nervure.kernel.schedule.products.points import in_runs
from nervure.types.dim import DimLike, dim_max, dim_min, index_symbols, product, simplify

Margins = tuple[DimLike, ...]
"""How far it is to the edges, from places inside: all are 0 or more there, and only there."""


class Edges(NamedTuple):
    """A side at the ``place`` of a number, of which there are so many, where its rows are images; the ``parts`` of its
    places are those of images and points. It has an element where no one of the ``margins`` is negative: that is so for
    a whole run of as many points as a position of the window has, or not at all.
    """

    side: Side
    parts: Parts
    margins: Margins
    place: LoopIndex
    places: int
    run: int

    def is_of_runs(self, point: LoopIndex, number: LoopIndex) -> bool:
        """Whether what is live depends on nothing but the place and the run, which has this number, of the point."""
        moved, ranges = {point: number.dim * self.run + point.dim}, {point.name: (0, self.run - 1)}
        return all([index_symbols(simplify(substitute_indices(margin, moved), ranges)) <= {self.place.name, number.name}
                    for margin in self.margins])

    def range_of(self, point: LoopIndex, start: DimLike, points: DimLike) -> tuple[DimLike, DimLike]:
        """Of a block of so many points the first that is live, counted from its start, and how many there are."""
        first = self._is_live({point: start})
        if self.run >= CONTRACT_BLOCK:
            return 0, first * points
        head = dim_min(points, self.run)
        second = self._is_live({point: start + self.run})
        return head * (1 - first), head * first + (points - head) * second

    def _is_live(self, at: Mapping[LoopIndex, DimLike]) -> DimLike:
        """1 if the side has an element there, else 0."""
        margins = [substitute_indices(margin, at) for margin in self.margins]
        return product([dim_min(dim_max(margin + 1, 0), 1) for margin in margins])


def edges_of(side: Side, loops: Sequence[For], point: LoopIndex, place: LoopIndex) -> Edges | None:
    """The edges of a side at the places that loops go through, the outermost of which is over images; None if it has
    none, or more than two runs of points in a block.
    """
    found = without_condition(side)
    images, *inner = loops
    places = product([loop.extent for loop in inner])
    if found is None or not inner or not isinstance(places, int) or places < 1:
        return None
    moved = {**coordinates(place.dim, tuple([(loop.index, loop.extent) for loop in inner])),
             images.index: loops[-1].index.dim}
    bare = Side(substituted(found[0].statements, moved), side.value)
    load, runs = bare.element(), in_runs(bare, point, LoopIndex(place.number + 1))
    parts = None if load is None else parts_of(load.address, loops[-1].index, point)
    if parts is None or runs is None or not isinstance(runs.length, int):
        return None
    if 2 * runs.length != CONTRACT_BLOCK and runs.length % CONTRACT_BLOCK:
        return None
    margins = tuple([substitute_indices(margin, moved) for margin in found[1]])
    edges = Edges(bare, parts, margins, place, places, runs.length)
    return edges if edges.is_of_runs(point, runs.number) else None


def without_condition(side: Side) -> tuple[Side, Margins] | None:
    """A side that is 0 where a condition of places does not hold as one without it, and the margins of which none may
    be negative for it to hold.
    """
    load = side.statements[-1]
    if not isinstance(load, Load) or load.valid is None or load.fill is None or load.result is not side.value:
        return None
    known: dict[Scalar, DimLike | Margins] = {}
    for entry in side.statements[:-1]:
        if not isinstance(entry, Index | Apply):
            return None
        known[entry.result] = entry.expression if isinstance(entry, Index) else _margins(entry, known)
    margins = known.get(load.valid)
    if not isinstance(margins, tuple) or not margins or not isinstance(load.fill, Literal) or load.fill.value != 0:
        return None
    return Side((replace(load, valid=None, fill=None),), load.result), margins


def _margins(entry: Apply, known: Mapping[Scalar, DimLike | Margins]) -> Margins:
    """The margins of a comparison of places, or of conditions that all hold; none of others."""
    operands = [x.value if isinstance(x, Literal) else known.get(x) for x in entry.operands]
    if entry.function == "less_equal":
        x, y = operands
        return (y - x,) if isinstance(x, DimLike) and isinstance(y, DimLike) else ()
    both = [x for x in operands if isinstance(x, tuple) and x]
    return sum(both, ()) if entry.function == "bitwise_and" and len(both) == len(operands) else ()
