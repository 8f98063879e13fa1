"""Integers of 64 bits and doubles, where processors lack instructions: conversions, and division.

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import DOUBLE
>>> s, x, y = Arrays(DOUBLE), np.array([-7, 2**50]), np.array([2, 3])
>>> quotient(s, x.view("u8"), y.view("u8")).view("i8"), nearest(s, np.uint64([2**64 - 1]), False)
(array([             -4, 375299968947541]), array([1.84467441e+19]))

The last place of a double of 2**52 or more, below 2**53, is 1: its lower bits are the digits of an integer. So 32 bits
become a float by being joined to the bits of 2**52, and 64 bits are two such halves, the upper of which has the unit
2**32. An integer of up to 51 bits and a sign is a double with one addition.
"""

from __future__ import annotations

from nervure.kernel.math.namespace import Namespace, V

MIDDLE = 2.0**52 + 2.0**51
"""Its last place is 1, and so is that of its sum with any number from -2**51 to 2**51: added to a double it rounds that
to an integer, which is then in the lowest bits.
"""

_BITS_OF_MIDDLE = 0x4338000000000000
_INTEGER = 0x4330000000000000  # the bits of 2.0**52, whose last place is 1
_UPPER = 0x4530000000000000  # the bits of 2.0**84, whose last place is 2**32


def double_of(s: Namespace[V], x: V) -> V:
    """Returns the double equal to an integer from -2**51 to 2**51."""
    return s.from_bits(x + _BITS_OF_MIDDLE) - MIDDLE


def integer_of(s: Namespace[V], x: V) -> V:
    """Returns the integer equal to a double from -2**51 to 2**51."""
    return s.bits(x + MIDDLE) - _BITS_OF_MIDDLE


def quotient(s: Namespace[V], x: V, y: V) -> V:
    """Returns the floor of x / y of integers from -2**51 to 2**51; 0 for y = 0."""
    return integer_of(s, s.where(s.equal(y, 0), 0.0, s.floor(double_of(s, x) / double_of(s, y))))


def quotient_by(s: Namespace[V], x: V, factor: V, divisor: V) -> V:
    """Returns the floor of ``x`` by a ``divisor``, a double of at least 0, whose reciprocal is ``factor``.

    x * (1 / y) is within 1/2 of x / y, so rounding it to nearest gives the quotient or one more; an exact remainder
    tells which. It is 0 for a divisor of 0.
    """
    number = double_of(s, x)
    nearest = s.fma(number, factor, MIDDLE) - MIDDLE
    rest = s.fma(-nearest, divisor, number)
    floor = s.where(rest < 0.0, nearest - 1.0, nearest)
    return integer_of(s, s.where(s.equal(divisor, 0.0), 0.0, floor))


def nearest(s: Namespace[V], x: V, is_signed: bool) -> V:
    """Returns the double nearest to an integer ``x``, by two exact halves and one rounded sum. The sign is a bit of
    weight -2**63 rather than 2**63: flipped, it counts 2**63 too much.
    """
    excess = 2.0**63 if is_signed else 0.0
    lower = s.from_bits(x & 0xFFFFFFFF | _INTEGER)
    upper = s.from_bits(s.shift_right(x, 32) ^ (_UPPER | (1 << 31 if is_signed else 0)))
    return (upper - (2.0**84 + 2.0**52 + excess)) + lower


def sticky(s: Namespace[V], x: V, is_signed: bool) -> V:
    """Returns an integer as a double can hold it, which rounds to less than 53 bits as x itself does. In large numbers
    the 11 lowest bits become one that says whether any was set (rounding to odd).
    """
    reduced = (x | ((x & 0x7FF) + 0x7FF)) & (2**64 - 0x800)
    is_small = s.equal(s.shift_right(x + 2**53, 54) if is_signed else s.shift_right(x, 53), 0)
    return s.where(is_small, x, reduced)


def digits(s: Namespace[V], x: V) -> V:
    """Returns the integer, signed or not, with the whole part of a double that fits. The upper half is rounded down,
    the lower is positive.
    """
    whole = s.truncate(x)
    upper = s.floor(whole * 2.0**-32)
    lower = s.fma(upper, -(2.0**32), whole)
    return s.shift_left(s.bits(upper + MIDDLE), 32) | (s.bits(lower + 2.0**52) ^ _INTEGER)
