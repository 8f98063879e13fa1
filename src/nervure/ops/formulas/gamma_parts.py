"""Two parts of the incomplete gamma and beta functions: gamma beside Stirling's formula, and a logarithm's rest.

>>> import nervure as nv
>>> beside_stirling(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(Greater, Multiply, Subtract)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute
from nervure.ops.exponential import Log
from nervure.ops.formulas.formula_parts import greater, less, polynomial, where
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
