"""Sorting rows, and the first elements of sorted rows, in native code.

Many rows are shared by the threads. A long row of few is cut into *runs*, which the threads sort, and merges of two
runs at a time, whose results the threads share in blocks. The order of entries is total: they are the same for any
number of threads.

>>> [each.name for each in (run_sort, run_top_k)]
['run_sort', 'run_top_k']
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I64, PTR
from nervure.transformers.cpu.runtime.call import run_in_chunks
from nervure.transformers.cpu.runtime.long_rows import LongRows
from nervure.transformers.cpu.runtime.memory_pool import borrowed, fail_without_memory
from nervure.transformers.cpu.runtime.native import (
    At,
    LocalVariable,
    Pointer,
    Table,
    Word,
    greatest,
    hot,
    least,
    native,
)
from nervure.transformers.cpu.runtime.ordering import (
    DIGITS,
    FIELDS,
    LENGTH,
    ORDER,
    POSITIONS,
    ROWS,
    SOURCE,
    SPARE,
    TYPES,
    VALUES,
    Entries,
    Ordering,
    fill,
    merge,
    sort_by_digits,
    sort_by_insertion,
    taken_from_first,
    write_out,
)
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StepRecord

ROOM = 4096
"""The bytes on the stack for the entries of a row; a longer one takes memory of the pool."""

FEW = 40
"""The most entries that are sorted by insertion."""

BLOCK = 1 << 13
"""The entries that a thread merges at a time."""

LONGEST_RUN = 1 << 20
"""The most entries of a run, whose scattered writes then stay near the caches."""

_WIDE_FROM = 1 << 32  # elements of a row, whose positions need more than half a word
_LINE = 64            # bytes that are compared with the bound at a time
_COUNT = FIELDS       # of a row's elements that are wanted
_ENTRIES, _SPARE, _ROW, _RUN = range(_COUNT, _COUNT + 4)


def _has_pairs(b: Builder, length: Register, width: Register) -> Register:
    return (width > 4) | (length >= _WIDE_FROM)


def _in_both_forms(b: Builder, is_pair: Register, build: Callable[[bool], None]) -> None:
    """Emits code for entries of both forms, of which one runs."""
    with b.if_(is_pair):
        build(True)
    with b.if_(~is_pair):
        build(False)


# -- a row by one thread -----------------------------------------------------------------------------------


@hot
def sort_words(b: Builder, entries: Pointer, spare: Pointer, counts: Pointer, length: Word, width: Word) -> Pointer:
    """Sorts words at ``entries``; returns where they are then, which is one of both places."""
    return _sorted(Entries(b, entries, False), spare, counts, length, width)


@hot
def sort_pairs(b: Builder, entries: Pointer, spare: Pointer, counts: Pointer, length: Word, width: Word) -> Pointer:
    """Sorts pairs at ``entries``; returns where they are then, which is one of both places."""
    return _sorted(Entries(b, entries, True), spare, counts, length, width)


def _sorted(entries: Entries, spare: Register, counts: Register, length: Register, width: Register) -> Register:
    b = entries.b
    with b.if_(length <= FEW):
        sort_by_insertion(entries, length)
        b.ret(entries.pointer)
    return sort_by_digits(entries, entries._replace(pointer=spare), Table(counts, I64), length, width)


def _sort(entries: Entries, spare: Entries, counts: Register, length: Register, width: Register) -> Entries:
    """Emits a call that sorts entries."""
    function = sort_pairs if entries.is_pair else sort_words
    return entries._replace(pointer=function(entries.b, entries.pointer, spare.pointer, counts, length, width))


def _row(b: Builder, table: Table, sizes: Table, number: int, row: Register, length: Register,
         width: Register | None) -> Register:
    """Returns the address of a row of an operand or an output; without a ``width``, of positions."""
    step = length * 8 if width is None else length * width
    return b.offset(table[sizes[number]], row * step, TYPES[1])


@hot
def sort_rows(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
              status: At[Status]) -> None:
    """Sorts some rows, each by itself. The ``sizes`` are those of ``run_sort``."""
    given = Table(sizes, I64)
    length, order = given[LENGTH], Ordering.read(given, ORDER)

    def build(is_pair: bool) -> None:
        words = length * (2 if is_pair else 1)
        with borrowed(b, (words * 2 + order.width * DIGITS) * 8, ROOM) as block:
            fail_without_memory(b, block, status)
            memory = Table(block, I64)
            entries, spare = [Entries(b, memory.place(place), is_pair) for place in (b.constant(I64, 0), words)]
            with b.loop(begin, end) as loop:
                source = _row(b, buffers, given, SOURCE, loop.index, length, order.width)
                fill(entries, source, b.constant(I64, 0), length, order)
                found = _sort(entries, spare, memory.place(words * 2), length, order.width)
                write_out(found, source, _row(b, buffers, given, VALUES, loop.index, length, order.width),
                          _row(b, buffers, given, POSITIONS, loop.index, length, None),
                          b.constant(I64, 0), length, order.width)

    with b.if_(length > 0):
        _in_both_forms(b, _has_pairs(b, length, order.width), build)


# -- a row by all threads ----------------------------------------------------------------------------------


@native
def run_sort(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
             status: At[Status]) -> None:
    """Sorts each row, and writes the position that each element had.

    The sizes of the ``step`` are the places of elements, sorted elements and positions, the number of rows, their
    length, and the :class:`Ordering`.
    """
    long = LongRows(b, step, table, call, status)
    long.end_if_short(sort_rows, _RUN + 1)
    words = long.length * b.where(_has_pairs(b, long.length, long.width), b.constant(I64, 2), 1)
    with borrowed(b, words * 16, ROOM) as block:
        fail_without_memory(b, block, status)
        with b.loop(0, long.rows) as loop:
            _sort_long_row(long, loop.index, (block, Table(block, I64).place(words)), call)


def _sort_long_row(long: LongRows, row: Register, memory: tuple[Register, Register], call: At[CallRecord]) -> None:
    """Emits code that sorts a row in runs, by phases that the threads share."""
    b, own = long.b, long.own
    length = own[LENGTH]
    wanted = greatest(b, call["threads"], (length + (LONGEST_RUN - 1)).quotient(LONGEST_RUN))
    run = (length + wanted - 1).quotient(wanted)
    run = (run + (BLOCK - 1)) & -BLOCK
    for number, value in ((_ENTRIES, memory[0]), (_SPARE, memory[1])):
        own[number] = value.cast("ptrtoint", I64)
    own[_ROW], own[_RUN] = row, run
    blocks = (length + (BLOCK - 1)).quotient(BLOCK)

    long.phase(sort_run, (length + run - 1).quotient(run))
    with b.while_(lambda: (own[_RUN] < length) & long.goes_on):
        long.phase(merge_blocks, blocks)
        entries = own[_ENTRIES]
        own[_ENTRIES], own[_SPARE], own[_RUN] = own[_SPARE], entries, own[_RUN] * 2
    long.phase(write_blocks, blocks)


class _LongRow:
    """A row that threads share, in the code of a phase."""

    def __init__(self, b: Builder, buffers: Table, sizes: Register, is_pair: bool) -> None:
        given = Table(sizes, I64)
        self.length, self.order, self.run = given[LENGTH], Ordering.read(given, ORDER), given[_RUN]
        self.entries, self.spare = [Entries(b, given[number].cast("inttoptr", PTR), is_pair)
                                    for number in (_ENTRIES, _SPARE)]
        self.source, self.values = [_row(b, buffers, given, number, given[_ROW], self.length, self.order.width)
                                    for number in (SOURCE, VALUES)]
        self.positions = _row(b, buffers, given, POSITIONS, given[_ROW], self.length, None)


def _phase(b: Builder, buffers: Table, sizes: Register, build: Callable[[_LongRow], None]) -> None:
    """Emits the code of a phase for entries of both forms."""
    given = Table(sizes, I64)
    is_pair = _has_pairs(b, given[LENGTH], given[ORDER])
    _in_both_forms(b, is_pair, lambda form: build(_LongRow(b, buffers, sizes, form)))


@hot
def sort_run(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
             status: At[Status]) -> None:
    """Makes the entries of some runs, and sorts each. They end where they began."""
    counts = Table(b.allocate(I64, 8 * DIGITS), I64)

    def build(row: _LongRow) -> None:
        with b.loop(begin, end) as loop:
            start = loop.index * row.run
            length = least(b, row.length - start, row.run)
            entries, spare = row.entries.after(start), row.spare.after(start)
            fill(entries, row.source, start, length, row.order)
            found = _sort(entries, spare, counts.pointer, length, row.order.width)
            with b.if_(found.pointer.not_equal(entries.pointer)), b.loop(0, length) as copy:
                entries.put(copy.index, found.take(copy.index))

    _phase(b, buffers, sizes, build)


@hot
def merge_blocks(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                 status: At[Status]) -> None:
    """Merges pairs of neighbouring runs, for the blocks ``begin`` to ``end`` of the result."""
    def build(row: _LongRow) -> None:
        with b.loop(begin, end) as loop:
            start = loop.index * BLOCK
            stop = least(b, start + BLOCK, row.length)
            base = start.quotient(row.run * 2) * (row.run * 2)
            first, second = row.entries.after(base), row.entries.after(base + row.run)
            counts = least(b, row.length - base, row.run), least(
                b, greatest(b, row.length - base - row.run, 0), row.run)
            taken = taken_from_first(first, second, counts, start - base)
            merge(first, second, (taken, start - base - taken), counts, row.spare.after(start), stop - start)

    _phase(b, buffers, sizes, build)


@hot
def write_blocks(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                 status: At[Status]) -> None:
    """Writes the blocks ``begin`` to ``end`` of a sorted row."""
    def build(row: _LongRow) -> None:
        last = least(b, end * BLOCK, row.length)
        write_out(row.entries, row.source, row.values, row.positions, begin * BLOCK, last, row.order.width)

    _phase(b, buffers, sizes, build)


# -- the first elements of rows ----------------------------------------------------------------------------


@native
def run_top_k(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
              status: At[Status]) -> None:
    """Writes the first elements of each row in its order, and their positions, without sorting the others.

    The sizes of the ``step`` are those of ``run_sort``, and the number of elements that are wanted.
    """
    sizes = Table(step["sizes"], I64)
    with b.if_(sizes[_COUNT] > 0):
        run_in_chunks(b, step, first_of_rows.address(b), sizes[ROWS], sizes, table, call, status)


@hot
def first_of_rows(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                  status: At[Status]) -> None:
    """Finds the first elements of some rows. The ``sizes`` are those of ``run_top_k``.

    Entries are kept whose keys are at most a bound, which is one less than the last of those that are wanted: an
    equal one that comes later is behind it. When there is no more room, they are sorted, and the bound follows.
    """
    given = Table(sizes, I64)
    length, wanted, order = given[LENGTH], given[_COUNT], Ordering.read(given, ORDER)
    room = least(b, wanted * 2 + SPARE, length)

    def build(is_pair: bool) -> None:
        words = room * (2 if is_pair else 1)
        with borrowed(b, (words * 2 + order.width * DIGITS) * 8, ROOM) as block:
            fail_without_memory(b, block, status)
            memory = Table(block, I64)
            places = [memory.place(place) for place in (b.constant(I64, 0), words, words * 2)]
            with b.loop(begin, end) as loop:
                source = _row(b, buffers, given, SOURCE, loop.index, length, order.width)
                found = _Found(b, places, is_pair, order, wanted, room)
                for bytes in TYPES:
                    if is_pair or bytes < 8:
                        with b.if_(order.width.equal(bytes)):
                            found.search(source, length, bytes)
                entries = found.sorted()
                write_out(entries, source, _row(b, buffers, given, VALUES, loop.index, wanted, order.width),
                          _row(b, buffers, given, POSITIONS, loop.index, wanted, None),
                          b.constant(I64, 0), wanted, order.width)

    _in_both_forms(b, _has_pairs(b, length, order.width), build)


class _Found:
    """The entries that were found in a row, and the bound for the next ones, in code that is being built."""

    def __init__(self, b: Builder, places: list[Register], is_pair: bool, order: Ordering, wanted: Register,
                 room: Register) -> None:
        self.b, self.order, self.wanted, self.room = b, order, wanted, room
        self.here, self.there, self.counts = LocalVariable(places[0]), LocalVariable(places[1]), places[2]
        self.is_pair = is_pair
        self.count, self.bound = LocalVariable(b.constant(I64, 0)), LocalVariable(b.constant(I64, -1))
        self.is_done = LocalVariable(b.constant(I1, False))

    def search(self, source: Register, length: Register, bytes: int) -> None:
        """Emits code that looks at a row of elements of this number of ``bytes``, a line at a time."""
        b, kind, lanes = self.b, TYPES[bytes], _LINE // bytes
        whole, keys, single = length & -lanes, self.order.keys(b, kind.vector(lanes)), self.order.keys(b, kind)

        def key(index: Register) -> Register:
            found = single.of(b.load(b.offset(source, index, kind), kind))
            return found if kind is I64 else found.cast("zext", I64)

        with b.loop(0, whole, lanes) as loop, b.if_(~self.is_done.value):
            found = keys.of(b.load(b.offset(source, loop.index, kind), kind.vector(lanes), align=bytes))
            bound = self.bound.value
            bound = b.splat(bound if kind is I64 else bound.cast("trunc", kind), lanes)
            bits = found.below_or_equal(bound).regrouped(TYPES.get(lanes // 8, I64))
            with b.if_(bits.not_equal(0), unlikely=True):
                left = LocalVariable(bits if bits.type is I64 else bits.cast("zext", I64))
                with b.while_(lambda: left.value.not_equal(0)):
                    lane = b.call("llvm.cttz.i64", I64, left.value, b.constant(I1, False))
                    left.value = left.value & (left.value - 1)
                    self._keep(key(loop.index + lane), loop.index + lane)
        with b.loop(whole, length) as loop:
            self._keep(key(loop.index), loop.index)

    def _keep(self, key: Register, position: Register) -> None:
        """Emits code that keeps an entry if its key is within the bound."""
        b = self.b
        with b.if_(key.below_or_equal(self.bound.value) & ~self.is_done.value):
            with b.if_(self.count.value.equal(self.room)):
                entries = self.sorted()
                last = entries.key(self.wanted - 1)
                self.count.value = self.wanted
                self.is_done.value = last.equal(0)
                self.bound.value = last - 1
            with b.if_(key.below_or_equal(self.bound.value) & ~self.is_done.value):
                self._entries(self.here).write(self.count.value, key, position)
                self.count.value = self.count.value + 1

    def sorted(self) -> Entries:
        """Emits code that sorts the entries, and returns them."""
        entries = self._entries(self.here)
        found = _sort(entries, self._entries(self.there), self.counts, self.count.value, self.order.width)
        with self.b.if_(found.pointer.not_equal(entries.pointer)):
            self.there.value, self.here.value = entries.pointer, found.pointer
        return self._entries(self.here)

    def _entries(self, place: LocalVariable) -> Entries:
        return Entries(self.b, place.value, self.is_pair)
