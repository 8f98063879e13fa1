"""Positions as reductions: the same places as the folds find, with NaN, ties, every type and several axes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.passes.lower_argmax import lower_argmax
from tests.passes.agreement import assert_agree, classes, special_values

N = nv.dim("N", min=1)
TYPES = (nv.float32, nv.float64, nv.float16, nv.bfloat16, nv.int8, nv.int64, nv.uint8, nv.uint64)


@pytest.mark.parametrize("op_class", [ops.ArgMax, ops.ArgMin])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_places_are_the_same(op_class, dtype):
    rng = np.random.default_rng(0)
    values = special_values(dtype)
    for axes in ([0], [1], [2], [0, 2], [1, 2], [0, 1, 2]):
        x = nv.Parameter(dtype, (4, N, 3))
        before = Function([op_class(x, axes)], [x])
        after = lower_argmax(before)
        assert not {"ArgMax", "ArgMin"}.intersection(classes(after))
        assert [value.type for value in after.results] == [value.type for value in before.results]
        for _ in range(8):
            assert_agree(before, after, [rng.choice(values, (4, int(rng.integers(1, 6)), 3))])


def test_the_first_of_equal_ones_and_the_first_nan_win():
    x = nv.Parameter(nv.float32, (5,))
    function = lower_argmax(Function([ops.ArgMax(x, [0]), ops.ArgMin(x, [0])], [x]))
    step = nv.transformers.make_transformer("interpreter").compile(function)
    cases = (([0, 7, 1, 7, 0], (1, 0)), ([-0.0, 0, 0, -0.0, 0], (0, 0)), ([3, np.nan, 9, np.nan, 0], (1, 1)),
             ([-np.inf] * 5, (0, 0)), ([np.inf, np.nan, -np.inf, 0, 0], (1, 1)))
    for numbers, expected in cases:
        assert tuple([int(place) for place in step(np.float32(numbers))]) == expected


def test_places_are_counted_in_as_many_bits_as_they_need():
    for shape, expected in (((8,), nv.int32), ((N,), nv.int64), ((1 << 16, 1 << 16), nv.int64)):
        x = nv.Parameter(nv.int8, shape)
        after = lower_argmax(Function([ops.ArgMax(x, range(len(shape)))], [x]))
        assert [op.dtype for op in after.operations if isinstance(op, ops.Iota)] == [expected]


def test_other_functions_stay():
    x = nv.Parameter(nv.float32, (5,))
    function = Function([ops.Max(x, [0])], [x])
    assert lower_argmax(function) is function
