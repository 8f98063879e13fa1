"""Pooling: shapes, errors, values against the definition, padding, ties, derivatives of any order."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import nervure as nv
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ops import AveragePool, MaxPool, Parameter, Windows
from nervure.types.dim import dim
from nervure.types.element_groups import FLOATS, INTEGERS
from tests.ops.evaluation import check_derivatives, compute, evaluate, normal, tensor


def reference(x: np.ndarray, axes, windows, strides, dilations, paddings, reduce) -> np.ndarray:
    """The definition: ``reduce`` of what lies inside x (NaN outside), a place at a time."""
    around = [paddings[axes.index(d)] if d in axes else (0, 0) for d in range(x.ndim)]
    padded = np.pad(x, around, constant_values=np.nan)
    shape = list(x.shape)
    for k, axis in enumerate(axes):
        shape[axis] = (padded.shape[axis] - dilations[k] * (windows[k] - 1) - 1) // strides[k] + 1
    result = np.zeros(shape)
    for place in product(*map(range, shape)):
        window: list = list(place)
        for k, axis in enumerate(axes):
            start = place[axis] * strides[k]
            window[axis] = slice(start, start + dilations[k] * (windows[k] - 1) + 1, dilations[k])
        result[place] = reduce(padded[tuple(window)])
    return result


CASES = [
    ((2, 9), (1,), (3,), (1,), (1,), ((0, 0),)),
    ((2, 3, 8, 9), (2, 3), (3, 2), (2, 3), (1, 1), ((1, 1), (0, 1))),
    ((7, 2, 8), (2, 0), (2, 3), (1, 2), (3, 2), ((2, 0), (1, 2))),
    ((2, 5, 4, 6), (1, 2, 3), (2, 2, 2), (2, 2, 2), (1, 1, 1), ((0, 0), (0, 0), (0, 0))),
]


@pytest.mark.parametrize("shape, axes, windows, strides, dilations, paddings", CASES)
def test_pools_are_their_definitions(shape, axes, windows, strides, dilations, paddings) -> None:
    x = normal(*shape)
    attributes = (axes, windows, strides, dilations, paddings)
    largest = reference(x, *attributes, np.nanmax)
    assert MaxPool(tensor(*shape), *attributes).shape == largest.shape
    np.testing.assert_array_equal(evaluate(lambda x: MaxPool(x, *attributes), x), largest)
    inside = reference(x, *attributes, np.nanmean)
    np.testing.assert_allclose(evaluate(lambda x: AveragePool(x, *attributes), x), inside, atol=1e-12)
    counted = reference(x, *attributes, lambda window: np.nansum(window) / window.size)
    got = evaluate(lambda x: AveragePool(x, *attributes, count_padding=True), x)
    np.testing.assert_allclose(got, counted, atol=1e-12)
    check_derivatives(lambda x: MaxPool(x * x, *attributes), x, step=1e-7, tolerance=1e-5)
    check_derivatives(lambda x: AveragePool(x * x, *attributes), x)


def test_ties_share_the_gradient_equally() -> None:
    x = Parameter(nv.float64, (6,))
    result = MaxPool(x, (0,), (3,), (3,))
    found = compute(gradients([result], [x], [None]), [x], [np.array([1.0, 1.0, 0.0, 2.0, 2.0, 2.0])])[0]
    np.testing.assert_allclose(found, [1 / 2, 1 / 2, 0, 1 / 3, 1 / 3, 1 / 3])


def test_padding_never_wins() -> None:
    assert (evaluate(lambda x: MaxPool(x, (0,), (3,), paddings=[(1, 1)]), np.array([-5.0, -7.0])) == [-5, -5]).all()
    small = np.array([-128, -120], np.int8)
    assert (evaluate(lambda x: MaxPool(x, (0,), (2,), paddings=[(1, 1)]), small) == [-128, -120, -120]).all()
    assert np.isnan(evaluate(lambda x: MaxPool(x, (0,), (2,)), np.array([1.0, np.nan, 0.0]))).all()
    outside = evaluate(lambda x: MaxPool(x, (0,), (1,), paddings=[(1, 0)]), np.array([3.0]))
    assert outside.tolist() == [-np.inf, 3.0]
    assert evaluate(lambda x: AveragePool(x, (0,), (1,), paddings=[(1, 0)]), np.array([3.0])).tolist() == [0.0, 3.0]


@pytest.mark.parametrize("dtype", sorted(FLOATS | INTEGERS, key=str), ids=str)
def test_every_element_type_pools(dtype: nv.DType) -> None:
    x = np.array([[3, 1, 2, 0], [0, 1, 3, 2]]).astype(dtype.numpy)
    got = evaluate(lambda x: MaxPool(x, (1,), (2,), paddings=[(1, 1)]), x)
    assert got.dtype == x.dtype and got.astype(int).tolist() == [[3, 3, 2, 2, 0], [0, 1, 3, 3, 2]]
    if dtype in FLOATS:
        got = evaluate(lambda x: AveragePool(x, (1,), (2,), (2,)), x)
        assert got.dtype == x.dtype and got.astype(float).tolist() == [[2, 1], [0.5, 2.5]]


def test_low_precision_averages_are_rounded_once() -> None:
    x = np.full(64, 60000, np.float16)
    assert evaluate(lambda x: AveragePool(x, (0,), (64,)), x)[0] == 60000


def test_windows_show_each_element_once_for_every_window() -> None:
    x = np.arange(6.0)
    got = evaluate(lambda x: Windows(x, (0,), (2,), (2,), (3,)), x)
    assert got.tolist() == [[0, 3], [2, 5]]
    check_derivatives(lambda x: Windows(x * x, (0, 1), (2, 2)), normal(3, 4))
    n = dim("N", min=4)
    assert Windows(tensor(2, n), (1,), (3,), (2,)).shape == (2, (n - 3) // 2 + 1, 3)
    assert MaxPool(tensor(2, n), (1,), (3,), paddings=[(1, 1)]).shape == (2, n)


@pytest.mark.parametrize("build, kind, operand", [
    (lambda: MaxPool(tensor(2, 8), (2,), (3,)), InvalidArgument, "axes"),
    (lambda: MaxPool(tensor(2, 8), (1, -1), (3, 3)), InvalidArgument, "axes"),
    (lambda: MaxPool(tensor(2, 8), (1,), (3, 3)), InvalidArgument, "windows"),
    (lambda: MaxPool(tensor(2, 8), (1,), (9,)), ShapeMismatch, "1 (x)"),
    (lambda: MaxPool(tensor(2, 8), (1,), (0,)), ShapeMismatch, "1 (x)"),
    (lambda: MaxPool(tensor(2, 8), (1,), (3,), strides=(0,)), InvalidArgument, "strides"),
    (lambda: MaxPool(tensor(2, 8), (1,), (3,), paddings=(0,)), (InvalidArgument, TypeError), "paddings"),
    (lambda: MaxPool(tensor(2, 8), (1,), (3,), paddings=[(0, 0), (0, 0)]), InvalidArgument, "paddings"),
    (lambda: MaxPool(tensor(2, 8, dtype=nv.complex64), (1,), (3,)), DtypeMismatch, "1 (x)"),
    (lambda: AveragePool(tensor(2, 8, dtype=nv.int32), (1,), (3,)), DtypeMismatch, "1 (x)"),
    (lambda: Windows(tensor(2, 8), (1,), (9,)), ShapeMismatch, "1 (x)"),
])
def test_what_does_not_fit_is_explained(build, kind, operand) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert caught.value.operand == operand and caught.value.location.file == __file__


def test_labels_stay() -> None:
    x = tensor(2, 3, 8)
    x.output.labels = ("N", "C", "W")
    assert MaxPool(x, (2,), (2,)).output.labels == ("N", "C", "W")
    assert Windows(x, (2,), (2,)).output.labels == ("N", "C", "W", None)
