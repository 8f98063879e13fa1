"""Trigonometric and hyperbolic functions of floats, in radians.

>>> import nervure as nv
>>> Sin(nv.Parameter(nv.float32, (3,)))
f32[3] Sin(Parameter)
"""

from __future__ import annotations

from nervure.ir.kinds import Elementwise
from nervure.ir.op import Gradients, Value
from nervure.ops.comparison import Equal
from nervure.ops.exponential import Rsqrt
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.ops.scalar_op import ScalarOp, elementwise
from nervure.ops.selection import where
from nervure.types.element_groups import FLOATS

Sin = elementwise("sin", surface="sin(np.pi / 6) -> 0.5", vjp=lambda self, gradient, x: gradient * Cos(x))

Cos: type[Elementwise] = elementwise("cos", surface="cos(np.pi / 3) -> 0.5",
                                     vjp=lambda self, gradient, x: -gradient * Sin(x))

Tan = elementwise("tan", surface="tan(np.pi / 4) -> 1.0",
                  vjp=lambda self, gradient, x: gradient * (self * self + 1))

Asin = elementwise("asin", surface="asin(1.0) -> 1.5708",
                   vjp=lambda self, gradient, x: gradient * Rsqrt(_one_minus_square(x)))

Acos = elementwise("acos", surface="acos(0.0) -> 1.5708",
                   vjp=lambda self, gradient, x: -gradient * Rsqrt(_one_minus_square(x)))

Atan = elementwise("atan", surface="atan(1.0) -> 0.7854",
                   vjp=lambda self, gradient, x: gradient / (x * x + 1))

Sinh = elementwise("sinh", surface="sinh(1.0) -> 1.1752", vjp=lambda self, gradient, x: gradient * Cosh(x))

Cosh: type[Elementwise] = elementwise("cosh", surface="cosh(1.0) -> 1.5431",
                                      vjp=lambda self, gradient, x: gradient * Sinh(x))

Tanh = elementwise("tanh", surface="tanh(1.0) -> 0.7616",
                   vjp=lambda self, gradient, x: gradient * (1 - self * self))

Asinh = elementwise("asinh", surface="asinh(1.0) -> 0.8814",
                    vjp=lambda self, gradient, x: gradient * Rsqrt(x * x + 1))

Acosh = elementwise("acosh", surface="acosh(2.0) -> 1.317",
                    vjp=lambda self, gradient, x: gradient * (Rsqrt(x - 1) * Rsqrt(x + 1)))

Atanh = elementwise("atanh", surface="atanh(0.5) -> 0.5493",
                    vjp=lambda self, gradient, x: gradient / _one_minus_square(x))


def _one_minus_square(x: Value) -> Value:
    """Returns 1 - x*x as a product: near 1 the difference of the squares would lose its digits."""
    return (1 - x) * (x + 1)



class Atan2(ScalarOp):
    """The angle of the point (x, y), in [-pi, pi]; y comes first. Its derivative at the origin is NaN."""

    function = "atan2"

    def vjp(self, gradient: Value, y: Value, x: Value) -> Gradients:
        share = gradient / (x * x + y * y)
        return share * x, -share * y


class Hypot(Elementwise):
    """sqrt(x*x + y*y), without overflow in between; infinite if an operand is. Its derivative at the origin is 0."""

    surface = "hypot(3.0, 4.0) -> 5.0"
    operand_names = "x y"
    admits = FLOATS

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        x, y = s.absolute(x), s.absolute(y)
        zero, one = s.constant(0, x), s.constant(1, x)
        large, small = s.maximum(x, y), s.minimum(x, y)
        ratio = s.divide(small, s.where(s.equal(large, zero), one, large))
        length = s.multiply(large, s.sqrt(s.add(one, s.multiply(ratio, ratio))))
        return s.where(s.bitwise_or(s.is_inf(x), s.is_inf(y)), s.constant(float("inf"), x), length)

    def vjp(self, gradient: Value, x: Value, y: Value) -> Gradients:
        length = where(Equal(self, self.full(0)), 1, self.output)
        return gradient * (x / length), gradient * (y / length)
