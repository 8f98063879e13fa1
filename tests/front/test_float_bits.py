"""Floats by their bits, against NumPy at random bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import nervure as nv

TYPES = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]


def random(dtype, seed):
    width = np.dtype(dtype).itemsize
    found = np.random.default_rng(seed).integers(0, 256, (1000, width), np.uint8).view(dtype)[:, 0]
    found[:10] = [0, -0.0, np.inf, -np.inf, np.nan, 1, 1, -1, 0, 0]
    return found


def wide(x):
    """Numbers whose NaN NumPy's tests know."""
    return np.asarray(x).astype(np.float64)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", TYPES)
def test_neighbours_are_those_of_numpy(dtype):
    x, y = random(dtype, 0), random(dtype, 1)
    np.testing.assert_array_equal(wide(nv.nextafter(x, y)), wide(np.nextafter(x, y)))
    # NumPy's distance from a negative float16 goes to the nearer side.
    sizes = np.abs(x[(x != 0) & np.isfinite(wide(x))])
    np.testing.assert_array_equal(nv.spacing(sizes).numpy(), np.spacing(sizes))
    np.testing.assert_array_equal(nv.spacing(-sizes).numpy(), -np.spacing(sizes))
    assert nv.spacing(x).dtype == nv.as_dtype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", TYPES)
def test_mantissas_and_exponents_are_those_of_numpy(dtype):
    x = random(dtype, 2)
    mantissa, exponent = nv.frexp(x)
    expected, powers = np.frexp(x)
    np.testing.assert_array_equal(wide(mantissa), wide(expected))
    is_number = np.isfinite(x.astype(np.float64))
    np.testing.assert_array_equal(exponent.numpy()[is_number], powers[is_number])


def test_a_mantissa_has_a_derivative_and_symbols_are_served():
    n = nv.dim("n")
    x = nv.placeholder((n,))
    run = nv.computation([nv.frexp(x)[0], nv.nextafter(x, 0.0)], x)
    for size in (1, 5):
        given = np.arange(1, size + 1, dtype=np.float32)
        np.testing.assert_array_equal(run(given)[0], np.frexp(given)[0])
        np.testing.assert_array_equal(run(given)[1], np.nextafter(given, np.float32(0)))
    slope = nv.grad(lambda x: nv.sum(nv.frexp(x)[0]))(np.float32([3, 10, -0.3]))
    np.testing.assert_array_equal(slope, np.float32([0.25, 1 / 16, 2]))
    assert np.nextafter(nv.constant(np.float32(1)), np.float32(2)).item() == 1 + 2**-23


@pytest.mark.parametrize("function", [nv.spacing, lambda x: nv.nextafter(x, 2.0), lambda x: nv.nextafter(2.0, x)])
def test_neighbours_have_no_derivative(function):
    """Also where both operands are equal, and of differences of neighbours."""
    slope = nv.grad(lambda x: nv.sum(function(x)))(np.float32([3, -10, 2]))
    np.testing.assert_array_equal(slope, np.float32([0, 0, 0]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("integers", [np.int8, np.int64, np.uint64])
def test_numbers_times_powers_of_two_are_rounded_once(dtype, integers):
    x = random(dtype, 3)[:200]
    exponent = np.concatenate([np.arange(-120, 121), [-2200, -1080, -1022, -300, -149, 127, 128, 1023, 3000]])
    exponent = exponent[(exponent >= np.iinfo(integers).min) & (exponent <= np.iinfo(integers).max)].astype(integers)
    got = nv.ldexp(x[:, None], exponent)
    exact = np.ldexp(x.astype(np.longdouble)[:, None], exponent.astype(np.int64))
    np.testing.assert_array_equal(wide(got), wide(exact.astype(np.float64).astype(x.dtype)))


def test_ldexp_has_a_derivative_and_refuses_broken_exponents():
    slope = nv.grad(lambda x: nv.sum(nv.ldexp(x, [1, -2])))(np.float32([3, 5]))
    np.testing.assert_array_equal(slope, np.float32([2, 0.25]))
    with pytest.raises(nv.errors.WrongKind, match="whole number"):
        nv.ldexp(np.float32([1]), np.float32([0.5]))


def test_complex_numbers_are_refused():
    z = np.array([1j])
    for program in (lambda: nv.frexp(z), lambda: nv.ldexp(z, 1), lambda: nv.nextafter(z, z)):
        with pytest.raises(nv.DtypeMismatch, match="complex128"):
            program()


def test_floats_of_a_byte_are_refused():
    with pytest.raises(nv.NervureError, match="8 bits and less") as caught:
        nv.frexp(nv.constant(np.ones(3, ml_dtypes.float8_e5m2)))
    assert caught.value.help
