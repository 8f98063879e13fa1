"""The incomplete beta function, as an integral over the logarithm of the odds of its variable.

With odds t / (1 - t) that are exp(-w) times those of x, the integral of t**(a - 1) (1 - t)**(b - 1) up to x is x**a
(1 - x)**b times that of exp(-a w - (a + b) log(1 + x (exp(-w) - 1))) over positive w (DLMF 8.17). Up to the mean
a / (a + b) the integrand falls from 1 at w = 0; well above it, a and b, x and 1 - x change places. a is raised before,
by DLMF 8.17.20, of which all terms are positive. The slopes have a further factor, the logarithm, in the integral.

>>> import nervure as nv
>>> a, b, x = [nv.Parameter(nv.float64, (3,)).value for _ in range(3)]
>>> betainc(a, b, x)
f64[3] Where(LogicalOr, Full, Where)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute
from nervure.ops.conversion import StopGradient
from nervure.ops.exponential import Exp, Expm1, Log, Log1p, Sqrt
from nervure.ops.formulas.formula_parts import (
    both,
    either,
    exactly,
    greater,
    greater_equal,
    integral,
    less,
    negation,
    not_a_number,
    where,
)
from nervure.ops.formulas.gamma_parts import RAISED, RANGE, beside_stirling, deviation
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Maximum
from nervure.ops.special import Digamma

_NODES = 48
_CLOSE = 0.3
_MARGIN = 4.0  # so far beyond the mean, the integrand with the raised parameter still falls


def density(a: Value, b: Value, x: Value, y: Value) -> Value:
    """Returns x**a y**b / beta(a, b) of y = 1 - x, all of them positive."""
    excess, whole = x * b - y * a, a + b
    exponent = _exponent(a, excess, x * whole / a) + _exponent(b, -excess, y * whole / b)
    rest = beside_stirling(whole) - beside_stirling(a) - beside_stirling(b)
    return Sqrt(a / whole * b * (0.5 / math.pi)) * Exp(rest - exponent)


def _exponent(a: Value, excess: Value, ratio: Value) -> Value:
    """Returns a (m - log(1 + m)) of the ``ratio`` 1 + m and the ``excess`` a m, which may be small beside a."""
    is_close = less(Absolute(excess), a * _CLOSE)
    distance = where(is_close, excess, 0.0) / a
    near = deviation(distance, distance + 1) * a
    return where(is_close, near, excess - a * Log(where(is_close, 1.0, ratio)))


def _lower(a: Value, b: Value, x: Value, y: Value, wanted: str) -> Value:
    """Returns the part up to x, which is at most the mean, or its slope in a or in b, as is ``wanted``."""
    term, logarithm = density(a, b, x, y) / a, x
    if wanted == "slope in a":
        logarithm = Log(x) - Digamma(a + 1) + Digamma(a + b)
    elif wanted == "slope in b":
        logarithm = Log(y) - Digamma(b) + Digamma(a + b)
    found = term if wanted == "value" else term * logarithm
    for step in range(1, RAISED):
        logarithm = logarithm + 1 / (a + b + (step - 1))
        if wanted == "slope in a":
            logarithm = logarithm - 1 / (a + step)
        term = term * x * (a + b + (step - 1)) / (a + step)
        found = found + (term if wanted == "value" else term * logarithm)
    raised, factor = a + RAISED, term * x * (a + b + (RAISED - 1))
    logarithm = logarithm + 1 / (a + b + (RAISED - 1))
    length = _length(*[StopGradient(entry).output for entry in (raised, b, x, y)])
    area = _integral(raised, b, x, length, "value")
    if wanted == "value":
        return found + factor * area
    return found + factor * (logarithm * area + _integral(raised, b, x, length, wanted))


def _length(a: Value, b: Value, x: Value, y: Value) -> Value:
    """Returns where the integrand ends: by its slope and its curvature, or, far out, by its slope there."""
    whole, excess = a + b, Maximum(a * y - b * x, x.full(0))
    near = 2 * RANGE / (excess + Sqrt(excess * excess + whole * x * y * (2 * RANGE / math.e)))
    return where(less(near, 1.0), near, (RANGE - whole * Log(y)) / a)


def _integral(a: Value, b: Value, x: Value, length: Value, wanted: str) -> Value:
    def integrand(node: Value, a: Value, whole: Value, x: Value, length: Value) -> Operand:
        w = node * length
        logarithm = Log1p(x * Expm1(-w))
        value = Exp(-a * w - whole * logarithm)
        if wanted == "value":
            return value
        return -value * (logarithm + w if wanted == "slope in a" else logarithm)
    return integral(integrand, _NODES, a, a + b, x, length) * length


def _inside(a: Value, b: Value, x: Value) -> tuple[Value, Value, Value, Value]:
    """Returns where operands are finite and inside of their domain, and numbers that are these there."""
    is_inside = both(greater(a, 0.0), greater(b, 0.0), greater(x, 0.0), less(x, 1.0), less(a, math.inf),
                     less(b, math.inf))
    return is_inside, where(is_inside, a, 1.0), where(is_inside, b, 1.0), where(is_inside, x, 0.5)


def _found(a: Value, b: Value, x: Value, wanted: str) -> tuple[Value, Value]:
    """Returns a part of finite operands inside of their domain, and where they are that."""
    is_inside, a, b, x = _inside(a, b, x)
    y = 1 - x
    turned = greater(x * (a + b + _MARGIN), a + _MARGIN)
    first, second = where(turned, b, a), where(turned, a, b)
    place, other = where(turned, y, x), where(turned, x, y)
    if wanted == "value":
        value = _lower(first, second, place, other, wanted)
        return where(turned, 1 - value, value), is_inside
    swapped = {"slope in a": "slope in b", "slope in b": "slope in a"}[wanted]
    return where(turned, -_lower(first, second, place, other, swapped),
                 _lower(first, second, place, other, wanted)), is_inside


def _slope_in_x(a: Value, b: Value, x: Value) -> Value:
    is_inside, own, other, place = _inside(a, b, x)
    return where(is_inside, density(own, other, place, 1 - place) / place / (1 - place), 0.0)


@formula(lambda y, a, b, x: [special("betainc_slope_in_a", a, b, x), special("betainc_slope_in_b", a, b, x),
                             _slope_in_x(a, b, x)], "positive", "positive", "chance")
def betainc(a: Value, b: Value, x: Value) -> Operand:
    """The integral of t**(a - 1) (1 - t)**(b - 1) from 0 to x, divided by beta(a, b)."""
    value, _ = _found(a, b, x, "value")
    # At the borders: all is in 0 for a = 0 or an infinite b, and in 1 for b = 0 or an infinite a.
    is_left = either(exactly(a, 0.0), exactly(b, math.inf))
    is_right = either(exactly(b, 0.0), exactly(a, math.inf))
    inner = where(is_left, 1.0, where(is_right, 0.0, value))
    value = where(less(x, 1.0), where(greater(x, 0.0), inner, 0.0), 1.0)
    is_outside = negation(both(greater_equal(a, 0.0), greater_equal(b, 0.0), greater_equal(x, 0.0),
                               negation(greater(x, 1.0)), exactly(x, x)))
    return not_a_number(either(is_outside, both(is_left, is_right)), value)


@formula(None, "positive", "positive", "chance")
def betainc_slope_in_a(a: Value, b: Value, x: Value) -> Operand:
    """The derivative of ``betainc`` in a."""
    value, is_inside = _found(a, b, x, "slope in a")
    return where(is_inside, value, 0.0)


@formula(None, "positive", "positive", "chance")
def betainc_slope_in_b(a: Value, b: Value, x: Value) -> Operand:
    """The derivative of ``betainc`` in b."""
    value, is_inside = _found(a, b, x, "slope in b")
    return where(is_inside, value, 0.0)
