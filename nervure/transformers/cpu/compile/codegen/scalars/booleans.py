"""Functions of truth values, which are single bits.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I1
>>> b = Builder("implies", [("x", I1), ("y", I1)], I1)
>>> b.ret(FUNCTIONS["less_equal"](*b.arguments))
>>> print("\\n".join(b.text().splitlines()[2:4]))
  %v0 = xor i1 %x, true
  %v1 = or i1 %v0, %y
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from nervure.transformers.cpu.compile.llvm.builder import Register


def _itself(x: Register) -> Register:
    return x


def _never(x: Register) -> Register:
    return x ^ x


FUNCTIONS: dict[str, Callable[..., Register]] = {
    "add": operator.or_, "multiply": operator.and_, "fma": lambda x, y, z: x & y | z,
    "maximum": operator.or_, "minimum": operator.and_,
    "floor": _itself, "ceil": _itself, "round": _itself, "truncate": _itself,
    "equal": lambda x, y: ~(x ^ y), "not_equal": operator.xor,
    "less": lambda x, y: ~x & y, "less_equal": lambda x, y: ~x | y,
    "is_nan": _never, "is_inf": _never, "is_finite": lambda x: ~_never(x),
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert,
}
