"""Sums of hypergeometric series in numbers of two parts, with what they lose; continuation; differences.

Above 1/2, the solution of Gauss's differential equation (DLMF 15.10.1) is continued from 1/2 by its Taylor series, each
of which halves the distance to 1.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float64, (3,)).value
>>> series([NumberPair.of(x)], [NumberPair.of(x)], NumberPair.of(x)).error
f64[3] Multiply(While, Full)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nervure.ir.leaves import Constant
from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute
from nervure.ops.formulas.formula_parts import both, either, exactly, greater, less, less_equal, where
from nervure.ops.formulas.number_pairs import NumberPair, pairs_of, parts_of, repeated
from nervure.ops.selection import Maximum
from nervure.ops.views import Broadcast, Reshape, Slice

_NEGLIGIBLE = 2.0 ** -114  # of a term, beside all others
_ROUNDED = 2.0 ** -102  # what a sum loses to rounding, beside the sizes of its terms
_MOST_TERMS = 5000.0
_TOLERANCE = 1e-7  # an error of more than this is NaN
_UNIT = 2.0 ** -52
_STEP = 2.0 ** -20  # between the parameters whose values give a derivative


@dataclass(frozen=True, slots=True)
class SeriesSum:
    """The ``total`` of a series, its ``slope``, x times the derivative in x, and the ``size`` of the terms of both."""

    total: NumberPair
    slope: NumberPair
    size: Value

    @property
    def error(self) -> Value:
        """The error that the total and the slope may have."""
        return self.size * _ROUNDED


def is_known(total: Value, error: Value, unit: Value) -> Value:
    """Whether a total has digits: its ``error`` is small beside it, or beside an ulp of a ``unit``, or it is 0."""
    return either(less_equal(error, Absolute(total) * _TOLERANCE), less_equal(error, Absolute(unit) * _UNIT),
                  exactly(total, 0.0))


def series(above: Sequence[NumberPair], below: Sequence[NumberPair], x: NumberPair) -> SeriesSum:
    """Returns the hypergeometric series at x with the parameters ``above`` and ``below`` its fractions' lines.

    A parameter below that becomes 0 counts as 1: the series has ended before, or has no sum.
    """
    numbers, one = [*above, *below, x], NumberPair.of(x.high.full(1.0))

    def body(k: Value, *values: Value) -> list[Value]:
        (term, total, slope), size = pairs_of(values[:6]), values[6]
        *factors, place = pairs_of(values[7:-1])
        divisor = NumberPair.of(k + 1)
        for factor in factors[len(above):]:
            divisor = divisor * (factor + k)
        term = term * place / divisor.where(either(less(divisor.high, 0.0), greater(divisor.high, 0.0)), 1.0)
        for factor in factors[:len(above)]:
            term = term * (factor + k)
        slope = slope + term * (k + 1)
        return [*parts_of(term, total + term, slope), size + Absolute(term.high) * (k + 2)]

    def goes_on(k: Value, *values: Value) -> Value:
        return has_more(k, Absolute(values[0]), values[6], values[-1])

    carries = [*parts_of(one, one, one.like(0.0)), one.high]
    found = repeated(body, goes_on, carries, *parts_of(*numbers), _first_terms(*numbers))
    _, total, slope = pairs_of(found[:6])
    return SeriesSum(total, slope, found[6])


def has_more(k: Value, term: Operand, size: Value, least: Value) -> Value:
    """Whether terms that follow count: the last one does, or there are fewer than ``least`` and they have not ended."""
    counts = either(greater(term, size * _NEGLIGIBLE), both(less(k, least), greater(term, 0.0)))
    return both(counts, less(k, _MOST_TERMS), less(size, math.inf))


def _first_terms(*numbers: NumberPair) -> Value:
    """Returns the number of terms that may grow again after a small one."""
    first, *others = [Absolute(number.high).output for number in numbers]
    return sum(others, first)


def gauss(p: NumberPair, q: NumberPair, c: NumberPair, place: NumberPair, distance: NumberPair,
          is_finite: Value) -> tuple[NumberPair, Value, Value]:
    """Returns Gauss's function at ``place``, the error that it may have, and a slope.

    The place is in [0, 1) and has that ``distance`` to 1, unless the series ``is_finite``.
    """
    is_near = either(is_finite, less_equal(place.high, 0.5))
    half = place.like(0.5)
    start = series([p, q], [c], place.where(is_near, half))
    end = half.where(is_near, distance)

    def body(_: Value, *values: Value) -> list[Value]:
        (total, slope), (here, *errors) = pairs_of(values[:4]), values[4:7]
        *parameters, end = pairs_of(values[7:])
        is_whole, moves = less_equal(end.high, here * 0.5), less(end.high, here)
        step = NumberPair.of(here * 0.5).where(is_whole, (NumberPair.of(here) - end).where(moves, 0.0))
        found, grown = _continued(total, slope, parameters, here, step)
        new = [sum([Absolute(factor) * error for factor, error in zip(row, errors, strict=True)], found.error)
               for row in grown]
        return [where(moves, moved, value) for moved, value in zip(
            [*parts_of(found.total, found.slope), where(is_whole, here * 0.5, end.high), *new], values, strict=False)]

    def goes_on(_: Value, *values: Value) -> Value:
        return less(values[13], values[4])

    carries = [*parts_of(start.total, start.slope), half.high, start.error, start.error]
    total, low, slope, _, _, error, _ = repeated(body, goes_on, carries, *parts_of(p, q, c, end))
    return NumberPair(total, low), error, slope


def _continued(total: NumberPair, slope: NumberPair, parameters: Sequence[NumberPair], here: Value,
               step: NumberPair) -> tuple[SeriesSum, list[list[Value]]]:
    """Returns a solution of Gauss's equation after a ``step`` towards 1, which is ``here`` away, and how errors grow.

    ``slope`` is its derivative times the distance to 1; that of the result is its derivative times the step. The growth
    has a row for the total and one for the slope: what becomes in it of an error 1 in either of them before the step.
    """
    p, q, c = parameters
    share, place = step / here, NumberPair.sum_of(here.full(1.0), -here)
    numbers = [p, q, share, share * step, place, NumberPair.sum_of(here * 2, -1.0), c - (p + q + 1.0) * place]
    first = slope * share

    def body(n: Value, *values: Value) -> list[Value]:
        (last, term, total, slope), (size, *others) = pairs_of(values[:8]), values[8:17]
        p, q, share, square, place, linear, constant = pairs_of(values[17:-1])
        divisor = place * (n + 1) * (n + 2)
        earlier, later = square * (p + n) * (q + n) / divisor, share * (linear * n + constant) * (n + 1) / divisor
        found = last * earlier - term * later
        beside = []
        for before, own, sums, slopes in (others[:4], others[4:]):
            made = before * earlier.high - own * later.high
            beside += [own, made, sums + made, slopes + made * (n + 2)]
        return [*parts_of(term, found, total + found, slope + found * (n + 2)),
                size + Absolute(found.high) * (n + 3), *beside]

    def goes_on(n: Value, *values: Value) -> Value:
        return has_more(n, Maximum(Absolute(values[0]), Absolute(values[2])), values[8], values[-1])

    zero, one = here.full(0.0), here.full(1.0)
    carries = [*parts_of(total, first, total + first, first), Absolute(total.high) + Absolute(first.high) * 2,
               one, zero, one, zero, zero, *[share.high] * 3]
    found = repeated(body, goes_on, carries, *parts_of(*numbers), _first_terms(p, q, c))
    _, _, total, slope = pairs_of(found[:8])
    return SeriesSum(total, slope, found[8]), [[found[11], found[15]], [found[12], found[16]]]


# -- derivatives in parameters ---------------------------------------------------------------------------------------


def slope_of(function: Callable[..., tuple[NumberPair, Value]], operands: Sequence[Value], at: int,
             scale: Value) -> tuple[Value, Value, Value]:
    """Returns a function's value, its derivative in the operand ``at``, and that one's error: by four values beside it.

    ``function`` gives a total and its error. Half of its digits are enough for the differences, whose rule has an error
    of the fourth power of their step; ``scale`` is the distance in which the function changes.
    """
    shape = operands[at].shape
    step, many = scale * _STEP, [Broadcast(operand, (4, *shape), [0]).output for operand in operands]
    moves = Constant(np.array([-2.0, -1.0, 1.0, 2.0]))
    offset = Broadcast(moves, (4, *shape), tuple(range(1, 1 + len(shape)))).output * Broadcast(step, (4, *shape), [0])
    total, error = function(offset, *many)

    def entry(value: Value, number: int) -> Value:
        slices = [(number, 1, 1), *[(0, length, 1) for length in shape]]
        return Reshape(Slice(value, slices), shape).output

    far_below, below, above, far_above = [NumberPair(entry(total.high, k), entry(total.low, k)) for k in range(4)]
    slope = ((above - below) * 8.0 - (far_above - far_below)) / (step * 12)
    value = (above.high + below.high) * (2 / 3) - (far_above.high + far_below.high) * (1 / 6)
    return value, slope.high, (entry(error, 0) + entry(error, 3)) / step
