"""Arithmetic on tensors of one type and shape: sums, products, powers, rounding, bits, complex parts.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> Subtract(x, x)
f32[3] Subtract(Parameter, Parameter)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nervure.errors import InvalidArgument
from nervure.ir.kinds import Elementwise
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Gradients, Op, Operand, Value
from nervure.ir.provenance import is_on_behalf
from nervure.ops.comparison import Equal, GreaterEqual, LogicalAnd
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.conversion import Convert
from nervure.ops.exponential import Log
from nervure.ops.scalar_op import ScalarOp, elementwise
from nervure.ops.selection import where
from nervure.types.element_groups import COMPLEX, FLOATS, NUMBERS, REALS

Add = elementwise("add", surface="add(np.array([1, 2]), 10) -> [11, 12]",
                  vjp=lambda self, gradient, x, y: (gradient, gradient))

Subtract = elementwise("subtract", surface="subtract(np.array([5, 7]), 2) -> [3, 5]", note="Not defined for bool.",
                       vjp=lambda self, gradient, x, y: (gradient, -gradient))

Multiply = elementwise("multiply", surface="multiply(np.array([1, 2]), 3) -> [3, 6]",
                       vjp=lambda self, gradient, x, y: (gradient * y, gradient * x))

Fma = elementwise("fma", admits=REALS,
                  vjp=lambda self, gradient, x, y, z: (gradient * y, gradient * x, gradient))


class Divide(ScalarOp):
    """x / y; on the surface integers give float32. x / 0 is a signed infinity, 0 / 0 NaN."""

    function = "divide"
    surface = "divide(np.array([1, 3]), 2) -> [0.5, 1.5]"

    def vjp(self, gradient: Value, x: Value, y: Value) -> Gradients:
        share = gradient / y
        return share, -share * self


FloorDivide = elementwise("floordivide", name="FloorDivide",
                          surface="floordivide(np.array([7, -7]), 2) -> [3, -4]",
                          vjp=lambda self, gradient, x, y: (None, None), note="Its derivative is zero.")

Mod = elementwise("modulo", name="Mod", surface="mod(np.array([7, -7]), 3) -> [1, 2]",
                  vjp=lambda self, gradient, x, y: (gradient, -gradient * (x // y)))


class Power(ScalarOp):
    """x ** y; 0 ** 0 is 1. Integers wrap. An integer to a negative power is 0, except that powers of 1 and -1 are
    exact; a negative constant exponent is InvalidArgument.

    The derivatives do not divide by x: that in x is 0 where y is 0, that in y is 0 where x is 0 and y is not negative.
    """

    function = "power"

    def __init__(self, *arguments: Any, **attributes: object) -> None:
        super().__init__(*arguments, **attributes)
        # A pass or a parser may build such a power from a valid graph; only a user's own is refused.
        if self.outputs[0].type.dtype.is_integer and not is_on_behalf():
            self._refuse_negative_constant(self.operands[1].op)

    def _refuse_negative_constant(self, exponent: Op) -> None:
        known = exponent.number if type(exponent) is Full else exponent.array if type(exponent) is Constant else 0
        if np.any(np.less(known, 0)):
            raise self.fail(InvalidArgument, "integers cannot be raised to a negative power",
                            operand=self.operand_label(1), got=np.min(known), expected="0 or more",
                            help="insert ops.Convert to a float type first")

    def vjp(self, gradient: Value, x: Value, y: Value) -> Gradients:
        constant = Equal(y, y.full(0))
        slope = y * x ** where(constant, 1, y - 1)
        # The limit of x**y log(x) at 0 is 0; there the logarithm reads 1.
        at_zero = LogicalAnd(Equal(x, x.full(0)), GreaterEqual(y, y.full(0)))
        logarithm = Log(where(at_zero, 1, x))
        return gradient * where(constant, 0, slope), gradient * (self * logarithm)


Negative = elementwise("negative", surface="negative(np.array([1, -2])) -> [-1, 2]",
                       vjp=lambda self, gradient, x: -gradient)


class Square(ElementwiseComposite):
    """x * x."""

    surface = "square(np.array([3, -4])) -> [9, 16]"
    admits = NUMBERS

    def formula(self, x: Value) -> Value:
        return x * x


class Reciprocal(ElementwiseComposite):
    """1 / x."""

    surface = "reciprocal(4.0) -> 0.25"
    admits = FLOATS | COMPLEX
    sample = ("positive",)

    def formula(self, x: Value) -> Value:
        return 1 / x


class SquaredDifference(ElementwiseComposite):
    """(x - y) ** 2."""

    surface = "squared_difference(np.array([1, 2]), 5) -> [16, 9]"
    operand_names = "x y"
    admits = NUMBERS

    def formula(self, x: Value, y: Value) -> Operand:
        return Square(x - y)


# -- rounding, magnitude and sign: Floor, Ceil, Round and Truncate leave integers as they are -----------------------

Floor = elementwise("floor", surface="floor(np.array([1.7, -1.2])) -> [1.0, -2.0]",
                    admits=REALS, vjp=lambda self, gradient, x: None)

Ceil = elementwise("ceil", surface="ceil(np.array([1.2, -1.7])) -> [2.0, -1.0]",
                   admits=REALS, vjp=lambda self, gradient, x: None)

Round = elementwise("round", admits=REALS, vjp=lambda self, gradient, x: None)

Truncate = elementwise("truncate", surface="trunc(np.array([1.7, -1.7])) -> [1.0, -1.0]",
                       admits=REALS, vjp=lambda self, gradient, x: None)



def _turned(self: Operand, gradient: Value, x: Value) -> Value | None:
    """Returns the derivative of the sign: of complex numbers what turns x counts, not what makes it longer."""
    if not x.dtype.is_complex:
        return None
    size = Absolute(x).output
    size = Convert(where(Equal(size, size.full(0)), 1, size), x.dtype).output
    longer = Conjugate(self) * Convert(Real(gradient * self), x.dtype)
    return where(Equal(x, x.full(0)), 0, (gradient - longer) / size)


Sign = elementwise("sign", surface="sign(np.array([-3, 0, 5])) -> [-1, 0, 1]", vjp=_turned)


def _lengthened(self: Operand, gradient: Value, x: Value) -> Value:
    """Returns the derivative of the magnitude, along the conjugate of a complex x."""
    return Convert(gradient, x.dtype) * Conjugate(Sign(x)) if x.dtype.is_complex else gradient * Sign(x)


Absolute = elementwise("absolute", surface="absolute(np.array([-1.5, 2.0])) -> [1.5, 2.0]",
                       vjp=_lengthened, note="The derivative at 0 is 0.")


# -- bits of integers; bool counts as one bit -----------------------------------------------------------------------

BitwiseAnd = elementwise("bitwise_and", surface="bitwise_and(np.array([6, 5]), 3) -> [2, 1]")

BitwiseOr = elementwise("bitwise_or", surface="bitwise_or(np.array([6, 5]), 3) -> [7, 7]")

BitwiseXor = elementwise("bitwise_xor", surface="bitwise_xor(np.array([6, 5]), 3) -> [5, 6]")

BitwiseNot = elementwise("bitwise_not", surface="bitwise_not(np.array([0, 5])) -> [-1, -6]")

ShiftLeft = elementwise("shift_left", surface="left_shift(np.array([1, 3]), 2) -> [4, 12]")

ShiftRight = elementwise("shift_right", surface="right_shift(np.array([8, 5]), 1) -> [4, 2]")


# -- complex numbers and their parts --------------------------------------------------------------------------------

Real = elementwise("real", vjp=lambda self, gradient, x: Complex(gradient, gradient.full(0)))

Imaginary = elementwise("imaginary", vjp=lambda self, gradient, x: Complex(gradient.full(0), -gradient))

Complex: type[Elementwise] = elementwise(
    "complex", vjp=lambda self, gradient, re, im: (Real(gradient), -Imaginary(gradient).output))

Conjugate: type[Elementwise] = elementwise("conjugate", vjp=lambda self, gradient, x: Conjugate(gradient))
