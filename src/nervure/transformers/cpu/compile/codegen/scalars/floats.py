"""Functions of float32 and float64 defined by IEEE 754, and floor division as NumPy's, from the exact remainder.

The remainder of x by y is exact in floats: with the quotient q = x / y rounded to nearest, x - q * y is a float (J.-M.
Muller et al., "Handbook of Floating-Point Arithmetic"), and a fused multiply-add computes it. If q is so large that it
is an integer, x - q * y has the same remainder as x, and is smaller by as many bits as a float has. So a loop that
hardly ever runs makes quotients small, and one truncated quotient does the rest.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("rectified", [("x", F32)], F32)
>>> b.ret(maximum(b.arguments[0], b.constant(F32, 0.0)))
>>> print("\\n".join(b.text().splitlines()[2:4]))
  %v0 = fcmp ogt float 0x0000000000000000, %x
  %v1 = select i1 %v0, float 0x0000000000000000, float %x
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from nervure.transformers.cpu.compile.llvm.register import Register

_DIGITS = {"float": 23, "double": 52}  # quotients of at least 2**DIGITS have no fraction
_UNIT = {"float": 2.0**75, "double": 2.0**538}  # its cube exceeds any quotient


def absolute(x: Register) -> Register:
    """Clears the sign."""
    return x.builder.intrinsic("fabs", x)


def with_sign_of(size: Register | float, sign: Register) -> Register:
    """Returns the magnitude of one number with the sign of another."""
    size = size if isinstance(size, Register) else sign.builder.constant(sign.type, size)
    return size.builder.intrinsic("copysign", size, sign)


def sign(x: Register) -> Register:
    """Returns -1 or 1; zeros and NaN as they are."""
    return x.builder.where(absolute(x) > 0.0, with_sign_of(1.0, x), x)


def maximum(x: Register, y: Register) -> Register:
    """Returns the larger; NaN if one is NaN. For two zeros, either."""
    return _chosen(x, y, operator.gt)


def minimum(x: Register, y: Register) -> Register:
    """Returns the smaller; NaN if one is NaN. For two zeros, either."""
    return _chosen(x, y, operator.lt)


def _chosen(x: Register, y: Register, wins: Callable[[Register, Register], Register]) -> Register:
    """Returns ``x if wins else y``, one instruction, which gives y if one of the two is NaN: only a NaN in x needs
    care. A constant x needs none.
    """
    if y.number is not None:
        x, y = y, x
    chosen = x.builder.where(wins(x, y), x, y)
    known = x.number
    if known is not None and not math.isnan(known):
        return chosen
    return x.builder.where(x.is_nan(), x, chosen)


def is_infinite(x: Register) -> Register:
    """Whether x is an infinity."""
    return absolute(x).equal(math.inf)


def is_finite(x: Register) -> Register:
    """Whether x is neither NaN nor infinite."""
    return absolute(x) < math.inf


def floor(x: Register) -> Register:
    """Returns the largest integer <= x."""
    return x.builder.intrinsic("floor", x)


def truncate(x: Register) -> Register:
    """Rounds toward zero."""
    return x.builder.intrinsic("trunc", x)


def _intrinsic(name: str) -> Callable[..., Register]:
    return lambda x: x.builder.intrinsic(name, x)


# -- floor division ------------------------------------------------------------------------------------------------


def _floordivide(x: Register, y: Register) -> Register:
    """Returns the floor of x / y; x / y for y = 0."""
    b = x.builder
    rest = _remainder(x, y)
    quotient = (x - rest) / y
    quotient = b.where(_is_opposite(rest, y), quotient - 1.0, quotient)
    lower = floor(quotient)
    nearest = b.where(quotient - lower > 0.5, lower + 1.0, lower)
    nearest = b.where(quotient.equal(0.0), with_sign_of(0.0, x / y), nearest)
    return b.where(y.equal(0.0), x / y, nearest)


def _modulo(x: Register, y: Register) -> Register:
    """Returns x - y * floor(x / y), with the sign of y; NaN for y = 0."""
    b = x.builder
    rest = _remainder(x, y)
    moved = b.where(_is_opposite(rest, y), rest + y, rest)
    return b.where(rest.equal(0.0), with_sign_of(0.0, y), moved)


def _is_opposite(rest: Register, y: Register) -> Register:
    return rest.not_equal(0.0) & ((y < 0.0) ^ (rest < 0.0))


def _remainder(x: Register, y: Register) -> Register:
    """Returns x - y * n, exact, where n is x / y rounded toward zero; NaN for an infinite ``x`` or y = 0."""
    b, size = x.builder, absolute(y)
    left = _with_small_quotient(x, size)
    rest = b.fma(-truncate(left / size), size, left)
    rest = b.where(absolute(left) < size, left, rest)  # in particular if y is infinite
    # A quotient that was rounded up leaves a remainder on the other side of zero.
    return b.where(rest * with_sign_of(1.0, x) < 0.0, rest + with_sign_of(size, x), rest)


def _with_small_quotient(x: Register, size: Register) -> Register:
    """Returns a number with the remainder of x, modulo ``size``, and a quotient of at most 2**DIGITS."""
    b, unit = x.builder, _UNIT[x.type.scalar]
    limit, far = size * 2.0 ** _DIGITS[x.type.scalar], size * unit
    farther = far * unit

    def iteration(left: Register) -> list[Register]:
        length = absolute(left)
        # In steps of such units no quotient overflows.
        step = b.where(length >= farther, farther, b.where(length >= far, far, size))
        return [b.where(length > limit, b.fma(-(left / step), step, left), left)]

    return b.repeat([x], lambda left: b.any_lane(absolute(left) > limit), iteration, unlikely=True)[0]


FUNCTIONS: dict[str, Callable[..., Register]] = {
    "equal": Register.equal, "not_equal": Register.not_equal, "less": operator.lt, "less_equal": operator.le,
    "negative": operator.neg, "absolute": absolute, "sign": sign,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "fma": lambda x, y, z: x.builder.fma(x, y, z),
    "maximum": maximum, "minimum": minimum,
    "floor": floor, "ceil": _intrinsic("ceil"), "round": _intrinsic("roundeven"), "truncate": truncate,
    "is_nan": Register.is_nan, "is_inf": is_infinite, "is_finite": is_finite,
    "floordivide": _floordivide, "modulo": _modulo,
}
