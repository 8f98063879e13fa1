"""What reductions share: elements that are combined, one by one or a tuple of results at once, and the tree over lanes.

A lane without a point holds the unit, and what is combined with the unit stays what it is, because every lane starts
from the unit (so that no sum is -0.0). Only products of complex numbers are an exception: infinity times 1 + 0i is NaN.

>>> from nervure.types.dtype import float32
>>> b = Builder("example")
>>> start_of(b, "maximum", float32, width=8)
f32 <8 x float> splat (float 0xFFF0000000000000)
>>> lane_tree("add", start_of(b, "add", float32, width=8)).lanes
1
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.combining import FUNCTIONS, unit
from nervure.kernel.ir import LANES, Reduce
from nervure.transformers.cpu.compile.codegen.element import Element, literal, select
from nervure.transformers.cpu.compile.codegen.frame import Frame, emit
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.types.dtype import DType

Elements = list[Element]


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


def point_values(frame: Frame, reduce: Reduce) -> Elements:
    """The body, and what it gives, in all lanes."""
    emit(frame, reduce.body)
    return [frame.spread(frame.scalar(value), frame.width).element for value in reduce.values]


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
