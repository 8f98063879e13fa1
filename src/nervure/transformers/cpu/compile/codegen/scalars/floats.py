"""Functions of float32 and float64 defined by IEEE 754.

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

from nervure.transformers.cpu.compile.llvm.register import Register, intrinsic


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


FUNCTIONS: dict[str, Callable[..., Register]] = {
    "equal": Register.equal, "not_equal": Register.not_equal, "less": operator.lt, "less_equal": operator.le,
    "negative": operator.neg, "absolute": absolute, "sign": sign,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "fma": lambda x, y, z: x.builder.fma(x, y, z),
    "maximum": maximum, "minimum": minimum,
    "floor": floor, "ceil": intrinsic("ceil"), "round": intrinsic("roundeven"), "truncate": truncate,
    "is_nan": Register.is_nan, "is_inf": is_infinite, "is_finite": is_finite,
}
