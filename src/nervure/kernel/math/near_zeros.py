"""digamma of negative numbers in float64, accurate to the last digits even at its zeros.

digamma(x) is digamma(1 - x) - pi cot(pi x) (M. Abramowitz and I. Stegun, "Handbook of mathematical functions", 6.3.7),
and between any two poles both terms are equal somewhere, so that there is a zero. A float beside it may leave 2**-54
of terms near 2, with a last place of 2**-106. So each term is a list of floats whose sum has that accuracy, and the
lists are summed in three times the digits.

The distance of the zero from the pole -n below it is about 1 / log(n). From -2**48 on floats are so far apart that the
zero lies between the pole and the next float, and from -2**52 on every float is a pole.

With d as x less the nearest integer, which is exact, pi cot(pi x) is 1/d - 1/(1 - d) + 1/(1 + d) less 2 d times the
series of zeta(2 k) - 1 in powers of d**2 (4.3.91 there, without the poles at 1 and -1). 1 - x is raised to 16
or more, where digamma is its asymptotic series (6.3.18) to 2**-112.

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import DOUBLE
>>> digamma_near_zeros(Arrays(DOUBLE), np.array([-0.5, -0.5040830082644554]))
array([3.6489974e-02, 7.2897639e-17])
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from nervure.kernel.math.logarithm import split
from nervure.kernel.math.namespace import Namespace, V
from nervure.kernel.math.pairs import Constants, Pair, in_parts, polynomial_of_pairs, sum_and_rest, total, where

NEAREST, FARTHEST = -(2.0 ** -60), -(2.0 ** 52)
"""The ends of the range: closer to 0, digamma(x) is -1 / x to the last digit; beyond the second all floats are
integers, and poles.
"""

_ZETA: Constants = ((
    0.6449340668482264, 0.08232323371113819, 0.01734306198444914, 0.00407735619794434, 0.0009945751278180853,
    0.0002460865533080483, 6.124813505870483e-05, 1.528225940865187e-05, 3.81729326499984e-06, 9.539620338727962e-07,
    2.38450502727733e-07, 5.960818905125948e-08, 1.4901554828365043e-08, 3.725334024788457e-09, 9.313274324196682e-10,
    2.3283118336765053e-10, 5.820772087902701e-11, 1.4551921891041985e-11, 3.637979547378651e-12,
    9.094947840263888e-13, 2.2737368458246524e-13, 5.684341987627585e-14, 1.4210854828031608e-14,
    3.552713691337114e-15, 8.881784210930816e-16, 2.220446050798042e-16, 5.551115124845481e-17,
    1.3877787809725232e-17), (
    3.040672350398476e-17, 5.851757005110278e-18, -4.414770097141147e-19, -2.2242833400456106e-19,
    8.155271993117836e-20, -2.126804481899407e-20, 1.5932044187197156e-21, 7.677620188142347e-22,
    -3.619576661891535e-22, -9.885419869008806e-23, -1.4348855177581243e-23, -4.84489270891793e-25,
    -1.4462631435868446e-24, -2.2838109257068324e-25, 1.7251523768776834e-26))
"""zeta(2) - 1, zeta(4) - 1, ..."""

_LOG_2 = (0.693147180559933, 1.23466660414776e-14, 1.011689003775276e-28)
"""log(2) in three parts; the first two have exact products with the exponents of doubles up to 2**53."""

_START = 16  # where the asymptotic series is used


def digamma_near_zeros(s: Namespace[V], x: V) -> V:
    """Returns digamma of float64 x from ``FARTHEST`` to ``NEAREST``, which is no integer."""
    mirrored = Pair(s, *sum_and_rest(s.constant(1.0), -x))
    return total(s, _digamma_in_terms(s, mirrored) + _cotangent_in_terms(s, s.round(x) - x))


def _cotangent_in_terms(s: Namespace[V], d: V) -> list[V]:
    """Returns pi cot(pi d) for |d| <= 1/2, as numbers whose sum it is."""
    above, below = [Pair(s, *sum_and_rest(s.constant(1.0), part)) for part in (d, -d)]
    series = Pair(s, d * -2.0) * polynomial_of_pairs(s, Pair(s, d) * Pair(s, d), _ZETA)
    return [*_reciprocal_in_terms(s, Pair(s, d)), *_reciprocal_in_terms(s, above),
            *[-term for term in _reciprocal_in_terms(s, below)], *series.parts()]


def _reciprocal_in_terms(s: Namespace[V], y: Pair[V]) -> list[V]:
    """Returns 1 / y, as numbers whose sum it is."""
    inverse, low = (Pair(s, s.constant(1.0)) / y).parts()
    rest = s.fma(-inverse, y.high, 1.0)
    rest = rest if y.low is None else s.fma(-inverse, y.low, rest)
    return [inverse, low, s.fma(-low, y.high, rest) * inverse]


def _digamma_in_terms(s: Namespace[V], y: Pair[V]) -> list[V]:
    """Returns digamma(y) for y >= 1, as numbers whose sum it is."""
    one, below = Pair(s, s.constant(1.0)), Pair(s, s.constant(0.0))
    for _ in range(_START - 1):  # digamma(y) = digamma(y + 1) - 1 / y
        is_there = y.high < _START
        below = where(s, is_there, below + one / y, below)
        y = where(s, is_there, y + one, y)
    inverse = one / y
    series = inverse * polynomial_of_pairs(s, inverse * inverse, _asymptotic_series())
    below = below + inverse * (Pair(s, s.constant(0.5)) + series)
    return [*_log_in_terms(s, y), *[-part for part in below.parts()]]


def _log_in_terms(s: Namespace[V], y: Pair[V]) -> list[V]:
    """Returns log(y), as numbers whose sum it is. With q = (m - 1) / (m + 1), log(m) is 2 (q + q**3 / 3 + q**5 / 5 +
    ...).
    """
    high, low = y.parts()
    m, k = split(s, high, math.sqrt(0.5))
    q = Pair(s, m - 1.0) / (Pair(s, s.constant(1.0)) + Pair(s, m))
    square = q * q
    series = q * square * polynomial_of_pairs(s, square, _logarithmic_series())
    step = low / high
    return [*[k * part for part in _LOG_2], *[part * 2.0 for part in q.parts()], *series.parts(),
            s.fma(step * -0.5, step, step)]


@cache
def _asymptotic_series() -> Constants:
    """Returns B(2)/2, B(4)/4, ... of the Bernoulli numbers."""
    numbers = [Fraction(1)]
    for n in range(1, 41):
        rest = sum([math.comb(n + 1, k) * number for k, number in enumerate(numbers)], Fraction(0))
        numbers.append(-rest / (n + 1))
    return in_parts([numbers[n] / n for n in range(2, 41, 2)], 7)


@cache
def _logarithmic_series() -> Constants:
    """Returns 2/3, 2/5, 2/7, ..."""
    return in_parts([Fraction(2, n) for n in range(3, 45, 2)], 10)
