"""Tasks: the loops of a product in blocks, with what packs operands in front of them and the epilogue behind.

A task adds up the products of blocks of k, one after the other, as contractions do. A left operand that is packed is
packed for a group of rows at a time. Where rows are cut into boxes, a task multiplies those of one box after the other.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> from nervure.support.machine import GENERIC
>>> kernel = parse_kernel('''
... kernel product(in x: f32[60000], in y: f32[30000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 600:
...         v1 = x[600*i + k]
...         v2 = y[50*k + j]
...         give v1, v2
...       z[50*i + j] = v0
... ''')
>>> matrices = matrices_of(kernel, GENERIC._replace(threads=1))
>>> reading = reading_of(matrices, ())
>>> print(print_kernel(tasks_of(blocking_of(matrices, reading), reading).blocked(kernel)), end="")
kernel product(in x: f32[60000], in y: f32[30000], out z: f32[5000]):
  for i < 1 parallel:
    for j < 100 as product:
      for k < 50 vector:
        v0 = contract over l < 512:
          v1 = x[600*j + l]
          v2 = y[k + 50*l]
          give v1, v2
        z[50*j + k] = v0
    for j < 100 as product:
      for k < 50 vector:
        v3 = contract over l < 88:
          v4 = x[600*j + l + 512]
          v5 = y[k + 50*l + 25600]
          give v4, v5
        z[50*j + k] add = v3
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from nervure.kernel.ir import (
    CONTRACT_BLOCK,
    CONTRACT_GROUP,
    Access,
    Apply,
    Body,
    Buffer,
    Contract,
    For,
    Kernel,
    Load,
    Store,
    Variable,
    substituted,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.apart import PanelApart, packing_kernel, panel_apart
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.epilogue import Results, results_of
from nervure.kernel.schedule.products.extents import block_count, part_of
from nervure.kernel.schedule.products.packing import OperandBlock, Packing, packing_of
from nervure.kernel.schedule.products.regions import Regions, RowRegion, regions_of
from nervure.kernel.schedule.products.sides import Reading
from nervure.kernel.schedule.products.tables import Offset, OffsetTables, Placed, entry_of, filled, placed, tables_of
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_max, dim_min, highest


class Tasks(NamedTuple):
    """The tasks of a product: its blocks, the reading and packing of its operands, and the memory of its results.

    There may be offset ``tables`` that it reads by, and a panel of a right operand that is packed ``apart``.
    """

    blocking: Blocking
    reading: Reading
    packing: Packing
    results: Results
    tables: OffsetTables | None
    regions: Regions
    apart: PanelApart | None

    def packed_apart(self) -> Kernel | None:
        """Returns the kernel that packs the whole right operand; None if tasks pack it, or if it is not packed."""
        return None if self.apart is None else packing_kernel(self.packing, self.apart)

    def blocked(self, kernel: Kernel) -> Kernel:
        """Returns the kernel that does the product of another one in tasks."""
        body = self._body()
        task = For(self.blocking.matrices.new.task, self.blocking.tasks, body, parallel=True)
        return replace(kernel, buffers=(*kernel.buffers, *self._buffers(body)), body=(task,))

    def _buffers(self, body: Body) -> list[Buffer]:
        """Returns the buffers that tasks have beside those of the kernel."""
        apart = None if self.apart is None else self.apart.load.buffer
        panels = [panel.buffer for panel in (self.packing.right, self.packing.left) if panel is not None]
        results = (self.results.tile, self.results.transposed, self.results.group)
        made = (apart, *results, *panels, self.packing.waiting, *(self.tables or ()))
        used = {entry.buffer for entry in walk(body) if isinstance(entry, Access)}
        return [buffer for buffer in made if buffer in used]

    def _body(self) -> Body:
        """Returns the product of all k, block by block, and the epilogue."""
        matrices, points = self.blocking.matrices, self.blocking.matrices.k.extent
        if matrices.is_of_bytes and self.packing.left is None and self.packing.right is None:
            return (*self._product(0, points, None), *self.results.epilogue())  # exact in any order
        first = self._first(dim_min(points, CONTRACT_BLOCK))
        blocks = block_count(points, CONTRACT_BLOCK)
        if blocks == 1:
            return (*self._row_tables(), *first, *self.results.epilogue())
        start = (matrices.new.block.dim + 1) * CONTRACT_BLOCK
        more = self._product(start, part_of(points, start, CONTRACT_BLOCK), "add")
        grouped = blocks if matrices.dtype.is_integer else dim_min(blocks, CONTRACT_GROUP)  # integers have one group
        in_first = dim_max(grouped - 1, 0)
        return (*self._row_tables(), *first, *_turns(matrices.new.block, in_first, more), *self._later_groups(),
                *self.results.epilogue())

    def _first(self, points: DimLike) -> Body:
        """Returns the product of the first block of k. Where some rows have none of it, all begin with 0."""
        if self.regions.are_of_blocks:
            return (self.results.cleared(), *self._product(0, points, "add"))
        return self._product(0, points, None)

    def _later_groups(self) -> Body:
        """Returns the products of all blocks of k behind the first group of them, group by group.

        The sum of a group waits beside the results, and joins them. Integers are exact in any order.
        """
        matrices, blocks = self.blocking.matrices, block_count(self.blocking.matrices.k.extent, CONTRACT_BLOCK)
        most = highest(blocks)
        if matrices.dtype.is_integer or (most is not None and most <= CONTRACT_GROUP):
            return ()
        later, block = matrices.new.later, matrices.new.block
        first = (later.dim + 1) * CONTRACT_GROUP
        start = (first + block.dim) * CONTRACT_BLOCK
        group = self._replace(results=self.results.of_later_groups())
        more = group._product(start, part_of(matrices.k.extent, start, CONTRACT_BLOCK), "add")
        body = (group.results.cleared(), For(block, dim_min(CONTRACT_GROUP, blocks - first), more),
                group.results.added(self.results))
        tables = group._row_tables() if self.results.tile is None else ()  # rows are as far apart in other tiles
        return (*tables, *_turns(later, dim_max(block_count(blocks, CONTRACT_GROUP) - 1, 0), body))

    def _product(self, start: DimLike, points: DimLike, combine: str | None) -> Body:
        """Returns the product of a block of k, and in front of it what packs the operands: the left one group by group.
        """
        matrices, panel, above = self.blocking.matrices, self.packing.left, self._rows_from(start, points)
        below = above._replace(along=matrices.n, first=self.blocking.first(matrices.n), extent=self.blocking.columns)
        if panel is not None:
            row, done = matrices.m.number, matrices.new.group.dim * panel.width
            above = above._replace(first=above.first + done, extent=dim_min(panel.width, above.extent - done),
                                   moved={**above.moved, row: above.moved[row] + done})
        left, pack_left = self.packing.loaded(matrices.left, panel, above)
        right, pack_right = self.packing.loaded(self._right, self.packing.right, below)
        product = self._whole(left, right, above, combine)
        if panel is None:
            return (*pack_right, *product)
        groups = block_count(self.blocking.rows, panel.width)
        return (*pack_right, *_turns(matrices.new.group, groups, (*pack_left, *product)))

    def _whole(self, left: Load, right: Load, block: OperandBlock, combine: str | None) -> Body:
        """Returns the product of a block of the left operand: of all its rows at once, or of those of each box."""
        if self.tables is None:
            contract = self._contract((left, right), left, right, block.points)
            store = self.results.stored(contract.result, combine, block.moved)
            return self._over_rows(block.extent, contract, (), store)
        m, k = self.blocking.matrices.m, self.blocking.matrices.k
        a = placed(left, self.reading.left_offsets, block.moved, m, k)
        b = placed(right, self.reading.right_offsets, block.moved, k)
        product = partial(self._by_tables, self.tables, a, b, block, combine)
        return product(self.regions.of_block(block.start)) if self.regions.are_of_blocks else self.regions.each(product)

    def _by_tables(self, tables: OffsetTables, a: Placed, b: Placed, block: OperandBlock, combine: str | None,
                   region: RowRegion) -> Body:
        """Returns the product of a region of rows and k, behind the loops that fill the tables of k.

        They fill those of rows, too, if each ``block`` has other rows.
        """
        matrices, start = self.blocking.matrices, block.start
        m, k = matrices.m, matrices.k
        first_row = region.number * self.blocking.height
        at_row, at_left, at_right = entry_of(tables.rows, m.number, first_row), *[
            entry_of(table, k.number) for table in (tables.left_k, tables.right_k)]
        loads = (at_row, at_left, a.load(at_row, at_left), at_right, b.load(at_right))
        points = region.k.points(start, block.points, CONTRACT_BLOCK)
        contract = self._contract(loads, loads[2], loads[4], points)
        store, _ = self._result(contract.result, combine, block)
        at_result = entry_of(tables.results, m.number, first_row)
        store = replace(store, address=replace(store.address, terms=((1, at_result.result),)))
        rows = region.m.points(block.first, block.extent, self._unit)
        fill = filled({tables.left_k: a.offsets[1], tables.right_k: b.offsets[0]}, region.k, start, block.points,
                      CONTRACT_BLOCK, vector=True)
        product = (*fill, *self._over_rows(rows, contract, (at_result,), store))
        if self.regions.are_of_blocks:
            return (*self._rows_of(region), *product)
        if region.m.is_whole:
            return product
        is_any = dim_min(rows, 1) if combine is None else dim_min(rows, 1) * dim_min(points, 1)
        return _turns(matrices.new.any, is_any, product)

    def _result(self, result: Variable, combine: str | None, block: OperandBlock) -> tuple[Store, Offset]:
        """Returns the store of a ``result`` of a ``block``'s first row, which may ``combine``, and the offset of other
        rows.
        """
        row = self.blocking.matrices.m.number
        store = self.results.stored(result, combine, {**block.moved, row: block.first + row.dim})
        first = replace(store, address=store.address.substitute({row: 0}))
        return first, Offset(store.address.step(row) * row.dim, True)

    @property
    def _unit(self) -> int:
        """A number of which the first rows of blocks are multiples."""
        return self.blocking.height if self.packing.left is None else 1

    def _row_tables(self) -> Body:
        """Returns the loops that fill the tables of rows and of results, region by region, once for a task."""
        return () if self.tables is None or self.regions.are_of_blocks else self.regions.each(self._rows_of)

    def _rows_of(self, region: RowRegion) -> Body:
        """Returns the loops that fill the tables of rows and of results for a region."""
        matrices, blocking, tables = self.blocking.matrices, self.blocking, self.tables
        assert tables is not None
        block = self._rows_from(0, dim_min(matrices.k.extent, CONTRACT_BLOCK))
        left, _ = self.packing.loaded(matrices.left, self.packing.left, block)
        offset = placed(left, self.reading.left_offsets, block.moved, matrices.m, matrices.k).offsets[0]
        _, to_result = self._result(Variable(matrices.dtype), None, block)
        return filled({tables.rows: offset, tables.results: to_result}, region.m, block.first, block.extent,
                      self._unit, region.number * blocking.height, vector=True)

    def _rows_from(self, start: DimLike, points: DimLike) -> OperandBlock:
        """Returns the block of the left operand that has all rows of a task."""
        m, blocking = self.blocking.matrices.m, self.blocking
        return OperandBlock(start, points, m, blocking.first(m), blocking.rows, dict(blocking.moved))

    def _over_rows(self, rows: DimLike, contract: Contract, loads: Body, store: Store) -> Body:
        """Returns a product: the loops over its rows and columns."""
        columns = self.blocking.over_columns((contract, *loads, store))
        return (For(self.blocking.matrices.m.number, rows, (columns,), routine="product"),)

    @property
    def _right(self) -> Side:
        """The right side as tasks read it."""
        if self.apart is None:
            return self.blocking.matrices.right
        return Side((self.apart.load,), self.apart.load.result)

    def _contract(self, loads: Body, left: Load, right: Load, points: DimLike) -> Contract:
        """Returns the contraction of a block of points, where loads give elements of both sides; bytes are widened."""
        matrices, result = self.blocking.matrices, Variable(self.blocking.matrices.dtype)
        factors, widened = [left.result, right.result], list[Apply]()
        if matrices.is_of_bytes:
            widened = [Apply(Variable(matrices.dtype), "convert", (factor,)) for factor in factors]
            factors = [entry.result for entry in widened]
        elif matrices.contract.left is not matrices.left.value:
            factors.reverse()
        return Contract(result, ((matrices.k.number, points),), (*loads, *widened), *factors)


def _turns(index: LoopIndex, extent: DimLike, body: Body) -> Body:
    """Returns a loop; what it does alone, where it has a single turn."""
    return substituted(body, {index: 0}) if extent == 1 else (For(index, extent, body),)


def tasks_of(blocking: Blocking, reading: Reading) -> Tasks:
    """Returns the tasks of a product in such blocks, whose sides are read so."""
    regions = regions_of(blocking.matrices)
    return Tasks(blocking, reading, packing_of(blocking, reading), results_of(blocking),
                 tables_of(blocking, reading, regions.total), regions, panel_apart(blocking, reading))
