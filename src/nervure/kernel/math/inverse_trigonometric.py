"""Inverse trigonometric functions: arguments are folded onto an interval on which one odd minimax polynomial suffices.

Above 1/2, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)); above 1, atan(x) = pi/2 - atan(1 / x) (M. Abramowitz and I.
Stegun, "Handbook of mathematical functions", 4.4). atan2 folds by taking the quotient of the smaller by the larger
side.

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(asin, np.array([0.5, 2.0])), evaluate(atan2, np.array([-1.0]), np.array([-0.0]))
(array([0.52359878,        nan]), array([-1.57079633]))
"""

from __future__ import annotations

import math

from nervure.kernel.math.minimax import Coefficients, odd_polynomial
from nervure.kernel.math.namespace import Namespace, V, at_least, at_most, square_beside_1, with_sign_of

# Minimax in relative error of the result by Remez' exchange, the leading coefficients rounded first, the rest refitted.
# (asin(z) - z) / z**3 in powers of z**2, on [0, 1/2]: 2**-27.6 and 2**-55.9.
_ASIN = Coefficients(
    float=(1.6666752e-01, 7.4953094e-02, 4.546914e-02, 2.4184886e-02, 4.2158045e-02),
    double=(0.16666666666665408, 0.07500000000337155, 0.04464285682819539, 0.030381959143099976,
            0.02237175788906593, 0.017359707389792752, 0.013885207840523054, 0.012169402796738383,
            0.0065271107095939244, 0.019530725095563382, -0.016228248001745223, 0.03191509408154654))

# (atan(t) - t) / t**3 in powers of t**2, on [0, 1]: 2**-28.5 and 2**-54.8.
_ATAN = Coefficients(
    float=(-3.33333e-01, 1.999853e-01, -1.4264014e-01, 1.0950844e-01, -8.399075e-02, 5.7874892e-02, -3.1087726e-02,
           1.0862133e-02, -1.7809891e-03),
    double=(-0.3333333333333186, 0.19999999999755283, -0.14285714271349612, 0.1111111067916006, -0.09090901242117962,
            0.0769221300220494, -0.06665860893346712, 0.05877310609510558, -0.05239244301275073, 0.04673983669268504,
            -0.040927167820633964, 0.034069203285736295, -0.025828689418490237, 0.016979991054259094,
            -0.00918606621767945, 0.0038568138698833244, -0.0011643903240805525, 0.00022309620597561283,
            -2.026642230310332e-05))


_HUGE = {"float": 2.0 ** 30, "double": 2.0 ** 60}  # whose reciprocal is nothing beside pi/2, and its powers normal

# For a quotient: the factor of its numerator in the comparison, that of its denominator for a quotient that rounds to
# 0, and for one that is negligible beside pi/2; smaller denominators than the last number have no such small quotient.
_COMPARED = {"float": (2.0 ** 120, 2.0 ** -30, 2.0 ** 60, 2.0 ** -92),
             "double": (2.0 ** 1000, 2.0 ** -75, 2.0 ** 860, 2.0 ** -940)}


def asin(s: Namespace[V], x: V) -> V:
    """Arc sine; outside [-1, 1] NaN; -0.0 stays."""
    size = s.absolute(x)
    is_large, angle = _folded_asin(s, size)
    return with_sign_of(s, s.where(is_large, s.fma(angle, -2.0, math.pi / 2), angle), x)


def acos(s: Namespace[V], x: V) -> V:
    """Arc cosine; outside [-1, 1] NaN."""
    size = s.absolute(x)
    is_large, angle = _folded_asin(s, size)
    # Starts from pi/2 if x is small; else from 0 or pi, by the sign.
    start = s.where(is_large, s.where(s.sign_bit(x), math.pi, s.constant(0.0)), math.pi / 2)
    angle = s.where(is_large, angle * -2.0, angle)
    return start - s.from_bits(s.bits(angle) ^ s.bits(x) ^ s.bits(size))


def atan(s: Namespace[V], x: V) -> V:
    """Arc tangent; infinities give +-pi/2; -0.0 stays."""
    size = s.absolute(x)
    is_large = size > 1.0
    angle = _atan_polynomial(s, s.where(is_large, 1.0 / at_most(s, size, _HUGE[s.format.name]), size))
    return with_sign_of(s, s.where(is_large, math.pi / 2 - angle, angle), x)


def atan2(s: Namespace[V], y: V, x: V) -> V:
    """Angle of the point (x, y), in [-pi, pi], with C's rules for zeros and infinities."""
    height, width = s.absolute(y), s.absolute(x)
    is_steep = height > width
    shorter, longer = s.where(is_steep, width, height), s.where(is_steep, height, width)
    slope = s.where(_vanishes(s, shorter, longer, is_steep | s.sign_bit(x)), 0.0, shorter) / longer
    slope = s.where(s.equal(shorter, longer), 1.0, slope)  # of two infinities as well
    slope = s.where(s.equal(longer, 0.0), shorter, slope)  # 0, or NaN
    angle = _atan_polynomial(s, slope)
    angle = s.where(is_steep, math.pi / 2 - angle, angle)
    return with_sign_of(s, s.where(s.sign_bit(x), math.pi - angle, angle), y)


def _vanishes(s: Namespace[V], shorter: V, longer: V, is_subtracted: V) -> V:
    """Whether the quotient may be replaced by 0: it would round to 0 or, if it is subtracted, be negligible beside
    pi/2.

    So no denormal is computed except as a result.
    """
    scale, alone, beside, least = _COMPARED[s.format.name]
    numerator = shorter * scale  # infinite if no quotient is small
    limit = at_least(s, longer, least) * s.where(is_subtracted, beside, s.constant(alone))
    return (limit >= numerator) & (numerator < math.inf)


def _folded_asin(s: Namespace[V], size: V) -> tuple[V, V]:
    """Returns (whether ``size`` is above 1/2, asin(size) or, if so, asin(sqrt((1 - size) / 2)))."""
    is_large = size > 0.5
    square = s.where(is_large, s.fma(size, -0.5, 0.5), square_beside_1(s, size))
    root = s.where(is_large, s.sqrt(square), size)
    return is_large, odd_polynomial(s, root, square, _ASIN)


def _atan_polynomial(s: Namespace[V], slope: V) -> V:
    return odd_polynomial(s, slope, square_beside_1(s, slope), _ATAN)
