"""Scatters to known places: the same bits as one update after the other, without a scatter where it pays.

The interpreter adds floats in a wider type: it gives the same bits for numbers whose sums are exact.
"""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.front.images.sampling import resized
from nervure.front.tensor import Tensor
from nervure.ir.function import Function
from nervure.passes.lower_scatters import links, lower_scatters
from nervure.passes.pipelines import native, standard
from nervure.transformers.interpreter.evaluate import evaluate
from tests.arrays import normal
from tests.passes.agreement import FLOATS, assert_agree, assert_same_bits, classes, run, special_values

N = nv.dim("N", min=1)
MODES = ("set", "add", "multiply", "minimum", "maximum")

INDICES = {  # the number of places, and the index
    "pairs": (4, np.repeat(np.arange(4), 2)),
    "every second": (8, np.arange(4) * 2),
    "a border": (8, np.clip(np.arange(11) - 2, 0, 7)),
    "uneven": (3, np.arange(8) * 3 // 8),
    "any order": (6, np.array([3, 0, 5, 3, 1, 0, 3])),
    "from the end": (5, np.array([-1, 0, -5, 3, 2], np.int8)),
    "rows": (4, np.array([[0, 1], [1, 2], [2, 3]])),
    "one": (1, np.array(0)),
}


def scatter(dtype, length, index, mode, axis, x=None):
    """A scatter along one of two axes, the other one of a symbolic length, and what it takes."""
    shape = list((N, length) if axis else (length, N))
    updates = nv.Parameter(dtype, (*shape[:axis], *index.shape, *shape[axis + 1:]))
    own = nv.Parameter(dtype, shape) if x is None else ops.Full(x, dtype, shape)
    made = ops.Scatter(own, ops.Constant(index), updates, axis, mode)
    return Function([made], [updates] if own.operands or x is not None else [own, updates])


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_same_bits(name, axis):
    length, index = INDICES[name]
    rng = np.random.default_rng(0)
    for dtype in (nv.float32, nv.float16, nv.int8):
        values = special_values(dtype) if dtype.is_integer else np.array(FLOATS, dtype.numpy)
        for mode in MODES:
            before = scatter(dtype, length, index, mode, axis, 0)
            after = lower_scatters(before, evaluate)
            assert "Scatter" not in classes(after)
            shape = (3, *index.shape) if axis else (*index.shape, 3)
            for _ in range(3):
                assert_agree(before, after, [rng.choice(values, shape)], f"{dtype} {mode}")


@pytest.mark.parametrize("mode", MODES)
def test_what_is_there_is_combined_first(mode):
    rng, values = np.random.default_rng(0), np.float32(FLOATS)
    before = scatter(nv.float32, 3, np.array([0, 1, 2, 1, 2, 0, 1, 0, 2, 0, 1, 0, 1, 2, 0]), mode, 0)
    after = lower_scatters(before, evaluate)
    assert "Scatter" not in classes(after)
    for _ in range(4):
        assert_agree(before, after, [rng.choice(values, (3, 5)), rng.choice(values, (15, 5))])


def test_an_index_computed_of_positions():
    x = nv.Parameter(nv.float32, (8, N)).output
    places = ops.Minimum(ops.Iota((8,), 0) * 3 // 4, ops.Full(4, nv.int64, (8,)))
    before = Function([ops.Scatter(ops.Full(0, nv.float32, (5, N)), places, x, 0, "add")], [x])
    after = native(before, evaluate)
    assert not {"Scatter", "Iota", "Minimum"}.intersection(classes(after))
    assert_agree(before, after, [normal(8, 3)])


@pytest.mark.parametrize("index, mode", [
    (np.zeros(40, np.int64), "add"), (np.array([0, 5]), "add"), (np.array([0, -6]), "set"),
    (np.zeros(0, np.int64), "add"), (np.array([2**64 - 1] * 5, np.uint64), "add"), (np.array([1]), "add")],
    ids=["too many", "outside", "before", "none", "unsigned", "few"])
def test_what_stays(index, mode):
    before = scatter(nv.float32, 5, index, mode, 0, 0)
    assert lower_scatters(before, evaluate) is before


def test_data_and_symbols_stay():
    x, index, length = nv.Parameter(nv.float32, (4, 3)), nv.Parameter(nv.int64, (4,)), nv.dim("M", min=1)
    long = nv.Parameter(nv.float32, (length, 3))
    before = Function([
        ops.Scatter(ops.Full(0, nv.float32, (4, 3)), index, x, 0, "add"),
        ops.Scatter(ops.Full(0, nv.float32, (length, 3)), ops.Iota((4,), 0), x, 0, "add"),
        ops.Scatter(ops.Full(0, nv.float32, (4, 3)), ops.Mod(ops.Iota((length,), 0), ops.Full(4, nv.int64, (length,))),
                    long, 0, "add"),
        ops.Scatter(ops.Full(False, nv.bool_, (4, 3)), ops.Iota((4,), 0), ops.Less(x, x), 0, "add"),
    ], [x, index, long])
    assert lower_scatters(before, evaluate) is before


def test_what_may_lie_in_place_stays_where_little_of_it_changes():
    half = np.arange(4) * 2
    assert "Scatter" not in classes(lower_scatters(scatter(nv.float32, 8, half, "add", 0, 0), evaluate))
    assert "Scatter" in classes(lower_scatters(scatter(nv.float32, 8, half, "add", 0), evaluate))


def test_links_at_regular_steps_read_views():
    """The two places that take three updates, at the ends, do not make the others irregular."""
    chain = links(np.clip((np.arange(16) - 1) // 2, 0, 7), 8)
    assert [(int(link.sources[1]), set(np.diff(link.sources[1:7]))) for link in chain] == [(2, {2}), (3, {2}), (4, {2})]
    assert np.sum([link.is_taken for link in chain]) == 16


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("lengths", [(6, 12), (6, 9), (12, 6)], ids=str)
def test_the_derivative_of_a_resized_image(mode, lengths):
    before, after = lengths
    x, gradient = nv.Parameter(nv.float32, (N, before)), nv.Parameter(nv.float32, (N, after))
    made = resized(Tensor(x.output), 1, after, mode, False)
    whole = standard(Function(gradients([made.value], [x.output], [gradient.output]), [gradient]), evaluate)
    lowered = native(whole, evaluate)
    assert "Scatter" in classes(whole) and "Scatter" not in classes(lowered)
    assert [op for op in lowered.operations if op.outputs[0].shape == (N, after)] == [gradient]  # weighted nowhere else
    arrays = [normal(3, after)]
    for left, right in zip(run(whole, arrays), run(lowered, arrays), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_updates_add_up_in_their_order(threads):
    index, updates = np.random.default_rng(0).permutation(np.repeat(np.arange(8), 3)), normal(5, 24, 7)
    expected = np.zeros((5, 8, 7), np.float32)
    np.add.at(expected, (slice(None), index), updates)
    with nv.flags.overriding(threads=threads):
        found = nv.jit(lambda x: nv.scatter(nv.zeros((5, 8, 7)), nv.constant(index), x, 1, "add"))(updates)
    assert_same_bits(np.asarray(found), expected)
