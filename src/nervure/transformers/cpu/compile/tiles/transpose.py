"""Transposes through registers: squares of as many rows as a vector has lanes, whose halves are interleaved.

``target[k, j] = source[j, k]``; the columns of both are contiguous. Nothing outside of the block is read or written.

>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> transpose_function(F32, 32).text().count("shufflevector <8 x float>")
24
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR, Type

ARGUMENTS = (("source", PTR), ("source_row", I64), ("target", PTR), ("target_row", I64), ("rows", I64),
             ("columns", I64))
"""Steps are in elements; rows and columns are those of the source."""


def transpose_function(type: Type, vector_bytes: int) -> Builder:
    """Returns the function ``transpose_f32`` or that of another type."""
    lanes = type.lanes_in(vector_bytes)
    b = Builder(f"transpose_{type.suffix}", ARGUMENTS, attributes="nounwind")
    source, source_row, target, target_row, rows, columns = b.arguments
    with b.loop(0, rows, lanes) as down, b.loop(0, columns, lanes) as across:
        start = b.offset(source, down.index * source_row + across.index, type)
        end = b.offset(target, across.index * target_row + down.index, type)
        high, wide = rows - down.index, columns - across.index
        square = _Square(b, type.vector(lanes), (start, source_row), (end, target_row), high, wide)
        square.build_bytes() if type.bits == 8 else square.build()
    b.ret()
    return b


class _Square(NamedTuple):
    """A square of as many rows as a vector has lanes, of which only ``high`` rows and ``wide`` columns may exist.

    ``source`` and ``target`` are its first element on each side, and the distance to the next row.
    """

    b: Builder
    vector: Type
    source: tuple[Register, Register]
    target: tuple[Register, Register]
    high: Register
    wide: Register

    @property
    def is_whole(self) -> Register:
        """Whether all rows and columns exist."""
        return (self.high >= self.vector.lanes) & (self.wide >= self.vector.lanes)

    def build(self) -> None:
        """Transposes it. The last row stands for the missing ones."""
        b, lanes, is_whole = self.b, self.vector.lanes, self.is_whole
        rows = b.choose_all(is_whole, self._rows, self._rows_of_edge)
        columns = transposed([b.opaque(row) for row in rows])  # LLVM joins no shuffles with hidden rows
        whole, edge, done = b.label("whole"), b.label("edge"), b.label("next")
        b.branch(is_whole, whole, edge)
        b.block(whole)
        self._store(columns)
        b.jump(done)
        b.block(edge)
        mask = first_lanes(b, self.high, lanes)
        for number, column in enumerate(columns):
            with b.if_(self.wide > number):
                b.store_masked(column, self._at(self.target, number), mask)
        b.block(done)

    def build_bytes(self) -> None:
        """Transposes bytes: those of an edge one by one, since masks for bytes do not exist everywhere."""
        b = self.b
        whole, edge, done = b.label("whole"), b.label("edge"), b.label("next")
        b.branch(self.is_whole, whole, edge)
        b.block(whole)
        self._store(transposed(self._rows()))
        b.jump(done)
        b.block(edge)
        with (b.loop(0, b.intrinsic("smin", self.wide, self.vector.lanes)) as across,
              b.loop(0, b.intrinsic("smin", self.high, self.vector.lanes)) as down):
            byte = b.load(b.offset(self._at(self.source, down.index), across.index, I8), I8)
            b.store(byte, b.offset(self._at(self.target, across.index), down.index, I8))
        b.block(done)

    def _at(self, side: tuple[Register, Register], row: int | Register) -> Register:
        first, step = side
        return self.b.offset(first, step * row, self.vector.element)

    def _rows(self) -> list[Register]:
        return [self.b.load(self._at(self.source, number), self.vector) for number in range(self.vector.lanes)]

    def _rows_of_edge(self) -> list[Register]:
        mask = first_lanes(self.b, self.wide, self.vector.lanes)
        numbers = [self.b.intrinsic("smin", self.high - 1, number) for number in range(self.vector.lanes)]
        return [self.b.load_masked(self._at(self.source, number), self.vector, mask) for number in numbers]

    def _store(self, columns: Sequence[Register]) -> None:
        for number, column in enumerate(columns):
            self.b.store(column, self._at(self.target, number))


def transposed(rows: Sequence[Register]) -> list[Register]:
    """Returns the columns of a square, or of a few rows, one behind the other: in each step two rows are interleaved.

    The bits of (row, lane) rotate by one place in each step, so that after all steps the two have changed places.
    """
    lanes, half = rows[0].type.lanes, len(rows) // 2
    low = [number // 2 + lanes * (number % 2) for number in range(lanes)]
    for _ in range(half.bit_length()):
        rows = [row for x, y in zip(rows[:half], rows[half:], strict=True)
                for row in (x.builder.shuffle(x, y, low), x.builder.shuffle(x, y, [lane + lanes // 2 for lane in low]))]
    return list(rows)


def first_lanes(b: Builder, count: Register, lanes: int) -> Register:
    """Returns the mask of the lanes below a count, which may be more than these."""
    return b.first_lanes(b.intrinsic("smin", count, lanes), lanes)
