"""Division of integers, as Python's: the quotient is rounded down, the remainder has the sign of the divisor.

By zero both are 0; the smallest number divided by -1 is itself. Processors divide no vectors of integers, and trap on
those two. So integers are divided as floats, exactly: if n is the next integer above x / y, then n - x / y is at least
1 / y, whereas x / y rounded to p bits moves up by at most 2**-p * x / y, which is less if x < 2**p. Vectors in which
some 64-bit integer has more than 51 bits are divided one by one. A constant divisor becomes shifts or multiplications:

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I64
>>> b = Builder("rows", [("x", I64)], I64)
>>> b.ret(floor_quotient(b.arguments[0], b.constant(I64, 8)))
>>> b.text().splitlines()[2]
'  %v0 = ashr i64 %x, 3'
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.codegen.scalars.constants import known_integer
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I32

_MIDDLE = 2.0**52 + 2.0**51  # its last place is 1, and so is that of its sum with anything from -2**51 to 2**51
_BITS_OF_MIDDLE = 0x4338000000000000


def floor_quotient(x: Register, y: Register) -> Register:
    """The floor of x / y of signed integers."""
    return _quotient(x, y, True)


def floor_remainder(x: Register, y: Register) -> Register:
    """x - y * floor(x / y) of signed integers."""
    return _remainder(x, y, True)


def unsigned_quotient(x: Register, y: Register) -> Register:
    """The floor of x / y of unsigned integers."""
    return _quotient(x, y, False)


def unsigned_remainder(x: Register, y: Register) -> Register:
    """x - y * floor(x / y) of unsigned integers."""
    return _remainder(x, y, False)


def _remainder(x: Register, y: Register, is_signed: bool) -> Register:
    known = _known(y, is_signed)
    if _is_power_of_two(known):
        return x & (y - 1)
    rest = x - _quotient(x, y, is_signed) * y
    return rest if known else x.builder.where(y.equal(0), 0, rest)


def _quotient(x: Register, y: Register, is_signed: bool) -> Register:
    b, known = x.builder, _known(y, is_signed)
    if known is not None and _is_power_of_two(known):
        places = known.bit_length() - 1
        return x.shift_right_signed(places) if is_signed else x.shift_right(places)
    if known in (0, -1):
        return -x if known else b.constant(x.type, 0)
    if x.type.bits <= 32:
        return _in_floats(x, y, is_signed) if known is None else _by_instruction(x, y, is_signed)
    if x.type.lanes == 1:
        return _by_instruction(x, y, is_signed)
    digits = ((x + 2**51) | (y + 2**51)).shift_right(52) if is_signed else (x | y).shift_right(51)
    is_long = b.any_lane(digits.not_equal(0))
    return b.choose(is_long, lambda: _by_instruction(x, y, is_signed), lambda: _in_doubles(x, y), unlikely=True)


def _known(y: Register, is_signed: bool) -> int | None:
    known = known_integer(y)
    return known if known is None or is_signed else known % 2**y.type.bits


def _is_power_of_two(number: int | None) -> bool:
    return number is not None and number > 0 and number & (number - 1) == 0


def _in_floats(x: Register, y: Register, is_signed: bool) -> Register:
    """The quotient of integers of at most 32 bits."""
    b, bits = x.builder, x.type.bits
    wide, conversion = F64 if bits == 32 else F32, "sitofp" if is_signed else "uitofp"
    exact = b.intrinsic("floor", x.cast(conversion, wide) / y.cast(conversion, wide))
    quotient = b.where(y.equal(0), 0.0, exact)
    if bits < 32:
        return quotient.cast("fptosi", I32).cast("trunc", x.type.element)
    return (quotient + _MIDDLE).bits().cast("trunc", I32)  # the digits below 2**32, which _MIDDLE has none of


def _in_doubles(x: Register, y: Register) -> Register:
    """The quotient of 64-bit integers from -2**51 to 2**51."""
    b = x.builder
    dividend, divisor = [(entry + _BITS_OF_MIDDLE).bitcast(F64) - _MIDDLE for entry in (x, y)]
    quotient = b.where(y.equal(0), 0.0, b.intrinsic("floor", dividend / divisor))
    return (quotient + _MIDDLE).bits() - _BITS_OF_MIDDLE


def _by_instruction(x: Register, y: Register, is_signed: bool) -> Register:
    """The quotient by LLVM's division; a divisor that traps is replaced by 1, which is right for what overflows."""
    b, divisor, is_zero = x.builder, y, y.equal(0)
    if known_integer(y) is None:
        overflows = x.equal(-(2 ** (x.type.bits - 1))) & y.equal(-1)
        divisor = b.where(is_zero | overflows if is_signed else is_zero, 1, y)
    quotient = b.emit(x.type, f"{'sdiv' if is_signed else 'udiv'} {x.type} {x.text}, {divisor.text}")
    if is_signed:
        rest = x - quotient * divisor
        quotient = b.where(((rest ^ divisor) < 0) & rest.not_equal(0), quotient - 1, quotient)
    return b.where(is_zero, 0, quotient)
