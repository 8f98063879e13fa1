"""Exponentials, logarithms and roots of floats.

>>> import nervure as nv
>>> Log(Exp(nv.Parameter(nv.float32, (3,))))
f32[3] Log(Exp)

A derivative that can be expressed by the result is: the exponential is not computed twice.
"""

from __future__ import annotations

import math

from nervure.ir import field
from nervure.ir.op import Operand, Value
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.scalar_op import elementwise
from nervure.ops.selection import Maximum

Exp = elementwise("exp", surface="exp(1.0) -> 2.7183", vjp=lambda self, gradient, x: gradient * self)

Exp2 = elementwise("exp2", surface="exp2(3.0) -> 8.0",
                   vjp=lambda self, gradient, x: gradient * (self * math.log(2)))

# Not self + 1: far below 0 that would be rounding error alone.
Expm1 = elementwise("expm1", surface="expm1(1.0) -> 1.7183", vjp=lambda self, gradient, x: gradient * Exp(x))

Log = elementwise("log", surface="log(10.0) -> 2.3026", vjp=lambda self, gradient, x: gradient / x)

Log2 = elementwise("log2", surface="log2(8.0) -> 3.0",
                   vjp=lambda self, gradient, x: gradient * (1 / math.log(2)) / x)

Log10 = elementwise("log10", surface="log10(1000.0) -> 3.0",
                    vjp=lambda self, gradient, x: gradient * (1 / math.log(10)) / x)

Log1p = elementwise("log1p", surface="log1p(1.0) -> 0.6931", vjp=lambda self, gradient, x: gradient / (x + 1))

Sqrt = elementwise("sqrt", surface="sqrt(2.0) -> 1.4142",
                   vjp=lambda self, gradient, x: gradient * 0.5 / self,
                   note="Its derivative at 0 is infinite.")

Rsqrt = elementwise("rsqrt", surface="rsqrt(4.0) -> 0.5",
                    vjp=lambda self, gradient, x: gradient * -0.5 * self / x)

Cbrt = elementwise("cbrt", surface="cbrt(-8.0) -> -2.0",
                   vjp=lambda self, gradient, x: gradient / (self * self * 3),
                   note="Its derivative at 0 is infinite.")


class SafeLog(ElementwiseComposite):
    """log(maximum(x, limit)): finite at 0, with the gradient 0 below the limit."""

    sample = ("positive",)
    limit = field.real(math.exp(-50))

    def formula(self, x: Value) -> Operand:
        return Log(Maximum(x, x.full(self.limit)))
