"""Virtual registers with operators: arithmetic on them becomes instructions of the function that is being built.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32, I8
>>> b = Builder("example", [("x", F32.vector(8))])
>>> x, = b.arguments
>>> x * x + 1.0, (x < 0.0).type
(<8 x float> %v1, <8 x i1>)
>>> b.constant(F32.vector(8), 1.5).number, b.constant(I8, 255).number, x.number
(1.5, -1, None)

Floats add, multiply and compare by IEEE 754; integers wrap, and ``<`` on them is signed. No operation carries
fast-math flags. A Python number becomes a constant of the other operand's type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.llvm.types import I1, Type

if TYPE_CHECKING:
    from nervure.transformers.cpu.compile.llvm.builder import Builder


class Register:
    """A value in a function: a virtual register, an argument or a constant."""

    __slots__ = ("builder", "text", "type")

    def __init__(self, builder: Builder, type: Type, text: str) -> None:
        self.builder, self.type, self.text = builder, type, text

    # -- arithmetic --------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Register:
        return self._both("fadd", "add", other)

    def __radd__(self, other: Operand) -> Register:
        return self._as(other)._both("fadd", "add", self)

    def __sub__(self, other: Operand) -> Register:
        return self._both("fsub", "sub", other)

    def __rsub__(self, other: Operand) -> Register:
        return self._as(other)._both("fsub", "sub", self)

    def __mul__(self, other: Operand) -> Register:
        return self._both("fmul", "mul", other)

    def __rmul__(self, other: Operand) -> Register:
        return self._as(other)._both("fmul", "mul", self)

    def __truediv__(self, other: Operand) -> Register:
        return self._both("fdiv", None, other)

    def __rtruediv__(self, other: Operand) -> Register:
        return self._as(other)._both("fdiv", None, self)

    def __neg__(self) -> Register:
        if self.type.is_float:
            return self.builder.emit(self.type, f"fneg {self.type} {self.text}")
        return self._as(0) - self

    def __and__(self, other: Operand) -> Register:
        return self._integer("and", other)

    def __or__(self, other: Operand) -> Register:
        return self._integer("or", other)

    def __xor__(self, other: Operand) -> Register:
        return self._integer("xor", other)

    def __invert__(self) -> Register:
        return self._integer("xor", -1 if self.type.scalar != "i1" else 1)

    def quotient(self, other: Operand) -> Register:
        """Returns the quotient of integers, neither of which is negative, rounded down; by 0 it is undefined."""
        return self._integer("udiv", other)

    def quotient_signed(self, other: Operand) -> Register:
        """Returns the quotient of integers, rounded toward zero; by 0, and of the smallest by -1, it is undefined."""
        return self._integer("sdiv", other)

    def shift_left(self, other: Operand) -> Register:
        """Shifts bits up; by the width or more is undefined."""
        return self._integer("shl", other)

    def shift_right(self, other: Operand) -> Register:
        """Shifts bits down, zeros enter from above; by the width or more is undefined."""
        return self._integer("lshr", other)

    def shift_right_signed(self, other: Operand) -> Register:
        """Shifts bits down, copies of the sign enter from above; by the width or more is undefined."""
        return self._integer("ashr", other)

    # -- comparisons: i1 in as many lanes, false with NaN but for not_equal ----------------------------------

    def __lt__(self, other: Operand) -> Register:
        return self._compared("olt", "slt", other)

    def __le__(self, other: Operand) -> Register:
        return self._compared("ole", "sle", other)

    def __gt__(self, other: Operand) -> Register:
        return self._compared("ogt", "sgt", other)

    def __ge__(self, other: Operand) -> Register:
        return self._compared("oge", "sge", other)

    def equal(self, other: Operand) -> Register:
        """x == y."""
        return self._compared("oeq", "eq", other)

    def not_equal(self, other: Operand) -> Register:
        """x != y; true if one is NaN."""
        return self._compared("une", "ne", other)

    def below(self, other: Operand) -> Register:
        """x < y of unsigned integers."""
        return self._compared(None, "ult", other)

    def below_or_equal(self, other: Operand) -> Register:
        """x <= y of unsigned integers."""
        return self._compared(None, "ule", other)

    def is_nan(self) -> Register:
        """Whether a float is NaN."""
        return self._compared("uno", None, self)

    # -- other types -------------------------------------------------------------------------------------

    def cast(self, opcode: str, type: Type) -> Register:
        """Applies one of LLVM's conversions (``sitofp``, ``fptrunc``, ``zext``, ...) to a scalar type, in as many
        lanes.
        """
        target = type.vector(self.type.lanes)
        if target is self.type:
            return self
        return self.builder.emit(target, f"{opcode} {self.type} {self.text} to {target}")

    def bitcast(self, type: Type) -> Register:
        """Returns the same bits as a type of the same width, in as many lanes."""
        return self.cast("bitcast", type)

    def regrouped(self, type: Type) -> Register:
        """Returns the same bits in lanes of another width: all lanes together are as wide as the type."""
        return self if type is self.type else self.builder.emit(type, f"bitcast {self!r} to {type}")

    def bits(self) -> Register:
        """Returns the bits of a float as an integer."""
        return self.bitcast(self.type.integer().element)

    @property
    def number(self) -> int | float | None:
        """The number that a constant has in all lanes, an integer as if signed; None for any other register."""
        text = self.text
        if text.startswith("splat ("):
            text = text[:-1].rpartition(" ")[2]
        if self.type.is_float and text.startswith("0x"):
            number: float = struct.unpack(">d", bytes.fromhex(text[2:]))[0]
            return number
        return int(text) if text.removeprefix("-").isdigit() else None

    def __repr__(self) -> str:
        return f"{self.type.text} {self.text}"

    def _as(self, other: Operand) -> Register:
        if isinstance(other, Register):
            if other.type is not self.type:
                raise InternalError(f"{other!r} where {self.type} is due")
            return other
        return self.builder.constant(self.type, other)

    def _both(self, floats: str | None, integers: str | None, other: Operand) -> Register:
        opcode, other = floats if self.type.is_float else integers, self._as(other)
        if opcode is None:
            raise InternalError(f"no such arithmetic on {self.type}")
        return self.builder.emit(self.type, f"{opcode} {self.type.text} {self.text}, {other.text}")

    def _integer(self, opcode: str, other: Operand) -> Register:
        if self.type.is_float:
            raise InternalError(f"{opcode} of {self.type}")
        return self.builder.emit(self.type, f"{opcode} {self.type} {self.text}, {self._as(other).text}")

    def _compared(self, floats: str | None, integers: str | None, other: Operand) -> Register:
        opcode = f"fcmp {floats}" if self.type.is_float and floats else f"icmp {integers}"
        if (floats if self.type.is_float else integers) is None:
            raise InternalError(f"no such comparison of {self.type}")
        return self.builder.emit(self.type.with_scalar(I1), f"{opcode} {self.type} {self.text}, {self._as(other).text}")


Operand = Register | int | float | bool


def intrinsic(name: str) -> Callable[..., Register]:
    """Returns the function of registers that an intrinsic of LLVM computes."""
    return lambda x, *rest: x.builder.intrinsic(name, x, *rest)
