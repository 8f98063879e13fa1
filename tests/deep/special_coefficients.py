"""The polynomials of the trigonometric, error and gamma functions: the function that each approximates, and its error.

    python -m tests.deep.special_coefficients          the error of each, and the least that its degree allows

These were found by :func:`rounded_fit`: the exchange algorithm of Remez, after which the leading coefficients are
rounded one by one, and the others fitted again to what that changed. A row is judged by its error, not by its digits.
What is computed to twice the digits is a series, whose coefficients are those of :data:`SERIES` to the last bit.

>>> target = Target(lambda z: mp.exp(z), lambda z: mp.exp(-z), (-0.5, 0.5))
>>> numbers = rounded_fit(target, 3, digits=24, leading=2)
>>> greatest_error(target, numbers) < 3.3e-4
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf

from nervure.kernel.math import error_function, gamma, inverse_trigonometric, near_poles, near_zeros, trigonometric
from nervure.kernel.math.minimax import Coefficients
from nervure.kernel.math.pairs import Constants
from tests.deep.coefficients import Target, alternating, remez


class Row(NamedTuple):
    """A committed polynomial, what it stands for in float and in double, and the binary logarithms of the errors."""

    committed: Coefficients
    float: Target
    double: Target
    errors: tuple[float, float]

    def parts(self) -> list[tuple[Target, tuple[float, ...], float]]:
        """(target, coefficients, logarithm of the error) of each precision."""
        return [(self.float, in_digits(self.committed.float, 24), self.errors[0]),
                (self.double, self.committed.double, self.errors[1])]


def greatest_error(target: Target, numbers: Sequence[float], points: int = 400) -> float:
    """Weighted, on a grid that is dense at the ends."""
    low, high = [mpf(end) for end in target.interval]
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf(1) / 3) / points) for i in range(points)]
    return max([float(abs(mp.polyval(list(numbers)[::-1], x) - target.function(x)) * abs(target.weight(x)))
                for x in grid])


def in_digits(numbers: Sequence[float], digits: int) -> tuple[float, ...]:
    """Rounded to a float or a double, as kernels have them."""
    return tuple([float(np.float32(number)) if digits == 24 else number for number in numbers])


def rounded_fit(target: Target, degree: int, digits: int, leading: int) -> tuple[float, ...]:
    """The coefficients, of which the first ``leading`` are rounded before the next ones are fitted."""
    numbers: tuple[float, ...] = ()
    while len(numbers) < leading:
        numbers += in_digits([float(_higher_powers(target, numbers, degree)[0])], digits)
    return numbers + in_digits([float(number) for number in _higher_powers(target, numbers, degree)], digits)


def _higher_powers(target: Target, known: Sequence[float], degree: int, rounds: int = 20) -> list[Any]:
    """The best coefficients to go with the first ones, lowest first, by exchange on a grid."""
    powers, (low, high) = range(len(known), degree + 1), [mpf(end) for end in target.interval]
    count = len(powers) + 1
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf(1) / 3) / (30 * count))
            for i in range(30 * count)]
    weights = [target.weight(x) for x in grid]
    left = [(target.function(x) - mp.polyval([*known[::-1]] or [0], x)) * w for x, w in zip(grid, weights)]
    basis = [[w * x**power for power in powers] for x, w in zip(grid, weights)]
    chosen, best, least = [30 * i + 15 for i in range(count)], [mpf(0)] * len(powers), mp.inf
    for _ in range(rounds):
        rows = mp.matrix([[*basis[at], (-1) ** i] for i, at in enumerate(chosen)])
        numbers = list(mp.lu_solve(rows, mp.matrix([left[at] for at in chosen])))[:-1]
        errors = [wanted - mp.fdot(numbers, terms) for wanted, terms in zip(left, basis)]
        greatest = max([abs(error) for error in errors])
        if greatest < least:
            best, least = numbers, greatest
        chosen = alternating(errors, count)
        if len(chosen) < count:  # what is known has errors of its own, which the higher powers cannot undo
            break
    return best


def _of_square(odd: Callable[[Any], Any], end: Any, start: float = 1e-3) -> Target:
    """(f(x) - x) / x**3 in powers of x**2, relative to f."""
    return Target(lambda z: (odd(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z)**3,
                  lambda z: mp.sqrt(z)**3 / odd(mp.sqrt(z)), (start**2, end**2))


def _erf_near(end: float) -> Target:
    return Target(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
                  (1e-6, end**2))


def _erf_far(root: int, center: float, start: float, end: float) -> Target:
    return Target(lambda u: mp.root(mp.erfc(u + center), root),
                  lambda u: root * mp.erfc(u + center) ** (1 - mpf(1) / root) / mp.erf(u + center),
                  (start - center, end - center))


def _erfc_scaled(center: float, end: float) -> Target:
    def argument(ratio: Any) -> Any:
        return center * (1 + ratio) / (1 - ratio)

    def scaled(ratio: Any) -> Any:
        x = argument(ratio)
        return (x + center) * mp.exp(x * x) * mp.erfc(x)

    return Target(scaled, lambda ratio: 1 / scaled(ratio), (-1.0, (end - center) / (end + center)))


def _erf_inv_of(w: Any) -> tuple[Any, Any]:
    """(x, erf_inv(x)) with -log(1 - x**2) = w, by Newton's method on the logarithm of erfc."""
    x = mp.sqrt(-mp.expm1(-w))
    wanted = -w - mp.log1p(x)  # log(1 - x)
    y = mp.sqrt(w) * mpf("0.9")
    for _ in range(60):
        tail = mp.erfc(y)
        step = (mp.log(tail) - wanted) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mpf(10) ** -40 * y:
            break
    return x, y


