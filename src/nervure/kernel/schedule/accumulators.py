"""Accumulators in memory: a reduction as loops that add its points to rows of accumulators.

There is a row for each lane of the reduction's order. A point is added to one of them, at the end of a block they are
combined by halves, and what blocks make joins the totals. A :class:`RowLayout` says where rows lie: in tiles of columns
each has an element for each column (:mod:`nervure.kernel.schedule.column_tiles`), elsewhere it is one element, private
to an iteration of the vector loop around.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sums(in x: f32[28000], out y: f32[7]):
...   for i < 7 vector:
...     v0 = reduce add over j < 4000 as memory:
...       v1 = x[i + 7*j]
...       give v1
...     y[i] = v0
... ''')
>>> print("\\n".join(print_kernel(with_accumulators(kernel, GENERIC)).splitlines()[1:10]))
  for i < 7 vector:
    for j < 64:
      rows0[j] = 0.0_f32
    for j < 4000:
      v0 = x[i + 7*j]
      rows0[(j % 64)] add = v0
    v1 = reduce add over j < 64 as stages:
      v2 = rows0[j]
      give v2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from nervure.kernel.combiners import keeps_units, unit
from nervure.kernel.ir import (
    DEFAULT_ORDER,
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
    Strip,
    Variable,
    substituted,
)
from nervure.kernel.loop_index import LoopIndex, position_among
from nervure.kernel.rewriting import MemoryRewrite
from nervure.kernel.schedule.group_totals import GroupsInMemory, group_sizes
from nervure.kernel.schedule.reduction_strategy import has_several_blocks
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, dim_max, dim_min, less_equal, lowest, product


class RowLayout(Protocol):
    """The place of accumulators and totals in memory, and the loops that go through a row of them."""

    place: LoopIndex

    @property
    def is_private(self) -> bool:
        """Whether a row is one element, of private memory."""

    def index(self) -> LoopIndex:
        """Returns an index that no loop has."""

    def here(self, row: DimLike) -> Address:
        """Returns the address of an element of a row."""

    def along(self, statements: Body, lanes: int) -> Body:
        """Returns statements for each element of a row, of which ``lanes`` run at once, if they are many."""

    def each(self, body: Iterable[Statement]) -> Body:
        """Returns the same for statements that touch only accumulators and totals."""

    def flat(self, rows: DimLike, body: Iterable[Statement]) -> For:
        """Returns a loop of the index ``place`` over the elements of the first rows."""

    def distance(self, rows: int) -> DimLike:
        """Returns the elements of some rows."""

    def rows_in_use(self, reduce: Reduce) -> DimLike | None:
        """Returns the number of rows that stay in the nearest cache; None if all of them do."""


@dataclass(frozen=True)
class Accumulators:
    """The accumulators of a reduction: the ``rows`` and ``totals`` of its results, the latter with a row for each size
    of groups.
    """

    reduce: Reduce
    rows: Sequence[Buffer]
    totals: Sequence[Buffer]
    layout: RowLayout
    lanes: int = 1

    def reduced(self) -> list[Statement]:
        """Returns the reduction, whose results are then the first row of the totals."""
        reduce = self.reduce
        points = product(reduce.dims)
        if not has_several_blocks(reduce) and (self._is_staged or (lowest(points) or 0) > 0):
            cleared = () if keeps_units(reduce) else self._cleared()
            return [*cleared, *self._of_block(0, points), *self._ended(keeps_units(reduce))]
        if len(reduce.indices) > 1:
            return [*self._cleared(), *self._of_points(points), *self._finished(points)]
        start, left = self.layout.index(), self.layout.index()
        body = [*self._of_block(start.dim, left.dim), *self._joined(start.dim // reduce.order.block)]
        blocks = For(start, points, tuple(body), strip=Strip(left, reduce.order.block))
        return [*self._cleared(), blocks, *self._finished(points)]

    def _of_block(self, start: DimLike, left: DimLike) -> list[Statement]:
        """Returns a block of a reduction, up to the tree over its lanes: ``left`` points from ``start`` on.

        Those of one index are taken in groups of neighbours, so that few accumulators are in use for long: first all
        that add to those of the first group, 64 points from each other, and so on.
        """
        lanes, (name, _) = self.reduce.order.lanes, self.reduce.indices[0]
        rows = self._used(left)
        most = self.layout.rows_in_use(self.reduce)
        if len(self.reduce.indices) > 1:
            return [self._begun(rows), *self._nested(self._added({}, self._number % lanes)), *self._tree(rows)]
        if most is None:
            row = name.dim if less_equal(left, lanes) else name.dim % lanes
            points = self._added({name: start + name.dim}, row)
            return [self._begun(rows), For(name, left, points), *self._tree(rows)]
        group, chunk = self.layout.index(), self.layout.index()
        size = dim_max(dim_min(most, lanes), 1)
        first = group.dim * size
        row = first + name.dim
        points = self._added({name: start + chunk.dim * lanes + row}, row)
        count = dim_min(size, lanes - first, left - first - chunk.dim * lanes)
        chunks = For(chunk, (left - first + (lanes - 1)) // lanes, (For(name, count, points),))
        groups = For(group, (dim_min(lanes, left) + size - 1) // size, (chunks,))
        return [self._begun(rows), groups, *self._tree(rows)]

    def _of_points(self, points: DimLike) -> list[Statement]:
        """Returns the points of several indices in order; the last one of a block is followed by the tree over its
        lanes.
        """
        lanes, size, _ = self.reduce.order
        number = self._number
        block = number // size
        is_last = dim_min(dim_max(number + 2 - points, number % size - (size - 2), 0), 1)
        tree = self._tree(self._used(points - block * size))
        ended = For(self.layout.index(), is_last, (*tree, *self._joined(block), self._begun(lanes)))
        return [self._begun(self._used(points)), *self._nested((*self._added({}, number % lanes), ended))]

    @property
    def _is_staged(self) -> bool:
        return self.layout.is_private and keeps_units(self.reduce) and self.reduce.order == DEFAULT_ORDER

    def _used(self, points: DimLike) -> DimLike:
        """Returns the rows that some points of a block need."""
        lanes = self.reduce.order.lanes
        return lanes if self._is_staged or not keeps_units(self.reduce) else dim_min(lanes, points)

    @property
    def _number(self) -> DimLike:
        """The number of a point."""
        return position_among(self.reduce.indices)

    def _nested(self, body: Body) -> Body:
        for index, extent in reversed(self.reduce.indices):
            body = (For(index, extent, body),)
        return body

    def _added(self, indices: Mapping[LoopIndex, DimLike], row: DimLike) -> Body:
        """Returns the statements that add a point to a row of accumulators."""
        stores = [Store(rows, self.layout.here(row), value, combine)
                  for rows, value, combine in zip(self.rows, self.reduce.values, self.reduce.combine, strict=True)]
        return self.layout.along((*substituted(self.reduce.body, indices), *stores), self.lanes)

    def _begun(self, rows: DimLike) -> For:
        """Before a block the accumulators hold the unit."""
        place = Address(0, ((self.layout.place, 1),))
        return self.layout.flat(rows, [Store(buffer, place, unit(combine, buffer.dtype))
                                       for buffer, combine in zip(self.rows, self.reduce.combine, strict=True)])

    def _tree(self, rows: DimLike) -> list[Statement]:
        """Returns the accumulators combined by halves, up to the first row: lanes without a point hold the unit."""
        made: list[Statement] = []
        half, place = self.reduce.order.lanes, self.layout.place
        if self._is_staged:
            loads = [Load(Variable(rows.dtype), rows, Address(0, ((place, 1),))) for rows in self.rows]
            results = tuple([Variable(rows.dtype) for rows in self.rows])
            return [Reduce(results, self.reduce.combine, ((place, half),), tuple(loads),
                           tuple([load.result for load in loads]), Strategy("stages")),
                    *[Store(rows, Address(0), result) for rows, result in zip(self.rows, results, strict=True)]]
        while half > 1:
            half //= 2
            body: list[Statement] = []
            for buffer, combine in zip(self.rows, self.reduce.combine, strict=True):
                load = Load(Variable(buffer.dtype), buffer, Address(self.layout.distance(half), ((place, 1),)))
                body += [load, Store(buffer, Address(0, ((place, 1),)), load.result, combine)]
            pairs = dim_max(dim_min(rows, 2 * half) - half, 0)
            made += [self.layout.flat(pairs, body)] if pairs != 0 else []
        return made

    # -- the totals of blocks ----------------------------------------------------------------------------

    def _cleared(self) -> Body:
        """Before the first block its totals are units."""
        return self.layout.each([Store(total, self.layout.here(0), unit(combine, total.dtype))
                                 for total, combine in zip(self.totals, self.reduce.combine, strict=True)])

    def _ended(self, is_only: bool = False) -> Body:
        """After a block: what it has made joins the totals, or is all that there is."""
        body: list[Statement] = []
        for rows, total, combine in zip(self.rows, self.totals, self.reduce.combine, strict=True):
            load = Load(Variable(rows.dtype), rows, self.layout.here(0))
            body += [load, Store(total, self.layout.here(0), load.result, None if is_only else combine)]
        return self.layout.each(body)

    def _joined(self, block: DimLike) -> list[Statement]:
        """Returns the same; a group that is full joins the larger ones."""
        sizes, group = group_sizes(self.reduce), self.reduce.order.group
        join = self._groups().join(self.layout.index(), sizes, (block + 1) // group)
        return [*self._ended(), *[For(self.layout.index(), block % group // (group - 1), (join,))][:sizes]]

    def _finished(self, points: DimLike) -> list[Statement]:
        """After the last block, where there is a full group: all groups make the result."""
        sizes, order = group_sizes(self.reduce), self.reduce.order
        groups = (points + (order.block - 1)) // order.block // order.group
        finish = self._groups().finish(self.layout.index(), sizes, groups)
        return [*[For(self.layout.index(), dim_min(groups, 1), (finish,))][:sizes]]

    def _groups(self) -> GroupsInMemory:
        return GroupsInMemory(self.totals, self.reduce.combine, self.layout.here, self.layout.each)


# -- rows of one element -----------------------------------------------------------------------------------------------


def with_accumulators(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with its reductions in memory as loops over rows of one element."""
    return _InMemory(kernel).rewritten()


class _InMemory(MemoryRewrite):
    """The walk over a kernel, and the layout. Reductions that are not inside of each other share their memory."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.place = self.index()

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        super().reduce(loop, out)
        reduce = out[-1]
        if not isinstance(reduce, Reduce) or reduce.strategy is None or reduce.strategy.name != "memory":
            return
        rows, totals = [self.shared(name, loop.results, size, "private", self.depth)
                        for name, size in (("rows", loop.order.lanes), ("totals", 1 + group_sizes(loop)))]
        out[-1:] = Accumulators(reduce, rows, totals, self).reduced()
        out += [Load(result, total, self.here(0)) for result, total in zip(loop.results, totals, strict=True)]

    is_private = True

    def here(self, row: DimLike) -> Address:
        return Address(row)

    def along(self, statements: Body, lanes: int) -> Body:
        return statements

    def each(self, body: Iterable[Statement]) -> Body:
        return tuple(body)

    def flat(self, rows: DimLike, body: Iterable[Statement]) -> For:
        return For(self.place, rows, tuple(body))

    def distance(self, rows: int) -> DimLike:
        return rows

    def rows_in_use(self, reduce: Reduce) -> DimLike | None:
        return None
