"""Functions that are defined as integrals, by the nodes of Gauss and Legendre over what counts of their range.

>>> import nervure as nv
>>> dawsn(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(Greater, Divide, Multiply)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Round, Sign
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
    polynomial,
    where,
)
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Minimum
from nervure.ops.special import Erf, Erfc
from nervure.ops.trigonometric import Cos, Sin

_EULER = 0.5772156649015329
_RANGE = 40.0  # the integrand is followed down to exp(-40)
_NODES = 48
_SERIES = [(-1) ** k / ((k + 1) * math.factorial(k + 1)) for k in range(18)]


# -- exponential integrals -------------------------------------------------------------------------------------------


@formula(lambda y, x: [-Exp(-x) / x], "positive")
def exp1(x: Value) -> Operand:
    """The integral of exp(-t) / t from x on: the series of DLMF 6.6.2 up to 1, else ``expn`` of order 1."""
    is_near = less(x, 1.0)
    near = where(both(is_near, greater(x, 0.0)), x, 0.5)
    series = polynomial(near, _SERIES) * near - Log(near) - _EULER
    far = _of_order(x.full(1.0), where(either(is_near, exactly(x, math.inf)), 1.0, x))
    value = where(exactly(x, 0.0), math.inf, where(is_near, series, where(exactly(x, math.inf), 0.0, far)))
    return not_a_number(less(x, 0.0), value)


def _of_order(n: Value, x: Value) -> Value:
    """Returns exp(-x) times the integral of exp(-(n - 1) w - x (exp(w) - 1)) over positive w."""
    order, fixed = StopGradient(n - 1).output, StopGradient(x).output
    by_order = _RANGE / where(greater(order, 0.0), order, 1e-3)
    by_place = Log1p(2 * _RANGE / where(greater(fixed, 0.0), fixed, 1e-300))
    length = Minimum(by_order, where(greater(fixed, 32.0), _RANGE / fixed, by_place.output)).output

    def integrand(node: Value, n: Value, x: Value, length: Value) -> Operand:
        w = node * length
        return Exp(-(n - 1) * w - x * Expm1(w))
    return Exp(-x) * integral(integrand, _NODES, n, x, length) * length


@formula(lambda y, n, x: [None, -special("expn", n - 1, x)], "count", "positive")
def expn(n: Value, x: Value) -> Operand:
    """The integral of exp(-x t) / t**n from 1 on, for a whole n (DLMF 8.19.3)."""
    order = StopGradient(n).output
    is_whole = both(greater_equal(order, 0.0), exactly(Round(order), order))
    is_high = both(is_whole, greater(order, 1.0), less(order, math.inf))
    place = where(greater(x, 0.0), x, 1.0)
    high = _of_order(where(is_high, order, 2.0), where(both(greater_equal(x, 0.0), less(x, math.inf)), x, 1.0))
    low = where(exactly(order, 1.0), special("exp1", place), Exp(-place) / place)
    value = where(is_high, high, where(exactly(x, 0.0), math.inf, low))
    value = where(exactly(x, math.inf), 0.0, value)
    return not_a_number(either(negation(is_whole), negation(greater_equal(x, 0.0))), value)


@formula(lambda y, x: [Exp(x) / x], "positive")
def expi(x: Value) -> Operand:
    """The principal value of the integral of exp(t) / t up to x.

    It is Euler's constant, log(x), and the integral of (exp(x u) - 1) / u over [0, 1].
    """
    is_negative = less(x, 0.0)
    place = where(is_negative, 1.0, where(exactly(x, 0.0), 1.0, x))
    length = Minimum(_RANGE / StopGradient(place), x.full(1.0)).output

    def integrand(node: Value, x: Value, length: Value) -> Operand:
        v = node * length
        whole = exactly(length, 1.0)  # else exp(x) alone would overflow, and 1 is nothing beside it
        return where(whole, Expm1(where(whole, x, 1.0) * (1 - v)).output, Exp(-x * v).output) / (1 - v)
    area = integral(integrand, _NODES, place, length) * length
    root = Exp(place * 0.5)
    grown = where(exactly(length, 1.0), area, root * area * root)
    value = grown + Log(place) + _EULER
    value = where(is_negative, -special("exp1", where(is_negative, -x, 1.0)), value)
    return where(exactly(x, math.inf), math.inf, where(exactly(x, 0.0), -math.inf, value))


# -- Dawson's, sine, cosine and Fresnel's ----------------------------------------------------------------------------


@formula(lambda y, x: [1 - x * y * 2])
def dawsn(x: Value) -> Operand:
    """exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    is_far = greater(Absolute(x), 1e100)
    near = where(is_far, 1.0, x)
    square = StopGradient(near * near).output
    share = Minimum(_RANGE / where(greater(square, 1.0), square, 1.0), x.full(1.0))
    length = share / (Sqrt(1 - share) + 1)

    def integrand(node: Value, square: Value, length: Value) -> Operand:
        v = node * length
        return Exp(-square * v * (2 - v))
    value = near * (integral(integrand, _NODES, near * near, length) * length)
    return where(is_far, 0.5 / where(is_far, x, 1.0), value)


