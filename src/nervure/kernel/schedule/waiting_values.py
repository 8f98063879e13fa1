"""Waiting values: the values of the points of a block wait in memory, and are reduced afterwards.

A body of many statements runs in fewer lanes than a reduction has accumulators, and needs the registers that these
would take. So it becomes a vector loop of its own, and its values in the first cache are then reduced without anything
in between. Rows of points that are not consecutive in memory become so: each is a vector loop.

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
from dataclasses import replace

from nervure.kernel.ir import (
    BLOCK,
    TOTALS_ORDER,
    Address,
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
from nervure.kernel.schedule.reduction_strategy import has_several_blocks, strategy_of
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.kernel.schedule.vectors import in_lanes
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, bounds, dim_max, dim_min, product


def with_waiting_values(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with reductions in parts that read the values of their bodies from memory."""
    return _Waiting(kernel, register_lanes(kernel, machine)).rewritten()


class _Waiting(MemoryRewrite):
    def __init__(self, kernel: Kernel, lanes: int) -> None:
        super().__init__(kernel)
        self._lanes = lanes

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = self.rebuilt(loop)
        if loop.strategy is None or loop.strategy.name != "parts":
            out.append(loop)
            return
        points = product(loop.dims)
        most = min(bounds(points)[1] or BLOCK, BLOCK)
        waiting = [self.memory("waiting", result.dtype, most) for result in loop.results]
        if not has_several_blocks(loop):
            out += [self._all(loop, waiting), self._reduced(loop, points, waiting)]
            return
        block = self.index()
        left = dim_min(points - block.dim * BLOCK, BLOCK)
        results = tuple([Variable(result.dtype) for result in loop.results])
        write = self._slice if len(loop.indices) == 1 else self._rows
        body = (write(loop, block.dim * BLOCK, left, waiting),
                self._reduced(replace(loop, results=results), left, waiting))
        out.append(replace(loop, indices=((block, (points + (BLOCK - 1)) // BLOCK),), body=body, values=results,
                           strategy=Strategy("chain"), order=TOTALS_ORDER))

    def _reduced(self, loop: Reduce, points: DimLike, waiting: Sequence[Buffer]) -> Reduce:
        """Returns the reduction of a block of values that wait."""
        index, _ = loop.indices[-1]
        loads = [Load(Variable(buffer.dtype), buffer, Address(0, ((index, 1),))) for buffer in waiting]
        reduce = replace(loop, indices=((index, points),), body=tuple(loads),
                         values=tuple([load.result for load in loads]))
        return replace(reduce, strategy=strategy_of(reduce, False, self._lanes))

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
        """Returns the loop over a block of one index."""
        (index, _), = loop.indices
        body = substituted(loop.body, {index: start + index.dim})
        return self._along(replace(loop, body=body), left, Address(0, ((index, 1),)), waiting)

    def _rows(self, loop: Reduce, start: DimLike, left: DimLike, waiting: Sequence[Buffer]) -> For:
        """Returns the loop over the rows of a block, in which the first and the last one may have a part of theirs."""
        *outer, (index, extent) = loop.indices
        row = self.index()
        number = start // extent + row.dim
        base = number * extent - start
        low, high = dim_max(-base, 0), dim_min(extent, left - base)
        inside = {index: low + index.dim}
        for other, count in reversed(outer):
            inside[other] = number if other is outer[0][0] else number % count
            number = number // count
        part = replace(loop, body=substituted(loop.body, inside))
        rows = (start + left + (extent - 1)) // extent - start // extent
        return For(row, rows, (self._along(part, high - low, Address(dim_max(base, 0), ((index, 1),)), waiting),))
