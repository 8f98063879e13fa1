"""Matrix products in blocks: tasks that threads share, packed panels, epilogues while results are cached.

A contraction of two elements that runs over the columns of its result becomes tasks, each of some rows and columns. A
task goes over the points in blocks, as contractions add them up. Where the right side lies across memory, or too far
apart, its block is packed into a panel first. What is computed of the results follows when a task has all of them.

>>> from nervure.kernel.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[3000], in b: f32[50], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[j + 50*k]
...         give v1, v2
...       v3 = b[j]
...       v4 = add(v0, v3)
...       z[50*i + j] = v4
... ''')
>>> print(print_kernel(with_matrix_products(kernel, GENERIC)), end="")
kernel product(in x: f32[6000], in y: f32[3000], in b: f32[50], out z: f32[5000], scratch tile: f32[5000]):
  for i < 1 parallel:
    for j < 100 as product:
      for k < 50 vector:
        v0 = contract over l < 60:
          v1 = x[60*j + l]
          v2 = y[k + 50*l]
          give v1, v2
        tile[50*j + k] = v0
    for j < 100:
      for k < 50 vector:
        v3 = tile[50*j + k]
        v4 = b[k]
        v5 = add(v3, v4)
        z[50*j + k] = v5
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from nervure.kernel.ir import (
    CONTRACT_BLOCK,
    Address,
    Apply,
    Body,
    Buffer,
    Contract,
    For,
    Index,
    Kernel,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
    Variable,
    walk,
)
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.machine import Machine
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.routines import BYTES, FEW_ROWS, Side, block_columns, is_affine, sides_of
from nervure.kernel.schedule.lines import Lines, lines_of
from nervure.kernel.schedule.nests import Nest, nest_of
from nervure.kernel.schedule.places import Parts, Placed, parts_of, place_of
from nervure.kernel.schedule.points import Runs, in_runs, with_one_index
from nervure.kernel.simplify.dead_code import without_unused_buffers
from nervure.kernel.tuning import (
    BYTES_ROWS,
    COLUMN_MULTIPLE,
    DIRECT_BYTES,
    DIRECT_ROWS,
    EPILOGUE_BYTES,
    KEPT_SHARE,
    LEAST_PACKED_POINTS,
    LEAST_PRODUCTS,
    LEAST_ROWS,
    LONG_ROW_COLUMNS,
    LONG_ROWS,
    MEETING_BYTES,
    PACKED_ROWS,
    PACKED_SHARE,
    PANEL_ROWS,
    PLACES_ROWS,
    ROW_MULTIPLE,
    STRIP_COLUMNS,
    TASK_PRODUCTS,
    UNEVEN_TASKS,
)
from nervure.types.dim import DimLike, affine, dim_max, dim_min, product
from nervure.types.dtype import int64


def with_matrix_products(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel in blocks, if it is the product of two matrices, or of many pairs of them."""
    found = _blocks(kernel, machine)
    return kernel if found is None else found.blocked(kernel)


def packed_apart(kernel: Kernel, machine: Machine, lasting: Collection[Buffer]) -> tuple[Kernel, Kernel] | None:
    """A product as two kernels in blocks: the first packs the whole right side from its first buffer into its second, a
    panel that has the same name in the second kernel, which reads it. None where the right side is not packed, or
    follows from more than one of the ``lasting`` buffers.
    """
    found = _blocks(kernel, machine, lasting)
    if found is None or found.source is None:
        return None
    return found.packing(), without_unused_buffers(found.blocked(kernel))


def _blocks(kernel: Kernel, machine: Machine, lasting: Collection[Buffer] = ()) -> _Blocks | None:
    """A kernel as a product of matrices; None if it is none."""
    if kernel.sliced is None:
        return None
    nest = nest_of(kernel.sliced)
    *outer, columns = nest.loops
    loops = [entry for entry in nest.body if isinstance(entry, Loop)]
    if len(loops) != 1 or not isinstance(loops[0], Contract):
        return None
    contract = with_one_index(loops[0])
    sides = sides_of(contract, columns.index)
    if sides is None or not nest.is_free:
        return None
    left, right = sides
    rest = tuple([entry for entry in nest.body if entry is not loops[0]])
    rows = [loop.extent for loop in outer if left.mentions(loop.index) and not right.mentions(loop.index)]
    point, points = contract.indices[0]
    if not rows and right.element(columns.index, point) is None and points in range(LEAST_PACKED_POINTS):
        return None  # it would be packed for one row: depthwise windows
    lines = lines_of(outer[-1], columns, left, right) if outer else None
    if lines is not None and rows and left.value.dtype not in BYTES and lines.are_better_packed(rows[-1]):
        lines = lines.without_gaps([loop for loop in outer if not left.mentions(loop.index)])
    elif lines is not None:
        first = dict.fromkeys(lines.at(0), 0)
        right = right._replace(statements=tuple([entry.substitute(first) for entry in right.statements]))
    return _Blocks(Nest(nest.loops, rest), contract, left, right, lines, machine.threads, lasting)


