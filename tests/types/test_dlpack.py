"""DLPack: what is lent and borrowed keeps its elements and types, whatever NumPy knows of them."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from nervure.types.dlpack import CPU, borrow, lend
from nervure.types.dtype import all_dtypes, bfloat16, int4

LENT = [dtype for dtype in all_dtypes if dtype.bits >= 8]


class Lender:
    """An array that is lent as some version of the protocol has it."""

    def __init__(self, array, version=None):
        self.array, self.version = array, version

    def __dlpack__(self, **keywords):
        keywords.pop("max_version", None)
        return lend(self.array, **keywords, **({"max_version": self.version} if self.version else {}))

    def __dlpack_device__(self):
        return CPU


def every_bit(dtype):
    """Elements of all kinds of bits, NaN and infinities among them."""
    if dtype.name == "bool":
        return np.array([[True, False, True], [False, True, True]])
    return np.random.default_rng(0).integers(0, 256, (2, 3 * dtype.itemsize), np.uint8).view(dtype.numpy)


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", LENT, ids=str)
def test_elements_and_types_stay(dtype, version):
    """P13: bit by bit, with and without versions."""
    array = every_bit(dtype)
    borrowed = borrow(Lender(array, version))
    assert borrowed.dtype == dtype and borrowed.tobytes() == array.tobytes()
    assert np.shares_memory(borrowed, array)


@pytest.mark.parametrize("dtype", [bfloat16, all_dtypes[4]], ids=str)
@pytest.mark.parametrize("view", [lambda x: x.T, lambda x: x[:, ::-1], lambda x: x[1:, ::2], lambda x: x[0, 0, ...]],
                         ids=["transposed", "reversed", "strided", "scalar"])
def test_views_are_lent_as_they_lie(dtype, view):
    """P13: strides of any size and sign."""
    array = np.arange(12).reshape(3, 4).astype(dtype.numpy)
    assert np.array_equal(borrow(Lender(view(array))), view(array))


def test_elements_that_are_stored_as_their_negative_are_refused():
    """P13: PyTorch lends them as they lie."""
    class Negative(Lender):
        def is_neg(self):
            return True
    with pytest.raises(BufferError, match="resolve_neg"):
        borrow(Negative(np.ones(2)))


def test_read_only_arrays():
    """P13: lent by versions that can say so."""
    array = np.arange(3).astype(bfloat16.numpy)
    array.flags.writeable = False
    assert borrow(Lender(array, (1, 0))).tolist() == [0, 1, 2]
    assert not borrow(Lender(array, (1, 0))).flags.writeable
    with pytest.raises(BufferError):
        borrow(Lender(array))


def test_four_bits_are_packed_elsewhere():
    with pytest.raises(BufferError, match="packed in DLPack"):
        lend(np.zeros(2, int4.numpy))


def test_what_is_lent_lives_as_long_as_it_is_borrowed():
    class Array(np.ndarray):
        """An array that can be watched."""
    array = np.arange(3).astype(bfloat16.numpy).view(Array)
    watched = weakref.ref(array)
    borrowed = borrow(Lender(array))
    del array
    assert watched() is not None and borrowed.tolist() == [0, 1, 2]
    del borrowed
    assert watched() is None


def test_a_capsule_is_taken_once():
    capsule = lend(np.zeros(2, np.float32))

    class Twice(Lender):
        def __dlpack__(self, **keywords):
            return capsule
    assert borrow(Twice(None)).tolist() == [0, 0]
    with pytest.raises(BufferError, match="taken already"):
        borrow(Twice(None))
