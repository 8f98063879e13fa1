"""Micro-kernels of products with few rows whose right operand lies across memory: weights stored by column.

The right operand is read once, a few columns side by side, in squares that are transposed in registers and used there.

>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> Across(F32, rows=2, lanes=16).name
'across_f32_2'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import Type
from nervure.transformers.cpu.compile.tiles.kernel import ARGUMENTS, Block
from nervure.transformers.cpu.compile.tiles.transpose import first_lanes, transposed


class Across(NamedTuple):
    """The shape of a micro-kernel, which takes up to ``rows`` rows."""

    type: Type
    rows: int
    lanes: int

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"across_{self.type.suffix}_{self.rows}"


def across_function(across: Across) -> Builder:
    """Returns the function of a micro-kernel, whose ``right_point`` is the distance from column to column: points are
    contiguous.
    """
    b = Builder(across.name, ARGUMENTS, attributes="nounwind")
    block = Block(*b.arguments)
    with b.loop(0, block.columns, across.lanes) as columns:
        _Columns(b, across, block, columns.index).build()
    b.ret()
    return b


class _Columns:
    """The code of as many columns as a vector has lanes."""

    def __init__(self, b: Builder, across: Across, block: Block, column: Register) -> None:
        self.b, self.across, self.block = b, across, block
        self.type, self.vector = across.type, across.type.vector(across.lanes)
        self.remaining = block.columns - column
        # Missing rows are read as the last existing one; their results are dropped.
        self.rows = [b.intrinsic("smin", block.rows - 1, number) for number in range(across.rows)]
        self.left = [self._at(block.left, number * block.left_row) for number in self.rows]
        right = self._at(block.right, column * block.right_point)
        self.right = [self._at(right, b.intrinsic("smin", self.remaining - 1, number) * block.right_point)
                      for number in range(across.lanes)]
        self.target = self._at(block.target, column)
        self.waiting = b.allocate(self.vector, across.lanes)

    def build(self) -> None:
        """Builds the whole squares, the remaining points, and the stores."""
        b, lanes = self.b, self.across.lanes
        points = self.block.points
        together = points & -lanes
        with b.loop(0, together, lanes, [b.constant(self.vector, 0.0)] * self.across.rows) as squares:
            columns = transposed([b.load(self._at(right, squares.index), self.vector) for right in self.right])
            for number, column in enumerate(columns):
                squares.carried = self._with_point(squares.index + number, column, squares.carried)
        mask = first_lanes(b, points - together, lanes)
        for number, column in enumerate(transposed([b.load_masked(self._at(right, together), self.vector, mask)
                                                    for right in self.right])):
            b.store(column, b.offset(self.waiting, number, self.vector))
        with b.loop(together, points, 1, squares.results) as rest:
            column = b.load(b.offset(self.waiting, rest.index - together, self.vector), self.vector)
            rest.carried = self._with_point(rest.index, column, rest.carried)
        self._store(rest.results)

    def _with_point(self, k: Register, column: Register, sums: Sequence[Register]) -> list[Register]:
        b, offset = self.b, k * self.block.left_point
        return [b.fma(b.splat(b.load(self._at(left, offset), self.type), self.across.lanes), column, total)
                for left, total in zip(self.left, sums, strict=True)]

    def _store(self, sums: Sequence[Register]) -> None:
        """Stores the results of the existing columns."""
        b, mask = self.b, first_lanes(self.b, self.remaining, self.across.lanes)
        for number, (row, total) in enumerate(zip(self.rows, sums, strict=True)):
            place = self._at(self.target, row * self.block.target_row)
            with b.if_(self.block.rows > number):
                old = b.load_masked(place, self.vector, mask)
                b.store_masked(b.where(self.block.adds.equal(0), total, old + total), place, mask)

    def _at(self, pointer: Register, offset: Register) -> Register:
        return self.b.offset(pointer, offset, self.type)
