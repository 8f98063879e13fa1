"""sin, cos and tan: Cody and Waite's reduction, one odd polynomial, the sign from the parity of half turns.

With n the nearest integer to \\|x\\| / pi (for a cosine: the nearest half of an odd one), r = \\|x\\| - n pi is in
[-pi/2, pi/2], and sin(x) is sin(r) with a sign. Pi is three constants of full width (W. Cody and W. Waite, "Software
manual for the elementary functions", 1980); x - n C1 is exact, the next step rounds once, the last adds what r near 0
lacks. n is rounded by adding 1.5 * 2**23, which leaves its parity in the lowest bit. Beyond the range of this: see
:mod:`.huge_angle`.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(sin(b.arguments[0]))
>>> b.text().count("call <8 x float> @llvm.fma"), b.text().count("fmul")
(8, 2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.floats import format_of, magnitude
from nervure.transformers.cpu.math.huge_angle import reduce_huge_angle
from nervure.transformers.cpu.math.polynomial import Coefficients, polynomial
from nervure.transformers.cpu.math.rare import Function, rarely

# Each rounded, of what the former leave of pi.
_PI = Coefficients(
    float=(3.1415927, -8.742278e-08, -3.430249e-15),
    double=(3.141592653589793, 1.2246467991473532e-16, -2.994769809718363e-33))

# Where n is so large that rounding x / pi moves r beyond the interval of the polynomials.
_LIMIT = {"float": 2.0 ** 17, "double": 2.0 ** 30}

# Minimax in relative error of the result by Remez' exchange, the leading coefficients rounded first, the rest refitted.
# (sin(r) - r) / r**3 in powers of r**2, on [0, pi/2 (1 + 2**-7)]: 2**-27.1; on [0, pi/2 (1 + 2**-20)]: 2**-61.5.
_SINE = Coefficients(
    float=(-1.666666e-01, 8.333066e-03, -1.9809327e-04, 2.6048162e-06),
    double=(-0.16666666666666666, 0.008333333333333207, -0.00019841269841212476, 2.7557319211568428e-06,
            -2.5052106904264213e-08, 1.6058940990810385e-10, -7.643018970768674e-13, 2.7214141590856915e-15))

# tan(r) / r = (1 + r**2 above) / (1 + r**2 below), in powers of r**2, on half of these intervals: 2**-32.0, 2**-55.4.
_TANGENT_ABOVE = Coefficients(
    float=(-1.11359075e-01, 1.0750457e-03),
    double=(-0.12828246558752582, 0.002805806272184259, -7.482549711991364e-06))
_TANGENT_BELOW = Coefficients(
    float=(-4.446924e-01, 1.5972478e-02),
    double=(-0.4616157989208572, 0.023344405912411416, -0.00020843196541055353))


def sin(x: Register) -> Register:
    """Sine of radians; -0.0 stays, an infinity gives NaN."""
    return _of_any_angle("sin_of_huge_angle", _sin, _sin_of_huge_angle, x)


def cos(x: Register) -> Register:
    """Cosine of radians; an infinity gives NaN."""
    return _of_any_angle("cos_of_huge_angle", _cos, _cos_of_huge_angle, x)


def tan(x: Register) -> Register:
    """Tangent of radians; -0.0 stays, an infinity gives NaN."""
    return _of_any_angle("tan_of_huge_angle", tan_of_moderate_angle, _tan_of_huge_angle, x)


def _of_any_angle(name: str, usual: Function, slow: Function, x: Register) -> Register:
    limit = _LIMIT[x.type.scalar]
    return rarely(name, lambda x: magnitude(x) > limit, slow, x, usual(x))


# -- the usual range ---------------------------------------------------------------------------------------------


def _sin(x: Register) -> Register:
    b, rounder = x.builder, format_of(x.type).rounder
    angle = magnitude(x)
    rounded = b.fma(angle, 1 / math.pi, rounder)
    r = _subtract_multiple(angle, rounded - rounder, _PI.of(x.type))
    return _flip(sine_polynomial(r), _lowest_bit_on_top(rounded.bits()) ^ _sign(x, angle))


def _cos(x: Register) -> Register:
    # cos(x) = sin(x + pi/2). With x = (n + 1/2) pi + r that is sin((n + 1) pi + r): the rounder is odd.
    b, rounder = x.builder, format_of(x.type).rounder + 1
    angle = magnitude(x)
    rounded = b.fma(angle, 1 / math.pi, -0.5) + rounder
    r = _subtract_multiple(angle, (rounded - rounder) + 0.5, _PI.of(x.type))
    return _flip(sine_polynomial(r), _lowest_bit_on_top(rounded.bits()))


def tan_of_moderate_angle(x: Register) -> Register:
    """tan(x) of \\|x\\| <= 2**17, and NaN."""
    b, rounder = x.builder, format_of(x.type).rounder
    angle = magnitude(x)
    rounded = b.fma(angle, 2 / math.pi, rounder)
    r = _subtract_multiple(angle, rounded - rounder, [part / 2 for part in _PI.of(x.type)])
    return _tangent(r, _lowest_bit_on_top(rounded.bits()), _sign(x, angle))


def _subtract_multiple(x: Register, n: Register, parts: Sequence[float]) -> Register:
    for part in parts:
        x = x.builder.fma(n, -part, x)
    return x


# -- huge angles, one lane -------------------------------------------------------------------------------------------


def _sin_of_huge_angle(x: Register) -> Register:
    r, n = reduce_huge_angle(x, 1)
    return _flip(sine_polynomial(r), _odd(n, x) ^ _sign(x, magnitude(x)))


def _cos_of_huge_angle(x: Register) -> Register:
    r, n = reduce_huge_angle(x, 1, quarters=1)
    return _flip(sine_polynomial(r), _odd(n, x))


def _tan_of_huge_angle(x: Register) -> Register:
    r, n = reduce_huge_angle(x, 2)
    return _tangent(r, _odd(n, x), _sign(x, magnitude(x)))


def _odd(n: Register, like: Register) -> Register:
    return _lowest_bit_on_top(n.cast("trunc", like.type.integer()))


# -- shared ----------------------------------------------------------------------------------------------------------


def sine_polynomial(r: Register) -> Register:
    """sin(r) of |r| <= pi/2."""
    square = r * r
    return r.builder.fma(r * square, polynomial(square, _SINE), r)


def _tangent(r: Register, odd: Register, sign: Register) -> Register:
    """tan(r) or, if the top bit of ``odd`` is set, tan(r + pi/2) = -1 / tan(r); of |r| <= pi/4."""
    b, square = r.builder, r * r
    numerator = b.fma(r * square, polynomial(square, _TANGENT_ABOVE), r)
    denominator = b.fma(square, polynomial(square, _TANGENT_BELOW), 1.0)
    is_odd = odd < 0
    return _flip(b.where(is_odd, denominator, numerator) / b.where(is_odd, numerator, denominator), odd ^ sign)


def _lowest_bit_on_top(bits: Register) -> Register:
    return bits.shift_left(bits.type.bits - 1)


def _sign(x: Register, magnitude: Register) -> Register:
    """The sign bit of x alone."""
    return x.bits() ^ magnitude.bits()


def _flip(x: Register, sign: Register) -> Register:
    """x with its sign flipped where the bit ``sign`` is set."""
    return (x.bits() ^ sign).bitcast(x.type.element)
