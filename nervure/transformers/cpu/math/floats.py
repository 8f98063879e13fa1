"""What the two float formats are made of, and the small steps on their bits that the functions share.

>>> from nervure.transformers.cpu.compile.llvm.types import F32, F64
>>> format_of(F32).bias, format_of(F64.vector(4)).smallest_normal == 2.0 ** -1022
(127, True)
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Operand, Register
from nervure.transformers.cpu.compile.llvm.types import Type


class Format(NamedTuple):
    """A binary interchange format of IEEE 754."""

    mantissa: int  # stored bits
    bias: int  # of the exponent

    @property
    def rounder(self) -> float:
        """Adding it rounds a moderate number to an integer, which then stands in the lowest bits of the sum."""
        return 1.5 * 2.0 ** self.mantissa

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def tiny(self) -> float:
        """x + x**2 / 2 rounds to x, or a neighbour of what is between, for all smaller x."""
        return 2.0 ** -(self.mantissa + 3)

    def nearest(self, number: float) -> float:
        """The number, rounded to the format."""
        return number if self.mantissa == 52 else float(struct.unpack("<f", struct.pack("<f", number))[0])

    def bits_of(self, number: float) -> int:
        """The bits of a number as an unsigned integer."""
        return int.from_bytes(struct.pack("<d" if self.mantissa == 52 else "<f", number), "little")


_FLOAT, _DOUBLE = Format(23, 127), Format(52, 1023)


def format_of(type: Type) -> Format:
    """The format of float or double, in any number of lanes."""
    return _FLOAT if type.scalar == "float" else _DOUBLE


def magnitude(x: Register) -> Register:
    """abs(x)."""
    return x.builder.intrinsic("fabs", x)


def with_sign_of(x: Register, sign: Register) -> Register:
    """x, which is not negative, with the sign of another."""
    bits = sign.bits() & (1 << (x.type.bits - 1))
    return (x.bits() | bits).bitcast(x.type.element)


def is_negative(x: Register) -> Register:
    """Whether the sign bit is set: true of -0.0."""
    return x.bits() < 0


def at_most(x: Register, limit: Operand) -> Register:
    """The smaller; NaN stays."""
    return x.builder.where(x > limit, limit, x)


def at_least(x: Register, limit: Operand) -> Register:
    """The greater; NaN stays."""
    return x.builder.where(x < limit, limit, x)


def low_bits_as_power(x: Register) -> Register:
    """2**(n - bias) from a sum of ``rounder`` and an integer n, where 0 < n < 2 * bias + 1; 0 from n = 0."""
    return x.bits().shift_left(format_of(x.type).mantissa).bitcast(x.type.element)


def split_constant(numerator: float, lost: float, format: Format) -> tuple[float, float]:
    """``numerator + lost``, the second being what a double cannot hold of a constant, as two of the format."""
    high = format.nearest(numerator)
    return high, format.nearest(math.fsum([numerator, -high, lost]))
