"""Accumulators: elements that are combined, in registers and in memory, and the tree over the lanes of a reduction.

A lane without a point holds the unit, and what is combined with the unit stays what it is, because every lane starts
from the unit (so that no sum is -0.0). Only products of complex numbers are an exception: infinity times 1 + 0i is NaN.

>>> from nervure.types.dtype import bool_, complex64, float32
>>> b = Builder("example")
>>> start_of(b, "maximum", float32, width=8)
f32 <8 x float> splat (float 0xFFF0000000000000)
>>> lane_tree("add", start_of(b, "add", float32, width=8)).lanes
1

In memory the parts of complex numbers lie apart from each other, and what ends a block, or a group of blocks, is a
function beside the kernel:

>>> spill_bytes(bool_, 100), spill_bytes(complex64, 100)
(100, 800)
>>> end = _Kind("add", float32, AccumulatorLayout(longest=8, width=8, is_each=False)).end()
>>> end.text().splitlines()[0]
'define internal void @end_add_float32_8(ptr %place, ptr %total, i64 %used, i64 %rows, i64 %columns) nounwind {'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from nervure.kernel.combiners import FUNCTIONS, unit
from nervure.kernel.ir import BLOCK, GROUP, GROUPS, LANES, Order, Reduce
from nervure.transformers.cpu.compile.codegen.context import Context, emit
from nervure.transformers.cpu.compile.codegen.element import Element, literal, memory_types, select
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I64, PTR, Type
from nervure.types.dtype import DType

Elements = list[Element]

GROUP_BITS = GROUPS.bit_length() - 1

LARGER_GROUPS = -(-(63 - (BLOCK * GROUP).bit_length() + 1) // GROUP_BITS) + 1
"""The sizes of larger groups of as many points as there are numbers."""


def start_of(b: Builder, combine: str, dtype: DType, width: int = 1) -> Element:
    """The unit."""
    return literal(b, unit(combine, dtype).value, dtype, width)


def join(combine: str, x: Element, y: Element) -> Element:
    """Two elements combined."""
    return apply(FUNCTIONS[combine], [x, y], x.dtype)


def lane_tree(combine: str, x: Element) -> Element:
    """All lanes combined by halves: lane j with lane j + half."""
    width = x.lanes
    while width > 1:
        width //= 2
        x = join(combine, _part(x, 0, width), _part(x, width, width))
    return x


def units(b: Builder, reduce: Reduce, width: int = 1) -> Elements:
    """The unit of each result."""
    return [start_of(b, combine, variable.dtype, width)
            for combine, variable in zip(reduce.combine, reduce.results, strict=True)]


def combined(reduce: Reduce, left: Elements, right: Elements, mask: Register | None = None) -> Elements:
    """Each result's left and right combined; the left alone in lanes outside of the mask."""
    results = []
    for combine, x, y in zip(reduce.combine, left, right, strict=True):
        both = join(combine, x, y)
        results.append(both if mask is None else _select(mask, both, x))
    return results


def listed_tree(reduce: Reduce, lanes: list[Elements]) -> Elements:
    """The same tree over a list of tuples of results, whose missing lanes hold the unit."""
    half = LANES // 2
    while half:
        lanes = [combined(reduce, lanes[lane], lanes[lane + half]) if lane + half < len(lanes) else lanes[lane]
                 for lane in range(min(half, len(lanes)))]
        half //= 2
    return lanes[0]


def point_values(context: Context, reduce: Reduce) -> Elements:
    """The body, and what it gives, in all lanes."""
    emit(context, reduce.body)
    return [context.spread(context.scalar(value), context.width).element for value in reduce.values]


def flat(elements: Sequence[Element]) -> list[Register]:
    """The registers of elements."""
    return [register for element in elements for register in element.registers]


def shaped(like: Sequence[Element], registers: Sequence[Register]) -> Elements:
    """Elements of the same types from registers."""
    remaining = iter(registers)
    return [Element(x.dtype, tuple([next(remaining) for _ in x.registers])) for x in like]


def _select(mask: Register, x: Element, y: Element) -> Element:
    return select(Element(x.dtype, (mask,)), x, y)


def _part(x: Element, start: int, width: int) -> Element:
    return x.map(lambda register: register.builder.shuffle(register, register, range(start, start + width)))


# -- vector spill memory -------------------------------------------------------------------------------------------


