"""Exponentials, logarithms and roots of floats.

>>> import nervure as nv
>>> Log(Exp(nv.Parameter(nv.float32, (3,))))
f32[3] Log(Exp)

Where a derivative can be told from the result, it is: the exponential is not computed twice.
"""

from __future__ import annotations

import math

from nervure.ir import field
from nervure.ir.op import Operand, Value
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.scalar_op import elementwise
from nervure.ops.selection import Maximum

Exp = elementwise("exp", vjp=lambda self, gradient, x: gradient * self)

Exp2 = elementwise("exp2", vjp=lambda self, gradient, x: gradient * (self * math.log(2)))

# Not self + 1: where x is far below 0 that is all rounding error.
Expm1 = elementwise("expm1", vjp=lambda self, gradient, x: gradient * Exp(x))

Log = elementwise("log", vjp=lambda self, gradient, x: gradient / x)

Log2 = elementwise("log2", vjp=lambda self, gradient, x: gradient * (1 / math.log(2)) / x)

Log10 = elementwise("log10", vjp=lambda self, gradient, x: gradient * (1 / math.log(10)) / x)

Log1p = elementwise("log1p", vjp=lambda self, gradient, x: gradient / (x + 1))

Sqrt = elementwise("sqrt", vjp=lambda self, gradient, x: gradient * 0.5 / self,
                   note="Its derivative at 0 is infinite.")

Rsqrt = elementwise("rsqrt", vjp=lambda self, gradient, x: gradient * -0.5 * self / x)

Cbrt = elementwise("cbrt", vjp=lambda self, gradient, x: gradient / (self * self * 3),
                   note="Its derivative at 0 is infinite.")


class SafeLog(ElementwiseComposite):
    """log(maximum(x, limit)): finite at 0, with the gradient 0 below the limit."""

    operand_names = "x"
    sample = ("positive",)
    limit = field.real(math.exp(-50))

    def formula(self, x: Value) -> Operand:
        return Log(Maximum(x, x.full(self.limit)))
