"""The types of LLVM that we use: scalars, and vectors of them.

>>> F32, F32.vector(8), F32.vector(1)
(float, <8 x float>, float)
>>> F32.vector(8).with_scalar(I32), F64.integer()
(<8 x i32>, i64)
"""

from __future__ import annotations

import struct
from functools import cache

BITS = {"i1": 1, "i2": 2, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "bfloat": 16,
        "float": 32, "double": 64, "ptr": 64}
_FLOATS = ("half", "bfloat", "float", "double")
_SHORT = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}


class Type:
    """A scalar type and a number of lanes; 1 lane is the scalar itself. There is one object for each type: compare
    with ``is``.
    """

    __slots__ = ("bits", "is_float", "lanes", "scalar", "text")

    def __init__(self, scalar: str, lanes: int) -> None:
        self.scalar, self.lanes = scalar, lanes
        self.bits, self.is_float = BITS[scalar], scalar in _FLOATS
        self.text = scalar if lanes == 1 else f"<{lanes} x {scalar}>"

    def vector(self, lanes: int) -> Type:
        """Returns the same scalar in another number of lanes."""
        return make_type(self.scalar, lanes)

    def lanes_in(self, byte_count: int) -> int:
        """Returns how many of the scalar lie in a vector of ``byte_count`` bytes."""
        return byte_count * 8 // self.bits

    def with_scalar(self, other: Type) -> Type:
        """Returns another scalar in as many lanes."""
        return make_type(other.scalar, self.lanes)

    def integer(self) -> Type:
        """Returns the integers as wide as the scalar, in as many lanes."""
        return make_type(f"i{self.bits}", self.lanes)

    @property
    def element(self) -> Type:
        """The scalar type."""
        return make_type(self.scalar, 1)

    @property
    def suffix(self) -> str:
        """The end of an intrinsic's name for this type: ``v8f32``."""
        short = _SHORT.get(self.scalar, self.scalar)
        return short if self.lanes == 1 else f"v{self.lanes}{short}"

    def literal(self, number: int | float | bool) -> str:
        """Returns the text of a constant, in all lanes. A float is rounded to the type."""
        text = self._scalar_literal(number)
        return text if self.lanes == 1 else f"splat ({self.scalar} {text})"

    def _scalar_literal(self, number: int | float | bool) -> str:
        if self.scalar == "i1":
            return "true" if number else "false"
        if self.scalar == "ptr":
            return f"inttoptr (i64 {int(number)} to ptr)" if number else "null"
        if not self.is_float:
            return str(int(number) - (1 << self.bits) if int(number) >= 1 << (self.bits - 1) else int(number))
        number = float(number)
        if self.scalar == "float":
            number = _as_float32(number)
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"

    def __repr__(self) -> str:
        return self.text


@cache
def make_type(scalar: str, lanes: int) -> Type:
    """Returns the one type of this scalar and number of lanes."""
    return Type(scalar, lanes)


def _as_float32(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else -float("inf")


I1, I8, I16, I32, I64, I128 = [make_type(f"i{bits}", 1) for bits in (1, 8, 16, 32, 64, 128)]
F16, BF16, F32, F64 = [make_type(name, 1) for name in _FLOATS]
PTR = make_type("ptr", 1)
