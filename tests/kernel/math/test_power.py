"""Double-word arithmetic: a sum and a product of pairs lose nothing, a quotient almost nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from nervure.kernel.math.arrays import Arrays
from nervure.kernel.math.namespace import DOUBLE
from nervure.kernel.math.power import Pair

OPERATIONS = {"add": Pair.__add__, "multiply": Pair.__mul__, "divide": Pair.__truediv__}


def on_pairs(operation: str, x: float, y: float) -> Fraction:
    s = Arrays(DOUBLE)
    result = OPERATIONS[operation](Pair(s, s.constant(x)), Pair(s, s.constant(y)))
    (high,), (low,) = result.high.tolist(), result.low.tolist()
    assert abs(low) <= np.spacing(abs(high)) * 2
    return Fraction(high) + Fraction(low)


@pytest.mark.parametrize("x, y", [(1.0, 1e-17), (np.pi, np.e), (1e10, 1 / 3), (-7.3, 0.1), (1.25, 1.4142135623730951)])
def test_arithmetic(x, y):
    exact_x, exact_y = Fraction(x), Fraction(y)
    assert on_pairs("add", x, y) == exact_x + exact_y
    assert on_pairs("multiply", x, y) == exact_x * exact_y
    quotient = exact_x / exact_y
    assert abs(on_pairs("divide", x, y) - quotient) <= abs(quotient) / 2**100
