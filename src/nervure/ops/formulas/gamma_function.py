"""The gamma function and what is made of it: factorials, beta functions, quotients and numbers of choices.

Beyond 10 it is Stirling's formula, to which a recurrence leads; below 0 Euler's reflection.

>>> import nervure as nv
>>> gamma(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(LogicalAnd, Full, Where)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Floor, Power, Round
from nervure.ops.exponential import Exp, Log
from nervure.ops.formulas.formula_parts import (
    both,
    either,
    exactly,
    greater,
    greater_equal,
    less,
    less_equal,
    not_a_number,
    where,
)
from nervure.ops.formulas.gamma_parts import beside_stirling, logarithm_of_quotient, sign_of_gamma
from nervure.ops.formulas.incomplete_beta import density
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Maximum, Minimum
from nervure.ops.special import Digamma, Lgamma
from nervure.ops.trigonometric import Sin

_STEPS = 10
_EXACT = 1e15  # smaller whole numbers are found by rounding
_WHOLE = 17.0  # up to here, the values at whole numbers are doubles and are found by rounding


@formula(lambda y, x: [y * Digamma(x)], "positive")
def gamma(x: Value) -> Operand:
    """The gamma function, infinite at 0 with the sign of the zero, NaN at -1, -2, ... and at -inf."""
    is_negative = less(x, 0.0)
    size = where(is_negative, 1 - x, x)
    is_small = less(size, float(_STEPS))
    raised, divisor = where(is_small, size + _STEPS, size), size.full(1.0)
    for step in range(_STEPS):
        divisor = divisor * (size + step)
    divisor = where(is_small, divisor, 1.0)
    bounded = where(greater(raised, 200.0), 200.0, raised)
    root = Power(bounded, (bounded - 0.5) * 0.5)
    whole = Round(bounded).output
    # What was rounded off when size was raised, and from 1 - x, counts times the slope of the logarithm.
    lost = where(is_small, size - (raised - _STEPS), 0.0) + where(is_negative, (1 - size) - x, 0.0)
    factor = Exp(beside_stirling(bounded) - (bounded - whole)) * Exp(-whole) * math.sqrt(2 * math.pi) / divisor
    value = root * (factor * (lost * Log(bounded) + 1)) * root
    value = where(both(exactly(Round(size), size), less(size, _WHOLE)), Round(value), value)
    value = where(exactly(size, 0.0), 1 / where(exactly(size, 0.0), size, 1.0), value)
    fraction = x - Round(x)
    sine = Sin(where(is_negative, fraction, 0.5) * math.pi)
    is_odd = exactly(Absolute(Round(x) - Round(Round(x) * 0.5) * 2), 1.0)
    reflected = math.pi / (sine * where(is_negative, value, 1.0))
    value = where(is_negative, where(is_odd, -reflected, reflected), value)
    return not_a_number(both(is_negative, either(exactly(fraction, 0.0), exactly(x, -math.inf))), value)


@formula(None, "positive", "unit")
def comb(n: Value, k: Value) -> Operand:
    """gamma(n + 1) / gamma(k + 1) / gamma(n - k + 1), and 0 where k is negative or above n."""
    is_inside = both(greater_equal(k, 0.0), greater_equal(n, k))
    many, few = where(is_inside, n, 1.0), where(is_inside, k, 0.0)
    a, b = many - few + 1, few + 1
    share = a / (a + b)
    # The density of the beta distribution at its mean, over its powers.
    value = density(a, b, share, 1 - share) / (Power(share, a) * Power(1 - share, b)) / (many + 1)
    is_whole = both(exactly(Round(many), many), exactly(Round(few), few), less(value, _EXACT))
    outside = where(both(exactly(n, n), exactly(k, k)), 0.0, n.full(math.nan))
    return where(is_inside, where(is_whole, Round(value), value), outside)


@formula(lambda y, n: [where(less(n, 0.0), 0.0, y * Digamma(where(less(n, 0.0), 0.0, n) + 1))], "positive")
def factorial(n: Value) -> Operand:
    """The gamma function of n + 1, and 0 below 0; for large n it is n gamma(n), so that no sum is rounded."""
    is_negative, is_large = less(n, 0.0), greater(n, 2.0)
    value = special("gamma", where(is_large, n, where(is_negative, 0.0, n) + 1))
    return where(is_negative, 0.0, where(is_large, value * n, value))


@formula(lambda y, a, b: [Digamma(a) - Digamma(a + b), Digamma(b) - Digamma(a + b)], "positive", "positive")
def betaln(a: Value, b: Value) -> Operand:
    """The logarithm of the size of the beta function."""
    small, large = Minimum(a, b).output, Maximum(a, b).output
    value = Lgamma(small) - logarithm_of_quotient(large, small)
    return where(both(exactly(large, math.inf), greater(small, 0.0)), -math.inf, value)


@formula(lambda y, a, b: [y * (Digamma(a) - Digamma(a + b)), y * (Digamma(b) - Digamma(a + b))], "positive", "positive")
def beta(a: Value, b: Value) -> Operand:
    """gamma(a) gamma(b) / gamma(a + b)."""
    return sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b) * Exp(special("betaln", a, b))


@formula(lambda y, z, m: [y * (Digamma(z + m) - Digamma(z)), y * Digamma(z + m)], "positive", "positive")
def poch(z: Value, m: Value) -> Operand:
    """gamma(z + m) / gamma(z); of whole numbers up to 0, by gamma(1 - z) / gamma(1 - z - m) (DLMF 5.2.6)."""
    is_pole, is_whole = both(less_equal(z, 0.0), exactly(Floor(z), z)), exactly(Floor(m), m)
    turned = 1 - z - m
    is_turned = both(is_pole, is_whole, greater(turned, 0.0))
    plain = where(is_pole, 1.0, z)
    size = Exp(logarithm_of_quotient(where(is_turned, turned, plain), m))
    at_pole = where(is_turned, where(exactly(Floor(m * 0.5) * 2, m), size, -size), 0.0)
    return where(is_pole, at_pole, sign_of_gamma(plain) * sign_of_gamma(plain + m) * size)
