"""The statements that access memory: loads move out to where their buffer is not stored to, stores stay.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = generate(parse_kernel('''
... kernel repeat(in x: f32[1], out y: f32[100]):
...   for i < 100 vector:
...     v0 = x[0]
...     y[i] = v0
... '''), Target.avx2()).text
>>> text.index("load float") < text.index("loop0:") < text.index("store <32 x float>")
True
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.errors import InternalError
from nervure.kernel.combiners import FUNCTIONS
from nervure.kernel.ir import Buffer, InterleavedStore, Literal, Load, Prefetch, Scalar, Store, Write
from nervure.kernel.room import has_room
from nervure.transformers.cpu.compile.codegen import access
from nervure.transformers.cpu.compile.codegen.addressing import LaneAddress, locate
from nervure.transformers.cpu.compile.codegen.context import Context, Value, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Element, broadcast, select
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64
from nervure.types.dtype import bool_


@emit_statement.register(Load)
def emit_load(statement: Load, context: Context) -> None:
    """Emits a load."""
    valid = None if statement.valid is None else context.scalar(statement.valid)
    place = locate(context, statement.buffer, statement.address, valid)
    fill = None if statement.fill is None else context.scalar(statement.fill)
    depth = max([place.depth, _outermost(context, statement.buffer),
                 *[entry.depth for entry in (valid, fill) if entry is not None]])
    is_vector = place.step != 0 or (valid is not None and valid.lanes > 1)
    mask = _mask(context, statement, valid) if is_vector else valid
    if mask is not None:
        depth = max(depth, mask.depth)
    if valid is not None and fill is not None and context.width == 1 and valid.depth == 0:
        context.keep(statement.result, context.here(_read_if(context, statement.buffer, place, valid, fill)))
        return
    with context.at(depth):
        element = _read(context, statement.buffer, place, mask)
        if valid is not None and fill is not None and (place.step == 0 or not _is_zero(statement.fill)):
            element = select(valid.register, element, fill.element)
    context.keep(statement.result, Value(element, depth))


def _read_if(context: Context, buffer: Buffer, place: LaneAddress, valid: Value, fill: Value) -> Element:
    """Reads an element if a condition holds that is the same in the whole kernel, by a predictable branch; else
    returns ``fill``.
    """
    found = context.builder.choose_each(
        valid.register, fill.element.registers,
        lambda: access.read_one(place.pointer.register, buffer.dtype).registers, unlikely=True)
    return Element(buffer.dtype, tuple(found))


def _is_zero(x: Scalar | None) -> bool:
    """Whether a scalar is the value read for lanes outside of a mask."""
    return isinstance(x, Literal) and repr(x.value) in ("0", "0.0", "False")


def _outermost(context: Context, buffer: Buffer) -> int:
    """Returns the depth to which a load may move: past no store, and to the preheader of a loop that may have no
    iteration.
    """
    depth = context.depth
    while depth > 0 and buffer not in context.depths[depth].preheader.stored:
        depth -= 1
        if not context.depths[depth + 1].preheader.is_certain:
            break
    return depth


def _mask(context: Context, statement: Load | Store, valid: Value | None) -> Value | None:
    """Returns the lanes that have an iteration, unless there is room for others, and for which a condition holds."""
    lanes = context.lanes
    active = None if lanes is None else lanes.mask
    if lanes is not None and active is not None and has_room(context.rooms, statement, lanes.index, lanes.width):
        active = None
    if active is None or valid is None:
        return active or valid
    key = ("and", active.register.text, valid.register.text)
    return context.compute(key, [active, valid], lambda x, y: x & y, bool_)


def _read(context: Context, buffer: Buffer, place: LaneAddress, mask: Value | None) -> Element:
    pointer, dtype = place.pointer.register, buffer.dtype
    if buffer.role == "private":
        return access.read_apart(pointer, dtype, context.width)
    if place.step == 0:
        if mask is not None:
            pointer = _harmless(context, pointer, mask.register)
        return access.read_one(pointer, dtype)
    width = context.width
    lanes = None if mask is None else broadcast(mask.element, width).register
    if place.offsets is not None:
        return access.read_each(pointer, place.offsets.register, dtype, lanes)
    if place.step == 1:
        row = access.read_row(pointer, dtype, width, lanes)
        return row if buffer.role == "in" else row.map(context.builder.opaque)
    if place.step == -1:
        return access.read_reversed(pointer, dtype, width, lanes)
    if lanes is None or dtype.bits >= 32:
        return access.read_every(place.step or 0, pointer, dtype, width, lanes)
    return access.read_each(pointer, _steps(context, place), dtype, lanes)


def _harmless(context: Context, pointer: Register, mask: Register) -> Register:
    """Returns an address that may be read, whether a condition holds or not."""
    b = context.builder
    return b.where(b.any_lane(mask), pointer, context.spare)


@emit_statement.register(Store)
def emit_store(statement: Store, context: Context) -> None:
    """Emits a store."""
    place = locate(context, statement.buffer, statement.address)
    valid = None if statement.valid is None else context.scalar(statement.valid)
    value = context.scalar(statement.value)
    if context.width == 1:
        _store_one(context, statement, place, value, valid)
        return
    if statement.buffer.role == "private":
        _store_own(context, statement, place.pointer.register, value, valid)
        return
    mask, width = _mask(context, statement, valid), context.width
    lanes = None if mask is None else context.spread(mask, width).register
    if place.step not in (1, -1):
        _store_each(context, statement, place, value, lanes)
        return
    pointer, element = place.pointer.register, context.spread(value, width).element
    read, write = [(access.read_row, access.write_row), (access.read_reversed, access.write_reversed)][place.step != 1]
    element = _combined(statement, element, lambda: read(pointer, element.dtype, width, lanes).map(
        context.builder.opaque))
    write(element, pointer, lanes, _streaming(context, statement))


def _streaming(context: Context, statement: Write) -> access.Streaming | None:
    """Returns the condition for storing a row past the caches."""
    if statement.streaming == 0:
        return None
    low = context.integer(context.machine.vector_bytes - 1)
    if isinstance(statement.streaming, int):
        return access.Streaming(low.register, context.machine.vector_bytes)
    chosen = context.size(statement.streaming)
    bits = context.compute(("streaming", chosen.register.text), [chosen, low],
                         lambda x, aligned: x.builder.where(x.equal(0), -1, aligned))
    return access.Streaming(bits.register, context.machine.vector_bytes)


@emit_statement.register(InterleavedStore)
def emit_interleaved_store(statement: InterleavedStore, context: Context) -> None:
    """Emits a store for each value, in lanes as one row of as many times the lanes."""
    width = context.width
    if width == 1:
        for address, value in zip(statement.addresses, statement.values, strict=True):
            emit_store(Store(statement.buffer, address, value), context)
        return
    place = locate(context, statement.buffer, statement.address)
    elements = [context.spread(context.scalar(value), width).element for value in statement.values]
    rows = [access.interleaved(*parts) for parts in zip(*[element.registers for element in elements], strict=True)]
    mask = context.lanes.mask if context.lanes is not None else None
    lanes = None if mask is None else access.interleaved(*[mask.register] * len(elements))
    access.write_row(Element(elements[0].dtype, tuple(rows)), place.pointer.register, lanes,
                     _streaming(context, statement))


@emit_statement.register(Prefetch)
def emit_prefetch(statement: Prefetch, context: Context) -> None:
    """Emits prefetches of the lines of as many elements as there are lanes."""
    b, bytes = context.builder, context.width * statement.buffer.dtype.itemsize
    pointer = locate(context, statement.buffer, statement.address).pointer.register
    for distance in range(0, bytes, context.machine.line):
        b.fetch(b.offset(pointer, distance, I8))


def _store_one(context: Context, statement: Store, place: LaneAddress, value: Value, valid: Value | None) -> None:
    def write() -> None:
        pointer, element = place.pointer.register, value.element
        access.write_one(_combined(statement, element, lambda: access.read_one(pointer, element.dtype)), pointer)

    if valid is None:
        write()
        return
    with context.builder.if_(valid.register):
        write()


def _store_own(context: Context, statement: Store, pointer: Register, value: Value, valid: Value | None) -> None:
    """Stores in all lanes, each of which has memory of its own: those without an iteration or condition, too."""
    element = context.spread(value, context.width).element
    if statement.combine is not None or valid is not None:
        before = access.read_apart(pointer, element.dtype, context.width)
        element = _combined(statement, element, lambda: before)
        element = select(valid.register, element, before) if valid is not None else element
    access.write_apart(element, pointer)


def _store_each(context: Context, statement: Store, place: LaneAddress, value: Value, mask: Register | None) -> None:
    """Stores lane after lane, in order: two lanes may write to one place."""
    pointer, b = place.pointer.register, context.builder
    offsets = place.offsets.register if place.offsets is not None else _steps(context, place)

    def write(lane: int) -> None:
        target = access.lane_address(pointer, offsets, lane, statement.buffer.dtype)
        element = access.lane_of(value.element, lane)
        access.write_one(_combined(statement, element, lambda: access.read_one(target, element.dtype)), target)

    access.for_each_lane(context.width, mask, write, b)


def _steps(context: Context, place: LaneAddress) -> Register:
    if place.step is None:
        raise InternalError("a place has neither a step nor offsets")
    numbers = [place.step * lane for lane in range(context.width)]
    return context.builder.vector(I64.vector(context.width), numbers)


def _combined(statement: Store, new: Element, read: Callable[[], Element]) -> Element:
    """Returns what a store writes: the ``new`` element, combined with what ``read`` finds there if it adds to that."""
    if statement.combine is None:
        return new
    return apply(FUNCTIONS[statement.combine], [read(), new], new.dtype)
