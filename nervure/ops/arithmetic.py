"""Arithmetic on two tensors of one type and shape, and on one.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> Subtract(x, x)
f32[3] Subtract(Parameter, Parameter)
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import ANY, NUMBERS, Elementwise
from nervure.ir.op import Value


class Add(Elementwise):
    """x + y; integers wrap; bool: or."""

    operand_names = "x y"
    admits = ANY

    def evaluate(self, s: Any, x: Any, y: Any) -> Any:
        return s.add(x, y)

    def vjp(self, gradient: Value, x: Value, y: Value) -> tuple[Any, ...]:
        return gradient, gradient


class Multiply(Elementwise):
    """x * y; integers wrap; bool: and."""

    operand_names = "x y"
    admits = ANY

    def evaluate(self, s: Any, x: Any, y: Any) -> Any:
        return s.multiply(x, y)

    def vjp(self, gradient: Value, x: Value, y: Value) -> tuple[Any, ...]:
        return gradient * y, gradient * x


class Subtract(Elementwise):
    """x - y; integers wrap."""

    operand_names = "x y"
    admits = NUMBERS

    def evaluate(self, s: Any, x: Any, y: Any) -> Any:
        return s.subtract(x, y)

    def vjp(self, gradient: Value, x: Value, y: Value) -> tuple[Any, ...]:
        return gradient, -gradient


class Negative(Elementwise):
    """-x; integers wrap, the sign of zero flips."""

    operand_names = "x"
    admits = NUMBERS

    def evaluate(self, s: Any, x: Any) -> Any:
        return s.negative(x)

    def vjp(self, gradient: Value, x: Value) -> tuple[Any, ...]:
        return (-gradient,)
