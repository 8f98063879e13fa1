"""The polynomials of the special functions are as close to what they stand for as their comments say."""

from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from nervure.kernel.math import near_zeros, trigonometric
from tests.deep.special_coefficients import ROWS, SERIES, greatest_error, in_digits

TANGENT = (trigonometric._TANGENT_ABOVE, trigonometric._TANGENT_BELOW)


@pytest.mark.parametrize("name", ROWS)
def test_errors_are_as_stated(name):
    for target, numbers, limit in ROWS[name].parts():
        assert limit - 1 < math.log2(greatest_error(target, numbers, points=5 * len(numbers))) <= limit + 0.1


def test_the_tangent_is_a_quotient():
    for width, above, below, limit in (
            (-7, *[in_digits(part.float, 24) for part in TANGENT], -31.9),
            (-20, *[part.double for part in TANGENT], -55.3)):
        end = mp.pi / 4 * (1 + mpf(2) ** width)
        for x in [end * part / 200 for part in range(10, 201)]:
            numerator, denominator = [1 + x * x * mp.polyval(numbers[::-1], x * x) for numbers in (above, below)]
            assert abs(x * numerator / denominator / mp.tan(x) - 1) < mpf(2) ** limit


@pytest.mark.parametrize("name", SERIES)
def test_series_have_exact_coefficients(name):
    assert SERIES[name].committed == SERIES[name].computed()


def test_log_2_has_exact_products_with_exponents():
    first, second, third = near_zeros._LOG_2
    with mp.workdps(60):
        assert third == float(mp.log(2) - first - second)
    for part in (first, second):
        assert all([float(k * mpf(part)) == k * mpf(part) for k in range(54)])
