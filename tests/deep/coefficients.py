"""The coefficients of nervure.kernel.math/coefficients.py, computed.

    python -m tests.deep.coefficients > nervure.kernel.math/coefficients.py

Each row of ``TARGETS`` is a polynomial that stands for a function on an interval, with the least possible maximum of
the *weighted* error: the exchange algorithm of Remez (1934), in 60 digits. The weight makes of the polynomial's
error the relative error of the result that it is a part of. Coefficients are rounded once at the end.

>>> target = Target(lambda x: mp.exp(x), lambda x: mp.exp(-x), (-0.5, 0.5))
>>> coefficients, error = remez(target, 3)
>>> [round(float(c), 3) for c in coefficients], float(error) < 1e-3
([1.0, 1.001, 0.51, 0.165], True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

mp.dps = 60


@dataclass(frozen=True)
class Target:
    """What a polynomial stands for, what an error in it counts, and where. ``degrees``: for float32 and float64."""

    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    interval: tuple[float, float]
    degrees: tuple[int, int] = (0, 0)


def remez(target: Target, degree: int, rounds: int = 30) -> tuple[list[Any], Any]:
    """The coefficients of the best polynomial, lowest first, and its greatest weighted error."""
    low, high = [mpf(end) for end in target.interval]
    middle, half = (low + high) / 2, (high - low) / 2
    count = degree + 2
    grid = [middle - half * mp.cos(mp.pi * (i + mpf(1) / 3) / (40 * count)) for i in range(40 * count)]
    values, weights = [target.function(x) for x in grid], [abs(target.weight(x)) for x in grid]
    # A weight that vanishes inside the interval would leave fewer alternations than coefficients.
    weights = [max(weight, max(weights) / 16) for weight in weights]
    chosen = [40 * i + 20 for i in range(count)]
    for _ in range(rounds):
        rows = [[*[grid[at] ** j for j in range(count - 1)], (-1) ** i / weights[at]] for i, at in enumerate(chosen)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([values[at] for at in chosen]))
        coefficients, level = list(solution)[:-1], abs(solution[count - 1])
        errors = [(mp.polyval(coefficients[::-1], x) - value) * weight
                  for x, value, weight in zip(grid, values, weights)]
        chosen = alternating(errors, count)
        greatest = max([abs(error) for error in errors])
        if greatest - level <= level * mpf("1e-3"):
            break
    return coefficients, greatest


def alternating(errors: list[Any], count: int) -> list[int]:
    """The places of the greatest errors whose signs alternate."""
    places: list[int] = []
    for at, error in enumerate(errors):
        if places and (errors[places[-1]] > 0) == (error > 0):
            places[-1] = max(places[-1], at, key=lambda place: abs(errors[place]))
        else:
            places.append(at)
    while len(places) > count:
        places.pop(0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1)
    return places


def table(target: Target, digits: int) -> tuple[tuple[float, ...], float]:
    """The rounded coefficients for 24 or 53 binary digits, and the greatest weighted error before rounding."""
    coefficients, error = remez(target, target.degrees[digits == 53])
    return tuple([float(np.float32(c)) if digits == 24 else float(c) for c in coefficients]), float(error)


_HALF_LOG_2 = 0.34660

TARGETS: dict[str, Target] = {
    # exponential.py: e**r = 1 + r + r**2 q(r), relative to e**r - 1; 2**r = 1 + r q(r)
    "EXP": Target(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r), (-_HALF_LOG_2, _HALF_LOG_2),
                  (4, 10)),
    "EXP2": Target(lambda r: mp.expm1(r * mp.ln2) / r, lambda r: r, (-0.5, 0.5), (5, 11)),
    # logarithm.py: log(1 + f) = f + f**2 q(f)
    "LOG": Target(lambda f: (mp.log1p(f) - f) / f**2, lambda f: f**2 / mp.log1p(f), (-1 / 3, 1 / 3), (8, 19)),
    # hyperbolic.py: sinh(r) = r + r z q(z), cosh(r) = 1 + z q(z), with z = r**2
    "SINH": Target(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, (0, _HALF_LOG_2**2), (1, 4)),
    "COSH": Target(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, lambda z: z, (0, _HALF_LOG_2**2), (2, 5)),
    # hyperbolic.py: tanh(x) = x + x z q(z), with z = x**2
    "TANH": Target(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, (0, 0.55**2), (3, 9)),
    # activation.py: log(1 + e) = e q(e - 1/2)
    "SOFTPLUS": Target(lambda t: mp.log1p(t + 0.5) / (t + 0.5), lambda t: (t + 0.5) / mp.log1p(t + 0.5), (-0.5, 0.5),
                       (9, 20)),
    # power.py: log2((1 + s) / (1 - s)) = 2 log2(e) (s + s z q(z)), with z = s**2
    "POWER": Target(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, (0, 0.1716**2), (3, 7)),
}


HEADER = '''"""Polynomials of least maximum error. Written by ``python -m tests.deep.coefficients``.

>>> LOG.float[:2]
(-0.5, 0.3333320915699005)
"""

from nervure.kernel.math.minimax import Coefficients
'''


def source(name: str) -> str:
    """The Python text of one row."""
    single, double = [table(TARGETS[name], digits) for digits in (24, 53)]
    low, high = TARGETS[name].interval
    errors = [f"2**{math.log2(error):.1f}" for _, error in (single, double)]
    return "\n".join([
        f"# On [{low:.5g}, {high:.5g}], degrees {len(single[0]) - 1} and {len(double[0]) - 1}; "
        f"weighted errors before rounding {errors[0]} and {errors[1]}.",
        f"{name} = Coefficients(", f"    float=({_wrapped(single[0])}),", f"    double=({_wrapped(double[0])}))"])


def _wrapped(numbers: tuple[float, ...]) -> str:
    return ",\n            ".join([", ".join(map(repr, numbers[at:at + 4])) for at in range(0, len(numbers), 4)])


if __name__ == "__main__":
    print("\n\n".join([HEADER.rstrip(), *[source(name) for name in TARGETS]]))
