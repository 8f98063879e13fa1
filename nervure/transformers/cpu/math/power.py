"""x ** y as 2 ** (y log2(abs(x))), with the logarithm in twice the precision, and IEEE 754's table of special cases.

The exponent may be as large as 1,000 and must be right to the last place of a number near 1: hence ten bits more
than the format has. With x = 2**k m and s = (m - 1) / (m + 1), log(m) is 2 (s + s**3 / 3 + s**5 / 5 + ...); all but the
sum from s**5 on is computed in pairs.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8)), ("y", F32.vector(8))], F32.vector(8))
>>> b.ret(power(*b.arguments))
>>> sum("fdiv" in line for line in b.text().splitlines())
1
"""

from __future__ import annotations

import math

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.coefficients import EXP, POWER
from nervure.transformers.cpu.math.exponential import (
    LOG_2,
    powers_of_two,
    split_exponent,
    within_exponents,
)
from nervure.transformers.cpu.math.extended import Pair, pair_of_constants
from nervure.transformers.cpu.math.floats import (
    at_least,
    at_most,
    format_of,
    magnitude,
    split_constant,
    with_sign_of,
)
from nervure.transformers.cpu.math.logarithm import TWO, split
from nervure.transformers.cpu.math.polynomial import polynomial

_THIRD = (1 / 3, 1.850371707708594e-17)  # and what the first lacks


def power(x: Register, y: Register) -> Register:
    """x ** y; 1 ** y and x ** 0 are 1, even of NaN; a negative x has powers where y is an integer, else NaN."""
    b, size = x.builder, magnitude(x)
    is_integer = b.intrinsic("floor", y).equal(y)
    half = y * 0.5
    is_odd = is_integer & b.intrinsic("floor", half).not_equal(half)
    result = b.where((x < 0.0) & ~is_integer, math.nan, _power_of_size(size, y))
    is_endless = size.equal(math.inf)
    at_end = b.where(is_endless ^ (y < 0.0), b.constant(x.type, math.inf), 0.0)
    result = b.where(is_endless | size.equal(0.0), at_end, result)
    result = b.where(is_odd, with_sign_of(result, x), result)
    result = b.where(x.is_nan() | y.is_nan(), math.nan, result)
    return b.where(x.equal(1.0) | y.equal(0.0), 1.0, result)


def _power_of_size(size: Register, y: Register) -> Register:
    """size ** y of a positive finite size."""
    b, format = size.builder, format_of(size.type)
    # Beyond this every power of every size but 1 is 0 or inf; within it no product overflows.
    largest = 2.0 ** (format.mantissa + 14)
    exponent = _log2(size) * Pair(at_least(at_most(y, largest), -largest))
    bounded = within_exponents(exponent.high)
    assert exponent.low is not None
    return _exp2(bounded, b.where(bounded.equal(exponent.high), exponent.low, 0.0))


def _exp2(high: Register, low: Register) -> Register:
    """2 ** (high + low), nearly correctly rounded: powers that are whole numbers come out as such."""
    b = high.builder
    counter, _, fraction = split_exponent(high)
    r = (Pair(fraction) + Pair(low)) * pair_of_constants(high, *split_constant(*LOG_2, format_of(high.type)))
    total = Pair(b.constant(high.type, 1.0)) + r
    assert total.low is not None
    first, second = powers_of_two(counter)
    return (total.high + b.fma(r.high * r.high, polynomial(r.high, EXP), total.low)) * first * second


def _log2(x: Register) -> Pair:
    b, format = x.builder, format_of(x.type)
    m, k = split(x, math.sqrt(0.5))
    one = Pair(b.constant(x.type, 1.0))
    s = Pair(m - 1.0) / (one + Pair(m))  # m has the exponent of 1 or one less, so the sum is exact
    square = s * s
    third = pair_of_constants(x, *split_constant(*_THIRD, format))
    coefficients = POWER.of(x.type)[1:]
    series = third + Pair(square.high * polynomial(square.high, coefficients))
    log = s + s * square * series
    unit = pair_of_constants(x, *split_constant(2 * TWO.unit[0], 2 * TWO.unit[1], format))
    return Pair(k) + log * unit
