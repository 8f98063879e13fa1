"""Packing: a block of one side is copied into a panel, where it lies as its rows or columns are multiplied.

A panel has a row for each point, as long as the block is wide; where memory runs along the points and those who
multiply permit it, the points of a row or column follow each other instead. Packing reads along memory: what crosses
the panel then is transposed.

>>> from nervure.kernel.ir import Kernel
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> kernel = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[3000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[60*j + k]
...         give v1, v2
...       z[50*i + j] = v0
... ''')
>>> matrices = matrices_of(kernel)
>>> reading = reading_of(matrices, ())
>>> packing = packing_of(blocking_of(matrices, reading, threads=1), reading)
>>> block = Block(0, 60, matrices.columns.index, 50, {})
>>> load, pack = packing.loaded(matrices.right, packing.right, block)
>>> print(print_kernel(Kernel("pack", (*kernel.buffers[1:2], packing.right.buffer), pack, ())), end="")
kernel pack(in y: f32[3000], scratch panel: f32[3000]):
  for i < 60 as transpose:
    for j < 50 vector:
      v0 = y[i + 60*j]
      panel[50*i + j] = v0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from nervure.kernel.ir import Address, Body, Buffer, For, Load, Store, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.points import Runs, in_runs
from nervure.kernel.schedule.products.sides import Reading
from nervure.kernel.tuning import PANEL_ROWS
from nervure.types.dim import DimLike, dim_max, dim_min


class Panel(NamedTuple):
    """Memory for a block of a side, ``width`` elements for each point. Where they may, or must, be in order, the points
    of a row or column follow each other instead.
    """

    buffer: Buffer
    width: int
    may_be_in_order: bool
    must_be_in_order: bool


class Block(NamedTuple):
    """A block of a side: its points, from ``start`` on, and the rows or columns ``along`` an index, ``extent`` of them.
    Where the indices of the product are is said by ``moved``.
    """

    start: DimLike
    points: DimLike
    along: LoopIndex
    extent: DimLike
    moved: Mapping[LoopIndex, DimLike]


class Packing(NamedTuple):
    """What packs the sides of a product in such blocks, into panels of tasks where they have them. Elements of the
    right side that have to be computed may be ``waiting`` until they are transposed.
    """

    blocking: Blocking
    left: Panel | None
    right: Panel | None
    waiting: Buffer

    def loaded(self, side: Side, panel: Panel | None, block: Block) -> tuple[Load, Body]:
        """How a block of a side is loaded, and what packs it for that."""
        matrices = self.blocking.matrices
        if panel is None:
            moved = {**block.moved, matrices.point: block.start + matrices.point.dim}
            (load,), _ = fresh_copy(side.statements, (), moved)
            assert isinstance(load, Load)
            return load, ()
        runs = in_runs(side, matrices.point, matrices.new.run)
        follows_points = (runs.side if runs else side).follows(matrices.point, block.along)
        if panel.must_be_in_order or panel.may_be_in_order and follows_points:
            place = Address(0, ((block.along, matrices.depth), (matrices.point, 1)))
        else:
            place = Address(0, ((matrices.point, panel.width), (block.along, 1)))
        load = Load(Variable(panel.buffer.dtype), panel.buffer, place)
        return load, self.packed(side, runs, load, block)

    def packed(self, side: Side, runs: Runs | None, load: Load, block: Block) -> Body:
        """What stores a block of a side to where it is loaded from, in its runs if there are such."""
        point, start, points = self.blocking.matrices.point, block.start, block.points
        if runs is None:
            return self._in_lines(side, load, block._replace(moved={**block.moved, point: start + point.dim}))
        first, length = start // runs.length, runs.length
        number, after = first + runs.number.dim, start + points
        if runs.fill(self.blocking.matrices.points):
            count, begin, end = points // length, number * length, (number + 1) * length
        else:
            count = (after + (length - 1)) // length - first
            begin, end = dim_max(start, number * length), dim_min(after, (number + 1) * length)
        moved = {**block.moved, runs.number: number, point: begin - number * length + point.dim}
        place = load.address.substitute({point: begin - start + point.dim})
        part = block._replace(start=begin, points=end - begin, moved=moved)
        return (For(runs.number, count, self._in_lines(runs.side, replace(load, address=place), part)),)

    def _in_lines(self, side: Side, load: Load, block: Block) -> Body:
        """The same of points in which a side is affine; line by line, where its columns lie in packed lines."""
        matrices = self.blocking.matrices
        if not matrices.has_packed_lines or not side.mentions(matrices.columns.index):
            return self._copied(side, load, block)
        line = self.blocking.line()
        load = replace(load, address=load.address.substitute({block.along: line.start + block.along.dim}))
        part = block._replace(extent=line.columns, moved={**block.moved, **line.moved})
        return (For(matrices.new.line, line.lines, self._copied(side, load, part)),)

    def _copied(self, side: Side, load: Load, block: Block) -> Body:
        """The same of points in which a side is affine. It is read along memory; where that crosses the panel, it is
        transposed, and waits in between if it has to be computed.
        """
        point, along = self.blocking.matrices.point, block.along
        body, (value,) = fresh_copy(side.statements, (side.value,), block.moved)
        rows, columns = (point, block.points), (along, block.extent)
        is_turned, is_element = load.address.step(point) == 1, side.element(along, point) is not None
        if side.follows(point, along) and not is_turned and not is_element:
            place = Address(0, ((along, self.blocking.matrices.depth), (point, 1)))
            wait = For(*columns, (For(*rows, (*body, Store(self.waiting, place, value)), vector=True),))
            again = Load(Variable(self.waiting.dtype), self.waiting, place)
            store = Store(load.buffer, load.address, again.result)
            return wait, For(*rows, (For(*columns, (again, store), vector=True),), routine="transpose")
        if is_turned:
            rows, columns = columns, rows
        copy = (*body, Store(load.buffer, load.address, value))
        is_transpose = is_element and side.step(rows[0]) == 1 and side.step(columns[0]) != 1
        return (For(*rows, (For(*columns, copy, vector=True),), routine="transpose" if is_transpose else None),)


def packing_of(blocking: Blocking, reading: Reading) -> Packing:
    """What packs the sides that tasks read from panels: the left one by groups of rows, the right one as a whole."""
    matrices, width, depth = blocking.matrices, blocking.width, blocking.matrices.depth
    left, right = matrices.left.value.dtype, matrices.right.value.dtype
    above, below = None, None
    if reading.is_left_packed:
        rows = PANEL_ROWS * matrices.dtype.itemsize // left.itemsize
        above = Panel(Buffer("left_panel", left, depth * rows, "scratch"), rows, True, matrices.is_of_bytes)
    if reading.packs_in_tasks:
        may_be_in_order = matrices.may_be_across and not reading.is_left_packed
        below = Panel(Buffer("panel", right, depth * width, "scratch"), width, may_be_in_order, False)
    return Packing(blocking, above, below, Buffer("waiting", right, depth * width, "scratch"))
