"""Special functions of an order, and the Faddeeva function, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import nervure as nv

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("order", [0, 1, 5, 30, 100])
def test_bessel_functions_of_all_orders_up_to_one(order):
    """A520: within 1e-14, from tiny to large numbers of either sign, and their derivatives."""
    x = np.concatenate([RNG.uniform(-150, 150, 200), 10.0 ** RNG.uniform(-12, 2, 100), [0.0, 1.0, float(order)]])
    expected = np.stack([special.jv(k, x) for k in range(order + 1)])
    np.testing.assert_allclose(nv.special.bessel_jn(x, order).numpy(), expected, rtol=0, atol=1e-14)


def test_slopes_of_bessel_functions():
    x = np.array([0.3, 2.0, 7.0, -4.0])
    slopes = nv.grad(lambda x: nv.sum(nv.special.bessel_jn(x, 3)[2]))(x)
    np.testing.assert_allclose(slopes, special.jvp(2, x), atol=1e-13)
    assert nv.special.bessel_jn(np.float32([1, 2]), 2).dtype is nv.float32


def test_harmonics_are_orthonormal_with_scipys_phase():
    theta, phi = RNG.uniform(0, np.pi, 40), RNG.uniform(0, 2 * np.pi, 40)
    for n in range(7):
        for m in range(-n, n + 1):
            found = nv.special.sph_harm_y(n, m, theta, phi).numpy()
            np.testing.assert_allclose(found, special.sph_harm_y(n, m, theta, phi), atol=1e-14)


def test_the_faddeeva_function_in_both_half_planes():
    z = (RNG.normal(size=500) + 1j * RNG.normal(size=500)) * 10 ** RNG.uniform(-6, 1.5, 500)
    z = np.concatenate([z[np.isfinite(special.wofz(z))], [0, 1j, 5, -5, 1e3 + 1e-9j]])
    np.testing.assert_allclose(nv.jit(nv.special.wofz)(z), special.wofz(z), rtol=1e-12)
    assert nv.special.wofz(np.complex64([1j])).dtype is nv.complex64


@pytest.mark.parametrize("make, text", [
    (lambda: nv.special.bessel_jn(1.0, -1), "there is no such order"),
    (lambda: nv.special.bessel_jn(1.0, 101), "0 to 100"),
    (lambda: nv.special.sph_harm_y(1, 2, 0.0, 0.0), "m from -n to n"),
    (lambda: nv.special.sph_harm_y(1.5, 0, 0.0, 0.0), "n is an integer"),
])
def test_mistakes_are_told(make, text):
    with pytest.raises(nv.NervureError, match=text):
        make()
