"""A long row sorted by all threads, where no positions are read: keys in runs, and merges of two runs at a time.

The runs are the rows of ``row_networks``. A merge takes a vector of the row whose next key is smaller, and compares it
with the larger half of what came before, as a bitonic network does: the smaller half is next (H. Inoue and others,
"AA-sort", 2007). Each thread merges blocks of the result, for which it finds by halving where they begin. Behind the
last run keys are larger than all others, so that all runs have one length.

>>> [each.name for each in (fill_keys, merge_keys, write_elements)]
['fill_keys', 'merge_keys', 'write_elements']
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR, Type
from nervure.transformers.cpu.runtime.call import run_in_chunks
from nervure.transformers.cpu.runtime.memory_pool import borrowed
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Word, hot, least
from nervure.transformers.cpu.runtime.ordering import KeyKind, Ordering, taken_from_first
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StatusCode, StepRecord
from nervure.transformers.cpu.runtime.row_networks import (
    KINDS,
    LENGTH,
    ORDER,
    POSITIONS,
    ROWS,
    SOURCE,
    VALUES,
    lanes_of,
    restore_equals,
    sort_side_by_side,
)
from nervure.transformers.cpu.target import Target

RUN = 1 << 10
"""The keys of a run, whose columns with those beside them lie in the first caches."""

BLOCK = RUN
"""The keys that a thread makes, merges or writes at a time: runs have no others."""

_ROOM = 64
_FIELDS = ORDER + len(Ordering._fields)
_ROW, _KEYS, _SPARE, _RUN, _SPECIAL = range(_FIELDS, _FIELDS + 5)


class KeyRow(NamedTuple):
    """Consecutive keys in memory, in code that is being built."""

    b: Builder
    pointer: Register
    kind: Type

    def after(self, count: Register) -> KeyRow:
        """Returns the keys from a place on."""
        return self._replace(pointer=self.b.offset(self.pointer, count, self.kind))

    def word(self, index: Register) -> Register:
        """Returns a key as a number of 64 bits without sign."""
        return self.b.load(self.after(index).pointer, self.kind).cast("zext", I64)


class _LongRow:
    """A row that threads share, in the code of a phase for keys of some ``kind``."""

    def __init__(self, b: Builder, buffers: Table, given: Table, kind: Type) -> None:
        self.b, self.kind, self.given = b, kind, given
        self.type = kind.vector(lanes_of(kind.bits // 8))
        self.length, self.run = given[LENGTH], given[_RUN]
        self.order = Ordering.read(given, ORDER)
        self.keys, self.spare = [KeyRow(b, given[number].cast("inttoptr", PTR), kind) for number in (_KEYS, _SPARE)]
        self.source, self.values = [b.offset(buffers[given[number]], given[_ROW] * self.length, kind)
                                    for number in (SOURCE, VALUES)]


def _phase(b: Builder, buffers: Table, sizes: Register, build: Callable[[_LongRow], None]) -> None:
    """Emits the code of a phase for keys of each kind."""
    given = Table(sizes, I64)
    for bytes, kind in KINDS.items():
        with b.if_(given[ORDER].equal(bytes)):
            build(_LongRow(b, buffers, given, kind))


def sort_long_rows(b: Builder, step: At[StepRecord], table: Table, sizes: Table, call: At[CallRecord],
                   status: At[Status]) -> None:
    """Emits code that sorts each row by phases, which threads share; ``sizes`` are those of ``run_sort``."""
    length, width = sizes[LENGTH], sizes[ORDER]
    own = Table(b.allocate(I64, _SPECIAL + 1), I64)
    for number in range(_FIELDS):
        own[number] = sizes[number]
    runs = (length + (RUN - 1)).quotient(b.constant(I64, RUN))
    with borrowed(b, runs * RUN * width * 2, _ROOM) as block:
        with b.if_(block.equal(0)):
            status["code"] = StatusCode.NO_MEMORY
            b.ret()
        with b.loop(0, sizes[ROWS]) as loop:
            own[_ROW], own[_SPECIAL] = loop.index, b.constant(I64, 0)
            _sort_long_row(b, step, table, own, (block, b.offset(block, runs * RUN * width, I8)), runs, call, status)


def _sort_long_row(b: Builder, step: At[StepRecord], table: Table, own: Table, memory: tuple[Register, Register],
                   runs: Register, call: At[CallRecord], status: At[Status]) -> None:
    blocks, width = (runs * RUN).quotient(b.constant(I64, BLOCK)), own[ORDER]
    for number, pointer in ((_KEYS, memory[0]), (_SPARE, memory[1])):
        own[number] = pointer.cast("ptrtoint", I64)

    def phase(kernel: Register, extent: Register, buffers: Table = table, sizes: Table = own) -> None:
        with b.if_(status["code"].equal(StatusCode.DONE)):
            run_in_chunks(b, step, kernel, extent, sizes, buffers, call, status)

    phase(fill_keys.address(b), blocks)
    keys, columns = Table(b.allocate(PTR, 1)), Table(b.allocate(I64, _FIELDS), I64)
    keys[0] = memory[0]
    for number, value in ((SOURCE, 0), (VALUES, 0), (POSITIONS, 0), (ROWS, runs), (LENGTH, RUN), (ORDER, width),
                          (ORDER + 1, KeyKind.UNSIGNED), (ORDER + 2, 0), (ORDER + 3, 0), (ORDER + 4, 0)):
        columns[number] = value if isinstance(value, Register) else b.constant(I64, int(value))
    lanes = b.constant(I64, Target.host().vector_bytes).quotient(width)
    phase(sort_side_by_side.address(b), (runs + lanes - 1).quotient(lanes), keys, columns)
    own[_RUN] = b.constant(I64, RUN)
    with b.while_(lambda: (own[_RUN] < own[LENGTH]) & status["code"].equal(StatusCode.DONE)):
        phase(merge_keys.address(b), blocks)
        here = own[_KEYS]
        own[_KEYS], own[_SPARE], own[_RUN] = own[_SPARE], here, own[_RUN] * 2
    phase(write_elements.address(b), blocks)
    with b.if_(own[_SPECIAL].not_equal(0) & status["code"].equal(StatusCode.DONE), unlikely=True):
        start = own[_ROW] * own[LENGTH] * width
        source, values = [b.offset(table[own[number]], start, I8) for number in (SOURCE, VALUES)]
        restore_equals(b, source, values, own[LENGTH], own.place(ORDER), width)


@hot
def fill_keys(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
              status: At[Status]) -> None:
    """Makes the keys of the blocks ``begin`` to ``end``, and says whether there are zeros with a sign, or NaN."""
    def build(row: _LongRow) -> None:
        special = LocalVariable(b.constant(I64, 0))
        stop = least(b, end * BLOCK, row.length)
        whole = stop - ((stop - begin * BLOCK) & (row.type.lanes - 1))
        for type, first, last in ((row.type, begin * BLOCK, whole), (row.kind, whole, stop)):
            keys = row.order.keys(b, type)
            with b.loop(first, last, type.lanes) as loop:
                bits = b.load(b.offset(row.source, loop.index, row.kind), type, align=row.kind.bits // 8)
                special.value = special.value | keys.any_special([bits]).cast("zext", I64)
                b.store(keys.of(bits), row.keys.after(loop.index).pointer, align=row.kind.bits // 8)
        with b.loop(stop, end * BLOCK) as loop:
            b.store(b.constant(row.kind, -1), row.keys.after(loop.index).pointer)
        with b.if_(special.value.not_equal(0)):
            row.given[_SPECIAL] = special.value

    _phase(b, buffers, sizes, build)


@hot
def merge_keys(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
               status: At[Status]) -> None:
    """Merges pairs of neighbouring runs, for the blocks ``begin`` to ``end`` of the result."""
    def build(row: _LongRow) -> None:
        padded = (row.length + (RUN - 1)) & -RUN
        with b.loop(begin, end) as loop:
            start = loop.index * BLOCK
            base = start.quotient(row.run * 2) * (row.run * 2)
            middle = least(b, base + row.run, padded)
            first, second = row.keys.after(base), row.keys.after(middle)
            counts = middle - base, least(b, middle + row.run, padded) - middle
            taken = taken_from_first(first, second, counts, start - base)
            _merge(row, first, second, (taken, start - base - taken), counts, row.spare.after(start))

    _phase(b, buffers, sizes, build)


def _merge(row: _LongRow, first: KeyRow, second: KeyRow, starts: tuple[Register, Register],
           ends: tuple[Register, Register], target: KeyRow) -> None:
    """Emits code that merges a block of two sorted rows, from ``starts`` on."""
    b, type, lanes = row.b, row.type, row.type.lanes
    last = b.constant(row.kind, -1)

    def load(keys: KeyRow, place: Register, end: Register) -> Register:
        """Returns a vector of keys, with the largest of all behind the end."""
        return b.choose(place + lanes <= end, lambda: b.load(keys.after(place).pointer, type, align=row.kind.bits // 8),
                        lambda: _part(b, keys, place, end, type))

    def head(keys: KeyRow, place: Register, end: Register) -> Register:
        safe = b.where(place < end, place, 0)
        return b.where(place < end, b.load(keys.after(safe).pointer, row.kind), last)

    one, other = starts
    low, high = _merged(b, load(first, one, ends[0]), load(second, other, ends[1]))
    b.store(low, target.pointer, align=row.kind.bits // 8)
    carried = [one + lanes, other + lanes, high]
    with b.loop(lanes, BLOCK, lanes, carried=carried) as loop:
        one, other, high = loop.carried
        is_first = head(first, one, ends[0]).below_or_equal(head(second, other, ends[1]))
        pointer = b.where(is_first, first.pointer, second.pointer)
        place, end = b.where(is_first, one, other), b.where(is_first, ends[0], ends[1])
        low, high = _merged(b, high, load(first._replace(pointer=pointer), place, end))
        b.store(low, target.after(loop.index).pointer, align=row.kind.bits // 8)
        loop.carried = [b.where(is_first, one + lanes, one), b.where(is_first, other, other + lanes), high]


def _part(b: Builder, keys: KeyRow, place: Register, end: Register, type: Type) -> Register:
    count = b.where(end > place, end - place, 0)
    mask = b.first_lanes(count, type.lanes)
    found = b.load_masked(keys.after(b.where(end > place, place, 0)).pointer, type, mask)
    return b.where(mask, found, b.constant(type, -1))


def _merged(b: Builder, x: Register, y: Register) -> tuple[Register, Register]:
    """Returns the smaller and the larger half of two sorted vectors, both sorted."""
    lanes = x.type.lanes
    backwards = b.shuffle(y, y, list(reversed(range(lanes))))
    halves = [b.intrinsic("umin", x, backwards), b.intrinsic("umax", x, backwards)]
    distance = lanes // 2
    while distance:
        for number, half in enumerate(halves):
            other = b.shuffle(half, half, [lane ^ distance for lane in range(lanes)])
            low, high = b.intrinsic("umin", half, other), b.intrinsic("umax", half, other)
            halves[number] = b.shuffle(low, high, [lane + lanes * bool(lane & distance) for lane in range(lanes)])
        distance //= 2
    return halves[0], halves[1]


@hot
def write_elements(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                   status: At[Status]) -> None:
    """Writes the blocks ``begin`` to ``end`` of the sorted row as elements."""
    def build(row: _LongRow) -> None:
        start, stop = begin * BLOCK, least(b, end * BLOCK, row.length)
        whole = stop - ((stop - start) & (row.type.lanes - 1))
        for type, first, last in ((row.type, start, whole), (row.kind, whole, stop)):
            keys = row.order.keys(b, type)
            with b.loop(first, last, type.lanes) as loop:
                found = b.load(row.keys.after(loop.index).pointer, type, align=row.kind.bits // 8)
                b.store(keys.elements(found), b.offset(row.values, loop.index, row.kind), align=row.kind.bits // 8)

    _phase(b, buffers, sizes, build)
