"""Conversions from one element type to another: ``convert``, ``wrap`` and ``bitcast``.

Types are converted through those of arithmetic (*wide*: float32 for low-precision floats, 8 bits for smaller integers),
and are rounded once.

Processors lack some vector instructions between integers and floats: see :mod:`nervure.kernel.math.long_integers`.

>>> from nervure.transformers.cpu.compile.codegen.element import literal
>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.types.dtype import bfloat16, int64
>>> b = Builder("example")
>>> convert(literal(b, 1.5, bfloat16, lanes=8), float64)
f64 <8 x double> %v3
>>> convert(literal(b, 7, int64, lanes=4), float64), "sitofp" in b.text(), "fadd" in b.text()
(f64 <4 x double> %v11, False, True)
"""

from __future__ import annotations

from nervure.kernel.math import long_integers, low_precision
from nervure.transformers.convert import limits
from nervure.transformers.cpu.compile.codegen.element import Element, register_types
from nervure.transformers.cpu.compile.codegen.scalars.mathematics import doubles, singles
from nervure.transformers.cpu.compile.llvm.register import Register
from nervure.transformers.cpu.compile.llvm.types import F16, F32, F64, I8, I32, I64, Type, make_type
from nervure.types.dtype import DType, complex64, float16, float32, float64, int8, uint8


def convert(x: Element, dtype: DType) -> Element:
    """Converts to another type; integers and floats saturate if it is an integer type."""
    if x.dtype is dtype:
        return x
    if dtype.kind == "bool":
        return Element(dtype, (_is_not_zero(x),))
    if dtype.is_complex:
        parts = [convert(part, _part_type(dtype)).register for part in _parts(x)]
        return Element(dtype, (parts[0], parts[1] if x.dtype.is_complex else x.builder.constant(parts[0].type, 0.0)))
    source = _parts(x)[0]
    return source if source.dtype is dtype else _narrowed(_number(_widened(source), dtype), dtype)


def wrap(x: Element, dtype: DType) -> Element:
    """Converts integers to integers modulo 2**bits; other types as ``convert`` does."""
    if not (x.dtype.is_integer and dtype.is_integer):
        return convert(x, dtype)
    wide = _widened(x)
    return _narrowed(_wrapped(wide.register, wide.dtype, dtype), dtype)


def bitcast(x: Element, dtype: DType) -> Element:
    """Returns the same bits as another type of the same width."""
    if x.dtype is dtype:
        return x
    word = _word(x)
    if dtype.bits < 8:
        return Element(dtype, (word & (1 << dtype.bits) - 1,))  # the upper bits of a byte are 0
    if dtype.kind == "bool":
        return Element(dtype, (word.not_equal(0),))
    if dtype.is_complex:
        low, high = word.cast("trunc", I32), word.shift_right(32).cast("trunc", I32)
        return Element(dtype, (low.bitcast(F32), high.bitcast(F32)))
    return Element(dtype, (word.bitcast(register_types(dtype)[0]),))


def _part_type(dtype: DType) -> DType:
    return float32 if dtype is complex64 else float64


def _parts(x: Element) -> list[Element]:
    """Returns the two parts of a complex number, else the number itself."""
    return [Element(_part_type(x.dtype), (part,)) for part in x.registers] if x.dtype.is_complex else [x]


def _word(x: Element) -> Register:
    """Returns the bits of an element as an integer."""
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
    """Converts to the type for arithmetic; a bool is an unsigned byte."""
    if x.dtype.kind == "bool":
        return Element(uint8, (x.register.cast("zext", I8),))
    if x.dtype.is_low_precision:
        return Element(float32, (_decoded(x.register, x.dtype),))
    if x.dtype.bits < 8:
        return Element(int8 if x.dtype.is_signed else uint8, (_from_lower_bits(x.register, x.dtype),))
    return x


def _narrowed(x: Register, dtype: DType) -> Element:
    """Converts from the type for arithmetic to the form in which an element is carried."""
    if dtype.is_low_precision:
        return Element(dtype, (_encoded(x, dtype),))
    return Element(dtype, (x & (1 << dtype.bits) - 1 if dtype.bits < 8 else x,))  # the upper bits of a byte are 0


