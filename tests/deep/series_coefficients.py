"""The coefficients of ``nervure/ops/formulas/fitted_polynomials.py``, computed.

    python -m tests.deep.series_coefficients > src/nervure/ops/formulas/fitted_polynomials.py

Each row of ``TARGETS`` is a function of t in [-1, 1]. The polynomial in t that meets it at the zeros of a Chebyshev
polynomial is written by its powers of t, rounded once: its error is within a small factor of the least one (DLMF 3.11).
All is computed in 60 digits.

>>> numbers = fitted(lambda t: mp.exp(t))
>>> len(numbers), abs(mp.polyval(numbers[::-1], 0.5) - mp.exp(0.5)) < 1e-16
(16, True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp, mpf

mp.dps = 60

Function = Callable[[Any], Any]


def fitted(function: Function, most: int = 64) -> tuple[float, ...]:
    """The coefficients, lowest power first, as many as double precision needs."""
    angles = [mp.pi * (k + mpf(1) / 2) / most for k in range(most)]
    values = [function(mp.cos(angle)) for angle in angles]
    series = [2 * mp.fdot(values, [mp.cos(j * angle) for angle in angles]) / most for j in range(most)]
    series[0] /= 2
    least = max(map(abs, values)) * mpf(2) ** -56
    while abs(series[-1]) < least:
        series.pop()
    return tuple(map(float, powers(series)))


def powers(series: list[Any]) -> list[Any]:
    """The coefficients by powers of t of a sum of Chebyshev polynomials, whose recurrence is T' = 2 t T - T''."""
    before, current = [mpf(1)], [mpf(0), mpf(1)]
    total = [mpf(0)] * len(series)
    for factor in series:
        for power, number in enumerate(before):
            total[power] += factor * number
        following = [mpf(0), *[2 * number for number in current]]
        for power, number in enumerate(before):
            following[power] -= number
        before, current = current, following
    return total


def of_inverse(start: float, function: Function) -> Function:
    """A function of x from ``start`` on, as one of t = 2 start / x - 1."""
    return lambda t: function(2 * mpf(start) / (t + 1)) if t > -1 else function(mpf(10) ** 40)


def of_inverse_square(start: float, function: Function) -> Function:
    """A function of x from ``start`` on, as one of t = 2 (start / x)**2 - 1."""
    return lambda t: function(start * mp.sqrt(2 / (t + 1)))


def of_square(end: float, function: Function) -> Function:
    """An even function of x up to ``end``, as one of t = 2 (x / end)**2 - 1."""
    return lambda t: function(end * mp.sqrt((t + 1) / 2))


def of_ratio(center: float, function: Function) -> Function:
    """A function of x >= 0, as one of t = (x - center) / (x + center)."""
    return lambda t: function(center * (1 + t) / (1 - t))


def between(low: float, high: float, function: Function) -> Function:
    """A function of x from ``low`` to ``high``."""
    return lambda t: function(mpf(low) + (mpf(high) - low) * (t + 1) / 2)


def wave(order: int, is_sine: bool) -> Function:
    """P and Q of Bessel functions, with J = sqrt(2 / (pi x)) (P cos(w) - Q sin(w)) and w = x - (order / 2 + 1/4) pi
    (DLMF 10.17); Q times x.
    """
    def part(x: Any) -> Any:
        angle = x - (mpf(order) / 2 + mpf(1) / 4) * mp.pi
        j, y, root = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
        if is_sine:
            return root * (y * mp.cos(angle) - j * mp.sin(angle)) * x
        return root * (j * mp.cos(angle) + y * mp.sin(angle))
    return part


def airy_tail(derivative: int) -> Function:
    """The slowly changing factor of Airy's function, or of its derivative, as one of zeta (DLMF 9.7.5, 9.7.6)."""
    def part(zeta: Any) -> Any:
        x = (3 * zeta / 2) ** (mpf(2) / 3)
        root = x ** (mpf(1) / 4)
        value = mp.airyai(x, derivative=derivative) * mp.exp(zeta)
        return -value / root if derivative else value * root
    return part


def airy_wave(derivative: int, is_sine: bool) -> Function:
    """The factors of cosine and sine in Ai(-x) or Ai'(-x), as functions of zeta; that of sine times it (DLMF 9.7.9)."""
    def part(zeta: Any) -> Any:
        x, angle = (3 * zeta / 2) ** (mpf(2) / 3), zeta - mp.pi / 4
        root = x ** (mpf(1) / 4)
        scale = 1 / root if derivative else root
        a, b = mp.airyai(-x, derivative=derivative) * scale, mp.airybi(-x, derivative=derivative) * scale
        if is_sine:
            return (a * mp.sin(angle) + b * mp.cos(angle)) * (1 if derivative else zeta)
        return (a * mp.cos(angle) - b * mp.sin(angle)) * (zeta if derivative else 1)
    return part


