"""Products of bytes with sums of 32 bits: operands in panels and lines of bundles, which register tiles multiply.

A strip of the right operand is packed into a panel on the stack, the rows of a tile into lines. A panel begins with
the initial values of its sums. Nothing outside of the block is read; missing points in a bundle are zeros.

>>> from nervure.transformers.cpu.compile.llvm.types import I32
>>> cover = Cover(Tile(I32, rows=6, vectors=4, lanes=16, bundles=Bundles(False, True, 4)), is_across=False)
>>> cover.name
'cover_u8_i8_6x64'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure.kernel.tuning import BYTES_ON_STACK
from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I32, I64
from nervure.transformers.cpu.compile.tiles.bundles import Bundles
from nervure.transformers.cpu.compile.tiles.kernel import ARGUMENTS, Block, Tile
from nervure.transformers.cpu.compile.tiles.transpose import transposed


class Cover(NamedTuple):
    """A function that covers a block with one tile. With ``is_across`` the points of the right operand are contiguous,
    and its ``right_point`` goes from column to column; else its columns are.
    """

    tile: Tile
    is_across: bool

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"cover_{'across_' if self.is_across else ''}{self.tile.name.removeprefix('tile_')}"

    @property
    def columns(self) -> int:
        """The columns of a strip."""
        return self.tile.columns

    @property
    def rows(self) -> int:
        """The rows of a tile."""
        return self.tile.rows

    @property
    def depth(self) -> int:
        """The rows of bundles of a panel, which lies on the stack."""
        return BYTES_ON_STACK // (4 * self.tile.machine.strip_columns)

    @property
    def bundles(self) -> Bundles:
        """The bundles that its tile multiplies."""
        assert self.tile.bundles is not None
        return self.tile.bundles

    def from_column(self, block: Block, column: Register) -> Block:
        """Returns a block without the columns before this one."""
        b = column.builder
        right = b.offset(block.right, column * block.right_point if self.is_across else column, I8)
        return block._replace(right=right, target=b.offset(block.target, column, I32), columns=block.columns - column)


def cover_function(cover: Cover, link: Callable[[str], str] = str) -> Builder:
    """Returns the function of a cover: panels of rows of bundles, strip by strip, and for each all rows."""
    b = Builder(cover.name, ARGUMENTS, attributes="nounwind")
    block, tile, depth = Block(*b.arguments), cover.tile, cover.depth * cover.bundles.points
    panel, lines = b.allocate(I32, (1 + cover.depth) * tile.columns), b.allocate(I32, cover.depth * tile.rows)
    with (b.loop(0, b.intrinsic("smax", block.points, 1), depth) as deep,
          b.loop(0, block.columns, tile.columns) as across):
        points, columns, adds = block.points - deep.index, block.columns - across.index, block.adds | deep.index
        columns = b.intrinsic("smin", columns, tile.columns)
        packing = _Packing(b, cover, block, b.intrinsic("smin", points, depth))
        packing.pack(deep.index, across.index, columns, panel)
        with b.loop(0, block.rows, tile.rows) as down:
            rows = b.intrinsic("smin", block.rows - down.index, tile.rows)
            left, left_row = packing.line_up(deep.index, down.index, rows, lines)
            target = b.offset(block.target, down.index * block.target_row + across.index, I32)
            b.call(link(tile.name), None, *block._replace(
                left=left, left_row=left_row, left_point=b.word(4), right=b.offset(panel, tile.columns, I32),
                right_point=b.word(tile.columns), target=target, rows=rows, columns=columns, points=packing.bundles,
                adds=adds))
    b.ret()
    return b


class _Side(NamedTuple):
    """The memory of an operand's bytes, and of its bundles, by *lines*: rows of the left operand, columns of the right
    one.
    """

    source: Register
    line_step: Operand
    point_step: Operand
    target: Register
    line_width: int
    bundle_width: int
    is_signed: bool
    is_flipped: bool = False

    def bytes(self, line: Register, point: Register) -> Register:
        """Returns the address of a ``point`` of a ``line``; the contiguous bytes after it are further points, or else
        lines.
        """
        return self.source.builder.offset(self.source, line * self.line_step + point * self.point_step, I8)

    def bundle(self, line: Register, bundle: Register) -> Register:
        """Returns the address of a bundle."""
        return self.source.builder.offset(self.target, line * self.line_width + bundle * self.bundle_width, I32)


class _Packing:
    """The packing of ``points`` points of bytes into bundles."""

    def __init__(self, b: Builder, cover: Cover, block: Block, points: Register) -> None:
        self.b, self.cover, self.kind, self.block, self.points = b, cover, cover.bundles, block, points
        self.lanes, self.together = cover.tile.lanes, self.kind.points
        self.bundles, self.whole = [x.quotient_signed(self.together) for x in (points + (self.together - 1), points)]
        self.vector, self.squares = I32.vector(self.lanes), self.whole & -self.lanes

    def pack(self, point: Register, column: Register, columns: Register, panel: Register) -> None:
        """Packs a panel: the initial values of sums, and a row of bundles for each few points."""
        b, lanes, width, step = self.b, self.lanes, self.cover.columns, self.block.right_point
        is_across, zero, body = self.cover.is_across, b.constant(I64, 0), b.offset(panel, width, I32)
        source = b.offset(self.block.right, column * step + point if is_across else point * step + column, I8)
        side = _Side(source, step if is_across else 1, 1 if is_across else step, body, 1, width,
                     self.kind.is_right_signed)
        high, wide = (lanes, lanes) if is_across else (1, min(width, 16))
        square = columns & -wide, self.squares if is_across else self.whole
        with b.loop(0, square[1], high) as bundles, b.loop(0, square[0], wide) as lines:
            (self._across if is_across else self._along)(side, lines.index, bundles.index, wide)
        self._singly(side, (square[0], columns), (zero, square[1]))
        self._singly(side, (zero, columns), (square[1], self.whole))
        self._singly(side, (zero, columns), (self.whole, self.bundles), is_whole=False)
        for number, start in enumerate(self._starts(body)):
            b.store(start, b.offset(panel, number * lanes, I32))

    def line_up(self, point: Register, row: Register, rows: Register, lines: Register) -> tuple[Register, Register]:
        """Returns the place of the bundles of some rows, and the bytes from row to row. Bundles are used in place if
        they are whole and neither widened nor flipped, else they are packed into ``lines``.
        """
        b, step = self.b, self.block.left_row
        source = b.offset(self.block.left, row * step + point, I8)
        if self.together == 2 or self.kind.is_flipped:
            self._line_up(source, rows, lines)
            return lines, b.word(4 * self.cover.depth)
        are_whole = self.whole.equal(self.bundles)
        with b.if_(~are_whole):
            self._line_up(source, rows, lines)
        return b.where(are_whole, source, lines), b.where(are_whole, step, 4 * self.cover.depth)

    def _line_up(self, source: Register, rows: Register, lines: Register) -> None:
        b, zero, step = self.b, self.b.constant(I64, 0), self.block.left_row
        side = _Side(source, step, 1, lines, self.cover.depth, 1, self.kind.is_left_signed, self.kind.is_flipped)
        with b.loop(0, rows) as line, b.loop(0, self.squares, self.lanes) as bundle:
            b.store(self._some(side, line.index, bundle.index, self.lanes), side.bundle(line.index, bundle.index))
        self._singly(side, (zero, rows), (self.squares, self.whole))
        self._singly(side, (zero, rows), (self.whole, self.bundles), is_whole=False)

    # -- bundles ---------------------------------------------------------------------------------------------

    def _some(self, side: _Side, line: Register, bundle: Register, count: int) -> Register:
        """Loads ``count`` bundles of a line, whose points are contiguous."""
        found = self.b.load(side.bytes(line, bundle * self.together), I8.vector(count * self.together))
        return self._of_bytes(side, found)

    def _of_bytes(self, side: _Side, x: Register) -> Register:
        """Returns bytes as bundles."""
        flipped = x ^ 128 if side.is_flipped else x
        return self.kind.widened(flipped, side.is_signed).regrouped(I32.vector(x.type.lanes // self.together))

    def _across(self, side: _Side, line: Register, bundle: Register, lines: int) -> None:
        """Packs a square of ``lines`` bundles whose points are contiguous."""
        found = [self._some(side, line + number, bundle, lines) for number in range(lines)]
        for number, row in enumerate(transposed(found)):
            self.b.store(row, side.bundle(line, bundle + number))

    def _along(self, side: _Side, line: Register, bundle: Register, lines: int) -> None:
        """Packs a row of bundles, whose points lie in as many rows."""
        points = [bundle * self.together + number for number in range(self.together)]
        found = [self.b.load(side.bytes(line, point), I8.vector(lines)) for point in points]
        for number, bytes in enumerate(transposed(found)):
            place = side.bundle(line + number * (lines // self.together), bundle)
            self.b.store(self._of_bytes(side, bytes), place)

    def _singly(self, side: _Side, lines: tuple[Register, Register], bundles: tuple[Register, Register],
                is_whole: bool = True) -> None:
        """Packs bundles one by one; unless they are whole, missing points are zeros."""
        b = self.b
        with b.loop(*bundles) as bundle, b.loop(*lines) as line:
            if is_whole and isinstance(side.point_step, int):
                found = self._some(side, line.index, bundle.index, 1)
            else:
                numbers = [bundle.index * self.together + number for number in range(self.together)]
                places = [side.bytes(line.index, b.intrinsic("smin", number, self.points - 1)) for number in numbers]
                bytes = b.undefined(I8.vector(self.together))
                for number, (point, place) in enumerate(zip(numbers, places, strict=True)):
                    bytes = b.insert(bytes, b.where(point < self.points, b.load(place, I8), 0), number)
                found = self._of_bytes(side, bytes)
            b.store(found, side.bundle(line.index, bundle.index))

    def _starts(self, body: Register) -> Sequence[Register]:
        """Returns the initial values of the sums of a panel."""
        b, tile = self.b, self.cover.tile
        zeros = [b.constant(self.vector, 0)] * tile.vectors
        if not self.kind.is_flipped:
            return zeros
        flips = b.constant(self.vector, 0x80808080)
        with b.loop(0, self.bundles, 1, zeros) as bundles:
            row = bundles.index * tile.columns
            bundles.carried = [
                self.kind.with_products(flips, b.load(b.offset(body, row + number * self.lanes, I32), self.vector), sum)
                for number, sum in enumerate(bundles.carried)]
        return [-sum for sum in bundles.results]
