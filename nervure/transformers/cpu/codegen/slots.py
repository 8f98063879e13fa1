"""Accumulators in memory, on the stack of a kernel, and the functions beside it that end a block of a reduction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nervure.kernel.ir import LANES, Reduce
from nervure.transformers.cpu.codegen.combining import Elements, join, lane_tree, start_of
from nervure.transformers.cpu.codegen.element import Element, memory_types
from nervure.transformers.cpu.codegen.frame import Frame
from nervure.transformers.cpu.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.llvm.types import I64, PTR, Type
from nervure.types.dtype import DType


class Slots:
    """The 64 accumulators of each result in memory, and behind them what the blocks before have made.

    In rows of ``width`` lanes, either 64 rows, where each lane is a reduction of its own, or as many as 64 lanes fill.
    What happens once a block is a function beside the kernel, which all reductions of a kind share.
    """

    def __init__(self, b: Builder, width: int, kinds: list[_Kind], places: list[Register]) -> None:
        self._builder, self._width, self._kinds, self._places = b, width, kinds, places

    def read(self, start: Register) -> Elements:
        """The lanes from ``start`` on."""
        return [kind.read(place, start, self._width) for kind, place in zip(self._kinds, self._places, strict=True)]

    def write(self, lanes: Elements, start: Register) -> None:
        """Replaces the lanes from ``start`` on."""
        for x, kind, place in zip(lanes, self._kinds, self._places, strict=True):
            kind.write(x, place, start)

    def begin(self, rows: Register) -> None:
        """Before the first point: the first rows, and what the blocks have made, are units."""
        for kind, place in zip(self._kinds, self._places, strict=True):
            total = start_of(self._builder, kind.combine, kind.dtype, kind.total_width)
            kind.write(total, place, kind.total)
            self._call(kind.begin(), place, rows)

    def end_block(self, used: Register, rows: Register) -> None:
        """After a block: what its points, in the first ``used`` rows, make joins the blocks; rows are units again."""
        for kind, place in zip(self._kinds, self._places, strict=True):
            self._call(kind.end(), place, used, rows)

    def results(self) -> Elements:
        """What the blocks have made."""
        return [kind.read(place, kind.total, kind.total_width)
                for kind, place in zip(self._kinds, self._places, strict=True)]

    def _call(self, function: Builder, *arguments: Register) -> None:
        self._builder.call(function.name, None, *arguments)
        self._builder.define(function)


@contextmanager
def slots_of(frame: Frame, reduce: Reduce, width: int, is_each: bool) -> Iterator[Slots]:
    """Accumulators for the results of a reduction."""
    kinds = [_Kind(combine, variable.dtype, width, is_each)
             for combine, variable in zip(reduce.combine, reduce.results, strict=True)]
    sizes = [kind.size * sum([type.bits // 8 for type in memory_types(kind.dtype)]) for kind in kinds]
    with frame.borrowed(sizes) as places:
        yield Slots(frame.builder, width, kinds, places)


class _Kind(NamedTuple):
    """How one result is combined, and how its accumulators lie in memory."""

    combine: str
    dtype: DType
    width: int
    is_each: bool

    @property
    def total(self) -> int:
        """Where what the blocks have made begins."""
        return LANES * self.width if self.is_each else LANES

    @property
    def total_width(self) -> int:
        """The lanes of a result."""
        return self.width if self.is_each else 1

    @property
    def size(self) -> int:
        """The lanes of one part of an element, in all."""
        return self.total + self.total_width

    def read(self, place: Register, start: Operand, width: int) -> Element:
        """Lanes from memory."""
        b, parts = place.builder, []
        for type, pointer in self._parts(place, start):
            part = b.load(pointer, type.vector(width), type.bits // 8)
            parts.append(part.not_equal(0) if self.dtype.kind == "bool" else part)
        return Element(self.dtype, tuple(parts))

    def write(self, x: Element, place: Register, start: Operand) -> None:
        """Lanes to memory."""
        for register, (type, pointer) in zip(x.registers, self._parts(place, start), strict=True):
            part = register.cast("zext", type) if self.dtype.kind == "bool" else register
            place.builder.store(part, pointer, type.bits // 8)

    def _parts(self, place: Register, start: Operand) -> list[tuple[Type, Register]]:
        b = place.builder
        return [(type, b.offset(b.offset(place, number * self.size, type) if number else place, start, type))
                for number, type in enumerate(memory_types(self.dtype))]

    def begin(self) -> Builder:
        """begin(place, rows): rows become units."""
        b = self._function("begin", ("place", PTR), ("rows", I64))
        self._clear(*b.arguments)
        b.ret()
        return b

    def end(self) -> Builder:
        """end(place, used, rows): the tree over used rows, the chain over blocks, and rows become units."""
        b = self._function("end", ("place", PTR), ("used", I64), ("rows", I64))
        place, used, rows = b.arguments
        block = (self._tree(place, used) if self.is_each else
                 lane_tree(self.combine, self.read(place, 0, LANES)))
        self.write(join(self.combine, self.read(place, self.total, self.total_width), block), place, self.total)
        self._clear(place, rows)
        b.ret()
        return b

    def _function(self, name: str, *arguments: tuple[str, Type]) -> Builder:
        kind = f"{name}_{self.combine}_{self.dtype.name}_{self.width}{'_each' if self.is_each else ''}"
        return Builder(kind, arguments, attributes="nounwind", linkage="internal")

    def _clear(self, place: Register, rows: Register) -> None:
        b = place.builder
        with b.loop(0, rows) as row:
            self.write(start_of(b, self.combine, self.dtype, self.width), place, row.index * self.width)

    def _tree(self, place: Register, used: Register) -> Element:
        b, width = place.builder, self.width
        with b.loop(0, LANES.bit_length() - 1, 1, [used]) as steps:
            half = b.constant(I64, LANES // 2).shift_right(steps.index)
            left = steps.carried[0]
            with b.loop(0, b.intrinsic("smin", half, left - half)) as row:
                lower = row.index * width
                upper = self.read(place, (row.index + half) * width, width)
                self.write(join(self.combine, self.read(place, lower, width), upper), place, lower)
            steps.carried = [b.intrinsic("smin", left, half)]
        return self.read(place, 0, width)
