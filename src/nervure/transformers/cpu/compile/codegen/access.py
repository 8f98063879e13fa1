"""Reads and writes of elements in memory, in one lane or many, with conditions that may hold in some lanes only.

Complex numbers lie in memory as pairs, so their vectors are deinterleaved and interleaved; bools lie as bytes.

>>> from nervure.transformers.cpu.compile.llvm.types import PTR
>>> from nervure.types.dtype import bool_, complex64
>>> b = Builder("example", [("x", PTR)])
>>> read_row(b.arguments[0], bool_, 8)
bool <8 x i1> %v1
>>> read_row(b.arguments[0], complex64, 8)
c64 <8 x float> %v3, <8 x float> %v4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nervure.transformers.cpu.compile.codegen.addressing import address_of
from nervure.transformers.cpu.compile.codegen.element import Element, memory_types, register_types
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64, Type
from nervure.types.dtype import DType

NATIVE_MASKS = 32
"""The bits of an element from which on all processors load and store some lanes of a register."""


class Streaming(NamedTuple):
    """The condition for storing rows past the caches: the ``bits`` of an address are all 0. The low bits are among
    them, since the row must be aligned; all bits are, if rows should not go past the caches.
    """

    bits: Register
    alignment: int


def read_one(pointer: Register, dtype: DType) -> Element:
    """Reads the element at an address."""
    b, parts = pointer.builder, enumerate(memory_types(dtype))
    return Element(dtype, tuple([_from_memory(b.load(b.offset(pointer, number, type), type), dtype)
                                 for number, type in parts]))


def write_one(x: Element, pointer: Register) -> None:
    """Writes an element to an address."""
    b = pointer.builder
    for number, part in enumerate(x.registers):
        part = _to_memory(part, x.dtype)
        b.store(part, b.offset(pointer, number, part.type))


def read_row(pointer: Register, dtype: DType, width: int, mask: Register | None = None) -> Element:
    """Reads adjacent elements; zeros in lanes outside of the mask."""
    b, type, parts = pointer.builder, memory_types(dtype)[0], len(memory_types(dtype))
    whole = _read(b, pointer, type.vector(width * parts), _doubled(mask) if parts == 2 else mask)
    if parts == 1:
        return Element(dtype, (_from_memory(whole, dtype),))
    return Element(dtype, tuple([b.shuffle(whole, whole, range(part, 2 * width, 2)) for part in range(2)]))


def write_row(x: Element, pointer: Register, mask: Register | None = None, streaming: Streaming | None = None) -> None:
    """Writes adjacent elements, except lanes outside of the mask; past the caches if ``streaming`` says so."""
    b = pointer.builder
    row = _to_memory(x.registers[0], x.dtype)
    if len(x.registers) == 2:
        row, mask = interleaved(*x.registers), _doubled(mask)
    if streaming is None or mask is not None or row.type.lanes * row.type.bits // 8 % streaming.alignment:
        _write(b, row, pointer, mask)
    else:
        _write_streaming(b, row, pointer, streaming)


def read_apart(pointer: Register, dtype: DType, width: int) -> Element:
    """Reads a vector of ``width`` elements whose parts lie apart from each other, as ``write_apart`` leaves them."""
    b, parts = pointer.builder, []
    for number, type in enumerate(memory_types(dtype)):
        part = b.load(b.offset(pointer, number * width, type), type.vector(width), type.bits // 8)
        parts.append(_from_memory(b.opaque(part), dtype))
    return Element(dtype, tuple(parts))


def write_apart(x: Element, pointer: Register) -> None:
    """Writes a vector of elements, all first parts before all second ones."""
    for number, (register, type) in enumerate(zip(x.registers, memory_types(x.dtype), strict=True)):
        place = pointer.builder.offset(pointer, number * x.lanes, type)
        pointer.builder.store(_to_memory(register, x.dtype), place, type.bits // 8)


def read_reversed(pointer: Register, dtype: DType, width: int, mask: Register | None = None) -> Element:
    """Reads elements backwards from ``pointer``: lane 0 there, lane 1 before it."""
    first = _before(pointer, dtype, width)
    return reversed_lanes(read_row(first, dtype, width, mask if mask is None else _reversed(mask)))


def write_reversed(x: Element, pointer: Register, mask: Register | None = None,
                   streaming: Streaming | None = None) -> None:
    """Writes the elements of ``x`` backwards from ``pointer``."""
    first = _before(pointer, x.dtype, x.lanes)
    write_row(reversed_lanes(x), first, mask if mask is None else _reversed(mask), streaming)


def read_every(step: int, pointer: Register, dtype: DType, width: int, mask: Register | None = None) -> Element:
    """Reads elements ``step`` apart by whole rows, without touching memory after the last one; zeros in lanes outside
    of the mask.
    """
    b, reach = pointer.builder, (width - 1) * step + 1
    starts = [min(start, reach - width) for start in range(0, reach, width)]
    found, *others = [read_row(address_of(pointer, b.constant(I64, start), dtype.itemsize) if start else pointer,
                               dtype, width, mask if mask is None else _spread_out(mask, step, start))
                      for start in starts]
    order = [lane * step if lane * step < width else 0 for lane in range(width)]
    for start, row in zip(starts[1:], others, strict=True):
        order = [width + lane * step - start if start <= lane * step < start + width else order[lane]
                 for lane in range(width)]
        pairs = zip(found.registers, row.registers, strict=True)
        found = Element(dtype, tuple([b.shuffle(x, y, order) for x, y in pairs]))
        order = list(range(width))
    return found


def read_each(pointer: Register, offsets: Register, dtype: DType, mask: Register | None) -> Element:
    """Reads elements at ``offsets`` from an address; zeros in lanes outside of the mask."""
    types = memory_types(dtype)
    if mask is not None or types[0].bits >= 32:
        return _gather(pointer, offsets, dtype, mask)
    return from_lanes([read_one(lane_address(pointer, offsets, lane, dtype), dtype)
                       for lane in range(offsets.type.lanes)])


def for_each_lane(width: int, mask: Register | None, body: Callable[[int], None], b: Builder) -> None:
    """Emits ``body`` for each lane that has an iteration, in order."""
    for lane in range(width):
        if mask is None:
            body(lane)
            continue
        with b.if_(b.extract(mask, lane)):
            body(lane)


def lane_of(x: Element, lane: int | Register) -> Element:
    """Returns one lane of a value, whose only lane stands for all."""
    return x.map(lambda register: register.builder.extract(register, lane))


def from_lanes(lanes: list[Element]) -> Element:
    """Returns a vector of elements."""
    dtype, width = lanes[0].dtype, len(lanes)
    b, registers = lanes[0].builder, []
    for number, type in enumerate(register_types(dtype, width)):
        total = b.undefined(type)
        for lane, element in enumerate(lanes):
            total = b.insert(total, element.registers[number], lane)
        registers.append(total)
    return Element(dtype, tuple(registers))


def interleaved(first: Register, *others: Register) -> Register:
    """Returns the lanes of registers by turns: the first lane of each, then the second of each, and so on."""
    width, parts, b = first.type.lanes, 1 + len(others), first.builder
    *inner, last = others
    joined = first
    for other in inner:
        joined = b.shuffle(joined, _widened(other, joined.type.lanes), range(joined.type.lanes + width))
    chosen = [lane + part * width for lane in range(width) for part in range(parts)]
    return b.shuffle(joined, _widened(last, joined.type.lanes), chosen)


def _widened(x: Register, lanes: int) -> Register:
    """Returns a register with more lanes, of which those behind the own ones are any."""
    width = x.type.lanes
    return x if width == lanes else x.builder.shuffle(x, x, [*range(width), *[-1] * (lanes - width)])


def reversed_lanes(x: Element) -> Element:
    """Reverses the lanes."""
    return x.map(_reversed)


# -- one part ------------------------------------------------------------------------------------------------------


def _from_memory(x: Register, dtype: DType) -> Register:
    return x.not_equal(0) if dtype.kind == "bool" else x


def _to_memory(x: Register, dtype: DType) -> Register:
    return x.cast("zext", memory_types(dtype)[0]) if dtype.kind == "bool" else x


def _reversed(x: Register) -> Register:
    return x.builder.shuffle(x, x, range(x.type.lanes - 1, -1, -1))


def _doubled(mask: Register | None) -> Register | None:
    """Repeats each lane, for elements of two parts."""
    return None if mask is None else interleaved(mask, mask)


def _spread_out(mask: Register, step: int, start: int) -> Register:
    """Spreads a mask to a row that begins ``start`` elements behind the first of elements ``step`` apart."""
    width, nowhere = mask.type.lanes, mask.builder.constant(mask.type, False)
    lanes = [place // step if place % step == 0 else width for place in range(start, start + width)]
    return mask.builder.shuffle(mask, nowhere, lanes)


def _before(pointer: Register, dtype: DType, width: int) -> Register:
    return address_of(pointer, pointer.builder.constant(I64, 1 - width), dtype.itemsize)


def _read(b: Builder, pointer: Register, type: Type, mask: Register | None) -> Register:
    if mask is None or type.element.bits >= NATIVE_MASKS:
        return b.load_masked(pointer, type, mask)

    def read(apart: Builder, place: Register, lanes: Register) -> Register:
        return apart.choose(apart.any_lane(~lanes), lambda: apart.load_masked(place, type, lanes),
                            lambda: apart.load(place, type))

    return _apart(b, f"read_{type.suffix}", type, read, pointer, mask)


def _write(b: Builder, x: Register, pointer: Register, mask: Register | None) -> None:
    if mask is None or x.type.element.bits >= NATIVE_MASKS:
        b.store_masked(x, pointer, mask)
    else:
        _apart(b, f"write_{x.type.suffix}", None, Builder.store_masked, x, pointer, mask)


def _apart(b: Builder, name: str, result: Type | None, body: Callable[..., Register | None],
           *operands: Register) -> Register:
    """Calls a function for lanes that AVX2 has no masks for: LLVM tests them one by one, in a block of code for each.
    """
    if name not in b.declarations:
        parameters = [(f"operand{number}", operand.type) for number, operand in enumerate(operands)]
        apart = Builder(name, parameters, result, attributes="noinline nounwind", linkage="internal")
        apart.ret(body(apart, *apart.arguments))
        b.define(apart)
    return b.call(name, result, *operands)


def _write_streaming(b: Builder, x: Register, pointer: Register, streaming: Streaming) -> None:
    """Stores past the caches if the address allows it; the decision is the same in all iterations of a loop."""
    aligned, other, done = b.label("aligned"), b.label("other"), b.label("done")
    b.branch((pointer.cast("ptrtoint", I64) & streaming.bits).equal(0), aligned, other)
    b.block(aligned)
    b.store(x, pointer, streaming.alignment, streaming=True)
    b.jump(done)
    b.block(other)
    b.store(x, pointer)
    b.block(done)


def _gather(pointer: Register, offsets: Register, dtype: DType, mask: Register | None) -> Element:
    b, parts = pointer.builder, []
    for number, scalar in enumerate(memory_types(dtype)):
        part = b.gather(address_of(b.offset(pointer, number, scalar), offsets, dtype.itemsize), scalar,
                        scalar.bits // 8, mask)
        parts.append(_from_memory(part, dtype))
    return Element(dtype, tuple(parts))


def lane_address(pointer: Register, offsets: Register, lane: int, dtype: DType) -> Register:
    """Returns the address of one lane, at its offset in elements."""
    return address_of(pointer, pointer.builder.extract(offsets, lane), dtype.itemsize)