_NEAR = 6.0


def _auxiliary(x: Value, is_second: bool) -> Value:
    """Returns f or g of DLMF 6.7.13 and 6.7.14.

    f is the integral of exp(-s) / (1 + (s / x)**2) / x over positive s, and g has a further factor s / x in it.
    """
    def integrand(node: Value, x: Value) -> Operand:
        root = node * math.sqrt(_RANGE)  # s is its square, so that nodes are dense near 0
        s = root * root
        value = Exp(-s) * root * 2 / ((s / x) * (s / x) + 1) / x
        return value * s / x if is_second else value
    return integral(integrand, _NODES, x) * math.sqrt(_RANGE)


@formula(lambda y, x: [special("spherical", x)])
def sine_integral(x: Value) -> Operand:
    """The integral of sin(t) / t from 0 to x."""
    size = Absolute(x).output
    is_near = less(size, _NEAR)
    near, far = where(is_near, size, 1.0), where(is_near, _NEAR, size)
    finite = where(exactly(far, math.inf), _NEAR, far)
    close = integral(lambda node, x: Sin(node * x) / node, _NODES, near)
    distant = math.pi / 2 - _auxiliary(finite, False) * Cos(finite) - _auxiliary(finite, True) * Sin(finite)
    return Sign(x) * where(is_near, close, where(exactly(far, math.inf), math.pi / 2, distant))


@formula(None)
def spherical(x: Value) -> Operand:
    """sin(x) / x, and 1 at 0."""
    at_zero = exactly(x, 0.0)
    safe = where(at_zero, 1.0, x)
    return where(at_zero, 1 - x * x * (1 / 6), Sin(safe) / safe)


@formula(lambda y, x: [Cos(x) / x], "positive")
def cosine_integral(x: Value) -> Operand:
    """Euler's constant, log(x), and the integral of (cos(t) - 1) / t from 0 to x."""
    is_near = less(x, _NEAR)
    near, far = where(both(is_near, greater(x, 0.0)), x, 1.0), where(is_near, _NEAR, x)
    finite = where(exactly(far, math.inf), _NEAR, far)

    def integrand(node: Value, x: Value) -> Operand:
        half = Sin(node * x * 0.5)
        return half * half * -2 / node
    close = integral(integrand, _NODES, near) + Log(near) + _EULER
    distant = _auxiliary(finite, False) * Sin(finite) - _auxiliary(finite, True) * Cos(finite)
    value = where(is_near, close, where(exactly(far, math.inf), 0.0, distant))
    return not_a_number(less(x, 0.0), where(exactly(x, 0.0), -math.inf, value))


def _fresnel(x: Value, is_sine: bool) -> Value:
    """Returns an integral of Fresnel: directly up to 2.5, beyond by f and g of DLMF 7.7.10 and 7.7.11."""
    size = Absolute(x).output
    is_near = less(size, 2.5)
    near, far = where(is_near, size, 1.0), where(is_near, 2.5, size)
    finite = where(less(far, 1e8), far, 1e8)
    wave = Sin if is_sine else Cos
    close = integral(lambda node, x: wave(node * node * x * x * (math.pi / 2)), _NODES, near) * near
    length = StopGradient(math.sqrt(2 * _RANGE / math.pi) / finite).output

    def part(power: int) -> Value:
        def integrand(node: Value, x: Value, length: Value) -> Operand:
            square = node * node * length * length
            value = Exp(square * x * x * (-math.pi / 2)) / (square * square + 1)
            return value * square if power else value
        return integral(integrand, _NODES, finite, length) * length * (math.sqrt(2) / math.pi)
    # The angle pi x**2 / 2 less whole turns, of which one part of x**2 / 4 is exact where x is moderate.
    whole = Round(finite * 64).output * (1 / 64)
    turns = whole * whole * 0.25
    angle = (turns - Round(turns) + (finite - whole) * (finite + whole) * 0.25) * (2 * math.pi)
    f, g, cosine, sine = part(0), part(1), Cos(angle), Sin(angle)
    distant = 0.5 - f * cosine - g * sine if is_sine else 0.5 + f * sine - g * cosine
    return Sign(x) * where(is_near, close, where(less(far, 1e8), distant, 0.5))


