"""The normal distribution: its chances, their logarithms, its quantiles, and the scaled tail of the error function.

>>> import nervure as nv
>>> ndtri(nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(LogicalOr, Full, Where)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Round
from nervure.ops.exponential import Exp, Log, Log1p, Sqrt
from nervure.ops.formulas import fitted_polynomials as c
from nervure.ops.formulas.formula_parts import both, either, exactly, greater, less, not_a_number, polynomial, where
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Minimum

_CENTER = 4.0
_LARGEST = 27.0  # e to its square is infinite

_FALL = (-1.0, 3 / 2, -15 / 4, 105 / 8, -945 / 16)
"""The derivative of erfcx in powers of 1 / x**2, times sqrt(pi) x**2 (DLMF 7.12.1)."""


def _slope(value: Value, x: Value) -> Value:
    """Returns 2 x erfcx(x) - 2 / sqrt(pi), which would cancel far out."""
    is_far = greater(x, 50.0)
    square = 1.0 / where(is_far, x, 50.0)
    square = square * square
    series = polynomial(square, _FALL) * square * (1 / math.sqrt(math.pi))
    return where(is_far, series, where(is_far, 0.0, x) * 2 * where(is_far, 0.0, value) - 2 / math.sqrt(math.pi))


@formula(lambda y, x: [_slope(y, x)])
def erfcx(x: Value) -> Operand:
    """exp(x**2) erfc(x): a polynomial in (x - 4) / (x + 4), after M. Shepherd and J. Laframboise (1981); below 0 by
    erfc(-x) = 2 - erfc(x).
    """
    size = Absolute(x).output
    tail = polynomial(1 - 2 * _CENTER / (size + _CENTER), c.ERFCX) / (size + _CENTER)
    below = Minimum(where(less(x, 0.0), size, 0.0), x.full(_LARGEST)).output
    return where(less(x, 0.0), _exp_of_square(below, 1.0) * 2 - tail, tail)


def _exp_of_square(x: Value, factor: float) -> Value:
    """Returns exp(factor x**2), whose exponent is added from two parts, of which one is exact."""
    whole = Round(x * 16).output * (1 / 16)
    return Exp(whole * whole * factor) * Exp((x - whole) * (x + whole) * factor)


# -- chances and quantiles -------------------------------------------------------------------------------------------

_FARTHEST = 40.0  # beyond, a chance is 0
_DENSITY = 1 / math.sqrt(2 * math.pi)


def _tail(x: Value) -> tuple[Value, Value]:
    """Returns the chance of a normal number above the size of x, and the factor of exp(-x**2 / 2) in it."""
    size = Absolute(x).output
    factor = special("erfcx", size * math.sqrt(0.5)) * 0.5
    return factor * _exp_of_square(Minimum(size, size.full(_FARTHEST)).output, -0.5), factor


@formula(lambda y, x: [Exp(x * x * -0.5) * _DENSITY])
def ndtr(x: Value) -> Operand:
    """The chance that a normal number is at most x."""
    tail, _ = _tail(x)
    return where(less(x, 0.0), tail, 1 - tail)


def _hazard(x: Value) -> Value:
    """Returns the density of the normal distribution over the chance of what is at most x."""
    tail, factor = _tail(x)
    is_low = less(x, 0.0)
    return where(is_low, _DENSITY / where(is_low, factor, 0.5), Exp(x * x * -0.5) * _DENSITY / (1 - tail))


@formula(lambda y, x: [_hazard(x)])
def log_ndtr(x: Value) -> Operand:
    """The logarithm of ``ndtr``, finite where that is 0."""
    tail, factor = _tail(x)
    return where(less(x, 0.0), Log(factor) - x * x * 0.5, Log1p(-tail))


@formula(lambda y, p: [Exp(y * y * 0.5) * math.sqrt(2 * math.pi)], "unit")
def ndtri(p: Value) -> Operand:
    """The number below which a normal one is with the chance p.

    Polynomials in (p - 1/2)**2 and, in the tails, in the root of the logarithm of the chance.
    """
    distance = p - 0.5
    square = distance * distance
    is_near = less(square, 0.14)
    near = distance * polynomial(where(is_near, square, 0.0) / 0.07 - 1, c.QUANTILE_NEAR)
    is_inside = both(greater(p, 0.0), less(p, 1.0))
    tail = where(is_near, 0.1, where(is_inside, Minimum(p, 1 - p).output, 0.1))
    root = Sqrt(-Log(tail)).output
    is_far = greater(root, 5.2)
    far = polynomial((where(is_far, 1.4, root) - 3.3) / 1.9, c.QUANTILE_FAR)
    farthest = polynomial((where(is_far, root, 5.2) - 16.3) / 11.1, c.QUANTILE_FARTHEST)
    size = where(is_far, farthest, far)
    value = where(is_near, near, where(less(p, 0.5), -size, size))
    value = where(exactly(p, 0.0), -math.inf, where(exactly(p, 1.0), math.inf, value))
    return not_a_number(either(less(p, 0.0), greater(p, 1.0)), where(exactly(p, p), value, math.nan))
