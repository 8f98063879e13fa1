"""exp, exp2 and expm1: x = n log(2) + r, a polynomial in r, and the scale 2**n put into the exponent's bits.

n is rounded by adding 1.5 * 2**23, after which it stands in the lowest bits of the sum; log(2) is two constants, so
that r is right to its last place (W. Cody and W. Waite, "Software manual for the elementary functions", 1980).

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(exp(b.arguments[0]))
>>> sum(".fma." in line for line in b.text().splitlines())
9
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.coefficients import EXP, EXP2
from nervure.transformers.cpu.math.floats import (
    Format,
    at_least,
    at_most,
    format_of,
    low_bits_as_power,
    magnitude,
    split_constant,
)
from nervure.transformers.cpu.math.polynomial import polynomial

LOG_2 = (math.log(2), 2.3190468138462996e-17)  # and what the first lacks


class Reduced(NamedTuple):
    """x = n log(2) + r, with \\|r\\| at most log(2) / 2 and a little."""

    counter: Register  # rounder + bias + n, or what the function that gives it says
    n: Register
    r: Register


def reduce(x: Register, bias: int) -> Reduced:
    """The nearest multiple of log(2) split off; \\|x\\| is at most some thousands."""
    b, format = x.builder, format_of(x.type)
    high, low = split_constant(*LOG_2, format)
    counter = b.fma(x, 1 / math.log(2), format.rounder + bias)
    n = counter - (format.rounder + bias)
    return Reduced(counter, n, b.fma(n, -low, b.fma(n, -high, x)))


def exp(x: Register) -> Register:
    """e ** x; -inf gives 0, inf gives inf."""
    reduced = reduce(within_exponents(x, math.log(2)), 2 * format_of(x.type).bias)
    first, second = powers_of_two(reduced.counter)
    return x.builder.fma(expm1_of_small(reduced.r), first, first) * second


def exp_of_negative(x: Register) -> Register:
    """e ** x where x <= 0, with a simpler scale: 2**n is far from overflow, hence shifted up first and down at last."""
    format = format_of(x.type)
    shift = 3 * (format.bias + 1) // 4
    reduced = reduce(at_least(x, lowest_exponent(format) * math.log(2)), format.bias + shift)
    power = low_bits_as_power(reduced.counter)
    return x.builder.fma(expm1_of_small(reduced.r), power, power) * 2.0 ** -shift


def exp2(x: Register) -> Register:
    """2 ** x; exact for integers."""
    counter, n, r = split_exponent(within_exponents(x))
    first, second = powers_of_two(counter)
    return x.builder.fma(polynomial(r, EXP2), r * first, first) * second


def expm1(x: Register) -> Register:
    """e ** x - 1, exact near 0; -0.0 stays."""
    b, format = x.builder, format_of(x.type)
    bounded = at_least(at_most(x, (format.bias + 1.3) * math.log(2)), -(format.mantissa + 3) * math.log(2))
    reduced = reduce(bounded, format.bias - 1)
    half_scale = low_bits_as_power(reduced.counter)  # 2**n may be beyond the range where e**x is not
    half = b.fma(half_scale, expm1_of_small(reduced.r), half_scale - 0.5)
    return b.where(magnitude(x) < format.tiny, x, half + half)


def split_exponent(x: Register) -> Reduced:
    """x = n + r, with \\|r\\| <= 1/2, for a power of two of moderate x; the counter is for :func:`powers_of_two`."""
    rounder = format_of(x.type).rounder + 2 * format_of(x.type).bias
    counter = x + rounder
    n = counter - rounder
    return Reduced(counter, n, x - n)


def expm1_of_small(r: Register) -> Register:
    """e ** r - 1 of a reduced argument."""
    return r.builder.fma(r * r, polynomial(r, EXP), r)


def within_exponents(x: Register, unit: float = 1.0) -> Register:
    """x, but no larger than ``unit`` times an exponent of which the power of two is 0 or inf."""
    format = format_of(x.type)
    return at_least(at_most(x, (format.bias + 1.3) * unit), lowest_exponent(format) * unit)


def lowest_exponent(format: Format) -> float:
    """2 to this power rounds to 0."""
    return -(format.bias + format.mantissa + 0.3)


def powers_of_two(counter: Register) -> tuple[Register, Register]:
    """Two powers of two whose product is 2**n, from the counter rounder + 2 * bias + n. After a multiplication by the
    first, which is exact, that by the second may round or overflow.
    """
    format = format_of(counter.type)
    bits = counter.bits()
    exponents = ((1 << (counter.type.bits - format.mantissa)) - 1) << format.mantissa
    first = bits.shift_left(format.mantissa - 1) & exponents
    second = bits.shift_left(format.mantissa) - first
    return first.bitcast(counter.type.element), second.bitcast(counter.type.element)
