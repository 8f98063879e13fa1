"""Rows sorted side by side, a row in each lane, where no positions are read.

A *network* compares elements at places that do not depend on what they are: so each comparison is one for all lanes,
the smaller keys to one place and the larger ones to another. It is Batcher's bitonic one (K. Batcher, "Sorting networks
and their applications", 1968): two sorted halves are compared, one of them backwards, then what lies half as far apart,
and so on. Places of a few vectors are compared in registers. Behind the row keys are larger than all others.

Keys become elements again, but for zeros, which are equal with either sign, and NaN: rows with -0.0 or NaN get these
from the operand, in its order.

>>> [each.name for each in (sort_columns_of_32_bits, sort_columns_of_64_bits, sort_side_by_side)]
['sort_columns_of_32_bits', 'sort_columns_of_64_bits', 'sort_side_by_side']
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I32, I64, Type
from nervure.transformers.cpu.runtime.memory_pool import borrowed
from nervure.transformers.cpu.runtime.native import (
    At,
    LocalVariable,
    Pointer,
    Table,
    Word,
    greatest,
    hot,
    least,
)
from nervure.transformers.cpu.runtime.ordering import Ordering
from nervure.transformers.cpu.runtime.records import Status, StatusCode
from nervure.transformers.cpu.target import Target

LONGEST_COLUMN = 1 << 13
"""The longest rows that are sorted by a network, whose work for an element grows with the square of a logarithm."""

KINDS = {4: I32, 8: I64}
"""The integers with the bits of elements that a network sorts, by their bytes."""

SOURCE, VALUES, POSITIONS, ROWS, LENGTH, ORDER = range(6)
"""The numbers of what a sort is told, in the order of its sizes."""

_TOGETHER = 4  # comparisons whose operands are loaded before any is written
_ROOM = 1024   # bytes on the stack for columns


def lanes_of(bytes: int) -> int:
    """Returns how many rows of elements of this number of ``bytes`` are sorted side by side."""
    return Target.host().vector_bytes // bytes


def _registers() -> int:
    """Returns the number of vectors that are compared in registers, of which AVX-512 has 32 and AVX2 has 16."""
    return 16 if Target.host().vector_bytes == 64 else 8


# -- comparisons ---------------------------------------------------------------------------------------------


def _compare(b: Builder, values: list[Register], place: int, other: int) -> None:
    low, high = values[place], values[other]
    values[place], values[other] = b.intrinsic("umin", low, high), b.intrinsic("umax", low, high)


def _merge(b: Builder, values: list[Register], distance: int) -> None:
    """Compares what lies at a ``distance``, then half as far apart, and so on."""
    while distance:
        for place in range(len(values)):
            if not place & distance:
                _compare(b, values, place, place + distance)
        distance //= 2


def _sort(b: Builder, values: list[Register]) -> None:
    half = 1
    while half < len(values):
        for place in range(len(values)):
            if not place & half:
                _compare(b, values, place, place ^ (2 * half - 1))
        _merge(b, values, half // 2)
        half *= 2


@hot
def sort_columns_of_32_bits(b: Builder, columns: Pointer, count: Word) -> None:
    """Sorts each lane of ``count`` vectors of 32-bit keys, a multiple of those that are compared in registers."""
    _sort_columns(b, columns, count, I32.vector(lanes_of(4)))


@hot
def sort_columns_of_64_bits(b: Builder, columns: Pointer, count: Word) -> None:
    """Sorts each lane of ``count`` vectors of 64-bit keys, a multiple of those that are compared in registers."""
    _sort_columns(b, columns, count, I64.vector(lanes_of(8)))


def _sort_columns(b: Builder, columns: Register, count: Register, type: Type) -> None:
    block = _registers()

    def in_registers(work: Callable[[list[Register]], None]) -> None:
        with b.loop(0, count, block) as loop:
            places = [b.offset(columns, loop.index + number, type) for number in range(block)]
            values = [b.load(place, type) for place in places]
            work(values)
            for place, value in zip(places, values, strict=True):
                b.store(value, place)

    in_registers(lambda values: _sort(b, values))
    half = LocalVariable(b.constant(I64, block))
    with b.while_(lambda: half.value < count):
        own = half.value
        with b.loop(0, count, own * 2) as loop:
            end = loop.index + own * 2
            with b.loop(greatest(b, end - count, 0), own, _TOGETHER) as pairs:
                first, last = loop.index + pairs.index, end - 1 - pairs.index
                _compare_places(b, columns, type, [(first + number, last - number) for number in range(_TOGETHER)])
        distance = LocalVariable(own.shift_right(1))
        with b.while_(lambda: distance.value >= block):
            apart = distance.value
            with b.loop(0, count - apart, apart * 2) as loop:
                with b.loop(loop.index, least(b, loop.index + apart, count - apart), _TOGETHER) as pairs:
                    _compare_places(b, columns, type, [(pairs.index + number, pairs.index + apart + number)
                                                       for number in range(_TOGETHER)])
            distance.value = apart.shift_right(1)
        in_registers(lambda values: _merge(b, values, block // 2))
        half.value = own * 2


def _compare_places(b: Builder, columns: Register, type: Type, pairs: list[tuple[Register, Register]]) -> None:
    places = [b.offset(columns, place, type) for pair in pairs for place in pair]
    values = [b.load(place, type) for place in places]
    for number in range(0, len(values), 2):
        _compare(b, values, number, number + 1)
    for place, value in zip(places, values, strict=True):
        b.store(value, place)


# -- rows and columns ----------------------------------------------------------------------------------------


@hot
def sort_side_by_side(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                      status: At[Status]) -> None:
    """Sorts some groups of rows, as many rows as there are lanes; the last group repeats the last row.

    The ``sizes`` are those of ``run_sort``. A row has at least as many elements as there are lanes.
    """
    order = Ordering.read(Table(sizes, I64), ORDER)
    for bytes, kind in KINDS.items():
        with b.if_(order.width.equal(bytes)):
            _sort_groups(b, buffers, Table(sizes, I64), (begin, end), kind, status)


def _sort_groups(b: Builder, buffers: Table, given: Table, groups: tuple[Register, Register], kind: Type,
                 status: At[Status]) -> None:
    lanes, length = lanes_of(kind.bits // 8), given[LENGTH]
    type, keys = kind.vector(lanes), Ordering.read(given, ORDER).keys(b, kind.vector(lanes))
    padded = (length + (_registers() - 1)) & -_registers()
    sort = sort_columns_of_32_bits if kind is I32 else sort_columns_of_64_bits
    with borrowed(b, padded * Target.host().vector_bytes, _ROOM) as columns:
        with b.if_(columns.equal(0)):
            status["code"] = StatusCode.NO_MEMORY
            b.ret()
        with b.loop(*groups) as loop:
            starts = [least(b, loop.index * lanes + lane, given[ROWS] - 1) * length for lane in range(lanes)]
            sources, values = [[b.offset(buffers[given[number]], start, kind) for start in starts]
                               for number in (SOURCE, VALUES)]
            with b.loop(length, padded) as behind:
                b.store(b.constant(type, -1), b.offset(columns, behind.index, type))
            special = LocalVariable(b.constant(I64, 0))
            with b.loop(0, length, lanes) as tile:
                place = least(b, tile.index, length - lanes)
                rows = [b.load(b.offset(source, place, kind), type, align=kind.bits // 8) for source in sources]
                special.value = special.value | keys.any_special(rows).cast("zext", I64)
                for number, column in enumerate(_transposed(b, [keys.of(row) for row in rows])):
                    b.store(column, b.offset(columns, place + number, type))
            sort(b, columns, padded)
            with b.loop(0, length, lanes) as tile:
                place = least(b, tile.index, length - lanes)
                columns_here = [b.load(b.offset(columns, place + number, type), type) for number in range(lanes)]
                for value, row in zip(values, _transposed(b, columns_here), strict=True):
                    b.store(keys.elements(row), b.offset(value, place, kind), align=kind.bits // 8)
            with b.if_(special.value.not_equal(0), unlikely=True):
                for source, value in zip(sources, values, strict=True):
                    restore_equals(b, source, value, length, given.place(ORDER), b.constant(I64, kind.bits // 8))


def _transposed(b: Builder, rows: list[Register]) -> list[Register]:
    """Returns the columns of a square: in each round the first half is interleaved with the second one."""
    lanes, half = len(rows), len(rows) // 2
    low = [number // 2 + lanes * (number % 2) for number in range(lanes)]
    high = [number + half for number in low]
    for _ in range(lanes.bit_length() - 1):
        rows = [b.shuffle(rows[number // 2], rows[number // 2 + half], (low, high)[number % 2])
                for number in range(lanes)]
    return rows


@hot
def restore_equals(b: Builder, source: Pointer, values: Pointer, length: Word, ordering: Pointer,
                   width: Word) -> None:
    """Writes the zeros and the NaN of the row at ``source`` where they are in the sorted row, in their order."""
    for bytes, kind in KINDS.items():
        with b.if_(width.equal(bytes)):
            keys = Ordering.read(Table(ordering, I64), 0).keys(b, kind)
            places = [LocalVariable(b.constant(I64, 0)) for _ in keys.equals]
            for is_written in (False, True):
                with b.loop(0, length) as loop:
                    bits = b.load(b.offset(source, loop.index, kind), kind)
                    key = keys.of(bits)
                    for place, equal in zip(places, keys.equals, strict=True):
                        with b.if_(key.equal(equal) if is_written else key.below(equal)):
                            if is_written:
                                b.store(bits, b.offset(values, place.value, kind))
                            place.value = place.value + 1
