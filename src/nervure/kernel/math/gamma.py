"""lgamma and digamma: a minimax polynomial around one interval, recurrence to it, Stirling's series beyond, and Euler's
reflection below 0.

Of x < 3.3125, lgamma(x) is lgamma(2 + w), where w is x less an integer and in [-11/16, 5/16], and the logarithm of a
product of at most two factors; beyond, it is (x - 1/2) (log(x) - 1) + c + S(1/x**2) / x, where S is not the asymptotic
series but the polynomial of least error, so that 3.3125 is far enough. Likewise digamma (M. Abramowitz and I. Stegun,
"Handbook of mathematical functions", 6.1 and 6.3). The logarithm is kept as a sum of two parts: where its factor is
large, its own rounding would show. Negative arguments are computed apart, in double, which is enough for a float
even where the terms cancel. It is not for doubles, whose lgamma is a product near its zeros (``near_poles.py``) and
whose digamma is a sum of more digits (``near_zeros.py``).

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(lgamma, np.float32([5, -0.5])), evaluate(digamma, np.float32([5, -0.5]))
(array([3.1780539, 1.2655121], dtype=float32), array([1.5061177 , 0.03648997], dtype=float32))
"""

from __future__ import annotations

import math

from nervure.kernel.math.coefficients import LOG
from nervure.kernel.math.exponential import LOG_2
from nervure.kernel.math.logarithm import log, split
from nervure.kernel.math.minimax import Coefficients, polynomial
from nervure.kernel.math.namespace import DOUBLE, Namespace, V, at_least, at_most, split_constant, with_sign_of
from nervure.kernel.math.near_poles import LEAST, lgamma_near_poles
from nervure.kernel.math.near_zeros import FARTHEST, NEAREST, digamma_near_zeros
from nervure.kernel.math.trigonometric import sine_over_angle, tan_of_moderate_angle

# Minimax in relative error of the result by Remez' exchange, the leading coefficients rounded first, the rest refitted.
# lgamma(2 + w) / w in powers of w, on [-11/16, 5/16]: 2**-25.1 and 2**-54.4.
_LGAMMA_NEAR = Coefficients(
    float=(4.2278433e-01, 3.2246718e-01, -6.735127e-02, 2.0575898e-02, -7.413518e-03, 2.911261e-03,
           -9.85301e-04, 6.84529e-04, -3.576054e-04),
    double=(0.42278433509846713, 0.3224670334241138, -0.06735230105319412, 0.02058080842765583,
            -0.0073855510292719345, 0.002890510338458112, -0.0011927538764504647, 0.0005096693401114076,
            -0.0002231557464295739, 9.945919414347117e-05, -4.491231159180119e-05, 2.0509336332296435e-05,
            -9.53329814213478e-06, 4.249564246903751e-06, -1.8208814681891625e-06, 1.5606334981875512e-06,
            -2.190396191147618e-07, -2.7883950715449027e-07, -5.640393597442292e-07))

# (lgamma(x) - (x - 1/2) (log(x) - 1) - c) x in powers of 1/x**2, for x >= 3.3125: 2**-31.0 and 2**-56.7.
_LGAMMA_FAR = Coefficients(
    float=(8.333324e-02, -2.7723797e-03, 6.9758133e-04),
    double=(0.08333333333331396, -0.0027777777705171396, 0.0007936497952296024, -0.0005951675993779127,
            0.0008388097693076596, -0.0018394050119042175, 0.005024644205208231, -0.012357305232189546,
            0.017159566903795363))
_LGAMMA_FAR_START = 3.3125
_LGAMMA_CONSTANT = 0.4189385332046727  # (log(2 pi) - 1) / 2

# digamma(x) / (x - root) in powers of x - 3/2, on [1, 2]: 2**-26.3 and 2**-53.6.
_DIGAMMA_NEAR = Coefficients(
    float=(9.510559e-01, -4.2362753e-01, 2.4054085e-01, -1.4839748e-01, 9.503914e-02, -6.2076062e-02,
           4.0235937e-02, -2.567915e-02, 1.9937044e-02, -1.6565973e-02, 6.3686096e-03),
    double=(0.951055876031833, -0.4236274212814606, 0.24054248424077396, -0.14840492305389022,
            0.09498872445497542, -0.06192213327467922, 0.040760833810691253, -0.026975796691978225,
            0.01790725248401091, -0.011908219402817386, 0.007926943985634552, -0.005279946481228413,
            0.0035190123745287576, -0.0023454189041664368, 0.001556598299789463, -0.001036851970709109,
            0.0007234398890712894, -0.00048469890972377666, 0.00022702072467185977, -0.0001470336913124115,
            0.00025985423867785586, -0.00017652031195164547))
_DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)

# (log(x) - 1 / (2 x) - digamma(x)) x**2 in powers of 1/x**2, for x >= 3: 2**-33.2 and 2**-57.6.
_DIGAMMA_FAR = Coefficients(
    float=(8.3333276e-02, -8.328733e-03, 3.8448155e-03, -2.7315298e-03),
    double=(0.08333333333331171, -0.00833333332285964, 0.0039682521259076136, -0.004166499595078734,
            0.007566661515313683, -0.02076873152757915, 0.07532685068833793, -0.2990636411281085,
            1.0418838500229812, -2.526926007463811, 3.001070085660146))
_DIGAMMA_FAR_START = 3.0

_HUGE = {"float": 2.0 ** 60, "double": 2.0 ** 200}  # whose reciprocal is not felt, and has a square that is normal


