"""Tables of places: how a product reads sides whose rows and points are no regular steps through memory.

One table says what each row of the left side adds to its place, one what each point of it adds, and a third what each
point of the right side adds. Where only one of the sides needs them, the other is read by tables of its steps.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.packing import packing_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> matrices = matrices_of(parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[4000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[50*(k//6) + 600*(k % 6) + j]
...         give v1, v2
...       z[50*i + j] = v0
... '''))
>>> reading = reading_of(matrices, ())
>>> blocking = blocking_of(matrices, reading, threads=1)
>>> tables = tables_of(blocking, reading)
>>> [(table.name, table.size) for table in tables]
[('rows', 100), ('left_points', 60), ('right_points', 60)]
>>> packing, rows = packing_of(blocking, reading), matrices.rows
>>> block = Block(0, 60, rows.index, 100, {})
>>> loads = [packing.loaded(side, None, block)[0] for side in (matrices.left, matrices.right)]
>>> body, filling = by_tables(packing, reading, tables, *loads, block)
>>> [entry.buffer.name for entry in body], len(filling)
(['rows', 'left_points', 'x', 'right_points', 'y'], 3)
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from nervure.kernel.ir import Address, Body, Buffer, For, Load, Scalar, Store, Variable
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.live_points import LivePoints
from nervure.kernel.schedule.products.packing import Block, Packing
from nervure.kernel.schedule.products.places import Parts, parts_of, place_of
from nervure.kernel.schedule.products.points import in_runs
from nervure.kernel.schedule.products.sides import Reading
from nervure.types.dtype import int64


class PlaceTables(NamedTuple):
    """What rows of the left side add to its place, what points of it add, and what points of the right side add."""

    rows: Buffer
    left_points: Buffer
    right_points: Buffer


class Placed(NamedTuple):
    """A side that is read by tables: how it is loaded, the parts of its place, and the block that tables are of."""

    origin: Load
    parts: Parts
    block: Block

    def load(self, *said: Scalar) -> Load:
        """The load, where tables have said these."""
        rest = self.parts.rest.substitute(self.block.moved)
        return replace(self.origin, address=replace(rest, terms=tuple([(1, entry) for entry in said])))


def tables_of(blocking: Blocking, reading: Reading) -> PlaceTables | None:
    """The tables of a task; None if its sides are read without any."""
    depth = blocking.matrices.depth
    sizes = {"rows": blocking.height, "left_points": depth, "right_points": depth}
    made = [Buffer(name, int64, size, "scratch") for name, size in sizes.items()]
    return PlaceTables(*made) if reading.has_tables else None


def by_tables(packing: Packing, reading: Reading, tables: PlaceTables, left: Load, right: Load,
              block: Block, live: LivePoints | None = None) -> tuple[Body, Body]:
    """The loads of both sides by tables, for a block of the left one, and what fills the tables: those of points
    for each block of them, that of rows with the first one; of points those that are ``live``, if not all are.
    """
    matrices = packing.blocking.matrices
    row, column, point = matrices.rows.index, matrices.columns.index, matrices.point
    above = _placed(reading.left_parts, left, block, row, point)
    below = _placed(reading.right_parts, right, block, point)
    loads = [Load(Variable(int64), table, Address(0, ((index, 1),)))
             for table, index in zip(tables, (row, point, point), strict=True)]
    filling: Body = (_of_rows(above, loads[0], block),) if block.start == 0 else ()
    for placed, load in ((above, loads[1]), (below, loads[2])):
        added = placed.parts.added[-1]
        if live is not None:
            filling += live.filled(added, load, point, placed.block.start, block.start, block.points)
            continue
        place = place_of(added)
        runs = in_runs(place, point, matrices.new.run)
        filling += packing.packed(place, runs, load, placed.block._replace(along=column, extent=1))
    rows, left_points, right_points = [load.result for load in loads]
    return (*loads[:2], above.load(rows, left_points), loads[2], below.load(right_points)), filling


def _placed(parts: Parts | None, load: Load, block: Block, *indices: LoopIndex) -> Placed:
    """A side of these parts, which are of all points; of a load that knows its block, where the side has no parts."""
    if parts is not None:
        return Placed(load, parts, block)
    found = parts_of(load.address, *indices)
    assert found is not None
    return Placed(load, found, block._replace(start=0, moved={}))


def _of_rows(side: Placed, load: Load, block: Block) -> For:
    """What fills the table of rows."""
    place = place_of(substitute_indices(side.parts.added[0], side.block.moved))
    return For(block.along, block.extent, (*place.statements, Store(load.buffer, load.address, place.value)))
