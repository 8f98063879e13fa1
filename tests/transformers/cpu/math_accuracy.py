"""The reference and the permitted error of each vector function, one row of ``ROWS`` a function.

A float32 result is compared with a float64 reference over NumPy, which is itself compared with mpmath; a float64
result with mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from nervure.kernel.math import FUNCTIONS
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dtype import float64
from tests.conformance.meaning import formula, meaning
from tests.transformers.cpu.math_harness import random_of_each_exponent


class Row(NamedTuple):
    """Limits in units in the last place. ``reference`` and ``exact``: over arrays of NumPy, over a number of mpmath.
    ``sample``: arguments of a function of several, of a type, and how many about.
    """

    float32: float
    reference: Callable[..., Any]
    exact: Callable[..., Any]
    float64: float = 4.0
    operands: int = 1
    sample: Callable[[Any, int], tuple[np.ndarray, ...]] | None = None


def _sigmoid(x: Any) -> Any:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1.0) / (1.0 + power)


def _erfc(x: Any) -> Any:
    """SciPy's, but denormal where that gives 0."""
    result = np.asarray(special.erfc(x))
    at = (result == 0) & (x < 28)
    result[at] = [math.erfc(entry) for entry in x[at]]
    return result


def _is_pole(x: Any) -> Any:
    return (x <= 0) & (x == np.floor(x))


def _lgamma(x: Any) -> Any:
    """SciPy's, but for tiny numbers, of which that is infinite, and around 1 and 2, where it loses digits."""
    value = np.asarray(np.where(np.abs(x) < 1e-300, -np.log(np.abs(x)), special.gammaln(x)))
    for whole in (1, 2):
        at = np.abs(x - whole) < 0.05
        value[at] = (np.log1p(x[at] - 2) if whole == 2 else 0.0) + _lgamma_around_one(x[at] - whole)
    return np.where(np.isinf(x), np.inf, value)


_ZETA_TERMS = [special.zeta(k) / k for k in range(15, 1, -1)]


def _lgamma_around_one(z: Any) -> Any:
    """lgamma(1 + z) by the series of Abramowitz and Stegun 6.1.33."""
    return np.polyval([*_ZETA_TERMS, np.euler_gamma, 0.0], -z)


def _erf_inv(x: Any) -> Any:
    """From the quantiles of the normal distribution, by Newton's method; near 0, where these are rough, a series."""
    size = np.abs(x)
    tail = 1 - size
    y = -special.ndtri(tail / 2) / math.sqrt(2)
    wrong = np.where(size < 0.5, special.erf(y) - size, tail - special.erfc(y))
    y = y - wrong * np.exp(y * y) * (math.sqrt(math.pi) / 2)
    square = math.pi * size * size
    near = size * (math.sqrt(math.pi) / 2) * (1 + square / 12 + 7 * square * square / 480)
    y = np.where(size < 1e-3, near, np.where(size == 1, np.inf, y))
    return np.copysign(np.where(size > 1, np.nan, y), x)


def _digamma(x: Any) -> Any:
    """SciPy's, but by reflection below 0, where its own is far off near poles."""
    fraction = x - np.rint(x)
    part = np.abs(fraction)
    cotangent = np.where(part > 0.25, np.tan(np.pi * (0.5 - part)), 1 / np.tan(np.pi * part))
    reflected = special.psi(1 - x) - np.pi * np.copysign(cotangent, fraction)
    value = np.where(x == 0, np.copysign(np.inf, -x), np.where(x < 0, reflected, special.psi(x)))
    return np.where(_is_pole(x) & (x != 0), np.nan, value)


def power_arguments(dtype: Any, count: int) -> tuple[np.ndarray, ...]:
    """Bases of any size to small powers and to whole ones, and bases near 1 to powers that take them to the ends of the
    range.
    """
    rng, limit, part = np.random.default_rng(7), np.finfo(dtype).maxexp, count // 3
    sizes = np.abs(random_of_each_exponent(dtype, 2, 8))
    anywhere = rng.choice(sizes[np.isfinite(sizes) & (sizes > 0)], part)
    near = (1 + rng.uniform(-0.3, 0.4, part) * 2.0 ** rng.uniform(-18, 0, part)).astype(dtype)
    near[near == 1] = 2
    extreme = rng.uniform(-1.2, 1.05, part) * limit / np.log2(near.astype(np.float64))
    signed, whole = rng.uniform(-9, 9, part), np.round(rng.uniform(-30, 30, part))
    return (np.concatenate([anywhere, signed, near]).astype(dtype),
            np.concatenate([rng.uniform(-3, 3, part), whole, extreme]).astype(dtype))


def points(dtype: Any, count: int) -> tuple[np.ndarray, ...]:
    """Coordinates of any size, and of sizes that are near each other."""
    rng, part = np.random.default_rng(9), count // 2
    sizes = random_of_each_exponent(dtype, 2, 10)
    anywhere = [rng.choice(sizes[np.isfinite(sizes)], part) for _ in range(2)]
    near = [rng.normal(size=part).astype(dtype) for _ in range(2)]
    return tuple([np.concatenate([far, close]) for far, close in zip(anywhere, near)])


_REFERENCES: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": _sigmoid,
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), "erfc": _erfc, "lgamma": _lgamma,
    "digamma": _digamma, "erf_inv": _erf_inv,
}
"""What neither NumPy nor SciPy gives under that name, or not to all digits of float64."""

_SAMPLES = {"power": power_arguments, "atan2": points}


def _reference(name: str) -> Callable[..., Any]:
    """A function over float64 arrays: NumPy's or SciPy's; without one the oracle's, number by number."""
    found = _REFERENCES.get(name) or getattr(np, name, None) or getattr(special, name, None)
    return found or np.vectorize(lambda *numbers: meaning(name, float64, *map(float, numbers)), otypes=[np.float64])


def _row(name: str) -> Row:
    """The row of a function, whose limits are those that it declares."""
    declared = SCALAR_FUNCTIONS[name]
    limits = (declared.ulps, 4.0) if declared.ulps else (0.5, 0.5)
    return Row(limits[0], _reference(name), formula(name), limits[1], len(declared.operands),
               _SAMPLES.get(name))


ROWS: dict[str, Row] = {name: _row(name) for name in SCALAR_FUNCTIONS if name in FUNCTIONS}

SPECIALS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, np.pi, np.inf, -np.inf, np.nan])


def specials(dtype: Any) -> np.ndarray:
    """Zeros, infinities, NaN, simple numbers, the ends of the range and the neighbours of 1."""
    info = np.finfo(dtype)
    ends = [info.max, info.tiny, info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg, info.eps,
            np.nextafter(info.tiny, dtype(0))]
    return np.concatenate([SPECIALS, ends, np.negative(ends)]).astype(dtype)


def doubles(count: int) -> np.ndarray:
    """Some ten times ``count`` float64 numbers: of all exponents, and where most functions bend."""
    rng = np.random.default_rng(1)
    everywhere = random_of_each_exponent(np.float64, 1, 2)
    bends = [rng.uniform(-scale, scale, count) for scale in (0.5, 3, 40, 750)]
    near_one = 1 + rng.uniform(-1, 1, count) * 2.0 ** rng.uniform(-50, -1, count)
    return np.concatenate([rng.choice(everywhere, 4 * count), *bends, near_one, -near_one])
