"""Polynomials, sums over one more dimension and conditions, which formulas share.

An integral is a sum over the nodes of a quadrature, and so a sum over a dimension that no memory holds: kernels keep
its terms in registers.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float64, (3,)).value
>>> integral(lambda node, x: node * x, 8, x)
f64[3] Sum(Multiply)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from functools import cache

import numpy as np

from nervure.ir.leaves import Constant
from nervure.ir.op import Operand, Value
from nervure.ops.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, LogicalAnd, LogicalNot, LogicalOr
from nervure.ops.selection import where
from nervure.ops.views import Broadcast

__all__ = ["both", "either", "exactly", "greater", "greater_equal", "integral", "less", "less_equal", "negation",
           "not_a_number", "polynomial", "total", "where"]


def polynomial(x: Operand, coefficients: Sequence[float]) -> Value:
    """Returns c0 + c1 x + c2 x**2 + ... by Horner's scheme."""
    result = x.full(coefficients[-1])
    for number in reversed(coefficients[:-1]):
        result = result * x + number
    return result


def total(term: Callable[..., Operand], numbers: np.ndarray, *operands: Operand) -> Value:
    """Returns the sum over ``numbers`` (a row for each) of ``term(*numbers, *operands)``, at every index."""
    shape = operands[0].shape
    rank, count = len(shape), numbers.shape[1]
    rows = [Broadcast(Constant(row), (*shape, count), range(rank)).output for row in numbers]
    spread = [Broadcast(operand, (*shape, count), [rank]).output for operand in operands]
    return term(*rows, *spread).value.sum([rank])


@cache
def _nodes(count: int) -> np.ndarray:
    """Returns nodes and weights of Gauss and Legendre on [0, 1], rounded once (DLMF 3.5.15, 18.9.17).

    NumPy's lose four digits at the ends, where the integrands are large: a step of Newton in 40 digits finds them.
    """
    found = []
    with localcontext() as context:
        context.prec = 40
        for start in np.polynomial.legendre.leggauss(count)[0].tolist():
            node = Decimal(start)
            for _ in range(2):
                value, slope = _legendre(count, node)
                node -= value / slope
            found.append((float((node + 1) / 2), float(1 / ((1 - node * node) * slope * slope))))
    return np.array(found).T


def _legendre(count: int, x: Decimal) -> tuple[Decimal, Decimal]:
    """Returns the polynomial of Legendre of the degree ``count`` at x, and its slope."""
    before, current = Decimal(1), x
    for k in range(1, count):
        before, current = current, ((2 * k + 1) * x * current - k * before) / (k + 1)
    return current, count * (x * current - before) / (x * x - 1)


def integral(function: Callable[..., Operand], count: int, *operands: Operand) -> Value:
    """Returns the integral of ``function(node, *operands)`` over nodes in [0, 1], by a quadrature with ``count`` of
    them.
    """
    return total(lambda node, weight, *spread: function(node, *spread) * weight, _nodes(count), *operands)


def less(x: Operand, number: float | Operand) -> Value:
    """Whether x is below a number or a value."""
    return Less(x, _like(x, number)).output


def less_equal(x: Operand, number: float | Operand) -> Value:
    """Whether x is at most a number or a value."""
    return LessEqual(x, _like(x, number)).output


def greater(x: Operand, number: float | Operand) -> Value:
    """Whether x is above a number or a value."""
    return Greater(x, _like(x, number)).output


def greater_equal(x: Operand, number: float | Operand) -> Value:
    """Whether x is at least a number or a value."""
    return GreaterEqual(x, _like(x, number)).output


def exactly(x: Operand, number: float | Operand) -> Value:
    """Whether x equals a number or a value."""
    return Equal(x, _like(x, number)).output


def both(first: Operand, *others: Operand) -> Value:
    """Whether all conditions hold."""
    found = first.value
    for other in others:
        found = LogicalAnd(found, other).output
    return found


def either(first: Operand, *others: Operand) -> Value:
    """Whether one of the conditions holds."""
    found = first.value
    for other in others:
        found = LogicalOr(found, other).output
    return found


def negation(condition: Operand) -> Value:
    """Whether a condition does not hold: so it is with NaN in a comparison."""
    return LogicalNot(condition).output


def not_a_number(condition: Operand, result: Operand) -> Value:
    """Returns a result, but NaN where a condition holds."""
    return where(condition, math.nan, result)


def _like(x: Operand, number: float | Operand) -> Operand:
    return number if isinstance(number, Operand) else x.full(number)
