"""Airy's function of the first kind and its derivative: polynomials between -5 and 1, else asymptotic forms.

Their slowly changing factors are polynomials in 1 / zeta, with zeta = 2/3 |x|**1.5 (DLMF 9.7).

>>> import nervure as nv
>>> airy_ai(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(Less, Where, Where)
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nervure.ir.op import Operand, Value
from nervure.ops.exponential import Exp, Sqrt
from nervure.ops.formulas import fitted_polynomials as c
from nervure.ops.formulas.formula_parts import both, greater, greater_equal, less, polynomial, where
from nervure.ops.formulas.table import formula, special
from nervure.ops.trigonometric import Cos, Sin

_LEFT, _MIDDLE, _RIGHT = -5.0, -2.0, 1.0
_OF_LEFT, _OF_RIGHT = 2 / 3 * 5 ** 1.5, 2 / 3
_FARTHEST = 1e200  # beyond, zeta is infinite


@formula(lambda y, x: [special("airy_ai_slope", x)])
def airy_ai(x: Value) -> Operand:
    """The solution of y'' = x y that vanishes at infinity."""
    def far(zeta: Value, root: Value) -> Value:
        return polynomial(2 * _OF_RIGHT / zeta - 1, c.AIRY_FAR) * Exp(-zeta) / root

    def wave(zeta: Value, root: Value, cosine: Value, sine: Value) -> Value:
        square = _inverse_square(zeta)
        return (polynomial(square, c.AIRY_COSINE) * cosine + polynomial(square, c.AIRY_SINE) / zeta * sine) / root
    return _in_parts(x, c.AIRY_BELOW, c.AIRY_NEAR, far, wave, 0.0)


@formula(lambda y, x: [x * special("airy_ai", x)])
def airy_ai_slope(x: Value) -> Operand:
    """The derivative of Airy's function."""
    def far(zeta: Value, root: Value) -> Value:
        return -polynomial(2 * _OF_RIGHT / zeta - 1, c.AIRY_SLOPE_FAR) * Exp(-zeta) * root

    def wave(zeta: Value, root: Value, cosine: Value, sine: Value) -> Value:
        square = _inverse_square(zeta)
        first, second = polynomial(square, c.AIRY_SLOPE_COSINE), polynomial(square, c.AIRY_SLOPE_SINE)
        return (first / zeta * cosine + second * sine) * root
    return _in_parts(x, c.AIRY_SLOPE_BELOW, c.AIRY_SLOPE_NEAR, far, wave, math.nan)


def _inverse_square(zeta: Value) -> Value:
    inverse = _OF_LEFT / zeta
    return inverse * inverse * 2 - 1


def _in_parts(x: Value, below: tuple[float, ...], near: tuple[float, ...], far: Callable[..., Value],
              wave: Callable[..., Value], at_infinity: float) -> Value:
    """Returns a function from two polynomials, its form ``far`` out to the right, and its ``wave`` to the left."""
    is_left, is_below, is_right = less(x, _LEFT), less(x, _MIDDLE), greater_equal(x, _RIGHT)
    middle = where(is_left, _LEFT, where(is_right, _RIGHT, x))
    close = where(is_below, polynomial(_between(where(is_below, middle, _MIDDLE), _LEFT, _MIDDLE), below),
                  polynomial(_between(where(is_below, _MIDDLE, middle), _MIDDLE, _RIGHT), near))
    is_tail = both(is_right, less(x, _FARTHEST))
    right = where(is_tail, x, _RIGHT)
    tail = where(is_tail, far(_zeta(right), _fourth_root(right)), 0.0)
    is_wave = both(is_left, greater(x, -_FARTHEST))
    left = where(is_wave, -x, -_LEFT)
    zeta = _zeta(left)
    # The angle is zeta less pi / 4, by the sums of two angles.
    cosine, sine = Cos(zeta) * math.sqrt(0.5), Sin(zeta) * math.sqrt(0.5)
    turned = wave(zeta, _fourth_root(left), cosine + sine, sine - cosine)
    return where(is_left, where(is_wave, turned, at_infinity), where(is_right, tail, close))


def _between(x: Value, low: float, high: float) -> Value:
    return (x - low) * (2 / (high - low)) - 1


def _zeta(x: Value) -> Value:
    return x * Sqrt(x) * (2 / 3)


def _fourth_root(x: Value) -> Value:
    return Sqrt(Sqrt(x)).output
