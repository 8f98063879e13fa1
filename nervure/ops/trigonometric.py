"""Trigonometric and hyperbolic functions of floats, in radians.

>>> import nervure as nv
>>> Sin(nv.Parameter(nv.float32, (3,)))
f32[3] Sin(Parameter)
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import FLOATS, Elementwise
from nervure.ir.op import Value
from nervure.ops.comparison import Equal
from nervure.ops.exponential import FloatFunction, Rsqrt
from nervure.ops.selection import where


class Sin(FloatFunction):
    """The sine; of infinities NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.sin(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Cos(operands[0]).output,)


class Cos(FloatFunction):
    """The cosine; of infinities NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.cos(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (-gradient * Sin(operands[0]).output,)


class Tan(FloatFunction):
    """The tangent; of infinities NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.tan(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * (self.output * self.output + 1),)


class Asin(FloatFunction):
    """The arc sine, in [-pi/2, pi/2]; outside [-1, 1] NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.asin(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Rsqrt(_one_minus_square(operands[0])).output,)


class Acos(FloatFunction):
    """The arc cosine, in [0, pi]; outside [-1, 1] NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.acos(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (-gradient * Rsqrt(_one_minus_square(operands[0])).output,)


class Atan(FloatFunction):
    """The arc tangent, in [-pi/2, pi/2]."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.atan(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, = operands
        return (gradient / (x * x + 1),)


class Sinh(FloatFunction):
    """The hyperbolic sine."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.sinh(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Cosh(operands[0]).output,)


class Cosh(FloatFunction):
    """The hyperbolic cosine."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.cosh(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Sinh(operands[0]).output,)


class Tanh(FloatFunction):
    """The hyperbolic tangent; +-1 at the infinities."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.tanh(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * (1 - self.output * self.output),)


class Asinh(FloatFunction):
    """The inverse of the hyperbolic sine."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.asinh(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, = operands
        return (gradient * Rsqrt(x * x + 1).output,)


class Acosh(FloatFunction):
    """The inverse of the hyperbolic cosine; below 1 NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.acosh(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, = operands
        return (gradient * (Rsqrt(x - 1).output * Rsqrt(x + 1).output),)


class Atanh(FloatFunction):
    """The inverse of the hyperbolic tangent; +-1 gives an infinity, outside NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.atanh(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient / _one_minus_square(operands[0]),)


class Atan2(Elementwise):
    """The angle of the point (x, y), in [-pi, pi]; y comes first. Its derivative at the origin is NaN."""

    operand_names = "y x"
    admits = FLOATS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.atan2(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        y, x = operands
        share = gradient / (x * x + y * y)
        return share * x, -share * y


class Hypot(Elementwise):
    """sqrt(x*x + y*y), without overflow in between; with an infinity infinite. Its derivative at the origin is 0."""

    operand_names = "x y"
    admits = FLOATS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        x, y = map(s.absolute, elements)
        zero, one = s.constant(0, x), s.constant(1, x)
        large, small = s.maximum(x, y), s.minimum(x, y)
        ratio = s.divide(small, s.where(s.equal(large, zero), one, large))
        length = s.multiply(large, s.sqrt(s.add(one, s.multiply(ratio, ratio))))
        return s.where(s.bitwise_or(s.is_inf(x), s.is_inf(y)), s.constant(float("inf"), x), length)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        x, y = operands
        length = where(Equal(self.output, self.output.full(0)), 1, self.output)
        return gradient * (x / length), gradient * (y / length)


def _one_minus_square(x: Value) -> Value:
    """1 - x*x, as a product: near 1 the difference of the squares would lose its digits."""
    return (1 - x) * (x + 1)
