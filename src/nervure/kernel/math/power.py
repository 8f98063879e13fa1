"""Powers in double-word arithmetic, and roots: sqrt is a primitive; cbrt is Newton's iteration on the reciprocal root.

x ** y is 2 ** (y log2(abs(x))), with IEEE 754's table of special cases. The exponent may be as large as 1,000 and
must be right to the last place of a number near 1: hence ten bits more than the format has. With x = 2**k m and q =
(m - 1) / (m + 1), log(m) is 2 (q + q**3 / 3 + q**5 / 5 + ...); all but the sum from q**5 on is computed in pairs of
floats (``pairs.py``).

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(power, np.array([2.0, -8.0, -8.0]), np.array([0.5, 3.0, 0.5]))
array([   1.41421356, -512.        ,           nan])
>>> evaluate(cbrt, np.array([-27.0, 1e-321])), evaluate(rsqrt, np.array([-0.0, 4.0]))
(array([-3.00000000e+000,  9.99337096e-108]), array([-inf,  0.5]))
"""

from __future__ import annotations

import math

from nervure.kernel.math.coefficients import EXP, POWER
from nervure.kernel.math.exponential import LOG_2, powers_of_two, split_exponent, within_exponents
from nervure.kernel.math.logarithm import TWO, split
from nervure.kernel.math.minimax import horner, polynomial
from nervure.kernel.math.namespace import Namespace, V, at_least, at_most, with_sign_of
from nervure.kernel.math.pairs import Pair, constant

_THIRD = (1 / 3, 1.850371707708594e-17)  # and the part that a double cannot hold
_LOGARITHM_EXCESS = 0.0450  # log2(1 + f) - f near the middle of its range, for the smallest error of the first guess


def power(s: Namespace[V], x: V, y: V) -> V:
    """x ** y; 1 ** y and x ** 0 are 1, even for NaN; a negative x has powers for integers y, else NaN."""
    size = s.absolute(x)
    is_integer = s.equal(s.floor(y), y)
    half = s.where(is_integer, y, 0.0) * 0.5
    is_odd = is_integer & s.not_equal(s.floor(half), half)
    is_undefined, is_usual = (x < 0.0) & ~is_integer, (size > 0.0) & (size < math.inf)
    result = _power_of_size(s, size, s.where(is_usual & ~is_undefined, y, 0.0))
    at_end = s.where(s.equal(size, math.inf) ^ (y < 0.0), math.inf, 0.0)
    result = s.where(is_usual, s.where(is_undefined, math.nan, result), at_end)
    result = s.where(is_odd, with_sign_of(s, result, x), result)
    result = s.where(s.is_nan(x) | s.is_nan(y), math.nan, result)
    return s.where(s.equal(x, 1.0) | s.equal(y, 0.0), 1.0, result)


def _power_of_size(s: Namespace[V], size: V, y: V) -> V:
    """Returns size ** y for a positive finite ``size``."""
    # Beyond this every power of every size but 1 is 0 or inf, and within it no product overflows; for y below its
    # reciprocal every power is 1, and no product is denormal.
    largest = 2.0 ** (s.format.mantissa + 14)
    y = s.where(s.absolute(y) < 1.0 / largest, 0.0, at_least(s, at_most(s, y, largest), -largest))
    exponent = _log2(s, size) * Pair(s, y)
    # Half the least denormal rounds to 0 as well, and the low part decides whether the number is exactly that.
    bounded = within_exponents(s, exponent.high, exponent.high < -(s.format.bias + s.format.mantissa))
    assert exponent.low is not None
    return _exp2(s, bounded, s.where(s.equal(bounded, exponent.high), exponent.low, 0.0))


def _exp2(s: Namespace[V], high: V, low: V) -> V:
    """Returns 2 ** (high + low), nearly correctly rounded: powers that are whole numbers are exact."""
    counter, _, fraction = split_exponent(s, high)
    r = (Pair(s, fraction) + Pair(s, low)) * constant(s, *LOG_2)
    total = Pair(s, s.constant(1.0)) + r
    assert total.low is not None
    first, second = powers_of_two(s, counter)
    return (total.high + s.fma(r.high * r.high, polynomial(s, r.high, EXP), total.low)) * first * second


def _log2(s: Namespace[V], x: V) -> Pair[V]:
    m, k = split(s, x, math.sqrt(0.5))
    one = Pair(s, s.constant(1.0))
    quotient = Pair(s, m - 1.0) / (one + Pair(s, m))  # m has the exponent of 1 or one less, so the sum is exact
    square = quotient * quotient
    series = constant(s, *_THIRD) + Pair(s, square.high * polynomial(s, square.high, POWER.of(s.format)[1:]))
    log = quotient + quotient * square * series
    return Pair(s, k) + log * constant(s, 2 * TWO.unit[0], 2 * TWO.unit[1])


# -- roots ---------------------------------------------------------------------------------------------------------


def sqrt(s: Namespace[V], x: V) -> V:
    """Square root, correctly rounded; negative NaN; -0.0 stays."""
    return s.sqrt(x)


def rsqrt(s: Namespace[V], x: V) -> V:
    """1 / sqrt(x); 0 gives inf with the sign of the zero, negative NaN, inf 0."""
    return 1.0 / s.sqrt(x)


def cbrt(s: Namespace[V], x: V) -> V:
    """Real cube root, of negative numbers too."""
    format, size = s.format, s.absolute(x)
    lift = 2 * (format.mantissa + 1) // 3 + 1  # the residual of the last step is a multiple of the last place squared
    is_small = size < format.smallest_normal * 2.0 ** (3 * lift)
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
    """Returns x ** (-1/3) within 4 %: the upper bits of a float approximate its logarithm, and are divided by -3."""
    format = s.format
    fraction = 12  # bits after the logarithm's point
    place = 2.0 ** format.mantissa
    bits = s.shift_right(s.bits(x), format.mantissa - fraction) | format.bits_of(place)
    origin = 4 / 3 * (format.bias - _LOGARITHM_EXCESS) * 2 ** fraction
    counter = s.fma(s.from_bits(bits), -1 / 3, round(format.rounder + origin + place / 3))
    return s.from_bits(s.shift_left(s.bits(counter), format.mantissa - fraction))
