"""Polynomials with one fused multiply-add a coefficient.

Horner's rule is the shortest code. Its chain is long, but a loop over many vectors has other chains to run beside it.

>>> from nervure.transformers.cpu.llvm.builder import Builder
>>> from nervure.transformers.cpu.llvm.types import F64
>>> b = Builder("f", [("x", F64)], F64)
>>> b.ret(horner(b.arguments[0], (1.0, 2.0, 4.0)))
>>> print(b.text())
define double @f(double %x) {
entry:
  %v0 = call double @llvm.fma.f64(double 0x4010000000000000, double %x, double 0x4000000000000000)
  %v1 = call double @llvm.fma.f64(double %v0, double %x, double 0x3FF0000000000000)
  ret double %v1
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.transformers.cpu.llvm.builder import Register
from nervure.transformers.cpu.llvm.types import Type

Numbers = tuple[float, ...]


class Coefficients(NamedTuple):
    """One polynomial for each precision, lowest power first."""

    float: Numbers
    double: Numbers

    def of(self, type: Type) -> Numbers:
        """Those for a type, of any number of lanes."""
        return self.float if type.scalar == "float" else self.double


def horner(x: Register, coefficients: Coefficients | Sequence[float]) -> Register:
    """c0 + c1 x + c2 x**2 + ...; ``coefficients`` has two or more, lowest power first."""
    numbers = coefficients.of(x.type) if isinstance(coefficients, Coefficients) else coefficients
    result = x.builder.constant(x.type, numbers[-1])
    for number in reversed(numbers[:-1]):
        result = x.builder.fma(result, x, number)
    return result
