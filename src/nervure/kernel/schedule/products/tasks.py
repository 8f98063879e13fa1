"""Tasks: the loops of a product in blocks, with what packs sides in front of them and the epilogue behind.

A task adds up the products of blocks of points, one after the other, as contractions do. A left side that is packed is
packed for a group of rows at a time.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
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
>>> matrices = matrices_of(kernel)
>>> reading = reading_of(matrices, ())
>>> print(print_kernel(tasks_of(blocking_of(matrices, reading, threads=1), reading).blocked(kernel)), end="")
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

from dataclasses import replace
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
    Variable,
    substituted,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.apart import PanelApart, packing_kernel, panel_apart
from nervure.kernel.schedule.products.bands import Bands
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.edges import Edges
from nervure.kernel.schedule.products.epilogue import Results, results_of
from nervure.kernel.schedule.products.extents import block_count
from nervure.kernel.schedule.products.live_points import LivePoints
from nervure.kernel.schedule.products.packing import Block, Packing, packing_of
from nervure.kernel.schedule.products.sides import Reading
from nervure.kernel.schedule.products.tables import PlaceTables, by_tables, tables_of
from nervure.types.dim import DimLike, bounds, dim_max, dim_min


class Tasks(NamedTuple):
    """What does a product in such blocks: how its sides are read and packed, where its results go, the tables of places
    that it reads by, and the panel of a right side that is packed apart.
    """

    blocking: Blocking
    reading: Reading
    packing: Packing
    results: Results
    tables: PlaceTables | None
    apart: PanelApart | None

    def packed_apart(self) -> Kernel | None:
        """The kernel that packs the whole right side; None if tasks pack it, or nobody."""
        return None if self.apart is None else packing_kernel(self.packing, self.apart)

    def blocked(self, kernel: Kernel) -> Kernel:
        """The kernel that does the product of another one in tasks."""
        body = self._body()
        task = For(self.blocking.matrices.new.task, self.blocking.tasks, body, parallel=True)
        return replace(kernel, buffers=(*kernel.buffers, *self._buffers(body)), body=(task,))

    def _buffers(self, body: Body) -> list[Buffer]:
        """The buffers that tasks have beside those of the kernel."""
        apart = None if self.apart is None else self.apart.load.buffer
        panels = [panel.buffer for panel in (self.packing.right, self.packing.left) if panel is not None]
        results = (self.results.tile, self.results.turned, self.results.group)
        made = (apart, *results, *panels, self.packing.waiting, *(self.tables or ()))
        used = {entry.buffer for entry in walk(body) if isinstance(entry, Access)}
        return [buffer for buffer in made if buffer in used]

    def _body(self) -> Body:
        """The product of all points, block by block, and the epilogue."""
        matrices, points = self.blocking.matrices, self.blocking.matrices.points
        if matrices.is_of_bytes and self.packing.left is None and self.packing.right is None:
            return (*self._product(0, points, None), *self.results.epilogue())  # exact in any order
        first = self._product(0, dim_min(points, CONTRACT_BLOCK), None)
        blocks = block_count(points, CONTRACT_BLOCK)
        if blocks == 1:
            return (*first, *self.results.epilogue())
        start = (matrices.new.block.dim + 1) * CONTRACT_BLOCK
        more = self._product(start, dim_min(CONTRACT_BLOCK, points - start), "add")
        in_first = dim_max(dim_min(blocks, CONTRACT_GROUP) - 1, 0)
        return (*first, *_turns(matrices.new.block, in_first, more), *self._later_groups(), *self.results.epilogue())

    def _later_groups(self) -> Body:
        """The products of all blocks of points behind the first group of them, a group after the other: their sum waits
        beside the results, and joins them. Integers are exact in any order.
        """
        matrices, blocks = self.blocking.matrices, block_count(self.blocking.matrices.points, CONTRACT_BLOCK)
        most = bounds(blocks)[1]
        if matrices.dtype.is_integer or (most is not None and most <= CONTRACT_GROUP):
            return ()
        later, block = matrices.new.later, matrices.new.block
        first = (later.dim + 1) * CONTRACT_GROUP
        start = (first + block.dim) * CONTRACT_BLOCK
        group = self._replace(results=self.results.of_later_groups())
        more = group._product(start, dim_min(CONTRACT_BLOCK, matrices.points - start), "add")
        body = (group.results.cleared(), For(block, dim_min(CONTRACT_GROUP, blocks - first), more),
                group.results.added(self.results))
        return _turns(later, dim_max(block_count(blocks, CONTRACT_GROUP) - 1, 0), body)

    def _product(self, start: DimLike, points: DimLike, combine: str | None) -> Body:
        """The product of a block of points, and in front of it what packs the sides: the left one group by group."""
        matrices, panel = self.blocking.matrices, self.packing.left
        if isinstance(matrices.edges, Bands):
            return self._over_bands(matrices.edges, start, points, combine)
        if matrices.edges is not None:
            return self._over_places(matrices.edges, start, points, combine)
        row, rows, moved = matrices.rows.index, self.blocking.rows, dict(self.blocking.moved)
        if panel is not None:
            first = matrices.new.group.dim * panel.width
            moved[row], rows = moved[row] + first, dim_min(panel.width, rows - first)
        loads, left, right, pack_left, pack_right = self._read(matrices.left, Block(start, points, row, rows, moved))
        contract = self._contract(loads, left, right, points)
        store = self.results.stored(contract.result, combine, moved)
        product = For(row, rows, (self.blocking.over_columns((contract, store)),), routine="product")
        if panel is None:
            return (*pack_right, *pack_left, product)
        groups = block_count(self.blocking.rows, panel.width)
        return (*pack_right, *_turns(matrices.new.group, groups, (*pack_left, product)))

    def _over_places(self, edges: Edges | LivePoints, start: DimLike, points: DimLike, combine: str | None) -> Body:
        """The product of a block of points, place by place, each for all images, or position by position, each for all
        channels: of the points that are live there.
        """
        matrices, moved = self.blocking.matrices, dict(self.blocking.moved)
        row, point = matrices.rows.index, matrices.point
        first, images = moved[row] - row.dim, self.blocking.rows // edges.places
        above = Block(start, points, row, images, {**moved, row: first // edges.places + row.dim})
        live = edges if isinstance(edges, LivePoints) else None
        loads, left, right, filling, pack_right = self._read(edges.side, above, live)
        begin, count = edges.range_of(point, start, points)
        contract = self._contract(substituted(loads, {point: begin + point.dim}), left, right, count)
        place = {**moved, row: first + edges.places * row.dim + edges.place.dim}
        store = self.results.stored(contract.result, combine, place)
        product = For(row, images, (self.blocking.over_columns((contract, store)),), routine="product")
        if live is not None:
            return (*pack_right, For(edges.place, edges.places, (*filling, product)))
        return (*pack_right, *filling, For(edges.place, edges.places, (product,)))

    def _over_bands(self, bands: Bands, start: DimLike, points: DimLike, combine: str | None) -> Body:
        """The product of a block of points, image by image and in each band by band, of the points that are live there.
        """
        matrices, moved = self.blocking.matrices, dict(self.blocking.moved)
        row, point, band = matrices.rows.index, matrices.point, matrices.new.place
        image = LoopIndex(band.number + 1)
        above = Block(start, points, row, self.blocking.rows, moved)
        loads, left, right, filling, pack_right = self._read(matrices.left, above)
        first, extent, images = bands.in_task(moved[row] - row.dim, self.blocking.rows, image.dim, band.dim)
        begin, count = bands.range_of(band.dim, start, points)
        here = {point: begin + point.dim, row: first + row.dim}
        contract = self._contract(substituted(loads, here), left, right, count)
        store = self.results.stored(contract.result, combine, {**moved, row: moved[row] + first})
        product = For(row, extent, (self.blocking.over_columns((contract, store)),), routine="product")
        return (*pack_right, *filling, For(image, images, (For(band, bands.total, (product,)),)))

    def _read(self, side: Side, above: Block, live: LivePoints | None = None) -> tuple[Body, Load, Load, Body, Body]:
        """How a block of the left side, and that of the right one, are loaded, by tables if there are such: all loads,
        those of both sides, what packs the left one and fills tables, and what packs the right one.
        """
        matrices = self.blocking.matrices
        below = above._replace(along=matrices.columns.index, extent=self.blocking.columns)
        left, pack_left = self.packing.loaded(side, self.packing.left, above)
        right, pack_right = self.packing.loaded(self._right, self.packing.right, below)
        if self.tables is None:
            return (left, right), left, right, pack_left, pack_right
        loads, filling = by_tables(self.packing, self.reading, self.tables, left, right, above, live)
        return loads, left, right, (*pack_left, *filling), pack_right

    @property
    def _right(self) -> Side:
        """The right side as tasks read it."""
        if self.apart is None:
            return self.blocking.matrices.right
        return Side((self.apart.load,), self.apart.load.result)

    def _contract(self, loads: Body, left: Load, right: Load, points: DimLike) -> Contract:
        """The contraction of a block of points, where loads give elements of both sides; bytes are widened."""
        matrices, result = self.blocking.matrices, Variable(self.blocking.matrices.dtype)
        factors, widened = [left.result, right.result], list[Apply]()
        if matrices.is_of_bytes:
            widened = [Apply(Variable(matrices.dtype), "convert", (factor,)) for factor in factors]
            factors = [entry.result for entry in widened]
        elif matrices.contract.left is not matrices.left.value:
            factors.reverse()
        return Contract(result, ((matrices.point, points),), (*loads, *widened), *factors)


def _turns(index: LoopIndex, extent: DimLike, body: Body) -> Body:
    """A loop; what it does alone, where it has a single turn."""
    return substituted(body, {index: 0}) if extent == 1 else (For(index, extent, body),)


def tasks_of(blocking: Blocking, reading: Reading) -> Tasks:
    """The tasks of a product in such blocks, whose sides are read so."""
    return Tasks(blocking, reading, packing_of(blocking, reading), results_of(blocking), tables_of(blocking, reading),
                 panel_apart(blocking, reading))
