"""Sums of more than one group of blocks: the one order of reduction, and what is lost on the way."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.kernel.plan import make_plan
from nervure.passes.pipelines import standard
from tests.kernel.reduction_rule import reduced

P, Q = 1153, 2048
LENGTH = P * Q  # more than eight groups of 64 blocks
M, N = nv.dim("M", min=1), nv.dim("N", min=1)


@cache
def two(length=LENGTH):
    """Two rows of numbers whose sum is another one in nearly every order."""
    random = np.random.default_rng(1)
    rows = random.standard_normal((2, length)) * 10.0 ** random.integers(-3, 4, (2, length))
    return rows.astype(np.float32)


# How the rows lie in an argument: the axes of which sums are taken, and how it is made of them.
LAYOUTS = {
    "row": ([1], lambda rows: rows),
    "column": ([0], lambda rows: rows.T),
    "around": ([0, 2], lambda rows: rows.reshape(2, P, Q).transpose(1, 0, 2)),
    "outside": ([0, 1], lambda rows: rows.reshape(2, P, Q).transpose(1, 2, 0)),
}


@pytest.mark.parametrize("is_known", [False, True], ids=["symbols", "numbers"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_sum_is_the_sum_of_its_elements(each_cpu, layout, is_known):
    """O75: whatever the layout, the threads and the width of vectors, and known lengths or not."""
    axes, place = LAYOUTS[layout]
    array = np.ascontiguousarray(place(two()))
    shape = array.shape if is_known else tuple([nv.dim(f"d{axis}", min=1) for axis in range(array.ndim)])
    x = nv.placeholder(shape)
    total = each_cpu.computation(nv.sum(x, axis=axes), x)
    for threads in (1, 2):
        with flags.overriding(threads=threads):
            assert total(array).tobytes() == reduced(two()).tobytes()


@pytest.mark.parametrize("length", [2**18 - 1, 2**18, 2**18 + 1, 3 * 2**18, 2**21, 2**21 + 1, LENGTH])
def test_sums_and_extremes_and_long_functions_of_any_length(length):
    x, table = nv.placeholder((2, N)), two()[:, :length]
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.computation([nv.sum(x, axis=1), nv.max(x, axis=1), nv.sum(nv.sin(x), axis=1)], x)
        total, greatest, sines = step(np.ascontiguousarray(table))
        small = cpu.computation(nv.sin(x), x)(np.ascontiguousarray(table))
    assert total.tobytes() == reduced(table).tobytes() and np.array_equal(greatest, table.max(1))
    assert sines.tobytes() == reduced(np.asarray(small)).tobytes()


def test_tiles_of_columns(each_cpu):
    """Of more columns than are read side by side; the second length is that of two groups and a part of a block."""
    x = nv.placeholder((N, 33))
    total = each_cpu.computation(nv.sum(x, axis=0), x)
    for length in (2**18, 2**18 + 4097):
        columns = np.resize(two(), (33, length))
        assert total(np.ascontiguousarray(columns.T)).tobytes() == reduced(columns).tobytes()


@pytest.mark.parametrize("is_known", [False, True], ids=["symbols", "numbers"])
def test_sums_across_rows_that_are_computed(each_cpu, is_known):
    rows = np.ascontiguousarray(two()[:, :2**18 + 4097].T) / 100
    x = nv.Parameter(nv.float32, (len(rows) if is_known else N, 2))
    shares = nv.ops.Softmax(x, [1])
    function = nv.Function([shares, nv.ops.Sum(shares, [0])], [x])
    assert [step.lowered.kernel.name for step in make_plan(standard(function)).steps] == ["rows", "columns"]
    for threads in (1, 2):
        with flags.overriding(threads=threads):
            each, total = each_cpu.build(function)(rows)
        assert total.tobytes() == reduced(np.ascontiguousarray(each.T)).tobytes()


@pytest.mark.parametrize("combine", ["multiply", "add"])
def test_other_types_and_combines(combine):
    """Wider numbers, complex ones and integers, which are exact modulo 2**32."""
    names = {"multiply": nv.prod, "add": nv.sum}
    row = two()[0, :2**18 + 5000]
    near = (1 + row / abs(row).max() / 2**16).astype(np.float32)
    with nv.transformers.make_transformer("cpu") as cpu:
        for array in (near, near.astype(np.float64), near + 1j * (near - np.float64(1)), (near * 100).astype(np.int32)):
            x = nv.placeholder((N,), str(array.dtype))
            found = cpu.computation(names[combine](x, out_axes=()), x)(array)
            if array.dtype.kind == "c" and combine == "multiply":
                np.testing.assert_allclose(found, np.prod(array), rtol=1e-10)
            else:
                assert found.tobytes() == reduced(array, getattr(np, combine)).tobytes(), array.dtype


def repeated(value, count):
    """The shape of a row of equal numbers, and how often it is repeated."""
    return np.full(2**13, value, np.float32), count // 2**13


@pytest.mark.parametrize("count", [2**22, 2**26])
def test_what_is_computed_of_long_sums(count):
    """O45: what is a sum within keeps it; the numbers are repeated, not stored."""
    row, times = repeated(0.1, count)
    x = nv.placeholder({"M": len(row)})
    y = nv.broadcast(x, {"P": times, "M": len(row)})
    tenth = float(row[0])
    with nv.transformers.make_transformer("cpu") as cpu:
        found = cpu.computation([function(y, out_axes=()) for function in (nv.mean, nv.L2_norm, nv.variance)], x)(row)
    mean, norm, variance = map(float, found)
    bound = (70 + math.log2(count)) * 2.0**-23
    assert abs(mean / tenth - 1) <= bound and abs(norm / (math.sqrt(count) * tenth) - 1) <= bound
    assert 0 <= variance <= (tenth * bound) ** 2
