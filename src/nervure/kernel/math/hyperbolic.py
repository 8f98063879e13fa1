"""Hyperbolic functions by the reduction of exponentials and addition theorems, their inverses by logarithms.

All are computed for abs(x); the sign is restored at the end. tanh is a minimax polynomial near 0, else 1 - 2 / (e**2x
+ 1). sinh and cosh come from those of a small r = abs(x) - n log(2), which are short polynomials, by their addition
theorems, so without a division. The inverses are logarithms of 1 plus a number that stays precise near 0 (W. Kahan,
"Branch cuts for complex elementary functions", 1987).

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(tanh, np.array([-0.0, 1.0, np.inf])), evaluate(asinh, np.array([-1e300]))
(array([-0.        ,  0.76159416,  1.        ]), array([-691.46867508]))
"""

from __future__ import annotations

import math
from typing import Generic, NamedTuple

from nervure.kernel.math.coefficients import COSH, SINH, TANH
from nervure.kernel.math.exponential import expm1_of_small, reduce
from nervure.kernel.math.logarithm import log1p, log1p_doubled
from nervure.kernel.math.minimax import odd_polynomial, polynomial
from nervure.kernel.math.namespace import (
    Namespace,
    V,
    at_least,
    at_most,
    low_bits_as_power,
    square_beside_1,
    with_sign_of,
)

_NEAR = 0.55  # tanh(0.55) is slightly above 1/2
_LARGE = 2.0 ** 60  # the square is finite, and 1 is negligible beside it, in float and double


def tanh(s: Namespace[V], x: V) -> V:
    """Hyperbolic tangent; +-1 at infinities."""
    format, size = s.format, s.absolute(x)
    near = odd_polynomial(s, size, square_beside_1(s, size), TANH)
    bounded = at_most(s, size, 0.4 * format.mantissa)  # tanh rounds to 1 well before
    reduced = reduce(s, bounded + bounded, format.bias)
    power = low_bits_as_power(s, reduced.counter)
    far = 1.0 - 2.0 / s.fma(power, expm1_of_small(s, reduced.r), power + 1.0)
    return with_sign_of(s, s.where(size < _NEAR, near, far), x)


def sinh(s: Namespace[V], x: V) -> V:
    """Hyperbolic sine."""
    size = s.absolute(x)
    parts = _hyperbolic_parts(s, size)
    half = parts.odd + s.fma(parts.odd, parts.cosh_less_1, parts.even * parts.sinh)
    return with_sign_of(s, s.where(size < s.format.tiny, size, half + half), x)


def cosh(s: Namespace[V], x: V) -> V:
    """Hyperbolic cosine."""
    parts = _hyperbolic_parts(s, s.absolute(x))
    half = parts.even + s.fma(parts.even, parts.cosh_less_1, parts.odd * parts.sinh)
    return half + half


def asinh(s: Namespace[V], x: V) -> V:
    """Inverse of sinh."""
    size = s.absolute(x)
    square = square_beside_1(s, size)
    near = size + square / (s.sqrt(square + 1.0) + 1.0)
    return with_sign_of(s, s.where(size < s.format.tiny, size, _log1p_or_doubled(s, size, near)), x)


def acosh(s: Namespace[V], x: V) -> V:
    """Inverse of cosh; below 1 NaN."""
    above = x - 1.0
    near = above + s.sqrt(above * (above + 2.0))
    return s.where(x < 1.0, math.nan, _log1p_or_doubled(s, x, near))


def atanh(s: Namespace[V], x: V) -> V:
    """Inverse of tanh; +-1 gives +-inf, outside NaN."""
    size = s.absolute(x)
    return with_sign_of(s, log1p(s, (size + size) / (1.0 - size)) * 0.5, x)


class _Parts(NamedTuple, Generic[V]):
    """The parts of x = n log(2) + r: cosh(n log(2)) / 2 and sinh(n log(2)) / 2, cosh(r) - 1 and sinh(r)."""

    even: V
    odd: V
    cosh_less_1: V
    sinh: V


def _hyperbolic_parts(s: Namespace[V], x: V) -> _Parts[V]:
    """Returns the parts of x, which is not negative."""
    format = s.format
    bias = format.bias - 2  # both powers of two are divided by 4, as e**x may overflow when sinh(x) does not
    reduced = reduce(s, at_most(s, x, (format.bias + 2.1) * math.log(2)), bias)
    rising = low_bits_as_power(s, reduced.counter)
    falling = low_bits_as_power(s, at_least(s, (format.rounder + bias) - reduced.n, format.rounder))
    square = square_beside_1(s, reduced.r)
    return _Parts(rising + falling, rising - falling, square * polynomial(s, square, COSH),
                  odd_polynomial(s, reduced.r, square, SINH))


def _log1p_or_doubled(s: Namespace[V], x: V, near: V) -> V:
    """Returns log1p(near), or log(2 x) for x so large that ``near`` may be out of range."""
    is_large = x > _LARGE
    return log1p_doubled(s, s.where(is_large, x, near), s.where(is_large, s.constant(1.0), 0.0))
