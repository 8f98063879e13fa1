"""Functions from statistics: the error function and the logarithm of gamma.

>>> import nervure as nv
>>> Erf(nv.Parameter(nv.float32, (3,)))
f32[3] Erf(Parameter)
"""

from __future__ import annotations

import math
from typing import Any

from nervure.ir.op import Value
from nervure.ops.comparison import Less
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.exponential import Exp, FloatFunction
from nervure.ops.rounding import Round
from nervure.ops.selection import where
from nervure.ops.trigonometric import Sin


class Erf(FloatFunction):
    """The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x; +-1 at the infinities."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.erf(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * _bell(operands[0]),)


class Erfc(FloatFunction):
    """1 - erf(x), accurate in the right tail."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.erfc(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (-gradient * _bell(operands[0]),)


class ErfInv(FloatFunction):
    """The inverse of erf; +-1 gives an infinity, outside NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.erf_inv(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient / _bell(self.output),)


class Lgamma(FloatFunction):
    """log |gamma(x)|; infinite at the poles."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.lgamma(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Digamma(operands[0]).output,)


class Digamma(FloatFunction):
    """The derivative of lgamma; 0 gives an infinity with the other sign than the zero, -1, -2, ... NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.digamma(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Trigamma(operands[0]).output,)


class Trigamma(ElementwiseComposite):
    """The derivative of digamma; infinite at the poles.

    psi'(x) = psi'(x + 1) + 1/x**2 raises x by 8, where the asymptotic series is exact to the last bits; negative x are
    reflected, psi'(x) = (pi / sin(pi x))**2 - psi'(1 - x) (Abramowitz and Stegun 6.4.6, 6.4.12, 6.4.7).
    """

    operand_names = "x"

    def formula(self, *operands: Value) -> Value:
        x, = operands
        is_negative = Less(x, x.full(0))
        value = _trigamma_of_positive(where(is_negative, 1 - x, x))
        # The distance from the nearest integer has the same sine, but for its sign, and more digits.
        root = math.pi / Sin(where(is_negative, x - Round(x), 0.5) * math.pi).output
        return where(is_negative, root * root - value, value)


_TRIGAMMA_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # the Bernoulli numbers B_2, B_4, ...


def _trigamma_of_positive(x: Value) -> Value:
    below = x.full(0)
    for _ in range(8):
        inverse = 1 / x
        below, x = below + inverse * inverse, x + 1
    inverse = 1 / x
    square, series = inverse * inverse, x.full(0)
    for coefficient in reversed(_TRIGAMMA_SERIES):
        series = (series + coefficient) * square
    return below + inverse * (inverse * 0.5 + 1 + series)


def _bell(x: Value) -> Value:
    """The derivative of erf: 2/sqrt(pi) exp(-x*x)."""
    return Exp(-(x * x)).output * (2 / math.sqrt(math.pi))
