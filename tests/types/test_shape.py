"""Shapes, axes and indices: what is accepted, and the errors that name what is not."""

import numpy as np
import pytest

from nervure.errors import IndexOutOfRange, InvalidArgument, WrongKind
from nervure.types.dim import dim
from nervure.types.shape import LIMIT, check_index, checked_axes, checked_dim, checked_permutation, checked_shape

N = dim("N")
B = dim("B", min=2**40)


def test_shapes_become_tuples_of_ints_and_dims():
    shape = checked_shape([np.int64(2), N, 0])
    assert shape == (2, N, 0) and type(shape[0]) is int
    assert checked_shape(iter(())) == ()
    assert checked_dim(np.uint8(3)) == 3 and checked_dim(N) is N


@pytest.mark.parametrize("wrong", [3, None, (2.0,), ("2",), (True,), (None,), (np.array([2, 3]),)])
def test_what_is_no_shape(wrong):
    with pytest.raises(WrongKind) as caught:
        checked_shape(wrong, op="Parameter")
    assert caught.value.op == "Parameter" and caught.value.got and caught.value.expected


@pytest.mark.parametrize("shape", [(2, -1), (-N - 1,), (dim("K", min=-5, max=-1),)])
def test_lengths_are_not_negative(shape):
    with pytest.raises(InvalidArgument) as caught:
        checked_shape(shape)
    assert caught.value.operand == f"dimension {len(shape) - 1}"
    assert checked_shape((N - 1,)) == (N - 1,)  # that may be a length


@pytest.mark.parametrize("shape, itemsize", [
    ((2**63,), 1), ((2**62, 2), 1), ((2**61,), 4), ((2**62, 2, 0), 1), ((B, B), 1), ((N, 2**62), 2)])
def test_what_no_memory_holds_is_refused(shape, itemsize):
    with pytest.raises(InvalidArgument) as caught:
        checked_shape(shape, itemsize)
    assert "2**63 - 1" in caught.value.expected


def test_the_largest_shape_is_accepted():
    assert checked_shape((LIMIT,)) == (LIMIT,)
    assert checked_shape((0, LIMIT)) == (0, LIMIT)
    assert checked_shape((2**60 - 1,), 8)


def test_axes():
    assert checked_axes((-1, 0), 3) == (2, 0)
    assert checked_permutation([2, 0, -2], 3) == (2, 0, 1)
    for axes, rank, kind in [((3,), 3, IndexOutOfRange), ((-4,), 3, IndexOutOfRange), ((0,), 0, IndexOutOfRange),
                             ((1, -2), 3, InvalidArgument), (("H",), 3, WrongKind), ((0.5,), 3, WrongKind)]:
        with pytest.raises(kind) as caught:
            checked_axes(axes, rank, "Permute")
        assert caught.value.op == "Permute" and caught.value.location.file == __file__
    with pytest.raises(InvalidArgument):
        checked_permutation((0, 1), 3)


def test_indices_count_from_the_end_once():
    assert check_index((1, -1), (2, 3)) == (1, 2)
    assert check_index((), ()) == ()
    assert check_index([np.int32(-2)], (2,)) == (0,)
    assert check_index((-1, 5), (N, N)) == (N - 1, 5)


@pytest.mark.parametrize("index, shape, position, value", [
    ((2, 0), (2, 3), 0, 2), ((0, 3), (2, 3), 1, 3), ((0, -4), (2, 3), 1, -4), ((0,), (0,), 0, 0), ((-1,), (0,), 0, -1),
    ((5,), (dim("K", max=5),), 0, 5)])
def test_an_index_outside_names_position_and_value(index, shape, position, value):
    with pytest.raises(IndexOutOfRange) as caught:
        check_index(index, shape)
    error = caught.value
    assert isinstance(error, IndexError) and error.location.file == __file__
    assert error.message == f"index {value} is out of range at position {position}"
    assert error.got == str(tuple(index)) and error.expected


def test_an_index_has_an_entry_for_each_dimension():
    for index in [(), (1,), (1, 1, 1)]:
        with pytest.raises(IndexOutOfRange) as caught:
            check_index(index, (2, 3))
        assert "2 dimensions has 2 entries" in caught.value.message
    for index in [(1.0, 0), ("0", 0), (None, 0), (True, 0), 3, None]:
        with pytest.raises(WrongKind):
            check_index(index, (2, 3))