def _erf_inv_near(start: float) -> Target:
    def ratio(u: Any) -> Any:
        x, y = _erf_inv_of(u + start / 2)
        return y / x

    return Target(ratio, lambda u: 1 / ratio(u), (1e-6 - start / 2, start / 2))


def _erf_inv_tail(center: float, start: float, end: float) -> Target:
    def value(u: Any) -> Any:
        return _erf_inv_of((u + center) ** 2)[1]

    return Target(value, lambda u: 1 / value(u), (math.sqrt(start) - center, math.sqrt(end) - center))


def _lgamma_far(u: Any) -> Any:
    x = 1 / mp.sqrt(u)
    return (mp.loggamma(x) - (x - mpf(1) / 2) * (mp.log(x) - 1) - (mp.log(2 * mp.pi) - 1) / 2) * x


def _digamma_far(u: Any) -> Any:
    x = 1 / mp.sqrt(u)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / u


_ROOT = mp.findroot(mp.digamma, 1.4616321449683622)
_SINES = [_of_square(mp.sin, mp.pi / 2 * (1 + mpf(2) ** power)) for power in (-7, -20)]
_ASIN, _ATAN = _of_square(mp.asin, 0.5), _of_square(mp.atan, 1.0)
_LGAMMA_NEAR = Target(lambda w: mp.loggamma(2 + w) / w, lambda w: w / mp.loggamma(2 + w), (-0.6875, 0.3125))
_LGAMMA_FAR = Target(_lgamma_far, lambda u: mp.sqrt(u) / mp.loggamma(1 / mp.sqrt(u)), (1e-6, 3.3125 ** -2))
_DIGAMMA_NEAR = Target(lambda u: mp.digamma(u + 1.5) / (u + 1.5 - _ROOT),
                       lambda u: (u + 1.5 - _ROOT) / mp.digamma(u + 1.5), (-0.5, 0.5))
_DIGAMMA_FAR = Target(_digamma_far, lambda u: u / mp.digamma(1 / mp.sqrt(u)), (1e-6, 1 / 9))

