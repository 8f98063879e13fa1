"""Waiting values: the values of points wait in memory, and are reduced afterwards.

A body of many statements runs in fewer lanes than a reduction has accumulators, and needs the registers that these
would take. So it becomes a vector loop of its own, and its values in the first cache are then reduced without anything
in between. Rows of points that are not consecutive in memory become so: each is a vector loop. What does not fit in
that cache, or has more accumulators than registers, is taken in parts of half of it, which are added to accumulators in
memory (:mod:`nervure.kernel.schedule.lane_accumulators`). To these, long rows of a short body are added where they lie:
memory that is read without a pause comes fastest.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[1000], out y: f32[1]):
...   v0 = reduce add over i < 1000 as parts:
...     v1 = x[i]
...     v2 = sin(v1)
...     give v2
...   y[0] = v0
... ''')
>>> print(print_kernel(with_waiting_values(kernel, GENERIC)), end="")
kernel sum(in x: f32[1000], out y: f32[1], scratch waiting0: f32[1000]):
  for i < 1000 vector lanes 16 masked 8:
    v0 = x[i]
    v1 = sin(v0)
    waiting0[i] = v1
  v2 = reduce add over i < 1000 as registers 64:
    v3 = waiting0[i]
    give v3
  y[0] = v2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nervure.kernel.ir import (
    BLOCK,
    LANES,
    TOTALS_ORDER,
    Address,
    Body,
    Buffer,
    For,
    Kernel,
    Load,
    Reduce,
    Statement,
    Store,
    Strategy,
    Variable,
    substituted,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import MemoryRewrite
from nervure.kernel.schedule.lane_accumulators import LaneAccumulators
from nervure.kernel.schedule.reduce_across_rows import bytes_of
from nervure.kernel.schedule.reduction_strategy import is_read_in_place, strategy_of
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.kernel.schedule.vectors import in_lanes
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_max, dim_min, highest, product


def with_waiting_values(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with reductions in parts as loops that store values of their bodies, or add them in rows."""
    return _Waiting(kernel, machine).rewritten()


@dataclass(frozen=True)
class _Rows:
    """The rows that have some points of a reduction: the ``index`` of the loop over them, and their ``count``. Each has
    the points of ``reduce`` from ``low`` up to ``high``; those of the rows before it are ``before``.
    """

    index: LoopIndex
    count: DimLike
    reduce: Reduce
    low: DimLike
    high: DimLike
    before: DimLike


