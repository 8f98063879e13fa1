"""Functions of integers, which wrap. Signed and unsigned ones share those that do not look at the sign.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I32
>>> b = Builder("less", [("x", I32), ("y", I32)], I32)
>>> SIGNED["less"](*b.arguments), UNSIGNED["less"](*b.arguments)
(i1 %v0, i1 %v1)
>>> print("\\n".join(b.text().splitlines()[2:4]))
  %v0 = icmp slt i32 %x, %y
  %v1 = icmp ult i32 %x, %y
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from nervure.transformers.cpu.compile.codegen.scalars.division import (
    floor_quotient,
    floor_remainder,
    unsigned_quotient,
    unsigned_remainder,
)
from nervure.transformers.cpu.compile.codegen.scalars.power import signed_power, unsigned_power
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I1


def _itself(x: Register) -> Register:
    return x


def _everywhere(holds: bool) -> Callable[[Register], Register]:
    return lambda x: x.builder.constant(I1.vector(x.type.lanes), holds)


def _intrinsic(name: str) -> Callable[..., Register]:
    return lambda x, *rest: x.builder.intrinsic(name, x, *rest)


def _absolute(x: Register) -> Register:
    return x.builder.where(x < 0, -x, x)


def _sign(x: Register) -> Register:
    b = x.builder
    return b.intrinsic("smax", b.intrinsic("smin", x, 1), -1)


def _shift_left(x: Register, y: Register) -> Register:
    return _unless_all_gone(x.shift_left(y), y)


def _shift_right(x: Register, y: Register) -> Register:
    return _unless_all_gone(x.shift_right(y), y)


def _unless_all_gone(shifted: Register, y: Register) -> Register:
    """0 where a shift is by the width or more, or negative (which is large as an unsigned number): there LLVM leaves
    the result open. The vector shifts of x86 give 0 by themselves, and LLVM knows.
    """
    return y.builder.where(y.below(y.type.bits), shifted, 0)


def _shift_right_signed(x: Register, y: Register) -> Register:
    return x.shift_right_signed(y.builder.intrinsic("umin", y, y.type.bits - 1))


_WRAPPING: dict[str, Callable[..., Register]] = {
    "negative": operator.neg, "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "fma": lambda x, y, z: x * y + z,
    "floor": _itself, "ceil": _itself, "round": _itself, "truncate": _itself,
    "equal": Register.equal, "not_equal": Register.not_equal,
    "is_nan": _everywhere(False), "is_inf": _everywhere(False), "is_finite": _everywhere(True),
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert, "shift_left": _shift_left,
}

SIGNED: dict[str, Callable[..., Register]] = {
    **_WRAPPING,
    "absolute": _absolute, "sign": _sign, "maximum": _intrinsic("smax"), "minimum": _intrinsic("smin"),
    "less": operator.lt, "less_equal": operator.le, "shift_right": _shift_right_signed,
    "floordivide": floor_quotient, "modulo": floor_remainder, "power": signed_power,
}

UNSIGNED: dict[str, Callable[..., Register]] = {
    **_WRAPPING,
    "absolute": _itself, "sign": lambda x: x.builder.intrinsic("umin", x, 1), "maximum": _intrinsic("umax"),
    "minimum": _intrinsic("umin"), "less": Register.below, "less_equal": Register.below_or_equal,
    "shift_right": _shift_right,
    "floordivide": unsigned_quotient, "modulo": unsigned_remainder, "power": unsigned_power,
}
