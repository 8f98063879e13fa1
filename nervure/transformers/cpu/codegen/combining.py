"""What reductions share: tuples of elements that are combined, the tree over lanes, accumulators in memory.

A lane without a point holds the unit, and what is combined with the unit stays what it is, because every lane starts
from the unit (so that no sum is -0.0). Only products of complex numbers are an exception: infinity times 1 + 0i is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.combining import FUNCTIONS, unit
from nervure.kernel.ir import LANES, Reduce
from nervure.transformers.cpu.codegen.element import Element, literal, memory_types, select
from nervure.transformers.cpu.codegen.frame import Frame
from nervure.transformers.cpu.codegen.scalars import apply
from nervure.transformers.cpu.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.llvm.types import I64, Type

Elements = list[Element]


def units(b: Builder, reduce: Reduce, width: int = 1) -> Elements:
    """The unit of each result."""
    return [literal(b, unit(combine, variable.dtype).value, variable.dtype, width)
            for combine, variable in zip(reduce.combine, reduce.results, strict=True)]


def combined(reduce: Reduce, left: Elements, right: Elements, mask: Register | None = None) -> Elements:
    """Each result's left and right combined; the left alone in lanes outside of the mask."""
    results = []
    for combine, x, y in zip(reduce.combine, left, right, strict=True):
        both = apply(FUNCTIONS[combine], [x, y], x.dtype)
        results.append(both if mask is None else _select(mask, both, x))
    return results


def keeps_units(reduce: Reduce) -> bool:
    """Whether combining with the unit may be left out."""
    return not any([combine == "multiply" and variable.dtype.is_complex
                    for combine, variable in zip(reduce.combine, reduce.results, strict=True)])


def tree(reduce: Reduce, lanes: Elements) -> Elements:
    """All lanes of vectors combined by halves: lane j with lane j + half."""
    width = lanes[0].lanes
    while width > 1:
        width //= 2
        lanes = combined(reduce, [_part(x, 0, width) for x in lanes], [_part(x, width, width) for x in lanes])
    return lanes


def listed_tree(reduce: Reduce, lanes: list[Elements]) -> Elements:
    """The same over a list whose missing lanes hold the unit."""
    half = LANES // 2
    while half:
        lanes = [combined(reduce, lanes[lane], lanes[lane + half]) if lane + half < len(lanes) else lanes[lane]
                 for lane in range(min(half, len(lanes)))]
        half //= 2
    return lanes[0]


def point_values(frame: Frame, reduce: Reduce) -> Elements:
    """The body, and what it gives, in all lanes."""
    frame.build(frame, reduce.body)
    return [frame.spread(frame.scalar(value), frame.width).element for value in reduce.values]


def flat(elements: Sequence[Element]) -> list[Register]:
    """The registers of elements."""
    return [register for element in elements for register in element.registers]


def shaped(like: Sequence[Element], registers: Sequence[Register]) -> Elements:
    """Elements of the same types from registers."""
    remaining = iter(registers)
    return [Element(x.dtype, tuple([next(remaining) for _ in x.registers])) for x in like]


class Slots:
    """Accumulators in memory: rows of ``width`` lanes, on the stack of the kernel."""

    def __init__(self, frame: Frame, reduce: Reduce, count: int, width: int) -> None:
        b = self._builder = frame.builder
        self._reduce, self._width = reduce, width
        self._places = [[b.allocate(type, count * width) for type in memory_types(variable.dtype)]
                        for variable in reduce.results]

    def read(self, start: Operand, width: int | None = None) -> Elements:
        """The lanes from ``start`` on."""
        b, found = self._builder, []
        for variable, places in zip(self._reduce.results, self._places, strict=True):
            parts = [b.load(b.offset(place, start, type), type.vector(width or self._width), _bytes(type))
                     for place, type in zip(places, memory_types(variable.dtype), strict=True)]
            is_bool = variable.dtype.kind == "bool"
            found.append(Element(variable.dtype, tuple([x.not_equal(0) if is_bool else x for x in parts])))
        return found

    def write(self, lanes: Elements, start: Operand) -> None:
        """Replaces the lanes from ``start`` on."""
        b = self._builder
        for x, places in zip(lanes, self._places, strict=True):
            for register, place, type in zip(x.registers, places, memory_types(x.dtype), strict=True):
                stored = register.cast("zext", type) if x.dtype.kind == "bool" else register
                b.store(stored, b.offset(place, start, type), _bytes(type))

    def clear(self, count: Operand) -> None:
        """Makes rows units."""
        b = self._builder
        with b.loop(0, count) as row:
            self.write(units(b, self._reduce, self._width), row.index * self._width)

    def collect(self, count: Register) -> Elements:
        """The tree over rows, of which the first ``count`` hold points."""
        b, width = self._builder, self._width
        with b.loop(0, LANES.bit_length() - 1, 1, [count]) as steps:
            half = b.constant(I64, LANES // 2).shift_right(steps.index)
            left = steps.carried[0]
            with b.loop(0, b.intrinsic("smin", half, left - half)) as row:
                lower, upper = row.index * width, (row.index + half) * width
                self.write(combined(self._reduce, self.read(lower), self.read(upper)), lower)
            steps.carried = [b.intrinsic("smin", left, half)]
        return self.read(0)


def _bytes(type: Type) -> int:
    return type.bits // 8


def _select(mask: Register, x: Element, y: Element) -> Element:
    return select(Element(x.dtype, (mask,)), x, y)


def _part(x: Element, start: int, width: int) -> Element:
    return x.map(lambda register: register.builder.shuffle(register, register, range(start, start + width)))
