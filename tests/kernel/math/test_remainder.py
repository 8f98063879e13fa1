"""Floor division of floats over arrays, against NumPy's, and its remainder against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from nervure.kernel.math.arrays import evaluate
from nervure.kernel.math.remainder import floordivide, modulo


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_remainder_is_exact(dtype):
    generator = np.random.default_rng(0)
    x, y = [(generator.normal(size=300) * 2.0 ** generator.integers(-60, 60, 300)).astype(dtype) for _ in range(2)]
    exact = [float(Fraction(a) - (Fraction(a) // Fraction(b)) * Fraction(b))
             for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert np.array_equal(evaluate(modulo, x, y), np.array(exact).astype(dtype))
    with np.errstate(all="ignore"):
        assert np.allclose(evaluate(floordivide, x, y), np.floor_divide(x, y), rtol=4 * np.finfo(dtype).eps, atol=1)


def test_zeros_and_what_is_not_finite():
    x, y = np.array([1.0, -0.0, np.inf, 5.0, -5.0]), np.array([0.0, 3.0, 2.0, np.inf, np.inf])
    assert np.array_equal(evaluate(modulo, x, y), np.array([np.nan, 0.0, np.nan, 5.0, np.inf]), equal_nan=True)
    assert evaluate(floordivide, x, y).tolist()[:2] == [np.inf, 0.0] and evaluate(floordivide, x, y)[4] == -1
