"""Running sums, products and extremes: NumPy's numbers, directions, types, names, derivatives, maps, threads."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

X = np.random.default_rng(5).standard_normal((4, 6, 5)).astype(np.float32)
HOLES = np.where(X > 1, np.nan, X).astype(np.float32)
NUMPY = {"cumsum": np.add.accumulate, "cumprod": np.multiply.accumulate, "cummax": np.maximum.accumulate,
         "cummin": np.minimum.accumulate}


@pytest.mark.parametrize("name", NUMPY)
def test_numbers_are_those_of_numpy(name):
    """A420: in order, so that the bits are NumPy's."""
    for x in (X, HOLES, X.astype(np.float64), (100 * X).astype(np.int32), (100 * X).astype(np.int64)):
        for axis in (0, 1, -1):
            found = getattr(nv, name)(x, axis).numpy()
            np.testing.assert_array_equal(found, NUMPY[name](x, axis, dtype=x.dtype))
            assert found.dtype == x.dtype
            backwards = getattr(nv, name)(x, axis, reverse=True).numpy()
            np.testing.assert_array_equal(backwards, np.flip(NUMPY[name](np.flip(x, axis), axis, dtype=x.dtype), axis))
        np.testing.assert_array_equal(getattr(nv, name)(x).numpy(), NUMPY[name](x.ravel(), dtype=x.dtype))


def test_the_element_itself_may_be_left_out():
    """A421."""
    assert nv.cumsum([1, 2, 3], exclusive=True).tolist() == [0, 1, 3]
    assert nv.cumprod([2, 3, 4], reverse=True, exclusive=True).tolist() == [12, 4, 1]


def test_types_are_those_of_sums():
    """A422: and extremes have the type of the elements."""
    small = np.array([100, 100, 50], np.int8)
    assert nv.cumsum(small).dtype is nv.sum(small).dtype is nv.int32 and nv.cumsum(small).tolist() == [100, 200, 250]
    assert nv.cumsum(small > 60).tolist() == [1, 2, 2]
    for dtype in (nv.bool_, nv.int8, nv.uint16, nv.uint32, nv.uint64, nv.bfloat16, nv.float16):
        x = np.array([1, 0, 1], dtype.numpy)
        assert nv.cummax(x).dtype is dtype and nv.cummin(x).numpy().tolist() == [1, 0, 0]
    big = np.array([2**63, 2**63 + 1, 5], np.uint64)
    assert nv.cummax(big).numpy().tolist() == [2**63, 2**63 + 1, 2**63 + 1]
    assert nv.cumsum(np.array([2**32 - 1, 2], np.uint32)).numpy().tolist() == [2**32 - 1, 1]
    many = np.full(1000, 1.001, nv.bfloat16.numpy)
    assert nv.cumsum(many).dtype is nv.bfloat16 and nv.cumsum(many)[-1].item() == 1000.0  # added as float32
    turned = np.array([1 + 1j, 2 - 1j, 1j], np.complex64)
    np.testing.assert_array_equal(nv.cumsum(turned).numpy(), np.cumsum(turned))
    np.testing.assert_allclose(nv.cumprod(turned).numpy(), np.cumprod(turned))
    with pytest.raises(nv.NotSupported, match="no largest"):
        nv.cummax(turned)


def test_nan_and_logarithms():
    np.testing.assert_array_equal(nv.nancumsum(HOLES, 1).numpy(), np.nancumsum(HOLES, 1))
    np.testing.assert_array_equal(nv.nancumprod(HOLES, 0).numpy(), np.nancumprod(HOLES, 0))
    expected = np.logaddexp.accumulate(X.astype(np.float64), 1)
    np.testing.assert_allclose(nv.cumlogsumexp(X, 1).numpy(), expected, rtol=1e-5, atol=1e-6)
    assert nv.cumlogsumexp([-np.inf, 0]).tolist() == [-np.inf, 0]


def test_axes_have_names():
    x = nv.constant(np.float32([[3, 1, 2], [4, 6, 5]]), "N=2, C=3")
    assert str(x.cumsum("N").axes) == "(N: 2, C: 3)" and x.cummax(axis="N").tolist() == [[3, 1, 2], [4, 6, 5]]
    assert x.cumprod("C", dtype=nv.float64).dtype is nv.float64


@pytest.mark.parametrize("function", [
    nv.cumsum, lambda x: nv.cumsum(x, reverse=True), nv.cumprod, lambda x: nv.cumprod(x, reverse=True, exclusive=True),
    nv.cummax, lambda x: nv.cummin(x, reverse=True), nv.cumlogsumexp])
def test_derivatives(function):
    """A423: to second order, and for products with a 0 among them."""
    nv.testing.check_grads(function, [np.array([1.5, -2.0, 0.7, 3.0])], order=2)


def test_derivative_of_products_with_zeros():
    x = nv.variable(initial_value=np.array([2.0, 0.0, 3.0, 0.0, 5.0]))
    first = nv.deriv(nv.sum(nv.cumprod(x)), x)
    assert first.tolist() == [1.0, 2 * (1 + 3), 0.0, 0.0, 0.0]
    assert nv.deriv(first[1], x).tolist() == [4.0, 0.0, 2.0, 6.0 * (1 + 5), 0.0]


def test_derivative_of_extremes_goes_to_the_first():
    x = nv.variable(initial_value=np.array([1.0, 3.0, 3.0, 2.0]))
    assert nv.deriv(nv.sum(nv.cummax(x)), x).tolist() == [1, 3, 0, 0]
    assert nv.deriv(nv.sum(nv.cummax(x, reverse=True)), x).tolist() == [0, 0, 3, 1]
    assert nv.jvp(nv.cummax, (x,), (nv.constant(np.array([10.0, 20, 30, 40])),))[1].tolist() == [10, 20, 20, 20]


def test_maps_and_lengths():
    assert nv.vmap(nv.cumsum)(nv.constant(X[0])).tolist() == np.cumsum(X[0], 1).tolist()
    x = nv.placeholder((nv.dim("n"), 3))
    running = nv.computation([nv.cumsum(x, 0), nv.cummax(x, 1)], x)
    for length in (0, 1, 50, 5000):
        given = np.random.default_rng(length).standard_normal((length, 3)).astype(np.float32)
        sums, largest = running(given)
        np.testing.assert_array_equal(sums, np.cumsum(given, 0))
        np.testing.assert_array_equal(largest, np.maximum.accumulate(given, 1))


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_are_the_same_for_any_number_of_threads(threads):
    """A420."""
    x = np.random.default_rng(1).standard_normal((70, 3000)).astype(np.float32)
    with nv.flags.overriding(threads=threads):
        for axis in (0, 1):
            np.testing.assert_array_equal(nv.cumsum(x, axis).numpy(), np.add.accumulate(x, axis))
