"""Floats of 16, 8 and 4 bits, carried as their bits: to float32, exactly, and back, rounded to nearest even.

>>> from nervure.types.dtype import float8_e4m3fn
>>> format_of(float8_e4m3fn)
Format(sign=128, mantissa=3, bias=7, infinity=None, largest=126, nan=127, signed_zero=True)

float16 has instructions of its own; bfloat16 is the upper half of a float32. For smaller formats the exponent
and the mantissa are moved to their places in float32, and the exponent is offset by the difference of the biases.
Denormals are small integers times a power of two, and adding a number with that last place rounds to them.

A result that rounds to more than the largest number is an infinity, NaN in formats without infinities, and the largest
number in formats without either, in which NaN becomes -0.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import ml_dtypes

from nervure.transformers.cpu.compile.codegen.scalars.floats import absolute
from nervure.transformers.cpu.compile.llvm.register import Register
from nervure.transformers.cpu.compile.llvm.types import F16, F32, F64, I8, I16, I32
from nervure.types.dtype import DType, bfloat16, float8_e8m0fnu, float16

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


def decode(x: Register, dtype: DType) -> Register:
    """Returns the float32 of a low-precision float."""
    if dtype is float16:
        return x.bitcast(F16).cast("fpext", F32)
    wide = x.cast("zext", I32)
    if dtype is bfloat16:
        return wide.shift_left(16).bitcast(F32)
    if dtype is float8_e8m0fnu:
        return _decode_exponent(wide)
    return _decode_byte(wide, format_of(dtype))


def encode(x: Register, dtype: DType) -> Register:
    """Returns the bits of the low-precision float nearest to a float32."""
    if dtype is float16:
        return x.cast("fptrunc", F16).bits()
    if dtype is bfloat16:
        return _encode_bfloat16(x).cast("trunc", I16)
    if dtype is float8_e8m0fnu:
        return _encode_exponent(x).cast("trunc", I8)
    return _encode_byte(x, format_of(dtype)).cast("trunc", I8)


def rounded_to_odd(x: Register) -> Register:
    """Returns a float32 that rounds to any low-precision float as the float64 x itself would. It is x if that is a
    float32, else the neighbour whose last bit is 1, so that the next rounding sees no false tie (S. Boldo and G.
    Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    b, near = x.builder, x.cast("fptrunc", F32)
    back, bits = near.cast("fpext", F64), near.bits()
    bits = b.where(absolute(back) > absolute(x), bits - 1, bits)
    return b.where(back.not_equal(x), bits | 1, bits).bitcast(F32)


def _decode_byte(x: Register, format: Format) -> Register:
    b, shift, size = x.builder, 23 - format.mantissa, x & (format.sign - 1)
    normal = size.shift_left(shift) + ((127 - format.bias) << 23)
    if format.infinity is not None:
        normal = b.where(size >= format.infinity, size.shift_left(shift) | _INFINITY, normal)
    denormal = (size.cast("sitofp", F32) * 2.0 ** (1 - format.bias - format.mantissa)).bits()
    bits = b.where(size < (1 << format.mantissa), denormal, normal)
    if format.infinity is None and format.nan is not None:
        bits = b.where((x if format.nan == 0x80 else size).equal(format.nan), _INFINITY | 1 << 22, bits)
    return (bits | (x & format.sign).shift_left(32 - format.sign.bit_length())).bitcast(F32)


def _encode_byte(x: Register, format: Format) -> Register:
    b, shift = x.builder, 23 - format.mantissa
    bits = x.bits()
    size, sign = bits & 0x7FFFFFFF, bits.shift_right(32 - format.sign.bit_length()) & format.sign
    # Adds half a unit, or slightly less if the last bit that stays is 0.
    half = (1 << shift - 1) - 1 - ((127 - format.bias) << 23)
    normal = (size + (size.shift_right(shift) & 1) + half).shift_right(shift)
    unit = b.constant(x.type, 2.0 ** (24 - format.bias - format.mantissa))  # its last place is a denormal's
    denormal = (absolute(x) + unit).bits() - unit.bits()
    code = b.where(size < ((128 - format.bias) << 23), denormal, normal)
    if format.nan is None:
        return b.where(size > _INFINITY, format.sign, b.intrinsic("smin", code, format.largest) | sign)
    code = b.intrinsic("smin", code, format.largest + 1)
    if format.infinity is not None:
        code = b.where(size > _INFINITY, format.nan, code)
    if format.signed_zero:
        return code | sign
    return b.where((code - 1).below(format.largest), code | sign, code)


def _encode_bfloat16(x: Register) -> Register:
    bits = x.bits()
    rounded = bits + (bits.shift_right(16) & 1) + 0x7FFF
    return x.builder.where(x.is_nan(), bits | 1 << 22, rounded).shift_right(16)


def _decode_exponent(x: Register) -> Register:
    b = x.builder
    bits = b.where(x.equal(0), 1 << 22, x.shift_left(23))  # 2**-127 is a denormal float32
    return b.where(x.equal(0xFF), _INFINITY | 1 << 22, bits).bitcast(F32)


def _encode_exponent(x: Register) -> Register:
    """Returns the nearest power of two, the larger of two; NaN, which is 0xFF, unless x is positive and finite. As in
    ml_dtypes, denormals above 2**-127 are 2**-126.
    """
    b = x.builder
    bits = b.intrinsic("umin", x.bits(), _INFINITY)  # numbers with a sign become large
    half = b.where(bits < (1 << 23), (1 << 22) - 1, b.constant(bits.type, 1 << 22))
    return b.where(bits.equal(0), 0xFF, (bits + half).shift_right(23))