class _Waiting(MemoryRewrite):
    def __init__(self, kernel: Kernel, machine: Machine) -> None:
        super().__init__(kernel)
        self._machine, self._lanes = machine, register_lanes(kernel, machine)

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = self.rebuilt(loop)
        if loop.strategy is None or loop.strategy.name != "parts":
            out.append(loop)
            return
        points = product(loop.dims)
        most = highest(points)
        cache, part = self._machine.first_cache, self._points_in(self._machine.first_cache // 2, loop)
        if most is None or most > (self._points_in(cache, loop) if self._fits_registers(loop) else part):
            out.append(self._of_blocks(loop, points, part))
            return
        waiting = self._memory_for(loop, most)
        reduce = self._of_waiting(loop, points, waiting)
        out += [self._all(loop, waiting), replace(reduce, strategy=strategy_of(reduce, False, self._lanes))]

    def _points_in(self, memory: int, loop: Reduce) -> int:
        """Returns the number of points, at most a block, whose values take ``memory`` bytes at most."""
        return max(min(1 << (memory // bytes_of(loop)).bit_length() - 1, BLOCK), LANES)

    def _fits_registers(self, loop: Reduce) -> bool:
        """Whether half of the registers hold the accumulators of all lanes."""
        return 2 * LANES * bytes_of(loop) <= self._machine.registers * self._machine.vector_bytes

    def _of_blocks(self, loop: Reduce, points: DimLike, part: int) -> Reduce:
        """Returns the chain of what blocks make."""
        block = self.index()
        left = _at_most(points - block.dim * BLOCK, BLOCK)
        rows = self.shared("rows", loop.results, LANES, key=self.depth)
        lanes = LaneAccumulators(loop, rows, self.index, self._machine, self._lanes)
        added = self._in_place(lanes, block.dim * BLOCK, left) if is_read_in_place(loop) else \
            self._in_parts(lanes, block.dim * BLOCK, left, part)
        combined, values = lanes.combined()
        return replace(loop, indices=((block, (points + (BLOCK - 1)) // BLOCK),), values=values,
                       body=(lanes.begun(), *added, *combined), strategy=Strategy("chain"), order=TOTALS_ORDER)

    # -- the points of a block ---------------------------------------------------------------------------

    def _in_place(self, lanes: LaneAccumulators, start: DimLike, left: DimLike) -> Body:
        """Returns the loop over rows, whose points are added where they are read."""
        rows, (_, extent) = self._rows_of(lanes.reduce, start, left), lanes.reduce.indices[-1]
        lane = 0 if extent % LANES == 0 else rows.before % LANES
        added = replace(lanes, reduce=rows.reduce).added(rows.low, rows.high - rows.low, lane)
        return (For(rows.index, rows.count, tuple(added)),)

    def _in_parts(self, lanes: LaneAccumulators, start: DimLike, left: DimLike, most: int) -> Body:
        """Returns the loop over parts of ``most`` points, whose values wait before they are added."""
        if most == BLOCK:
            return self._part(lanes, start, left, most)
        part = self.index()
        body = self._part(lanes, start + part.dim * most, _at_most(left - part.dim * most, most), most)
        return (For(part, (left + (most - 1)) // most, body),)

    def _part(self, lanes: LaneAccumulators, start: DimLike, count: DimLike, most: int) -> Body:
        """Returns the ``count`` points from ``start`` on, at most ``most``."""
        loop, waiting = lanes.reduce, self._memory_for(lanes.reduce, most)
        write = self._slice if len(loop.indices) == 1 else self._rows
        return (write(loop, start, count, waiting),
                *replace(lanes, reduce=self._of_waiting(loop, count, waiting)).added(0, count, 0))

    def _rows_of(self, loop: Reduce, start: DimLike, left: DimLike) -> _Rows:
        """Returns the rows that have some of ``left`` points from ``start`` on."""
        *outer, (_, extent) = loop.indices
        row = self.index()
        number = start // extent + row.dim
        base = number * extent - start
        inside: dict[LoopIndex, DimLike] = {}
        for other, count in reversed(outer):
            inside[other] = number if other is outer[0][0] else number % count
            number = number // count
        if start % extent == 0 and left % extent == 0:
            return _Rows(row, left // extent, replace(loop, body=substituted(loop.body, inside)), 0, extent, base)
        rows = (start + left + (extent - 1)) // extent - start // extent
        return _Rows(row, rows, replace(loop, body=substituted(loop.body, inside)),
                     dim_max(-base, 0), dim_min(extent, left - base), dim_max(base, 0))

    # -- values that wait --------------------------------------------------------------------------------

    def _memory_for(self, loop: Reduce, points: int) -> list[Buffer]:
        return [self.memory("waiting", result.dtype, points) for result in loop.results]

    def _of_waiting(self, loop: Reduce, points: DimLike, waiting: Sequence[Buffer]) -> Reduce:
        """Returns the reduction of values that wait."""
        index, _ = loop.indices[-1]
        loads = [Load(Variable(buffer.dtype), buffer, Address(0, ((index, 1),))) for buffer in waiting]
        return replace(loop, indices=((index, points),), body=tuple(loads),
                       values=tuple([load.result for load in loads]))

    def _along(self, loop: Reduce, extent: DimLike, place: Address, waiting: Sequence[Buffer]) -> For:
        """Returns the vector loop that stores the values of a row from a place on."""
        index, _ = loop.indices[-1]
        stores = [Store(buffer, place, value) for buffer, value in zip(waiting, loop.values, strict=True)]
        return in_lanes(For(index, extent, (*loop.body, *stores), vector=True), self._lanes)

    def _all(self, loop: Reduce, waiting: Sequence[Buffer]) -> For:
        """Returns the loops over all points."""
        steps: list[tuple[LoopIndex, DimLike]] = []
        size: DimLike = 1
        for index, extent in reversed(loop.indices):
            steps.append((index, size))
            size = size * extent
        made = self._along(loop, loop.indices[-1][1], Address(0, tuple(steps[::-1])), waiting)
        for index, extent in reversed(loop.indices[:-1]):
            made = For(index, extent, (made,))
        return made

    def _slice(self, loop: Reduce, start: DimLike, left: DimLike, waiting: Sequence[Buffer]) -> For:
        """Returns the loop over some points of one index."""
        (index, _), = loop.indices
        body = substituted(loop.body, {index: start + index.dim})
        return self._along(replace(loop, body=body), left, Address(0, ((index, 1),)), waiting)

    def _rows(self, loop: Reduce, start: DimLike, left: DimLike, waiting: Sequence[Buffer]) -> For:
        """Returns the loop over rows, of which the first and the last one may have a part of theirs."""
        rows, (index, _) = self._rows_of(loop, start, left), loop.indices[-1]
        reduce = replace(rows.reduce, body=substituted(rows.reduce.body, {index: rows.low + index.dim}))
        place = Address(rows.before, ((index, 1),))
        return For(rows.index, rows.count, (self._along(reduce, rows.high - rows.low, place, waiting),))


def _at_most(left: DimLike, most: int) -> DimLike:
    """Returns the points of a part of at most ``most``, where ``left`` are those of it and of the parts behind it."""
    return most if left % most == 0 else dim_min(left, most)
