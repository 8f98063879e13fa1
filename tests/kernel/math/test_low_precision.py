"""Floats of 16, 8 and 4 bits over arrays, against the casts of ml_dtypes."""

from __future__ import annotations

import ml_dtypes  # noqa: F401 -- NumPy learns the types
import numpy as np
import pytest

from nervure.kernel.math.arrays import Arrays
from nervure.kernel.math.low_precision import decode, encode, rounded_to_odd
from nervure.kernel.math.namespace import FLOAT
from nervure.types.dtype import all_dtypes, float16

TYPES = [dtype for dtype in all_dtypes if dtype.is_low_precision and dtype is not float16]


def bits_of(x, dtype):
    return x.astype(dtype.numpy).view(f"u{dtype.itemsize}").astype(np.uint32)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_all_bits_are_the_float32_of_ml_dtypes(dtype):
    bits = np.arange(1 << dtype.bits, dtype=np.uint32)
    expected = bits.astype(f"u{dtype.itemsize}").view(dtype.numpy).astype(np.float32)
    assert np.array_equal(decode(Arrays(FLOAT), bits, dtype), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_float32_is_rounded_as_by_ml_dtypes(dtype):
    words = np.random.default_rng(0).integers(0, 1 << 32, 20000, dtype=np.uint32)
    near = (words & 0x83FFFFFF) + 0x3C000000  # of moderate size, where small formats have numbers
    x = np.concatenate([words, near]).view(np.float32)
    x = x[~np.isnan(x)]
    with np.errstate(all="ignore"):
        found = encode(Arrays(FLOAT), x, dtype) & ((1 << 8 * dtype.itemsize) - 1)
        assert np.array_equal(found, bits_of(x, dtype))


def test_a_double_is_rounded_once():
    half = 1 + 2.0 ** -8  # half way between two numbers of bfloat16
    x = np.array([half, half + 2.0 ** -40, half - 2.0 ** -40, 1.5])
    rounded = rounded_to_odd(Arrays(FLOAT), x).astype("bfloat16").astype(float)
    assert rounded.tolist() == [1.0, 1 + 2.0 ** -7, 1.0, 1.5]
