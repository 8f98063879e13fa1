"""Whole ops: those that native code of the runtime computes as a whole.

Their code stands in the place of a step's runner. The step's table of sizes says where its operands and outputs are
among the buffers of the step, and how long they are.

>>> [each.name for each in (run_positions, run_running_count, run_sort)]
['run_positions', 'run_running_count', 'run_sort']
"""

from __future__ import annotations

from enum import IntEnum

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I16, I32, I64
from nervure.transformers.cpu.runtime.memory_pool import borrowed
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Word, native
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StatusCode, StepRecord

ROOM = 4096
"""The bytes on the stack for a row that is sorted; a longer one takes memory of the pool."""

_DIGITS = 256
_TYPES = {1: I8, 2: I16, 4: I32, 8: I64}


class KeyKind(IntEnum):
    """The ways in which the bits of elements are ordered."""

    UNSIGNED = 0
    SIGNED = 1
    FLOAT = 2
    FLOAT_WITHOUT_NEGATIVE_ZERO = 3  # its bits are those of the only NaN


@native
def run_positions(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
                  status: At[Status]) -> None:
    """Writes each position as often as its count says, and the number of all.

    The sizes are the places of counts, positions and their number, the number of counts, whether they are bool, and
    the bound. A negative count, or more positions than the bound, ends the call: ``status`` has the position.
    """
    sizes = Table(step["sizes"], I64)
    counts, positions = table[sizes[0]], Table(table[sizes[1]], I64)
    length, is_bool, bound = sizes[3], sizes[4].not_equal(0), sizes[5]
    total = LocalVariable(b.constant(I64, 0))
    with b.if_(is_bool), b.loop(0, length) as loop:
        positions[total.value] = loop.index  # there is room for as many as there are counts
        total.value = total.value + b.load(b.offset(counts, loop.index, I8), I8).cast("zext", I64)
    with b.if_(~is_bool), b.loop(0, length) as loop:
        times = Table(counts, I64)[loop.index]
        with b.if_((times < 0) | (times > bound - total.value)):
            status["code"], status["op"], status["position"], status["value"] = 1, 0, loop.index, times
            b.ret()
        with b.loop(0, times) as inner:
            positions[total.value + inner.index] = loop.index
        total.value = total.value + times
    Table(table[sizes[2]], I64)[0] = total.value


@native
def run_running_count(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
                      status: At[Status]) -> None:
    """Counts the true elements of each row, up to each place.

    The sizes of the ``step`` are the places of mask and counts, the number of rows, and their length.
    """
    sizes = Table(step["sizes"], I64)
    mask, counts, length = table[sizes[0]], Table(table[sizes[1]], I64), sizes[3]
    with b.loop(0, sizes[2]) as rows:
        total, first = LocalVariable(b.constant(I64, 0)), rows.index * length
        with b.loop(0, length) as loop:
            total.value = total.value + b.load(b.offset(mask, first + loop.index, I8), I8).cast("zext", I64)
            counts[first + loop.index] = total.value


@native
def run_sort(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
             status: At[Status]) -> None:
    """Sorts each row by the bytes of its keys, from the lowest one on, which keeps the order of equal elements.

    The sizes of the ``step`` are the places of elements, sorted elements and their positions, the number of rows,
    their length, the bytes of an element, its ``KeyKind``, the bit of its sign, and for floats the bits of the largest
    number.
    """
    sizes = Table(step["sizes"], I64)
    source, target = table[sizes[0]], table[sizes[1]]
    length, width = sizes[4], sizes[5]
    with borrowed(b, length * 32 + _DIGITS * 8, ROOM) as block:
        with b.if_(block.equal(0)):
            status["code"] = StatusCode.NO_MEMORY
            b.ret()
        starts = Table(block, I64)
        first, second = starts.after(_DIGITS), starts.after(length * 2 + _DIGITS)
        with b.loop(0, sizes[3]) as rows:
            row = rows.index * length
            keys, others = LocalVariable(first.pointer), LocalVariable(second.pointer)
            with b.loop(0, length) as loop:
                bits = load_bits(b, source, row + loop.index, width)
                first[loop.index] = ordered_key(b, bits, sizes[6], sizes[7], sizes[8])
                first[length + loop.index] = loop.index
            with b.loop(0, width) as digits:
                sort_by_digit(b, keys.value, others.value, starts, length, digits.index * 8)
                turned = keys.value
                keys.value, others.value = others.value, turned
            positions = Table(table[sizes[2]], I64).after(row)
            with b.loop(0, length) as loop:
                position = Table(keys.value, I64)[length + loop.index]
                positions[loop.index] = position
                store_bits(b, target, row + loop.index, width, load_bits(b, source, row + position, width))


@native
def sort_by_digit(b: Builder, source: Pointer, target: Pointer, starts: Pointer, length: Word, shift: Word) -> None:
    """Moves the keys of ``source``, and behind them positions, to ``target``, in the order of the byte at ``shift``."""
    keys, moved, places = Table(source, I64), Table(target, I64), Table(starts, I64)
    with b.loop(0, _DIGITS) as loop:
        places[loop.index] = b.constant(I64, 0)
    with b.loop(0, length) as loop:
        digit = _digit(keys[loop.index], shift)
        places[digit] = places[digit] + 1
    total = LocalVariable(b.constant(I64, 0))
    with b.loop(0, _DIGITS) as loop:
        here = places[loop.index]
        places[loop.index] = total.value
        total.value = total.value + here
    with b.loop(0, length) as loop:
        key = keys[loop.index]
        digit = _digit(key, shift)
        place = places[digit]
        places[digit] = place + 1
        moved[place] = key
        moved[length + place] = keys[length + loop.index]


def _digit(key: Register, shift: Register) -> Register:
    return key.shift_right(shift) & (_DIGITS - 1)


@native
def ordered_key(b: Builder, bits: Word, kind: Word, sign: Word, largest: Word) -> Word:
    """Returns the bits of an element as a number without sign that is ordered as the elements are; NaN are last."""
    magnitude = bits & (sign - 1)
    is_negative = (bits & sign).not_equal(0) & magnitude.not_equal(0)
    has_one_zero = kind.equal(KeyKind.FLOAT_WITHOUT_NEGATIVE_ZERO)  # all other bits are numbers: NaN needs a gap
    of_float = b.where(is_negative, sign - 1 - magnitude, magnitude + sign - has_one_zero.cast("zext", I64))
    is_nan = (magnitude > largest) | (has_one_zero & bits.equal(sign))
    of_float = b.where(is_nan, b.constant(I64, -1), of_float)
    of_signed = b.emit(I64, f"xor i64 {bits.text}, {sign.text}")
    return b.where(kind >= KeyKind.FLOAT, of_float, b.where(kind.equal(KeyKind.SIGNED), of_signed, bits))


@native
def load_bits(b: Builder, memory: Pointer, number: Word, width: Word) -> Word:
    """Returns the bits of an element of ``width`` bytes."""
    for bytes, kind in _TYPES.items():
        with b.if_(width.equal(bytes)):
            bits = b.load(b.offset(memory, number, kind), kind)
            b.ret(bits if kind is I64 else bits.cast("zext", I64))
    return b.constant(I64, 0)


@native
def store_bits(b: Builder, memory: Pointer, number: Word, width: Word, bits: Word) -> None:
    """Writes the bits of an element of ``width`` bytes."""
    for bytes, kind in _TYPES.items():
        with b.if_(width.equal(bytes)):
            b.store(bits if kind is I64 else bits.cast("trunc", kind), b.offset(memory, number, kind))
