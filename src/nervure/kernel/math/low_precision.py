"""Floats of 16, 8 and 4 bits as their bits, integers of 32: to float32, exactly, and back, rounded to nearest even.

>>> from nervure.types.dtype import float8_e4m3fn
>>> format_of(float8_e4m3fn)
Format(sign=128, mantissa=3, bias=7, infinity=None, largest=126, nan=127, signed_zero=True)

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import FLOAT
>>> s = Arrays(FLOAT)
>>> encode(s, np.float32([1.0, 1000.0]), float8_e4m3fn), decode(s, np.uint32([0x38]), float8_e4m3fn)
(array([ 56, 127], dtype=uint32), array([1.], dtype=float32))

bfloat16 is the upper half of a float32. For smaller formats the exponent and the mantissa are moved to their places in
float32, and the exponent is offset by the difference of the biases. Denormals are small integers times a power of two,
and adding a number with that last place rounds to them. float16, for which processors have instructions, is not here.

A result that rounds to more than the largest number is an infinity, NaN in formats without infinities, and the largest
number in formats without either, in which NaN becomes -0.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import ml_dtypes

from nervure.kernel.math.namespace import Namespace, V
from nervure.types.dtype import DType, bfloat16, float8_e8m0fnu

_INFINITY = 0x7F800000  # that of float32


class Format(NamedTuple):
    """A float of a byte or less: its sign's bit, the bits of its mantissa, its bias, and codes of special values.

    These, without a sign, are its infinity and its NaN (if it has them), and its largest number. A NaN of 0x80 has the
    code of a negative zero, which such formats lack.
    """

    sign: int
    mantissa: int
    bias: int
    infinity: int | None
    largest: int
    nan: int | None
    signed_zero: bool


@cache
def format_of(dtype: DType) -> Format:
    """Returns the format of a float of 8 or 4 bits with a sign."""
    info = ml_dtypes.finfo(dtype.numpy)
    mantissa, bias = int(info.nmant), 1 - int(info.minexp)
    if dtype.bits == 4:
        return Format(0x8, mantissa, bias, None, 0x7, None, True)
    if dtype.name.endswith("fnuz"):
        return Format(0x80, mantissa, bias, None, 0x7F, 0x80, False)
    if dtype.name.endswith("fn"):
        return Format(0x80, mantissa, bias, None, 0x7E, 0x7F, True)
    infinity = 0x80 - (1 << mantissa)
    return Format(0x80, mantissa, bias, infinity, infinity - 1, infinity + (1 << mantissa - 1), True)


def decode(s: Namespace[V], x: V, dtype: DType) -> V:
    """Returns the float32 with the value of ``x``, the bits of a number of the type."""
    if dtype is bfloat16:
        return s.from_bits(s.shift_left(x, 16))
    return _decode_exponent(s, x) if dtype is float8_e8m0fnu else _decode_byte(s, x, format_of(dtype))


def encode(s: Namespace[V], x: V, dtype: DType) -> V:
    """Returns the bits of the number of ``dtype`` nearest to a float32; those above its width are not defined."""
    if dtype is bfloat16:
        return _encode_bfloat16(s, x)
    return _encode_exponent(s, x) if dtype is float8_e8m0fnu else _encode_byte(s, x, format_of(dtype))


def rounded_to_odd(s: Namespace[V], x: V) -> V:
    """Returns a float32 that rounds to any low-precision float as the float64 x itself would. It is x if that is a
    float32, else the neighbour whose last bit is 1, so that the next rounding sees no false tie (S. Boldo and G.
    Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    double, near = s.double, s.narrowed(x)
    back, bits = s.widened(near), s.bits(near)
    bits = s.where(double.absolute(back) > double.absolute(x), bits - 1, bits)
    return s.from_bits(s.where(double.not_equal(back, x), bits | 1, bits))


def _decode_byte(s: Namespace[V], x: V, format: Format) -> V:
    shift, size = 23 - format.mantissa, x & (format.sign - 1)
    normal = s.shift_left(size, shift) + ((127 - format.bias) << 23)
    if format.infinity is not None:
        normal = s.where(s.below(size, format.infinity), normal, s.shift_left(size, shift) | _INFINITY)
    denormal = s.bits(s.from_integer(size) * 2.0 ** (1 - format.bias - format.mantissa))
    bits = s.where(s.below(size, 1 << format.mantissa), denormal, normal)
    if format.infinity is None and format.nan is not None:
        is_nan = s.equal(x if format.nan == 0x80 else size, format.nan)
        bits = s.where(is_nan, _INFINITY | 1 << 22, bits)
    return s.from_bits(bits | s.shift_left(x & format.sign, 32 - format.sign.bit_length()))


def _encode_byte(s: Namespace[V], x: V, format: Format) -> V:
    shift, bits = 23 - format.mantissa, s.bits(x)
    size, sign = bits & 0x7FFFFFFF, s.shift_right(bits, 32 - format.sign.bit_length()) & format.sign
    # Adds half a unit, or slightly less if the last bit that stays is 0.
    half = (1 << shift - 1) - 1 - ((127 - format.bias) << 23)
    normal = s.shift_right(size + (s.shift_right(size, shift) & 1) + (half & 0xFFFFFFFF), shift)
    unit = s.constant(2.0 ** (24 - format.bias - format.mantissa))  # its last place is a denormal's
    denormal = s.bits(s.absolute(x) + unit) - s.bits(unit)
    code = s.where(s.below(size, (128 - format.bias) << 23), denormal, normal)
    if format.nan is None:
        finite = s.where(s.below(code, format.largest), code, format.largest) | sign
        return s.where(s.below(_INFINITY, size), format.sign, finite)
    code = s.where(s.below(code, format.largest + 1), code, format.largest + 1)
    if format.infinity is not None:
        code = s.where(s.below(_INFINITY, size), format.nan, code)
    if format.signed_zero:
        return code | sign
    return s.where(s.below(code - 1, format.largest), code | sign, code)


def _encode_bfloat16(s: Namespace[V], x: V) -> V:
    bits = s.bits(x)
    rounded = bits + (s.shift_right(bits, 16) & 1) + 0x7FFF
    return s.shift_right(s.where(s.is_nan(x), bits | 1 << 22, rounded), 16)


def _decode_exponent(s: Namespace[V], x: V) -> V:
    bits = s.where(s.equal(x, 0), 1 << 22, s.shift_left(x, 23))  # 2**-127 is a denormal float32
    return s.from_bits(s.where(s.equal(x, 0xFF), _INFINITY | 1 << 22, bits))


def _encode_exponent(s: Namespace[V], x: V) -> V:
    """Returns the nearest power of two, the larger of two; NaN, which is 0xFF, unless x is positive and finite. As in
    ml_dtypes, denormals above 2**-127 are 2**-126.
    """
    bits = s.bits(x)
    bits = s.where(s.below(bits, _INFINITY), bits, _INFINITY)  # numbers with a sign become large
    rounded = s.where(s.below(bits, 1 << 23), bits + ((1 << 22) - 1), bits + (1 << 22))
    return s.where(s.equal(bits, 0), 0xFF, s.shift_right(rounded, 23))
