"""Blocking: how many rows and columns of a product a task has, and where each task begins.

Tasks are what threads share. A strip of columns is as wide as its panel stays in the second cache; rows are as many as
use a panel often, but leave work to other threads.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> from nervure.support.machine import GENERIC
>>> matrices = matrices_of(parse_kernel('''
... kernel product(in x: f32[960000], in y: f32[720000], out z: f32[1200000]):
...   for i < 1000 parallel:
...     for j < 1200 vector:
...       v0 = contract over k < 600:
...         v1 = x[600*i + k]
...         v2 = y[1200*k + j]
...         give v1, v2
...       z[1200*i + j] = v0
... '''), GENERIC)
>>> blocking = blocking_of(matrices, reading_of(matrices, ()))
>>> blocking.width, blocking.height, blocking.tasks
(128, 504, 20)
>>> blocking.rows, blocking.moved[matrices.m.number]
(min(1000 - 504*(%3 % 2), 504), %0 + 504*(%3 % 2))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.kernel.ir import Body, For
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import block_columns
from nervure.kernel.schedule.products.boxes import Grid
from nervure.kernel.schedule.products.extents import at_most, block_count, part_of
from nervure.kernel.schedule.products.matrices import Matrices
from nervure.kernel.schedule.products.sides import Reading
from nervure.support.machine import LEAST_TASK, Machine
from nervure.types.dim import DimLike, dim_max, dim_min, product


class LineOfTask(NamedTuple):
    """One of the ``lines`` that a task has, in part at least.

    It has ``columns`` of the task, from ``start`` on; ``moved`` are the values of indices in it.
    """

    lines: DimLike
    start: DimLike
    columns: DimLike
    moved: dict[LoopIndex, DimLike]


class Blocking(NamedTuple):
    """The blocks of a product.

    A task has at most ``width`` columns and ``height`` rows; in one of them, indices have the values in ``moved``, and
    there are ``columns`` and ``rows``.
    """

    matrices: Matrices
    width: int
    height: int
    tasks: DimLike
    moved: Mapping[LoopIndex, DimLike]
    columns: DimLike
    rows: DimLike

    def over_columns(self, body: Body) -> For:
        """Returns the loop over the columns of a task."""
        return For(self.matrices.n.number, self.columns, body, vector=True)

    def first(self, grid: Grid) -> DimLike:
        """Returns the number of the first row or column of a task."""
        return self.moved[grid.number] - grid.number.dim

    def line(self) -> LineOfTask:
        """Returns a line of a task, where columns lie in lines with gaps."""
        lines, index = self.matrices.lines, self.matrices.n.number
        assert lines is not None
        first, line = self.first(self.matrices.n), self.matrices.new.line.dim
        begin, count = lines.in_block(first, self.columns)
        start, before, part = lines.part(line, first, self.columns)
        return LineOfTask(count, start, part, {lines.outer: begin + line, index: before + index.dim})


def blocking_of(matrices: Matrices, reading: Reading) -> Blocking:
    """Returns the blocks of a product whose operands have a ``reading``, with work for the threads of its machine."""
    width = _width(matrices, reading)
    strips = product([_batch_size(matrices), block_count(matrices.n.extent, width)])
    height = at_most(matrices.m.extent, _most_rows(matrices, reading, width, strips))
    return _in_tasks(matrices, width, height)


def _in_tasks(matrices: Matrices, width: int, height: int) -> Blocking:
    """Returns the tasks of ``width`` columns and ``height`` rows.

    They go batch by batch, in it block by block of rows, in that strip by strip; the other way round where the right
    operand is the larger one, so that a thread, whose tasks follow each other, reads a part of that. In a transposed
    product, the batches of the right operand come strip by strip, too.
    """
    m, n, lines = matrices.m, matrices.n, matrices.lines
    across, down = block_count(n.extent, width), block_count(m.extent, height)
    inner = [loop for loop in matrices.batch if matrices.is_transposed and not matrices.left.mentions(loop.index)]
    outer = [loop for loop in matrices.batch if loop not in inner]
    blocks = [(m.number, down), (n.number, across)]
    if isinstance(m.extent, int) and isinstance(n.extent, int) and n.extent > m.extent and not inner:
        blocks.reverse()
    digits = [*[(loop.index, loop.extent) for loop in outer], *blocks, *[(loop.index, loop.extent) for loop in inner]]
    moved: dict[LoopIndex, DimLike] = {}
    number: DimLike = matrices.new.task.dim
    for position, (index, extent) in reversed(list(enumerate(digits))):
        is_first = product([count for _, count in digits[:position]]) == 1
        digit = 0 if extent == 1 else number if is_first else number % extent
        number, moved[index] = number // extent, digit
    strip, first_column, first_row = moved[n.number], moved[n.number] * width, moved[m.number] * height
    moved |= {n.number: first_column + n.number.dim, m.number: first_row + m.number.dim, matrices.new.strip: strip}
    tasks = product([_batch_size(matrices), across, down, 1 if lines is None else lines.is_any])
    wide, high = part_of(n.extent, first_column, width), part_of(m.extent, first_row, height)
    if matrices.live is not None:
        wide = dim_max(dim_min(wide, matrices.live - first_column), 0)
    return Blocking(matrices, width, height, tasks, moved, wide, high)


def _batch_size(matrices: Matrices) -> DimLike:
    return product([loop.extent for loop in matrices.batch])


# -- columns -----------------------------------------------------------------------------------------------------


def _width(matrices: Matrices, reading: Reading) -> int:
    """Returns the most columns of a task; whole lines, where lines are packed."""
    rows, machine = matrices.m.extent, matrices.machine
    is_direct = not reading.is_right_packed and reading.right_offsets is None
    if isinstance(rows, int) and rows <= machine.streamed_rows and is_direct:
        most = _streamed_columns(matrices, rows)
    else:
        most = _strip_columns(matrices, reading)
    width = at_most(matrices.n.extent, most)
    width = width if reading.source is not None else _even(matrices, width)  # any number of rows reads one panel
    *lines, (_, length) = matrices.n.indices
    if not lines:
        return width
    assert isinstance(length, int)
    return max(width // length, 1) * length


def _streamed_columns(matrices: Matrices, rows: int) -> int:
    """Returns the most columns of a task of few ``rows``, which reads long stretches of each row of the right operand.

    What would be one task, or one and a shorter one, becomes two, if reading them from a cache is long enough.
    """
    columns, machine = matrices.n.extent, matrices.machine
    most = machine.products.streamed_columns
    if matrices.batch or not isinstance(columns, int) or columns >= 2 * most:
        return most
    half = _half(columns, machine)
    each = matrices.dtype.itemsize * machine.byte_from_cache + rows * machine.multiply_add
    return min(half, most) if half * _known_points(matrices) * each >= LEAST_TASK else most


def _half(columns: int, machine: Machine) -> int:
    """Half of the ``columns``, in whole strips."""
    return -(-columns // (2 * machine.strip_columns)) * machine.strip_columns


def _strip_columns(matrices: Matrices, reading: Reading) -> int:
    """Returns the columns of a panel.

    They are half as many where one task of few rows would be all: by rows it cannot be cut, since a task of fewer has
    no whole tiles, or would pack all of the panel again.
    """
    rows, columns, machine, products = matrices.m.extent, matrices.n.extent, matrices.machine, matrices.machine.products
    block = block_columns(matrices.k.extent, matrices.dtype, machine)
    block //= 1 if reading.source is None else products.kept_share
    if matrices.batch or reading.source is not None or not (isinstance(rows, int) and isinstance(columns, int)):
        return block
    half = _half(columns, machine)
    is_low = rows <= products.packed_rows if reading.packs_in_tasks else rows < 2 * products.least_rows
    is_worth = is_low and rows * half * matrices.depth >= 2 * machine.least_products
    return min(half, block) if columns <= block and is_worth else block


def _even(matrices: Matrices, width: int) -> int:
    """Returns the columns of a strip; fewer where few strips of few rows would be shared unevenly."""
    rows, columns, batch, machine = matrices.m.extent, matrices.n.extent, _batch_size(matrices), matrices.machine
    if not (isinstance(rows, int) and isinstance(columns, int) and isinstance(batch, int)):
        return width
    if columns <= width or rows > machine.products.packed_rows:
        return width
    parts = -(-columns // width)
    parts += batch * parts % 2
    if batch * parts > machine.threads:
        return width
    return -(-columns // (parts * machine.line_elements)) * machine.line_elements


# -- rows --------------------------------------------------------------------------------------------------------


def _most_rows(matrices: Matrices, reading: Reading, width: int, strips: DimLike) -> int:
    """Returns the most rows of a task: more use a panel more often, take longer, and leave less to other threads."""
    rows = matrices.m.extent
    limit = _row_limit(matrices, width)
    if not isinstance(rows, int):
        return _in_whole_groups(limit, matrices)
    most = limit
    if isinstance(strips, int):
        shared = -(-rows * strips // matrices.machine.threads)
        most = min(most, max(shared, _least_rows(matrices, reading, width, rows, strips)))
    each = -(-rows // _row_blocks(rows, most, limit, strips))  # tasks of about the same length
    return _in_whole_groups(each, matrices)


def _row_limit(matrices: Matrices, width: int) -> int:
    """Returns the rows of a task that takes as long as any may, and whose results stay in the cache until it goes on.
    """
    machine, products = matrices.machine, matrices.machine.products
    most = products.task_products // max(width * _known_points(matrices), 1)
    if matrices.is_stored and isinstance(matrices.m.extent, int):
        return most
    if matrices.is_transposed:
        lines = machine.panel_bytes // (_run_length(matrices) * matrices.dtype.itemsize)  # one for each element
        most = min(most, max(lines, products.least_rows))
    return min(most, machine.panel_bytes // (width * matrices.dtype.itemsize))


def _least_rows(matrices: Matrices, reading: Reading, width: int, rows: int, strips: int) -> int:
    """Returns the rows that are worth a task, beside ``strips`` of columns."""
    points, machine, products = _known_points(matrices), matrices.machine, matrices.machine.products
    packed = products.packed_rows if reading.packs_in_tasks else products.least_rows
    if strips == 1 and rows * width * points >= 16 * machine.least_products:
        packed = min(packed, -(-rows // 2))  # to pack what another task packs, too, is better than to wait
    least = products.bytes_rows if matrices.is_of_bytes else packed
    return max(least, machine.least_products // max(width * points, 1))


def _run_length(matrices: Matrices) -> int:
    """Returns the channels of a transposed product: the elements of a row at a position of its window."""
    length = matrices.k.indices[-1][1] if matrices.k.is_in(*matrices.left.statements) else matrices.depth
    return max(length, 1) if isinstance(length, int) else matrices.depth


def _known_points(matrices: Matrices) -> int:
    """Returns the number of k, or that of a block where it depends on sizes."""
    return matrices.k.extent if isinstance(matrices.k.extent, int) else matrices.depth


def _in_whole_groups(rows: int, matrices: Matrices) -> int:
    """About ``rows``, as many as a block can have.

    They fill register tiles. Where rows are cut into boxes, they are whole images, whole lines of larger ones, or all
    positions of the window.
    """
    indices, cut = matrices.m.indices, () if matrices.partition is None else matrices.partition.segments
    for axis in [axis for axis, (index, _) in enumerate(indices) if index in cut]:
        group = product([extent for _, extent in indices[axis:]])
        if isinstance(group, int) and 0 < group <= 2 * rows:
            return (rows + group // 2) // group * group
    multiple = matrices.machine.tile_rows
    return max(-(-rows // multiple) * multiple, multiple)


def _row_blocks(rows: int, most: int, limit: int, others: DimLike) -> int:
    """Returns the number of parts that rows are cut into, of about ``most`` and never more than ``limit``.

    With ``others`` of columns and matrices, it makes no odd number of tasks, of which one thread would have more.
    """
    parts = max((rows + most // 2) // max(most, 1), -(-rows // max(limit, 1)), 1)
    if rows <= most or parts % 2 == 0 or isinstance(others, int) and others % 2 == 0:
        return parts
    return parts - 1 if parts > 1 and -(-rows // (parts - 1)) <= limit else parts + 1
