"""Integers in other widths: modulo 2**bits, or at the limits of the type.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I16
>>> from nervure.types.dtype import int16, uint8
>>> b = Builder("byte", [("x", I16)], I8)
>>> b.ret(saturated(b.arguments[0], int16, uint8))
>>> print("\\n".join(b.text().splitlines()[2:5]))
  %v0 = call i16 @llvm.smax.i16(i16 %x, i16 0)
  %v1 = call i16 @llvm.smin.i16(i16 %v0, i16 255)
  %v2 = trunc i16 %v1 to i8
"""

from __future__ import annotations

from nervure.transformers.convert import limits
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I8, Type, make_type
from nervure.types.dtype import DType


def resized(x: Register, type: Type, *, is_signed: bool) -> Register:
    """The same integer with fewer or more bits."""
    if type.bits == x.type.bits:
        return x
    return x.cast("trunc" if type.bits < x.type.bits else "sext" if is_signed else "zext", type)


def saturated(x: Register, source: DType, target: DType) -> Register:
    """An integer of another type, at that type's limits where it is beyond them."""
    b, prefix = x.builder, "s" if source.is_signed else "u"
    (own_low, own_high), (low, high) = limits(source), limits(target)
    if low > own_low:
        x = b.intrinsic("smax", x, low)
    if high < own_high:
        x = b.intrinsic(f"{prefix}min", x, high)
    return resized(x, integer_type(target), is_signed=source.is_signed)


def wrapped(x: Register, source: DType, target: DType) -> Register:
    """An integer of another type, modulo 2**bits."""
    return resized(x, integer_type(target), is_signed=source.is_signed)


def integer_type(dtype: DType) -> Type:
    """The type that integers are computed in: those of 4 bits in 8."""
    return make_type(f"i{8 * dtype.itemsize}", 1)


def from_nibble(x: Register, dtype: DType) -> Register:
    """The number that the lower 4 bits of a byte are."""
    return ((x & 15) ^ 8) - 8 if dtype.is_signed else x & 15


def to_nibble(x: Register) -> Register:
    """The byte that holds a number of 4 bits: its upper half is 0."""
    assert x.type.element is I8
    return x & 15
