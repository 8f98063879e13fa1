"""Bessel functions of the orders 0 and 1, plain and modified.

Near 0 the modified ones are their power series, whose terms have one sign (DLMF 10.25.2, 10.31); the others, whose
terms would cancel, polynomials in x**2. Far out all are the slowly changing factors of their asymptotic forms (DLMF
10.17, 10.40), polynomials in 1/x.

>>> import nervure as nv
>>> i0e(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(Less, Multiply, Divide)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Sign
from nervure.ops.exponential import Exp, Log, Sqrt
from nervure.ops.formulas import fitted_polynomials as c
from nervure.ops.formulas.formula_parts import exactly, less, not_a_number, polynomial, where
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Clip
from nervure.ops.trigonometric import Cos, Sin

_TERMS = 25
_I0 = [1 / math.factorial(k) ** 2 for k in range(_TERMS)]
_I1 = [1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(_TERMS)]

_HARMONIC = [sum([1 / j for j in range(1, k + 1)]) for k in range(13)]
_K0 = [_HARMONIC[k] / math.factorial(k) ** 2 for k in range(12)]
_K1 = [(_HARMONIC[k] + _HARMONIC[k + 1] - 2 * 0.5772156649015329) / (math.factorial(k) * math.factorial(k + 1))
       for k in range(12)]
"""The coefficients of the series in x**2 / 4."""

_EULER = 0.5772156649015329
_NEAR = 8.0
_LARGEST = 750.0  # e to this is infinite, and to half of it is not


def _ratio(value: Value, x: Value) -> Value:
    """Returns an odd function over x, whose limit at 0 is 1/2."""
    at_zero = exactly(x, 0.0)
    return where(at_zero, 0.5, value / where(at_zero, 1.0, x))


# -- modified --------------------------------------------------------------------------------------------------------


@formula(lambda y, x: [special("i1e", x) - Sign(x) * y])
def i0e(x: Value) -> Operand:
    """exp(-|x|) I0(x)."""
    return _scaled(Absolute(x).output, _I0, c.I0_FAR)


@formula(lambda y, x: [special("i0e", x) - _ratio(y, x) - Sign(x) * y])
def i1e(x: Value) -> Operand:
    """exp(-|x|) I1(x)."""
    size = Absolute(x).output
    return Sign(x) * _scaled(size, _I1, c.I1_FAR, size * 0.5)


def _scaled(size: Value, series: list[float], far: tuple[float, ...], factor: Value | None = None) -> Value:
    is_near = less(size, _NEAR)
    close, distant = where(is_near, size, 1.0), where(is_near, _NEAR, size)
    near = polynomial(close * close * 0.25, series) * Exp(-close)
    if factor is not None:
        near = near * (close * 0.5)
    return where(is_near, near, polynomial(2 * _NEAR / distant - 1, far) / Sqrt(distant))


@formula(lambda y, x: [special("i1", x)])
def i0(x: Value) -> Operand:
    """The modified Bessel function of the first kind and the order 0."""
    return _grown("i0e", x)


@formula(lambda y, x: [special("i0", x) - _ratio(y, x)])
def i1(x: Value) -> Operand:
    """The modified Bessel function of the first kind and the order 1."""
    return _grown("i1e", x)


def _grown(name: str, x: Value) -> Value:
    """Returns a function from its scaled one, times two factors, which are finite."""
    finite = Clip(x, x.full(-_LARGEST), x.full(_LARGEST))
    root = Exp(Absolute(finite) * 0.5)
    return root * special(name, finite) * root


@formula(lambda y, x: [y - special("k1e", x)], "positive")
def k0e(x: Value) -> Operand:
    """exp(x) K0(x)."""
    is_near = less(x, 1.0)
    close, distant = where(is_near, x, 0.5), where(is_near, 1.0, x)
    square = close * close * 0.25
    near = polynomial(square, _K0) - (Log(close * 0.5) + _EULER) * polynomial(square, _I0[:12])
    return _positive(x, where(is_near, near * Exp(close), polynomial(2.0 / distant - 1, c.K0_FAR) / Sqrt(distant)))


@formula(lambda y, x: [y - special("k0e", x) - y / x], "positive")
def k1e(x: Value) -> Operand:
    """exp(x) K1(x)."""
    is_near = less(x, 1.0)
    close, distant = where(is_near, x, 0.5), where(is_near, 1.0, x)
    square = close * close * 0.25
    near = (1.0 / close + close * 0.5 * (Log(close * 0.5) * polynomial(square, _I1[:12])
                                         - polynomial(square, _K1) * 0.5))
    return _positive(x, where(is_near, near * Exp(close), polynomial(2.0 / distant - 1, c.K1_FAR) / Sqrt(distant)))


@formula(lambda y, x: [-special("k1", x)], "positive")
def k0(x: Value) -> Operand:
    """The modified Bessel function of the second kind and the order 0."""
    return special("k0e", x) * Exp(-x)


@formula(lambda y, x: [-special("k0", x) - y / x], "positive")
def k1(x: Value) -> Operand:
    """The modified Bessel function of the second kind and the order 1."""
    return special("k1e", x) * Exp(-x)


def _positive(x: Value, value: Operand, at_zero: float = math.inf) -> Value:
    """Returns a function of positive numbers: infinite at 0, NaN below."""
    return not_a_number(less(x, 0.0), where(exactly(x, 0.0), at_zero, value))


# -- plain -----------------------------------------------------------------------------------------------------------


@formula(lambda y, x: [-special("j1", x)])
def j0(x: Value) -> Operand:
    """The Bessel function of the first kind and the order 0."""
    size = Absolute(x).output
    is_near, close, distant = _sides(size)
    near = polynomial(close * close / 32 - 1, c.J0_NEAR)
    p, q, cosine, sine = _wave(distant, c.P0_FAR, c.Q0_FAR)
    far = (p * (cosine + sine) - q * (sine - cosine)) / Sqrt(distant * math.pi)
    return where(is_near, near, where(exactly(size, math.inf), 0.0, far))


@formula(lambda y, x: [special("j0", x) - _ratio(y, x)])
def j1(x: Value) -> Operand:
    """The Bessel function of the first kind and the order 1."""
    size = Absolute(x).output
    is_near, close, distant = _sides(size)
    near = close * polynomial(close * close / 32 - 1, c.J1_NEAR)
    p, q, cosine, sine = _wave(distant, c.P1_FAR, c.Q1_FAR)
    far = (p * (sine - cosine) + q * (sine + cosine)) / Sqrt(distant * math.pi)
    return Sign(x) * where(is_near, near, where(exactly(size, math.inf), 0.0, far))


@formula(lambda y, x: [-special("y1", x)], "positive")
def y0(x: Value) -> Operand:
    """The Bessel function of the second kind and the order 0."""
    is_near, close, distant = _sides(x)
    square = close * close / 32 - 1
    near = polynomial(square, c.Y0_NEAR) + Log(close * 0.5) * (2 / math.pi) * polynomial(square, c.J0_NEAR)
    p, q, cosine, sine = _wave(distant, c.P0_FAR, c.Q0_FAR)
    far = (p * (sine - cosine) + q * (cosine + sine)) / Sqrt(distant * math.pi)
    return _positive(x, where(is_near, near, where(exactly(x, math.inf), 0.0, far)), -math.inf)


@formula(lambda y, x: [special("y0", x) - y / x], "positive")
def y1(x: Value) -> Operand:
    """The Bessel function of the second kind and the order 1."""
    is_near, close, distant = _sides(x)
    square = close * close / 32 - 1
    smooth = polynomial(square, c.Y1_NEAR) + Log(close * 0.5) * (2 / math.pi) * polynomial(square, c.J1_NEAR)
    p, q, cosine, sine = _wave(distant, c.P1_FAR, c.Q1_FAR)
    far = (q * (sine - cosine) - p * (sine + cosine)) / Sqrt(distant * math.pi)
    near = smooth * close - 2 / math.pi / close
    return _positive(x, where(is_near, near, where(exactly(x, math.inf), 0.0, far)), -math.inf)


def _sides(x: Value) -> tuple[Value, Value, Value]:
    """Returns whether x is near, and a number that is x where it is near, and one where it is not."""
    is_near = less(x, _NEAR)
    return is_near, where(is_near, x, 1.0), where(is_near, _NEAR, x)


def _wave(x: Value, even: tuple[float, ...], odd: tuple[float, ...]) -> tuple[Value, Value, Value, Value]:
    """Returns P and Q, which change slowly, and cosine and sine of x."""
    inverse = _NEAR / x
    square = inverse * inverse * 2 - 1
    finite = where(exactly(x, math.inf), _NEAR, x)
    return polynomial(square, even), polynomial(square, odd) / x, Cos(finite).output, Sin(finite).output