ROWS: dict[str, Row] = {
    "sine": Row(trigonometric._SINE, *_SINES, (-27.0, -61.5)),
    "asin": Row(inverse_trigonometric._ASIN, _ASIN, _ASIN, (-27.6, -55.8)),
    "atan": Row(inverse_trigonometric._ATAN, _ATAN, _ATAN, (-28.4, -54.7)),
    "erf near 0": Row(error_function._NEAR, _erf_near(0.875), _erf_near(1.0), (-26.0, -55.8)),
    "erf beyond": Row(error_function._FAR, _erf_far(4, 1.75, 0.875, 3.95), _erf_far(8, 2.0, 1.0, 5.95), (-29.8, -57.0)),
    "erfc": Row(error_function._SCALED, _erfc_scaled(3.0, 10.1), _erfc_scaled(4.0, 27.25), (-26.6, -53.7)),
    "erf_inv near 0": Row(error_function._INVERSE_NEAR, _erf_inv_near(4.25), _erf_inv_near(5.5), (-24.3, -55.0)),
    "erf_inv beyond": Row(error_function._INVERSE_TAIL, _erf_inv_tail(3.0, 4.25, 15.95), _erf_inv_tail(4.0, 5.5, 36.05),
                          (-25.2, -54.0)),
    "lgamma near 2": Row(gamma._LGAMMA_NEAR, _LGAMMA_NEAR, _LGAMMA_NEAR, (-25.1, -54.3)),
    "lgamma beyond": Row(gamma._LGAMMA_FAR, _LGAMMA_FAR, _LGAMMA_FAR, (-30.9, -56.7)),
    "digamma near its root": Row(gamma._DIGAMMA_NEAR, _DIGAMMA_NEAR, _DIGAMMA_NEAR, (-26.2, -53.5)),
    "digamma beyond": Row(gamma._DIGAMMA_FAR, _DIGAMMA_FAR, _DIGAMMA_FAR, (-33.2, -57.6)),
}


def _reciprocal_gamma(count: int) -> list[Any]:
    """The first coefficients of 1 / gamma(1 + d) in powers of d, by its logarithm's (Abramowitz and Stegun 6.1.33)."""
    numbers = [mpf(1)]
    for n in range(1, count):
        rest = sum([(-1) ** k * mp.zeta(k) * numbers[n - k] for k in range(2, n + 1)])
        numbers.append((mp.euler * numbers[n - 1] - rest) / n)
    return numbers


def _zeta(count: int) -> list[Any]:
    """zeta(2) - 1, zeta(4) - 1, ..."""
    return [mp.zeta(2 * k) - 1 for k in range(1, count + 1)]


def _asymptotic(count: int) -> list[Any]:
    """B(2) / 2, B(4) / 4, ... of the Bernoulli numbers."""
    return [mp.bernoulli(2 * k) / (2 * k) for k in range(1, count + 1)]


class Series(NamedTuple):
    """Committed coefficients in two parts, and the exact ones, as many as are asked for."""

    committed: Constants
    exact: Callable[[int], list[Any]]

    def computed(self) -> Constants:
        """What is committed, computed again."""
        highs, lows = self.committed
        with mp.workdps(60):
            numbers = self.exact(len(highs))
            nearest = [float(number) for number in numbers]
            return tuple(nearest), tuple([float(number - high) for number, high in zip(numbers[:len(lows)], nearest)])


SERIES: dict[str, Series] = {
    "1 / gamma(1 + d)": Series(near_poles._RECIPROCAL_GAMMA, _reciprocal_gamma),
    "cotangent": Series(near_zeros._ZETA, _zeta),
    "digamma beyond": Series(near_zeros._asymptotic_series(), _asymptotic),
}


if __name__ == "__main__":
    for name, row in ROWS.items():
        for kind, (target, numbers, _) in zip(("float", "double"), row.parts()):
            error, least = greatest_error(target, numbers), remez(target, len(numbers) - 1)[1]
            print(f"{name}, {kind}: 2**{math.log2(error):.1f}; the least for degree {len(numbers) - 1} is "
                  f"2**{float(mp.log(least, 2)):.1f}")
    for name, series in SERIES.items():
        print(f"{name}: {series.computed()}")
