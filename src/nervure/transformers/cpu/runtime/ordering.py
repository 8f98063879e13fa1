"""Keys and entries: what native code sorts in place of elements.

The *key* of an element is a number without sign that is ordered as elements are: -0.0 equals 0.0, and NaN, which all
are equal, come last. Inverting its bits reverses the order. An *entry* is a key with the position that the element has
in its row: one *word* where both fit, the key in its upper half, and a *pair* of words otherwise. So words alone are
ordered as their keys are, and equal keys by their positions.

>>> [bytes for bytes in (1, 4, 8) if fits_a_word(bytes)], KeyKind.FLOAT.name
([1, 4], 'FLOAT')
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from enum import IntEnum
from functools import reduce
from typing import NamedTuple, Protocol

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I16, I32, I64, Type
from nervure.transformers.cpu.runtime.native import LocalVariable, Table

TYPES = {1: I8, 2: I16, 4: I32, 8: I64}
"""The integers with the bits of elements, by their bytes."""

LANES = 8
"""The elements whose keys are made together."""

DIGITS = 256


LONG = 1 << 15
"""The length from which threads share a row, where there are fewer rows than threads."""

SPARE = 256
"""The entries for which there is room beside twice as many as are wanted, where only the first of a row are."""

SOURCE, VALUES, POSITIONS, ROWS, LENGTH, ORDER = range(6)
"""The numbers of what a sort is told, in the order of its sizes."""


class KeyKind(IntEnum):
    """The ways in which the bits of elements are ordered."""

    UNSIGNED = 0
    SIGNED = 1
    FLOAT = 2
    FLOAT_WITHOUT_NEGATIVE_ZERO = 3  # its bits are those of the only NaN


def fits_a_word(bytes: int) -> bool:
    """Whether keys of this number of ``bytes`` leave room for a position of 32 bits."""
    return bytes <= 4


class Ordering(NamedTuple):
    """The order of elements, as the numbers that keys are made by.

    They are the bytes of an element, its ``KeyKind``, the bit of its sign, the bits of the largest float, and the bits
    that are inverted in a key: all for a descending order, else none.
    """

    width: Register
    kind: Register
    sign: Register
    largest: Register
    inverted: Register

    @classmethod
    def read(cls, sizes: Table, first: int) -> Ordering:
        """Returns the order that stands in a table of sizes, from one of them on."""
        return cls(*[sizes[first + number] for number in range(len(cls._fields))])

    def keys(self, b: Builder, type: Type) -> Keys:
        """Returns what makes keys of bits in a ``type``; emits what is the same for all of them."""
        element = type.element
        narrow = [x if element is I64 else x.cast("trunc", element) for x in (self.sign, self.largest, self.inverted)]
        is_single = self.kind.equal(KeyKind.FLOAT_WITHOUT_NEGATIVE_ZERO)
        flags = self.kind >= KeyKind.FLOAT, self.kind.equal(KeyKind.SIGNED), is_single
        wide = [b.splat(x, type.lanes) for x in narrow]
        return Keys(b, flags, *wide)


FIELDS = ORDER + len(Ordering._fields)
"""The number of sizes that all sorts are told."""

class Keys(NamedTuple):
    """The registers that are the same for all keys of a row."""

    b: Builder
    flags: tuple[Register, Register, Register]
    sign: Register
    largest: Register
    inverted: Register

    def of(self, bits: Register) -> Register:
        """Returns the keys of elements, from their bits."""
        b, sign, (is_float, is_signed, has_one_zero) = self.b, self.sign, self.flags
        magnitude = bits & (sign - 1)
        is_negative = (bits & sign).not_equal(0) & magnitude.not_equal(0)
        positive = b.where(has_one_zero, magnitude + sign - 1, magnitude + sign)  # leaves a gap for the NaN
        of_float = b.where(is_negative, sign - 1 - magnitude, positive)
        # The largest float bounds magnitudes, which have no sign bit: a signed comparison serves.
        is_nan = b.where(has_one_zero, bits.equal(sign), magnitude > self.largest)
        of_float = b.where(is_nan, sign | (sign - 1), of_float)
        of_integer = b.where(is_signed, bits ^ sign, bits)
        return b.where(is_float, of_float, of_integer) ^ self.inverted

    def elements(self, keys: Register) -> Register:
        """Returns the bits of elements from their keys. Of equal ones it is one: 0.0, and some NaN."""
        b, sign, (is_float, is_signed, has_one_zero) = self.b, self.sign, self.flags
        key = keys ^ self.inverted
        zero = b.where(has_one_zero, sign - 1, sign)
        of_float = b.where(key.below(zero), sign + (sign - 1) - key, key - zero)
        return b.where(is_float, of_float, b.where(is_signed, key ^ sign, key))

    @property
    def equals(self) -> tuple[Register, Register]:
        """The keys that several bits of floats have: those of zeros and of NaN."""
        return self.sign ^ self.inverted, (self.sign | (self.sign - 1)) ^ self.inverted

    def any_special(self, rows: Sequence[Register]) -> Register:
        """Returns whether one of the elements with some bits is -0.0 or NaN."""
        b, sign = self.b, self.sign
        each = [bits.equal(sign) | ((bits & (sign - 1)) > self.largest) for bits in rows]
        return b.any_lane(reduce(operator.or_, each)) & self.flags[0]


class Entries(NamedTuple):
    """Consecutive entries in memory, in code that is being built."""

    b: Builder
    pointer: Register
    is_pair: bool

    @property
    def words(self) -> int:
        """The words of an entry."""
        return 2 if self.is_pair else 1

    def _place(self, index: Register) -> Register:
        return self.b.offset(self.pointer, index * self.words if self.is_pair else index, I64)

    def after(self, count: Register) -> Entries:
        """Returns the entries from a place on."""
        return self._replace(pointer=self._place(count))

    def word(self, index: Register) -> Register:
        """Returns what an entry is compared by: a number without sign."""
        return self.b.load(self._place(index), I64)

    def key(self, index: Register) -> Register:
        """Returns the key of an entry."""
        return self.word(index) if self.is_pair else self.word(index).shift_right(32)

    def position(self, index: Register) -> Register:
        """Returns the position of an entry in its row."""
        if self.is_pair:
            return self.b.load(self.b.offset(self._place(index), 1, I64), I64)
        return self.word(index) & 0xFFFF_FFFF

    def digit(self, word: Register, shift: Register) -> Register:
        """Returns the digit of a key that begins at the bit ``shift``."""
        return word.shift_right(shift if self.is_pair else shift + 32) & (DIGITS - 1)

    @property
    def _whole(self) -> Type:
        return I64.vector(2) if self.is_pair else I64

    def take(self, index: Register) -> Register:
        """Returns a whole entry."""
        return self.b.load(self._place(index), self._whole, align=8)

    def put(self, index: Register, entry: Register) -> None:
        """Writes a whole entry."""
        self.b.store(entry, self._place(index), align=8)

    def word_of(self, entry: Register) -> Register:
        """Returns what a whole entry is compared by."""
        return self.b.extract(entry, 0)

    def write(self, index: Register, keys: Register, positions: Register) -> None:
        """Writes the entries of keys in lanes, 64 bits each."""
        b, lanes = self.b, keys.type.lanes
        if not self.is_pair:
            entries = keys.shift_left(32) | positions
        elif lanes == 1:
            pair = b.insert(b.constant(I64.vector(2), 0), keys, 0)
            entries = b.insert(pair, positions, 1)
        else:
            entries = b.shuffle(keys, positions, [lane for each in range(lanes) for lane in (each, each + lanes)])
        b.store(entries, self._place(index), align=8)


def fill(entries: Entries, source: Register, start: Register, length: Register, order: Ordering) -> None:
    """Emits code that makes entries of the elements ``start`` to ``start + length`` of the row at ``source``."""
    b = entries.b
    for bytes, kind in TYPES.items():
        with b.if_(order.width.equal(bytes)):
            for lanes, first, last in ((LANES, 0, length & -LANES), (1, length & -LANES, length)):
                type = kind.vector(lanes)
                keys, counting = order.keys(b, type), b.vector(I64.vector(lanes), range(lanes))
                with b.loop(first, last, lanes) as loop:
                    place = start + loop.index
                    found = keys.of(b.load(b.offset(source, place, kind), type, align=bytes))
                    positions = b.splat(place, lanes) + counting
                    entries.write(loop.index, found if kind is I64 else found.cast("zext", I64), positions)


def write_out(entries: Entries, source: Register, values: Register, positions: Register, first: Register,
              last: Register, width: Register) -> None:
    """Emits code that writes positions and elements of the entries ``first`` to ``last``, in their order.

    ``source`` is where the row lies that they are of; ``values`` and ``positions`` are rows of the outputs.
    """
    b, places = entries.b, Table(positions, I64)
    for bytes, kind in TYPES.items():
        with b.if_(width.equal(bytes)), b.loop(first, last) as loop:
            position = entries.position(loop.index)
            places[loop.index] = position
            b.store(b.load(b.offset(source, position, kind), kind), b.offset(values, loop.index, kind))


# -- sorting entries in memory -----------------------------------------------------------------------------


def sort_by_insertion(entries: Entries, length: Register) -> None:
    """Emits code that puts each entry behind those that are not larger, which is quick for a few."""
    b = entries.b
    with b.loop(1, length) as loop:
        entry = entries.take(loop.index)
        word = entries.word_of(entry)

        def before(index: Register) -> Register:
            return b.where(index > 0, index - 1, 0)

        def is_larger(index: Register, word: Register = word) -> Register:
            return (index > 0) & word.below(entries.word(before(index)))

        def move(index: Register) -> list[Register]:
            entries.put(index, entries.take(index - 1))
            return [index - 1]

        place, = b.repeat([loop.index], is_larger, move)
        entries.put(place, entry)


def sort_by_digits(entries: Entries, spare: Entries, counts: Table, length: Register, width: Register) -> Register:
    """Emits code that sorts by the digits of keys, from the lowest one on, and returns where the entries are then.

    ``counts`` has room for ``DIGITS`` numbers for each byte of a key. A digit that all keys share is skipped.
    """
    b = entries.b
    with b.loop(0, width * DIGITS) as loop:
        counts[loop.index] = b.constant(I64, 0)
    for bytes in TYPES:
        if entries.is_pair or fits_a_word(bytes):
            with b.if_(width.equal(bytes)), b.loop(0, length) as loop:
                word = entries.word(loop.index)
                for number in range(bytes):
                    place = entries.digit(word, b.constant(I64, 8 * number)) + DIGITS * number
                    counts[place] = counts[place] + 1
    here, there = LocalVariable(entries.pointer), LocalVariable(spare.pointer)
    with b.loop(0, width) as digits:
        shift, own = digits.index * 8, counts.after(digits.index * DIGITS)
        source, target = entries._replace(pointer=here.value), entries._replace(pointer=there.value)
        is_shared = own[source.digit(source.word(b.constant(I64, 0)), shift)].equal(length)
        with b.if_(~is_shared):
            with b.loop(0, DIGITS, carried=[b.constant(I64, 0)]) as loop:
                total, = loop.carried
                count = own[loop.index]
                own[loop.index] = total
                loop.carried = [total + count]
            with b.loop(0, length) as loop:
                entry = source.take(loop.index)
                digit = source.digit(source.word_of(entry), shift)
                place = own[digit]
                own[digit] = place + 1
                target.put(place, entry)
            here.value, there.value = target.pointer, source.pointer
    return here.value


# -- merging sorted entries --------------------------------------------------------------------------------


class Words(Protocol):
    """Consecutive things in memory that are compared by numbers without sign."""

    @property
    def b(self) -> Builder: ...

    def word(self, index: Register) -> Register: ...


def taken_from_first(first: Words, second: Words, counts: tuple[Register, Register], total: Register) -> Register:
    """Emits a binary search; returns how many of the first ``total`` merged entries are of the first of two rows.

    The first row goes first where words are equal. ``counts`` are the entries of both.
    """
    b = first.b
    lowest = b.where(total > counts[1], total - counts[1], 0)
    highest = b.where(total < counts[0], total, counts[0])

    def halve(low: Register, high: Register) -> list[Register]:
        middle = (low + high).shift_right(1)
        # One more of the first row belongs in front if it is not larger than the last one of the second row there.
        is_more = first.word(middle).below_or_equal(second.word(total - 1 - middle))
        return [b.where(is_more, middle + 1, low), b.where(is_more, high, middle)]

    return b.repeat([lowest, highest], lambda low, high: low < high, halve)[0]


def merge(first: Entries, second: Entries, starts: tuple[Register, Register], ends: tuple[Register, Register],
          target: Entries, count: Register) -> None:
    """Emits code that merges entries of two sorted rows, from ``starts`` on, until ``count`` are written."""
    b = first.b

    def goes_on(one: Register, other: Register, done: Register) -> Register:
        return (done < count) & (one < ends[0]) & (other < ends[1])

    def step(one: Register, other: Register, done: Register) -> list[Register]:
        left, right = first.take(one), second.take(other)
        is_left = first.word_of(left).below_or_equal(second.word_of(right))
        target.put(done, b.where(is_left, left, right))
        more = is_left.cast("zext", I64)
        return [one + more, other + 1 - more, done + 1]

    one, other, done = b.repeat([*starts, b.constant(I64, 0)], goes_on, step)
    rest = b.where(one < ends[0], count - done, 0)
    with b.loop(0, rest) as loop:
        target.put(done + loop.index, first.take(one + loop.index))
    with b.loop(0, count - done - rest) as loop:
        target.put(done + rest + loop.index, second.take(other + loop.index))
