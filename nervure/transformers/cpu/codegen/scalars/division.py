"""Division of integers, as Python's: the quotient is rounded down, the remainder has the sign of the divisor.

By zero both are 0; the smallest number divided by -1 is itself. Processors divide no vectors of integers, and trap on
those two. So integers of at most 32 bits are divided as floats, exactly: if n is the next integer above x / y,
then n - x / y is at least 1 / y, whereas x / y rounded to p bits moves up by at most 2**-p * x / y, which is less if
x < 2**p. 64-bit integers are divided one by one. A constant divisor becomes shifts or multiplications:

>>> from nervure.transformers.cpu.llvm.builder import Builder
>>> from nervure.transformers.cpu.llvm.types import I64
>>> b = Builder("rows", [("x", I64)], I64)
>>> b.ret(floor_quotient(b.arguments[0], b.constant(I64, 8)))
>>> b.text().splitlines()[2]
'  %v0 = ashr i64 %x, 3'
"""

from __future__ import annotations

from nervure.transformers.cpu.codegen.scalars.constants import known_integer
from nervure.transformers.cpu.llvm.builder import Register
from nervure.transformers.cpu.llvm.types import F32, F64, I32


def floor_quotient(x: Register, y: Register) -> Register:
    """The floor of x / y of signed integers."""
    known = known_integer(y)
    if known is None:
        return _in_floats(x, y, True) if x.type.bits <= 32 else _one_by_one(x, y, True)[0]
    if known in (0, -1):
        return -x if known else x.builder.constant(x.type, 0)
    if _is_power_of_two(known):
        return x.shift_right_signed(known.bit_length() - 1)
    return _floored(x, _divided("sdiv", x, y), y)[0]


def floor_remainder(x: Register, y: Register) -> Register:
    """x - y * floor(x / y) of signed integers."""
    known = known_integer(y)
    if known is None:
        return _rest(x, y, _in_floats(x, y, True)) if x.type.bits <= 32 else _one_by_one(x, y, True)[1]
    if known in (0, -1):
        return x.builder.constant(x.type, 0)
    if _is_power_of_two(known):
        return x & (known - 1)
    return _floored(x, _divided("sdiv", x, y), y)[1]


def unsigned_quotient(x: Register, y: Register) -> Register:
    """The floor of x / y of unsigned integers."""
    known = known_integer(y)
    if known is None:
        return _in_floats(x, y, False) if x.type.bits <= 32 else _one_by_one(x, y, False)[0]
    return _divided("udiv", x, y) if known else y


def unsigned_remainder(x: Register, y: Register) -> Register:
    """x - y * floor(x / y) of unsigned integers."""
    known = known_integer(y)
    if known is None:
        return _rest(x, y, _in_floats(x, y, False)) if x.type.bits <= 32 else _one_by_one(x, y, False)[1]
    return _divided("urem", x, y) if known else y


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _divided(opcode: str, x: Register, y: Register) -> Register:
    return x.builder.emit(x.type, f"{opcode} {x.type} {x.text}, {y.text}")


def _floored(x: Register, quotient: Register, y: Register) -> tuple[Register, Register]:
    """From a quotient rounded toward zero to one rounded down, with its remainder."""
    b, rest = x.builder, x - quotient * y
    is_above = ((rest ^ y) < 0) & rest.not_equal(0)
    return b.where(is_above, quotient - 1, quotient), b.where(is_above, rest + y, rest)


def _rest(x: Register, y: Register, quotient: Register) -> Register:
    return x.builder.where(y.equal(0), 0, x - quotient * y)


def _in_floats(x: Register, y: Register, is_signed: bool) -> Register:
    """The quotient of integers of at most 32 bits; 0 where y is 0."""
    b, bits = x.builder, x.type.bits
    wide, conversion = F64 if bits == 32 else F32, "sitofp" if is_signed else "uitofp"
    exact = b.intrinsic("floor", x.cast(conversion, wide) / y.cast(conversion, wide))
    quotient = b.where(y.equal(0), 0.0, exact)
    if bits < 32:
        return quotient.cast("fptosi", I32).cast("trunc", x.type.element)
    # 2**52 and 2**51 have no bits below 2**32, so the sum has the quotient's there, modulo 2**32.
    return (quotient + (2.0**52 + 2.0**51)).bits().cast("trunc", I32)


def _one_by_one(x: Register, y: Register, is_signed: bool) -> tuple[Register, Register]:
    """Quotient and remainder where no divisor may trap: it is replaced by 1, which leaves the remainder 0."""
    b, is_zero = x.builder, y.equal(0)
    if not is_signed:
        divisor = b.where(is_zero, 1, y)
        quotient = _divided("udiv", x, divisor)
        return b.where(is_zero, 0, quotient), x - quotient * divisor
    overflows = x.equal(-(2 ** (x.type.bits - 1))) & y.equal(-1)
    divisor = b.where(is_zero | overflows, 1, y)
    quotient, rest = _floored(x, _divided("sdiv", x, divisor), divisor)
    return b.where(is_zero, 0, quotient), rest
