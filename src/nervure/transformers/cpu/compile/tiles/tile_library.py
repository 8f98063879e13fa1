"""The tile library: the micro-kernels of a machine, and the function that covers a block with them.

``multiply_f32`` takes the arguments of a micro-kernel, for any number of rows and columns: whole strips by the main
tile, their last rows by a lower one, the last columns by the narrowest tile that holds them. Few rows have
micro-kernels of their own, which ``multiply_many_f32`` leaves out. If rows or points lie irregularly,
``multiply_by_places_f32`` takes offset tables.

>>> from nervure.support.machine import with_vectors
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> [tile.name for tile in tiles_of(F32, with_vectors(32)) if tile.masked]
['tile_f32_6x16_masked', 'tile_f32_8x8_masked']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import ClassVar

from nervure.kernel.routines import FEW_ROWS
from nervure.support.lazy import lazy
from nervure.support.machine import Machine
from nervure.transformers.cpu.cache.code_cache import make_key
from nervure.transformers.cpu.cache.fingerprint import package_fingerprint
from nervure.transformers.cpu.cache.library_cache import linked
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.compile.compiler import Compilations
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I8, I32, I64, Type
from nervure.transformers.cpu.compile.tiles.across import Across, across_function
from nervure.transformers.cpu.compile.tiles.bundles import Bundles
from nervure.transformers.cpu.compile.tiles.byte_products import Cover, cover_function
from nervure.transformers.cpu.compile.tiles.filling import FILLING, filling_function
from nervure.transformers.cpu.compile.tiles.kernel import ARGUMENTS, PLACES_ARGUMENTS, Block, Tile, tile_function
from nervure.transformers.cpu.compile.tiles.stream import StreamKernel, stream_function
from nervure.transformers.cpu.compile.tiles.transpose import transpose_function
from nervure.transformers.cpu.settings import SETTINGS
from nervure.transformers.cpu.target import Target


def main_tile(type: Type, machine: Machine) -> Tile:
    """Returns the tile of whole strips."""
    return _tile(type, machine, machine.tile_rows, machine.tile_vectors)


def _narrow_tiles(type: Type, machine: Machine) -> list[Tile]:
    """Returns tiles of fewer columns, from wide to narrow. Their rows hide the latency of multiply-adds, and as many
    lines that map to one set of a first cache still stay there.
    """
    return [_tile(type, machine, machine.narrow_rows, vectors) for vectors in range(machine.narrow_vectors, 0, -1)]


def _more_rows(type: Type, machine: Machine) -> list[Tile]:
    """Returns tiles of more rows than the main one for whole blocks: those with as many sums, at least."""
    least = machine.tile_rows * machine.tile_vectors
    return [tile for tile in _narrow_tiles(type, machine) if tile.rows * tile.vectors >= least]


def _fewer_rows(type: Type, machine: Machine) -> list[Tile]:
    """Returns tiles for the last rows of whole strips, from low to high.

    The fewer rows they have the wider they are, up to four lines of memory: so their sums hide the latency of
    multiply-adds, or half of it where vectors are as long as lines.
    """
    widest = machine.strip_columns * 4 // machine.vector_bytes
    return [_tile(type, machine, rows, max(machine.tile_vectors, min(machine.narrow_rows // rows, widest)))
            for rows in _powers_below(machine.tile_rows)]


def _powers_below(end: int) -> list[int]:
    """Returns the powers of two that are less than ``end``."""
    return [1 << power for power in range((end - 1).bit_length())]


def tiles_of(type: Type, machine: Machine) -> list[Tile]:
    """Returns the micro-kernels for a type, each once."""
    whole = [*_more_rows(type, machine), *_fewer_rows(type, machine)]
    return [main_tile(type, machine), *_last_tiles(type, machine), *whole]


def _last_tiles(type: Type, machine: Machine) -> list[Tile]:
    """Returns the tiles for the last columns, from wide to narrow. For at most half as many columns as a vector has
    lanes there are vectors of half the width, two of which multiply at once.
    """
    tiles = [main_tile(type, machine), *_narrow_tiles(type, machine)]
    if machine.vector_bytes == machine.line:
        tiles.append(_tile(type, machine, machine.tile_rows, 1)._replace(lanes=_lanes(type, machine) // 2))
    return [tile._replace(masked=True) for tile in tiles]


def across_of(type: Type, machine: Machine) -> list[Across]:
    """Returns the micro-kernels for a type that take few rows, and a right operand that lies across memory."""
    return [Across(type, rows, _lanes(type, machine)) for rows in _powers_below(FEW_ROWS + 1)]


def streams_of(type: Type, machine: Machine) -> list[StreamKernel]:
    """Returns the micro-kernels for a type that take few rows, at memory speed."""
    return [StreamKernel(type, rows, _lanes(type, machine), machine) for rows in _powers_below(FEW_ROWS + 1)]


def _tile(type: Type, machine: Machine, rows: int, vectors: int) -> Tile:
    return Tile(type, rows, vectors, _lanes(type, machine), machine=machine)


def _lanes(type: Type, machine: Machine) -> int:
    return type.lanes_in(machine.vector_bytes)


def multiply_function(type: Type, machine: Machine, link: Callable[[str], str] = str) -> Builder:
    """Returns the function that covers a block of any number of rows; ``link`` gives the symbols of the functions that
    it calls.
    """
    b = Builder(f"multiply_{type.suffix}", ARGUMENTS, attributes="nounwind")
    cover = _CoverCode(b, main_tile(type, machine), link)
    cover.stream(streams_of(type, machine))
    cover.leave_to(_many(type))
    b.ret()
    return b


def multiply_many_function(type: Type, machine: Machine, link: Callable[[str], str] = str) -> Builder:
    """Returns the function that covers a block of elements of ``type`` with tiles."""
    b = Builder(_many(type), ARGUMENTS, attributes="nounwind")
    cover = _CoverCode(b, main_tile(type, machine), link, _fewer_rows(type, machine))
    last = _last_tiles(type, machine)
    if cover.main.columns * type.bits == machine.line * 8:
        cover.up_to_line(last)
    cover.tile(_more_rows(type, machine), last)
    b.ret()
    return b


def _many(type: Type) -> str:
    return f"multiply_many_{type.suffix}"


def tiles_by_places_of(type: Type, machine: Machine) -> list[Tile]:
    """Returns the same micro-kernels with offset tables."""
    return [tile._replace(by_places=True) for tile in tiles_of(type, machine)]


def multiply_by_places_function(type: Type, machine: Machine, link: Callable[[str], str] = str) -> Builder:
    """Returns the function that covers a block of elements of ``type`` with tiles that read by offset tables."""
    b = Builder(f"multiply_by_places_{type.suffix}", PLACES_ARGUMENTS, attributes="nounwind")
    tiles = tiles_by_places_of(type, machine)
    main, *whole = [tile for tile in tiles if not tile.masked]
    more, low = [[tile for tile in whole if (tile.rows > main.rows) is is_high] for is_high in (True, False)]
    _CoverCode(b, main, link, low).tile(more, [tile for tile in tiles if tile.masked])
    b.ret()
    return b


def multiply_across_function(type: Type, machine: Machine, link: Callable[[str], str] = str) -> Builder:
    """Returns the function that multiplies at most eight rows by an operand that lies across memory, of elements of
    ``type``.
    """
    b = Builder(f"multiply_across_{type.suffix}", ARGUMENTS, attributes="nounwind")
    block, done = Block(*b.arguments), b.label("all")
    for kernel in across_of(type, machine):
        with b.if_(block.rows <= kernel.rows):
            b.call(link(kernel.name), None, *block)
            b.jump(done)
    b.block(done)
    b.ret()
    return b


def bundles_of(target: Target) -> list[Bundles]:
    """Returns the products of bytes, by the signs of their operands."""
    points = 4 if target.adds_products_of_bytes else 2
    return [Bundles(left, right, points) for left, right in product((False, True), repeat=2)]


def covers_of(bundles: Bundles, machine: Machine, is_across: bool) -> list[Cover]:
    """Returns the functions that cover blocks of ``bundles`` of bytes, each with a tile: the main one, and those for
    the last columns.
    """
    tiles = [tile._replace(bundles=bundles) for tile in (main_tile(I32, machine), *_narrow_tiles(I32, machine))]
    if tiles[0].registers >= machine.registers:  # a product waits in one until it is added
        tiles[0] = tiles[0]._replace(rows=tiles[0].rows - 1)
    return [Cover(tile, is_across) for tile in (tiles[0], *[tile._replace(masked=True) for tile in tiles])]


def multiply_bytes_name(bundles: Bundles, is_across: bool) -> str:
    """Returns the name of the function that covers a block of bytes."""
    return f"multiply_{'across_' if is_across else ''}{bundles.suffix}"


def multiply_bytes_function(bundles: Bundles, machine: Machine, is_across: bool,
                            link: Callable[[str], str] = str) -> Builder:
    """Returns the function that covers a block of ``bundles`` of bytes."""
    b = Builder(multiply_bytes_name(bundles, is_across), ARGUMENTS, attributes="nounwind")
    main, *last = covers_of(bundles, machine, is_across)
    _CoverCode(b, main, link).tile([], last)
    b.ret()
    return b


class _CoverCode:
    """A block that is covered from the left; ``done`` counts the covered columns. ``low`` are tiles for the last rows
    of whole strips, from low to high. Few rows have micro-kernels that run at memory speed.
    """

    def __init__(self, b: Builder, main: Tile | Cover, link: Callable[[str], str], low: Sequence[Tile] = ()) -> None:
        self.b, self.main, self.link, self.low, self.block = b, main, link, low, Block(*b.arguments)
        self.done = b.constant(I64, 0)
        self.machine = main.tile.machine if isinstance(main, Cover) else main.machine

    def stream(self, few: Sequence[StreamKernel]) -> None:
        """Covers all columns of a few rows."""
        for stream in few:
            rest, least = self.block.columns - self.done, self.machine.products.long_row * 8 // stream.type.bits
            self._cover(stream.name, rest, (self.block.rows <= stream.rows) & (rest >= least))

    def leave_to(self, name: str) -> None:
        """Covers the remaining columns by another function."""
        rest = self.block.columns - self.done
        self._cover(name, rest, rest > 0)

    def up_to_line(self, first: Sequence[Tile]) -> None:
        """Covers the first columns, up to the start of a cache line, if all rows have one there.

        Strips of blocks that are not small, which are read for the rows of four tiles, then begin where a line does.
        """
        b, block, type, machine = self.b, self.block, first[0].type, self.machine
        least, rows = machine.products.aligned_columns, 4 * machine.tile_rows
        width = machine.line * 8 // type.bits
        before = b.emit(I64, f"ptrtoint ptr {block.right.text} to i64").shift_right((type.bits // 8).bit_length() - 1)
        columns = width - (before & (width - 1))
        is_worth = ((columns < width) & (block.right_point & (width - 1)).equal(0) & (block.rows >= rows)
                    & (block.columns >= least) & (block.points >= least))
        for tile in reversed(first):
            self._cover(tile.name, columns, is_worth & self.done.equal(0) & (columns <= tile.columns))

    def tile(self, more: Sequence[Tile], last: Sequence[Tile | Cover]) -> None:
        """Covers whole strips, then the last columns."""
        share, whole = self.machine.products.taller_share.as_integer_ratio()
        for tile in more:
            self._strips(tile, self._rounded(tile) * whole < self._rounded(self.main) * share)
        self._strips(self.main, self.block.rows > 0, self._without_last_rows())
        for narrow in reversed(last):
            self._last(narrow)

    def _rounded(self, tile: Tile | Cover) -> Register:
        """Returns the rows that a tile computes, including padding rows."""
        rows = self.block.rows + (tile.rows - 1)
        return rows.quotient(tile.rows) * tile.rows

    def _without_last_rows(self) -> Register:
        """Returns the rows that are left to the main tile, if a lower one does the last rows of whole strips."""
        rows, columns = self.block.rows, self._in_strips(self.main)
        left, whole = rows, rows.quotient(self.main.rows) * self.main.rows
        for tile in self.low:
            fits = (left > whole) & (left - whole <= tile.rows) & (columns > 0)
            if tile.columns > self.main.columns:
                fits &= (columns.quotient(tile.columns) * tile.columns).equal(columns)
            with self.b.if_(fits):
                rest = tile.from_row(self.main.from_column(self.block, self.done), whole)
                self.b.call(self.link(tile.name), None, *rest._replace(columns=columns))
            left = self.b.where(fits, whole, left)
        return left

    def _in_strips(self, tile: Tile | Cover) -> Register:
        """Returns the columns of as many whole strips as are left."""
        rest = self.block.columns - self.done
        return rest.quotient(tile.columns) * tile.columns

    def _strips(self, tile: Tile | Cover, condition: Register, rows: Register | None = None) -> None:
        """Covers as many whole strips as there are columns for, under a ``condition``; only some ``rows``, if given."""
        columns = self._in_strips(tile)
        self._cover(tile.name, columns, condition & (columns > 0), rows)

    def _last(self, tile: Tile | Cover) -> None:
        """Covers the rest of the columns, if the tile holds them."""
        rest = self.block.columns - self.done
        self._cover(tile.name, rest, (rest > 0) & (rest <= tile.columns))

    def _cover(self, name: str, columns: Register, condition: Register, rows: Register | None = None) -> None:
        """Calls a micro-kernel for some ``columns``, from the first uncovered one on, under a ``condition``."""
        def call() -> Register:
            rest = self.main.from_column(self.block, self.done)
            own = rest._replace(columns=columns, rows=rest.rows if rows is None else rows)
            self.b.call(self.link(name), None, *own)
            return self.done + columns
        self.done = self.b.choose(condition, call, lambda: self.done)


# -- linking -------------------------------------------------------------------------------------------------


class TileLibrary:
    """The functions of the library for a target, by the symbols under which kernels call them."""

    _kept: ClassVar[dict[bytes, Library]] = {}  # as long as this process lives

    def __init__(self, target: Target, compilations: Compilations) -> None:
        self._target, self._compilations = target, compilations
        self._wanted: set[bytes] = set()

    @lazy
    def _builders(self) -> dict[str, Callable[[], Builder]]:
        """Maps each function's name to its builder; made late, since most programs find every function compiled."""
        machine, builders = self._target.machine, dict[str, Callable[[], Builder]]()
        for type in (F32, F64):
            tiles = [*tiles_of(type, machine), *tiles_by_places_of(type, machine)]
            builders |= {tile.name: partial(tile_function, tile) for tile in tiles}
            builders |= {stream.name: partial(stream_function, stream) for stream in streams_of(type, machine)}
            builders |= {kernel.name: partial(across_function, kernel) for kernel in across_of(type, machine)}
            builders |= {f"multiply_{type.suffix}": partial(multiply_function, type, machine, self.link),
                          _many(type): partial(multiply_many_function, type, machine, self.link),
                          f"multiply_by_places_{type.suffix}": partial(multiply_by_places_function, type, machine,
                                                                       self.link),
                          f"multiply_across_{type.suffix}": partial(multiply_across_function, type, machine, self.link),
                          f"transpose_{type.suffix}": partial(transpose_function, type, machine.vector_bytes)}
        builders["transpose_i8"] = partial(transpose_function, I8, 16)
        builders[FILLING] = partial(filling_function, machine.vector_bytes)
        for bundles, is_across in product(bundles_of(self._target), (False, True)):
            covers = covers_of(bundles, machine, is_across)
            builders |= {cover.tile.name: partial(tile_function, cover.tile) for cover in covers}
            builders |= {cover.name: partial(cover_function, cover, self.link) for cover in covers}
            builders[multiply_bytes_name(bundles, is_across)] = partial(
                multiply_bytes_function, bundles, machine, is_across, self.link)
        return builders

    def link(self, name: str) -> str:
        """Returns the symbol of a function of the library, whose compilation begins if it does not exist."""
        key = self._key(name)
        if key not in self._kept and key not in self._wanted:
            self._wanted.add(key)
            self._compilations.begin_unless_there(key, partial(_module, self._builders[name]))
        return linked(name, key)

    def keep(self, libraries: Mapping[bytes, Library]) -> None:
        """Keeps the linked functions for other compilations."""
        self._kept.update({key: libraries[key] for key in self._wanted})

    def address(self, name: str) -> int:
        """Returns the address of a kept function."""
        return self._kept[self._key(name)].address(name)

    def _key(self, name: str) -> bytes:
        return make_key("tiles", package_fingerprint(), SETTINGS, self._target.key, name)


def _module(build: Callable[[], Builder]) -> str:
    return assemble([build()])
