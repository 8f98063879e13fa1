"""Accumulators in memory, and the functions beside a kernel that end a block of a reduction.

>>> from nervure.types.dtype import float32
>>> end = _Kind("add", float32, Layout(longest=8, width=8, is_each=False)).end()
>>> end.text().splitlines()[0]
'define internal void @end_add_float32_8(ptr %place, ptr %total, i64 %used, i64 %rows, i64 %columns) nounwind {'
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nervure.kernel.ir import LANES, Reduce
from nervure.transformers.cpu.compile.codegen.combining import Elements, join, lane_tree, start_of
from nervure.transformers.cpu.compile.codegen.element import Element
from nervure.transformers.cpu.compile.codegen.frame import Frame
from nervure.transformers.cpu.compile.codegen.lane_memory import lane_bytes, read_lanes, write_lanes
from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I64, PTR
from nervure.types.dtype import DType


class Layout(NamedTuple):
    """How accumulators lie: in rows of at most ``longest`` lanes one after the other, ``width`` lanes at a time.

    Either each column is a reduction of its own, and there are 64 rows; or the lanes of all rows together are the 64
    lanes of one reduction.
    """

    longest: int
    width: int
    is_each: bool

    @property
    def lanes(self) -> int:
        """All of them."""
        return LANES * self.longest if self.is_each else LANES


def row_length(columns: Register, width: int) -> Register:
    """How far rows are from each other."""
    return (columns + (width - 1)) & -width


class Slots:
    """The accumulators of each result, and apart from them what the blocks before have made.

    What happens once a block is a function, which all reductions of a kind share.
    """

    def __init__(self, b: Builder, kinds: list[_Kind], places: list[Register], totals: list[Register]) -> None:
        self._builder, self._kinds, self._places, self.totals = b, kinds, places, totals

    def read(self, start: Register, width: int) -> Elements:
        """Lanes from ``start`` on."""
        return [read_lanes(kind.dtype, place, kind.layout.lanes, start, width)
                for kind, place in zip(self._kinds, self._places, strict=True)]

    def write(self, lanes: Elements, start: Register) -> None:
        """Replaces the lanes from ``start`` on."""
        for x, kind, place in zip(lanes, self._kinds, self._places, strict=True):
            write_lanes(x, place, kind.layout.lanes, start)

    def begin(self, rows: Register, columns: Register) -> None:
        """Before the first point: the first rows, and what the blocks have made, are units."""
        for kind, place, total in zip(self._kinds, self._places, self.totals, strict=True):
            self._call(kind.begin(), place, total, rows, columns)

    def end_block(self, used: Register, rows: Register, columns: Register) -> None:
        """After a block: what its points, in the first ``used`` rows, make joins the blocks; rows are units again."""
        for kind, place, total in zip(self._kinds, self._places, self.totals, strict=True):
            self._call(kind.end(), place, total, used, rows, columns)

    def results(self, start: Operand, width: int) -> Elements:
        """What the blocks have made."""
        return [read_lanes(kind.dtype, total, kind.total_lanes, start, width)
                for kind, total in zip(self._kinds, self.totals, strict=True)]

    def _call(self, function: Builder, *arguments: Register) -> None:
        self._builder.call(function.name, None, *arguments)
        self._builder.define(function)


@contextmanager
def slots_of(frame: Frame, reduce: Reduce, layout: Layout) -> Iterator[Slots]:
    """Accumulators for the results of a reduction."""
    kinds = [_Kind(combine, variable.dtype, layout)
             for combine, variable in zip(reduce.combine, reduce.results, strict=True)]
    totals = [lane_bytes(kind.dtype, kind.total_lanes) for kind in kinds]
    with frame.borrowed(totals) as places, slots_with(frame, reduce, layout, places) as slots:
        yield slots


@contextmanager
def slots_with(frame: Frame, reduce: Reduce, layout: Layout, totals: list[Register]) -> Iterator[Slots]:
    """The same, where there is memory already for what the blocks make."""
    kinds = [_Kind(combine, variable.dtype, layout)
             for combine, variable in zip(reduce.combine, reduce.results, strict=True)]
    with frame.borrowed([lane_bytes(kind.dtype, layout.lanes) for kind in kinds]) as places:
        yield Slots(frame.builder, kinds, places, totals)


class _Kind(NamedTuple):
    """How one result is combined, and how its accumulators lie in memory."""

    combine: str
    dtype: DType
    layout: Layout

    @property
    def total_lanes(self) -> int:
        """The lanes of what the blocks have made."""
        return self.layout.longest if self.layout.is_each else 1

    def begin(self) -> Builder:
        """begin(place, total, rows, columns)"""
        b = self._function("begin", "place", "total", "rows", "columns")
        place, total, rows, columns = b.arguments
        if self.layout.is_each:
            with b.loop(0, columns, self.layout.width) as column:
                self._write(self._unit(b), total, column.index, self.total_lanes)
        else:
            self._write(start_of(b, self.combine, self.dtype), total, 0, 1)
        self._clear(place, rows, columns)
        b.ret()
        return b

    def end(self) -> Builder:
        """end(place, total, used, rows, columns)"""
        b = self._function("end", "place", "total", "used", "rows", "columns")
        place, total, used, rows, columns = b.arguments
        if self.layout.is_each:
            self._tree(place, used, columns)
            with b.loop(0, columns, self.layout.width) as column:
                block = self._read(place, column.index, self.layout.width)
                before = read_lanes(self.dtype, total, self.total_lanes, column.index, self.layout.width)
                self._write(join(self.combine, before, block), total, column.index, self.total_lanes)
        else:
            block = lane_tree(self.combine, self._read(place, 0, LANES))
            self._write(join(self.combine, read_lanes(self.dtype, total, 1, 0, 1), block), total, 0, 1)
        self._clear(place, rows, columns)
        b.ret()
        return b

    def _function(self, name: str, *arguments: str) -> Builder:
        kind = f"{self.combine}_{self.dtype.name}_{self.layout.width}"
        kind = f"{name}_{kind}_of_{self.layout.longest}" if self.layout.is_each else f"{name}_{kind}"
        return Builder(kind, [(label, PTR if label in ("place", "total") else I64) for label in arguments],
                       attributes="nounwind", linkage="internal")

    def _unit(self, b: Builder) -> Element:
        return start_of(b, self.combine, self.dtype, self.layout.width)

    def _read(self, place: Register, start: Operand, width: int) -> Element:
        return read_lanes(self.dtype, place, self.layout.lanes, start, width)

    def _write(self, x: Element, place: Register, start: Operand, lanes: int) -> None:
        write_lanes(x, place, lanes, start)

    def _clear(self, place: Register, rows: Register, columns: Register) -> None:
        b = place.builder
        length = row_length(columns, self.layout.width)
        with b.loop(0, rows) as row, b.loop(0, columns, self.layout.width) as column:
            self._write(self._unit(b), place, row.index * length + column.index, self.layout.lanes)

    def _tree(self, place: Register, used: Register, columns: Register) -> None:
        b, width, length = place.builder, self.layout.width, row_length(columns, self.layout.width)
        with b.loop(0, LANES.bit_length() - 1, 1, [used]) as steps:
            half = b.constant(I64, LANES // 2).shift_right(steps.index)
            left = steps.carried[0]
            with b.loop(0, b.intrinsic("smin", half, left - half)) as row, b.loop(0, columns, width) as column:
                lower, upper = [number * length + column.index for number in (row.index, row.index + half)]
                both = join(self.combine, self._read(place, lower, width), self._read(place, upper, width))
                self._write(both, place, lower, self.layout.lanes)
            steps.carried = [b.intrinsic("smin", left, half)]
