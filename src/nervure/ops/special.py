"""Functions from statistics: the error function and the logarithm of gamma.

>>> import nervure as nv
>>> Erf(nv.Parameter(nv.float32, (3,)))
f32[3] Erf(Parameter)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Round
from nervure.ops.comparison import Less
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.exponential import Exp
from nervure.ops.scalar_op import elementwise
from nervure.ops.selection import Maximum, where
from nervure.ops.trigonometric import Sin

Erf = elementwise("erf", surface="erf(1.0) -> 0.8427", vjp=lambda self, gradient, x: gradient * _bell(x))

Erfc = elementwise("erfc", surface="erfc(1.0) -> 0.1573", vjp=lambda self, gradient, x: -gradient * _bell(x))

ErfInv = elementwise("erf_inv", surface="erf_inv(0.5) -> 0.4769",
                     vjp=lambda self, gradient, x: gradient / _bell(self))


def _bell(x: Operand) -> Value:
    """Returns the derivative of erf: 2/sqrt(pi) exp(-x*x)."""
    return Exp(-(x * x)) * (2 / math.sqrt(math.pi))


class Trigamma(ElementwiseComposite):
    """The derivative of digamma; infinite at the poles.

    psi'(x) = psi'(x + 1) + 1/x**2 raises small x by 8, where the asymptotic series is exact to the last bits; negative
    x are reflected, psi'(x) = (pi / sin(pi x))**2 - psi'(1 - x) (Abramowitz and Stegun 6.4.6, 6.4.12, 6.4.7).
    """

    sample = ("positive",)

    def formula(self, x: Value) -> Value:
        is_negative = Less(x, x.full(0))
        value = _trigamma_of_positive(where(is_negative, 1 - x, x))
        # The distance from the nearest integer has the same sine, but for its sign, and more digits.
        root = math.pi / Sin(where(is_negative, x - Round(x), 0.5) * math.pi)
        return where(is_negative, root * root - value, value)


_TRIGAMMA_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # the Bernoulli numbers B_2, B_4, ...

_RAISED_BELOW = 1024.0  # a large x + 1 is rounded


def _trigamma_of_positive(x: Value) -> Value:
    is_small = Less(x, x.full(_RAISED_BELOW))
    raised, below = where(is_small, x, _RAISED_BELOW), x.full(0)
    for _ in range(8):
        inverse = 1 / raised
        below, raised = below + inverse * inverse, raised + 1
    inverse = 1 / where(is_small, raised, x)
    felt = Maximum(inverse, x.full(2.0 ** -60))  # whose square is no denormal
    square, series = felt * felt, x.full(0)
    for coefficient in reversed(_TRIGAMMA_SERIES):
        series = (series + coefficient) * square
    return where(is_small, below, 0) + inverse * (inverse * 0.5 + 1 + series)


Digamma = elementwise("digamma", surface="digamma(1.0) -> -0.5772",
                      vjp=lambda self, gradient, x: gradient * Trigamma(x))

Lgamma = elementwise("lgamma", surface="lgamma(5.0) -> 3.1781",
                     vjp=lambda self, gradient, x: gradient * Digamma(x))