def spill_bytes(dtype: DType, lanes: int) -> int:
    """What so many lanes take."""
    return lanes * sum([type.bits // 8 for type in memory_types(dtype)])


def read_spilled(dtype: DType, place: Register, lanes: int, start: Operand, width: int) -> Element:
    """``width`` of the ``lanes`` at a place, from ``start`` on."""
    parts = []
    for type, pointer in _parts(dtype, place, lanes, start):
        part = place.builder.opaque(place.builder.load(pointer, type.vector(width), type.bits // 8))
        parts.append(part.not_equal(0) if dtype.kind == "bool" else part)
    return Element(dtype, tuple(parts))


def write_spilled(x: Element, place: Register, lanes: int, start: Operand) -> None:
    """Replaces some of the ``lanes`` at a place, from ``start`` on."""
    for register, (type, pointer) in zip(x.registers, _parts(x.dtype, place, lanes, start), strict=True):
        part = register.cast("zext", type) if x.dtype.kind == "bool" else register
        place.builder.store(part, pointer, type.bits // 8)


def _parts(dtype: DType, place: Register, lanes: int, start: Operand) -> list[tuple[Type, Register]]:
    b = place.builder
    return [(type, b.offset(b.offset(place, number * lanes, type) if number else place, start, type))
            for number, type in enumerate(memory_types(dtype))]


# -- accumulators in memory ----------------------------------------------------------------------------------------


class AccumulatorLayout(NamedTuple):
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


def _row_length(columns: Register, width: int) -> Register:
    """How far rows are from each other."""
    return (columns + (width - 1)) & -width


class Accumulators:
    """The accumulators of each result, and apart from them what the blocks before have made.

    What happens once a block is a function, which all reductions of a kind share.
    """

    def __init__(self, b: Builder, order: Order, kinds: list[_Kind], places: list[Register],
                 totals: list[Register]) -> None:
        self._builder, self._kinds, self._places = b, kinds, places
        self._totals = GroupTotals(b, order, kinds, totals)

    def read(self, start: Register, width: int) -> Elements:
        """Lanes from ``start`` on."""
        return [read_spilled(kind.dtype, place, kind.layout.lanes, start, width)
                for kind, place in zip(self._kinds, self._places, strict=True)]

    def write(self, lanes: Elements, start: Register) -> None:
        """Replaces the lanes from ``start`` on."""
        for x, kind, place in zip(lanes, self._kinds, self._places, strict=True):
            write_spilled(x, place, kind.layout.lanes, start)

    def begin(self, rows: Register, columns: Register) -> None:
        """Before the first point: the first rows, and what the blocks have made, are units."""
        for kind, place, total in zip(self._kinds, self._places, self._totals.places, strict=True):
            _call(self._builder, kind.begin(), place, total, rows, columns)

    def end_block(self, used: Register, rows: Register, columns: Register, points: Register | None = None) -> None:
        """After a block: what its points, in the first ``used`` rows, make joins the blocks; rows are units again.
        ``points`` are those so far, where they may be all of a group.
        """
        for kind, place, total in zip(self._kinds, self._places, self._totals.places, strict=True):
            _call(self._builder, kind.end(), place, total, used, rows, columns)
        if points is not None:
            self._totals.end_group(points, columns)

    def finish(self, points: Register, columns: Register) -> None:
        """After the last block: what all groups make, of so many points."""
        with self._builder.if_(points >= self._totals.points, unlikely=True):
            self._totals.finish(points, columns)

    def results(self, start: Operand, width: int) -> Elements:
        """What the blocks have made."""
        return self._totals.read(start, width)


class GroupTotals:
    """What the blocks of the group that is being filled have made, and behind it in memory the larger groups."""

    def __init__(self, b: Builder, order: Order, kinds: list[_Kind], places: list[Register]) -> None:
        self._builder, self._kinds, self.places = b, kinds, places
        self.points = order.block * order.group  # of a group, a power of two

    def end_group(self, points: Register, columns: Register) -> None:
        """After a block: a group that is full joins the larger ones."""
        with self._builder.if_((points & (self.points - 1)).equal(0), unlikely=True):
            self._join(points, columns, is_last=False)

    def finish(self, points: Register, columns: Register) -> None:
        """After the last block, where there is a full group: all groups make the result."""
        self._join(points, columns, is_last=True)

    def read(self, start: Operand, width: int) -> Elements:
        """The totals of the group, or the results."""
        return [read_spilled(kind.dtype, place, kind.total_lanes, start, width)
                for kind, place in zip(self._kinds, self.places, strict=True)]

    def _join(self, points: Register, columns: Register, is_last: bool) -> None:
        groups = points.shift_right(self.points.bit_length() - 1)
        for kind, place in zip(self._kinds, self.places, strict=True):
            _call(self._builder, kind.join_groups(), place, groups, columns, groups.builder.constant(I64, int(is_last)))


@contextmanager
def accumulators_of(context: Context, reduce: Reduce, layout: AccumulatorLayout) -> Iterator[Accumulators]:
    """Accumulators for the results of a reduction."""
    kinds = [_Kind(combine, variable.dtype, layout)
             for combine, variable in zip(reduce.combine, reduce.results, strict=True)]
    with context.borrowed([kind.total_bytes for kind in kinds]) as totals:
        with context.borrowed([spill_bytes(kind.dtype, layout.lanes) for kind in kinds]) as places:
            yield Accumulators(context.builder, reduce.order, kinds, places, totals)


def _call(b: Builder, function: Builder, *arguments: Register) -> None:
    b.call(function.name, None, *arguments)
    b.define(function)


class _Kind(NamedTuple):
    """How one result is combined, and how its accumulators lie in memory."""

    combine: str
    dtype: DType
    layout: AccumulatorLayout

    @property
    def total_lanes(self) -> int:
        """The lanes of what the blocks have made."""
        return self.layout.longest if self.layout.is_each else 1

    @property
    def _total_width(self) -> int:
        return min(self.layout.width, self.total_lanes)

    @property
    def total_bytes(self) -> int:
        """What they take, with those of larger groups."""
        return spill_bytes(self.dtype, self.total_lanes) * (1 + LARGER_GROUPS)

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
                before = read_spilled(self.dtype, total, self.total_lanes, column.index, self.layout.width)
                self._write(join(self.combine, before, block), total, column.index, self.total_lanes)
        else:
            block = lane_tree(self.combine, self._read(place, 0, LANES))
            self._write(join(self.combine, read_spilled(self.dtype, total, 1, 0, 1), block), total, 0, 1)
        self._clear(place, rows, columns)
        b.ret()
        return b

    def join_groups(self) -> Builder:
        """join_groups(total, groups, columns, is_last): the last of so many full groups joins the larger one, if that
        is full the next one, and so on. At the end what is left joins all that have begun, and becomes the total.
        """
        b = self._function("join_groups", "total", "groups", "columns", "is_last")
        total, groups, columns, number = b.arguments
        is_last = number.not_equal(0)
        with b.loop(0, LARGER_GROUPS) as larger:
            shift = larger.index * GROUP_BITS
            ended = groups.shift_right(shift)
            is_full, is_begun = ended.shift_left(shift).equal(groups), ended.not_equal(0)
            is_new = b.where(is_last, b.constant(I1, False), ended.equal(1))
            with b.if_(b.where(is_last, is_begun, is_full)):
                if self.layout.is_each:
                    with b.loop(0, columns, self.layout.width) as column:
                        self._join(total, larger.index, column.index, is_last, is_new)
                else:
                    self._join(total, larger.index, 0, is_last, is_new)
        b.ret()
        return b

    def _join(self, total: Register, number: Register, column: Operand, is_last: Register, is_new: Register) -> None:
        """Groups of a size join a larger one, which may be new. At the end the total joins it, and is what they make.
        """
        b = total.builder
        here, above = self._level(total, number), self._level(total, number + 1)
        unit = start_of(b, self.combine, self.dtype, self._total_width)
        before = _select(is_new, unit, self._read_total(above, column))
        both = join(self.combine, before, self._read_total(b.where(is_last, total, here), column))
        self._write_total(unit, here, column)
        self._write_total(both, b.where(is_last, total, above), column)

    def _level(self, total: Register, number: Operand) -> Register:
        """Where the totals of a size of groups are."""
        return total.builder.offset(total, number * spill_bytes(self.dtype, self.total_lanes), I8)

    def _read_total(self, total: Register, start: Operand) -> Element:
        return read_spilled(self.dtype, total, self.total_lanes, start, self._total_width)

    def _write_total(self, x: Element, total: Register, start: Operand) -> None:
        write_spilled(x, total, self.total_lanes, start)

    def _function(self, name: str, *arguments: str) -> Builder:
        kind = f"{self.combine}_{self.dtype.name}_{self.layout.width}"
        kind = f"{name}_{kind}_of_{self.layout.longest}" if self.layout.is_each else f"{name}_{kind}"
        return Builder(kind, [(label, PTR if label in ("place", "total") else I64) for label in arguments],
                       attributes="nounwind", linkage="internal")

    def _unit(self, b: Builder) -> Element:
        return start_of(b, self.combine, self.dtype, self.layout.width)

    def _read(self, place: Register, start: Operand, width: int) -> Element:
        return read_spilled(self.dtype, place, self.layout.lanes, start, width)

    def _write(self, x: Element, place: Register, start: Operand, lanes: int) -> None:
        write_spilled(x, place, lanes, start)

    def _clear(self, place: Register, rows: Register, columns: Register) -> None:
        b = place.builder
        length = _row_length(columns, self.layout.width)
        with b.loop(0, rows) as row, b.loop(0, columns, self.layout.width) as column:
            self._write(self._unit(b), place, row.index * length + column.index, self.layout.lanes)

    def _tree(self, place: Register, used: Register, columns: Register) -> None:
        b, width, length = place.builder, self.layout.width, _row_length(columns, self.layout.width)
        with b.loop(0, LANES.bit_length() - 1, 1, [used]) as steps:
            half = b.constant(I64, LANES // 2).shift_right(steps.index)
            left = steps.carried[0]
            with b.loop(0, b.intrinsic("smin", half, left - half)) as row, b.loop(0, columns, width) as column:
                lower, upper = [number * length + column.index for number in (row.index, row.index + half)]
                both = join(self.combine, self._read(place, lower, width), self._read(place, upper, width))
                self._write(both, place, lower, self.layout.lanes)
            steps.carried = [b.intrinsic("smin", left, half)]
