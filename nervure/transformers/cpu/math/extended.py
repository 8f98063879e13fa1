"""Numbers of twice the precision: a pair of floats, the second what the first lacks.

T. Dekker, "A floating-point technique for extending the available precision" (1971); a fused multiply-add gives the
error of a product at once. The low parts are themselves rounded, so some of the doubled precision is lost: of 106 bits
about 100 remain after a few steps.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F64
>>> b = Builder("f", [("x", F64), ("y", F64)], F64)
>>> x, y = b.arguments
>>> b.ret((Pair(x) * Pair(y)).low)
>>> print(b.text())
define double @f(double %x, double %y) {
entry:
  %v0 = fmul double %x, %y
  %v1 = fneg double %v0
  %v2 = call double @llvm.fma.f64(double %x, double %y, double %v1)
  ret double %v2
}
<BLANKLINE>
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Register


class Pair:
    """high + low, where low is at most a few units of high's last place, or None, which is 0."""

    __slots__ = ("high", "low")

    def __init__(self, high: Register, low: Register | None = None) -> None:
        self.high, self.low = high, low

    def __add__(self, other: Pair) -> Pair:
        """The sum, where self is 0 or not smaller than the other in magnitude."""
        high = self.high + other.high
        low = (self.high - high) + other.high
        for rest in (self.low, other.low):
            low = low if rest is None else low + rest
        return Pair(high, low)

    def __mul__(self, other: Pair) -> Pair:
        b, high = self.high.builder, self.high * other.high
        low = b.fma(self.high, other.high, -high)
        low = low if other.low is None else b.fma(self.high, other.low, low)
        return Pair(high, low if self.low is None else b.fma(self.low, other.high, low))

    def __truediv__(self, other: Pair) -> Pair:
        """The quotient of self, whose low part is None."""
        b, reciprocal = self.high.builder, 1.0 / other.high
        high = self.high * reciprocal
        rest = b.fma(-high, other.high, self.high)
        rest = rest if other.low is None else b.fma(-high, other.low, rest)
        return Pair(high, rest * reciprocal)


def pair_of_constants(like: Register, high: float, low: float) -> Pair:
    """Two constants as a pair, of the type of a register."""
    return Pair(like.builder.constant(like.type, high), like.builder.constant(like.type, low))
