"""Powers of integers, which wrap: squares of the base, of which the bits of the exponent choose the factors.

A constant exponent leaves the multiplications alone:

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I32
>>> b = Builder("cube", [("x", I32)], I32)
>>> b.ret(unsigned_power(b.arguments[0], b.constant(I32, 3)))
>>> print("\\n".join(b.text().splitlines()[2:4]))
  %v0 = mul i32 %x, %x
  %v1 = mul i32 %x, %v0
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.codegen.scalars.constants import known_integer
from nervure.transformers.cpu.compile.codegen.scalars.repetition import repeat
from nervure.transformers.cpu.compile.llvm.builder import Register


def unsigned_power(x: Register, y: Register) -> Register:
    """x ** y, y >= 0 or unsigned; 0 ** 0 is 1."""
    known = known_integer(y)
    return _any_power(x, y) if known is None else _constant_power(x, known % 2 ** y.type.bits)


def signed_power(x: Register, y: Register) -> Register:
    """x ** y; to a negative power 0, but for 1 and -1, which are their own reciprocals."""
    b, known = x.builder, known_integer(y)
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

    def turn(base: Register, exponent: Register, result: Register) -> list[Register]:
        multiplied = b.where((exponent & 1).not_equal(0), result * base, result)
        return [base * base, exponent.shift_right(1), multiplied]

    one = b.constant(x.type, 1)
    return repeat([x, y, one], lambda base, exponent, result: b.any_lane(exponent.not_equal(0)), turn)[2]
