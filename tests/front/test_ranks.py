"""Quantiles and places in sorted rows: NumPy's numbers, symbolic lengths, derivatives, names, errors."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

X = np.random.default_rng(5).standard_normal((4, 6, 5)).astype(np.float32)
HOLES = np.where(X > 2, np.nan, X).astype(np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_numbers_are_those_of_numpy(axis, keepdims):
    """A424: with every method."""
    for x in (X, HOLES, (10 * X).astype(np.int32)):
        np.testing.assert_allclose(nv.median(x, axis, keepdims).numpy(), np.median(x, axis=axis, keepdims=keepdims),
                                   rtol=1e-6)
        for q in (0.3, 1.0, [0.0, 0.25, 0.9]):
            for method in ("linear", "lower", "higher", "midpoint", "nearest"):
                given = {"axis": axis, "method": method, "keepdims": keepdims}
                expected = np.quantile(x.astype(np.float64), q, **given)
                np.testing.assert_allclose(nv.quantile(x, q, **given).numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nv.percentile(X, [10, 50], axis).numpy(), np.percentile(X, [10, 50], axis), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_numbers_without_nan_are_those_of_numpy(axis, keepdims):
    """A424: with every method; NaN where there is nothing else."""
    few = np.where(X > 0.3, np.nan, X)
    few[0, 1], few[:, 2, 2] = np.nan, np.nan
    for x in (few.astype(np.float32), X, (10 * X).astype(np.int32)):
        np.testing.assert_allclose(nv.nanmedian(x, axis, keepdims).numpy(),
                                   np.nanmedian(x, axis=axis, keepdims=keepdims), rtol=1e-6)
        for q in (0.3, [0.0, 0.25, 1.0]):
            for method in ("linear", "lower", "higher", "midpoint", "nearest"):
                given = {"axis": axis, "method": method, "keepdims": keepdims}
                expected = np.nanquantile(x.astype(np.float64), q, **given)
                np.testing.assert_allclose(nv.nanquantile(x, q, **given).numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nv.nanpercentile(few, [10, 50], axis).numpy(), np.nanpercentile(few, [10, 50], axis),
                               rtol=1e-5)


def test_infinities_are_elements():
    x = np.float32([-np.inf, 1, np.inf, np.inf])
    assert [nv.quantile(x, q).item() for q in (0, 1 / 3, 1)] == [-np.inf, 1, np.inf]
    assert [nv.quantile(x, 0.5, method=method).item() for method in ("lower", "higher")] == [1, np.inf]
    assert nv.nanquantile(np.append(x, np.nan), 0.5, method="higher").item() == np.inf


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_are_those_of_numpy(side):
    """A425: of values of any shape, with NaN last."""
    for row in (np.sort((3 * X[0, :, 0]).round()), np.float32([1, 2, 2, 3, np.nan]), np.arange(0), np.arange(5)):
        values = np.append((3 * X[1]).round().ravel(), [np.nan, np.inf]).reshape(4, 8)
        np.testing.assert_array_equal(nv.searchsorted(row, values, side).numpy(), np.searchsorted(row, values, side))
    for bins in ([-1, 0, 1], [1, 0, -1], [1, 1, 0], [2]):
        np.testing.assert_array_equal(nv.digitize(X.round(1), bins, side == "left").numpy(),
                                      np.digitize(X.round(1), bins, side == "left"))


def test_bins_have_an_order():
    with pytest.raises(nv.InvalidArgument, match="up and down"):
        nv.digitize(X, [0, 2, 1])


def test_lengths_may_be_symbols():
    n, m = nv.dim("n", min=1), nv.dim("m")
    x, v = nv.placeholder((n,)), nv.placeholder((m,))
    found = nv.computation([nv.median(x), nv.searchsorted(nv.sort(x), v), nv.searchsorted(nv.sort(x), v, "right")],
                           x, v)
    for length, count in ((1, 0), (2, 3), (101, 50)):
        row, values = X.ravel()[:length].round(1), X.ravel()[5:5 + count].round(1)
        middle, left, right = found(row, values)
        np.testing.assert_allclose(middle, np.median(row), rtol=1e-6)
        np.testing.assert_array_equal(left, np.searchsorted(np.sort(row), values))
        np.testing.assert_array_equal(right, np.searchsorted(np.sort(row), values, "right"))


def test_derivatives_go_to_both_neighbours():
    """A426."""
    nv.testing.check_grads(lambda x: nv.quantile(x, [0.3, 0.9]), [np.array([1.5, -2.0, 0.7, 3.0])], order=2)
    nv.testing.check_grads(lambda x: nv.nanquantile(x, [0.3, 0.9]), [np.array([1.5, -2.0, 0.7, 3.0])], order=2)
    x = nv.variable((4,), [4.0, np.nan, 3.0, 2.0])
    assert nv.deriv(nv.nanquantile(x, 0.25), x).tolist() == [0, 0, 0.5, 0.5]
    x = nv.variable((4,), [4.0, 1.0, 3.0, 2.0])
    assert nv.deriv(nv.median(x), x).tolist() == [0, 0, 0.5, 0.5]


def test_axes_have_names():
    x = nv.constant(X[0], "N=6, C=5")
    assert str(nv.median(x, "N").axes) == "(C: 5)"
    np.testing.assert_allclose(nv.quantile(x, 0.25, "C").numpy(), np.quantile(X[0], 0.25, axis=1), rtol=1e-5)


@pytest.mark.parametrize(("program", "kind", "message"), [
    (lambda: nv.quantile(X, 1.5), nv.InvalidArgument, "outside of the elements"),
    (lambda: nv.quantile(X, [[0.1], [0.2, 0.3]]), nv.InvalidArgument, "outside of the elements"),
    (lambda: nv.quantile(X, 0.5, method="best"), nv.InvalidArgument, "unknown method"),
    (lambda: nv.quantile(X, 0.5, method=X), nv.InvalidArgument, "unknown method"),
    (lambda: nv.quantile(nv.zeros("A=2"), [0.5]), nv.InvalidArgument, "without a name"),
    (lambda: nv.median(np.zeros((0,))), nv.ShapeMismatch, "no element"),
    (lambda: nv.searchsorted(X, 1.0), nv.ShapeMismatch, "one row"),
    (lambda: nv.searchsorted([1.0], 1.0, "middle"), nv.InvalidArgument, "unknown side")])
def test_what_is_told(program, kind, message):
    with pytest.raises(kind, match=message):
        program()


def test_densities_are_as_exact_as_edges():
    x = X.ravel()[:7].astype(np.float64)
    np.testing.assert_allclose(nv.histogram(x, 3, density=True)[0].numpy(), np.histogram(x, 3, density=True)[0],
                               rtol=1e-14)


@pytest.mark.parametrize("function", [nv.quantile, nv.percentile, nv.nanquantile, nv.nanpercentile])
def test_the_way_of_medians_is_no_method(function):
    with pytest.raises(nv.InvalidArgument, match="unknown method") as caught:
        function([1.0, 2.0], 0.5, method="mean")
    assert "mean" not in caught.value.expected
