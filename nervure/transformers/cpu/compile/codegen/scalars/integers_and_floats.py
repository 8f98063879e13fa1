"""Conversions between integers and floats that processors have no vector instruction for.

The last place of a double of 2**52 or more, below 2**53, is 1: its lower bits are the digits of an integer. So 32 bits
become a float, and back, where they are joined to the bits of 2**52, or 2**52 is added; and 64 bits are two such
halves, of which the upper has the unit 2**32.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I64
>>> b = Builder("f", [("x", I64.vector(4))], F64.vector(4))
>>> b.ret(from_integer(b.arguments[0], F64, is_signed=False))
>>> "uitofp" in b.text(), "fadd" in b.text()
(False, True)
"""

from __future__ import annotations

from nervure.transformers.convert import limits
from nervure.transformers.cpu.compile.codegen.scalars.floats import floor, truncate
from nervure.transformers.cpu.compile.codegen.scalars.resize import resized
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I32, I64, Type, make_type
from nervure.types.dtype import DType

_INTEGER = 0x4330000000000000  # the bits of 2.0**52, whose last place is 1
_UPPER = 0x4530000000000000  # the bits of 2.0**84, whose last place is 2**32


def from_integer(x: Register, type: Type, *, is_signed: bool) -> Register:
    """The float that is nearest to an integer."""
    if x.type.bits < 64 or x.type.lanes == 1:
        return x.cast("sitofp" if is_signed else "uitofp", type)
    if type is F32:
        return _from_long(sticky(x, is_signed=is_signed), is_signed).cast("fptrunc", F32)
    return _from_long(x, is_signed)


def sticky(x: Register, *, is_signed: bool) -> Register:
    """A 64-bit integer as a double can hold it, which rounds to less than 53 bits as x itself: of large numbers the 11
    lowest bits become one that says whether any was set (rounding to odd).
    """
    reduced = (x | ((x & 0x7FF) + 0x7FF)) & ~0x7FF
    is_large = (x + 2**53).shift_right(54) if is_signed else x.shift_right(53)
    return x.builder.where(is_large.equal(0), x, reduced)


def _from_long(x: Register, is_signed: bool) -> Register:
    """Two exact halves and one rounded sum. The sign is a bit of weight -2**63 rather than 2**63: flipped, it counts
    2**63 too much.
    """
    excess = 2.0**63 if is_signed else 0.0
    lower = (x & 0xFFFFFFFF | _INTEGER).bitcast(F64)
    upper = (x.shift_right(32) ^ (_UPPER | (1 << 31 if is_signed else 0))).bitcast(F64)
    return (upper - (2.0**84 + 2.0**52 + excess)) + lower


def to_integer(x: Register, dtype: DType) -> Register:
    """An integer from a float: toward zero, at the limits where it is beyond them, and 0 of NaN."""
    b, bits = x.builder, max(dtype.bits, 8)
    minimum, maximum = limits(dtype)
    past = float(maximum + 1)
    low, high = float(minimum), _below(past, maximum, x.type)
    number = b.where(x.is_nan(), 0.0, x) if low else x
    inside = b.where(number > low, number, low)  # also where it is NaN
    inside = b.where(inside < high, inside, high)
    whole = _to_integer_inside(inside, bits, dtype.is_signed)
    return whole if high == maximum else b.where(x >= past, maximum, whole)


def _below(past: float, maximum: int, type: Type) -> float:
    """The largest float that is not more than an integer type's maximum, ``past`` - 1."""
    digits = 24 if type.element is F32 else 53
    return float(maximum) if maximum.bit_length() <= digits else past - past * 2.0**-digits


def _to_integer_inside(x: Register, bits: int, is_signed: bool) -> Register:
    if bits == 64 and x.type.lanes > 1:
        return _to_long(x.cast("fpext", F64))
    if bits < 32:
        return resized(x.cast("fptosi", I32), make_type(f"i{bits}", 1), is_signed=True)
    return x.cast("fptosi" if is_signed else "fptoui", I64 if bits == 64 else I32)


def _to_long(x: Register) -> Register:
    """64-bit integers, signed or not, from doubles that fit. The upper half is rounded down, the lower is positive."""
    whole = truncate(x)
    upper = floor(whole * 2.0**-32)
    lower = x.builder.fma(upper, -(2.0**32), whole)
    digits = (upper + (2.0**52 + 2.0**51)).bits().shift_left(32)
    return digits | ((lower + 2.0**52).bits() ^ _INTEGER)
