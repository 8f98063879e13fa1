"""sqrt and rsqrt from the instructions; cbrt by iteration on the reciprocal root, which needs no division.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32)], F32)
>>> b.ret(rsqrt(b.arguments[0]))
>>> print(b.text())
define float @f(float %x) {
entry:
  %v0 = call float @llvm.sqrt.f32(float %x)
  %v1 = fdiv float 0x3FF0000000000000, %v0
  ret float %v1
}
<BLANKLINE>
"""

from __future__ import annotations

import math

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.floats import format_of, magnitude, with_sign_of
from nervure.transformers.cpu.math.polynomial import horner

_LOGARITHM_EXCESS = 0.0450  # log2(1 + f) - f, about the middle of its range: the least error of the first guess


def sqrt(x: Register) -> Register:
    """Square root, correctly rounded; negative NaN; -0.0 stays."""
    return x.builder.intrinsic("sqrt", x)


def rsqrt(x: Register) -> Register:
    """1 / sqrt(x); 0 gives inf with the sign of the zero, negative NaN, inf 0."""
    return 1.0 / sqrt(x)


def cbrt(x: Register) -> Register:
    """Real cube root, of negative numbers too."""
    b, format, size = x.builder, format_of(x.type), magnitude(x)
    is_small = size < format.smallest_normal
    lift = format.mantissa // 3 + 1
    a = b.where(is_small, size * 2.0 ** (3 * lift), size)
    z = _about_reciprocal_cbrt(a)
    for _ in range(1 if format.mantissa == 23 else 2):
        error = b.fma(-(a * z), z * z, 1.0)  # (1 - error) ** (-1/3) is a series
        z = b.fma(z * error, horner(error, (1 / 3, 2 / 9, 14 / 81)), z)
    square = z * z
    root = a * square
    root = b.fma(square * (1 / 3), b.fma(-(root * root), root, a), root)  # Newton's step for root**3 = a
    root = b.where(is_small, root * 2.0 ** -lift, root)
    return with_sign_of(b.where(size < math.inf, root, size), x)


def _about_reciprocal_cbrt(x: Register) -> Register:
    """x ** (-1/3) within 4 %: the upper bits of a float are nearly its logarithm, and are divided by -3."""
    b, format = x.builder, format_of(x.type)
    fraction = 12  # bits after the logarithm's point
    place = 2.0 ** format.mantissa
    bits = x.bits().shift_right(format.mantissa - fraction) | format.bits_of(place)
    origin = 4 / 3 * (format.bias - _LOGARITHM_EXCESS) * 2 ** fraction
    counter = b.fma(bits.bitcast(x.type.element), -1 / 3, round(format.rounder + origin + place / 3))
    return counter.bits().shift_left(format.mantissa - fraction).bitcast(x.type.element)
