"""Tiles of columns: a vector loop around reductions goes through the rows, a tile of its columns together.

:mod:`nervure.kernel.schedule.reduce_across_rows` says which loops, and why. The parts of the body run one after the
other for the whole tile, and what one leaves for a later one waits in memory. A reduction has 64 rows of accumulators:
each row of what is reduced is added to one of them, and at the end of a block they are combined by halves. They lie one
behind the other, each with room for whole vectors.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel differences(in x: f32[16000], out y: f32[16000]):
...   for i < 40 vector tile 4096 lanes 32, 32:
...     v0 = reduce add over j < 400:
...       v1 = x[i + 40*j]
...       give v1
...     for j < 400:
...       v2 = x[i + 40*j]
...       v3 = subtract(v2, v0)
...       y[i + 40*j] = v3
... ''')
>>> print("\\n".join(print_kernel(with_column_tiles(kernel, GENERIC)).splitlines()[1:10]))
  for i < 40 by j <= 4096:
    for k < 512*((j + 7)//8) vector lanes 8 masked 8:
      rows0[k] = 0.0_f32
    for k < 400:
      for l < j vector lanes 32 masked 8:
        v0 = x[i + 40*k + l]
        rows0[l + (8*((j + 7)//8)*(k % 64))] add = v0
    for k < 256*((j + 7)//8) vector lanes 8 masked 8:
      v1 = rows0[k + (256*((j + 7)//8))]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nervure.kernel.combiners import keeps_units, unit
from nervure.kernel.ir import (
    BLOCK,
    GROUP,
    LANES,
    Address,
    Body,
    Buffer,
    For,
    Kernel,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Strip,
    Variable,
    Widths,
    substituted,
    used,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import Rewrite, unused_indices
from nervure.kernel.schedule.group_totals import GroupsInMemory, group_sizes
from nervure.kernel.schedule.reduce_across_rows import Part, bytes_of, parts_of
from nervure.kernel.schedule.reduction_strategy import has_several_blocks
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.kernel.tuning import ACCUMULATORS_IN_USE
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, bounds, dim_max, dim_min, product
from nervure.types.dtype import DType


def with_column_tiles(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel whose loops in tiles of columns are loops over tiles, with loops over columns inside."""
    rewrite = _Tiles(kernel, register_lanes(kernel, machine))
    body = rewrite.block(kernel.body)
    return replace(kernel, body=body, buffers=(*kernel.buffers, *rewrite.buffers)) if rewrite.buffers else kernel


