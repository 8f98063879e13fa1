"""Sorts where no positions are read: threads share rows, or one long row.

Of a long row each thread sorts a run, and two runs at a time are merged. A merge takes a vector of the row whose next
key is smaller, and compares it with the larger half of what came before, as a bitonic network does: the smaller half is
next (H. Inoue and others, "AA-sort", 2007). Each thread merges blocks of the result, for which it finds by halving
where they begin. Behind the row keys are larger than all others, so that all runs have one length.

>>> [each.name for each in (run_sort_keys, fill_keys, sort_key_runs, merge_keys)]
['run_sort_keys', 'fill_keys', 'sort_key_runs', 'merge_keys']
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR, Type
from nervure.transformers.cpu.runtime.key_sorting import (
    KINDS,
    KeyRow,
    make_keys,
    ordered,
    restore_equals,
    sort_bitonic,
    sort_key_rows,
    sort_keys,
    write_elements,
)
from nervure.transformers.cpu.runtime.long_rows import LongRows
from nervure.transformers.cpu.runtime.memory_pool import borrowed, fail_without_memory
from nervure.transformers.cpu.runtime.native import At, Pointer, Table, Word, hot, least, native
from nervure.transformers.cpu.runtime.ordering import (
    FIELDS,
    LENGTH,
    ORDER,
    SOURCE,
    VALUES,
    Ordering,
    taken_from_first,
)
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StepRecord

BLOCK = 1 << 10
"""The keys that a thread makes, merges or writes at a time: runs are made of blocks."""

_ROOM = 64
_ROW, _KEYS, _SPARE, _RUN, _PADDED, _SPECIAL = range(FIELDS, FIELDS + 6)


class _LongRow:
    """A row that threads share, in the code of a phase for keys of some ``kind``."""

    def __init__(self, b: Builder, buffers: Table, given: Table, kind: Type) -> None:
        self.b, self.kind, self.given = b, kind, given
        self.length, self.run, self.padded = given[LENGTH], given[_RUN], given[_PADDED]
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


@native
def run_sort_keys(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
                  status: At[Status]) -> None:
    """Sorts each row. The sizes of the ``step`` are those of ``run_sort``; no positions are written."""
    long = LongRows(b, step, table, call, status)
    long.end_if_short(sort_key_rows, _SPECIAL + 1)
    own, length, width = long.own, long.length, long.width
    run = (length + call["threads"] - 1).quotient(call["threads"])
    run = (run + (BLOCK - 1)) & -BLOCK
    runs = (length + run - 1).quotient(run)
    own[_PADDED] = run * runs
    with borrowed(b, run * runs * width * 2, _ROOM) as block:
        fail_without_memory(b, block, status)
        with b.loop(0, long.rows) as loop:
            own[_ROW], own[_RUN], own[_SPECIAL] = loop.index, run, b.constant(I64, 0)
            own[_KEYS] = block.cast("ptrtoint", I64)
            own[_SPARE] = own[_KEYS] + run * runs * width
            _sort_long_row(long, runs, table)


def _sort_long_row(long: LongRows, runs: Register, table: Table) -> None:
    b, own = long.b, long.own
    width, blocks = own[ORDER], own[_PADDED].quotient(b.constant(I64, BLOCK))

    long.phase(fill_keys, blocks)
    long.phase(sort_key_runs, runs)
    with b.while_(lambda: (own[_RUN] < own[_PADDED]) & long.goes_on):
        long.phase(merge_keys, blocks)
        here = own[_KEYS]
        own[_KEYS], own[_SPARE], own[_RUN] = own[_SPARE], here, own[_RUN] * 2
    long.phase(write_blocks_of_keys, blocks)
    with b.if_(own[_SPECIAL].not_equal(0) & long.goes_on, unlikely=True):
        start = own[_ROW] * own[LENGTH] * width
        source, values = [b.offset(table[own[number]], start, I8) for number in (SOURCE, VALUES)]
        restore_equals(b, source, values, own[LENGTH], own.place(ORDER), width)


@hot
def fill_keys(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
              status: At[Status]) -> None:
    """Makes the keys of the blocks ``begin`` to ``end``, and says whether there are zeros with a sign, or NaN."""
    def build(row: _LongRow) -> None:
        first, last = least(b, begin * BLOCK, row.length), least(b, end * BLOCK, row.length)
        special = make_keys(row.order, row.source, row.keys, first, last)
        with b.loop(last, end * BLOCK) as loop:
            b.store(b.constant(row.kind, -1), row.keys.after(loop.index).pointer)
        with b.if_(special.not_equal(0)):
            row.given[_SPECIAL] = special

    _phase(b, buffers, sizes, build)


@hot
def sort_key_runs(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                  status: At[Status]) -> None:
    """Sorts the runs ``begin`` to ``end``."""
    def build(row: _LongRow) -> None:
        with b.loop(begin, end) as loop:
            start = loop.index * row.run
            sort_keys(row.keys.after(start), row.spare.after(start).pointer, row.run)

    _phase(b, buffers, sizes, build)


@hot
def merge_keys(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
               status: At[Status]) -> None:
    """Merges pairs of neighbouring runs, for the blocks ``begin`` to ``end`` of the result."""
    def build(row: _LongRow) -> None:
        with b.loop(begin, end) as loop:
            start = loop.index * BLOCK
            base = start.quotient(row.run * 2) * (row.run * 2)
            middle = least(b, base + row.run, row.padded)
            # A last run without another one merges with no keys, which lie where there is memory.
            first, second = row.keys.after(base), row.keys.after(b.where(middle < row.padded, middle, base))
            counts = middle - base, least(b, middle + row.run, row.padded) - middle
            taken = taken_from_first(first, second, counts, start - base)
            _merge(first, second, (taken, start - base - taken), counts, row.spare.after(start))

    _phase(b, buffers, sizes, build)


def _merge(first: KeyRow, second: KeyRow, starts: tuple[Register, Register], ends: tuple[Register, Register],
           target: KeyRow) -> None:
    """Emits code that merges a block of two sorted rows, from ``starts`` on."""
    b, kind, lanes = first.b, first.kind, first.type.lanes
    last = b.constant(kind, -1)

    def load(keys: KeyRow, place: Register, end: Register) -> Register:
        """Returns a vector of keys, with the largest of all behind the end."""
        return b.choose(place + lanes <= end, lambda: keys.load(place), lambda: keys.load_first(place, end - place)[0])

    def head(keys: KeyRow, place: Register, end: Register) -> Register:
        safe = b.where(place < end, place, 0)
        return b.where(place < end, b.load(keys.after(safe).pointer, kind), last)

    one, other = starts
    low, high = _merged(b, load(first, one, ends[0]), load(second, other, ends[1]))
    target.store(low, b.constant(I64, 0))
    carried = [one + lanes, other + lanes, high]
    with b.loop(lanes, BLOCK, lanes, carried=carried) as loop:
        one, other, high = loop.carried
        is_first = head(first, one, ends[0]).below_or_equal(head(second, other, ends[1]))
        pointer = b.where(is_first, first.pointer, second.pointer)
        place, end = b.where(is_first, one, other), b.where(is_first, ends[0], ends[1])
        low, high = _merged(b, high, load(first._replace(pointer=pointer), place, end))
        target.store(low, loop.index)
        loop.carried = [b.where(is_first, one + lanes, one), b.where(is_first, other, other + lanes), high]


def _merged(b: Builder, x: Register, y: Register) -> tuple[Register, Register]:
    """Returns the smaller and the larger half of two sorted vectors, both sorted."""
    lanes = x.type.lanes
    halves = [[half] for half in ordered(b, x, b.shuffle(y, y, list(reversed(range(lanes)))))]
    for half in halves:
        sort_bitonic(b, half, lanes)
    return halves[0][0], halves[1][0]


@hot
def write_blocks_of_keys(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                         status: At[Status]) -> None:
    """Writes the blocks ``begin`` to ``end`` of the sorted row as elements."""
    def build(row: _LongRow) -> None:
        first, last = least(b, begin * BLOCK, row.length), least(b, end * BLOCK, row.length)
        write_elements(row.order, row.keys, row.values, first, last)

    _phase(b, buffers, sizes, build)
