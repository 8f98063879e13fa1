"""Stencils: stored before they are reduced where their own loops are faster, and reduced to the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.cluster import Loops, cluster
from nervure.kernel.cluster.stencils import Stencil
from nervure.passes.pipelines import native
from nervure.support.machine import GENERIC
from tests.arrays import normal

N = nv.dim("N", min=1)


def slid(shape, window, padding, activation=ops.Silu):
    """A depthwise convolution of data of a shape, and the parameters."""
    x, f = nv.Parameter(nv.float32, shape), nv.Parameter(nv.float32, (shape[1], 1, *window))
    paddings = [(padding, padding)] * len(window)
    return activation(ops.Convolution(x, f, paddings=paddings, groups=shape[1])).value, [x, f]


def reduced_in(results, parameters):
    """The ops of each step that reduces."""
    steps = cluster(native(nv.Function(results, parameters)))
    return [[type(op).__name__ for op in step.ops] for step in steps
            if isinstance(step, Loops) and step.reduced is not None]


@pytest.mark.parametrize(("shape", "window", "padding", "axes"), [
    ((1, 672, 14, 14), (5, 5), 2, [2, 3]), ((1, 32, 112, 112), (3, 3), 1, [2, 3]),
    ((N, 8, 14, 14), (3, 3), 1, [2, 3]), ((2, 8, N + 4, 14), (3, 3), 0, [2, 3]),
    ((1, 8, 28, 28), (3, 3), 1, [1]), ((4, 8, 28, 28), (3, 3), 1, [0, 2, 3]), ((1, 8, 28, 28), (2, 2), 1, [2, 3])])
def test_a_window_is_stored_before_it_is_reduced(shape, window, padding, axes):
    y, parameters = slid(shape, window, padding)
    ops_of, = reduced_in([ops.Sum(y, axes)], parameters)
    assert ops_of == ["Sum"]


@pytest.mark.parametrize(("shape", "window", "padding", "axes"), [
    ((1, 8, 1000), (3,), 1, [2]),                                  # three places are fewer than a store is worth
    ((1, 8, 1000), (5,), 0, [2]), ((1, 8, 28, 28), (3, 3), 0, [1])])  # rows inside are rows of memory
def test_what_a_reduction_reads_as_well_stays_in_its_loops(shape, window, padding, axes):
    y, parameters = slid(shape, window, padding)
    ops_of, = reduced_in([ops.Sum(y, axes)], parameters)
    assert "Fma" in ops_of


def test_dear_values_of_one_place_stay_in_the_loops_of_reductions():
    x = nv.Parameter(nv.float32, (64, 28, 28))
    y = ops.Exp(ops.Sin(x)).value
    assert reduced_in([ops.Sum(y, [1, 2])], [x]) == [["Sin", "Exp", "Sum"]]
    assert len(reduced_in([ops.Softmax(x, [2])], [x])) == 1


def test_a_window_that_is_a_result_is_not_made_twice():
    y, parameters = slid((1, 32, 14, 14), (5, 5), 2)
    steps = cluster(native(nv.Function([y, ops.Mean(y, [2, 3])], parameters)))
    assert [step.stored[-1].shape for step in steps if isinstance(step, Loops)] == [(1, 32, 14, 14), (1, 32)]


def test_a_reduction_joins_no_step_of_windows_that_reads_the_same_memory():
    x, f = nv.Parameter(nv.float32, (1, 8, 28, 28)), nv.Parameter(nv.float32, (8, 1, 3, 3))
    y = ops.Convolution(x, f, paddings=[(1, 1), (1, 1)], groups=8).value + x
    for results in ([y, ops.Sum(x, [2, 3])], [ops.Sum(x, [2, 3]), y]):
        assert reduced_in(results, [x, f]) == [["Sum"]]


def test_places_count_for_each_tensor():
    x, y = nv.Parameter(nv.float32, (8, 8)).value, nv.Parameter(nv.float32, (8, 8)).value
    two_of_each = Stencil({x: frozenset({1, 2}), y: frozenset({1, 2})}, True)
    assert not two_of_each.is_better_apart((8, 8), (1,), GENERIC)
    assert Stencil({x: frozenset(range(4))}, True).is_better_apart((8, 8), (1,), GENERIC)
    inside = Stencil({x: frozenset(range(7))})
    assert not Stencil({x: frozenset(range(6))}).is_better_apart((8, 8), (0, 1), GENERIC)
    assert [inside.is_better_apart((8, 8), axes, GENERIC) for axes in ((1,), (0, 1))] == [False, True]
    assert not inside.is_better_apart((1, 8), (0, 1), GENERIC)


@pytest.mark.parametrize(("places", "shape", "is_apart"), [
    (4, (512, 512), True), (4, (1024, 512), False), (6, (1024, 512), False), (7, (1024, 512), True),
    (4, (N, 512), False), (7, (N, 512), True)])
def test_what_leaves_the_caches_has_to_be_worth_more(places, shape, is_apart):
    x = nv.Parameter(nv.float32, (8, 8)).value
    assert Stencil({x: frozenset(range(places))}, True).is_better_apart(shape, (0, 1), GENERIC) == is_apart


@pytest.mark.parametrize("shape", [(1, 96, 14, 14), (2, 24, 7, 7), (1, 8, 33, 56)])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("is_last", [False, True])
def test_squeezing_has_the_bits_of_its_parts(shape, window, is_last, cpu):
    """The sum of a convolution, in one function with it, is the sum of what the convolution gives alone."""
    count, channels, *lengths = shape
    given = (nv.dim("B", min=1), *lengths, channels) if is_last else (nv.dim("B", min=1), *shape[1:])
    x, f = nv.Parameter(nv.float32, given), nv.Parameter(nv.float32, (channels, 1, window, window))
    data = ops.Permute(x, (0, 3, 1, 2)).value if is_last else x.value
    y = ops.Silu(ops.Convolution(data, f, paddings=[(window // 2,) * 2] * 2, groups=channels)).value
    total = ops.Sum(y, [2, 3])
    arrays = [normal(*[count if d == 0 else length for d, length in enumerate(given)]), normal(*f.shape)]
    interpreter = nv.transformers.make_transformer("interpreter")
    both, alone = cpu.build(nv.Function([y, total], [x, f]))(arrays), cpu.build(nv.Function([total], [x, f]))(arrays)
    z = nv.Parameter(nv.float32, (nv.dim("B", min=1), *shape[1:]))
    apart, = cpu.build(nv.Function([ops.Sum(z, [2, 3])], [z]))([both[0]])
    assert both[1].tobytes() == alone[0].tobytes() == apart.tobytes()
    expected = interpreter.build(nv.Function([y, total], [x, f]))(arrays)
    np.testing.assert_allclose(both[0], expected[0], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(both[1], expected[1], rtol=1e-4, atol=1e-3)
