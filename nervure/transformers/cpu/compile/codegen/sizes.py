"""The numbers that a kernel is given: each dimension in it is a place in one table, in order of first use.

So the text of a kernel tells which sizes are equal, not how large they are; only -1 to 4, which decide what a step
through memory is, and the lengths of rows that are too short for a loop stand in it as numbers.

>>> from nervure.transformers.cpu.compile.llvm.types import PTR
>>> from nervure.types.dim import dim
>>> b = Builder("example", [("sizes", PTR)])
>>> sizes = Sizes(b, b.arguments[0])
>>> n = dim("N")
>>> [sizes.register(x).text for x in (n, 7, 1, n)], sizes.table
(['%v1', '%v3', '1', '%v1'], (N, 7))
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.types.dim import DimLike

NUMBERS = (-1, 0, 1, 2, 3, 4)
"""Sizes that are part of a kernel's structure."""


class Sizes:
    """The table of sizes of a kernel that is being built; they are read on entry."""

    def __init__(self, b: Builder, pointer: Register) -> None:
        self._builder, self._pointer = b, pointer
        self.region = b.region()  # the entry, where sizes are read
        self._registers: dict[DimLike, Register] = {}

    @property
    def table(self) -> tuple[DimLike, ...]:
        """What has been asked for, in order."""
        return tuple(self._registers)

    def register(self, x: DimLike) -> Register:
        """A dimension without loop indices as an i64, known on entry."""
        if isinstance(x, int) and x in NUMBERS:
            return self._builder.constant(I64, x)
        found = self._registers.get(x)
        if found is None:
            b = self._builder
            with b.at(self.region):
                found = b.load(b.offset(self._pointer, len(self._registers), I64), I64)
            self._registers[x] = found
        return found
