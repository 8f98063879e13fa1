"""Windows without reductions and scatters: the same values, bits and ties, whatever is known of the sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.ir.function import Function
from nervure.kernel.cluster import cluster
from nervure.passes.lower_windows import lower_windows
from nervure.passes.pipelines import native, standard
from nervure.types.dim import index
from nervure.types.index_map import IndexMap
from tests.passes.agreement import assert_agree, assert_same_bits, classes

SLOW = {"Windows", "AccumulateView", "Max", "Sum"}
CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 9), {"axes": (1,), "windows": (3,)}),
    ((2, 3, 8, 10), {"axes": (2, 3), "windows": (2, 2), "strides": (2, 2)}),
    ((2, 3, 8, 9), {"axes": (2, 3), "windows": (3, 3), "strides": (2, 2), "paddings": [(1, 1), (1, 1)]}),
    ((2, 3, 8, 9), {"axes": (2, 3), "windows": (3, 2), "strides": (2, 3), "paddings": [(1, 1), (0, 1)]}),
    ((7, 2, 8), {"axes": (2, 0), "windows": (2, 3), "strides": (1, 2), "dilations": (3, 2),
                 "paddings": [(2, 0), (1, 2)]}),
    ((2, 9, 7, 4), {"axes": (1, 2), "windows": (3, 2), "strides": (3, 1), "paddings": [(-1, 1), (1, -2)]}),
    ((2, 5, 4, 6), {"axes": (1, 2, 3), "windows": (2, 2, 2), "strides": (2, 1, 2)}),
]
"""Shapes, attributes."""


def pooled(shape: tuple[Any, ...], attributes: dict[str, Any], dtype: nv.DType = nv.float32) -> Function:
    """Both pools of a tensor, and the derivative of each for a gradient that is an argument."""
    x = nv.Parameter(dtype, shape)
    results = [ops.MaxPool(x, **attributes), ops.AveragePool(x, **attributes)]
    slope = nv.Parameter(dtype, results[0].shape)
    slopes = [found for result in results for found in gradients([result], [x], [slope.output])]
    return standard(Function([*results, *slopes], [x, slope]))


def shapes_of(function: Function) -> list[tuple[int, ...]]:
    return [value.shape for value in (function.parameters[0].output, function.results[0])]


def exact(rng: np.random.Generator, function: Function) -> list[np.ndarray]:
    """Small integers with many ties, and gradients whose shares among up to ten of them are integers."""
    x, slope = shapes_of(function)
    return [rng.integers(-3, 4, x).astype(np.float32), 2520 * rng.integers(-9, 10, slope).astype(np.float32)]


@pytest.mark.parametrize("shape, attributes", CASES, ids=str)
def test_nothing_is_reduced_nor_scattered_and_every_bit_stays(shape, attributes):
    before = pooled(shape, attributes)
    after = lower_windows(before)
    assert SLOW.intersection(classes(before)) and not SLOW.intersection(classes(after))
    assert [value.type for value in after.results] == [value.type for value in before.results]
    rng = np.random.default_rng(5)
    arrays = exact(rng, before)
    assert_agree(before, after, arrays)


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.float16, nv.bfloat16], ids=str)
def test_what_is_not_finite_stays(dtype):
    before = pooled(*CASES[2], dtype)
    after, rng = lower_windows(before), np.random.default_rng(1)
    values = np.array([0.0, 1, -1, 3, np.inf, -np.inf, np.nan]).astype(dtype.numpy)
    for _ in range(4):
        x, slope = shapes_of(before)
        slopes = (2520 if dtype.bits > 16 else 360) * rng.integers(-3, 4, slope)
        assert_agree(before, after, [rng.choice(values, x), slopes.astype(dtype.numpy)])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_cpu_gives_the_same_and_does_not_depend_on_what_is_known(case):
    shape, attributes = case
    known = pooled(shape, attributes)
    rng = np.random.default_rng(2)
    arrays = exact(rng, known)
    lengths = {axis: nv.dim(f"n{axis}", min=4) for axis in attributes["axes"]}
    brought = pooled(tuple([lengths.get(axis, length) for axis, length in enumerate(shape)]), attributes)
    expected = nv.transformers.make_transformer("interpreter").compile(known)(arrays)
    with nv.transformers.make_transformer("cpu") as transformer:
        got = transformer.build(known)(arrays)
        for left, right, other in zip(got, expected, transformer.build(brought)(arrays), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
            assert_same_bits(left, other)


def test_means_add_up_as_all_sums_do():
    """A window of nine is added by halves: eight and the last first."""
    x = np.random.default_rng(3).standard_normal((2, 8, 40), np.float32)
    parameter = nv.Parameter(nv.float32, x.shape)
    with nv.transformers.make_transformer("cpu") as transformer:
        got, = transformer.build(Function([ops.AveragePool(parameter, (1, 2), (3, 3))], [parameter]))([x])
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2)).reshape(2, 6, 38, 9)
    lanes = [seen[..., lane] for lane in range(9)]
    lanes = [lanes[0] + lanes[8], *lanes[1:8]]
    for half in (4, 2, 1):
        lanes = [lanes[lane] + lanes[lane + half] for lane in range(half)]
    assert_same_bits(got, lanes[0] / np.float32(9))


def test_gradients_of_overlapping_windows_add_up_in_the_order_of_their_places():
    """O68: from the first place to the last, from zero."""
    slope = np.random.default_rng(4).standard_normal((3, 30), np.float32)
    x = nv.Parameter(nv.float32, (3, 32))
    parameter = nv.Parameter(nv.float32, slope.shape)
    mean = ops.AveragePool(x, (1,), (3,), count_padding=True)
    found = Function(gradients([mean], [x], [parameter.output]), [parameter, x])
    expected = np.zeros((3, 32), np.float32)
    for place in range(30):
        expected[:, place:place + 3] += (slope / np.float32(3))[:, place:place + 1]
    with nv.transformers.make_transformer("cpu") as transformer:
        got, = transformer.build(found)([slope, np.zeros((3, 32), np.float32)])
    assert_same_bits(got, expected)


def test_a_window_with_a_nan_passes_no_gradient_on():
    """O68: none of its elements is the largest; those of other windows have theirs."""
    x = nv.Parameter(nv.float32, (5,))
    result = ops.MaxPool(x, (0,), (2,), (1,))
    function = Function(gradients([result], [x], [None]), [x])
    for name in ("interpreter", "cpu"):
        with nv.transformers.make_transformer(name) as transformer:
            got, = transformer.build(function)([np.float32([1, np.nan, 2, 3, 3])])
        assert got.tolist() == [0, 0, 0, 1.5, 0.5]


def test_large_windows_and_those_of_one_place_stay_reductions():
    for shape, windows in (((3, 9, 9), (9, 9)), ((3, 30), (20,))):
        x = nv.Parameter(nv.float32, shape)
        pool = ops.MaxPool(x, range(1, len(shape)), windows, strides=windows)
        assert "Max" in classes(lower_windows(standard(Function([pool], [x]))))


@pytest.mark.parametrize("map, shape", [
    (IndexMap((5,), (2 * index(0) + 1,)), (10,)),
    (IndexMap((5, 3), (index(0), 3 * index(1))), (5, 8)),
    (IndexMap((5, 3, 4), (index(0), 2 * index(1) + index(2))), (5, 8)),
], ids=str)
def test_strided_views_are_gathered_too(map, shape):
    x = nv.Parameter(nv.float32, map.shape)
    before = Function([ops.AccumulateView(x, map, shape)], [x])
    after = lower_windows(before)
    assert "AccumulateView" not in classes(after)
    assert_agree(before, after, [np.random.default_rng(0).integers(-9, 9, map.shape).astype(np.float32)])


@pytest.mark.parametrize("map, shape", [
    (IndexMap((4,), (index(0), index(0))), (4, 4)),
    (IndexMap((4, 3), (index(0),)), (4,)),
    (IndexMap((4, 3), (index(1), index(0))), (3, 4)),
    (IndexMap((4,), (3 - index(0),)), (4,)),
    (IndexMap((4,), (index(0) // 2,)), (2,)),
    (IndexMap((4,), (20 * index(0),)), (61,)),
], ids=str)
def test_other_maps_stay(map, shape):
    x = nv.Parameter(nv.float32, map.shape)
    function = Function([ops.AccumulateView(x, map, shape)], [x])
    assert lower_windows(function) is function


def test_functions_without_windows_stay():
    x = nv.Parameter(nv.float32, (5,))
    function = Function([ops.Max(x, [0])], [x])
    assert lower_windows(function) is function


def test_a_gradient_is_one_kernel_and_stores_nothing_that_is_only_moved():
    x = nv.Parameter(nv.float32, (4, 8, 28, 28))
    pool = ops.MaxPool(x, (2, 3), (3, 3), (2, 2), paddings=[(1, 1), (1, 1)])
    slope = nv.Parameter(nv.float32, pool.shape)
    steps = cluster(native(Function(gradients([pool], [x], [slope.output]), [x, slope])))
    assert [[type(value.op).__name__ for value in step.stored] for step in steps] == [["Maximum", "Divide"], ["Stack"]]


def test_what_is_moved_has_memory():
    """Outside of it nothing may be read, so that it is not computed where it is needed."""
    x = nv.Parameter(nv.float32, (4, 6))
    moved = ops.FilledView(x + x, IndexMap((4, 6), (index(0) - 1, index(1)))).output
    steps = cluster(Function([ops.Permute(moved, (1, 0)) + nv.Parameter(nv.float32, (6, 4)).full(1)], [x]))
    assert [[type(value.op).__name__ for value in step.stored] for step in steps] == [["Add"], ["Add"]]


def test_what_lies_in_several_windows_is_computed_once():
    """Windows side by side have each element once: there nothing has to be stored for them."""
    x = nv.Parameter(nv.float32, (2, 8, 9, 9))
    for stride, count in ((2, 1), (3, 9)):
        pool = ops.MaxPool(ops.Exp(x), axes=(2, 3), windows=(3, 3), strides=(stride, stride))
        assert classes(native(Function([pool], [x]))).count("Exp") == count
