"""The table of the Payne-Hanek reduction."""

from __future__ import annotations

import numpy as np
from mpmath import mp

from nervure.kernel.math.arrays import Arrays
from nervure.kernel.math.namespace import DOUBLE
from nervure.kernel.math.trigonometric import _product, bytes_of_two_over_pi


def test_two_over_pi():
    with mp.workprec(1400):
        expected = int(mp.floor(mp.ldexp(2 / mp.pi, 8 * 152)))
    assert abs(int.from_bytes(bytes_of_two_over_pi(), "big") - expected) <= 1


def test_products_of_words_are_those_of_python():
    """Both words of them, with all carries."""
    generator = np.random.default_rng(0)
    x, y = generator.integers(0, 2**64, (2, 2000), np.uint64)
    x[:3], y[:2] = 2**64 - 1, (2**64 - 1, 2**32 - 1)
    upper, lower = _product(Arrays(DOUBLE), x, y)
    expected = [int(one) * int(other) for one, other in zip(x, y, strict=True)]
    assert [int(one) << 64 | int(other) for one, other in zip(upper, lower, strict=True)] == expected
