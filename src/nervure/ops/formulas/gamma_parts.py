"""Parts of functions around gamma: what is beside Stirling's formula, quotients, signs, and a logarithm's rest.

>>> import nervure as nv
>>> beside_stirling(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(Greater, Multiply, Subtract)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Floor
from nervure.ops.exponential import Log, Log1p
from nervure.ops.formulas.formula_parts import both, exactly, greater, less, not_a_number, polynomial, where
from nervure.ops.special import Lgamma

RAISED = 8
"""How many steps of its recurrence raise a parameter, so that the integrand behind them falls steeply."""

RANGE = 40.0
"""The integrand is followed down to exp(-40)."""

_LARGE = 10.0
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # DLMF 5.11.1
_ARC = [1 / (2 * k + 1) for k in range(1, 13)]
_CLOSE = 0.3


def beside_stirling(z: Value) -> Value:
    """Returns log(gamma(z)) - ((z - 1/2) log(z) - z + log(2 pi) / 2) of a positive z."""
    is_large = greater(z, _LARGE)
    inverse = 1.0 / where(is_large, z, _LARGE)
    far = polynomial(inverse * inverse, _STIRLING) * inverse
    small = where(is_large, 1.0, z)
    return where(is_large, far, Lgamma(small) - (small - 0.5) * Log(small) + small - math.log(2 * math.pi) / 2)


def logarithm_of_quotient(z: Value, m: Value) -> Value:
    """Returns log(gamma(z + m) / gamma(z)), of their sizes: for large numbers from what is beside Stirling's formula.

    There the logarithms of the two would cancel.
    """
    is_far = both(greater(z, _LARGE), greater(z + m, _LARGE), less(z, math.inf), less(m, math.inf))
    far, step = where(is_far, z, _LARGE), where(is_far, m, 0.0)
    end = far + step
    grown = (end - 0.5) * Log1p(step / far) + step * (Log(far) - 1)
    near, other = where(is_far, 1.0, z), where(is_far, 1.0, z + m)
    return where(is_far, grown + (beside_stirling(end) - beside_stirling(far)), Lgamma(other) - Lgamma(near))


def sign_of_gamma(x: Value) -> Value:
    """Returns 1 or -1, and NaN at the poles below 0."""
    whole = Floor(x).output
    is_negative = less(x, 0.0)
    is_odd = exactly(Floor(whole * 0.5) * 2, whole - 1)
    return not_a_number(both(is_negative, exactly(whole, x)), where(both(is_negative, is_odd), -1.0, x.full(1.0)))


def deviation(distance: Value, ratio: Operand) -> Value:
    """Returns m - log(1 + m) of a ``distance`` m and the ``ratio`` 1 + m.

    Where m is small, it is the series of the area tangent, whose first terms are taken together (DLMF 4.6.4).
    """
    is_close = less(Absolute(distance), _CLOSE)
    near = where(is_close, distance, 0.0)
    z = near / (near + 2)
    square = z * z
    series = near * z - z * square * polynomial(square, _ARC) * 2
    return where(is_close, series, where(is_close, 0.0, distance) - Log(where(is_close, 1.0, ratio)))
