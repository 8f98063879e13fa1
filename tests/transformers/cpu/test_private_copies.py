"""Scatters of integers with many iterations for each element: threads have private copies of the output."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

AT = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum, "multiply": np.multiply}


def scattering(x, index, updates, mode):
    given = [nv.placeholder(each.shape, dtype=getattr(nv, str(each.dtype))) for each in (x, index, updates)]
    return nv.computation(nv.scatter(*given, 0, mode), *given)


def drawn(length, size, dtype):
    rng = np.random.default_rng(length)
    return (rng.integers(0, 100, size).astype(dtype), rng.integers(-size, size, length),
            rng.integers(0, 100, length).astype(dtype))


@pytest.mark.parametrize(("mode", "dtype", "length", "size"), [
    ("add", "int64", 100_001, 7), ("add", "uint8", 4097, 64), ("minimum", "int32", 511, 64),
    ("maximum", "int8", 580, 3), ("multiply", "int64", 512, 64)])
def test_copies_are_combined_into_what_one_thread_would_write(mode, dtype, length, size):
    x, index, updates = drawn(length, size, dtype)
    expected = x.copy()
    AT[mode].at(expected, index, updates)
    compute = scattering(x, index, updates, mode)
    has_copies = any([step.name == "clear" for step in nv.explain(compute).steps])
    assert has_copies == (length >= 8 * size)
    for threads in (1, 2, 5):
        with nv.flags.overriding(threads=threads):
            np.testing.assert_array_equal(np.asarray(compute(x, index, updates)), expected)


def test_floats_are_added_in_order_and_have_no_copies():
    x, index, updates = drawn(9000, 5, "float32")
    compute = scattering(x, index, updates / 7, "add")
    expected = x.copy()
    np.add.at(expected, index, updates / 7)
    assert np.asarray(compute(x, index, updates / 7)).tobytes() == expected.tobytes()


def test_a_wrong_index_is_named_by_its_place_among_all():
    given = nv.placeholder((5000,), dtype=nv.int64)
    numbers = np.zeros(5000, int)
    numbers[[4000, 123]] = 99, -1
    with pytest.raises(nv.errors.IndexOutOfRange, match=r"at position \(123,\)"):
        nv.computation(nv.bincount(given, length=10), given)(numbers)
