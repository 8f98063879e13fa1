"""Floor division of floats, as NumPy's, from the exact remainder.

The remainder of x by y is exact in floats: with the quotient q = x / y rounded to nearest, x - q * y is a float (J.-M.
Muller et al., "Handbook of Floating-Point Arithmetic"), and a fused multiply-add gives it. If q is so large that it is
an integer, the remainder of x - q * y is that of x; it is smaller by as many bits as a float has. So a loop that
hardly ever runs makes quotients small, and one truncated quotient does the rest.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("modulo", [("x", F32), ("y", F32)], F32)
>>> b.ret(modulo(*b.arguments))
>>> [b.text().count(name) for name in ("llvm.trunc", "llvm.fma", "frem")]
[1, 2, 0]
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.codegen.scalars.floats import absolute, floor, truncate, with_sign_of
from nervure.transformers.cpu.compile.codegen.scalars.repetition import repeat
from nervure.transformers.cpu.compile.llvm.builder import Register

_DIGITS = {"float": 23, "double": 52}  # quotients of 2**DIGITS and more have no fraction
_UNIT = {"float": 2.0**75, "double": 2.0**538}  # its cube is more than any quotient


def floordivide(x: Register, y: Register) -> Register:
    """The floor of x / y; x / y where y is 0."""
    b = x.builder
    rest = _remainder(x, y)
    quotient = (x - rest) / y
    quotient = b.where(_is_opposite(rest, y), quotient - 1.0, quotient)
    lower = floor(quotient)
    nearest = b.where(quotient - lower > 0.5, lower + 1.0, lower)
    nearest = b.where(quotient.equal(0.0), with_sign_of(0.0, x / y), nearest)
    return b.where(y.equal(0.0), x / y, nearest)


def modulo(x: Register, y: Register) -> Register:
    """x - y * floor(x / y), with the sign of y; NaN where y is 0."""
    b = x.builder
    rest = _remainder(x, y)
    moved = b.where(_is_opposite(rest, y), rest + y, rest)
    return b.where(rest.equal(0.0), with_sign_of(0.0, y), moved)


def _is_opposite(rest: Register, y: Register) -> Register:
    return rest.not_equal(0.0) & ((y < 0.0) ^ (rest < 0.0))


def _remainder(x: Register, y: Register) -> Register:
    """x - y * n, exact, with the n that is x / y rounded toward zero; NaN where x is infinite or y is 0."""
    b, size = x.builder, absolute(y)
    left = _with_small_quotient(x, size)
    rest = b.fma(-truncate(left / size), size, left)
    rest = b.where(absolute(left) < size, left, rest)  # above all if y is infinite
    # A quotient that was rounded up leaves a rest on the other side of zero.
    return b.where(rest * with_sign_of(1.0, x) < 0.0, rest + with_sign_of(size, x), rest)


def _with_small_quotient(x: Register, size: Register) -> Register:
    """A number with the remainder of x, modulo ``size``, and a quotient of at most 2**DIGITS."""
    b, unit = x.builder, _UNIT[x.type.scalar]
    limit, far = size * 2.0 ** _DIGITS[x.type.scalar], size * unit
    farther = far * unit

    def turn(left: Register) -> list[Register]:
        length = absolute(left)
        # In steps of such units no quotient overflows.
        step = b.where(length >= farther, farther, b.where(length >= far, far, size))
        return [b.where(length > limit, b.fma(-(left / step), step, left), left)]

    return repeat([x], lambda left: b.any_lane(absolute(left) > limit), turn, unlikely=True)[0]
