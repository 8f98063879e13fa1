"""Arrays of other libraries: how they are known, and read."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from nervure.types.dlpack import CPU, lend
from nervure.types.foreign import answers_itself, as_numpy, is_array

VALUES = np.array([[1.0, 2.0], [3.0, 4.0]])


class Arrayed:
    def __array__(self, dtype=None, copy=None):
        return VALUES


class Interfaced:
    __array_interface__ = VALUES.__array_interface__


class Lent:
    def __init__(self, values=VALUES):
        self.values = values

    def __dlpack__(self, **keywords):
        return lend(self.values, **keywords)

    def __dlpack_device__(self):
        return CPU


class LowPrecision(Lent):
    """As PyTorch's tensors of bfloat16: NumPy's way to them fails, DLPack leads there."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("unsupported ScalarType BFloat16")


@pytest.mark.parametrize("made", [VALUES, np.float32(1), Arrayed(), Interfaced(), Lent(), np.ma.array([1])], ids=type)
def test_arrays(made):
    assert is_array(made)


@pytest.mark.parametrize("other", [1, 1.5, True, "x", None, [1.0], (1,), {}, range(3), Arrayed, np.float32, b"a"],
                         ids=repr)
def test_other_things(other):
    assert not is_array(other)


@pytest.mark.parametrize("made", [VALUES, Arrayed(), Interfaced(), Lent()], ids=type)
def test_they_are_read_without_a_copy(made):
    array = as_numpy(made)
    assert np.array_equal(array, VALUES) and np.shares_memory(array, VALUES)


def test_what_numpy_cannot_read_comes_through_dlpack():
    values = np.array([1, 2], ml_dtypes.bfloat16)
    array = as_numpy(LowPrecision(values))
    assert array.dtype == ml_dtypes.bfloat16 and array.tolist() == [1, 2]


def test_what_an_array_raises_is_raised():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("not now")
    with pytest.raises(RuntimeError, match="not now"):
        as_numpy(Broken())


def test_masked_arrays():
    assert as_numpy(np.ma.array([1, 2])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="masked elements have no value"):
        as_numpy(np.ma.array([1, 2], mask=[True, False]))


@pytest.mark.parametrize(("attributes", "expected"), [
    ({"__array_ufunc__": None}, True), ({"__array_priority__": 1001}, True), ({"__array_priority__": 1000}, False),
    ({}, False), ({"__array_ufunc__": lambda *all: None, "__array_priority__": 2000}, False)])
def test_who_answers_an_operator(attributes, expected):
    """NumPy's rule: __array_ufunc__ None; else, without one, a higher priority."""
    assert answers_itself(type("Some", (Arrayed,), attributes)(), 1000) is expected
    assert answers_itself(type("NoArray", (), attributes)(), 1000) is False
