"""Functions of integers, which wrap, and of truth values, which are single bits.

Division is Python's: the quotient is rounded down, the remainder has the sign of the divisor. Division by zero gives 0
for both; the smallest number divided by -1 is itself. Processors divide no vectors of integers, and trap on these two
cases. So integers are divided as floats, exactly: if n is the next integer above x / y, then n - x / y is at least 1 /
y, whereas x / y rounded to p bits moves up by at most 2**-p * x / y, which is less if x < 2**p. Vectors in which some
64-bit integer has more than 51 bits are divided one by one. A constant divisor becomes shifts or multiplications, and
a constant exponent the squares and products that it needs:

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I64
>>> b = Builder("f", [("x", I64)], I64)
>>> x, = b.arguments
>>> b.ret(SIGNED["power"](SIGNED["floordivide"](x, b.constant(I64, 8)), b.constant(I64, 3)))
>>> print("\\n".join(b.text().splitlines()[2:5]))
  %v0 = ashr i64 %x, 3
  %v1 = mul i64 %v0, %v0
  %v2 = mul i64 %v0, %v1
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial

from nervure.kernel.math import long_integers
from nervure.kernel.math.long_integers import MIDDLE
from nervure.transformers.cpu.compile.codegen.scalars.mathematics import doubles
from nervure.transformers.cpu.compile.llvm.register import Register, intrinsic
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I1, I32


def _itself(x: Register) -> Register:
    return x


def _never(x: Register) -> Register:
    return x ^ x


def _everywhere(holds: bool) -> Callable[[Register], Register]:
    return lambda x: x.builder.constant(I1.vector(x.type.lanes), holds)


def _sign(x: Register) -> Register:
    b = x.builder
    return b.intrinsic("smax", b.intrinsic("smin", x, 1), -1)


def _unless_all_gone(shifted: Register, y: Register) -> Register:
    """Returns 0 for a shift by the width or more, or by a negative amount: LLVM leaves that result undefined. A
    negative amount is large as an unsigned number. The vector shifts of x86 give 0 by themselves, and LLVM knows.
    """
    return y.builder.where(y.below(y.type.bits), shifted, 0)


def _shift_right_signed(x: Register, y: Register) -> Register:
    return x.shift_right_signed(y.builder.intrinsic("umin", y, y.type.bits - 1))


# -- division ------------------------------------------------------------------------------------------------------


def _remainder(x: Register, y: Register, is_signed: bool) -> Register:
    """Returns x - y * floor(x / y)."""
    known = _known(y, is_signed)
    if _is_power_of_two(known):
        return x & (y - 1)
    rest = x - _quotient(x, y, is_signed) * y
    return rest if known else x.builder.where(y.equal(0), 0, rest)


def _quotient(x: Register, y: Register, is_signed: bool) -> Register:
    """Returns the floor of x / y."""
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
    return b.choose(is_long, lambda: _by_instruction(x, y, is_signed),
                    lambda: long_integers.quotient(doubles(x), x, y), unlikely=True)


def _known(x: Register, is_signed: bool = True) -> int | None:
    """Returns the integer that a constant has in all lanes."""
    number = x.number
    return None if not isinstance(number, int) else number if is_signed else number % 2**x.type.bits


def _is_power_of_two(number: int | None) -> bool:
    return number is not None and number > 0 and number & (number - 1) == 0


def _in_floats(x: Register, y: Register, is_signed: bool) -> Register:
    """Returns the quotient of integers ``x`` and ``y`` of at most 32 bits."""
    b, bits = x.builder, x.type.bits
    wide, conversion = F64 if bits == 32 else F32, "sitofp" if is_signed else "uitofp"
    exact = b.intrinsic("floor", x.cast(conversion, wide) / y.cast(conversion, wide))
    quotient = b.where(y.equal(0), 0.0, exact)
    if bits < 32:
        return quotient.cast("fptosi", I32).cast("trunc", x.type.element)
    return (quotient + MIDDLE).bits().cast("trunc", I32)  # the digits below 2**32, where MIDDLE has zeros


def _by_instruction(x: Register, y: Register, is_signed: bool) -> Register:
    """Returns the quotient of ``x`` and ``y`` by LLVM's division; a divisor that traps is replaced by 1, which gives
    the right result on overflow.
    """
    b, divisor, is_zero = x.builder, y, y.equal(0)
    if _known(y) is None:
        overflows = x.equal(-(2 ** (x.type.bits - 1))) & y.equal(-1)
        divisor = b.where(is_zero | overflows if is_signed else is_zero, 1, y)
    quotient = x.quotient_signed(divisor) if is_signed else x.quotient(divisor)
    if is_signed:
        rest = x - quotient * divisor
        quotient = b.where(((rest ^ divisor) < 0) & rest.not_equal(0), quotient - 1, quotient)
    return b.where(is_zero, 0, quotient)


# -- powers --------------------------------------------------------------------------------------------------------


def _unsigned_power(x: Register, y: Register) -> Register:
    """Returns x ** y; 0 ** 0 is 1."""
    known = _known(y, False)
    return _any_power(x, y) if known is None else _constant_power(x, known)


def _signed_power(x: Register, y: Register) -> Register:
    """Returns x ** y; to a negative power 0, except for 1 and -1, which are their own reciprocals."""
    b, known = x.builder, _known(y)
    if known is not None and known >= 0:
        return _constant_power(x, known)
    own = b.where((y & 1).equal(0), 1, x)
    reciprocal = b.where(x.equal(1) | x.equal(-1), own, 0)
    if known is not None:
        return reciprocal
    return b.where(y < 0, reciprocal, _any_power(x, b.intrinsic("smax", y, 0)))


def _constant_power(x: Register, exponent: int) -> Register:
    result: Register | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else result * x
        exponent >>= 1
        x = x * x if exponent else x
    return x.builder.constant(x.type, 1) if result is None else result


def _any_power(x: Register, y: Register) -> Register:
    b = x.builder

    def iteration(base: Register, exponent: Register, result: Register) -> list[Register]:
        multiplied = b.where((exponent & 1).not_equal(0), result * base, result)
        return [base * base, exponent.shift_right(1), multiplied]

    one = b.constant(x.type, 1)
    return b.repeat([x, y, one], lambda base, exponent, result: b.any_lane(exponent.not_equal(0)), iteration)[2]


# -- tables --------------------------------------------------------------------------------------------------------


_WRAPPING: dict[str, Callable[..., Register]] = {
    "negative": operator.neg, "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "fma": lambda x, y, z: x * y + z,
    "floor": _itself, "ceil": _itself, "round": _itself, "truncate": _itself,
    "equal": Register.equal, "not_equal": Register.not_equal,
    "is_nan": _everywhere(False), "is_inf": _everywhere(False), "is_finite": _everywhere(True),
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert, "shift_left": lambda x, y: _unless_all_gone(x.shift_left(y), y),
}

SIGNED: dict[str, Callable[..., Register]] = {
    **_WRAPPING,
    "absolute": lambda x: x.builder.where(x < 0, -x, x), "sign": _sign,
    "maximum": intrinsic("smax"), "minimum": intrinsic("smin"),
    "less": operator.lt, "less_equal": operator.le, "shift_right": _shift_right_signed,
    "floordivide": partial(_quotient, is_signed=True), "modulo": partial(_remainder, is_signed=True),
    "power": _signed_power,
}

UNSIGNED: dict[str, Callable[..., Register]] = {
    **_WRAPPING,
    "absolute": _itself, "sign": lambda x: x.builder.intrinsic("umin", x, 1), "maximum": intrinsic("umax"),
    "minimum": intrinsic("umin"), "less": Register.below, "less_equal": Register.below_or_equal,
    "shift_right": lambda x, y: _unless_all_gone(x.shift_right(y), y),
    "floordivide": partial(_quotient, is_signed=False), "modulo": partial(_remainder, is_signed=False),
    "power": _unsigned_power,
}

BOOLEANS: dict[str, Callable[..., Register]] = {
    "add": operator.or_, "multiply": operator.and_, "fma": lambda x, y, z: x & y | z,
    "maximum": operator.or_, "minimum": operator.and_,
    "floor": _itself, "ceil": _itself, "round": _itself, "truncate": _itself,
    "equal": lambda x, y: ~(x ^ y), "not_equal": operator.xor,
    "less": lambda x, y: ~x & y, "less_equal": lambda x, y: ~x | y,
    "is_nan": _never, "is_inf": _never, "is_finite": lambda x: ~_never(x),
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert,
}
