"""Packing: a block of one operand is copied into a panel, where it lies as its rows or columns are multiplied.

A panel has a row for each k, as long as the block is wide (it is k-major); where memory runs along k and the
micro-kernels permit it, the k of a row or column follow each other instead. Packing reads along memory: what crosses
the panel then is transposed.

>>> from nervure.kernel.ir import Kernel
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> from nervure.support.machine import GENERIC
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
>>> matrices = matrices_of(kernel, GENERIC._replace(threads=1))
>>> reading = reading_of(matrices, ())
>>> packing = packing_of(blocking_of(matrices, reading), reading)
>>> block = OperandBlock(0, 60, matrices.n, 0, 50, {})
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
from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK, Address, Body, Buffer, For, Load, Store, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.boxes import Grid, moving
from nervure.kernel.schedule.products.sides import Reading
from nervure.support.replacing import replace
from nervure.types.dim import DimLike


class Panel(NamedTuple):
    """Memory for a block of an operand, ``width`` elements for each k. Where they may, or must, be in order, the k of a
    row or column follow each other instead.
    """

    buffer: Buffer
    width: int
    may_be_in_order: bool
    must_be_in_order: bool


class OperandBlock(NamedTuple):
    """A block of an operand: ``points`` of k, from ``start`` on, and ``extent`` rows or columns of the grid ``along``,
    from ``first`` on. Where the indices of the product are is said by ``moved``. The start is a multiple of ``unit``.
    """

    start: DimLike
    points: DimLike
    along: Grid
    first: DimLike
    extent: DimLike
    moved: Mapping[LoopIndex, DimLike]
    unit: int = CONTRACT_BLOCK


class Packing(NamedTuple):
    """The packing of the operands of a product into panels of tasks, where they have them. Elements of the
    right one that have to be computed may be ``waiting`` until they are transposed.
    """

    blocking: Blocking
    left: Panel | None
    right: Panel | None
    waiting: Buffer

    def loaded(self, side: Side, panel: Panel | None, block: OperandBlock) -> tuple[Load, Body]:
        """Returns the load of a ``block`` of an operand, and the loops that pack it for that into a ``panel``.

        The load counts rows or columns, and k, from the beginning of the block.
        """
        k, along = self.blocking.matrices.k, block.along
        if panel is None:
            (load,), _ = fresh_copy(side.statements, (), {**block.moved, k.number: block.start + k.number.dim})
            assert isinstance(load, Load)
            return load, ()
        follows_k = side.follows(moving(side, k), moving(side, along))
        if panel.must_be_in_order or panel.may_be_in_order and follows_k:
            place = Address(0, ((along.number, self.blocking.matrices.depth), (k.number, 1)))
        else:
            place = Address(0, ((k.number, panel.width), (along.number, 1)))
        load = Load(Variable(panel.buffer.dtype), panel.buffer, place)
        return load, self.packed(side, load, block)

    def packed(self, side: Side, load: Load, block: OperandBlock) -> Body:
        """Returns the loops that store a ``block`` of an operand where ``load`` reads it, one for each that it tells
        apart.
        """
        k, statements = self.blocking.matrices.k.merged(side.statements)
        along, statements = block.along.merged(statements)
        side = side._replace(statements=statements)
        over_k = k.walk(side.statements, block.start, block.points, block.unit)
        unit = self.blocking.width if block.along is self.blocking.matrices.n else 1
        over = along.walk(side.statements, block.first, block.extent, unit)
        place = load.address.substitute({k.number: over_k.position, along.number: over.position})
        moved = {**block.moved, **over_k.at, **over.at}
        copy = self._copied(side, replace(load, address=place), over_k.inner, over.inner, moved)
        return over_k.around(over.around(copy))

    def _copied(self, side: Side, load: Load, over_k: tuple[LoopIndex, DimLike], over: tuple[LoopIndex, DimLike],
                moved: Mapping[LoopIndex, DimLike]) -> Body:
        """Returns the same of a loop over k and one over rows or columns. It is read along memory; where that crosses
        the panel, it is transposed, and waits in between if it has to be computed.
        """
        (point, _), (along, _) = rows, columns = over_k, over
        body, (value,) = fresh_copy(side.statements, (side.value,), moved)
        is_in_order, is_element = load.address.step(point) == 1, side.element(along, point) is not None
        if side.follows(point, along) and not is_in_order and not is_element:
            place = Address(0, ((along, self.blocking.matrices.depth), (point, 1)))
            wait = For(*columns, (For(*rows, (*body, Store(self.waiting, place, value)), vector=True),))
            again = Load(Variable(self.waiting.dtype), self.waiting, place)
            store = Store(load.buffer, load.address, again.result)
            return wait, For(*rows, (For(*columns, (again, store), vector=True),), routine="transpose")
        if is_in_order:
            rows, columns = columns, rows
        copy = (*body, Store(load.buffer, load.address, value))
        is_transpose = is_element and side.step(rows[0]) == 1 and side.step(columns[0]) != 1
        return (For(*rows, (For(*columns, copy, vector=True),), routine="transpose" if is_transpose else None),)


def packing_of(blocking: Blocking, reading: Reading) -> Packing:
    """Returns the packing of operands that tasks read from panels: the left one by groups of rows, the right one as a
    whole.
    """
    matrices, width, depth = blocking.matrices, blocking.width, blocking.matrices.depth
    a, b = matrices.left.value.dtype, matrices.right.value.dtype
    left, right = None, None
    if reading.is_left_packed:
        rows = matrices.machine.panel_rows * matrices.dtype.itemsize // a.itemsize
        left = Panel(Buffer("left_panel", a, depth * rows, "scratch"), rows, True, matrices.is_of_bytes)
    if reading.packs_in_tasks:
        may_be_in_order = matrices.may_be_across and not reading.is_left_packed
        right = Panel(Buffer("panel", b, depth * width, "scratch"), width, may_be_in_order, False)
    return Packing(blocking, left, right, Buffer("waiting", b, depth * width, "scratch"))
