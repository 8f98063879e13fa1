"""Angles of any size, reduced to turns without loss: M. Payne and R. Hanek, "Radian reduction for trigonometric
functions", SIGNUM Newsletter 18 (1983).

An angle is M * 2**E with a 53-bit integer M. Of 2/pi = 0.101000101... in binary the bits of weight 2**(2 - E) and more
make multiples of 4 quarter turns, which do not matter; the 192 bits below are enough for the product to be exact to
128 bits behind the point of whole turns, of which at most 63 are lost by cancellation: no double is closer to a
multiple of pi/2 than 2**-61. Hence three loads from a table of bytes and three multiplications of integers:

>>> bytes_of_two_over_pi()[8:14].hex()
'a2f9836e4e44'
"""

from __future__ import annotations

import math
from functools import cache

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import F64, I8, I64, I128

_MANTISSA, _BIAS = 52, 1075  # a double is M * 2**(exponent - 1075)
_ZEROS = 8  # bytes before the point in the table: the smallest E - 2 is -64
_BYTES = 160  # 8 + (971 - 2) / 8 + 24, rounded up


@cache
def bytes_of_two_over_pi() -> bytes:
    """2/pi in binary: 8 bytes before the point, 152 behind it. Pi by J. Machin's formula of 1706."""
    one = 1 << (8 * _BYTES + 64)

    def arc_cotangent(n: int) -> int:
        total, power, divisor = 0, one // n, 1
        while power:
            total += power // divisor
            power, divisor = -power // (n * n), divisor + 2
        return total

    pi = 4 * (4 * arc_cotangent(5) - arc_cotangent(239))
    return ((2 * one << 8 * (_BYTES - _ZEROS)) // pi).to_bytes(_BYTES, "big")


def reduce_huge_angle(x: Register, parts: int, quarters: int = 0) -> tuple[Register, Register]:
    """(r, n) with \\|x\\| + ``quarters`` pi/2 = n pi / ``parts`` + r modulo a whole turn, and r as small as can be.

    Of one lane, where \\|x\\| >= 2**-10. r is off by two units in its last place at most, and is NaN of an infinity;
    n is an i64 in 0 ... 2 * ``parts``.
    """
    b = x.builder
    wide = x.cast("fpext", F64)
    bits = wide.bits()
    exponent = bits.shift_right(_MANTISSA) & 0x7FF
    mantissa = bits & ((1 << _MANTISSA) - 1) | (1 << _MANTISSA)
    place = exponent + (8 * _ZEROS - _BIAS - 2)  # in bits of the table
    mantissa = mantissa.shift_left(place & 7)
    table = b.table("two_over_pi", bytes_of_two_over_pi())
    high, middle, low = [_load_big_endian(b, table, place.shift_right(3) + 8 * word).cast("zext", I128)
                         for word in range(3)]
    factor = mantissa.cast("zext", I128)
    turns = (factor * high).shift_left(64) + factor * middle + (factor * low).shift_right(64)
    turns = turns + (quarters << 126)
    # Of the 128 bits behind the point of whole turns, the first few count the parts, the rest, signed, is r.
    counted = (2 * parts).bit_length() - 1
    rest = turns.shift_left(counted)
    number = turns.shift_right(128 - counted) + rest.shift_right(127)
    head = rest.shift_right(64).cast("trunc", I64).cast("sitofp", F64)
    tail = rest.cast("trunc", I64).shift_right(11).cast("sitofp", F64)
    r = b.fma(tail, 2.0 ** -53, head) * (math.pi / parts * 2.0 ** -64)
    r = r + (wide - wide)  # 0, or NaN of an infinity
    return r.cast("fptrunc", x.type.element), number.cast("trunc", I64)


def _load_big_endian(b: Builder, table: Register, byte: Register) -> Register:
    return b.intrinsic("bswap", b.load(b.offset(table, byte, I8), I64, align=1))
