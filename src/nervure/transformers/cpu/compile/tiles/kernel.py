"""Micro-kernels of matrix products: a tile of results stays in registers over all points of a block.

``target[i, j] (+)= sum over k of left[i, k] * right[k, j]``, by one chain of fused multiply-adds for each element,
from +0, in the order of the points. A tile has a few rows and a few vectors of columns; at each point it reads one
element for each row, spread to all lanes, and one vector for each vector of columns. Nothing outside of the block is
read, not even in lanes whose results are dropped: garbage that happens to be subnormal would slow each multiply-add
down.

>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> tile = Tile(F32, rows=6, vectors=4, lanes=16)
>>> tile.name, tile.columns, tile.registers
('tile_f32_6x64', 64, 29)
>>> tile_function(tile).text().count("call <16 x float> @llvm.fma.v16f32")
24
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK
from nervure.support.machine import GENERIC, Machine
from nervure.support.product_tuning import ProductTuning
from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR, Type
from nervure.transformers.cpu.compile.tiles.bundles import Bundles

ARGUMENTS = (("left", PTR), ("left_row", I64), ("left_point", I64), ("right", PTR), ("right_point", I64),
             ("target", PTR), ("target_row", I64), ("rows", I64), ("columns", I64), ("points", I64), ("adds", I64))
"""The parameters of each micro-kernel. Steps are in elements, from row to row and from point to point; the columns of
the right operand and of the target are contiguous. If ``adds`` is not 0, results are added to the target.
"""

PLACES_ARGUMENTS = tuple([(name, PTR if name in ("left_row", "left_point", "right_point", "target_row") else type)
                          for name, type in ARGUMENTS])
"""The parameters of a micro-kernel with offset tables, which replace four steps. They give the offsets, in elements,
of each row and of each point of the left operand, of each point of the right one, and of each row of results.
"""


class Tile(NamedTuple):
    """The shape of a micro-kernel. A ``masked`` one has one strip, whose last vector may have lanes without a column.
    ``bundles`` are multiplied in place of elements; steps of the left operand are then in bytes, and the initial
    values of the sums lie before the right operand. With ``by_places``, offset tables give rows and points. The
    ``machine`` says how far ahead it reads, and how many points a turn of its inner loop has.
    """

    type: Type
    rows: int
    vectors: int
    lanes: int
    masked: bool = False
    bundles: Bundles | None = None
    by_places: bool = False
    machine: Machine = GENERIC

    @property
    def tuning(self) -> ProductTuning:
        """The numbers that steer it."""
        return self.machine.products

    @property
    def columns(self) -> int:
        """The columns of a strip."""
        return self.vectors * self.lanes

    @property
    def registers(self) -> int:
        """The vector registers of the inner loop: results, a point of the right operand, an element of the left, and
        separate products. The last are only needed if another instruction adds them.
        """
        return self.rows * self.vectors + self.vectors + 1 + (self.bundles is not None and self.bundles.points == 2)

    @property
    def name(self) -> str:
        """The name of its function."""
        marks = f"{'_masked' if self.masked else ''}{'_by_places' if self.by_places else ''}"
        return f"tile_{(self.bundles or self.type).suffix}_{self.rows}x{self.columns}{marks}"

    @property
    def vector_bytes(self) -> int:
        """The size of a vector."""
        return self.lanes * self.type.bits // 8

    @property
    def has_short_vectors(self) -> bool:
        """Whether a vector is shorter than a cache line."""
        return self.vector_bytes < self.machine.line

    @property
    def is_whole(self) -> bool:
        """Whether it multiplies elements, and all lanes have a column."""
        return not self.masked and self.bundles is None

    @property
    def copies_rows(self) -> bool:
        """Whether rows of the left operand may be copied for all strips."""
        return self.is_whole and not self.by_places and self.has_short_vectors

    def from_column(self, block: Block, column: Register) -> Block:
        """Returns a block without the columns before this one."""
        right, target = [column.builder.offset(start, column, self.type) for start in (block.right, block.target)]
        return block._replace(right=right, target=target, columns=block.columns - column)

    def from_row(self, block: Block, row: Register) -> Block:
        """Returns a block without the rows before this one."""
        b, rest = row.builder, block.rows - row
        if self.by_places:
            tables = [b.offset(table, row, I64) for table in (block.left_row, block.target_row)]
            return block._replace(left_row=tables[0], target_row=tables[1], rows=rest)
        target = b.offset(block.target, row * block.target_row, self.type)
        return block._replace(left=b.offset(block.left, row * block.left_row, self.type), target=target, rows=rest)


def tile_function(tile: Tile) -> Builder:
    """Returns the function of a micro-kernel: down all rows, a tile at a time, and for these across all strips of
    columns.
    """
    b = Builder(tile.name, PLACES_ARGUMENTS if tile.by_places else ARGUMENTS, attributes="nounwind")
    block, strip = Block(*b.arguments), _StripByPlaces if tile.by_places else _Strip
    copies = _Copies(b, tile, block) if tile.copies_rows else None
    with b.loop(0, block.rows, tile.rows) as down:
        rows = block if copies is None else copies.of_rows(down.index)
        with b.loop(0, block.columns, tile.columns) as across:
            strip(b, tile, rows, down.index, across.index).build()
    b.ret()
    return b


class Block(NamedTuple):
    """The arguments of a micro-kernel."""

    left: Register
    left_row: Register
    left_point: Register
    right: Register
    right_point: Register
    target: Register
    target_row: Register
    rows: Register
    columns: Register
    points: Register
    adds: Register


class _Copies:
    """The rows of a tile, copied so that its strips find them in the first cache: point by point, contiguously."""

    def __init__(self, b: Builder, tile: Tile, block: Block) -> None:
        self.b, self.tile, self.block = b, tile, block
        self.memory = b.allocate(tile.type, tile.rows * CONTRACT_BLOCK)
        is_wide = block.columns >= tile.tuning.copied_strips * tile.columns
        self.is_worth = block.left_row.equal(1) & is_wide & (block.points <= CONTRACT_BLOCK)

    def of_rows(self, row: Register) -> Block:
        """Returns the block as the strips of a tile that begins at a row read it."""
        b, tile, block = self.b, self.tile, self.block
        is_copied = self.is_worth & (block.rows - row >= tile.rows)
        with b.if_(is_copied):
            self._copy(row)
        left = b.where(is_copied, b.offset(self.memory, -row, tile.type), block.left)
        return block._replace(left=left, left_point=b.where(is_copied, tile.rows, block.left_point))

    def _copy(self, row: Register) -> None:
        b, tile, step = self.b, self.tile, self.block.left_point
        first, rows, align = b.offset(self.block.left, row, tile.type), tile.type.vector(tile.rows), tile.type.bits // 8
        with b.loop(0, self.block.points, 1, [first, self.memory]) as points:
            source, target = points.carried
            b.fetch(b.offset(source, step * (2 * tile.tuning.prefetched_points), tile.type))
            b.store(b.load(source, rows, align), target, align)
            points.carried = [b.offset(source, step, tile.type), b.offset(target, tile.rows, tile.type)]


class _Points(NamedTuple):
    """The progress of a tile: the next point of the right operand, the left one's offset, the sums, and the points in
    them.
    """

    right: Register
    offset: Register
    sums: list[Register]
    done: Register


class _Strip:
    """The code of one tile of results, which begins at a row and a column of the block."""

    def __init__(self, b: Builder, tile: Tile, block: Block, row: Register, column: Register) -> None:
        self.b, self.tile, self.block = b, tile, block
        self.vector = tile.type.vector(tile.lanes)
        self.remaining = block.rows - row
        last = self.remaining - 1  # a missing row is read as the last existing one
        rows = [row + b.intrinsic("smin", last, number) for number in range(tile.rows)]
        self.unit = tile.type if tile.bundles is None else I8
        self.left = [b.offset(block.left, self._row(number), self.unit) for number in rows]
        self.right = self._at(block.right, column)
        self.targets = [self._at(block.target, self._target_row(number) + column) for number in rows]
        self.mask = self._mask(block.columns - column) if tile.masked else None
        self.together = tile.tuning.turn_points if tile.is_whole and tile.has_short_vectors else 1
        self.ahead = tile.tuning.prefetched_points

    def build(self) -> None:
        """Builds all points, then the stores. A missing row has the results of the last one, and is stored there."""
        b, tile = self.b, self.tile
        for target in self.targets:
            self._prefetch(target)
        sums = self._over_points()
        places = [(target, v) for target in self.targets for v in range(tile.vectors)]
        sums = b.choose_each(self.block.adds.not_equal(0), sums, lambda: [
            self._load(*place) + total for place, total in zip(places, sums, strict=True)])
        for place, total in zip(places, sums, strict=True):
            self._write(total, *place)

    def _row(self, row: Register) -> Register:
        """Returns the offset of a row of the left operand."""
        return row * self.block.left_row

    def _target_row(self, row: Register) -> Register:
        """Returns the offset of a row of the results."""
        return row * self.block.target_row

    def _over_points(self) -> list[Register]:
        """Returns the sums of all points. Several are taken in a turn if those of a row, or the elements of a point,
        are contiguous; then the rest follows one by one.
        """
        b, tile, block = self.b, self.tile, self.block
        start = [self._load(self._at(self.right, -block.right_point), v) if tile.bundles is not None
                 else b.constant(self.vector, 0.0) for v in range(tile.vectors)]
        points = _Points(self.right, b.constant(I64, 0), start * tile.rows, b.constant(I64, 0))
        together = self.together
        if together > 1:
            whole = block.points & -together
            end = b.where(block.left_point.equal(1), whole, points.done)
            points = self._turns(points, end, together, 1, self._down)
            end = b.where(block.left_row.equal(1) & (self.remaining >= tile.rows), whole, points.done)
            points = self._turns(points, end, together, block.left_point, self._side_by_side)
        return self._turns(points, block.points, 1, block.left_point, self._down).sums

    def _turns(self, start: _Points, end: Register, together: int, step: Operand,
               elements: Callable[[Register], list[Register]]) -> _Points:
        """Adds the points up to ``end``, ``together`` in a turn; ``elements`` gives the left operand's at an offset."""
        b, block = self.b, self.block
        ahead = block.right_point * self.ahead
        with b.loop(start.done, end, together, [start.right, start.offset, *start.sums]) as turns:
            right, offset, *sums = turns.carried
            for _ in range(together):
                if together > 1:
                    right, offset = b.in_order(right), offset if step == 1 else b.unseen(offset)
                self._prefetch(self._at(right, ahead))
                columns = [self._load(right, v) for v in range(self.tile.vectors)]
                sums = self._with_point(columns, elements(offset), sums)
                right, offset = self._at(right, block.right_point), offset + step
            turns.carried = [right, offset, *sums]
        right, offset, *sums = turns.results
        return _Points(right, offset, sums, end)

    def _down(self, offset: Register) -> list[Register]:
        """Returns the addresses of the elements of a point of the left operand, from row to row."""
        return [self.b.offset(left, offset, self.unit) for left in self.left]

    def _side_by_side(self, offset: Register) -> list[Register]:
        """Returns these addresses if the rows are contiguous; the line of a later point is prefetched."""
        first = self.b.offset(self.left[0], offset, self.unit)
        self.b.fetch(self.b.offset(first, self.block.left_point * self.ahead, self.unit))
        return [self.b.offset(first, number, self.unit) for number in range(self.tile.rows)]

    def _with_point(self, columns: Sequence[Register], elements: Sequence[Register],
                    sums: Sequence[Register]) -> list[Register]:
        """Adds a point to the ``sums``: its ``columns`` of the right operand, times the ``elements`` of the left one
        at these addresses.
        """
        b, tile, align, found = self.b, self.tile, self.unit.bits // 8, list[Register]()
        for number, place in enumerate(elements):
            element = b.splat(b.load(place, tile.type, align), tile.lanes)
            found += [self._with_product(element, column, sums[number * tile.vectors + v])
                      for v, column in enumerate(columns)]
        return found

    def _with_product(self, left: Register, right: Register, total: Register) -> Register:
        bundles = self.tile.bundles
        return self.b.fma(left, right, total) if bundles is None else bundles.with_products(left, right, total)

    # -- memory ----------------------------------------------------------------------------------------------

    def _at(self, pointer: Register, offset: Register) -> Register:
        return self.b.offset(pointer, offset, self.tile.type)

    def _prefetch(self, row: Register) -> None:
        """Prefetches a row of a strip, once for each cache line."""
        for v in range(0, self.tile.vectors, max(self.tile.machine.line // self.tile.vector_bytes, 1)):
            self.b.fetch(self.b.offset(row, v * self.tile.lanes, self.tile.type))

    def _mask(self, columns: Register) -> Register:
        """Returns which lanes of the last vector have a column, so that LLVM does not repeat the comparison for each
        point.
        """
        return self.b.opaque(self.b.first_lanes(columns - (self.tile.columns - self.tile.lanes), self.tile.lanes))

    def _load(self, row: Register, v: int) -> Register:
        return self.b.load_masked(self._vector_at(row, v), self.vector, self._mask_of(v))

    def _write(self, x: Register, row: Register, v: int) -> None:
        self.b.store_masked(x, self._vector_at(row, v), self._mask_of(v))

    def _vector_at(self, row: Register, v: int) -> Register:
        return self.b.offset(row, v * self.tile.lanes, self.tile.type)

    def _mask_of(self, v: int) -> Register | None:
        return self.mask if v == self.tile.vectors - 1 else None


class _StripByPlaces(_Strip):
    """A tile of results that reads and writes rows and points by offset tables."""

    def _row(self, row: Register) -> Register:
        return self._place(self.block.left_row, row)

    def _target_row(self, row: Register) -> Register:
        return self._place(self.block.target_row, row)

    def _over_points(self) -> list[Register]:
        """Returns the sums of all points: several in a turn while the prefetched point is in the table."""
        b, zero = self.b, self.b.constant(I64, 0)
        zeros = [b.constant(self.vector, 0.0)] * (self.tile.vectors * self.tile.rows)
        points = _Points(self.right, zero, zeros, zero)
        if self.together > 1:
            whole = b.intrinsic("smax", self.block.points - self.ahead, 0) & -self.together
            points = self._turns_by_places(points, whole, self.together)
        return self._turns_by_places(points, self.block.points, 1).sums

    def _turns_by_places(self, start: _Points, end: Register, together: int) -> _Points:
        """Adds the points up to ``end``, ``together`` in a turn."""
        b, block = self.b, self.block
        with b.loop(start.done, end, together, [start.right, *start.sums]) as turns:
            right, *sums = turns.carried
            for k in [turns.index + number for number in range(together)]:
                right = b.in_order(right) if together > 1 else right
                later = k + self.ahead if together > 1 else b.intrinsic("smin", block.points - 1, k + self.ahead)
                self._prefetch(self._at(right, self._place(block.right_point, later)))
                row = self._at(right, self._place(block.right_point, k))
                columns = [self._load(row, v) for v in range(self.tile.vectors)]
                sums = self._with_point(columns, self._down(self._place(block.left_point, k)), sums)
            turns.carried = [right, *sums]
        right, *sums = turns.results
        return _Points(right, start.offset, sums, end)

    def _place(self, table: Register, number: Register) -> Register:
        return self.b.load(self.b.offset(table, number, I64), I64)
