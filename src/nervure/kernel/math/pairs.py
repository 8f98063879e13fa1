"""Numbers as sums of two floats, the second being the rounding error of the first: nearly twice the digits.

This is double-word arithmetic. The low parts of a :class:`Pair` are themselves rounded (T. Dekker, "A floating-point
technique for extending the available precision", 1971): of 106 bits of a double about 100 remain after a few steps.

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import DOUBLE
>>> s, third = Arrays(DOUBLE), np.array([1 / 3])
>>> (Pair(s, third) * Pair(s, third)).low
array([-6.16790569e-18])
>>> total(s, [third, np.array([1e17]), np.array([-1e17])])
array([0.33333333])
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Generic

from nervure.kernel.math.namespace import Namespace, V, split_constant

Constants = tuple[tuple[float, ...], tuple[float, ...]]
"""Coefficients of float64, lowest power first, and the rounding errors of the first ones."""


class Pair(Generic[V]):
    """high + low, where low is at most a few units of high's last place, or None for 0."""

    __slots__ = ("high", "low", "s")

    def __init__(self, s: Namespace[V], high: V, low: V | None = None) -> None:
        self.s, self.high, self.low = s, high, low

    def __add__(self, other: Pair[V]) -> Pair[V]:
        """Adds another pair; self must be 0 or not smaller than the other in magnitude."""
        high = self.high + other.high
        low = (self.high - high) + other.high
        for rest in (self.low, other.low):
            low = low if rest is None else low + rest
        return Pair(self.s, high, low)

    def __mul__(self, other: Pair[V]) -> Pair[V]:
        s, high = self.s, self.high * other.high
        low = s.fma(self.high, other.high, -high)
        low = low if other.low is None else s.fma(self.high, other.low, low)
        return Pair(s, high, low if self.low is None else s.fma(self.low, other.high, low))

    def __truediv__(self, other: Pair[V]) -> Pair[V]:
        """Divides self, which has no low part."""
        s, reciprocal = self.s, 1.0 / other.high
        high = self.high * reciprocal
        rest = s.fma(-high, other.high, self.high)
        rest = rest if other.low is None else s.fma(-high, other.low, rest)
        return Pair(s, high, rest * reciprocal)

    def normal(self) -> Pair[V]:
        """Returns the same sum with the high part as close to it as possible."""
        high, low = self.parts()
        whole = high + low
        return Pair(self.s, whole, low - (whole - high))

    def parts(self) -> tuple[V, V]:
        """Returns the high and the low part."""
        return self.high, self.s.constant(0.0) if self.low is None else self.low


def constant(s: Namespace[V], numerator: float, lost: float) -> Pair[V]:
    """Returns ``numerator + lost``, a constant as a double and its rounding error."""
    high, low = split_constant(numerator, lost, s.format)
    return Pair(s, s.constant(high), s.constant(low))


def sum_and_rest(x: V, y: V | float) -> tuple[V, V]:
    """Returns the rounded sum and its error, exactly (D. Knuth, "The art of computer programming", 4.2.2)."""
    total = x + y
    step = total - x
    return total, (x - (total - step)) + (y - step)


def where(s: Namespace[V], condition: V, x: Pair[V], y: Pair[V]) -> Pair[V]:
    """Returns x where the ``condition`` holds, else y."""
    return Pair(s, *[s.where(condition, left, right) for left, right in zip(x.parts(), y.parts())])


def in_parts(numbers: Sequence[Fraction], low: int) -> Constants:
    """Returns the constants of exact coefficients, with the low parts of the first ``low`` of them."""
    highs = [float(number) for number in numbers]
    return tuple(highs), tuple([float(number - Fraction(high)) for number, high in zip(numbers[:low], highs)])


def polynomial_of_pairs(s: Namespace[V], x: Pair[V], constants: Constants) -> Pair[V]:
    """Evaluates c0 + c1 x + c2 x**2 + ... by Horner's rule, for float64; the last of ``constants`` need no low parts.
    """
    highs, lows = constants
    high, low = s.constant(highs[-1]), s.constant(0.0)
    for c in reversed(highs[len(lows):-1]):
        high = s.fma(high, x.high, c)
    for c, lost in zip(reversed(highs[:len(lows)]), reversed(lows), strict=True):
        product = Pair(s, high, low) * x
        whole, rest = sum_and_rest(s.constant(c), product.high)
        high, low = Pair(s, whole, rest + (product.parts()[1] + lost)).normal().parts()
    return Pair(s, high, low)


def total(s: Namespace[V], terms: Sequence[V]) -> V:
    """Sums floats as if in three times the digits with one rounding: accurate even if the ``terms`` cancel.

    The errors of the rounded sums are summed in turn, and so are the errors of those sums (T. Ogita, S. Rump and S.
    Oishi, "Accurate sum and dot product", 2005).
    """
    first, second, third = terms[0], s.constant(0.0), s.constant(0.0)
    for term in terms[1:]:
        first, rest = sum_and_rest(first, term)
        second, rest = sum_and_rest(second, rest)
        third = third + rest
    return (first + second) + third
