"""sigmoid and softplus, which never overflow and keep their relative precision down to denormals.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(sigmoid(b.arguments[0]))
>>> sum("fdiv" in line for line in b.text().splitlines())
1
"""

from __future__ import annotations

import math

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.coefficients import SOFTPLUS
from nervure.transformers.cpu.math.exponential import (
    exp_of_negative,
    expm1_of_small,
    lowest_exponent,
    reduce,
)
from nervure.transformers.cpu.math.floats import at_least, at_most, format_of, low_bits_as_power, magnitude
from nervure.transformers.cpu.math.polynomial import polynomial


def sigmoid(x: Register) -> Register:
    """1 / (1 + e ** -x); 0 and 1 at infinities."""
    b, format = x.builder, format_of(x.type)
    # Both sides of the fraction are scaled by ``one``, so that e**-x is in range where the result is denormal.
    shift = (format.bias + 1) // 4
    one = 2.0 ** -shift
    bounded = at_least(at_most(-x, -lowest_exponent(format) * math.log(2)), -(format.mantissa + 3) * math.log(2))
    reduced = reduce(bounded, format.bias - shift)
    power = low_bits_as_power(reduced.counter)
    # In this order: ``power + one`` first would lose all of ``one`` where x is about -17.
    return one / (b.fma(power, expm1_of_small(reduced.r), one) + power)


def softplus(x: Register) -> Register:
    """log(1 + e ** x); 0 at -inf, inf at inf."""
    power = exp_of_negative(-magnitude(x))
    return at_least(x, 0.0) + power * polynomial(power - 0.5, SOFTPLUS)  # log(1 + power), precise down to 0
