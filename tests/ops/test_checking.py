"""The checks that type rules share."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure import ops
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ops.checking import checked_axis, require_index, require_rank

OP = ops.Negative(ops.Parameter(nv.float32, (2, 3)))


def described(dtype, shape=()):
    return nv.BasicTensorDescription(dtype, shape)


def test_indices_are_integers():
    for dtype in (nv.float32, nv.bool_, nv.complex64):
        with pytest.raises(DtypeMismatch, match="indices must be integers") as caught:
            require_index(OP, 0, described(dtype))
        assert caught.value.operand == "1 (x)"
    for dtype in (nv.int8, nv.uint64):
        require_index(OP, 0, described(dtype))


def test_a_rank_may_be_too_low():
    require_rank(OP, 0, described(nv.float32, (2,)), 1)
    with pytest.raises(ShapeMismatch, match="the rank is too low"):
        require_rank(OP, 0, described(nv.float32, (2,)), 2)


def test_axes_count_from_both_ends():
    assert [checked_axis(OP, axis, 2) for axis in (0, 1, -1, -2)] == [0, 1, 1, 0]
    for axis in (2, -3):
        with pytest.raises(InvalidArgument, match="attribute axis is out of range"):
            checked_axis(OP, axis, 2)
