"""Corners of the special functions that a sweep over all exponents does not meet."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from nervure.transformers.interpreter import special
from tests.transformers.cpu.math_harness import exact_parts, on_arrays, ulps

# The first is the double nearest to a multiple of pi/2, relative to its size (W. Kahan, "Minimizing q*m - n", 1983).
NEAR_MULTIPLES = np.array([6381956970095103.0 * 2.0**797, 5.319372648326541e255, np.pi, np.pi / 2, 1e22,
                           2.0**30 * np.pi])

SINES = {"sin": mp.sin, "cos": mp.cos, "tan": mp.tan}


@pytest.mark.parametrize("name", SINES)
def test_angles_near_multiples_of_a_quarter_turn(name):
    x = np.concatenate([NEAR_MULTIPLES, -NEAR_MULTIPLES])
    with mp.workprec(2400):
        exact = [SINES[name](mp.mpf(float(entry))) for entry in x]
        wanted = np.array([float(value) for value in exact])
        rest = np.array([float(value - mp.mpf(high)) for value, high in zip(exact, wanted)])
    assert ulps(on_arrays(name, np.float64, 4)(x), wanted, rest).max() <= 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "lgamma", "digamma"])
def test_a_rare_lane_leaves_the_others_alone(name, dtype):
    function = on_arrays(name, dtype, 8)
    usual = np.linspace(0.25, 7.5, 16).astype(dtype)
    mixed = usual.copy()
    mixed[[3, 8, 15]] = [-1e5, -2.5, -3e30]
    same = mixed == usual
    assert function(mixed)[same].tobytes() == function(usual)[same].tobytes()
    assert function(mixed)[~same].tobytes() == function(mixed[~same]).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atan2_of_zeros_and_infinities(dtype):
    numbers = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, -1e30], dtype)
    y, x = [grid.ravel() for grid in np.meshgrid(numbers, numbers)]
    got, wanted = on_arrays("atan2", dtype, 8, 2)(y, x), np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert ulps(got, wanted).max() <= 4
    assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(wanted)].all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gamma_at_poles_and_ends(dtype):
    lgamma, digamma = [on_arrays(name, dtype, 8) for name in ("lgamma", "digamma")]
    poles = np.array([0.0, -0.0, -1.0, -2.0, -17.0, -2.0**40, -np.inf], dtype)
    assert np.isposinf(lgamma(poles)).all()
    assert digamma(poles[:2]).tolist() == [-np.inf, np.inf] and np.isnan(digamma(poles[2:])).all()
    assert np.isposinf(lgamma(np.array([np.inf, np.finfo(dtype).max], dtype))).all()
    assert np.isposinf(digamma(np.array([np.inf], dtype))).all()
    assert lgamma(np.array([1.0, 2.0], dtype)).tolist() == [0.0, 0.0]


def test_lgamma_of_floats_has_its_digits_even_near_zeros_below_0():
    near_zeros = np.array([-2.4570247, -2.7476826, -3.1435809, -3.9552943, -4.0393615, -5.0082183], np.float32)
    x = np.concatenate([near_zeros, np.nextafter(near_zeros, np.float32(0))])
    wanted, _ = exact_parts(lambda x: mp.re(mp.loggamma(x)), x.astype(np.float64))
    assert ulps(on_arrays("lgamma", np.float32, 8)(x), wanted).max() <= 1


def test_lgamma_of_doubles_has_its_digits_even_at_its_zeros():
    """O80: near 1 and 2, where the sum of logarithms that reflection is has none left, and beside every pole."""
    with mp.workdps(50):
        zeros = [float(mp.findroot(lambda x: mp.log(abs(mp.gamma(x))), start)) for start in (
            -2.457, -2.7477,
            *[-n + side / mp.factorial(n) * (1 + mp.mpf(1) / 10 / n) for n in range(3, 18) for side in (1, -1)])]
    around = [entry for zero in [1.0, 2.0, *zeros] for end in (-np.inf, np.inf) for entry in (
        np.nextafter(zero, end), np.nextafter(np.nextafter(zero, end), end), zero * (1 + 1e-9 * np.sign(end)))]
    beside = [np.nextafter(-n, end) for n in range(1, 60) for end in (-np.inf, np.inf)]
    x = np.array([*zeros, *around, *beside, *np.random.default_rng(1).uniform(-80, 0, 100)])
    wanted, rest = exact_parts(lambda x: mp.log(abs(mp.gamma(x))), x)
    for found in (on_arrays("lgamma", np.float64, 4)(x), special.lgamma(x)):
        assert ulps(found, wanted, rest).max() <= 2


def zero_of_digamma_above(pole):
    """Nearly the double that is nearest to the zero between a pole from -1 down and the next one, found in mpmath."""
    start = pole + (mp.atan(mp.pi / mp.log(-pole)) / mp.pi if pole < -1 else 0.496)
    return float(mp.findroot(mp.digamma, start))


# Where floats come nearest to a zero, of 2**18 zeros between powers of two.
FAR_FROM_0 = [-161.82397065204088, -496.8509048628233, -1965.8749921566869, -2977.8808777877402, -20377.902394932844,
              -503640.9252418801, -8191196.937977324, -136691953.9471111, -1847709790.9534678, -17636594987.957863,
              -264522454215.96216, -4543468186180.966, -35181787973387.97, -70367409161095.97]


def test_digamma_of_doubles_has_its_digits_even_at_its_zeros():
    """O80: between poles, where what it is made of cancels; from -2**48 on zeros lie between a pole and a float."""
    rng = np.random.default_rng(2)
    zeros = [zero_of_digamma_above(-n) for n in [*range(1, 200), *range(200, 1001, 25)]]
    around = [np.nextafter(zero, end) for zero in [*zeros, *FAR_FROM_0] for end in (-np.inf, 0)]
    beside = [np.nextafter(-n, end) for n in [*range(1, 60), 2**40, 2**51] for end in (-np.inf, 0)]
    ends = [-2.0**-60, np.nextafter(-2.0**-60, -1), np.nextafter(-2.0**-60, 0), -1e-300, 0.5 - 2.0**52, 0.5 - 2.0**51]
    spread = [-rng.uniform(0, 40, 300), -np.exp2(rng.uniform(-60, 51, 300)), -np.arange(1, 40) + 0.5]
    x = np.concatenate([zeros, FAR_FROM_0, around, beside, ends, *spread])
    x = x[x != np.rint(x)]
    wanted, rest = exact_parts(mp.digamma, x)
    for found in (on_arrays("digamma", np.float64, 4)(x), special.digamma(x)):
        assert ulps(found, wanted, rest).max() <= 3


def test_digamma_has_its_digits_near_its_root():
    x = 1.4616321449683622 + np.linspace(-1e-6, 1e-6, 25)
    for dtype in (np.float32, np.float64):
        rounded = np.append(x, 1.4616321449683622).astype(dtype)
        got = on_arrays("digamma", dtype, 8)(rounded)
        assert ulps(got, *exact_parts(mp.digamma, rounded.astype(np.float64))).max() <= 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erfc_dies_away_through_denormals(dtype):
    start, end = (9.0, 10.05) if dtype is np.float32 else (26.0, 27.22)
    x = np.linspace(start, end, 300).astype(dtype)
    got = on_arrays("erfc", dtype, 8)(x)
    assert ulps(got, *exact_parts(mp.erfc, x.astype(np.float64))).max() <= 4
    assert (got > 0).all() and (got < np.finfo(dtype).tiny).any() and (np.diff(got) <= 0).all()
