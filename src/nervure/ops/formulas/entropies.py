"""The terms of the divergence of Kullback and Leibler, without the cancellation beside equal numbers.

>>> import nervure as nv
>>> kl_div(nv.Parameter(nv.float64, (3,)).value, nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(LogicalAnd, Where, Where)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute
from nervure.ops.exponential import Log
from nervure.ops.formulas.formula_parts import (
    both,
    either,
    exactly,
    greater,
    greater_equal,
    less,
    negation,
    not_a_number,
    where,
)
from nervure.ops.formulas.gamma_parts import deviation
from nervure.ops.formulas.table import formula


def _inside(x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Returns where both numbers are positive, and numbers that are these there."""
    is_inside = both(greater(x, 0.0), greater(y, 0.0))
    return is_inside, where(is_inside, x, 1.0), where(is_inside, y, 1.0)


def _slopes(x: Value, y: Value) -> list[Operand]:
    is_inside, own, other = _inside(x, y)
    at_zero = where(exactly(x, 0.0), y.full(1.0), 0.0)
    return [where(is_inside, Log(own / other), 0.0), where(is_inside, 1 - own / other, at_zero)]


@formula(lambda value, x, y: _slopes(x, y), "positive", "positive")
def kl_div(x: Value, y: Value) -> Operand:
    """x log(x / y) - x + y of positive numbers, and y where x is 0.

    Beside x = y it is x (m - log(1 + m)) with m = (y - x) / x.
    """
    is_inside, own, other = _inside(x, y)
    difference = other - own
    is_near = less(Absolute(difference), own * 0.25)
    distance = where(is_near, difference, 0.0) / own
    value = where(is_near, own * deviation(distance, distance + 1), own * Log(own / other) + difference)
    outside = where(both(exactly(x, 0.0), greater_equal(y, 0.0)), y, y.full(math.inf))
    is_unknown = either(negation(exactly(x, x)), negation(exactly(y, y)))
    return where(is_inside, value, not_a_number(is_unknown, outside))