@formula(lambda y, x: [Sin(x * x * (math.pi / 2))])
def fresnel_sine(x: Value) -> Operand:
    """The integral of sin(pi t**2 / 2) from 0 to x."""
    return _fresnel(x, True)


@formula(lambda y, x: [Cos(x * x * (math.pi / 2))])
def fresnel_cosine(x: Value) -> Operand:
    """The integral of cos(pi t**2 / 2) from 0 to x."""
    return _fresnel(x, False)


# -- Spence's and Owen's ---------------------------------------------------------------------------------------------


def _logarithm_over_rest(x: Value) -> Value:
    """Returns log(x) / (1 - x), and its series beside 1."""
    rest = x - 1
    is_near = less(Absolute(rest), 1e-4)
    series = polynomial(where(is_near, rest, 0.0), (-1.0, 1 / 2, -1 / 3, 1 / 4, -1 / 5))
    return where(is_near, series, Log(where(is_near, 2.0, x)) / where(is_near, 1.0, -rest))


@formula(lambda y, x: [_logarithm_over_rest(x)], "positive")
def spence(x: Value) -> Operand:
    """The integral of log(t) / (1 - t) from 1 to x; far from 1 by the relations of DLMF 25.12."""
    is_inside = both(greater(x, 0.0), less(x, math.inf))
    place = where(is_inside, x, 1.0)
    is_far, is_near = greater(place, 2.0), less(place, 0.5)
    y = where(is_far, 1 - 1 / where(is_far, place, 1.0), where(is_near, 1 - place, place))
    value = integral(lambda node, y: -Log1p((y - 1) * node) / node, _NODES, y)
    logarithm = Log(place)
    rest = where(is_near, 1 - place, 0.5)
    of_inverse = logarithm * Log(where(is_far, y, 0.5)) + math.pi ** 2 / 6 - value
    value = where(is_far, logarithm * logarithm * -0.5 - of_inverse,
                  where(is_near, math.pi ** 2 / 6 - logarithm * Log(rest) - value, value))
    value = where(exactly(x, 0.0), math.pi ** 2 / 6, where(exactly(x, math.inf), -math.inf, value))
    return not_a_number(less(x, 0.0), where(exactly(x, x), value, x))


def _owen(h: Value, a: Value) -> Value:
    """Returns Owen's function of positive numbers, of which the second is at most 1."""
    length = Minimum(a, math.sqrt(2 * _RANGE) / where(greater(h, 1.0), h, 1.0)).output

    def integrand(node: Value, h: Value, length: Value) -> Operand:
        square = node * node * length * length + 1
        return Exp(h * h * square * -0.5) / square
    return integral(integrand, _NODES, h, length) * length * (0.5 / math.pi)


@formula(lambda y, h, a: [Exp(h * h * -0.5) * Erf(a * h * math.sqrt(0.5)) * (-0.5 / math.sqrt(2 * math.pi)),
                          Exp(h * h * (a * a + 1) * -0.5) / (a * a + 1) * (0.5 / math.pi)])
def owens_t(h: Value, a: Value) -> Operand:
    """The integral of exp(-h**2 (1 + t**2) / 2) / (1 + t**2) from 0 to a, over 2 pi.

    Above 1 it follows from Owen's relation (1956).
    """
    size, slope = Absolute(h).output, Absolute(a).output
    is_steep = greater(slope, 1.0)
    flat = where(is_steep, 1 / where(is_steep, slope, 1.0), slope)
    product = where(both(is_steep, greater(size, 0.0)), slope * size, 0.0)
    value = _owen(where(is_steep, product, size), flat)
    first, second = Erfc(size * math.sqrt(0.5)) * 0.5, Erfc(product * math.sqrt(0.5)) * 0.5
    value = where(is_steep, (first + second) * 0.5 - first * second - value, value)
    value = where(exactly(a, a), where(exactly(h, h), value, h), a)
    return where(less(a, 0.0), -value, value)
