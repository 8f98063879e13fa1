"""Powers of integers, which wrap: squares of the base, of which the bits of the exponent choose the factors.

A constant exponent leaves the multiplications alone:

>>> from nervure.transformers.cpu.llvm.builder import Builder
>>> from nervure.transformers.cpu.llvm.types import I32
>>> b = Builder("cube", [("x", I32)], I32)
>>> b.ret(unsigned_power(b.arguments[0], b.constant(I32, 3)))
>>> print("\\n".join(b.text().splitlines()[2:4]))
  %v0 = mul i32 %x, %x
  %v1 = mul i32 %x, %v0
"""

from __future__ import annotations

from nervure.transformers.cpu.codegen.scalars.constants import known_integer
from nervure.transformers.cpu.llvm.builder import Register


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
    base, exponent, result = [b.allocate(x.type) for _ in range(3)]
    b.store(x, base)
    b.store(y, exponent)
    b.store(b.constant(x.type, 1), result)
    with b.while_(lambda: b.any_lane(b.load(exponent, y.type).not_equal(0))):
        square, bits, product = [b.load(place, x.type) for place in (base, exponent, result)]
        b.store(b.where((bits & 1).not_equal(0), product * square, product), result)
        b.store(square * square, base)
        b.store(bits.shift_right(1), exponent)
    return b.load(result, x.type)
