"""Micro-kernels of products with few rows, which run at memory speed: the right operand is read once, in long rows.

Sums wait in the first cache. For several points at a time whole rows are read side by side, a vector of each, and
added to the sums of that vector in the order of the points, by the same chain of fused multiply-adds as in register
tiles.

>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> stream = StreamKernel(F32, rows=2, lanes=16)
>>> stream.name, stream.columns
('stream_f32_2', 2048)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nervure.support.machine import GENERIC, Machine
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64, Type
from nervure.transformers.cpu.compile.tiles.kernel import ARGUMENTS, Block


class StreamKernel(NamedTuple):
    """The shape of a micro-kernel, which takes up to ``rows`` rows."""

    type: Type
    rows: int
    lanes: int
    machine: Machine = GENERIC

    @property
    def columns(self) -> int:
        """The columns of a strip, whose sums take half of a first cache."""
        return self.machine.first_cache // 2 * 8 // (self.type.bits * self.rows)

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"stream_{self.type.suffix}_{self.rows}"


def stream_function(stream: StreamKernel) -> Builder:
    """Returns the function of a micro-kernel, over strips of columns."""
    b = Builder(stream.name, ARGUMENTS, attributes="nounwind")
    block = Block(*b.arguments)
    sums = b.allocate(stream.type, stream.rows * stream.columns)
    with b.loop(0, block.columns, stream.columns) as across:
        _Strip(b, stream, block, sums, across.index).build()
    b.ret()
    return b


class _Strip:
    """The code of a strip of columns."""

    def __init__(self, b: Builder, stream: StreamKernel, block: Block, sums: Register, column: Register) -> None:
        self.b, self.stream, self.block, self.sums = b, stream, block, sums
        self.type, self.vector = stream.type, stream.type.vector(stream.lanes)
        self.wide = b.intrinsic("smin", block.columns - column, stream.columns)
        self.whole = self.wide & -stream.lanes
        # A missing row is read as the last existing one; its results are dropped.
        self.rows = [b.intrinsic("smin", block.rows - 1, number) for number in range(stream.rows)]
        self.left = [self._at(block.left, number * block.left_row) for number in self.rows]
        self.right = self._at(block.right, column)
        self.target = self._at(block.target, column)
        self.mask = b.first_lanes(self.wide - self.whole, stream.lanes)

    def build(self) -> None:
        """Builds zeros, all points, and the stores."""
        b, points = self.b, self.block.points
        with b.loop(0, self.wide, self.stream.lanes) as places:
            for row in range(self.stream.rows):
                b.store(b.constant(self.vector, 0.0), self._sum(row, places.index))
        streams = self.stream.machine.streams
        together = points & -streams
        for start, end, count in ((b.constant(I64, 0), together, streams), (together, points, 1)):
            with b.loop(start, end, count) as turns:
                self._points(turns.index, count)
        self._over_columns(self._result)

    def _points(self, k: Register, count: int) -> None:
        """Builds a few points, over all columns of the strip."""
        b, numbers = self.b, [k + number for number in range(count)]
        rights = [self._at(self.right, number * self.block.right_point) for number in numbers]
        elements = [[b.splat(b.load(self._at(left, number * self.block.left_point), self.type), self.stream.lanes)
                     for number in numbers] for left in self.left]

        def add(column: Register, mask: Register | None) -> None:
            columns = [self.b.load_masked(self._at(right, column), self.vector, mask) for right in rights]
            for row, multipliers in enumerate(elements):
                place = self._sum(row, column)
                total = b.load(place, self.vector)
                for element, vector in zip(multipliers, columns, strict=True):
                    total = b.fma(element, vector, total)
                b.store(total, place)
        self._over_columns(add)

    def _result(self, column: Register, mask: Register | None) -> None:
        """Stores the results of a vector of columns."""
        b = self.b
        for number, row in enumerate(self.rows):
            total, place = b.load(self._sum(number, column), self.vector), self._at(
                self._at(self.target, row * self.block.target_row), column)
            with b.if_(self.block.rows > number):
                with b.if_(self.block.adds.equal(0)):
                    self.b.store_masked(total, place, mask)
                with b.if_(self.block.adds.not_equal(0)):
                    self.b.store_masked(self.b.load_masked(place, self.vector, mask) + total, place, mask)

    def _over_columns(self, body: Callable[[Register, Register | None], None]) -> None:
        """Builds ``body`` for vectors of columns, the last one with a mask."""
        with self.b.loop(0, self.whole, self.stream.lanes) as vectors:
            body(vectors.index, None)
        with self.b.if_(self.whole < self.wide):
            body(self.whole, self.mask)

    # -- memory ----------------------------------------------------------------------------------------------

    def _at(self, pointer: Register, offset: Register) -> Register:
        return self.b.offset(pointer, offset, self.type)

    def _sum(self, row: int, column: Register) -> Register:
        return self._at(self.sums, column + row * self.stream.columns)
