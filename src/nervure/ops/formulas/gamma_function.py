"""The gamma function: Stirling's formula beyond 10, to which a recurrence leads, and Euler's reflection below 0.

>>> import nervure as nv
>>> gamma(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(LogicalAnd, Full, Where)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Power, Round
from nervure.ops.exponential import Exp
from nervure.ops.formulas.formula_parts import (
    both,
    either,
    exactly,
    greater,
    greater_equal,
    less,
    not_a_number,
    where,
)
from nervure.ops.formulas.gamma_parts import beside_stirling
from nervure.ops.formulas.incomplete_beta import density
from nervure.ops.formulas.table import formula
from nervure.ops.special import Digamma
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
    value = root * (Exp(beside_stirling(bounded) - bounded) * math.sqrt(2 * math.pi) / divisor) * root
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
