"""Functions from statistics: the error function and the logarithm of gamma.

>>> import nervure as nv
>>> Erf(nv.Parameter(nv.float32, (3,)))
f32[3] Erf(Parameter)
"""

from __future__ import annotations

import math
from typing import Any

from nervure.ir.op import Value
from nervure.ops.exponential import Exp, FloatFunction


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
    """The derivative of lgamma; NaN at the poles. It has no derivative of its own."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.digamma(*elements)


def _bell(x: Value) -> Value:
    """The derivative of erf: 2/sqrt(pi) exp(-x*x)."""
    return Exp(-(x * x)).output * (2 / math.sqrt(math.pi))
