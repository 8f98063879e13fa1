"""Minimax polynomials and their evaluation by Horner's and Estrin's schemes, one fused multiply-add for each
coefficient.

Horner's rule is the shortest code, but each step waits for the last, and a processor looks ahead too few instructions
to fill the gaps. So a long polynomial is halved, P(x) = E(x**2) + x O(x**2), at the cost of one square, and so are its
halves (G. Estrin, "Organization of computer systems", 1960).

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import DOUBLE
>>> horner(Arrays(DOUBLE), np.array([0.5, 3.0]), (1.0, 2.0, 4.0))
array([ 3., 43.])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.kernel.math.namespace import FloatFormat, Namespace, V, square_beside_1

Numbers = tuple[float, ...]

_UNDIVIDED = 6  # most coefficients of an undivided polynomial


class Coefficients(NamedTuple):
    """One polynomial for each precision, lowest power first."""

    float: Numbers
    double: Numbers

    def of(self, format: FloatFormat) -> Numbers:
        """Returns the coefficients for a format."""
        return self.float if format.bits == 32 else self.double


def polynomial(s: Namespace[V], x: V, coefficients: Coefficients | Sequence[float]) -> V:
    """Evaluates c0 + c1 x + c2 x**2 + ...; ``coefficients`` has two or more, lowest power first."""
    numbers = coefficients.of(s.format) if isinstance(coefficients, Coefficients) else coefficients
    if len(numbers) <= _UNDIVIDED:
        return horner(s, x, numbers)
    square = square_beside_1(s, x)  # valid since the lowest coefficients are not small beside the others
    return s.fma(polynomial(s, square, numbers[1::2]), x, polynomial(s, square, numbers[0::2]))


_LIFT = {"float": 100, "double": 220}  # places by which the least normal number, times the least square, is normal


def odd_polynomial(s: Namespace[V], x: V, square: V, coefficients: Coefficients) -> V:
    """Evaluates x + x (c0 square + c1 square**2 + ...), where ``square`` is that of x by :func:`square_beside_1`.

    The cube of a small x would be denormal: it is scaled up, and the coefficients are scaled down.
    """
    lift = 2.0 ** _LIFT[s.format.name]
    return s.fma(x * lift * square, polynomial(s, square, [c / lift for c in coefficients.of(s.format)]), x)


def horner(s: Namespace[V], x: V, coefficients: Coefficients | Sequence[float]) -> V:
    """Evaluates the polynomial of ``coefficients`` in the fewest instructions, one after the other."""
    numbers = coefficients.of(s.format) if isinstance(coefficients, Coefficients) else coefficients
    result = s.constant(numbers[-1])
    for number in reversed(numbers[:-1]):
        result = s.fma(result, x, number)
    return result
