"""Addressing: the address of lane 0, computed as far out as possible, and the offsets of the other lanes.

>>> from nervure.support.machine import GENERIC
>>> from nervure.transformers.cpu.compile.codegen.context import ARGUMENTS
>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.types.dtype import float32
>>> b = Builder("kernel", ARGUMENTS)
>>> context, x = Context(b, GENERIC, register_lanes=8), Buffer("x", float32, 100, "in")
>>> context.pointers[x] = b.arguments[0]
>>> locate(context, x, Address(1)).pointer.register
ptr %v0
>>> b.text().splitlines()[-2]
'  %v0 = getelementptr i32, ptr %buffers, i64 1'
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from nervure.kernel.ir import Address, Buffer
from nervure.transformers.cpu.compile.codegen.context import NUMBERS, Context, Value
from nervure.transformers.cpu.compile.codegen.element import Element
from nervure.transformers.cpu.compile.codegen.expressions import (
    dimension,
    index_value,
    lane_numbers,
    product_of_two,
    sum_of,
)
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import PTR
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, int64, uint64


@dataclass(frozen=True, eq=False, slots=True)
class LaneAddress:
    """Elements in memory: ``pointer`` to the one of lane 0 (as a uint64).

    ``step`` is the distance from lane to lane if it is a number (0: all lanes at one place); otherwise ``offsets`` are
    the distances of the lanes from the pointer.
    """

    pointer: Value
    step: int | None
    offsets: Value | None

    @property
    def depth(self) -> int:
        """The depth at which all of it is known."""
        return max(self.pointer.depth, self.offsets.depth if self.offsets is not None else 0)


def locate(context: Context, buffer: Buffer, address: Address, valid: Value | None = None) -> LaneAddress:
    """Returns the place of a load or store in a ``buffer``.

    A row that is not ``valid`` in any lane is looked for where the buffer begins, as far as the loops go that the
    condition does not depend on. A masked load finds nothing in either place, but takes hundreds of cycles outside of
    all memory.
    """
    start = pointer = Value(Element(uint64, (context.pointers[buffer],)), 0)
    if buffer.role == "private":
        return LaneAddress(_own(context, pointer, buffer, address), 0, None)
    fixed, varying, step = _parts(context, address)
    chosen = valid if valid is not None and valid.lanes == 1 and step == 1 and not varying else None
    for part in _by_depth(context, fixed):
        if chosen is not None and part.depth > chosen.depth:
            pointer, chosen = _if_valid(context, chosen, pointer, start), None
        pointer = advance(context, pointer, part, buffer.dtype)
    if chosen is not None:
        pointer = _if_valid(context, chosen, pointer, start)
    if context.width == 1:
        return LaneAddress(pointer, 0, None)
    if not varying and (isinstance(step, int) and step in NUMBERS):
        return LaneAddress(pointer, step, None)
    if step != 0:
        assert context.lanes is not None
        varying.append(product_of_two(context, lane_numbers(context, context.lanes.width), context.size(step)))
    return LaneAddress(pointer, None, sum_of(context, varying))


def _if_valid(context: Context, valid: Value, pointer: Value, start: Value) -> Value:
    """Returns the pointer where a condition holds, else where the buffer starts."""
    key = ("if valid", *[entry.register.text for entry in (valid, pointer, start)])
    return context.compute(key, [valid, pointer, start], lambda holds, x, y: holds.builder.where(holds, x, y), uint64)


def _own(context: Context, pointer: Value, buffer: Buffer, address: Address) -> Value:
    """Returns the address of a vector in private memory. How many there are before it is part of the structure."""
    moving, _, _ = _parts(context, replace(address, base=0) if isinstance(address.base, int) else address)
    fixed = context.integer(address.base * context.width if isinstance(address.base, int) else 0)
    vectors = product_of_two(context, sum_of(context, moving), context.integer(context.width))
    return advance(context, advance(context, pointer, vectors, buffer.dtype), fixed, buffer.dtype)


def _parts(context: Context, address: Address) -> tuple[list[Value], list[Value], DimLike]:
    """Returns the terms with one lane, those with many, and the step along the vector index."""
    terms = [dimension(context, address.base)]
    step: DimLike = 0
    for index, stride in address.steps:
        if context.lanes is not None and context.lanes.index is index:
            step = step + stride
            value = context.lanes.start
        else:
            value = index_value(context, index)
        terms.append(product_of_two(context, context.size(stride), value))
    for stride, variable in address.terms:
        terms.append(product_of_two(context, context.size(stride), as_index(context, context.scalar(variable))))
    fixed = [term for term in terms if term.lanes == 1]
    return fixed, [term for term in terms if term.lanes > 1], step


def as_index(context: Context, x: Value) -> Value:
    """Returns an integer of any type as an int64."""
    if x.element.dtype is int64:
        return x
    key = ("int64", x.element.dtype, x.register.text, x.lanes)
    return context.once(key, x.depth, lambda: apply("convert", [x.element], int64))


def _by_depth(context: Context, terms: list[Value]) -> list[Value]:
    """Returns the sums of the terms of each depth, from the outside in."""
    depths = sorted({term.depth for term in terms})
    return [sum_of(context, [term for term in terms if term.depth == depth]) for depth in depths]


def advance(context: Context, pointer: Value, distance: Value, dtype: DType) -> Value:
    """Returns the address ``distance`` elements further."""
    if distance.register.text == "0":
        return pointer
    key: Hashable = ("advance", dtype.itemsize, pointer.register.text, distance.register.text)
    return context.compute(key, [pointer, distance], lambda x, steps: address_of(x, steps, dtype.itemsize), uint64)


def address_of(pointer: Register, distance: Register, itemsize: int) -> Register:
    """Returns the address, or the vector of addresses, ``distance`` elements further, which may be outside of the
    buffer.
    """
    type = PTR.vector(distance.type.lanes)
    return pointer.builder.emit(type, f"getelementptr i{8 * itemsize}, ptr {pointer.text}, "
                                      f"{distance.type} {distance.text}")
