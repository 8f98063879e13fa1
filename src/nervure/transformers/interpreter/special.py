"""Functions that NumPy lacks over float64 arrays, for every value: NaN, infinities and poles included.

>>> import numpy as np
>>> erf_inv(erf(np.array([0.25, -1.0, 2.0]))).round(12).tolist()
[0.25, -1.0, 2.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nervure.kernel.math import gamma
from nervure.kernel.math.arrays import evaluate


def _each(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """A function of one float, applied to every element."""
    x = np.asarray(x, np.float64)
    return np.array(list(map(function, x.ravel().tolist())), np.float64).reshape(x.shape)


def rsqrt(x: np.ndarray) -> np.ndarray:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x)), without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x."""
    return _each(math.erf, x)


def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf(x), with full relative accuracy in the right tail."""
    return _each(math.erfc, x)


def lgamma(x: np.ndarray) -> np.ndarray:
    """log |gamma(x)|; infinity at the poles 0, -1, -2, ... and where the value exceeds the largest float.

    ``math.lgamma`` loses all digits near the zeros 1 and 2 and those between the poles, so that it is none.
    """
    x = np.asarray(x, np.float64)
    return evaluate(gamma.lgamma, x.ravel()).reshape(x.shape)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse of erf. +-1 gives +-infinity, beyond is NaN.

    The start is S. Winitzki's formula ("A handy approximation for the error function and its inverse",
    2008; relative error 2e-3); three steps of Halley's method triple the correct digits each. In the upper
    half the residual is taken from erfc, where erf itself has no digits left.
    """
    x = np.asarray(x, np.float64)
    magnitude = np.abs(x)
    inside = magnitude < 1
    u = np.where(inside, magnitude, 0.0)
    logarithm = np.log1p(-u * u)
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    y = np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle)
    for _ in range(3):
        residual = np.where(u > 0.5, (1 - u) - erfc(y), erf(y) - u)
        step = residual * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    y = np.where(inside, y, np.where(magnitude == 1, np.inf, np.nan))
    return np.where(x == 0, x, np.copysign(y, x))


# Bernoulli numbers B_2k / 2k of the asymptotic series, k = 1..7 (Abramowitz and Stegun 6.3.18).
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of lgamma; at 0 an infinity with the other sign than the zero, at -1, -2, ... NaN.

    psi(x) = psi(x + 1) - 1/x raises x to 10 (Abramowitz and Stegun 6.3.5), where the asymptotic series
    6.3.18 has full accuracy; negative x are reflected by psi(x) = psi(1 - x) - pi / tan(pi x) (6.3.7).
    """
    x = np.asarray(x, np.float64)
    pole = (x < 0) & (x == np.floor(x))
    reflected = (x < 0) & ~pole
    y = np.where(pole, 1.0, np.where(reflected, 1 - x, x))
    below = np.zeros_like(y)
    for _ in range(10):
        small = y < 10
        below = below + np.where(small, 1 / y, 0.0)
        y = np.where(small, y + 1, y)
    inverse_square = 1 / (y * y)
    series = np.zeros_like(y)
    for coefficient in reversed(_DIGAMMA_SERIES):
        series = (series + coefficient) * inverse_square
    value = np.log(y) - 0.5 / y - series - below
    # From the nearest integer, not from the one below: a tiny negative x would be 1 less nothing.
    fraction = np.where(reflected, x - np.rint(x), 0.5)
    value = np.where(reflected, value - math.pi / np.tan(math.pi * fraction), value)
    return np.where(pole, np.nan, value)
