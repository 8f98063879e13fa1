"""Activation functions of floats.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> Gelu(x).decompose(x.value)
f32[3] Multiply(Multiply, Erfc)

Functions that are one scalar function are core ops; the others are composites. None overflows.
"""

from __future__ import annotations

import math

from nervure.ir import field
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.comparison import Greater
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.exponential import Expm1
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.ops.scalar_op import elementwise
from nervure.ops.selection import Clip, where
from nervure.ops.special import Erfc
from nervure.ops.trigonometric import Tanh
from nervure.types.element_groups import REALS

Sigmoid = elementwise("sigmoid", surface="sigmoid(1.0) -> 0.7311",
                      vjp=lambda self, gradient, x: gradient * (self * (1 - self)))

Softplus = elementwise("softplus", surface="softplus(0.0) -> 0.6931",
                       vjp=lambda self, gradient, x: gradient * Sigmoid(x))



class Relu(Elementwise):
    """max(x, 0); NaN stays. The derivative at 0 is 0."""

    surface = "relu(np.array([-1.0, 2.0])) -> [0.0, 2.0]"
    operand_names = "x"
    admits = REALS
    cost = 1

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar) -> Scalar:
        return s.maximum(x, s.constant(0, x))

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (where(_positive(x), gradient, 0),)


class Activation(ElementwiseComposite, abstract=True):
    """A function of one float, written in terms of other ops."""


class LogSigmoid(Activation):
    """log(sigmoid(x)), exact where the sigmoid rounds to 0."""

    surface = "log_sigmoid(0.0) -> -0.6931"

    def formula(self, x: Value) -> Value:
        return -Softplus(-x)


class LeakyRelu(Activation):
    """x where it is positive, else slope * x."""

    slope = field.real(0.01)

    def formula(self, x: Value) -> Value:
        return where(_positive(x), x, x * self.slope)


class PRelu(ElementwiseComposite):
    """x where it is positive, else slope * x, with a slope for each element."""

    operand_names = "x slope"

    def formula(self, x: Value, slope: Value) -> Value:
        return where(_positive(x), x, x * slope)


class Elu(Activation):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    alpha = field.real(1.0)

    def formula(self, x: Value) -> Value:
        # The exponential never receives a positive x: an overflow on the side that is not taken would make the
        # derivative NaN.
        return where(_positive(x), x, Expm1(where(_positive(x), 0, x)) * self.alpha)


class Selu(Activation):
    """The self-normalising ELU (Klambauer et al. 2017): 1.0507 * elu(x, 1.6733)."""

    surface = "selu(-1.0) -> -1.1113"

    def formula(self, x: Value) -> Value:
        return Elu(x, alpha=1.6732632423543772) * 1.0507009873554805


class Gelu(Activation):
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016)."""

    def formula(self, x: Value) -> Value:
        # erfc, not 1 + erf: that would lose all digits in the left tail.
        return x * 0.5 * Erfc(x * -math.sqrt(0.5))


class GeluTanh(Activation):
    """Gelu by the formula of its authors, ``0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3)))``."""

    def formula(self, x: Value) -> Value:
        # (1 + tanh(u)) / 2 = sigmoid(2 u), which keeps its digits in the left tail.
        return x * Sigmoid((x + x * x * x * 0.044715) * math.sqrt(8 / math.pi))


class Silu(Activation):
    """x * sigmoid(x), also known as swish."""

    surface = "silu(1.0) -> 0.7311"

    def formula(self, x: Value) -> Value:
        return x * Sigmoid(x)


class Mish(Activation):
    """x * tanh(softplus(x)) (Misra 2019)."""

    surface = "mish(1.0) -> 0.8651"

    def formula(self, x: Value) -> Value:
        return x * Tanh(Softplus(x))


class HardSigmoid(Activation):
    """alpha * x + beta, limited to [0, 1]."""

    surface = "hard_sigmoid(1.0) -> 0.6667"
    alpha = field.real(1 / 6)
    beta = field.real(0.5)

    def formula(self, x: Value) -> Operand:
        line = x * self.alpha + self.beta
        return Clip(line, line.full(0), line.full(1))


class HardSwish(Activation):
    """x * hard_sigmoid(x) (Howard et al. 2019)."""

    surface = "hard_swish(1.0) -> 0.6667"

    def formula(self, x: Value) -> Value:
        return x * HardSigmoid(x)


class SparsePlus(Activation):
    """0 up to -1, ((x + 1) / 2)**2 up to 1, x from there on (Xu et al. 2024)."""

    surface = "sparse_plus(0.0) -> 0.25"

    def formula(self, x: Value) -> Operand:
        half = SparseSigmoid(x)
        return where(Greater(x, x.full(1)), x, half * half)


class SparseSigmoid(Activation):
    """(x + 1) / 2, limited to [0, 1]: the slope of sparse_plus."""

    surface = "sparse_sigmoid(0.5) -> 0.75"

    def formula(self, x: Value) -> Operand:
        half = x * 0.5 + 0.5
        return Clip(half, half.full(0), half.full(1))


def _positive(x: Value) -> Operand:
    return Greater(x, x.full(0))
