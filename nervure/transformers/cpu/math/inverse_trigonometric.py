"""asin, acos, atan and atan2: arguments are folded onto an interval where one short odd polynomial serves.

Above 1/2, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)); above 1, atan(x) = pi/2 - atan(1 / x) (M. Abramowitz and
I. Stegun, "Handbook of mathematical functions", 4.4). Of atan2 the fold is the quotient of the smaller by the larger
side.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(atan(b.arguments[0]))
>>> b.text().count("call <8 x float> @llvm.fma"), b.text().count("fdiv")
(9, 1)
"""

from __future__ import annotations

import math

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.floats import is_negative, magnitude, with_sign_of
from nervure.transformers.cpu.math.polynomial import Coefficients, polynomial

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


def asin(x: Register) -> Register:
    """Arc sine; outside [-1, 1] NaN; -0.0 stays."""
    b, size = x.builder, magnitude(x)
    is_large, angle = _folded_asin(size)
    return with_sign_of(b.where(is_large, b.fma(angle, -2.0, math.pi / 2), angle), x)


def acos(x: Register) -> Register:
    """Arc cosine; outside [-1, 1] NaN."""
    b, size = x.builder, magnitude(x)
    is_large, angle = _folded_asin(size)
    # From pi/2 if x is small; else from 0 or pi, by the sign.
    start = b.where(is_large, b.where(is_negative(x), math.pi, b.constant(x.type, 0.0)), math.pi / 2)
    angle = b.where(is_large, angle * -2.0, angle)
    return start - (angle.bits() ^ x.bits() ^ size.bits()).bitcast(x.type.element)


def atan(x: Register) -> Register:
    """Arc tangent; infinities give +-pi/2; -0.0 stays."""
    b, size = x.builder, magnitude(x)
    is_large = size > 1.0
    angle = _atan_polynomial(b.where(is_large, 1.0 / size, size))
    return with_sign_of(b.where(is_large, math.pi / 2 - angle, angle), x)


def atan2(y: Register, x: Register) -> Register:
    """Angle of the point (x, y), in [-pi, pi], with C's rules for zeros and infinities."""
    b, height, width = x.builder, magnitude(y), magnitude(x)
    is_steep = height > width
    shorter, longer = b.where(is_steep, width, height), b.where(is_steep, height, width)
    slope = shorter / longer
    slope = b.where(shorter.equal(longer), 1.0, slope)  # of two infinities as well
    slope = b.where(longer.equal(0.0), shorter, slope)  # 0, or NaN
    angle = _atan_polynomial(slope)
    angle = b.where(is_steep, math.pi / 2 - angle, angle)
    return with_sign_of(b.where(is_negative(x), math.pi - angle, angle), y)


def _folded_asin(size: Register) -> tuple[Register, Register]:
    """(whether ``size`` is above 1/2, asin(size) or, if so, asin(sqrt((1 - size) / 2)))."""
    b = size.builder
    is_large = size > 0.5
    square = b.where(is_large, b.fma(size, -0.5, 0.5), size * size)
    root = b.where(is_large, b.intrinsic("sqrt", square), size)
    return is_large, b.fma(root * square, polynomial(square, _ASIN), root)


def _atan_polynomial(slope: Register) -> Register:
    square = slope * slope
    return slope.builder.fma(slope * square, polynomial(square, _ATAN), slope)
