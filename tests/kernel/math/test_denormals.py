"""A result that rounds to 0 or is ordinary is made without a denormal on the way (O85)."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.math import FUNCTIONS
from nervure.kernel.math.arrays import evaluate
from nervure.ops.scalar import SCALAR_FUNCTIONS
from tests.kernel.math.assisted import assisted_lanes, is_denormal

TYPES = [np.float32, np.float64]
UNARY, BINARY = [[name for name in FUNCTIONS if len(SCALAR_FUNCTIONS[name].operands) == count] for count in (1, 2)]

# The least arguments whose results do not round to 0, or the greatest.
ENDS = {
    "exp": (-103.97207641601562, -745.1332191019411), "exp2": (-149.99998474121094, -1074.9999999999998),
    "sigmoid": (-103.97207641601562, -745.1332191019411), "softplus": (-103.97207641601562, -745.1332191019411),
    "erfc": (10.054194450378418, 27.226017111108362)}


def numbers(dtype, lowest, highest, count=400):
    """Random ones of both signs with magnitudes between two powers of two, and the ends."""
    rng = np.random.default_rng(7)
    sizes = np.exp2(rng.uniform(lowest, highest, count)) * rng.choice([-1.0, 1.0], count)
    ends = np.exp2(np.array([lowest, highest], np.float64))
    return np.concatenate([sizes, ends, -ends]).astype(dtype)


def exponents(dtype):
    """Those of the least and of the greatest power of two that is normal."""
    return int(np.finfo(dtype).minexp), int(np.finfo(dtype).maxexp) - 1


def everywhere(dtype, count=400):
    """Special, ordinary, tiny, huge numbers; a fraction of what is less than the tiny ones is denormal."""
    least, greatest = exponents(dtype)
    ranges = [(-9.0, 9.0), (least + 8, -9.0), (9.0, greatest)]
    return np.concatenate([special(dtype), *[numbers(dtype, *ends, count) for ends in ranges]])


def special(dtype):
    """Zeros, ones, huge ones, infinities, NaN."""
    greatest = np.finfo(dtype).max
    return np.array([0.0, -0.0, 1.0, -1.0, 1e30, -1e30, greatest, -greatest, np.inf, -np.inf, np.nan], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_nothing_is_denormal_on_the_way_to_what_is_not(name, dtype):
    """O85."""
    x = everywhere(dtype)
    results, assisted = assisted_lanes(FUNCTIONS[name], x)
    assert not (assisted & ~is_denormal(results)).any(), x[assisted & ~is_denormal(results)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_nothing_is_denormal_on_the_way_of_two(name, dtype):
    """O85: of sides that have quotients and powers of any size."""
    rng, x = np.random.default_rng(9), everywhere(dtype, 5000)
    near = x * (1 + rng.uniform(-0.5, 0.0, x.size)).astype(dtype)
    for left, right in [(x, rng.permutation(x)), (x, near), map(np.ravel, np.meshgrid(special(dtype), special(dtype)))]:
        results, assisted = assisted_lanes(FUNCTIONS[name], left, right)
        wrong = assisted & ~is_denormal(results)
        assert not wrong.any(), (left[wrong], right[wrong])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ENDS)
def test_results_round_to_0_exactly_from_one_argument_on(name, dtype):
    """O85: on one side of it every result is 0 without a denormal on the way, on the other none is 0."""
    end = dtype(ENDS[name][TYPES.index(dtype)])
    outward = dtype(np.inf if name == "erfc" else -np.inf)
    first_zero = np.nextafter(end, outward)
    zeros = np.concatenate([[first_zero, np.nextafter(first_zero, outward), outward],
                            np.linspace(float(first_zero), 4.0 * float(first_zero), 2000)]).astype(dtype)
    results, assisted = assisted_lanes(FUNCTIONS[name], zeros)
    assert not results.any() and not np.signbit(results).any() and not assisted.any()
    inside = np.linspace(float(end), 0.99 * float(end), 2000).astype(dtype)
    results = evaluate(FUNCTIONS[name], inside)
    assert is_denormal(results).all()
    assert is_denormal(evaluate(FUNCTIONS[name], np.array([end]))).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_powers_that_round_to_0(dtype):
    """O85: of x ** y, too."""
    rng, exponent = np.random.default_rng(8), exponents(dtype)[0] - np.finfo(dtype).nmant
    x = rng.uniform(0.01, 0.9, 2000)
    y = (exponent * rng.uniform(1.01, 50.0, 2000)) / np.log2(x)
    results, assisted = assisted_lanes(FUNCTIONS["power"], x.astype(dtype), y.astype(dtype))
    assert not results.any() and not assisted.any()


def test_what_counts_as_assisted():
    """Denormal operands, denormal results, and a 0 that a smaller number rounds to; not a 0 of 0, nor comparisons."""
    least = np.finfo(np.float32).tiny
    x = np.array([least, 1e-30, 0.0, 1.0, least / 2], np.float32)
    for function, expected in [
            (lambda s, x: x * 0.5, [1, 0, 0, 0, 1]), (lambda s, x: x * x, [1, 1, 0, 0, 1]),
            (lambda s, x: s.fma(x, x, 0.0), [1, 1, 0, 0, 1]), (lambda s, x: s.fma(x, x, 1.0), [0, 0, 0, 0, 1]),
            (lambda s, x: s.fma(x, -1.0, x), [0, 0, 0, 0, 1]), (lambda s, x: x - x, [0, 0, 0, 0, 1]),
            (lambda s, x: x / 1e30, [1, 1, 0, 0, 1]), (lambda s, x: 1.0 / x, [0, 0, 0, 0, 1]),
            (lambda s, x: s.sqrt(x), [0, 0, 0, 0, 1]), (lambda s, x: s.widened(x), [0, 0, 0, 0, 1]),
            (lambda s, x: s.where(x < 0.5, 0.0, x), [0, 0, 0, 0, 0]),
            (lambda s, x: s.narrowed(s.double.constant(1e-30) * s.widened(x)), [1, 1, 0, 0, 1])]:
        assert assisted_lanes(function, x)[1].tolist() == [bool(entry) for entry in expected]
