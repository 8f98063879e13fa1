"""Gathers at known indices: the same elements as before, by views and along single axes, and the same errors."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.passes.known_indices import known_indices
from nervure.passes.pipelines import standard
from nervure.transformers.interpreter.evaluate import evaluate
from tests.arrays import normal
from tests.passes.agreement import assert_agree, classes

N = nv.dim("N", min=1)
X = (4, 9, 5)


def positions(*coordinates):
    """Coordinates of one shape, side by side in the last dimension."""
    rank = coordinates[0].rank
    return ops.Stack(*coordinates, axes=[rank], counts=[len(coordinates)])


def spread(x, shape, axis):
    """A value of one dimension, along one axis of a shape."""
    return ops.Broadcast(x, shape, [d for d in range(len(shape)) if d != axis]).output


def counted(shape, axis, dtype=nv.int64):
    return ops.Iota(shape, axis, dtype).output


def constant(*numbers, dtype=np.int64):
    return ops.Constant(np.array(numbers, dtype)).output


KNOWN = {
    "counted": lambda x: ops.Gather(x, counted((4,), 0), 0),
    "every second": lambda x: ops.Gather(x, counted((4,), 0) * 2 + 1, 1),
    "backwards from the end": lambda x: ops.Gather(x, ops.Negative(counted((9,), 0)).output - 1, 1),
    "rows of a matrix of numbers": lambda x: ops.Gather(x, ops.Iota((2, 4), None, nv.int64), 1),
    "a constant": lambda x: ops.Gather(x, constant(7, 5, 3), 1),
    "a constant of bytes": lambda x: ops.Gather(x, constant(1, 2, 3, dtype=np.uint8), 2),
    "a constant from the end": lambda x: ops.Gather(x, constant(-1, -2), 1),
    "one number": lambda x: ops.Gather(x, ops.Full(-2, nv.int64, (3, 2)), 1),
    "elements": lambda x: ops.GatherElements(x, counted((4, 2, 5), 1, nv.int32) + 3, 1),
    "converted": lambda x: ops.Gather(x, ops.Convert(counted((4,), 0, nv.int32), nv.int64), 1),
    "a diagonal": lambda x: ops.GatherNd(x, positions(counted((4,), 0), counted((4,), 0))),
    "a block": lambda x: ops.GatherNd(x, positions(counted((2, 3), 0), counted((2, 3), 1) + 4)),
    "batches": lambda x: ops.GatherNd(x, positions(counted((4, 3), 1) * 2), 1),
    "a view of it": lambda x: ops.Gather(x, ops.Slice(ops.Reverse(counted((9,), 0), [0]), [(1, 3, 2)]), 1),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_index_makes_a_view(name):
    x = nv.Parameter(nv.float32, X)
    before = Function([KNOWN[name](x)], [x])
    after = standard(before, evaluate)
    assert not {"Gather", "GatherNd", "GatherElements", "Iota", "Constant"}.intersection(classes(after))
    assert_agree(before, after, [normal(*X)])


def test_lengths_that_a_call_brings():
    x = nv.Parameter(nv.float32, (N, N + 3))
    before = Function([ops.GatherNd(x, positions(counted((N, N), 0), counted((N, N), 1) + 3))], [x])
    after = known_indices(before)
    assert classes(after)[-1] == "Slice"
    for length in (1, 4):
        assert_agree(before, after, [normal(length, length + 3)])


@pytest.mark.parametrize("index", [
    constant(0, 9), constant(-10), constant(0, 1, 3), counted((10,), 0), counted((3,), 0) * -4,
    counted((9,), 0, nv.int8) * 100, ops.Convert(counted((N,), 0), nv.int8).output], ids=str)
def test_what_may_be_outside_or_is_irregular_stays(index):
    x = nv.Parameter(nv.float32, X)
    before = Function([ops.Gather(x, index, 1)], [x])
    assert known_indices(before) is before


def data(length, axes=1):
    return nv.Parameter(nv.int64, (length,) * axes)


APART = {
    "a row counted": (lambda x, p: positions(counted((4, 3), 0), spread(p, (4, 3), 1)), (3,), ["Gather"]),
    "both are data": (lambda x, p: positions(spread(p, (3, 3), 0), spread(p, (3, 3), 1)), (3,), ["Gather"] * 2),
    "turned": (lambda x, p: positions(counted((3, 4), 1), spread(p, (3, 4), 0)), (3,), ["Gather"]),
    "in batches": (lambda x, p: positions(counted((4, 2), 0), p.value), (4, 2), ["GatherNd"]),
    "one number for all": (lambda x, p: positions(spread(ops.Reshape(p, ()).output, (4, 9), -1), counted((4, 9), 1)),
                           (1,), ["Gather"]),
    "one number, and a part": (lambda x, p: positions(spread(ops.Reshape(p, ()).output, (4, 2), -1),
                                                      counted((4, 2), 1)), (1,), ["GatherNd"]),
    "batches, and a part": (lambda x, p: positions(counted((4, 2), 0), p.value, counted((4, 2), 1)), (4, 2),
                            ["GatherNd"]),
    "more than are wanted": (lambda x, p: positions(spread(p, (1, 1), 0), spread(p, (1, 1), 1)), (1,), ["GatherNd"]),
}


@pytest.mark.parametrize("name", APART)
def test_an_index_that_is_data_is_read_along_one_axis(name):
    build, shape, gathers = APART[name]
    x, p = nv.Parameter(nv.float32, X), nv.Parameter(nv.int64, shape)
    before = Function([ops.GatherNd(x, build(x, p))], [x, p])
    after = standard(before, evaluate)
    assert [entry for entry in classes(after) if entry.startswith("Gather")] == gathers
    assert "Iota" not in classes(after) or "part" in name
    for numbers in (np.arange(np.prod(shape)) % 4, -1 - np.arange(np.prod(shape)) % 4):
        assert_agree(before, after, [normal(*X), numbers.reshape(shape)])


def test_positions_of_a_constant_are_taken_apart():
    """Cubic resizing reads rows and columns that are known, but not regular, at each place."""
    rows, columns = np.array([0, 0, 1, 3]), np.array([2, 2, 5, 8, 8, 8])
    grid = np.stack(np.broadcast_arrays(rows[:, None], columns), axis=-1)
    x = nv.Parameter(nv.float32, X)
    before = Function([ops.GatherNd(x, ops.Constant(grid))], [x])
    after = standard(before, evaluate)
    assert [entry for entry in classes(after) if entry.startswith("Gather")] == ["Gather"] * 2
    assert_agree(before, after, [normal(*X)])


def test_a_mask_at_batch_and_position_is_a_view():
    mask, x = nv.Parameter(nv.float32, (N, 7)), nv.Parameter(nv.float32, (N, 2, 7, 7))
    shape = (N, 2, 7, 7)
    index = positions(spread(counted((N,), 0), shape, 0), spread(counted((7,), 0), shape, 3))
    after = standard(Function([ops.GatherNd(mask, index).value + x], [mask, x]))
    assert classes(after)[-2:] == ["Broadcast", "Add"]


def test_an_index_out_of_range_is_an_error_as_before():
    x, p = nv.Parameter(nv.float32, X), data(3)
    function = Function([ops.GatherNd(x, positions(counted((4, 3), 0), spread(p, (4, 3), 1)))], [x, p])
    for name in ("interpreter", "cpu"):
        step = nv.transformers.make_transformer(name).build(function)
        assert step([normal(*X), np.array([0, 8, -9])])[0].shape == (4, 3, 5)
        with pytest.raises(IndexError, match="9"):
            step([normal(*X), np.array([0, 9, 1])])


def test_no_element_is_read_where_there_was_none():
    """Without places no index is out of range, so that no gather may read one that had no place."""
    x, p, batch = nv.Parameter(nv.float32, X), data(3), nv.dim("B")
    rows = nv.Parameter(nv.int64, (batch,))
    index = positions(spread(rows, (batch, 3), 0), spread(p, (batch, 3), 1))
    function = Function([ops.GatherNd(x, index)], [x, rows, p])
    assert classes(standard(function)).count("GatherNd") == 1
    for name in ("interpreter", "cpu"):
        step = nv.transformers.make_transformer(name).build(function)
        assert step([normal(*X), np.zeros(0, np.int64), np.array([99, 99, 99])])[0].shape == (0, 3, 5)


def random_coordinate(rng, length, domain):
    """One coordinate of a gather inside of a length, and the parameter and array that it takes, if it takes some."""
    dtype = (nv.int64, nv.int32, nv.int8)[rng.integers(3)]
    dims = [d for d in range(len(domain)) if rng.random() < 0.5]
    shape, others = tuple([domain[d] for d in dims]), [d for d in range(len(domain)) if d not in dims]
    numbers = rng.integers(-length, length, shape).astype(dtype.numpy)
    kind = rng.integers(4)
    if kind == 0 and domain:
        return ops.Iota(domain, int(rng.integers(len(domain))), dtype) * int(rng.integers(-1, 3)) + int(
            rng.integers(-2, 3)), []
    if kind == 1:
        return ops.Full(int(rng.integers(-length, length)), dtype, domain).output, []
    source = ops.Constant(numbers) if kind == 2 else nv.Parameter(dtype, shape)
    return ops.Broadcast(source, domain, others).output, [] if kind == 2 else [(source, numbers)]


@pytest.mark.parametrize("seed", range(4))
def test_random_gathers_keep_their_elements_and_errors(seed):
    rng, found = np.random.default_rng(seed), set()
    step = nv.transformers.make_transformer("interpreter")
    for _ in range(60):
        shape = tuple(map(int, rng.integers(1, 6, int(rng.integers(1, 4)))))
        batch = int(rng.integers(len(shape))) * (rng.random() < 0.3)
        count = int(rng.integers(1, len(shape) - batch + 1))
        domain = (*shape[:batch], *map(int, rng.integers(1, 5, int(rng.integers(3)))))
        x = nv.Parameter(nv.float32, shape)
        drawn = [random_coordinate(rng, length, domain) for length in shape[batch:batch + count]]
        index = positions(*[ops.Convert(coordinate, nv.int64).output for coordinate, _ in drawn])
        given = [(x, normal(*shape)), *[pair for _, pairs in drawn for pair in pairs]]
        before = Function([ops.GatherNd(x, index, batch)], [parameter for parameter, _ in given])
        after = standard(before, evaluate)
        found.add("GatherNd" in classes(after))
        results = []
        for function in (before, after):
            try:
                results.append(step.compile(function)([array for _, array in given])[0].tobytes())
            except IndexError:
                results.append("out of range")
        assert results[0] == results[1], before
    assert found == {False, True}
