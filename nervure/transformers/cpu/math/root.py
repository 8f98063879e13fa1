"""sqrt and rsqrt from the instructions; cbrt by iteration on the reciprocal root, which needs no division.

>>> from nervure.transformers.cpu.llvm.builder import Builder
>>> from nervure.transformers.cpu.llvm.types import F32
>>> b = Builder("f", [("x", F32)], F32)
>>> b.ret(rsqrt(b.arguments[0]))
>>> print(b.text())
define float @f(float %x) {
entry:
  %v0 = call float @llvm.sqrt.f32(float %x)
  %v1 = fdiv float 0x3FF0000000000000, %v0
  ret float %v1
}
<BLANKLINE>
"""

from __future__ import annotations

from nervure.transformers.cpu.llvm.builder import Register


def sqrt(x: Register) -> Register:
    """Square root, correctly rounded; negative NaN; -0.0 stays."""
    return x.builder.intrinsic("sqrt", x)


def rsqrt(x: Register) -> Register:
    """1 / sqrt(x); 0 gives inf with the sign of the zero, negative NaN, inf 0."""
    return 1.0 / sqrt(x)
