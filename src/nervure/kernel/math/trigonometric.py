"""sin, cos and tan by Cody-Waite reduction, for huge angles Payne-Hanek reduction, and minimax polynomials.

With n the nearest integer to |x| / pi (for a cosine: the nearest half of an odd one), r = |x| - n pi is in [-pi/2,
pi/2], and sin(x) is sin(r) with a sign. Pi is three constants of full width (W. Cody and W. Waite, "Software manual
for the elementary functions", 1980); x - n C1 is exact, the next step rounds once, the last adds the digits that r
lacks near 0. n is rounded by adding 1.5 * 2**23, which leaves its parity in the lowest bit.

Huge angles are reduced without loss (M. Payne and R. Hanek, "Radian reduction for trigonometric functions", SIGNUM
Newsletter 18, 1983). An angle is M * 2**E with a 53-bit integer M. In 2/pi = 0.101000101... in binary, the bits of
weight 2**(2 - E) and more make multiples of 4 quarter turns, which do not matter. The 192 bits below suffice for a
product that is exact to 128 bits behind the point of whole turns, of which cancellation takes at most 63: no double is
closer to a multiple of pi/2 than 2**-61. Hence three words of a table of bytes and three products of words; for a
float two suffice.

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(sin, np.array([-0.0, 3.0, 1e300])), bytes_of_two_over_pi()[8:14].hex()
(array([-0.        ,  0.14112001, -0.81788191]), 'a2f9836e4e44')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from nervure.kernel.math.minimax import Coefficients, odd_polynomial, polynomial
from nervure.kernel.math.namespace import MathFunction, Namespace, V, square_beside_1

# Each is the rounded rest that the former leave of pi.
_PI = Coefficients(
    float=(3.1415927, -8.742278e-08, -3.430249e-15),
    double=(3.141592653589793, 1.2246467991473532e-16, -2.994769809718363e-33))

# For larger n, rounding x / pi moves r beyond the interval of the polynomials.
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

_MANTISSA, _BIAS = 52, 1075  # a double is M * 2**(exponent - 1075)
_ZEROS = 8  # bytes before the point in the table: the smallest E - 2 is -64
_BYTES = 160  # 8 + (971 - 2) / 8 + 24, rounded up


def sin(s: Namespace[V], x: V) -> V:
    """Sine of radians; -0.0 stays, an infinity gives NaN."""
    return _of_any_angle(s, _sin, _sin_of_huge_angle, x)


def cos(s: Namespace[V], x: V) -> V:
    """Cosine of radians; an infinity gives NaN."""
    return _of_any_angle(s, _cos, _cos_of_huge_angle, x)


def tan(s: Namespace[V], x: V) -> V:
    """Tangent of radians; -0.0 stays, an infinity gives NaN."""
    return _of_any_angle(s, tan_of_moderate_angle, _tan_of_huge_angle, x)


def _of_any_angle(s: Namespace[V], usual: MathFunction, slow: MathFunction, x: V) -> V:
    return s.rarely(_is_huge, slow, x, usual(s, x))


def _is_huge(s: Namespace[V], x: V) -> V:
    return s.absolute(x) > _LIMIT[s.format.name]


# -- the usual range ---------------------------------------------------------------------------------------------


def _sin(s: Namespace[V], x: V) -> V:
    rounder = s.format.rounder
    angle = s.absolute(x)
    rounded = s.fma(angle, 1 / math.pi, rounder)
    r = _subtract_multiple(s, angle, rounded - rounder, _PI.of(s.format))
    return _flip(s, sine_polynomial(s, r), _lowest_bit_on_top(s, s.bits(rounded)) ^ _sign(s, x, angle))


def _cos(s: Namespace[V], x: V) -> V:
    # cos(x) = sin(x + pi/2). With x = (n + 1/2) pi + r that is sin((n + 1) pi + r): the rounder is odd.
    rounder = s.format.rounder + 1
    angle = s.absolute(x)
    rounded = s.fma(angle, 1 / math.pi, -0.5) + rounder
    r = _subtract_multiple(s, angle, (rounded - rounder) + 0.5, _PI.of(s.format))
    return _flip(s, sine_polynomial(s, r), _lowest_bit_on_top(s, s.bits(rounded)))


def tan_of_moderate_angle(s: Namespace[V], x: V) -> V:
    """Returns tan(x) for |x| <= 2**17, and NaN."""
    rounder = s.format.rounder
    angle = s.absolute(x)
    rounded = s.fma(angle, 2 / math.pi, rounder)
    r = _subtract_multiple(s, angle, rounded - rounder, [part / 2 for part in _PI.of(s.format)])
    return _tangent(s, r, _lowest_bit_on_top(s, s.bits(rounded)), _sign(s, x, angle))


def _subtract_multiple(s: Namespace[V], x: V, n: V, parts: Sequence[float]) -> V:
    for part in parts:
        x = s.fma(n, -part, x)
    return x


# -- huge angles -----------------------------------------------------------------------------------------------------


def _sin_of_huge_angle(s: Namespace[V], x: V) -> V:
    r, n = _reduce_huge_angle(s, x, 1)
    return _flip(s, sine_polynomial(s, r), _odd(s, n) ^ _sign(s, x, s.absolute(x)))


def _cos_of_huge_angle(s: Namespace[V], x: V) -> V:
    r, n = _reduce_huge_angle(s, x, 1, quarters=1)
    return _flip(s, sine_polynomial(s, r), _odd(s, n))


def _tan_of_huge_angle(s: Namespace[V], x: V) -> V:
    r, n = _reduce_huge_angle(s, x, 2)
    return _tangent(s, r, _odd(s, n), _sign(s, x, s.absolute(x)))


def _odd(s: Namespace[V], n: V) -> V:
    return _lowest_bit_on_top(s, s.resized(n, s.format.bits))


@cache
def bytes_of_two_over_pi() -> bytes:
    """Returns 2/pi in binary: 8 bytes before the point, 152 behind it. Pi is computed by J. Machin's formula of 1706.
    """
    one = 1 << (8 * _BYTES + 64)

    def arc_cotangent(n: int) -> int:
        total, power, divisor = 0, one // n, 1
        while power:
            total += power // divisor
            power, divisor = -power // (n * n), divisor + 2
        return total

    pi = 4 * (4 * arc_cotangent(5) - arc_cotangent(239))
    return ((2 * one << 8 * (_BYTES - _ZEROS)) // pi).to_bytes(_BYTES, "big")


def _reduce_huge_angle(s: Namespace[V], x: V, parts: int, quarters: int = 0) -> tuple[V, V]:
    """Returns (r, n) with |x| + ``quarters`` pi/2 = n pi / ``parts`` + r modulo a whole turn, and the smallest
    possible r.

    r is off by at most two units in its last place, and is NaN for an infinity; n is an integer of 64 bits in 0 ... 2
    * ``parts``. If x is not huge, both are undefined.
    """
    d, wide = s.double, s.widened(x)
    turns = _turns_of_huge_angle(s, d.bits(s.double.where(_is_huge(s, x), wide, math.inf)))
    turns[0] = turns[0] + (quarters << 62)
    # Of the bits behind the point of whole turns, the first few count the parts; the others, signed, are r.
    counted = (2 * parts).bit_length() - 1
    rest = [d.shift_left(word, counted) for word in turns]
    rest[0] = rest[0] | d.shift_right(turns[1], 64 - counted) if turns[1:] else rest[0]
    number = d.shift_right(turns[0], 64 - counted) + d.shift_right(rest[0], 63)
    head = d.from_integer(rest[0])
    tails = [d.from_integer(d.shift_right(word, 11)) for word in rest[1:]]
    r = (d.fma(tails[0], 2.0 ** -53, head) if tails else head) * (math.pi / parts * 2.0 ** -64)
    r = r + (wide - wide)  # 0, or NaN for an infinity
    return s.narrowed(r), number


def _turns_of_huge_angle(s: Namespace[V], bits: V) -> list[V]:
    """Returns the first words behind the point of whole turns, for an angle given by its ``bits`` as a double. One
    word is enough for a float, which has 24 bits, of which at most 33 are lost.
    """
    d, is_float = s.double, s.format.name == "float"
    zeros = _MANTISSA + 1 - 24 if is_float else 0  # zero bits at the end of the mantissa
    exponent = d.shift_right(bits, _MANTISSA) & 0x7FF
    mantissa = d.shift_right(bits & ((1 << _MANTISSA) - 1) | (1 << _MANTISSA), zeros)
    place = exponent + (8 * _ZEROS - _BIAS - 2 + zeros) % 2**64  # as a bit position in the table
    mantissa = d.shift_left(mantissa, place & 7)
    content, start = bytes_of_two_over_pi(), d.shift_right(place, 3)
    starts = [start, start + 8, *([] if is_float else [start + 16])]
    high, middle, *low = [d.table_word("two_over_pi", content, entry) for entry in starts]
    above, below = _product(d, mantissa, middle)
    turns = mantissa * high + above
    if not low:
        return [turns]
    added, _ = _product(d, mantissa, low[0])
    total = below + added
    carry = d.shift_right((below & added) | ((below | added) & ~total), 63)
    return [turns + carry, total]


def _product(d: Namespace[V], x: V, y: V) -> tuple[V, V]:
    """Returns the upper and the lower word of the product of the words ``x`` and ``y``, from the four products of
    their halves.
    """
    half = (1 << 32) - 1
    x_high, x_low, y_high, y_low = d.shift_right(x, 32), x & half, d.shift_right(y, 32), y & half
    low = x_low * y_low
    cross = x_high * y_low + d.shift_right(low, 32)
    other = x_low * y_high + (cross & half)
    high = x_high * y_high + d.shift_right(cross, 32) + d.shift_right(other, 32)
    return high, d.shift_left(other, 32) | (low & half)


# -- shared ----------------------------------------------------------------------------------------------------------


def sine_polynomial(s: Namespace[V], r: V) -> V:
    """Returns sin(r) for |r| <= pi/2."""
    return odd_polynomial(s, r, square_beside_1(s, r), _SINE)


def sine_over_angle(s: Namespace[V], r: V) -> V:
    """Returns sin(r) / r for |r| <= pi/2."""
    square = square_beside_1(s, r)
    return s.fma(square, polynomial(s, square, _SINE), 1.0)


def _tangent(s: Namespace[V], r: V, odd: V, sign: V) -> V:
    """Returns tan(r) or, if the top bit of ``odd`` is set, tan(r + pi/2) = -1 / tan(r); for |r| <= pi/4."""
    square = square_beside_1(s, r)
    numerator = odd_polynomial(s, r, square, _TANGENT_ABOVE)
    denominator = s.fma(square, polynomial(s, square, _TANGENT_BELOW), 1.0)
    is_odd = s.sign_bit(odd)
    return _flip(s, s.where(is_odd, denominator, numerator) / s.where(is_odd, numerator, denominator), odd ^ sign)


def _lowest_bit_on_top(s: Namespace[V], bits: V) -> V:
    return s.shift_left(bits, s.format.bits - 1)


def _sign(s: Namespace[V], x: V, magnitude: V) -> V:
    """Returns the sign bit of x alone."""
    return s.bits(x) ^ s.bits(magnitude)


def _flip(s: Namespace[V], x: V, sign: V) -> V:
    """Returns x with its sign flipped if the bit ``sign`` is set."""
    return s.from_bits(s.bits(x) ^ sign)
