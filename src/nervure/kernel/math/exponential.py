"""Exponentials, by Cody-Waite reduction, x = n log(2) + r, a minimax polynomial in r, and 2**n from the exponent's
bits. Sigmoid and softplus never overflow, and keep their relative precision down to denormals.

n is rounded by adding 1.5 * 2**23, after which it is in the lowest bits of the sum; log(2) is two constants, so that r
is right to its last place (W. Cody and W. Waite, "Software manual for the elementary functions", 1980).

Arithmetic that makes a denormal costs some processors a hundred cycles, even if the result rounds to 0. So an argument
whose result rounds to 0 is replaced, before the computation, by one whose 2**n is exactly 0 (for a sigmoid: infinite
below the fraction), and all factors of it stay in range.

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(exp, np.float32([1, -100])), evaluate(sigmoid, np.float32([0, -100]))
(array([2.7182817e+00, 3.7835059e-44], dtype=float32), array([5.0e-01, 3.8e-44], dtype=float32))
"""

from __future__ import annotations

import math
from typing import Generic, NamedTuple

from nervure.kernel.math.coefficients import EXP, EXP2, SOFTPLUS
from nervure.kernel.math.minimax import polynomial
from nervure.kernel.math.namespace import (
    Namespace,
    V,
    at_least,
    at_most,
    low_bits_as_power,
    split_constant,
    square_beside_1,
)

LOG_2 = (math.log(2), 2.3190468138462996e-17)  # and the part that a double cannot hold

# The least arguments whose results do not round to 0: for e ** x, sigmoid and softplus; for 2 ** x.
_LEAST = {"float": -103.97207641601562, "double": -745.1332191019411}
_LEAST_OF_TWO = {"float": -149.99998474121094, "double": -1074.9999999999998}


class Reduced(NamedTuple, Generic[V]):
    """The reduction x = n log(2) + r, with |r| at most slightly above log(2) / 2."""

    counter: V  # rounder + bias + n, or as the function that returns it says
    n: V
    r: V


def reduce(s: Namespace[V], x: V, bias: int) -> Reduced[V]:
    """Splits off the nearest multiple of log(2); |x| is at most some thousands."""
    format = s.format
    high, low = split_constant(*LOG_2, format)
    counter = s.fma(x, 1 / math.log(2), format.rounder + bias)
    n = counter - (format.rounder + bias)
    return Reduced(counter, n, s.fma(n, -low, s.fma(n, -high, x)))


def exp(s: Namespace[V], x: V) -> V:
    """e ** x; -inf gives 0, inf gives inf."""
    reduced = reduce(s, within_exponents(s, x, x < _LEAST[s.format.name], math.log(2)), 2 * s.format.bias)
    first, second = powers_of_two(s, reduced.counter)
    return s.fma(expm1_of_small(s, reduced.r), first, first) * second


def exp2(s: Namespace[V], x: V) -> V:
    """2 ** x; exact for integers."""
    counter, n, r = split_exponent(s, within_exponents(s, x, x < _LEAST_OF_TWO[s.format.name]))
    first, second = powers_of_two(s, counter)
    return s.fma(polynomial(s, r, EXP2), r * first, first) * second


def expm1(s: Namespace[V], x: V) -> V:
    """e ** x - 1, exact near 0; -0.0 stays."""
    format = s.format
    bounded = at_least(s, at_most(s, x, (format.bias + 1.3) * math.log(2)), -(format.mantissa + 3) * math.log(2))
    reduced = reduce(s, bounded, format.bias - 1)
    half_scale = low_bits_as_power(s, reduced.counter)  # 2**n may overflow when e**x does not
    half = s.fma(half_scale, expm1_of_small(s, reduced.r), half_scale - 0.5)
    return s.where(s.absolute(x) < format.tiny, x, half + half)


def sigmoid(s: Namespace[V], x: V) -> V:
    """1 / (1 + e ** -x); 0 and 1 at infinities."""
    format = s.format
    # Both sides of the fraction are scaled by ``one``, so that e**-x is in range when the result is denormal.
    shift = (format.bias + 1) // 4
    one = 2.0 ** -shift
    infinite = (format.bias + 1 + shift + 0.25) * math.log(2)  # for which the power is infinite, and its factor, too
    bounded = s.where(x < _LEAST[format.name], infinite, at_least(s, -x, -(format.mantissa + 3) * math.log(2)))
    reduced = reduce(s, bounded, format.bias - shift)
    power = low_bits_as_power(s, reduced.counter)
    # In this order: ``power + one`` first would lose all of ``one`` for x near -17.
    return one / (s.fma(power, expm1_of_small(s, reduced.r), one) + power)


def softplus(s: Namespace[V], x: V) -> V:
    """log(1 + e ** x); 0 at -inf, inf at inf."""
    format = s.format
    shift = 3 * (format.bias + 1) // 4  # the power is far from overflow: its scale is shifted up first and down at last
    # Beside a positive x, the power vanishes long before it is too small for a number.
    size = s.absolute(at_most(s, x, (format.mantissa + 3) * math.log(2)))
    bounded = s.where(x < _LEAST[format.name], -(format.bias + shift) * math.log(2), -size)
    reduced = reduce(s, bounded, format.bias + shift)
    scale = low_bits_as_power(s, reduced.counter)
    power = s.fma(expm1_of_small(s, reduced.r), scale, scale) * 2.0 ** -shift
    return at_least(s, x, 0.0) + power * polynomial(s, power - 0.5, SOFTPLUS)  # log(1 + power), precise down to 0


def split_exponent(s: Namespace[V], x: V) -> Reduced[V]:
    """Splits x = n + r, with |r| <= 1/2, for a power of two of moderate x; the counter is for :func:`powers_of_two`.
    """
    rounder = s.format.rounder + 2 * s.format.bias
    counter = x + rounder
    n = counter - rounder
    return Reduced(counter, n, x - n)


def expm1_of_small(s: Namespace[V], r: V) -> V:
    """Returns e ** r - 1 of a reduced argument, to be added to 1: near 0 it is accurate only in such a sum."""
    return s.fma(square_beside_1(s, r), polynomial(s, r, EXP), r)


def within_exponents(s: Namespace[V], x: V, vanishes: V, unit: float = 1.0) -> V:
    """Limits x to ``unit`` times an exponent with an infinite power of two. If it ``vanishes``, returns ``unit`` times
    an exponent for which both of :func:`powers_of_two` are 0.
    """
    bias = s.format.bias
    return s.where(vanishes, -2 * bias * unit, at_most(s, x, (bias + 1.3) * unit))


def powers_of_two(s: Namespace[V], counter: V) -> tuple[V, V]:
    """Returns two powers of two whose product is 2**n, from the counter rounder + 2 * bias + n. A multiplication by
    the first is exact; the one by the second may then round or overflow.
    """
    format = s.format
    bits = s.bits(counter)
    first = s.shift_left(bits, format.mantissa - 1) & format.sign_and_exponent
    second = s.shift_left(bits, format.mantissa) - first
    return s.from_bits(first), s.from_bits(second)
