"""Arithmetic on two tensors of one type and shape, and on one.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> Subtract(x, x)
f32[3] Subtract(Parameter, Parameter)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nervure.errors import InvalidArgument
from nervure.ir.kinds import ANY, COMPLEX, FLOATS, NUMBERS, REALS, Elementwise
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Value, registry
from nervure.ir.provenance import is_on_behalf
from nervure.ops.comparison import Equal, GreaterEqual, LogicalAnd
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.selection import where


class Add(Elementwise):
    """x + y; integers wrap; bool: or."""

    operand_names = "x y"
    admits = ANY

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.add(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return gradient, gradient


class Subtract(Elementwise):
    """x - y; integers wrap."""

    operand_names = "x y"
    admits = NUMBERS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.subtract(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return gradient, -gradient


class Multiply(Elementwise):
    """x * y; integers wrap; bool: and."""

    operand_names = "x y"
    admits = ANY

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.multiply(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, y = operands
        return gradient * y, gradient * x


class Divide(Elementwise):
    """x / y of floats or complex numbers; x / 0 is a signed infinity, 0 / 0 NaN. For integers see FloorDivide."""

    operand_names = "x y"
    admits = FLOATS | COMPLEX

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.divide(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        share = gradient / operands[1]
        return share, -share * self.output


class FloorDivide(Elementwise):
    """The floor of x / y; integers by zero give 0, floats x / y. Its derivative is zero."""

    operand_names = "x y"
    admits = REALS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.floordivide(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return None, None


class Mod(Elementwise):
    """x - y * floor(x / y), with the sign of y, as Python's; by zero integers give 0, floats NaN."""

    operand_names = "x y"
    admits = REALS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.modulo(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, y = operands
        return gradient, -gradient * (x // y)


class Power(Elementwise):
    """x ** y; 0 ** 0 is 1. Integers wrap; an integer to a negative power is 0, but exact for 1 and -1, and
    InvalidArgument where the exponent is a constant.

    The derivatives do not divide by x: that in x is 0 where y is 0, that in y is 0 where x is 0 and y is not negative.
    """

    operand_names = "x y"
    admits = REALS

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        # What a pass or a parser makes of a valid graph stays valid: such a power has a value. It is the user who errs.
        if self.outputs[0].type.dtype.is_integer and not is_on_behalf():
            self._refuse_negative_constant(self.operands[1].op)

    def _refuse_negative_constant(self, exponent: Any) -> None:
        known = exponent.number if type(exponent) is Full else exponent.array if type(exponent) is Constant else 0
        if np.any(np.less(known, 0)):
            raise self.fail(InvalidArgument, "integers cannot be raised to a negative power",
                            operand=self.operand_label(1), got=np.min(known), expected="0 or more",
                            help="insert ops.Convert to a float type first")

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.power(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, y = operands
        constant = Equal(y, y.full(0))
        slope = y * x ** where(constant, 1, y - 1)
        # The limit of x**y log(x) at 0 is 0; there the logarithm sees 1.
        at_zero = LogicalAnd(Equal(x, x.full(0)), GreaterEqual(y, y.full(0)))
        logarithm = registry["Log"](where(at_zero, 1, x)).output
        return gradient * where(constant, 0, slope), gradient * (self.output * logarithm)


class Negative(Elementwise):
    """-x; integers wrap, the sign of zero flips."""

    operand_names = "x"
    admits = NUMBERS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.negative(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (-gradient,)


class Square(ElementwiseComposite):
    """x * x."""

    operand_names = "x"
    admits = NUMBERS

    def formula(self, *operands: Value) -> Value:
        return operands[0] * operands[0]


class Reciprocal(ElementwiseComposite):
    """1 / x."""

    operand_names = "x"
    admits = FLOATS | COMPLEX

    def formula(self, *operands: Value) -> Value:
        return 1 / operands[0]


class SquaredDifference(ElementwiseComposite):
    """(x - y) ** 2."""

    operand_names = "x y"
    admits = NUMBERS

    def formula(self, *operands: Value) -> Value:
        return Square(operands[0] - operands[1]).output
