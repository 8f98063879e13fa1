"""Sorting, and the first elements: NumPy's numbers, names of axes, lengths that are symbols, derivatives, maps."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

X = np.random.default_rng(5).integers(-4, 5, (4, 6, 5)).astype(np.float32)
X[0, :2] = np.nan
COMPLEX = np.array([1 + 2j, 1 - 2j, np.nan + 1j, 1 + np.nan * 1j, -3, complex(np.nan, np.nan), 0, complex(2, np.nan)],
                   np.complex64)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_order_is_that_of_numpy(axis):
    """A404."""
    for x in (X, X.astype(np.float64), np.nan_to_num(X).astype(np.int16), X > 0):
        assert nv.sort(x, axis).numpy().tobytes() == np.sort(x, axis, kind="stable").tobytes()
        assert (nv.argsort(x, axis).numpy() == np.argsort(x, axis, kind="stable")).all()
        for function in (np.sort, np.argsort):
            found = function(nv.constant(x), axis=axis, stable=True)
            assert isinstance(found, nv.Tensor)
            np.testing.assert_array_equal(found.numpy(), function(x, axis=axis, stable=True))


def test_descending_is_stable_and_has_nan_first():
    """A405."""
    x = np.float32([0.0, np.nan, 2, -0.0, np.inf, 2])
    assert nv.argsort(x, descending=True).tolist() == [1, 4, 2, 5, 0, 3]
    assert np.signbit(nv.sort(x, descending=True).numpy()).tolist() == [False] * 5 + [True]
    assert nv.sort(np.array([3, 250], np.uint8), descending=True).tolist() == [250, 3]


def test_complex_numbers_go_as_numpy_has_them():
    np.testing.assert_array_equal(nv.sort(COMPLEX).numpy(), np.sort(COMPLEX))
    np.testing.assert_array_equal(nv.argsort(COMPLEX).numpy(), np.argsort(COMPLEX, kind="stable"))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_first_elements(axis):
    """A406."""
    for largest in (True, False):
        values, positions = nv.top_k(X, 3, axis=axis, largest=largest)
        every = nv.sort(X, axis, descending=largest).numpy(), nv.argsort(X, axis, descending=largest).numpy()
        expected = [np.take(entry, range(3), axis) for entry in every]
        np.testing.assert_array_equal(values.numpy(), expected[0])
        np.testing.assert_array_equal(positions.numpy(), expected[1])


def test_all_and_none_of_the_elements():
    for k in (0, 5):
        values, positions = nv.top_k(X, k)
        assert values.shape == positions.shape == (4, 6, k)
    with pytest.raises(nv.ShapeMismatch, match="k=6"):
        nv.top_k(X, 6)
    n = nv.dim("n")
    x = nv.placeholder((n,))
    best = nv.computation(nv.top_k(x, 2)[1], x)
    assert best(np.float32([1, 3, 2])).tolist() == [1, 2]
    with pytest.raises(nv.ShapeMismatch):
        best(np.float32([1]))


ROW = np.float32([3, 1, 2])


def test_partitions_and_several_keys():
    for kth in (2, [0, -1]):
        np.testing.assert_array_equal(nv.partition(X, kth, 1).numpy(), np.sort(X, 1))
        np.testing.assert_array_equal(np.argpartition(nv.constant(X), kth, 1).numpy(), np.argsort(X, 1, kind="stable"))
    with pytest.raises(nv.InvalidArgument):
        nv.partition(X, 6, 1)
    x = nv.placeholder((nv.dim("n"),))
    for kth, least in ((1, 2), (-3, 3), ([0, -2], 2)):
        for function, known in ((nv.partition, np.sort), (nv.argpartition, np.argsort)):
            compiled = nv.computation(function(x, kth), x)
            np.testing.assert_array_equal(compiled(ROW[:least]), known(ROW[:least]))
            with pytest.raises(nv.ShapeMismatch, match=f"max\\(n, {least}\\)"):
                compiled(ROW[:least - 1])
    assert nv.computation(nv.partition(x[x > 0], 1), x)(ROW).tolist() == [1, 2, 3]
    keys = np.nan_to_num(X)[:3]
    for axis in (0, 1):
        np.testing.assert_array_equal(nv.lexsort(keys, axis).numpy(), np.lexsort(keys, axis))
    np.testing.assert_array_equal(np.lexsort((nv.constant(keys[0]), nv.constant(keys[1]))).numpy(),
                                  np.lexsort((keys[0], keys[1])))


def test_axes_have_names():
    x = nv.constant(np.float32([[3, 1, 2], [4, 6, 5]]), "N=2, C=3")
    assert str(nv.sort(x, "N").axes) == "(N: 2, C: 3)" and x.sort("N").tolist() == [[3, 1, 2], [4, 6, 5]]
    values, positions = x.top_k(1, axis="N")
    assert str(values.axes) == str(positions.axes) == "(N: 1, C: 3)" and positions.tolist() == [[1, 1, 1]]
    assert x.argsort(axis="C", descending=True).tolist() == [[0, 2, 1], [1, 2, 0]]


def test_derivatives_go_back_to_where_elements_were():
    """A407."""
    x = nv.variable((5,), [3.0, 1.0, 2.0, 5.0, 4.0])
    weights = nv.constant(np.float32([1, 2, 3, 4, 5]))
    loss = nv.sum(nv.sort(x) ** 3 * weights)
    first = nv.deriv(loss, x)
    assert first.tolist() == [3 * 9 * 3, 3 * 1 * 1, 3 * 4 * 2, 3 * 25 * 5, 3 * 16 * 4]
    assert nv.deriv(nv.sum(first), x).tolist() == [6 * 3 * 3, 6 * 1 * 1, 6 * 2 * 2, 6 * 5 * 5, 6 * 4 * 4]
    assert nv.deriv(nv.sum(nv.top_k(x, 2)[0] * weights[:2]), x).tolist() == [0, 0, 0, 1, 2]
    tangent = nv.jvp(lambda x: nv.sort(x, descending=True), (nv.constant(np.float32([1, 3, 2])),),
                     (nv.constant(np.float32([10, 20, 30])),))[1]
    assert tangent.tolist() == [20, 30, 10]


def test_maps_are_over_rows():
    x = nv.constant(np.float32([[3, 1, 2], [4, 6, 5]]))
    assert nv.vmap(nv.sort)(x).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert nv.vmap(lambda row: nv.top_k(row, 1)[1])(x).tolist() == [[0], [1]]


def test_length_is_a_symbol():
    n = nv.dim("n")
    x = nv.placeholder((n, 3))
    ordered = nv.computation([nv.sort(x, 0), nv.argsort(x, 0)], x)
    for length in (0, 1, 50, 2000):
        given = np.random.default_rng(length).standard_normal((length, 3)).astype(np.float32)
        values, positions = ordered(given)
        np.testing.assert_array_equal(values, np.sort(given, 0))
        np.testing.assert_array_equal(positions, np.argsort(given, 0, kind="stable"))
