"""Exponentials, logarithms and roots of floats.

>>> import nervure as nv
>>> Log(Exp(nv.Parameter(nv.float32, (3,))))
f32[3] Log(Exp)

Where a derivative can be told from the result, it is: the exponential is not computed twice.
"""

from __future__ import annotations

import math
from typing import Any

from nervure.ir import field
from nervure.ir.kinds import FLOATS, Elementwise
from nervure.ir.op import Value
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.selection import Maximum


class FloatFunction(Elementwise, abstract=True):
    """A function of one float."""

    operand_names = "x"
    admits = FLOATS


class Exp(FloatFunction):
    """e ** x."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.exp(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * self.output,)


class Exp2(FloatFunction):
    """2 ** x."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.exp2(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * (self.output * math.log(2)),)


class Expm1(FloatFunction):
    """e ** x - 1, exact near 0."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.expm1(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        # Not output + 1: where x is far below 0 that is all rounding error.
        return (gradient * Exp(operands[0]).output,)


class Log(FloatFunction):
    """The natural logarithm; 0 gives -inf, negative numbers NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.log(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient / operands[0],)


class Log2(FloatFunction):
    """The logarithm to base 2."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.log2(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * (1 / math.log(2)) / operands[0],)


class Log10(FloatFunction):
    """The logarithm to base 10."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.log10(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * (1 / math.log(10)) / operands[0],)


class Log1p(FloatFunction):
    """log(1 + x), exact near 0; -1 gives -inf, below it NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.log1p(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient / (operands[0] + 1),)


class SafeLog(ElementwiseComposite):
    """log(maximum(x, limit)): finite at 0, with the gradient 0 below the limit."""

    operand_names = "x"
    limit = field.real(math.exp(-50))

    def formula(self, *operands: Value) -> Value:
        x, = operands
        return Log(Maximum(x, x.full(self.limit))).output


class Sqrt(FloatFunction):
    """The square root; of negative numbers NaN. Its derivative at 0 is infinite."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.sqrt(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * 0.5 / self.output,)


class Rsqrt(FloatFunction):
    """1 / sqrt(x); 0 gives an infinity with the sign of the zero, negative numbers NaN."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.rsqrt(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * -0.5 * self.output / operands[0],)


class Cbrt(FloatFunction):
    """The real cube root, of negative numbers too. Its derivative at 0 is infinite."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.cbrt(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient / (self.output * self.output * 3),)
