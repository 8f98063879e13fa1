"""The namespace of the mathematics: the primitives that a backend provides, and functions derived from these.

A function takes the namespace ``s`` of a float format and values, and returns values: ``exp(s, x)``. A backend calls
it to emit code; :mod:`.arrays` evaluates it over arrays, with the bits of every backend:

>>> from nervure.kernel.math.arrays import Arrays
>>> s = Arrays(FLOAT)
>>> x = np.float32([-2.0, 3.0])
>>> s.fma(x, x, 1.0), with_sign_of(s, s.sqrt(s.absolute(x)), x)
(array([ 5., 10.], dtype=float32), array([-1.4142135,  1.7320508], dtype=float32))
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, TypeVar


class FloatFormat(NamedTuple):
    """A binary interchange format of IEEE 754."""

    name: str
    bits: int
    mantissa: int  # stored bits of the mantissa
    bias: int  # bias of the exponent

    @property
    def rounder(self) -> float:
        """Adding it rounds a moderate number to an integer, which is then in the lowest bits of the sum."""
        return 1.5 * 2.0 ** self.mantissa

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def tiny(self) -> float:
        """A bound such that x + x**2 / 2 rounds to x, or to a neighbour of it, for all smaller x."""
        return 2.0 ** -(self.mantissa + 3)

    @property
    def sign_and_exponent(self) -> int:
        """The bits above the mantissa, set."""
        return ((1 << (self.bits - self.mantissa)) - 1) << self.mantissa

    def nearest(self, number: float) -> float:
        """Returns the number, rounded to the format."""
        return number if self.bits == 64 else float(struct.unpack("<f", struct.pack("<f", number))[0])

    def bits_of(self, number: float) -> int:
        """Returns the bits of a number as an unsigned integer."""
        return int.from_bytes(struct.pack("<d" if self.bits == 64 else "<f", number), "little")


FLOAT, DOUBLE = FloatFormat("float", 32, 23, 127), FloatFormat("double", 64, 52, 1023)


class MathValue(Protocol):
    """Floats, integers of equally many bits, or truth values, in any number of lanes; a number of Python is a
    constant.

    Arithmetic on floats follows IEEE 754, rounded to nearest even; integers wrap, and no operator compares them.
    """

    def __add__(self, other: Self | float, /) -> Self: ...
    def __radd__(self, other: float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def __truediv__(self, other: Self | float, /) -> Self: ...
    def __rtruediv__(self, other: float, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __lt__(self, other: Self | float, /) -> Self: ...
    def __gt__(self, other: Self | float, /) -> Self: ...
    def __ge__(self, other: Self | float, /) -> Self: ...
    def __and__(self, other: Self | int, /) -> Self: ...
    def __or__(self, other: Self | int, /) -> Self: ...
    def __xor__(self, other: Self | int, /) -> Self: ...
    def __invert__(self) -> Self: ...


V = TypeVar("V", bound=MathValue)


class Namespace(Protocol[V]):
    """The primitives over the floats of one format. Comparisons with NaN are false, except ``is_nan`` and
    ``not_equal``.
    """

    @property
    def format(self) -> FloatFormat:
        """The format of the floats."""

    @property
    def double(self) -> Namespace[V]:
        """The namespace over float64, in equally many lanes."""

    def constant(self, number: float) -> V:
        """Returns a float in all lanes, rounded to the format."""

    def fma(self, x: V, y: V | float, z: V | float) -> V:
        """x * y + z, rounded once."""

    def sqrt(self, x: V) -> V:
        """Square root, correctly rounded; negative NaN; -0.0 stays."""

    def absolute(self, x: V) -> V:
        """x with its sign bit cleared."""

    def floor(self, x: V) -> V:
        """Returns the greatest integer that is not above x."""

    def truncate(self, x: V) -> V:
        """Returns x rounded toward zero."""

    def round(self, x: V) -> V:
        """Returns the nearest integer, halves to the even one."""

    def equal(self, x: V, y: V | float, /) -> V:
        """x == y of floats or integers."""

    def not_equal(self, x: V, y: V | float, /) -> V:
        """x != y of floats or integers; true for NaN."""

    def below(self, x: V | int, y: V | int, /) -> V:
        """x < y of unsigned integers, one of which may be a constant."""

    def is_nan(self, x: V, /) -> V:
        """Whether a float is NaN."""

    def where(self, condition: V, x: V | float, y: V | float) -> V:
        """x where the condition holds, else y."""

    def bits(self, x: V, /) -> V:
        """Returns the bits of a float as an integer of equally many bits."""

    def from_bits(self, x: V) -> V:
        """Returns the float with the bits ``x``."""

    def sign_bit(self, x: V) -> V:
        """Whether the uppermost bit of a float or an integer is set: true for -0.0."""

    def shift_left(self, x: V, places: V | int, /) -> V:
        """Shifts the bits of an integer up, by less than its width."""

    def shift_right(self, x: V, places: V | int, /) -> V:
        """Shifts the bits of an integer down, by less than its width; zeros enter from above."""

    def resized(self, x: V, bits: int) -> V:
        """Resizes an integer to 32, 64 or 128 bits: the upper ones are cut off, or are 0."""

    def from_integer(self, x: V) -> V:
        """Returns the float nearest to a signed integer, of any number of bits."""

    def widened(self, x: V) -> V:
        """Returns a float as one of float64."""

    def narrowed(self, x: V) -> V:
        """Returns a float64 rounded to the format."""

    def table_word(self, name: str, content: bytes, start: V) -> V:
        """Returns the 8 bytes of a table from the integer ``start`` on, the uppermost first, as an integer."""

    def repeated(self, x: V, goes_on: Callable[[V], V], change: Callable[[V], V]) -> V:
        """Returns x after as many changes as it takes until ``goes_on(x)`` holds in no lane, which seldom are any."""

    def rarely(self, needs: MathFunction, slow: MathFunction, x: V, usual: V) -> V:
        """Returns ``usual``, but ``slow(s, x)`` in the lanes for which ``needs(s, x)`` holds; it is computed
        separately, and only if there are any. The result of a lane depends on that lane alone. Two functions ``slow``
        must have two names.
        """


class MathFunction(Protocol):
    """A function of one value over any namespace."""

    @property
    def __name__(self) -> str: ...
    def __call__(self, s: Namespace[V], x: V, /) -> V: ...


class AnyFunction(Protocol):
    """A function of one or more values over any namespace."""

    def __call__(self, s: Namespace[V], /, *values: V) -> V: ...


def with_sign_of(s: Namespace[V], x: V, sign: V) -> V:
    """Returns x, which is not negative, with the sign of another value."""
    bits = s.bits(sign) & (1 << (s.format.bits - 1))
    return s.from_bits(s.bits(x) | bits)


def at_most(s: Namespace[V], x: V, limit: float) -> V:
    """Returns the smaller of x and ``limit``; NaN stays."""
    return s.where(x > limit, limit, x)


def at_least(s: Namespace[V], x: V, limit: float) -> V:
    """Returns the greater of x and ``limit``; NaN stays."""
    return s.where(x < limit, limit, x)


_UNFELT = {"float": 2.0 ** -100, "double": 2.0 ** -220}  # even powers of two, too small to matter


def square_beside_1(s: Namespace[V], x: V) -> V:
    """Returns x * x for a sum with a number near 1; for a tiny x, another number that vanishes in the sum.

    A product that would be denormal costs some processors a hundred cycles. A small number is subtracted from this
    one, so that it is not denormal, in as many instructions. If it matters in the sum it has the bits of the product:
    the rounding could only differ half way between two floats. Then x is an odd integer times a power of two, whose
    square is 1 modulo 8: the even neighbour is the lower one, too.
    """
    return s.fma(x, x, -_UNFELT[s.format.name])


def low_bits_as_power(s: Namespace[V], x: V) -> V:
    """Returns 2**(n - bias) from x, a sum of ``rounder`` and an integer n from 0 to 2 * bias; 0 for n = 0."""
    return s.from_bits(s.shift_left(s.bits(x), s.format.mantissa))


def split_constant(numerator: float, lost: float, format: FloatFormat) -> tuple[float, float]:
    """Splits ``numerator + lost``, a constant and its rounding error as a double, into two numbers of the format."""
    high = format.nearest(numerator)
    return high, format.nearest(math.fsum([numerator, -high, lost]))