class _Blocks:
    """A product that is cut into blocks. Its nest is without the contraction; where its columns lie in lines with gaps,
    the right side goes on from the first line through all of them.
    """

    source: Buffer | None
    _packed_apart: Buffer | None
    _panel: Buffer | None
    _left_panel: Buffer | None
    _tile: Buffer | None
    _waiting: Buffer | None
    _tables: list[Buffer] | None

    def __init__(self, nest: Nest, contract: Contract, left: Side, right: Side, lines: Lines | None,
                 threads: int, lasting: Collection[Buffer]) -> None:
        self._threads, self._lines = threads, lines
        self._contract, self._left, self._right = contract, left, right
        self._dtype, self._size = contract.result.dtype, contract.result.dtype.itemsize
        self._is_of_bytes = left.value.dtype in BYTES
        self._group_rows = PANEL_ROWS * self._size // left.value.dtype.itemsize
        self._rest, (self._point, self._points) = nest.body, contract.indices[0]
        number = 1 + max([index.number for entry in walk(nest.loops[:1]) if isinstance(entry, Loop)
                          for index, _ in entry.indices])
        self._task, self._block, self._group, self._run, self._strip, self._line, row = [
            LoopIndex(number + each) for each in range(7)]
        *outer, columns = nest.loops
        if lines is not None:
            outer = [loop for loop in outer if loop.index not in lines.at(0)]
            columns = For(lines.column, lines.extent, ())
        rows = [loop for loop in outer if left.mentions(loop.index) and not right.mentions(loop.index)]
        self._columns, self._rows = columns, rows[-1] if rows else For(row, 1, ())
        self._batch = [loop for loop in outer if loop is not self._rows]
        self._packed = right
        self._left_parts, self._right_parts = self._parts_of_left(), self._parts_of_right()
        self.source = self._source(lasting)
        self._cut()
        self._packed_apart = self._panel = self._left_panel = self._tile = self._waiting = self._tables = None
        if self.source is not None:
            self._right, self._packed_apart = self._read_apart()
        depth = _at_most(self._points, CONTRACT_BLOCK)
        if self._is_packed():
            self._panel = Buffer("panel", right.value.dtype, depth * self._width, "scratch")
        if self._is_left_packed():
            self._left_panel = Buffer("left_panel", left.value.dtype, depth * self._group_rows, "scratch")
        if not self._is_stored():
            self._tile = Buffer("tile", self._dtype, self._height * self._width, "scratch")
        if self._left_parts is not None or self._right_parts is not None:
            sizes = (("rows", self._height), ("left_points", depth), ("right_points", depth))
            self._tables = [Buffer(name, int64, size, "scratch") for name, size in sizes]

    # -- decisions -------------------------------------------------------------------------------------------

    def _cut(self) -> None:
        """How many rows and columns a task has, how many tasks there are, and where one begins."""
        rows, columns = self._rows.extent, self._columns.extent
        few = isinstance(rows, int) and rows <= LONG_ROWS and not self._is_packed() and self._right_parts is None
        block = block_columns(self._points, self._dtype) // (1 if self.source is None else KEPT_SHARE)
        batch = product([loop.extent for loop in self._batch])
        self._width = self._even(_at_most(columns, LONG_ROW_COLUMNS if few else self._shared_columns(block)), batch)
        if self._lines is not None and self._lines.packed:
            assert isinstance(self._lines.length, int)
            self._width = max(self._width // self._lines.length, 1) * self._lines.length  # whole lines
        across = _count(columns, self._width)
        others = product([batch, across])
        self._height = _at_most(rows, self._most_rows(others))
        down = _count(rows, self._height)
        self._tasks = product([others, down, 1 if self._lines is None else self._lines.is_any])
        number: DimLike = self._task.dim
        number, strip = number // across, number % across
        first_column = strip * self._width
        number, first_row = number // down, number % down * self._height
        self._moved: dict[LoopIndex, DimLike] = {self._columns.index: first_column + self._columns.index.dim,
                                                 self._rows.index: first_row + self._rows.index.dim,
                                                 self._strip: strip}
        for loop in reversed(self._batch):
            number, self._moved[loop.index] = number // loop.extent, number % loop.extent
        self._wide, self._high = dim_min(self._width, columns - first_column), dim_min(self._height, rows - first_row)

    def _even(self, width: int, batch: DimLike) -> int:
        """The columns of a block; fewer where few blocks of few rows would be shared unevenly."""
        rows, columns = self._rows.extent, self._columns.extent
        if not (isinstance(rows, int) and isinstance(columns, int) and isinstance(batch, int)):
            return width
        if columns <= width or rows > PACKED_ROWS:
            return width
        parts = -(-columns // width)
        parts += batch * parts % 2
        return width if batch * parts > UNEVEN_TASKS else -(-columns // (parts * COLUMN_MULTIPLE)) * COLUMN_MULTIPLE

    def _shared_columns(self, block: int) -> int:
        """The columns of a block; half as many if one block of few rows were all, which cannot be cut by rows: each
        task would pack all of it.
        """
        rows, columns = self._rows.extent, self._columns.extent
        if self._batch or self.source is not None or not self._is_packed():
            return block
        if not (isinstance(rows, int) and isinstance(columns, int)):
            return block
        half = -(-columns // (2 * STRIP_COLUMNS)) * STRIP_COLUMNS
        points = _at_most(self._points, CONTRACT_BLOCK)
        is_one = columns <= block and rows <= PACKED_ROWS and rows * half * points >= 2 * LEAST_PRODUCTS
        return min(half, block) if is_one else block

    def _most_rows(self, others: DimLike) -> int:
        """The most rows of a task: more use a panel more often, take longer, and leave less to other threads."""
        rows, points = self._rows.extent, self._points if isinstance(self._points, int) else CONTRACT_BLOCK
        is_shared = self._is_packed() and self.source is None
        most = TASK_PRODUCTS * (PACKED_SHARE if is_shared else 1) // max(self._width * points, 1)
        if not self._is_stored() or not isinstance(rows, int):
            most = min(most, EPILOGUE_BYTES // (self._width * self._size))
        limit = most
        if isinstance(rows, int) and isinstance(others, int):
            shared = -(-rows * others // self._threads)
            packed = PACKED_ROWS if is_shared else LEAST_ROWS
            if others == 1 and rows * self._width * points >= 4 * LEAST_PRODUCTS:
                packed = min(packed, -(-rows // 2))  # to pack what another task packs, too, is better than to wait
            least = BYTES_ROWS if self._is_of_bytes else packed
            most = min(most, max(shared, least, LEAST_PRODUCTS // max(self._width * points, 1)))
        if isinstance(rows, int):
            most = -(-rows // _parts(rows, most, limit, others))  # tasks of about the same length
        return max(-(-most // ROW_MULTIPLE) * ROW_MULTIPLE, ROW_MULTIPLE)

    def _is_packed(self) -> bool:
        """Whether blocks of the right side are copied to where they lie close together."""
        rows = self._rows.extent
        if self._right_parts is not None:
            return False
        if self._has_packed_lines() or self._right.element(self._columns.index, self._point) is None:
            return True
        apart = self._right.step(self._point)
        if self._right.step(self._columns.index) != 1:
            return not (self._may_be_across() and apart == 1)
        if self._is_of_bytes or isinstance(rows, int) and rows <= DIRECT_ROWS:
            return False  # who multiplies bytes packs them
        points = _at_most(self._points, CONTRACT_BLOCK)
        return not (isinstance(apart, int) and apart * points * self._size <= DIRECT_BYTES)

    def _has_packed_lines(self) -> bool:
        """Whether the columns of the right side lie in lines, and those of its panel one line behind the other."""
        return self._lines is not None and self._lines.packed

    def _may_be_across(self) -> bool:
        """Whether the points of the right side may follow each other: there are few rows, or it is of bytes."""
        return self._is_of_bytes or isinstance(self._rows.extent, int) and self._rows.extent <= FEW_ROWS

    def _is_left_packed(self) -> bool:
        """Whether the left side is computed, or lies across memory: its points so far apart that they meet in the
        cache, or of bytes at all.
        """
        if self._left_parts is not None:
            return False
        if self._left.element(self._rows.index, self._point) is None:
            return True
        apart = self._left.step(self._point)
        if self._is_of_bytes:
            return apart != 1
        return (self._left.step(self._rows.index) == 1 and isinstance(apart, int)
                and apart * self._size % MEETING_BYTES == 0)

    def _is_stored(self) -> bool:
        """Whether nothing is done with results but to store them, in rows."""
        store = self._rest[0]
        return (self._lines is None and len(self._rest) == 1 and isinstance(store, Store)
                and store.value is self._contract.result and store.combine is None
                and is_affine(store, self._rows.index, self._columns.index)
                and store.address.step(self._columns.index) == 1)

    # -- places -----------------------------------------------------------------------------------------------

    def _parts_of_left(self) -> Parts | None:
        """The places of the left side, where tables are to say what they are: its points follow each other in runs."""
        parts = self._parts_of(self._left, self._rows.index, self._point)
        return parts if parts is not None and self._step(parts.added[-1]) == 1 else None

    def _parts_of_right(self) -> Parts | None:
        """Those of the right side, whose columns follow each other. To more rows it is worth to pack it."""
        rows, column = self._rows.extent, self._columns.index
        if self._right.element(column) is None or self._right.step(column) != 1 or self._has_packed_lines():
            return None
        parts = self._parts_of(self._right, self._point)
        is_worth = isinstance(rows, int) and rows <= PLACES_ROWS
        return parts if is_worth and parts is not None and self._step(parts.added[-1]) is not None else None

    def _parts_of(self, side: Side, *indices: LoopIndex) -> Parts | None:
        """The places of a side that is but read, where they are not affine; a few rows are worth no tables."""
        rows, load = self._rows.extent, side.element()
        is_few = isinstance(rows, int) and rows <= FEW_ROWS
        if load is None or side.element(*indices) is not None or self._is_of_bytes or is_few:
            return None
        return parts_of(load.address, *indices)

    def _step(self, place: DimLike) -> DimLike | None:
        """How far it is from point to point in each run of them; None if there are no such runs."""
        side = place_of(place)
        runs = in_runs(side, self._point, self._run)
        (index,), name = (side if runs is None else runs.side).statements, self._point.name
        assert isinstance(index, Index)
        found = affine(index.expression, [name])
        return None if found is None else found[0][name]

    def _by_places(self, left: Load, right: Load, block: tuple[DimLike, DimLike], high: DimLike,
                   moved: Mapping[LoopIndex, DimLike]) -> tuple[Body, Body]:
        """The loads of both sides, and what stores the tables that they go by, if there are such: those of the points
        of a block, that of rows with the first one.
        """
        if self._tables is None:
            return (left, right), ()
        row, column, point = self._rows.index, self._columns.index, self._point
        above = Placed(self._left_parts, left, block, moved, (row, point))
        below = Placed(self._right_parts, right, block, moved, (point,))
        loads = [Load(Variable(int64), table, Address(0, ((index, 1),)))
                 for table, index in zip(self._tables, (row, point, point), strict=True)]
        tables: Body = ()
        if block[0] == 0:
            place = place_of(substitute_indices(above.parts.added[0], above.moved))
            tables = (For(row, high, (*place.statements, Store(loads[0].buffer, loads[0].address, place.value))),)
        for placed, load in ((above, loads[1]), (below, loads[2])):
            place = place_of(placed.parts.added[-1])
            runs = in_runs(place, point, self._run)
            tables += self._packing(place, runs, load, placed.block, (column, 1), placed.moved)
        first, *rest = [load.result for load in loads]
        return (*loads[:2], above.load(first, rest[0]), loads[2], below.load(rest[1])), tables

    # -- a panel of all tasks ----------------------------------------------------------------------------------

    def _source(self, lasting: Collection[Buffer]) -> Buffer | None:
        """The buffer from which the whole right side is packed, if it is."""
        extents = [self._columns.extent, self._points, *[loop.extent for loop in self._own_batch()]]
        is_fixed = all([isinstance(extent, int) for extent in extents])
        is_better_packed = self._is_packed() or self._right.step(self._columns.index) != 1
        return self._right.source(lasting) if is_fixed and is_better_packed and not self._has_packed_lines() else None

    def _read_apart(self) -> tuple[Side, Buffer]:
        """The right side in strips that are as wide as a task, row by row; one after the other, matrix by matrix."""
        assert isinstance(self._points, int)
        depth, strips = self._points, _count(self._columns.extent, self._width)
        # A column moves the place by 1, and so by a row of the strip with each strip that is behind it.
        steps: dict[LoopIndex, DimLike] = {
            self._point: self._width, self._columns.index: 1, self._strip: (depth - 1) * self._width}
        size = strips * depth * self._width
        for loop in reversed(self._own_batch()):
            steps[loop.index], size = size, size * loop.extent
        result = Variable(self._right.value.dtype)
        panel = Buffer("packed", result.dtype, size, "in")
        return Side((Load(result, panel, Address(0, tuple(steps.items()))),), result), panel

    def _own_batch(self) -> list[For]:
        """The loops over matrices of the right side."""
        return [loop for loop in self._batch if self._packed.mentions(loop.index)]

    def packing(self) -> Kernel:
        """The kernel that packs the right side, in tasks of a block of points of a strip each."""
        load, = self._right.statements
        assert isinstance(load, Load) and self.source is not None
        column, panel = self._columns, replace(load.buffer, role="out")
        blocks, strips = _count(self._points, CONTRACT_BLOCK), _count(column.extent, self._width)
        number, start = self._task.dim // blocks, self._task.dim % blocks * CONTRACT_BLOCK
        number, strip = number // strips, number % strips
        moved: dict[LoopIndex, DimLike] = {
            self._strip: strip, column.index: strip * self._width + column.index.dim}
        for loop in reversed(self._own_batch()):
            number, moved[loop.index] = number // loop.extent, number % loop.extent
        block = start, dim_min(CONTRACT_BLOCK, self._points - start)
        place = load.address.substitute({**moved, self._point: start + self._point.dim})
        runs = in_runs(self._packed, self._point, self._run)
        along = column.index, dim_min(self._width, column.extent - strip * self._width)
        pack = self._packing(self._packed, runs, Load(load.result, panel, place), block, along, moved)
        tasks = product([*[loop.extent for loop in self._own_batch()], strips, blocks])
        scratch = () if self._waiting is None else (self._waiting,)
        return Kernel("pack", (self.source, panel, *scratch), (For(self._task, tasks, pack, parallel=True),), ())

    # -- statements ------------------------------------------------------------------------------------------

    def blocked(self, kernel: Kernel) -> Kernel:
        """The kernel that does it in tasks."""
        is_whole = self._is_of_bytes and self._panel is None and self._left_panel is None  # exact in any order
        blocks = 1 if is_whole else _count(self._points, CONTRACT_BLOCK)
        body = [*self._product(0, self._points if is_whole else dim_min(self._points, CONTRACT_BLOCK), None)]
        if blocks != 1:
            start = (self._block.dim + 1) * CONTRACT_BLOCK
            more = self._product(start, dim_min(CONTRACT_BLOCK, self._points - start), "add")
            body.append(For(self._block, dim_max(blocks - 1, 0), more))
        if self._tile is not None:
            body.append(self._epilogue(self._tile))
        own = (self._packed_apart, self._tile, self._panel, self._left_panel, self._waiting, *(self._tables or ()))
        return replace(kernel, buffers=(*kernel.buffers, *[buffer for buffer in own if buffer is not None]),
                       body=(For(self._task, self._tasks, tuple(body), parallel=True),))

    def _product(self, start: DimLike, points: DimLike, combine: str | None) -> Body:
        """The product of a block of points, and in front of it what packs the sides: the left one group by group."""
        moved, high = dict(self._moved), self._high
        if self._left_panel is not None:
            first = self._group.dim * self._group_rows
            moved[self._rows.index], high = moved[self._rows.index] + first, dim_min(self._group_rows, high - first)
        block = start, points
        left, pack_left = self._loaded(self._left, self._left_panel, block, (self._rows.index, high), moved)
        right, pack_right = self._loaded(self._right, self._panel, block, (self._columns.index, self._wide), moved)
        loads, tables = self._by_places(left, right, block, high, moved)
        factors, widened = [left.result, right.result], list[Apply]()
        if self._is_of_bytes:
            widened = [Apply(Variable(self._dtype), "convert", (factor,)) for factor in factors]
            factors = [entry.result for entry in widened]
        elif self._contract.left is not self._left.value:
            factors.reverse()
        result = Variable(self._dtype)
        contract = Contract(result, ((self._point, points),), (*loads, *widened), *factors)
        columns = self._over_columns((contract, self._store(result, combine, moved)))
        product = For(self._rows.index, high, (columns,), routine="product")
        if self._left_panel is None:
            return (*pack_right, *tables, product)
        groups = _count(self._high, self._group_rows)
        return (*pack_right, For(self._group, groups, (*pack_left, *tables, product)))

    def _loaded(self, side: Side, panel: Buffer | None, block: tuple[DimLike, DimLike],
                along: tuple[LoopIndex, DimLike], moved: Mapping[LoopIndex, DimLike]) -> tuple[Load, Body]:
        """How a side is loaded for a block of points, of a start and a length, and what packs it for that."""
        start, points = block
        if panel is None:
            (load,), _ = fresh_copy(side.statements, (), {**moved, self._point: start + self._point.dim})
            assert isinstance(load, Load)
            return load, ()
        runs = in_runs(side, self._point, self._run)
        may_be_in_order = panel is self._left_panel or self._may_be_across() and self._left_panel is None
        must_be_in_order = self._is_of_bytes and panel is self._left_panel
        if must_be_in_order or may_be_in_order and (runs.side if runs else side).follows(self._point, along[0]):
            place = Address(0, ((along[0], _at_most(self._points, CONTRACT_BLOCK)), (self._point, 1)))
        else:
            width = self._width if panel is self._panel else self._group_rows
            place = Address(0, ((self._point, width), (along[0], 1)))
        load = Load(Variable(panel.dtype), panel, place)
        return load, self._packing(side, runs, load, block, along, moved)

    def _packing(self, side: Side, runs: Runs | None, load: Load, block: tuple[DimLike, DimLike],
                 along: tuple[LoopIndex, DimLike], moved: Mapping[LoopIndex, DimLike]) -> Body:
        """What stores a block of a side to where it is loaded from, in its runs if there are such."""
        start, points = block
        if runs is None:
            moved = {**moved, self._point: start + self._point.dim}
            return self._copying_lines(side, load, points, along, moved)
        first, length = start // runs.length, runs.length
        number, after = first + self._run.dim, start + points
        if runs.fill(self._points):
            count, begin, end = points // length, number * length, (number + 1) * length
        else:
            count = (after + (length - 1)) // length - first
            begin, end = dim_max(start, number * length), dim_min(after, (number + 1) * length)
        moved = {**moved, self._run: number, self._point: begin - number * length + self._point.dim}
        place = load.address.substitute({self._point: begin - start + self._point.dim})
        copying = self._copying_lines(runs.side, replace(load, address=place), end - begin, along, moved)
        return (For(self._run, count, copying),)

    def _copying_lines(self, side: Side, load: Load, points: DimLike, along: tuple[LoopIndex, DimLike],
                       moved: Mapping[LoopIndex, DimLike]) -> Body:
        """The same of points in which a side is affine; line by line, where its columns lie in packed lines."""
        if not self._has_packed_lines() or not side.mentions(self._columns.index):
            return self._copying(side, load, points, along, moved)
        count, start, extent, line = self._line_of_block()
        load = replace(load, address=load.address.substitute({along[0]: start + along[0].dim}))
        return (For(self._line, count, self._copying(side, load, points, (along[0], extent), {**moved, **line})),)

    def _copying(self, side: Side, load: Load, points: DimLike, along: tuple[LoopIndex, DimLike],
                 moved: Mapping[LoopIndex, DimLike]) -> Body:
        """The same of points in which a side is affine. It is read along memory; where that crosses the panel, it is
        transposed, and waits in between if it has to be computed.
        """
        body, (value,) = fresh_copy(side.statements, (side.value,), moved)
        rows, columns = (self._point, points), along
        follows_points, turned = side.follows(self._point, along[0]), load.address.step(self._point) == 1
        is_crossing = follows_points and not turned
        is_element = side.element(along[0], self._point) is not None
        if is_crossing and not is_element:
            depth = _at_most(self._points, CONTRACT_BLOCK)
            self._waiting = self._waiting or Buffer("waiting", load.buffer.dtype, depth * self._width, "scratch")
            place = Address(0, ((along[0], depth), (self._point, 1)))
            wait = For(*along, (For(*rows, (*body, Store(self._waiting, place, value)), vector=True),))
            again = Load(Variable(self._waiting.dtype), self._waiting, place)
            store = Store(load.buffer, load.address, again.result)
            return wait, For(*rows, (For(*columns, (again, store), vector=True),), routine="transpose")
        if turned:
            rows, columns = columns, rows
        copy = (*body, Store(load.buffer, load.address, value))
        is_transpose = is_element and side.step(rows[0]) == 1 and side.step(columns[0]) != 1
        return (For(*rows, (For(*columns, copy, vector=True),), routine="transpose" if is_transpose else None),)

    def _store(self, result: Scalar, combine: str | None, moved: Mapping[LoopIndex, DimLike]) -> Store:
        if self._tile is not None:
            inside = {self._rows.index: moved[self._rows.index] - self._moved[self._rows.index] + self._rows.index.dim}
            return Store(self._tile, self._place(self._rows.index).substitute(inside), result, combine)
        store, = self._rest
        assert isinstance(store, Store)
        return replace(store, value=result, combine=combine).substitute(moved)

    def _epilogue(self, tile: Buffer) -> For:
        """What is computed of the results of a task."""
        if self._lines is not None:
            return self._epilogue_in_lines(self._lines, tile)
        rest: tuple[Statement, ...] = tuple([entry.substitute(self._moved) for entry in self._rest])
        load = Load(self._contract.result, tile, self._place(self._rows.index))
        return For(self._rows.index, self._high, (self._over_columns((load, *rest)),))

    def _epilogue_in_lines(self, lines: Lines, tile: Buffer) -> For:
        """The same line by line: what the gaps between them hold is left out."""
        row, column = self._rows.index, lines.column
        count, start, extent, line = self._line_of_block()
        load = Load(self._contract.result, tile, self._place(row).substitute({column: start + column.dim}))
        rest = [entry.substitute({**self._moved, **line}) for entry in self._rest]
        over_columns = For(column, extent, (load, *rest), vector=True)
        return For(self._line, count, (For(row, self._high, (over_columns,)),))

    def _line_of_block(self) -> tuple[DimLike, DimLike, DimLike, dict[LoopIndex, DimLike]]:
        """How many lines a task has, in part at least; of one of them, where it begins in the block of the task, how
        many of its columns the block has, and the indices that have moved.
        """
        lines, column = self._lines, self._columns.index
        assert lines is not None
        first = self._moved[column] - column.dim
        above, count = lines.in_block(first, self._wide)
        start, before, extent = lines.part(self._line.dim, first, self._wide)
        return count, start, extent, {**lines.at(above + self._line.dim), column: before + column.dim}

    def _over_columns(self, body: Body) -> For:
        return For(self._columns.index, self._wide, body, vector=True)

    def _place(self, row: LoopIndex) -> Address:
        """An element of a scratch buffer, whose rows are as wide as a task."""
        return Address(0, ((row, self._width), (self._columns.index, 1)))


def _parts(rows: int, most: int, limit: int, others: DimLike) -> int:
    """How many parts rows are cut into, of about ``most`` and never more than a limit, beside so many other cuts: no
    odd number of tasks, of which one thread would have more.
    """
    parts = -(-rows // max(most, 1))
    if parts == 1 or parts % 2 == 0 or isinstance(others, int) and others % 2 == 0:
        return parts
    return parts - 1 if -(-rows // (parts - 1)) <= limit else parts + 1


def _at_most(extent: DimLike, most: int) -> int:
    """An extent that is a number, but no more than so much."""
    return min(extent, most) if isinstance(extent, int) else most


def _count(extent: DimLike, block: int) -> DimLike:
    """How many blocks there are, the last of which may be smaller."""
    return (extent + (block - 1)) // block