def _number(x: Element, dtype: DType) -> Register:
    """Converts a number to the type for arithmetic of ``dtype``, so that only the last step to that type, if any,
    rounds.
    """
    register, target = x.register, F64 if dtype is float64 else F32
    if dtype.is_integer:
        return _saturated(register, x.dtype, dtype) if x.dtype.is_integer else _to_integer(register, dtype)
    if not dtype.is_low_precision:
        if x.dtype.is_integer:
            return _from_integer(register, target, is_signed=x.dtype.is_signed)
        return register.cast("fptrunc" if target is F32 else "fpext", target)
    if x.dtype.is_integer and x.dtype.bits < 32:
        return _from_integer(register, F32, is_signed=x.dtype.is_signed)
    if x.dtype.is_integer:
        if x.dtype.bits == 64:
            register = long_integers.sticky(doubles(register), register, x.dtype.is_signed)
        register = _from_integer(register, F64, is_signed=x.dtype.is_signed)
    return register if register.type.element is F32 else low_precision.rounded_to_odd(singles(register), register)


def _decoded(x: Register, dtype: DType) -> Register:
    """Returns the float32 of a low-precision float. Processors have instructions for float16."""
    if dtype is float16:
        return x.bitcast(F16).cast("fpext", F32)
    return low_precision.decode(singles(x), x.cast("zext", I32), dtype)


def _encoded(x: Register, dtype: DType) -> Register:
    """Returns the bits of the low-precision float nearest to a float32."""
    if dtype is float16:
        return x.cast("fptrunc", F16).bits()
    return low_precision.encode(singles(x), x, dtype).cast("trunc", make_type(f"i{8 * dtype.itemsize}", 1))


# -- integers and floats -------------------------------------------------------------------------------------------


def _from_integer(x: Register, type: Type, *, is_signed: bool) -> Register:
    """Returns the float nearest to an integer."""
    if x.type.bits < 64 or x.type.lanes == 1:
        return x.cast("sitofp" if is_signed else "uitofp", type)
    if type is F32:
        x = long_integers.sticky(doubles(x), x, is_signed)
    return long_integers.nearest(doubles(x), x, is_signed).cast("fptrunc", type)


def _to_integer(x: Register, dtype: DType) -> Register:
    """Converts a float to an integer: toward zero, saturated at the limits, and 0 for NaN."""
    b, bits = x.builder, max(dtype.bits, 8)
    minimum, maximum = limits(dtype)
    past = float(maximum + 1)
    low, high = float(minimum), _below(past, maximum, x.type)
    number = b.where(x.is_nan(), 0.0, x) if low else x
    inside = b.where(number > low, number, low)  # also for NaN
    inside = b.where(inside < high, inside, high)
    whole = _to_integer_inside(inside, bits, dtype.is_signed)
    return whole if high == maximum else b.where(x >= past, maximum, whole)


def _below(past: float, maximum: int, type: Type) -> float:
    """Returns the largest float that is not more than an integer type's maximum, ``past`` - 1."""
    digits = 24 if type.element is F32 else 53
    return float(maximum) if maximum.bit_length() <= digits else past - past * 2.0**-digits


def _to_integer_inside(x: Register, bits: int, is_signed: bool) -> Register:
    if bits == 64 and x.type.lanes > 1:
        return long_integers.digits(doubles(x), x.cast("fpext", F64))
    if bits < 32:
        return _resized(x.cast("fptosi", I32), make_type(f"i{bits}", 1), is_signed=True)
    return x.cast("fptosi" if is_signed else "fptoui", I64 if bits == 64 else I32)


# -- other widths --------------------------------------------------------------------------------------------------


def _resized(x: Register, type: Type, *, is_signed: bool) -> Register:
    """Returns the same integer ``x`` with fewer or more bits."""
    if type.bits == x.type.bits:
        return x
    return x.cast("trunc" if type.bits < x.type.bits else "sext" if is_signed else "zext", type)


def _saturated(x: Register, source: DType, target: DType) -> Register:
    """Converts an integer to the type ``target``, saturated at that type's limits."""
    b, prefix = x.builder, "s" if source.is_signed else "u"
    (own_low, own_high), (low, high) = limits(source), limits(target)
    if low > own_low:
        x = b.intrinsic("smax", x, low)
    if high < own_high:
        x = b.intrinsic(f"{prefix}min", x, high)
    return _wrapped(x, source, target)


def _wrapped(x: Register, source: DType, target: DType) -> Register:
    """Converts an integer to the type ``target``, modulo 2**bits."""
    return _resized(x, make_type(f"i{8 * target.itemsize}", 1), is_signed=source.is_signed)


def _from_lower_bits(x: Register, dtype: DType) -> Register:
    """Returns the number in the lower bits of a byte, 2 or 4 of them."""
    rest, sign = x & (1 << dtype.bits) - 1, 1 << dtype.bits - 1
    return (rest ^ sign) - sign if dtype.is_signed else rest
