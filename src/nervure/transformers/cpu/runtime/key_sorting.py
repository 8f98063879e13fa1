"""Rows of keys sorted by one thread each, where no positions are read.

A row is parted by a pivot, and its parts as well, until some vectors hold a part: quicksort (C. A. R. Hoare, 1961). A
vector is parted by two instructions that move the lanes of a mask to the front (M. Blacher and others, "Vectorized and
performance-portable Quicksort", 2022): smaller keys are written in front of the place that is read, the others to the
spare memory, from which they are copied behind. The bounds of a part are known, so that a pivot always parts, and equal
keys are never looked at again. A pivot is the middle one of a few keys; after a bad one it is halfway between the
bounds, so that no row takes long.

A few vectors are sorted by Batcher's bitonic *network* (K. Batcher, "Sorting networks and their applications", 1968),
whose comparisons do not depend on what is compared. Neighbours in its order lie in different vectors, in the same lane,
so that most comparisons move no lane.

Keys become elements again, but for zeros, which are equal with either sign, and NaN: rows with -0.0 or NaN get these
from the operand, in its order.

>>> [each.name for each in (sort_keys_of_32_bits, sort_keys_of_64_bits, sort_key_rows)]
['sort_keys_of_32_bits', 'sort_keys_of_64_bits', 'sort_key_rows']
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.compression import compress, lane_count
from nervure.transformers.cpu.compile.llvm.types import I32, I64, Type
from nervure.transformers.cpu.runtime.memory_pool import borrowed, fail_without_memory
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Word, hot, least
from nervure.transformers.cpu.runtime.ordering import LENGTH, ORDER, SOURCE, VALUES, Keys, Ordering
from nervure.transformers.cpu.runtime.records import Status
from nervure.transformers.cpu.target import Target

KINDS = {4: I32, 8: I64}
"""The integers with the bits of elements whose keys are sorted alone, by their bytes."""

VECTORS = 16
"""The most vectors that a network sorts: 4, 8 and 16 were measured (bench/DIARY.md)."""

_ROOM = 4096          # bytes on the stack for the keys of a row
_DEPTH = 64           # parts that wait, of which each is at most half of the one before
_FEWEST_OF_GOOD = 16  # a pivot is bad if the smaller part has less than one of these many keys


def lanes_of(bytes: int) -> int:
    """Returns the lanes of a vector of keys of this number of ``bytes``."""
    return Target.host().vector_bytes // bytes


class KeyRow(NamedTuple):
    """Consecutive keys in memory, in code that is being built."""

    b: Builder
    pointer: Register
    kind: Type

    @property
    def type(self) -> Type:
        """A vector of keys."""
        return self.kind.vector(lanes_of(self.kind.bits // 8))

    def after(self, count: Register) -> KeyRow:
        """Returns the keys from a place on."""
        return self._replace(pointer=self.b.offset(self.pointer, count, self.kind))

    def word(self, index: Register) -> Register:
        """Returns a key as a number of 64 bits without sign."""
        return self.b.load(self.after(index).pointer, self.kind).cast("zext", I64)

    def load(self, place: Register) -> Register:
        """Returns the vector that begins at a place."""
        return self.b.load(self.after(place).pointer, self.type, align=self.kind.bits // 8)

    def store(self, keys: Register, place: Register) -> None:
        """Writes a vector to a place."""
        self.b.store(keys, self.after(place).pointer, align=self.kind.bits // 8)

    def load_first(self, place: Register, count: Register) -> tuple[Register, Register]:
        """Returns the vector at a place, of which only the first ``count`` lanes are read, and the mask of these. The
        other lanes are larger than all keys.
        """
        mask = self.b.first_lanes(count, self.type.lanes)
        # A masked load that reads nothing is slow where no memory is.
        found = self.b.load_masked(self.after(self.b.where(count > 0, place, 0)).pointer, self.type, mask)
        return self.b.where(mask, found, self.b.constant(self.type, -1)), mask

    def store_first(self, keys: Register, place: Register, count: Register) -> None:
        """Writes the first ``count`` lanes of a vector to a place."""
        place = self.b.where(count > 0, place, 0)
        self.b.store_masked(keys, self.after(place).pointer, self.b.first_lanes(count, self.type.lanes))


# -- a network -----------------------------------------------------------------------------------------------


def _sorted_by_network(b: Builder, values: list[Register]) -> list[Register]:
    """Returns vectors whose keys are in order, from the first lane of the first one on."""
    count, lanes = len(values), values[0].type.lanes
    size = 2
    while size <= count * lanes:
        _compare_backwards(b, values, size)
        sort_bitonic(b, values, size // 2)
        size *= 2
    # The key at place p is in the vector p % count: a perfect shuffle moves the highest bit of a place to its end.
    low = [number // 2 + lanes * (number % 2) for number in range(lanes)]
    high = [number + lanes // 2 for number in low]
    for _ in range(count.bit_length() - 1):
        values = [b.shuffle(values[number // 2], values[number // 2 + count // 2], (low, high)[number % 2])
                  for number in range(count)]
    return values


def sort_bitonic(b: Builder, values: list[Register], size: int) -> None:
    """Emits code that sorts ``size`` neighbouring places of ``values``, whose larger keys may lie in their middle."""
    distance = size // 2
    while distance:
        _compare_apart(b, values, distance)
        distance //= 2


def _compare_backwards(b: Builder, values: list[Register], size: int) -> None:
    """Compares each place with its mirror image among ``size`` places. The lane is the higher part of a place."""
    count, lanes = len(values), values[0].type.lanes
    if size <= count:
        for place in range(count):
            other = place ^ (size - 1)
            if place < other:
                values[place], values[other] = ordered(b, values[place], values[other])
        return
    turned = size // count
    mirror = [lane ^ (turned - 1) for lane in range(lanes)]
    is_high = [bool(lane & turned // 2) for lane in range(lanes)]
    for place in range((count + 1) // 2):
        other = count - 1 - place
        low, high = ordered(b, values[place], b.shuffle(values[other], values[other], mirror))
        values[place] = _blended(b, low, high, is_high)
        if other != place:
            rest = _blended(b, high, low, is_high)
            values[other] = b.shuffle(rest, rest, mirror)


def _compare_apart(b: Builder, values: list[Register], distance: int) -> None:
    """Compares places that lie at a ``distance``."""
    count, lanes = len(values), values[0].type.lanes
    if distance < count:
        for place in range(count):
            if not place & distance:
                values[place], values[place + distance] = ordered(b, values[place], values[place + distance])
        return
    apart = distance // count
    for place, value in enumerate(values):
        other = b.shuffle(value, value, [lane ^ apart for lane in range(lanes)])
        low, high = ordered(b, value, other)
        values[place] = _blended(b, low, high, [bool(lane & apart) for lane in range(lanes)])


def ordered(b: Builder, x: Register, y: Register) -> tuple[Register, Register]:
    """Emits code that orders x and y; returns the smaller and the larger of each lane."""
    return b.intrinsic("umin", x, y), b.intrinsic("umax", x, y)


def _blended(b: Builder, x: Register, y: Register, is_second: list[bool]) -> Register:
    return b.shuffle(x, y, [lane + len(is_second) * choice for lane, choice in enumerate(is_second)])


@hot
def sort_few_keys_of_32_bits(b: Builder, keys: Pointer, count: Word) -> None:
    """Sorts ``count`` keys of 32 bits, which some vectors hold."""
    _sort_few(KeyRow(b, keys, I32), count)


@hot
def sort_few_keys_of_64_bits(b: Builder, keys: Pointer, count: Word) -> None:
    """Sorts ``count`` keys of 64 bits, which some vectors hold."""
    _sort_few(KeyRow(b, keys, I64), count)


def _sort_few(keys: KeyRow, count: Register) -> None:
    b, lanes = keys.b, keys.type.lanes
    vectors = VECTORS
    while vectors:
        smaller = vectors // 2
        with b.if_((count > max(smaller * lanes, 1)) & (count <= vectors * lanes)):
            places = [b.constant(I64, number * lanes) for number in range(vectors)]
            found = [keys.load_first(place, count - place)[0] for place in places]
            for value, place in zip(_sorted_by_network(b, found), places, strict=True):
                keys.store_first(value, place, count - place)
        vectors = smaller


# -- quicksort -----------------------------------------------------------------------------------------------


@hot
def sort_keys_of_32_bits(b: Builder, keys: Pointer, spare: Pointer, count: Word) -> None:
    """Sorts ``count`` keys of 32 bits; as many may be written to ``spare``."""
    _sort_keys(KeyRow(b, keys, I32), KeyRow(b, spare, I32), count)


@hot
def sort_keys_of_64_bits(b: Builder, keys: Pointer, spare: Pointer, count: Word) -> None:
    """Sorts ``count`` keys of 64 bits; as many may be written to ``spare``."""
    _sort_keys(KeyRow(b, keys, I64), KeyRow(b, spare, I64), count)


def sort_keys(keys: KeyRow, spare: Register, count: Register) -> None:
    """Emits a call that sorts ``count`` keys; as many may be written to ``spare``."""
    b, sort, sort_few = keys.b, *_FUNCTIONS[keys.kind]
    is_many = count > VECTORS * keys.type.lanes
    with b.if_(is_many):
        sort(b, keys.pointer, spare, count)
    with b.if_(~is_many):
        sort_few(b, keys.pointer, count)


_FUNCTIONS = {I32: (sort_keys_of_32_bits, sort_few_keys_of_32_bits),
              I64: (sort_keys_of_64_bits, sort_few_keys_of_64_bits)}


class _Part(NamedTuple):
    """Keys that are to be sorted: their place, their number, the smallest and the largest one.

    The last field says whether the pivot that made the part was bad.
    """

    start: Register
    length: Register
    low: Register
    high: Register
    is_bad: Register


class _Waiting:
    """The parts that wait, the last one on top."""

    def __init__(self, b: Builder, kind: Type) -> None:
        self.b, self.kind = b, kind
        self._table = Table(b.allocate(I64, _DEPTH * len(_Part._fields)), I64)
        self.size = LocalVariable(b.constant(I64, 0))

    def push(self, part: _Part) -> None:
        """Emits code that puts a part on top."""
        place = self.size.value
        for number, value in enumerate(part):
            self._table[place + number] = value if value.type is I64 else value.cast("zext", I64)
        self.size.value = place + len(part)

    def pop(self) -> _Part:
        """Emits code that takes the part on top."""
        self.size.value = self.size.value - len(_Part._fields)
        place = self.size.value
        start, length, low, high, is_bad = [self._table[place + number] for number in range(len(_Part._fields))]
        if self.kind is not I64:
            low, high = low.cast("trunc", self.kind), high.cast("trunc", self.kind)
        return _Part(start, length, low, high, is_bad)


def _sort_keys(keys: KeyRow, spare: KeyRow, count: Register) -> None:
    b, sort_few = keys.b, _FUNCTIONS[keys.kind][1]
    waiting = _Waiting(b, keys.kind)
    low, high = _bounds(keys, count)
    waiting.push(_Part(b.constant(I64, 0), count, low, high, b.constant(I64, 0)))
    with b.while_(lambda: waiting.size.value > 0):
        part = waiting.pop()
        here, is_few = keys.after(part.start), part.length <= VECTORS * keys.type.lanes
        with b.if_(is_few):
            sort_few(b, here.pointer, part.length)
        with b.if_(~is_few & part.low.not_equal(part.high)):
            first, second = _parted(here, spare.after(part.start), part)
            is_less = first.length < second.length
            larger, smaller = [_Part(*[b.where(is_less, x, y) for x, y in zip(*pair, strict=True)])
                               for pair in ((second, first), (first, second))]
            waiting.push(larger)
            waiting.push(smaller)


def _bounds(keys: KeyRow, count: Register) -> tuple[Register, Register]:
    """Emits code that finds the smallest and the largest key."""
    b, type = keys.b, keys.type
    whole = count & -type.lanes
    rest, mask = keys.load_first(whole, count - whole)
    start = [rest, b.where(mask, rest, b.constant(type, 0))]
    with b.loop(0, whole, type.lanes, carried=start) as loop:
        found = keys.load(loop.index)
        loop.carried = [b.intrinsic("umin", loop.carried[0], found), b.intrinsic("umax", loop.carried[1], found)]
    return _reduced(b, "umin", loop.results[0]), _reduced(b, "umax", loop.results[1])


def _reduced(b: Builder, name: str, x: Register) -> Register:
    return b.call(f"llvm.vector.reduce.{name}.{x.type.suffix}", x.type.element, x)


def _pivot(keys: KeyRow, part: _Part) -> Register:
    """Emits code that chooses a pivot, above the smallest key and at most the largest one."""
    b, lanes = keys.b, keys.type.lanes
    halfway = part.low + (part.high - part.low).shift_right(1) + 1

    def of_sample() -> Register:
        step = part.length.quotient(b.constant(I64, lanes))
        places = b.vector(I64.vector(lanes), range(lanes)) * b.splat(step, lanes)
        sample = b.gather(b.offset(keys.pointer, places, keys.kind), keys.kind, align=keys.kind.bits // 8)
        middle = b.extract(_sorted_by_network(b, [sample])[0], lanes // 2)
        return b.where(middle.equal(part.low), part.low + 1, middle)

    return b.choose(part.is_bad.not_equal(0), lambda: halfway, of_sample, unlikely=True)


def _parted(keys: KeyRow, spare: KeyRow, part: _Part) -> tuple[_Part, _Part]:
    """Emits code that writes the keys below a pivot in front of the others, and returns both parts."""
    b, type, lanes = keys.b, keys.type, keys.type.lanes
    pivot = _pivot(keys, part)
    bound, whole = b.splat(pivot, lanes), part.length & -lanes
    smallest, largest = b.constant(type, 0), b.constant(type, -1)
    # Of smaller keys the largest, of the others the smallest: the other bounds are those of the whole.
    start = [b.constant(I64, 0), smallest, largest]
    with b.loop(0, whole, lanes, carried=start) as loop:
        done, top, bottom = loop.carried
        found = keys.load(loop.index)
        is_below = found.below(bound)
        keys.store(compress(b, found, is_below), done)
        spare.store(compress(b, found, ~is_below), loop.index - done)
        loop.carried = [done + lane_count(b, is_below),
                        b.intrinsic("umax", top, b.where(is_below, found, smallest)),
                        b.intrinsic("umin", bottom, b.where(is_below, largest, found))]
    done, top, bottom = loop.results
    rest, mask = keys.load_first(whole, part.length - whole)
    is_below = rest.below(bound) & mask
    is_above = ~is_below & mask
    below, above = lane_count(b, is_below), lane_count(b, is_above)
    keys.store_first(compress(b, rest, is_below), done, below)
    spare.store_first(compress(b, rest, is_above), whole - done, above)
    top = b.intrinsic("umax", top, b.where(is_below, rest, smallest))
    bottom = b.intrinsic("umin", bottom, b.where(is_above, rest, largest))
    count = done + below
    others = part.length - count
    _copy(spare, keys.after(count), others)
    is_bad = (least(b, count, others) * _FEWEST_OF_GOOD < part.length).cast("zext", I64)
    return (_Part(part.start, count, part.low, _reduced(b, "umax", top), is_bad),
            _Part(part.start + count, others, _reduced(b, "umin", bottom), part.high, is_bad))


def _copy(source: KeyRow, target: KeyRow, count: Register) -> None:
    b, lanes = source.b, source.type.lanes
    whole = count & -lanes
    with b.loop(0, whole, lanes) as loop:
        target.store(source.load(loop.index), loop.index)
    target.store_first(source.load_first(whole, count - whole)[0], whole, count - whole)


# -- rows ----------------------------------------------------------------------------------------------------


def make_keys(order: Ordering, source: Register, keys: KeyRow, first: Register, last: Register) -> Register:
    """Emits code that makes the keys of the elements ``first`` to ``last``; returns 1 for zeros with a sign, or NaN."""
    b, lanes = keys.b, keys.type.lanes
    row, own = keys._replace(pointer=source), order.keys(b, keys.type)

    def vector(bits: Register, place: Register, store: Callable[[Register, Register], None]) -> Register:
        store(own.of(bits), place)
        return own.any_special([bits]).cast("zext", I64)

    whole = last - ((last - first) & (lanes - 1))
    with b.loop(first, whole, lanes, carried=[b.constant(I64, 0)]) as loop:
        loop.carried = [loop.carried[0] | vector(row.load(loop.index), loop.index, keys.store)]
    special, = loop.results

    def rest() -> Register:
        bits, mask = row.load_first(whole, last - whole)
        return vector(b.where(mask, bits, b.constant(keys.type, 0)), whole,
                      lambda found, place: keys.store_first(found, place, last - whole))

    return special | b.choose(whole < last, rest, lambda: b.constant(I64, 0))


def write_elements(order: Ordering, keys: KeyRow, values: Register, first: Register, last: Register) -> None:
    """Emits code that writes the elements ``first`` to ``last`` from their keys."""
    b, lanes = keys.b, keys.type.lanes
    row, own = keys._replace(pointer=values), order.keys(b, keys.type)
    whole = last - ((last - first) & (lanes - 1))
    with b.loop(first, whole, lanes) as loop:
        row.store(own.elements(keys.load(loop.index)), loop.index)
    with b.if_(whole < last):
        row.store_first(own.elements(keys.load_first(whole, last - whole)[0]), whole, last - whole)


@hot
def sort_key_rows(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                  status: At[Status]) -> None:
    """Sorts some rows, each by itself. The ``sizes`` are those of ``run_sort``."""
    given = Table(sizes, I64)
    length, order = given[LENGTH], Ordering.read(given, ORDER)
    for bytes, kind in KINDS.items():
        with b.if_(order.width.equal(bytes)), borrowed(b, length * (2 * bytes), _ROOM) as block:
            fail_without_memory(b, block, status)
            keys, spare, first = KeyRow(b, block, kind), b.offset(block, length, kind), b.constant(I64, 0)
            with b.loop(begin, end) as loop:
                source, values = [b.offset(buffers[given[number]], loop.index * length, kind)
                                  for number in (SOURCE, VALUES)]
                special = make_keys(order, source, keys, first, length)
                sort_keys(keys, spare, length)
                write_elements(order, keys, values, first, length)
                with b.if_(special.not_equal(0), unlikely=True):
                    restore_equals(b, source, values, length, given.place(ORDER), order.width)


@hot
def restore_equals(b: Builder, source: Pointer, values: Pointer, length: Word, ordering: Pointer,
                   width: Word) -> None:
    """Writes the zeros and the NaN of the row at ``source`` where they are in the sorted row, in their order."""
    for bytes, kind in KINDS.items():
        with b.if_(width.equal(bytes)):
            order, row = Ordering.read(Table(ordering, I64), 0), KeyRow(b, source, kind)
            own = order.keys(b, row.type)
            for equal in own.equals:
                _restore(row, KeyRow(b, values, kind), length, own, equal)


def _restore(row: KeyRow, values: KeyRow, length: Register, order: Keys, equal: Register) -> None:
    """Emits code that writes the elements whose key is ``equal`` behind those with smaller keys."""
    b, lanes = row.b, row.type.lanes

    def each(start: Register, vector: Callable[[Register, Register, Register, Register], Register]) -> Register:
        """Goes over the row by vectors with their masks; returns what is carried from one to the next."""
        with b.loop(0, length, lanes, carried=[start]) as loop:
            bits, mask = row.load_first(loop.index, length - loop.index)
            loop.carried = [vector(bits, order.of(bits), mask, loop.carried[0])]
        return loop.results[0]

    def count(bits: Register, keys: Register, mask: Register, place: Register) -> Register:
        return place + lane_count(b, keys.below(equal) & mask)

    def write(bits: Register, keys: Register, mask: Register, place: Register) -> Register:
        chosen = keys.equal(equal) & mask
        found = lane_count(b, chosen)
        values.store_first(compress(b, bits, chosen), place, found)
        return place + found

    each(each(b.constant(I64, 0), count), write)
