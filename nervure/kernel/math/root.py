"""Roots: sqrt is a primitive; cbrt is a bit-level guess and Newton's iteration on the reciprocal root; no division.

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(cbrt, np.array([-27.0, 1e-321])), evaluate(rsqrt, np.array([-0.0, 4.0]))
(array([-3.00000000e+000,  9.99337096e-108]), array([-inf,  0.5]))
"""

from __future__ import annotations

import math

from nervure.kernel.math.minimax import horner
from nervure.kernel.math.namespace import Namespace, V, with_sign_of

_LOGARITHM_EXCESS = 0.0450  # log2(1 + f) - f, about the middle of its range: the least error of the first guess


def sqrt(s: Namespace[V], x: V) -> V:
    """Square root, correctly rounded; negative NaN; -0.0 stays."""
    return s.sqrt(x)


def rsqrt(s: Namespace[V], x: V) -> V:
    """1 / sqrt(x); 0 gives inf with the sign of the zero, negative NaN, inf 0."""
    return 1.0 / s.sqrt(x)


def cbrt(s: Namespace[V], x: V) -> V:
    """Real cube root, of negative numbers too."""
    format, size = s.format, s.absolute(x)
    is_small = size < format.smallest_normal
    lift = format.mantissa // 3 + 1
    a = s.where(is_small, size * 2.0 ** (3 * lift), size)
    z = _about_reciprocal_cbrt(s, a)
    for _ in range(1 if format.mantissa == 23 else 2):
        error = s.fma(-(a * z), z * z, 1.0)  # (1 - error) ** (-1/3) is a series
        z = s.fma(z * error, horner(s, error, (1 / 3, 2 / 9, 14 / 81)), z)
    square = z * z
    root = a * square
    root = s.fma(square * (1 / 3), s.fma(-(root * root), root, a), root)  # Newton's step for root**3 = a
    root = s.where(is_small, root * 2.0 ** -lift, root)
    return with_sign_of(s, s.where(size < math.inf, root, size), x)


def _about_reciprocal_cbrt(s: Namespace[V], x: V) -> V:
    """x ** (-1/3) within 4 %: the upper bits of a float are nearly its logarithm, and are divided by -3."""
    format = s.format
    fraction = 12  # bits after the logarithm's point
    place = 2.0 ** format.mantissa
    bits = s.shift_right(s.bits(x), format.mantissa - fraction) | format.bits_of(place)
    origin = 4 / 3 * (format.bias - _LOGARITHM_EXCESS) * 2 ** fraction
    counter = s.fma(s.from_bits(bits), -1 / 3, round(format.rounder + origin + place / 3))
    return s.from_bits(s.shift_left(s.bits(counter), format.mantissa - fraction))
