"""The oracle of contractions: its fused multiply-adds are those of fractions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.kernel.contraction_rule import exactly_fused, fused


def near_each_other(count: int) -> tuple[np.ndarray, ...]:
    """Numbers whose product nearly cancels the addend, or lies in the middle between two that may be the result."""
    rng = np.random.default_rng(3)
    x, y = [rng.standard_normal(count) * 2.0 ** rng.integers(-30, 30, count) for _ in range(2)]
    product = x * y
    away = product * (1 + rng.integers(-3, 4, count) * 2.0**-52)
    tiny = product * 2.0 ** -rng.integers(50, 110, count)
    return x, y, np.where(rng.random(count) < 0.5, -away, tiny * rng.integers(-2, 3, count))


def odd_numbers() -> tuple[np.ndarray, ...]:
    values = [0.0, -0.0, 1.0, -1.0, 1 + 2.0**-52, 3.0, 2.0**-600, -(2.0**-1074), 2.0**600, 1.7e308, np.inf, np.nan]
    return tuple(np.array(list(itertools.product(values, repeat=3))).T.copy())


@pytest.mark.parametrize("numbers", [near_each_other(3000), odd_numbers()], ids=["near", "odd"])
def test_a_fused_multiply_add_is_rounded_once(numbers):
    x, y, z = numbers
    expected = [exactly_fused(*each) for each in zip(x, y, z, strict=True)]
    found = fused(x, y, z)
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])
    with np.errstate(all="ignore"):
        assert (found != x * y + z)[np.isfinite(found)].any()
