"""The power function: special cases as IEEE 754 has them, and precision where the exponent is largest."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from nervure.types.dtype import as_dtype
from tests.conformance.meaning import meaning
from tests.transformers.cpu.math_accuracy import ROWS, power_arguments, specials
from tests.transformers.cpu.math_harness import LANES, exact_parts, on_arrays, ulps

TYPES = [np.float32, np.float64]


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return on_arrays("power", x.dtype.type, LANES[x.dtype.type][1], 2)(x, y)


def every_pair(dtype) -> list[np.ndarray]:
    whole = 2.0 ** np.finfo(dtype).nmant  # where numbers stop having halves; twice as far they are all even
    parity = [whole - 1, whole + 1, 2 * whole - 1, 2 * whole, 4 * whole, whole - 0.5, whole / 2 + 0.5, 2.5, 4, 5]
    values = np.concatenate([specials(dtype), np.array(parity, dtype), np.negative(np.array(parity, dtype))])
    return [grid.ravel().copy() for grid in np.meshgrid(values, values)]


@pytest.mark.parametrize("dtype", TYPES)
def test_special_cases_are_those_of_c(dtype):
    x, y = every_pair(dtype)
    got = power(x, y)
    wanted = np.array([meaning("power", as_dtype(dtype), *pair) for pair in zip(x.tolist(), y.tolist())], dtype)
    assert np.isnan(got).tolist() == np.isnan(wanted).tolist()
    valid = ~np.isnan(wanted)
    assert np.signbit(got[valid]).tolist() == np.signbit(wanted[valid]).tolist()
    exact = (x == 0) | (np.abs(x) == 1) | np.isinf(x) | (y == 0) | np.isinf(y)
    assert got[valid & exact].tolist() == wanted[valid & exact].tolist()
    assert ulps(got, wanted.astype(np.float64)).max() <= 2


NAMED_CASES = [
    (np.nan, 0.0, 1.0), (1.0, np.nan, 1.0), (-1.0, np.inf, 1.0), (-1.0, -np.inf, 1.0),
    (-0.0, -3.0, -np.inf), (-0.0, 3.0, -0.0), (-0.0, 0.5, 0.0), (-0.0, -2.0, np.inf),
    (-np.inf, 3.0, -np.inf), (-np.inf, -3.0, -0.0), (-np.inf, 0.5, np.inf),
    (0.5, np.inf, 0.0), (0.5, -np.inf, np.inf), (-2.0, 0.5, np.nan),
]


@pytest.mark.parametrize("x, y, wanted", NAMED_CASES)
def test_named_cases(x, y, wanted):
    for dtype in TYPES:
        got, = power(np.array([x], dtype), np.array([y], dtype))
        assert repr(float(got)) == repr(float(wanted))


@pytest.mark.parametrize("dtype", TYPES)
def test_whole_powers_are_exact(dtype):
    limit = 2 ** (np.finfo(dtype).nmant + 1)
    whole = [(x, y, x**y) for x in range(2, 200) for y in range(1, 12) if x**y <= limit]
    x, y, wanted = [np.array(column, dtype) for column in zip(*whole)]
    assert len(x) > 700 and power(x, y).tolist() == wanted.tolist()
    roots = power(wanted[y == 2], np.full((y == 2).sum(), 0.5, dtype))
    assert roots.tolist() == x[y == 2].tolist()


def test_float32_is_precise():
    x, y = power_arguments(np.float32, 900_000)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(power(x, y), wanted).max() <= ROWS["power"].float32


def test_float64_is_precise():
    x, y = power_arguments(np.float64, 6_000)
    wanted, rest = exact_parts(mp.power, x, y)
    assert ulps(power(x, y), wanted, rest).max() <= ROWS["power"].float64
