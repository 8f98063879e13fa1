"""Polynomials with one fused multiply-add a coefficient.

Horner's rule is the shortest code, but each step waits for the last, and a processor looks ahead too few instructions
to fill the gaps. So a long polynomial is halved, P(x) = E(x**2) + x O(x**2), which costs one square, and its halves
again (G. Estrin, "Organization of computer systems", 1960).

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F64
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

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import Type

Numbers = tuple[float, ...]

_UNDIVIDED = 6  # coefficients


class Coefficients(NamedTuple):
    """One polynomial for each precision, lowest power first."""

    float: Numbers
    double: Numbers

    def of(self, type: Type) -> Numbers:
        """Those for a type, of any number of lanes."""
        return self.float if type.scalar == "float" else self.double


def polynomial(x: Register, coefficients: Coefficients | Sequence[float]) -> Register:
    """c0 + c1 x + c2 x**2 + ...; ``coefficients`` has two or more, lowest power first."""
    numbers = coefficients.of(x.type) if isinstance(coefficients, Coefficients) else coefficients
    if len(numbers) <= _UNDIVIDED:
        return horner(x, numbers)
    square = x * x
    return x.builder.fma(polynomial(square, numbers[1::2]), x, polynomial(square, numbers[0::2]))


def horner(x: Register, coefficients: Coefficients | Sequence[float]) -> Register:
    """The polynomial in as few instructions as can be, one after the other."""
    numbers = coefficients.of(x.type) if isinstance(coefficients, Coefficients) else coefficients
    result = x.builder.constant(x.type, numbers[-1])
    for number in reversed(numbers[:-1]):
        result = x.builder.fma(result, x, number)
    return result