def lgamma(s: Namespace[V], x: V) -> V:
    """log |gamma(x)|; infinite at the poles 0, -1, -2, ... and at infinities."""
    return s.rarely(_is_negative, _lgamma_of_negative, x, _lgamma_of_positive(s, at_least(s, x, -1.0)))


def digamma(s: Namespace[V], x: V) -> V:
    """Derivative of lgamma; at 0 an infinity with the other sign than the zero, at -1, -2, ... and -inf NaN."""
    return s.rarely(_is_negative, _digamma_of_negative, x, _digamma_of_positive(s, at_least(s, x, -1.0)))


def _is_negative(s: Namespace[V], x: V) -> V:
    return x < 0.0


def _lgamma_of_positive(s: Namespace[V], x: V) -> V:
    is_near = x < _LGAMMA_FAR_START
    whole = s.round(x + 0.1875)  # 0 ... 3 where x is near
    product = s.where(s.equal(whole, 0.0), s.fma(x, x, x), x)  # gamma(x + 2) / gamma(x), gamma(x + 1) / gamma(x)
    product = s.where(s.equal(whole, 2.0), 1.0, product)
    product = s.where(s.equal(whole, 3.0), x - 1.0, product)  # gamma(x) / gamma(x - 1)
    high, low = _log_in_parts(s, s.where(is_near, product, x))
    w = x - whole
    sign = s.where(whole < 2.0, -1.0, s.constant(1.0))
    near = s.fma(sign, low, s.fma(w, polynomial(s, w, _LGAMMA_NEAR), sign * high))
    factor, inverse = x - 0.5, 1.0 / at_most(s, x, _HUGE[s.format.name])
    rest = s.fma(inverse, polynomial(s, inverse * inverse, _LGAMMA_FAR), _LGAMMA_CONSTANT)
    far = s.fma(factor, high - 1.0, s.fma(factor, low, rest))
    return s.where(s.equal(x, 0.0) | s.equal(x, math.inf), math.inf, s.where(is_near, near, far))


def _lgamma_of_negative(s: Namespace[V], x: V) -> V:
    # gamma(x) gamma(1 - x) = pi / sin(pi x); the sine is taken as a multiple of its argument, which may be denormal.
    d, wide = s.double, s.widened(x)
    fraction = wide - d.round(wide)
    sine = d.absolute(fraction) * sine_over_angle(d, fraction * math.pi)
    value = -log(d, sine) - _lgamma_of_positive(d, 1.0 - wide)
    if s.format is DOUBLE:  # a float is exact enough by this difference
        is_near = (wide > LEAST) & (wide < -0.5)
        value = d.where(is_near, lgamma_near_poles(d, d.where(is_near, wide, -2.5)), value)
    return s.narrowed(d.where(d.absolute(fraction) > 0.0, value, math.inf))


def _digamma_of_positive(s: Namespace[V], x: V) -> V:
    is_near = x < _DIGAMMA_FAR_START
    below_1, below_2 = x < 1.0, x < 2.0
    # digamma(x + 1) - 1 / x; digamma(x); digamma(x - 1) + 1 / (x - 1)
    argument = s.where(below_1, x + 1.0, s.where(below_2, x, x - 1.0))
    far_divisor = at_most(s, x, _HUGE[s.format.name])
    divisor = s.where(below_1, -x, s.where(below_2, math.inf, s.where(is_near, x - 1.0, far_divisor)))
    inverse = 1.0 / divisor
    root_high, root_low = split_constant(*_DIGAMMA_ROOT, s.format)
    near = s.fma((argument - root_high) - root_low, polynomial(s, argument - 1.5, _DIGAMMA_NEAR), inverse)
    high, low = _log_in_parts(s, x)
    square = inverse * inverse
    far = high + (low - s.fma(square, polynomial(s, square, _DIGAMMA_FAR), inverse * 0.5))
    return s.where(s.equal(x, math.inf), x, s.where(is_near, near, far))


def _digamma_of_negative(s: Namespace[V], x: V) -> V:
    if s.format is DOUBLE:
        is_usual = (x > FARTHEST) & (x < NEAREST)
        value = s.where(is_usual, digamma_near_zeros(s, s.where(is_usual, x, -0.5)), -1.0 / at_least(s, x, NEAREST))
        return s.where(s.equal(x, s.round(x)), math.nan, value)
    # digamma(x) = digamma(1 - x) - pi / tan(pi x)
    d, wide = s.double, s.widened(x)
    fraction = wide - d.round(wide)
    part = d.absolute(fraction)
    is_far = part > 0.25  # the angle is taken from pi/2, exactly
    tangent = tan_of_moderate_angle(d, d.where(is_far, 0.5 - part, part) * math.pi)
    cotangent = with_sign_of(d, d.where(is_far, tangent, 1.0 / tangent), fraction)
    value = _digamma_of_positive(d, 1.0 - wide) - cotangent * math.pi
    return s.narrowed(d.where(d.equal(part, 0.0), math.nan, value))


def _log_in_parts(s: Namespace[V], x: V) -> tuple[V, V]:
    """log(x) as a sum, of positive finite x: the first is the second's rounding, or x - 1 where x is in [2/3, 4/3)."""
    format = s.format
    m, k = split(s, x, 2 / 3)
    f = m - 1.0
    step_high, step_low = split_constant(*LOG_2, format)
    high = s.fma(k, step_high, f)
    lost = s.fma(k, step_high, -high) + f
    return high, lost + s.fma(k, step_low, f * f * polynomial(s, f, LOG))