class _Tiles(Rewrite):
    """The walk over a kernel. All loops over tiles have the same indices, and share the memory of accumulators."""

    def __init__(self, kernel: Kernel, lanes: int) -> None:
        super().__init__()
        self._unused = unused_indices(kernel.body, 1)[0].number
        self._column, self._columns, self._place = self._index(), self._index(), self._index()
        self._lanes = lanes
        self._distance = (self._columns.dim + (lanes - 1)) // lanes * lanes  # from row to row of accumulators
        self._most = 0  # columns of a tile
        self._accumulators: dict[tuple[DType, int, int], Buffer] = {}
        self._waiting: dict[Variable, Buffer] = {}  # what parts of a body leave for later ones
        self.buffers: list[Buffer] = []

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        if loop.tile is None:
            super().for_loop(loop, out)
            return
        body = substituted(self.block(loop.body), {loop.index: loop.index.dim + self._column.dim})
        most, parts = bounds(loop.extent)[1], parts_of(body)
        most = loop.tile.columns if most is None else min(most, loop.tile.columns)
        self._most = -(-most // self._lanes) * self._lanes
        self._waiting = {x: self._buffer("waiting", x.dtype, self._most * rows) for x, rows in _crossing(parts)}
        made: list[Statement] = []
        for part, lanes in zip(parts, loop.tile.lanes, strict=True):
            if isinstance(part, Reduce):
                made += self._reduced(part, lanes)
            elif isinstance(part, For):
                made.append(replace(part, body=(self._along(part.body, lanes),), vector=False))
            else:
                made.append(self._along((*part, *self._kept(part)), lanes))
        strip = Strip(self._columns, loop.tile.columns)
        out.append(replace(loop, body=tuple(made), vector=False, tile=None, strip=strip))

    def _index(self) -> LoopIndex:
        self._unused += 1
        return LoopIndex(self._unused - 1)

    def _buffer(self, name: str, dtype: DType, size: int) -> Buffer:
        number = len([entry for entry in self.buffers if entry.name.startswith(name)])
        self.buffers.append(Buffer(f"{name}{number}", dtype, size, "scratch"))
        return self.buffers[-1]

    def _rows_of(self, reduce: Reduce) -> list[Buffer]:
        """The accumulators of the results of a reduction, which others have had before it or will have."""
        keys = [(result.dtype, number, self._most) for number, result in enumerate(reduce.results)]
        for key in keys:
            if key not in self._accumulators:
                self._accumulators[key] = self._buffer("rows", key[0], LANES * self._most)
        return [self._accumulators[key] for key in keys]

    # -- loops over columns ------------------------------------------------------------------------------

    def _here(self, row: DimLike = 0) -> Address:
        """A column in a row of accumulators, or among what waits."""
        return Address(self._distance * row, ((self._column, 1),))

    def _kept(self, part: Body) -> list[Statement]:
        """Keeps what a part defines and later ones read."""
        return [Store(self._waiting[x], self._here(), x) for entry in part for x in entry.results if x in self._waiting]

    def _along(self, statements: Body, lanes: int) -> For:
        """Statements for each column of the tile, which read what waits for them."""
        own = {variable for entry in statements for variable in entry.results}
        wanted = [x for x in dict.fromkeys(used(statements)) if x in self._waiting and x not in own]
        loads = [Load(Variable(x.dtype), self._waiting[x], self._here()) for x in wanted]
        reading = Rewrite()
        reading.replaced.update(zip(wanted, [load.result for load in loads], strict=True))
        body, widths = (*loads, *reading.block(statements)), Widths((lanes,), self._lanes)
        return For(self._column, self._columns.dim, body, vector=True, widths=widths)

    def _each(self, body: Iterable[Statement]) -> For:
        """A loop over the columns of memory of the kernel's own, and over the lanes beside them that vectors have."""
        widths = Widths((self._lanes,), self._lanes)
        return For(self._column, self._distance, tuple(body), vector=True, widths=widths)

    def _flat(self, rows: DimLike, body: Iterable[Statement]) -> For:
        """A loop over the elements of the first rows of accumulators, which lie one behind the other."""
        widths = Widths((self._lanes,), self._lanes)
        return For(self._place, self._distance * rows, tuple(body), vector=True, widths=widths)

    # -- reductions --------------------------------------------------------------------------------------

    def _reduced(self, reduce: Reduce, lanes: int) -> list[Statement]:
        """The blocks of a reduction, and in memory what they make."""
        points = product(reduce.dims)
        count = (points + (BLOCK - 1)) // BLOCK
        if len(reduce.indices) > 1:
            return [self._cleared(reduce), *self._of_points(reduce, points, lanes), *self._finished(reduce, count)]
        if not has_several_blocks(reduce) and (bounds(points)[0] or 0) > 0:
            cleared = [] if keeps_units(reduce) else [self._cleared(reduce)]
            return [*cleared, *self._of_block(reduce, 0, points, lanes), self._ended(reduce, keeps_units(reduce))]
        start, left = self._index(), self._index()
        body = [*self._of_block(reduce, start.dim, left.dim, lanes), *self._joined(reduce, start.dim // BLOCK)]
        blocks = For(start, points, tuple(body), strip=Strip(left, BLOCK))
        return [self._cleared(reduce), blocks, *self._finished(reduce, count)]

    def _of_block(self, reduce: Reduce, start: DimLike, left: DimLike, lanes: int) -> list[Statement]:
        """A block of a reduction of one index, up to the tree over its lanes: ``left`` points from ``start`` on.

        The points are taken in groups of neighbours, so that few accumulators are in use for long: first all that add
        to those of the first group, 64 points from each other, and so on.
        """
        rows = dim_min(LANES, left) if keeps_units(reduce) else LANES
        share = ACCUMULATORS_IN_USE // bytes_of(reduce)
        (name, _), = reduce.indices
        if self._most * LANES <= share:
            point = self._added(reduce, {name: start + name.dim}, name.dim % LANES, lanes)
            return [self._begun(reduce, rows), For(name, left, (point,)), *self._tree(reduce, rows)]
        group, chunk = self._index(), self._index()
        size = dim_max(dim_min(share // self._columns.dim, LANES), 1)
        first = group.dim * size
        row = first + name.dim
        point = self._added(reduce, {name: start + chunk.dim * LANES + row}, row, lanes)
        count = dim_min(size, LANES - first, left - first - chunk.dim * LANES)
        chunks = For(chunk, (left - first + (LANES - 1)) // LANES, (For(name, count, (point,)),))
        groups = For(group, (dim_min(LANES, left) + size - 1) // size, (chunks,))
        return [self._begun(reduce, rows), groups, *self._tree(reduce, rows)]

    def _of_points(self, reduce: Reduce, points: DimLike, lanes: int) -> list[Statement]:
        """The points of several indices in order; the last one of a block is followed by the tree over its lanes."""
        number: DimLike = 0
        for index, extent in reduce.indices:
            number = number * extent + index.dim
        block = number // BLOCK
        rows = dim_min(LANES, points - block * BLOCK) if keeps_units(reduce) else LANES
        is_last = dim_min(dim_max(number + 2 - points, number % BLOCK - (BLOCK - 2), 0), 1)
        ended = For(self._index(), is_last, (*self._tree(reduce, rows), *self._joined(reduce, block),
                                             self._begun(reduce, LANES)))
        body: Body = (self._added(reduce, {}, number % LANES, lanes), ended)
        for index, extent in reversed(reduce.indices):
            body = (For(index, extent, body),)
        return [self._begun(reduce, dim_min(LANES, points) if keeps_units(reduce) else LANES), *body]

    def _added(self, reduce: Reduce, indices: Mapping[LoopIndex, DimLike], row: DimLike, lanes: int) -> For:
        """The values of a point in each column, added to a row of accumulators."""
        stores = [Store(rows, self._here(row), value, combine)
                  for rows, value, combine in zip(self._rows_of(reduce), reduce.values, reduce.combine, strict=True)]
        return self._along((*substituted(reduce.body, indices), *stores), lanes)

    def _begun(self, reduce: Reduce, rows: DimLike) -> For:
        """Before a block the accumulators hold the unit."""
        place = Address(0, ((self._place, 1),))
        return self._flat(rows, [Store(buffer, place, unit(combine, buffer.dtype))
                                 for buffer, combine in zip(self._rows_of(reduce), reduce.combine, strict=True)])

    def _tree(self, reduce: Reduce, rows: DimLike) -> list[Statement]:
        """The accumulators combined by halves, up to the first row: lanes without a point hold the unit."""
        made: list[Statement] = []
        half = LANES
        while half > 1:
            half //= 2
            body: list[Statement] = []
            for buffer, combine in zip(self._rows_of(reduce), reduce.combine, strict=True):
                load = Load(Variable(buffer.dtype), buffer, Address(self._distance * half, ((self._place, 1),)))
                body += [load, Store(buffer, Address(0, ((self._place, 1),)), load.result, combine)]
            made.append(self._flat(dim_max(dim_min(rows, 2 * half) - half, 0), body))
        return made

    # -- the totals of blocks ----------------------------------------------------------------------------

    def _cleared(self, reduce: Reduce) -> For:
        """Before the first block its totals are units."""
        return self._each([Store(self._waiting[result], self._here(), unit(combine, result.dtype))
                           for result, combine in zip(reduce.results, reduce.combine, strict=True)])

    def _ended(self, reduce: Reduce, is_only: bool = False) -> For:
        """After a block: what it has made joins the totals, or is all that there is."""
        body: list[Statement] = []
        for rows, result, combine in zip(self._rows_of(reduce), reduce.results, reduce.combine, strict=True):
            load = Load(Variable(rows.dtype), rows, self._here())
            body += [load, Store(self._waiting[result], self._here(), load.result, None if is_only else combine)]
        return self._each(body)

    def _joined(self, reduce: Reduce, block: DimLike) -> list[Statement]:
        """The same; a group that is full joins the larger ones."""
        sizes = group_sizes(reduce)
        join = self._groups(reduce).join(self._index(), sizes, (block + 1) // GROUP)
        return [self._ended(reduce), *[For(self._index(), block % GROUP // (GROUP - 1), (join,))][:sizes]]

    def _finished(self, reduce: Reduce, blocks: DimLike) -> list[Statement]:
        """After the last block, where there is a full group: all groups make the result."""
        groups, sizes = blocks // GROUP, group_sizes(reduce)
        finish = self._groups(reduce).finish(self._index(), sizes, groups)
        return [*[For(self._index(), dim_min(groups, 1), (finish,))][:sizes]]

    def _groups(self, reduce: Reduce) -> GroupsInMemory:
        totals = [self._waiting[result] for result in reduce.results]
        return GroupsInMemory(totals, reduce.combine, self._here, lambda body: [self._each(body)])


def _crossing(parts: Sequence[Part]) -> list[tuple[Variable, int]]:
    """The variables that one part defines and another one uses, and all results of reductions, with the rows of memory
    that each needs.
    """
    found: list[tuple[Variable, int]] = []
    for number, part in enumerate(parts):
        if isinstance(part, Reduce):
            found += [(x, 1 + group_sizes(part)) for x in part.results]
        if isinstance(part, tuple):
            later = {x for other in parts[number + 1:] for x in _used_by(other)}
            found += [(x, 1) for entry in part for x in entry.results if x in later]
    return found


def _used_by(part: Part) -> Sequence[Scalar]:
    if isinstance(part, Reduce):
        return [*used(part.body), *part.values]
    return used(part.body if isinstance(part, For) else part)
