"""The incomplete gamma functions, as integrals over the logarithm of their variable.

With t = x exp(w), the integral of t**(a - 1) exp(-t) from x on is x**a exp(-x) times that of
exp(a w - x (exp(w) - 1)) over positive w, and the one up to x the same over negative w (DLMF 8.2). Both integrands have
no singularity, and fall from 1 at w = 0: some nodes of Gauss and Legendre find them to all digits, for any a and x. A
small a is raised first, by the recurrence of DLMF 8.8.5, of which all terms are positive. The factor x**a exp(-x) /
gamma(a) comes from Stirling's formula. The slope in a has a further factor w in the integral.

>>> import nervure as nv
>>> a, x = nv.Parameter(nv.float64, (3,)).value, nv.Parameter(nv.float64, (3,)).value
>>> gammainc(a, x)
f64[3] Where(LogicalOr, Full, Where)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Power
from nervure.ops.conversion import StopGradient
from nervure.ops.exponential import Exp, Expm1, Log, Log1p, Sqrt
from nervure.ops.formulas import fitted_polynomials as c
from nervure.ops.formulas.formula_parts import (
    both,
    either,
    exactly,
    greater,
    greater_equal,
    integral,
    less,
    less_equal,
    negation,
    not_a_number,
    polynomial,
    where,
)
from nervure.ops.formulas.gamma_parts import RAISED, RANGE, beside_stirling, deviation
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Maximum, Minimum
from nervure.ops.special import Digamma, Lgamma

_NODES = 40
_LARGE = 10.0
_SMALL = 0.1  # below this, and of a below 1, the upper part is what the first terms of a series leave of 1
_VANISHED = 1e3  # exp(-x) x**10 is 0


def density(a: Value, x: Value) -> Value:
    """Returns x**a exp(-x) / gamma(a) of positive numbers."""
    is_large = greater(a, _LARGE)
    large = where(is_large, a, _LARGE)
    exponent = deviation((x - large) / large, x / large) * large + beside_stirling(large)
    far = Sqrt(large * (0.5 / math.pi)) * Exp(-exponent)
    small = where(is_large, 1.0, a)
    finite = Minimum(where(is_large, 1.0, x), x.full(_VANISHED)).output
    return where(is_large, far, Power(finite, small) * Exp(-finite - Lgamma(small)))


def _lower(a: Value, x: Value, with_slope: bool = False) -> tuple[Value, Value]:
    """Returns the lower part for x up to a + 8, and its slope in a if that is wanted."""
    term = density(a, x) / a
    logarithm = Log(x) - Digamma(a + 1) if with_slope else x
    value, slope = term, term * logarithm
    for step in range(1, RAISED):
        term = term * x / (a + step)
        value = value + term
        if with_slope:
            logarithm = logarithm - 1 / (a + step)
            slope = slope + term * logarithm
    raised, factor = a + RAISED, term * x
    fixed, power = StopGradient(x).output, StopGradient(raised).output
    excess = Maximum(power - fixed, x.full(0))
    near = 2 * RANGE / (excess + Sqrt(excess * excess + fixed * (4 * RANGE / 3)))
    length = -where(less(near, 1.0), near, (fixed + RANGE) / power)
    area = _integral(raised, x, length, False)
    if with_slope:
        slope = slope + factor * (logarithm * area + _integral(raised, x, length, True))
    return value + factor * area, slope


def _upper(a: Value, x: Value, with_slope: bool = False) -> tuple[Value, Value]:
    """Returns the upper part, for x from a on or a below 1, and its slope in a."""
    fixed = StopGradient(x).output
    excess = Maximum(fixed - StopGradient(a), x.full(0))
    by_square = 2 * RANGE / (excess + Sqrt(excess * excess + fixed * (2 * RANGE)))
    length = where(greater(fixed, 32.0), by_square, Log1p(2 * RANGE / fixed))
    factor, area = density(a, x), _integral(a, x, length, False)
    if not with_slope:
        return factor * area, area
    return factor * area, factor * ((Log(x) - Digamma(a)) * area + _integral(a, x, length, True))


def _integral(a: Value, x: Value, length: Value, moved: bool) -> Value:
    """Returns the integral of exp(a w - x (exp(w) - 1)), times w if it is ``moved``.

    w is between 0 and a length, which may be negative.
    """
    def integrand(node: Value, a: Value, x: Value, length: Value) -> Operand:
        w = node * length
        value = Exp(a * w - x * Expm1(w))
        return value * w if moved else value
    return integral(integrand, _NODES, a, x, length) * Absolute(length)


def _inside(a: Value, x: Value) -> tuple[Value, Value, Value]:
    """Returns where both numbers are positive and finite, and numbers that are these there."""
    is_inside = both(greater(a, 0.0), greater(x, 0.0), less(a, math.inf), less(x, math.inf))
    return is_inside, where(is_inside, a, 1.0), where(is_inside, x, 1.0)


def _completed(is_inside: Value, a: Value, x: Value, value: Value, low: float) -> Value:
    """Returns a part at the borders, too: ``low`` for x = 0 or an infinite a, else 1 - low; NaN outside."""
    is_low = either(both(exactly(x, 0.0), greater(a, 0.0)), both(exactly(a, math.inf), less(x, math.inf)))
    found = where(is_inside, value, where(is_low, low, x.full(1.0 - low)))
    is_lost = either(negation(greater_equal(a, 0.0)), negation(greater_equal(x, 0.0)),
                     both(exactly(a, 0.0), exactly(x, 0.0)), both(exactly(a, math.inf), exactly(x, math.inf)))
    return not_a_number(is_lost, found)


def _slope_in_x(a: Value, x: Value) -> Value:
    """Returns x**(a - 1) exp(-x) / gamma(a)."""
    is_inside, own, place = _inside(a, x)
    at_zero = where(exactly(a, 1.0), 1.0, where(less(a, 1.0), x.full(math.inf), 0.0))
    return where(is_inside, density(own, place) / place, where(exactly(x, 0.0), at_zero, 0.0))


@formula(lambda y, a, x: [special("gammainc_slope", a, x), _slope_in_x(a, x)], "positive", "positive")
def gammainc(a: Value, x: Value) -> Operand:
    """The integral of t**(a - 1) exp(-t) from 0 to x, divided by gamma(a)."""
    is_inside, own, place = _inside(a, x)
    is_low = less_equal(place, own + 1)
    low, _ = _lower(own, where(is_low, place, own))
    high, _ = _upper(own, where(is_low, own + 1, place))
    return _completed(is_inside, a, x, where(is_low, low, 1 - high), 0.0)


@formula(lambda y, a, x: [-special("gammainc_slope", a, x), -_slope_in_x(a, x)], "positive", "positive")
def gammaincc(a: Value, x: Value) -> Operand:
    """The integral of t**(a - 1) exp(-t) from x on, divided by gamma(a)."""
    is_inside, own, place = _inside(a, x)
    is_below_1 = less(own, 1.0)
    is_tiny = both(is_below_1, less(place, _SMALL))
    is_high = both(negation(is_tiny), either(is_below_1, greater(place, own)))
    high, _ = _upper(own, where(is_high, place, own + 1))
    low, _ = _lower(where(is_below_1, 1.0, own), where(either(is_high, is_tiny), 1.0, place))
    rest = _near_one(where(is_tiny, own, 0.5), where(is_tiny, place, _SMALL))
    return _completed(is_inside, a, x, where(is_tiny, rest, where(is_high, high, 1 - low)), 1.0)


def _near_one(a: Value, x: Value) -> Value:
    """Returns the upper part of a small x and an a below 1.

    The first term of the series of the lower part (DLMF 8.7.1) is taken off 1 by its logarithm.
    """
    logarithm = a * (Log(x) - polynomial(a * 2 - 1, c.LGAMMA_OF_1_MORE))
    series = x.full(0.0)
    for k in range(12, 0, -1):
        series = (series + (1 if k % 2 else -1) / math.factorial(k) / (a + k)) * x
    return a * Exp(logarithm) * series - Expm1(logarithm)


@formula(None, "positive", "positive")
def gammainc_slope(a: Value, x: Value) -> Operand:
    """The derivative of ``gammainc`` in a."""
    is_inside, own, place = _inside(a, x)
    is_low = less_equal(place, own + 1)
    _, low = _lower(own, where(is_low, place, own), with_slope=True)
    _, high = _upper(own, where(is_low, own + 1, place), with_slope=True)
    return where(is_inside, where(is_low, low, -high), 0.0)
