"""Elementary functions of complex numbers against NumPy: values, branch cuts, borders, derivatives, transformers."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ops.formulas.complex_numbers import COMPLEX_FORMULAS
from tests.conformance.differences import check_derivatives
from tests.conformance.running import DEEP, run

RNG = np.random.default_rng(0)
NAMES = [name for name in COMPLEX_FORMULAS if name != "power"]


def _points(count: int) -> np.ndarray:
    """Numbers of all directions and sizes, on the unit circle, on both axes with both zeros, and around 1 and i."""
    turn, size = RNG.uniform(0, 2 * np.pi, (2, count)), 10 ** RNG.uniform(-8, 2, count)
    signs = RNG.choice([0.0, -0.0], count)
    circle = (1 + RNG.choice([0, 1e-3, 1e-8, 1e-15], count) * RNG.normal(size=count)) * np.exp(1j * turn[0])
    near = 1 + 10 ** RNG.uniform(-20, -1, count) * np.exp(1j * turn[0])
    axis = np.array([complex(a, b) for a, b in zip(RNG.normal(size=count) * 3, signs)])
    other = np.array([complex(b, a) for a, b in zip(RNG.normal(size=count) * 3, signs)])
    return np.concatenate([size * np.exp(1j * turn[0]), RNG.normal(size=count) + 3j * RNG.normal(size=count), circle,
                           near, -near, 1j * near, axis, other])


POINTS = _points(500)
NUMPY = {name: getattr(np, name.replace("a", "arc", 1) if name[0] == "a" else name)
         for name in NAMES if name not in ("rsqrt", "sigmoid")}
NUMPY["rsqrt"] = lambda z: 1 / np.sqrt(z)
NUMPY["sigmoid"] = lambda z: 1 / (1 + np.exp(-z))
INACCURATE = {"log1p": 1e-7, "sigmoid": 1e-12, "expm1": 1e-13}
"""What NumPy itself, or the formula above, loses."""


def close(found: np.ndarray, expected: np.ndarray, digits: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        error = np.abs(found - expected) <= digits * np.abs(expected) + 1e-307
    return (found == expected) | error | (np.isnan(found) & np.isnan(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_values_and_cuts_are_those_of_numpy(name):
    """A521: within 1e-15 of the magnitude, with the signs of both parts; complex64 is rounded once."""
    found, expected = getattr(nv, name)(nv.constant(POINTS)).numpy(), NUMPY[name](POINTS)
    assert close(found, expected, INACCURATE.get(name, 1e-15)).all()
    if name not in ("rsqrt", "sigmoid"):
        assert (np.signbit(found.real) == np.signbit(expected.real)).all() or name in INACCURATE
        assert (np.signbit(found.imag) == np.signbit(expected.imag)).all() or name in INACCURATE
        function = NUMPY[name]
        assert function(nv.constant(POINTS)).dtype is nv.complex128  # NumPy's own name builds the graph
    narrow = POINTS.astype(np.complex64)
    rounded = getattr(nv, name)(nv.constant(narrow.astype(np.complex128))).numpy().astype(np.complex64)
    np.testing.assert_array_equal(getattr(nv, name)(nv.constant(narrow)).numpy(), rounded)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("rsqrt", "sigmoid", "expm1", "log1p", "exp2")])
def test_borders(name):
    """A521: zeros, infinities and the ends of the range, where at most one part is infinite."""
    parts = [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, 1e308, 1e-308, -1e308, 710.0, -711.0, 1e200]
    numbers = np.array([complex(a, b) for a in parts for b in parts if not (np.isinf(a) and np.isinf(b))])
    if name in ("tan", "tanh"):  # of which NumPy gives fewer parts
        numbers = numbers[np.isfinite(numbers)]
    found, expected = getattr(nv, name)(nv.constant(numbers)).numpy(), NUMPY[name](numbers)
    assert (close(found.real, expected.real, 1e-13) & close(found.imag, expected.imag, 1e-13)).all()
    if name in ("sin", "cos", "sinh", "cosh"):
        for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
            is_sure = np.isfinite(numbers) & ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one)[is_sure], np.signbit(other)[is_sure])


@pytest.mark.parametrize("name", COMPLEX_FORMULAS)
def test_derivatives(name):
    """A521: those of complex functions, to second order, by the convention of claim Q1."""
    z = np.array([0.4 + 0.3j, -1.3 + 0.7j, 0.2 - 1.4j, 2.1 - 0.6j])
    arrays = [z, np.array([1.5 + 0.5j, 2.0, -0.7 + 1j, 0.5j])] if name == "power" else [z]
    check_derivatives("interpreter", lambda *operands: ops.ComplexFunction(*operands, function=name), arrays,
                      1 if name == "power" and not DEEP else 2, tolerance=1e-5)


@pytest.mark.parametrize("name", NAMES if DEEP else ["exp", "log", "tan", "acos"])
def test_transformers_agree(name):
    """A521: on the cpu and on xla as on the interpreter."""
    z = nv.Parameter(nv.complex128, POINTS[::5].shape)
    function = nv.Function([ops.ComplexFunction(z, function=name)], [z])
    expected = run("interpreter", function, [POINTS[::5]])[0]
    for transformer, digits in (("cpu", 1e-14), ("xla", 1e-11)):
        assert close(run(transformer, function, [POINTS[::5]])[0], expected, digits).all()


def test_powers():
    """A521: of complex numbers to complex numbers; whole ones, and those of 0."""
    z, w = POINTS[500:900], POINTS[1000:1400]
    np.testing.assert_allclose(nv.power(nv.constant(z), w).numpy(), np.power(z, w), rtol=1e-11)
    np.testing.assert_allclose((nv.constant(z) ** 3).numpy(), z ** 3, rtol=1e-13)
    np.testing.assert_allclose((2.5 ** nv.constant(z)).numpy(), 2.5 ** z, rtol=1e-12)
    np.testing.assert_allclose((nv.constant(np.abs(z)) ** nv.constant(w)).numpy(), np.abs(z) ** w, rtol=1e-11)
    zero = nv.constant(np.zeros(3, complex)) ** np.array([0, 2, 1 + 1j])
    assert zero.tolist() == [1, 0, 0]
    slope = nv.grad(lambda x: nv.real(nv.sum(x ** 3)))(z)
    np.testing.assert_allclose(slope, 3 * z ** 2, rtol=1e-12)


def test_numbers_with_one_real_part_are_told_apart():
    """A521: in one kernel, which broadcasts each number to its lanes; the signs of zeros count."""
    numbers = [0j, 1j, complex(0, -0.0), complex(-0.0, 0), 2 + 1j, 2 - 1j]
    z = nv.Parameter(nv.complex128, (9,))
    function = nv.Function([ops.Multiply(z, ops.Full(number, nv.complex128, (9,))) for number in numbers], [z])
    points = POINTS[:9]
    for found, expected in zip(run("cpu", function, [points]), run("interpreter", function, [points])):
        np.testing.assert_array_equal(found.view(np.uint64), expected.view(np.uint64))
