"""Bits of integers; bool counts as one bit.

>>> import nervure as nv
>>> x = nv.Parameter(nv.uint8, (3,))
>>> BitwiseAnd(x, x.full(15))
u8[3] BitwiseAnd(Parameter, Full)
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import BOOL, INTEGERS, Elementwise


class Bitwise(Elementwise, abstract=True):
    """A function of the bits of two integers."""

    operand_names = "x y"
    admits = INTEGERS | BOOL


class BitwiseAnd(Bitwise):
    """And of the bits."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_and(*elements)


class BitwiseOr(Bitwise):
    """Or of the bits."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_or(*elements)


class BitwiseXor(Bitwise):
    """Exclusive or of the bits."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_xor(*elements)


class BitwiseNot(Elementwise):
    """All bits flipped."""

    operand_names = "x"
    admits = INTEGERS | BOOL

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_not(*elements)


class ShiftLeft(Bitwise):
    """x * 2**y modulo 2**bits; by the width or more, or by a negative amount, 0."""

    admits = INTEGERS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.shift_left(*elements)


class ShiftRight(Bitwise):
    """x // 2**y; by the width or more, or by a negative amount, the sign: 0 or -1."""

    admits = INTEGERS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.shift_right(*elements)
