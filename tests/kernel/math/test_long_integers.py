"""64-bit integers and doubles over arrays, against the integers of Python."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.math import long_integers
from nervure.kernel.math.arrays import Arrays
from nervure.kernel.math.namespace import DOUBLE, FLOAT

S = Arrays(DOUBLE)


def words(dtype):
    generator = np.random.default_rng(0)
    ends = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min, 2**53, 2**53 + 1, 2**62 + 2**9], dtype)
    return np.concatenate([ends, (generator.integers(0, 2**64, 4000, np.uint64) >> generator.integers(
        0, 64, 4000).astype(np.uint64)).view(dtype)])


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_the_nearest_double_and_float(dtype):
    x, is_signed = words(dtype), dtype == "int64"
    assert np.array_equal(long_integers.nearest(S, x.view("u8"), is_signed), x.astype(float))
    odd = long_integers.sticky(S, x.view("u8"), is_signed)
    once = Arrays(FLOAT).narrowed(long_integers.nearest(S, odd, is_signed))
    assert np.array_equal(once, x.astype(np.float32))


def test_the_digits_of_a_double():
    x = np.array([0.0, -0.5, 1.75, -1.75, 2.0**62 + 2.0**10, -(2.0**63), 123456789012.9])
    assert np.array_equal(long_integers.digits(S, x).view("i8"), x.astype(np.int64))


def test_quotients_are_rounded_down():
    generator = np.random.default_rng(1)
    x, y = generator.integers(-2**51, 2**51, 4000), generator.integers(-2**51, 2**51, 4000) >> generator.integers(
        0, 51, 4000)
    expected = np.array([a // b if b else 0 for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    with np.errstate(all="ignore"):
        assert np.array_equal(long_integers.quotient(S, x.view("u8"), y.view("u8")).view("i8"), expected)
        size = np.abs(y).astype(float)
        by = long_integers.quotient_by(S, x.view("u8"), 1 / np.where(size == 0, 1, size), size).view("i8")
    expected = np.array([a // abs(b) if b else 0 for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    assert np.array_equal(by, expected)
