"""lgamma of negative numbers in float64, to the last digits at its zeros too.

Of x = d - n, where d is at most 1/2, |gamma(x)| is gamma(1 + d) / (|d| (1 - d) (2 - d) ... (n - d)). Near the poles
-3, -4, ... it comes by 1, so that its logarithm is 0 there, on both sides of each pole down to -17; sums of logarithms
have lost all digits. So the product is taken as a sum of two parts, of which the second is what the first cannot
hold, and its logarithm once. 1 / gamma(1 + d) is an entire function, whose series in powers of d (M. Abramowitz and
I. Stegun, "Handbook of mathematical functions", 6.1.34) has 34 terms at this precision.

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import DOUBLE
>>> lgamma_near_poles(Arrays(DOUBLE), np.array([-0.5, -2.4570247382208006])).round(20)
array([1.26551212e+00, 5.61900000e-17])
"""

from __future__ import annotations

from nervure.kernel.math.logarithm import log, log1p
from nervure.kernel.math.namespace import Namespace, V
from nervure.kernel.math.pairs import Constants, Pair, polynomial_of_pairs

LEAST = -32.5
"""From here down the terms of Euler's reflection cancel no more, whatever float64 x is."""

_RECIPROCAL_GAMMA: Constants = ((
    1.0, 0.5772156649015329, -0.6558780715202539, -0.04200263503409524, 0.16653861138229148, -0.04219773455554433,
    -0.009621971527876973, 0.0072189432466631, -0.0011651675918590652, -0.00021524167411495098,
    0.0001280502823881162, -2.013485478078824e-05, -1.2504934821426706e-06, 1.133027231981696e-06,
    -2.056338416977607e-07, 6.116095104481416e-09, 5.002007644469223e-09, -1.18127457048702e-09,
    1.0434267116911005e-10, 7.782263439905071e-12, -3.696805618642206e-12, 5.100370287454476e-13,
    -2.0583260535665066e-14, -5.348122539423018e-15, 1.2267786282382608e-15, -1.1812593016974588e-16,
    1.1866922547516004e-18, 1.4123806553180319e-18, -2.29874568443537e-19, 1.7144063219273374e-20,
    1.337351730493693e-22, -2.0542335517666728e-22, 2.736030048608e-23, -1.7323564459105165e-24), (
    0.0, -4.942915152430645e-18, 2.137185197068536e-17, 1.4920306285650505e-18, 1.0189144546842026e-17,
    -3.3579992682480134e-18, -5.300031368830263e-19, -3.6006537063394283e-19, 5.659947853880981e-20,
    2.3758686180729364e-21, -9.359124499198967e-21, 3.0488773972037385e-23, -2.66214092271898e-23,
    -4.622235212104869e-23, -3.0061601618645134e-24, -2.693458298171306e-25, -1.538123614056751e-26,
    -1.0052356155716208e-25, -2.9298419956825035e-27, 4.397255556595848e-28))
"""1 / gamma(1 + d) in powers of d."""


def lgamma_near_poles(s: Namespace[V], x: V) -> V:
    """log |gamma(x)| of float64 x from ``LEAST`` to -1/2, which is no integer."""
    whole = s.round(x)
    d = x - whole
    product = (Pair(s, s.absolute(d)) * polynomial_of_pairs(s, Pair(s, d), _RECIPROCAL_GAMMA)).normal()
    for k in range(1, round(-LEAST) + 1):
        factor = k - d
        is_there = whole < 0.5 - k
        lost = s.where(is_there, (k - factor) - d, 0.0)
        product = (Pair(s, s.where(is_there, factor, 1.0), lost) * product).normal()
    high, low = product.parts()
    beside_1 = log1p(s, (high - 1.0) + low)
    return -s.where((high > 0.5) & (high < 2.0), beside_1, log(s, high) + low / high)