def regular(order: int) -> Function:
    """What is left of Y0, or of Y1 / x, without its logarithm and its pole (DLMF 10.8)."""
    def part(x: Any) -> Any:
        logarithm = 2 / mp.pi * mp.log(x / 2) * mp.besselj(order, x)
        rest = mp.bessely(order, x) - logarithm
        return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x
    return part


def quantile(tail: Any) -> Any:
    """The normal number that is exceeded with a chance, by Newton's method on its logarithm."""
    wanted, x = mp.log(tail), mp.sqrt(-2 * mp.log(tail)) if tail < mpf("0.3") else mpf("0.1")
    for _ in range(100):
        chance = mp.erfc(x / mp.sqrt(2)) / 2
        density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
        step = (mp.log(chance) - wanted) * chance / density
        x += step
        if abs(step) < mpf(10) ** -45 * (1 + abs(x)):
            break
    return x


def _quantile_near(square: Any) -> Any:
    """The quantile over its distance from 1/2, as a function of the square of that."""
    distance = mp.sqrt(square)
    return quantile(mpf(1) / 2 - distance) / distance


AIRY_LEFT, AIRY_RIGHT = 2 / mpf(3) * mpf(5) ** mpf("1.5"), 2 / mpf(3)
"""zeta at -5 and at 1, between which Airy's functions are polynomials."""

TARGETS: dict[str, Function] = {
    "I0_FAR": of_inverse(8, lambda x: mp.besseli(0, x) * mp.exp(-x) * mp.sqrt(x) if x < 1e30
                         else 1 / mp.sqrt(2 * mp.pi)),
    "I1_FAR": of_inverse(8, lambda x: mp.besseli(1, x) * mp.exp(-x) * mp.sqrt(x) if x < 1e30
                         else 1 / mp.sqrt(2 * mp.pi)),
    "K0_FAR": of_inverse(1, lambda x: mp.besselk(0, x) * mp.exp(x) * mp.sqrt(x)),
    "K1_FAR": of_inverse(1, lambda x: mp.besselk(1, x) * mp.exp(x) * mp.sqrt(x)),
    "J0_NEAR": of_square(8, lambda x: mp.besselj(0, x)),
    "J1_NEAR": of_square(8, lambda x: mp.besselj(1, x) / x),
    "Y0_NEAR": of_square(8, regular(0)),
    "Y1_NEAR": of_square(8, regular(1)),
    "P0_FAR": of_inverse_square(8, wave(0, False)), "Q0_FAR": of_inverse_square(8, wave(0, True)),
    "P1_FAR": of_inverse_square(8, wave(1, False)), "Q1_FAR": of_inverse_square(8, wave(1, True)),
    "ERFCX": of_ratio(4, lambda x: (x + 4) * mp.exp(x * x) * mp.erfc(x) if x < 1e10 else 1 / mp.sqrt(mp.pi)),
    "QUANTILE_NEAR": between(1e-30, 0.14, _quantile_near),
    "QUANTILE_FAR": between(1.4, 5.2, lambda r: quantile(mp.exp(-r * r))),
    "QUANTILE_FARTHEST": between(5.2, 27.4, lambda r: quantile(mp.exp(-r * r))),
    "AIRY_BELOW": between(-5, -2, mp.airyai), "AIRY_NEAR": between(-2, 1, mp.airyai),
    "AIRY_SLOPE_BELOW": between(-5, -2, lambda x: mp.airyai(x, derivative=1)),
    "AIRY_SLOPE_NEAR": between(-2, 1, lambda x: mp.airyai(x, derivative=1)),
    "AIRY_FAR": of_inverse(AIRY_RIGHT, airy_tail(0)), "AIRY_SLOPE_FAR": of_inverse(AIRY_RIGHT, airy_tail(1)),
    "AIRY_COSINE": of_inverse_square(AIRY_LEFT, airy_wave(0, False)),
    "AIRY_SINE": of_inverse_square(AIRY_LEFT, airy_wave(0, True)),
    "AIRY_SLOPE_COSINE": of_inverse_square(AIRY_LEFT, airy_wave(1, False)),
    "AIRY_SLOPE_SINE": of_inverse_square(AIRY_LEFT, airy_wave(1, True)),
    "LGAMMA_OF_1_MORE": between(0, 1, lambda a: mp.loggamma(1 + a) / a if a else -mp.euler),
}


HEADER = '''"""Polynomials in t from -1 to 1. Written by ``python -m tests.deep.series_coefficients``.

>>> round(P0_FAR[0], 4)
0.9995
"""
'''


def source(name: str) -> str:
    """The Python text of one row."""
    numbers = [repr(number) for number in fitted(TARGETS[name])]
    lines = [", ".join(numbers[at:at + 4]) for at in range(0, len(numbers), 4)]
    return f"{name} = ({(',' + chr(10) + '    ').join(lines)})"


if __name__ == "__main__":
    print("\n\n".join([HEADER.rstrip(), *map(source, TARGETS)]))
