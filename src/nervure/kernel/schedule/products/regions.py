"""Regions of a product: boxes of rows, each with the k for which its rows have elements of the left operand.

An interior and a border on each side, for a window that reaches beyond the data; all rows with all k for any other
operand.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.support.machine import GENERIC
>>> regions = regions_of(matrices_of(parse_kernel('''
... kernel product(in x: f32[64], in f: f32[768], out z: f32[512]):
...   for i < 8 parallel:
...     for j < 64 vector:
...       v0 = contract over k < 3, l < 8:
...         v1 = index i + k - 1
...         v2 = less_equal(0_i64, v1)
...         v3 = index 7
...         v4 = less_equal(v1, v3)
...         v5 = bitwise_and(v2, v4)
...         v6 = x[8*i + 8*k + l - 8] if v5 else 0.0_f32
...         v7 = f[512*k + 64*l + j]
...         give v6, v7
...       z[64*i + j] = v0
... '''), GENERIC))
>>> regions.total
3
>>> loop, = regions.each(lambda region: (For(LoopIndex(9), region.m.points(0, 8, 8), ()),))
>>> loop.extent, loop.body[0].extent
(3, min(11 - 5*%14, 5*%14 + 1))
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK, Body, For
from nervure.kernel.loop_index import LoopIndex, position_among
from nervure.kernel.schedule.products.boxes import Box
from nervure.kernel.schedule.products.matrices import Matrices
from nervure.types.dim import DimLike, product


class RowRegion(NamedTuple):
    """A box of rows and the box of those k that its rows have, and the ``number`` of it among all regions."""

    number: DimLike
    m: Box
    k: Box


class Regions(NamedTuple):
    """The regions of a product: ``one``, by its numbers along the ``loops`` through the segments of outer indices.

    They ``are_of_blocks`` where the rows that have a block of k are one region.
    """

    matrices: Matrices
    loops: tuple[tuple[LoopIndex, int], ...]
    one: RowRegion
    are_of_blocks: bool

    @property
    def total(self) -> int:
        """The number of regions."""
        return prod([count for _, count in self.loops])

    def of_block(self, start: DimLike) -> RowRegion:
        """Returns the region of a block of k from ``start`` on: the rows that have it, and all of it."""
        k, partition = self.matrices.k, self.matrices.partition
        assert partition is not None
        at: dict[LoopIndex, DimLike] = {}
        for axis, (index, extent) in enumerate(k.indices):
            inside = product([own for _, own in k.indices[axis + 1:]])
            at[index] = start // inside % extent if axis else start // inside
        return RowRegion(0, self.matrices.m.box(partition.outer_ranges(at)), k.box())

    def each(self, body: Callable[[RowRegion], Body]) -> Body:
        """Loops through the regions, around what is made of one."""
        made = body(self.one)
        for segment, count in reversed(self.loops):
            made = (For(segment, count, made),)
        return made


def _are_of_blocks(matrices: Matrices) -> bool:
    """Whether a block of k is in no condition more than one point, so that the rows that have it are one box."""
    k, partition = matrices.k, matrices.partition
    if partition is None or any([not any([index.occurs_in(margin) for index, _ in partition.outer])
                                 for margin in partition.conditions]):
        return False
    last = max([axis for axis, bounds in enumerate(partition.bounds) if bounds], default=-1)
    inside = product([extent for _, extent in k.indices[last + 1:]])
    return last >= 0 and isinstance(inside, int) and inside > 0 and inside % CONTRACT_BLOCK == 0


def regions_of(matrices: Matrices) -> Regions:
    """Returns the regions of a product."""
    m, k, partition = matrices.m, matrices.k, matrices.partition
    of_blocks = _are_of_blocks(matrices)
    if partition is None or of_blocks:
        return Regions(matrices, (), RowRegion(0, m.box(), k.box()), of_blocks)
    loops, numbers = list[tuple[LoopIndex, int]](), dict[LoopIndex, DimLike]()
    for index, segments in partition.segments.items():
        segment = LoopIndex(matrices.new.segment.number + len(loops))
        numbers[index], count = segment.dim, len(segments.lengths)
        loops.append((segment, count))
    number = position_among(loops)
    known = {segment.name: (0, count - 1) for segment, count in loops}
    rows = {index: segments.at(numbers[index]) for index, segments in partition.segments.items()}
    valid = dict(zip([index for index, _ in k.indices], partition.ranges(numbers), strict=True))
    return Regions(matrices, tuple(loops), RowRegion(number, m.box(rows, known), k.box(valid, known)), False)
