"""The zeta function of Hurwitz, by the formula of Euler and Maclaurin (DLMF 2.10.1, 25.11.5).

Twenty terms are added, and the rest of the sum is an integral and terms with numbers of Bernoulli. Below 0, where s is
an integer, the sum up to 0 and the one from there are three zeta functions of positive numbers.

>>> import nervure as nv
>>> s, q = nv.Parameter(nv.float64, (3,)).value, nv.Parameter(nv.float64, (3,)).value
>>> zeta(s, q)
f64[3] Where(LogicalAnd, Where, Full)
"""

from __future__ import annotations

import math

import numpy as np

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Floor, Power, Round
from nervure.ops.conversion import StopGradient
from nervure.ops.exponential import Exp
from nervure.ops.formulas.formula_parts import (
    both,
    exactly,
    greater,
    greater_equal,
    less,
    less_equal,
    negation,
    not_a_number,
    total,
    where,
)
from nervure.ops.formulas.table import formula, special
from nervure.ops.special import Digamma, Lgamma

_TERMS = 20  # a loop, not as many copies
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _of_positive(s: Value, q: Value) -> Value:
    """Returns the sum of (q + k)**-s over all k from 0 on, of q above 0 and s above 1."""
    found = total(lambda k, s, q: Power(q + k, -s), np.arange(float(_TERMS))[None, :], s, q)
    end = q + _TERMS
    power = Power(end, -s).output
    inverse = 1 / end
    found = found + power * end / (s - 1) + power * 0.5
    factor, square = power * s * inverse, inverse * inverse
    for k, number in enumerate(_BERNOULLI, 1):
        found = found + factor * (number / math.factorial(2 * k))
        factor = factor * (s + (2 * k - 1)) * (s + 2 * k) * square
    return found


@formula(None, "above one", "positive")
def zeta(s: Value, q: Value) -> Operand:
    """The sum of (q + k)**-s over all k from 0 on."""
    is_inside = both(greater(s, 1.0), less(s, math.inf), less(q, math.inf), greater(q, -math.inf))
    whole = Floor(q).output
    is_pole, is_negative = both(less_equal(q, 0.0), exactly(q, whole)), both(is_inside, less(q, 0.0))
    is_pole = both(is_pole, greater(q, -math.inf))
    power = where(is_inside, s, 2.0)
    fraction = where(both(is_negative, negation(is_pole)), q - whole, 0.5)
    place = where(is_negative, fraction, where(both(is_inside, greater(q, 0.0)), q, 1.0))
    value = _of_positive(power, place)
    # The terms below 0, of which the signs are those of the power of -1.
    size = _of_positive(power, 1 - fraction) - _of_positive(power, where(is_negative, 1 - q, 1.5))
    is_even = exactly(Round(power * 0.5), power * 0.5)
    value = where(is_negative, value + where(is_even, size, -size), value)
    value = not_a_number(both(is_negative, negation(exactly(Round(power), power))), value)
    value = where(is_pole, math.inf, where(exactly(s, 1.0), math.inf, value))
    value = where(both(exactly(q, math.inf), greater(s, 1.0)), 0.0, value)
    is_known = both(greater_equal(s, 1.0), exactly(q, q), greater(q, -math.inf))
    return where(is_known, where(exactly(s, math.inf), _of_infinite(q), value), math.nan)


@formula(None, "count", "positive")
def polygamma(n: Value, x: Value) -> Operand:
    """The derivative of order n of digamma: n! zeta(n + 1, x), negative where n is even (DLMF 25.11.12)."""
    order = StopGradient(n).output
    is_order = both(greater_equal(order, 0.0), exactly(Round(order), order), less(order, math.inf))
    is_higher = both(is_order, greater(order, 0.0))
    above = where(is_higher, order, 1.0)
    size = Exp(Lgamma(above + 1)) * special("zeta", above + 1, x)
    is_even = exactly(Round(above * 0.5), above * 0.5)
    value = where(is_higher, where(is_even, -size, size), Digamma(where(is_higher, 1.0, x)))
    return where(is_order, value, math.nan)


def _of_infinite(q: Value) -> Value:
    """Returns the sum of infinite powers: 0 above 1, 1 at 1, and infinite below."""
    return where(greater(q, 1.0), 0.0, where(exactly(q, 1.0), q.full(1.0), math.inf))
