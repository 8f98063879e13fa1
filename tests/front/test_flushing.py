"""``without_denormals`` makes denormal elements 0, and leaves all others as they are."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.front.flushing import without_denormals


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize(("dtype", "least"), [(nv.float32, 2.0**-126), (nv.float64, 2.0**-1022),
                                              (nv.bfloat16, 2.0**-126)])
def test_below_the_least_normal_number_is_0(dtype, least, transformer):
    """O86: everything else stays, to the bit."""
    x = np.array([least, -least, least / 2, -least / 2, least * 0.9921875, 0.0, -0.0, 1.0, np.inf, -np.inf, np.nan],
                 dtype.numpy)
    wide = x.astype(np.float64)
    wanted = np.where(np.abs(np.nan_to_num(wide, nan=1.0)) < least, 0.0, wide)
    place = nv.placeholder(x.shape, dtype)
    with nv.transformers.make_transformer(transformer) as made:
        got = np.asarray(made.computation(without_denormals(place), place)(x)).astype(np.float64)
    np.testing.assert_array_equal(got, wanted)
    assert got.tolist()[:6] == [least, -least, 0.0, 0.0, 0.0, 0.0]


def test_denormals_of_float16_are_ordinary_numbers():
    """O86: they are computed with as float32."""
    x = nv.constant(np.array([2.0**-24, 2.0**-15], np.float16))
    assert without_denormals(x) is x
