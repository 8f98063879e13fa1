"""Accumulators of lanes: outside of vector loops, the points of a block are added to one element of memory per lane.

Points that follow each other belong to lanes that do. So 64 points are added at once, and those of several such groups
are chains, in registers, which begin with what the lanes have. The points before the first group and behind the last
one have loops of their own.

>>> from dataclasses import replace
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.support.machine import GENERIC
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[1000], out y: f32[1], scratch rows0: f32[64]):
...   v0 = reduce add over i < 1000:
...     v1 = x[i]
...     give v1
...   y[0] = v0
... ''')
>>> lanes = LaneAccumulators(kernel.body[0], kernel.buffers[2:], iter(map(LoopIndex, range(1, 9))).__next__, GENERIC, 8)
>>> print(print_kernel(replace(kernel, body=tuple(lanes.added(0, 1000, 0)))), end="")
kernel sum(in x: f32[1000], out y: f32[1], scratch rows0: f32[64]):
  for i < 64 vector lanes 64 masked 64 unrolled:
    v0 = rows0[i]
    v1 = reduce add from v0 over j < 15 order 1, 4096, 1 as chain:
      v2 = x[i + 64*j]
      give v2
    rows0[i] = v1
  for i < 40 vector lanes 8 masked 8 unrolled:
    v3 = x[i + 960]
    rows0[i] add = v3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nervure.kernel.combiners import keeps_units, unit
from nervure.kernel.ir import (
    BLOCK_ORDER,
    CHAIN_ORDER,
    LANES,
    Address,
    Body,
    Buffer,
    For,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Strategy,
    Variable,
    Widths,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.schedule.reduce_across_rows import bytes_of
from nervure.kernel.schedule.vectors import in_lanes
from nervure.kernel.tuning import CHAINED_REGISTERS
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, dim_min


@dataclass(frozen=True)
class LaneAccumulators:
    """The accumulators of a reduction: each of its results has ``rows`` of an element for each lane. ``index`` gives
    indices that no loop has, and registers have ``register_lanes``.
    """

    reduce: Reduce
    rows: Sequence[Buffer]
    index: Callable[[], LoopIndex]
    machine: Machine
    register_lanes: int

    def begun(self) -> For:
        """Returns the loop that sets all accumulators to the unit."""
        index = self.index()
        return self._vector(index, LANES, [Store(rows, Address(0, ((index, 1),)), unit(combine, rows.dtype))
                                           for rows, combine in zip(self.rows, self.reduce.combine, strict=True)])

    def added(self, low: DimLike, count: DimLike, lane: DimLike) -> list[Statement]:
        """Returns the loops over ``count`` points of the innermost index from ``low`` on, the first of them of a
        ``lane``.
        """
        head = 0 if lane == 0 else dim_min((LANES - lane) % LANES, count)
        vectors = (count - head) // LANES
        ends = self._ends(low, lane, head), self._ends(low + head + vectors * LANES, 0, (count - head) % LANES)
        return [*ends[0], self._chains(low + head, vectors), *ends[1]]

    def combined(self) -> tuple[list[Statement], tuple[Scalar, ...]]:
        """Returns the statements that combine all lanes by halves, and what they make."""
        if keeps_units(self.reduce):
            reduce = self._of_lanes()
            return [reduce], reduce.results
        made: list[Statement] = []
        half, index = LANES, self.index()
        while half > 1:
            half //= 2
            body: list[Statement] = []
            for rows, combine in zip(self.rows, self.reduce.combine, strict=True):
                load = Load(Variable(rows.dtype), rows, Address(half, ((index, 1),)))
                body += [load, Store(rows, Address(0, ((index, 1),)), load.result, combine)]
            made.append(self._vector(index, half, body))
        loads = [Load(Variable(rows.dtype), rows, Address(0)) for rows in self.rows]
        return [*made, *loads], tuple([load.result for load in loads])

    def _of_lanes(self) -> Reduce:
        """Returns the reduction of all lanes, which combines them by halves after units."""
        index = self.index()
        loads = [Load(Variable(rows.dtype), rows, Address(0, ((index, 1),))) for rows in self.rows]
        return Reduce(tuple([Variable(rows.dtype) for rows in self.rows]), self.reduce.combine, ((index, LANES),),
                      tuple(loads), tuple([load.result for load in loads]), Strategy("vector", LANES), BLOCK_ORDER)

    def _ends(self, low: DimLike, lane: DimLike, count: DimLike) -> Body:
        """Returns the loop over the points of less than a vector."""
        if count == 0:
            return ()
        index, _ = self.reduce.indices[-1]
        body, values = fresh_copy(self.reduce.body, self.reduce.values, {index: low + index.dim})
        stores = [Store(rows, Address(lane, ((index, 1),)), value, combine)
                  for rows, value, combine in zip(self.rows, values, self.reduce.combine, strict=True)]
        return (self._vector(index, count, (*body, *stores)),)

    def _chains(self, low: DimLike, vectors: DimLike) -> For:
        """Returns the loop over the lanes of whole vectors: each has a chain of the points of the lane."""
        (index, _), number = self.reduce.indices[-1], self.index()
        width = min(self.machine.vector_bytes * CHAINED_REGISTERS // bytes_of(self.reduce), LANES)
        body, values = fresh_copy(self.reduce.body, self.reduce.values, {index: low + number.dim * LANES + index.dim})
        here = Address(0, ((index, 1),))
        before = [Load(Variable(rows.dtype), rows, here) for rows in self.rows]
        after = tuple([Variable(rows.dtype) for rows in self.rows])
        chain = Reduce(after, self.reduce.combine, ((number, vectors),), body, values, Strategy("chain"), CHAIN_ORDER,
                       tuple([load.result for load in before]))
        stores = [Store(rows, here, result) for rows, result in zip(self.rows, after, strict=True)]
        return For(index, LANES, (*before, chain, *stores), vector=True, widths=Widths((width,), width), unrolled=True)

    def _vector(self, index: LoopIndex, extent: DimLike, body: Sequence[Statement]) -> For:
        return in_lanes(For(index, extent, tuple(body), vector=True), self.register_lanes)
