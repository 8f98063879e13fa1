"""Offset tables: how a product reads operands whose rows and k are no regular steps through memory.

One table says how far each row moves the left operand, one how far each k does, a third how far each k moves the right
operand, and a fourth where each row of the results lies. Where only one of the operands needs them, the other one is
read by tables of its steps. Ordinary loops over the rows and over k fill them. In a region they list the rows of its
box alone, and those k that these rows have.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> from nervure.support.machine import GENERIC
>>> matrices = matrices_of(parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[4000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[50*(k//6) + 600*(k % 6) + j]
...         give v1, v2
...       z[50*i + j] = v0
... '''), GENERIC._replace(threads=1))
>>> reading = reading_of(matrices, ())
>>> tables = tables_of(blocking_of(matrices, reading), reading)
>>> [(table.name, table.size) for table in tables]
[('rows', 100), ('left_k', 60), ('right_k', 60), ('results', 100)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nervure.kernel.ir import Address, Body, Buffer, For, Index, Load, Statement, Store, Variable
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.routines import filling_of
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.boxes import Box, Grid
from nervure.kernel.schedule.products.offsets import Offsets, offsets_of
from nervure.kernel.schedule.products.sides import Reading
from nervure.support.replacing import replace
from nervure.types.dim import DimLike
from nervure.types.dtype import int64


class OffsetTables(NamedTuple):
    """The offsets of rows and k of the left operand, those of k of the right one, and those of rows of results."""

    rows: Buffer
    left_k: Buffer
    right_k: Buffer
    results: Buffer


class Offset(NamedTuple):
    """The part of an address that a point of a grid adds, by its indices and its number.

    Of one that ``is_local``, the number counts from the beginning of a block.
    """

    value: DimLike
    is_local: bool


class Placed(NamedTuple):
    """An operand that is read by tables: its load, the offset of each grid, and the rest of its address."""

    origin: Load
    offsets: Sequence[Offset]
    rest: Address

    def load(self, *offsets: Load) -> Load:
        """Returns the load, where tables have these offsets."""
        terms = tuple([(1, entry.result) for entry in offsets])
        return replace(self.origin, address=replace(self.rest, terms=terms))


def tables_of(blocking: Blocking, reading: Reading, regions: int = 1) -> OffsetTables | None:
    """Returns the tables of a task, those of rows with a part for each of ``regions``; None if there are none."""
    depth, height = blocking.matrices.depth, blocking.height * regions
    sizes = {"rows": height, "left_k": depth, "right_k": depth, "results": height}
    made = [Buffer(name, int64, size, "scratch") for name, size in sizes.items()]
    return OffsetTables(*made) if reading.has_tables else None


def placed(load: Load, offsets: Offsets | None, moved: Mapping[LoopIndex, DimLike], *grids: Grid) -> Placed:
    """Returns an operand with the offsets of all its rows and k; of a ``load`` that knows its block, where it has none.
    """
    if offsets is not None:
        outer = {index: value for index, value in moved.items() if not any([index in grid.every for grid in grids])}
        return Placed(load, [Offset(substitute_indices(value, outer), False) for value in offsets.of],
                      offsets.rest.substitute(moved))
    found = offsets_of(load, *grids)
    assert found is not None
    return Placed(load, [Offset(value, True) for value in found.of], found.rest)


def entry_of(table: Buffer, index: LoopIndex, begin: DimLike = 0) -> Load:
    """Returns the load of an entry of a table, or of a part of it that has a beginning."""
    return Load(Variable(int64), table, Address(begin, ((index, 1),)))


def filled(tables: Mapping[Buffer, Offset], box: Box, start: DimLike, count: DimLike, unit: int,
           begin: DimLike = 0, vector: bool = False) -> Body:
    """Returns the loops that fill tables from ``begin`` on, each with an offset of the points of a box.

    The points are those among ``count`` of its grid from ``start`` on, multiples of ``unit`` if the grid goes on. Many
    are worth a ``vector`` loop.
    """
    grid, walk = box.grid, box.walk(start, count, unit)
    index, extent = walk.inner
    number = substitute_indices(grid.number_of, walk.at)
    entry = Address(begin + substitute_indices(walk.position, {index: 0}), ((index, 1),))
    body: list[Statement] = []
    for table, offset in tables.items():
        at = {**walk.at, grid.number: number - start if offset.is_local else number}
        value = Variable(int64)
        body += [Index(value, substitute_indices(offset.value, at)), Store(table, entry, value)]
    return as_offsets(walk.around((For(index, extent, tuple(body), vector=vector),)))


def as_offsets(loops: Body) -> Body:
    """Loops that fill tables, with the outermost of them that is such a routine marked."""
    loop, = loops
    assert isinstance(loop, For)
    if filling_of(loop) is not None:
        return (replace(loop, routine="offsets"),)
    inner = loop.body[0]
    return (replace(loop, body=as_offsets(loop.body)),) if isinstance(inner, For) else loops
