"""From one element type to another: ``convert``, ``wrap`` and ``bitcast``.

Types are converted by way of those that are computed with (*wide*: float32 for low-precision floats, 8 bits for 4-bit
integers), and are rounded once.

>>> from nervure.transformers.cpu.compile.codegen.element import literal
>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.types.dtype import bfloat16
>>> b = Builder("example")
>>> convert(literal(b, 1.5, bfloat16, lanes=8), float64)
f64 <8 x double> %v3
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.codegen.element import Element, register_types
from nervure.transformers.cpu.compile.codegen.scalars.integers_and_floats import (
    from_integer,
    sticky,
    to_integer,
)
from nervure.transformers.cpu.compile.codegen.scalars.low_precision import decode, encode, rounded_to_odd
from nervure.transformers.cpu.compile.codegen.scalars.resize import from_nibble, saturated, to_nibble, wrapped
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I8, I32, I64
from nervure.types.dtype import DType, complex64, float32, float64, int8, uint8


def convert(x: Element, dtype: DType) -> Element:
    """To another type; integers and floats saturate where the type is one of integers."""
    if x.dtype is dtype:
        return x
    if dtype.kind == "bool":
        return Element(dtype, (_is_not_zero(x),))
    if dtype.is_complex:
        parts = [convert(part, part_type(dtype)).register for part in _parts(x)]
        return Element(dtype, (parts[0], parts[1] if x.dtype.is_complex else x.builder.constant(parts[0].type, 0.0)))
    source = _parts(x)[0]
    return source if source.dtype is dtype else _narrowed(_number(_widened(source), dtype), dtype)


def wrap(x: Element, dtype: DType) -> Element:
    """Integers to integers modulo 2**bits; else as ``convert``."""
    if not (x.dtype.is_integer and dtype.is_integer):
        return convert(x, dtype)
    wide = _widened(x)
    return _narrowed(wrapped(wide.register, wide.dtype, dtype), dtype)


def bitcast(x: Element, dtype: DType) -> Element:
    """The same bits as another type of the same width."""
    if x.dtype is dtype:
        return x
    word = _word(x)
    if dtype.kind == "bool":
        return Element(dtype, (word.not_equal(0),))
    if dtype.is_complex:
        low, high = word.cast("trunc", I32), word.shift_right(32).cast("trunc", I32)
        return Element(dtype, (low.bitcast(F32), high.bitcast(F32)))
    return Element(dtype, (word.bitcast(register_types(dtype)[0]),))


def part_type(dtype: DType) -> DType:
    """The type of the parts of a complex type."""
    return float32 if dtype is complex64 else float64


def _parts(x: Element) -> list[Element]:
    """The two parts of a complex number, else the number itself."""
    return [Element(part_type(x.dtype), (part,)) for part in x.registers] if x.dtype.is_complex else [x]


def _word(x: Element) -> Register:
    """The bits of an element as an integer."""
    if x.dtype.is_complex:
        low, high = [part.bits().cast("zext", I64) for part in x.registers]
        return low | high.shift_left(32)
    if x.dtype.kind == "bool":
        return x.register.cast("zext", I8)
    return x.register.bits() if x.register.type.is_float else x.register


def _is_not_zero(x: Element) -> Register:
    first, *second = [_widened(part).register.not_equal(0) for part in _parts(x)]
    return first | second[0] if second else first


def _widened(x: Element) -> Element:
    """In the type that is computed with; a bool is an unsigned byte."""
    if x.dtype.kind == "bool":
        return Element(uint8, (x.register.cast("zext", I8),))
    if x.dtype.is_low_precision:
        return Element(float32, (decode(x.register, x.dtype),))
    if x.dtype.bits == 4:
        return Element(int8 if x.dtype.is_signed else uint8, (from_nibble(x.register, x.dtype),))
    return x


def _narrowed(x: Register, dtype: DType) -> Element:
    """As an element is carried, from what is computed with."""
    if dtype.is_low_precision:
        return Element(dtype, (encode(x, dtype),))
    return Element(dtype, (to_nibble(x) if dtype.bits == 4 else x,))


def _number(x: Element, dtype: DType) -> Register:
    """A number in the type that a type is computed with, such that only the last step to that type, if any, rounds."""
    register, target = x.register, F64 if dtype is float64 else F32
    if dtype.is_integer:
        return saturated(register, x.dtype, dtype) if x.dtype.is_integer else to_integer(register, dtype)
    if not dtype.is_low_precision:
        if x.dtype.is_integer:
            return from_integer(register, target, is_signed=x.dtype.is_signed)
        return register.cast("fptrunc" if target is F32 else "fpext", target)
    if x.dtype.is_integer and x.dtype.bits < 32:
        return from_integer(register, F32, is_signed=x.dtype.is_signed)
    if x.dtype.is_integer:
        exact = sticky(register, is_signed=x.dtype.is_signed) if x.dtype.bits == 64 else register
        register = from_integer(exact, F64, is_signed=x.dtype.is_signed)
    return register if register.type.element is F32 else rounded_to_odd(register)
