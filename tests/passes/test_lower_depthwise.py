"""Depthwise convolutions as chains: values and bits are those of all convolutions, on every type and in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.kernel.plan import make_plan
from nervure.passes.lower_depthwise import lower_depthwise
from nervure.passes.pipelines import native
from tests.passes.agreement import assert_same_bits, classes
from tests.passes.test_lower_convolutions import FORMS, drawn, functions

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((3, 5, 9), (5, 1, 3), {"paddings": [(1, 1)], "groups": 5}),
    ((2, 4, 8, 7), (8, 1, 3, 2), {"paddings": [(1, 1), (0, 2)], "groups": 4}),
    ((2, 4, 9, 8), (4, 1, 3, 3), {"strides": (2, 2), "paddings": [(1, 1), (1, 1)], "groups": 4}),
    ((2, 2, 9, 9), (2, 1, 2, 3), {"strides": (3, 1), "paddings": [(-1, 1), (2, -1)], "groups": 2}),
    ((2, 2, 9, 9), (2, 1, 2, 3), {"dilations": (2, 3), "paddings": [(1, 1), (3, 3)], "groups": 2}),
    ((1, 3, 5, 4, 6), (6, 1, 2, 1, 3), {"strides": (1, 2, 2), "paddings": [(0, 1), (0, 0), (1, 1)], "groups": 3}),
    ((4, 1, 7), (2, 1, 3), {}),
    ((0, 3, 7, 6), (3, 1, 3, 2), {"groups": 3}),
]
"""Data, filters, attributes."""


def on(name: str, function: Function, arrays: Any) -> np.ndarray:
    with nv.transformers.make_transformer(name) as transformer:
        return transformer.build(function)(list(arrays))[0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_those_of_the_definition(case):
    for before, shapes in functions(*case):
        after = lower_depthwise(before)
        assert not set(FORMS).intersection(classes(after))
        assert [value.type for value in after.results] == [value.type for value in before.results]
        arrays = [np.round(array * 4) for array in drawn(*shapes)]
        expected = on("interpreter", before, arrays)
        assert_same_bits(on("cpu", before, arrays), expected)
        assert_same_bits(on("interpreter", after, arrays), expected)


@pytest.mark.parametrize("dtype", [nv.float64, nv.float16, nv.bfloat16, nv.int8, nv.int32, nv.complex64], ids=str)
def test_every_type_has_them(dtype):
    x, f = nv.Parameter(dtype, (2, 3, 9, 5)), nv.Parameter(dtype, (3, 1, 3, 2))
    slid = ops.Convolution(x, f, (2, 1), paddings=[(1, 1), (0, 1)], groups=3)
    r = nv.Parameter(dtype, slid.shape)
    arrays = {entry: np.round(array * 3).astype(dtype.numpy)
              for entry, array in zip((x, f, r), drawn(x.shape, f.shape, r.shape), strict=True)}
    for result, operands in ((slid, (x, f)), (ops.ConvolutionDataGradient(r, f, *slid.geometry, (9, 5)), (r, f)),
                             (ops.ConvolutionFilterGradient(x, r, *slid.geometry, (3, 2)), (x, r))):
        function, given = Function([result], operands), [arrays[entry] for entry in operands]
        got, expected = on("cpu", function, given), on("interpreter", function, given)
        assert got.dtype == expected.dtype and (got == expected).all()


def windows(x: np.ndarray, window: int) -> np.ndarray:
    """(N, C, positions, height, width) of data with a border of zeros, which has as many places as the data."""
    around = window // 2
    padded = np.pad(x, [(0, 0), (0, 0), (around, around), (around, around)])
    seen = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(*x.shape[:2], window * window, *x.shape[2:])


def test_bits_are_those_of_a_contraction():
    """O67: the positions of a window in order, those of the gradient for the data from the last to the first."""
    x, f, r = drawn((2, 6, 9, 20), (6, 1, 5, 5), (2, 6, 9, 20))
    (forward, _), (back, _), _ = functions(x.shape, f.shape, {"paddings": [(2, 2), (2, 2)], "groups": 6})
    flat, turned = f.reshape(6, 1, 25), f[:, :, ::-1, ::-1].reshape(6, 1, 25)
    for function, data, filters in ((forward, x, flat), (back, r, turned)):
        parameters = [nv.Parameter(nv.float32, shape) for shape in (flat.shape, (2, 6, 25, 180))]
        product = ops.Contract(*parameters, (1, 2, 3), (0, 1, 3, 4), (0, 1, 2, 4))
        expected = on("cpu", Function([product], parameters), [filters.copy(), windows(data, 5).reshape(2, 6, 25, 180)])
        assert_same_bits(on("cpu", function, [data, f]), expected.reshape(x.shape))


def test_a_gradient_for_filters_adds_up_rows_and_then_columns():
    """O69: for each position of a window the rows of all images one after the other, then columns as Sum."""
    x, r = drawn((5, 3, 9, 20), (5, 3, 9, 20))
    _, _, (turned, _) = functions(x.shape, (3, 1, 3, 3), {"paddings": [(1, 1), (1, 1)], "groups": 3})
    products = windows(x, 3) * r[:, :, None]
    rows = products.transpose(0, 3, 1, 2, 4).reshape(45, 3, 9, 20)
    columns = rows[0].copy()
    for row in rows[1:]:
        columns += row
    parameter = nv.Parameter(nv.float32, columns.shape)
    expected = on("cpu", Function([ops.Sum(parameter, [2])], [parameter]), [columns])
    assert_same_bits(on("cpu", turned, [x, r]), expected.reshape(3, 1, 3, 3))


def test_a_gradient_for_filters_of_no_image_is_zero():
    """O69: where there may be none the bits are those of images that are known."""
    n, attributes = nv.dim("n", min=0), {"paddings": [(1, 1), (1, 1)], "groups": 3}
    x, r = drawn((5, 3, 9, 20), (5, 3, 9, 20))
    _, _, (known, _) = functions(x.shape, (3, 1, 3, 3), attributes)
    _, _, (turned, _) = functions((n, *x.shape[1:]), (3, 1, 3, 3), attributes)
    assert_same_bits(on("cpu", turned, [x, r]), on("cpu", known, [x, r]))
    assert_same_bits(on("cpu", turned, [x[:0], r[:0]]), np.zeros((3, 1, 3, 3), np.float32))


def test_bits_do_not_depend_on_what_is_known_nor_on_the_batch_nor_on_threads():
    """O67: lengths that a call brings, one image of several, one thread."""
    shape, f, attributes = (4, 6, 10, 11), (6, 1, 3, 3), {"strides": (1, 2), "paddings": [(1, 1), (0, 2)], "groups": 6}
    n, h, w = nv.dim("n", min=1), nv.dim("h", min=3), nv.dim("w", min=3)
    x, filters = drawn(shape, f)
    known = on("cpu", functions(shape, f, attributes)[0][0], [x, filters])
    brought = functions((n, 6, h, w), f, attributes)[0][0]
    assert_same_bits(on("cpu", brought, [x, filters]), known)
    assert_same_bits(on("cpu", brought, [x[2:3], filters]), known[2:3])
    with nv.flags.overriding(threads=1):
        assert_same_bits(on("cpu", brought, [x, filters]), known)


def test_what_follows_is_computed_in_the_same_kernel():
    x, f, b = [nv.Parameter(nv.float32, shape) for shape in ((2, 6, 9, 20), (6, 1, 3, 3), (6,))]
    slid = ops.Convolution(x, f, paddings=[(1, 1), (1, 1)], groups=6)
    bias = ops.Broadcast(b, slid.shape, (0, 2, 3)).output
    assert len(make_plan(native(Function([ops.Relu(slid + bias)], [x, f, b]))).steps) == 1


@pytest.mark.parametrize("shape, filters, attributes", [
    ((2, 4, 9), (4, 2, 3), {"groups": 2}),             # two channels a group
    ((2, 1, 9), (5, 1, 3), {}),                        # many filters a channel
    ((2, 2, 99), (2, 1, 65), {"groups": 2}),           # a long window
    ((2, 1, 9), (0, 1, 3), {}),                        # no filter
], ids=str)
def test_others_stay_products(shape, filters, attributes):
    for function, _ in functions(shape, filters, attributes):
        assert lower_depthwise(function) is function


def test_truth_values_stay_products():
    x, f = nv.Parameter(nv.bool_, (2, 3, 9)), nv.Parameter(nv.bool_, (3, 1, 3))
    function = Function([ops.Convolution(x, f, groups=3)], [x, f])
    assert lower_depthwise(function) is function


def test_strides_with_dilations_keep_their_zeros():
    """Q12: there the gradient for the data multiplies filters with the zeros between places."""
    _, (back, _), _ = functions((2, 2, 9), (2, 1, 2), {"strides": (2,), "dilations": (2,), "groups": 2})
    assert lower_depthwise(back) is back
