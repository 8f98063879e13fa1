"""The hypergeometric functions of Kummer (1F1) and Gauss (2F1), of real parameters and arguments.

Both are sums of series in numbers of two parts (:mod:`.hypergeometric_sums`), whose argument is positive: Kummer's
transformation turns a negative x of 1F1 (DLMF 13.2.39), Pfaff's one of 2F1 (DLMF 15.8.1), which it brings below 1.
Terms then cancel only where a parameter is negative. The size of all terms beside that of their sum says how many
digits are lost; where too few are left, the result is NaN.

Of the two forms of Euler's transformation (DLMF 15.8.1) the one is taken whose solution stays finite at 1, or which has
a finite series. So errors do not grow towards 1, and no c - a - b is a special case.

>>> import nervure as nv
>>> a, b, x = [nv.Parameter(nv.float64, (3,)).value for _ in range(3)]
>>> hyp1f1(a, b, x)
f64[3] Where(LogicalAnd, Where, Full)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from nervure.errors import NotSupported
from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute, Floor, Power, Round
from nervure.ops.exponential import Exp, Log
from nervure.ops.formulas.formula_parts import (
    both,
    either,
    exactly,
    greater,
    greater_equal,
    less,
    less_equal,
    negation,
    not_a_number,
    where,
)
from nervure.ops.formulas.gamma_parts import sign_of_gamma
from nervure.ops.formulas.hypergeometric_sums import gauss, has_more, is_known, series, slope_of
from nervure.ops.formulas.number_pairs import NumberPair, pairs_of, parts_of, repeated
from nervure.ops.formulas.table import formula, special
from nervure.ops.selection import Minimum

_FAR = 500.0  # beyond, 1F1 is its asymptotic series


def _ends(parameter: NumberPair) -> Value:
    """Whether a parameter is 0, -1, -2, ...: then the series ends."""
    high = parameter.high
    return both(less_equal(high, 0.0), exactly(Floor(high), high), exactly(parameter.low, 0.0))


def _finite(*operands: Value) -> tuple[Value, list[Value]]:
    """Returns where all operands are finite, and numbers that are these there."""
    is_finite = both(*[less(Absolute(operand), math.inf) for operand in operands])
    return is_finite, [where(is_finite, operand, 0.5) for operand in operands]


def _completed(value: Value, x: Value, below: Value, *above: Value) -> Value:
    """Returns the value of a function that is 1 at 0, and has poles where a series does not end before ``below`` does.
    """
    ends_before = either(*[both(_ends(NumberPair.of(entry)), greater_equal(entry, below)) for entry in above])
    is_pole = both(_ends(NumberPair.of(below)), negation(ends_before))
    return where(exactly(x, 0.0), 1.0, where(is_pole, math.inf, value))


def _to_pole(x: Value) -> Value:
    """Returns the distance of a parameter to 0, -1, -2, ..., at most 1, in which a function of it changes."""
    nearest = Minimum(Round(x), x.full(0.0))
    return Minimum(Absolute(x - nearest), x.full(1.0)).output


def _no_derivative(result: Value, *_: Value) -> NoReturn:
    raise result.op.fail(NotSupported, "a derivative in a parameter has no derivative", operand="function",
                         got=result.op, expected="first derivatives in parameters",
                         help="derivatives in x have any order")


# -- 1F1 -------------------------------------------------------------------------------------------------------------


@formula(lambda y, a, b, x: [special("hyp1f1_slope_in_a", a, b, x), special("hyp1f1_slope_in_b", a, b, x),
                             a / b * special("hyp1f1", a + 1, b + 1, x)], "normal", "positive", "normal")
def hyp1f1(a: Value, b: Value, x: Value) -> Operand:
    """The sum of (a)_k / (b)_k x**k / k! over all k."""
    is_finite, (a, b, x) = _finite(a, b, x)
    first, second = NumberPair.of(a), NumberPair.of(b)
    is_polynomial = _ends(first)
    is_direct = either(is_polynomial, greater_equal(x, 0.0))
    parameter = first.where(is_direct, second - first)
    is_far = both(greater(Absolute(x), _FAR), negation(_ends(parameter)))
    place = where(is_far, 1.0, where(is_polynomial, x, Absolute(x)))
    found = series([parameter], [second], NumberPair.of(place))
    total = found.total.high * Exp(where(either(is_direct, is_far), 0.0, x))
    near = where(is_known(found.total.high, found.error, found.slope.high), total, math.nan)
    value = _completed(where(is_far, _far(first, second, where(is_far, x, 2 * _FAR)), near), x, b, a)
    return where(is_finite, value, math.nan)


def _far(a: NumberPair, b: NumberPair, x: Value) -> Value:
    """Returns 1F1 of an x of a large size (DLMF 13.7.2): the first terms of a series that begins to grow later."""
    is_positive, size, one = greater(x, 0.0), Absolute(x).output, NumberPair.of(x.full(1.0))
    own = (b - a).where(is_positive, a)

    def body(k: Value, *values: Value) -> list[Value]:
        (term, total), (last, sizes) = pairs_of(values[:4]), values[4:6]
        first, second, inverse = pairs_of(values[6:])
        term = term * (first + k) * (second + k) * inverse / (k + 1)
        grows = greater_equal(Absolute(term.high), last)
        term = term.like(0.0).where(grows, term)
        last = where(grows, last, Absolute(term.high))
        return [*parts_of(term, total + term), last, sizes + Absolute(term.high)]

    def goes_on(k: Value, *values: Value) -> Value:
        return has_more(k, Absolute(values[0]), values[5], k.full(0.0))

    carries = [*parts_of(one, one), one.high, one.high]
    found = repeated(body, goes_on, carries, *parts_of(own, own - b + 1.0, one / size))
    half = Exp(where(is_positive, x, 0.0) * 0.5)  # its square may be infinite where the result is not
    front = special("poch", a.where(is_positive, b - a).high, own.high) * half * Power(size, -own.high) * half
    return where(is_known(found[2], found[4], x.full(0.0)), front * found[2], math.nan)


def _kummer_slope(a: Value, b: Value, x: Value, at: int) -> Operand:
    """Returns the derivative of 1F1 in a or in b."""
    is_finite, (a, b, x) = _finite(a, b, x)
    is_negative, is_outside = less(x, 0.0), greater(Absolute(x), _FAR)

    def function(offset: Value, a: Value, b: Value, x: Value) -> tuple[NumberPair, Value]:
        first, second = [NumberPair.sum_of(entry, offset if at == number else 0.0)
                         for number, entry in enumerate((a, b))]
        parameter = (second - first).where(less(x, 0.0), first)
        found = series([parameter], [second], NumberPair.of(Absolute(x).output))
        return found.total, found.error

    place = where(is_outside, 1.0, x)
    value, slope, error = slope_of(function, [a, b, place], at, _to_pole(b) if at else a.full(1.0))
    found = not_a_number(either(negation(is_known(slope, error, value)), is_outside),
                         slope * Exp(where(is_negative, place, 0.0)))
    found = where(exactly(x, 0.0), 0.0, not_a_number(_ends(NumberPair.of(b)), found))
    return where(is_finite, found, math.nan)


@formula(_no_derivative, "normal", "positive", "normal")
def hyp1f1_slope_in_a(a: Value, b: Value, x: Value) -> Operand:
    """The derivative of ``hyp1f1`` in a."""
    return _kummer_slope(a, b, x, 0)


@formula(_no_derivative, "normal", "positive", "normal")
def hyp1f1_slope_in_b(a: Value, b: Value, x: Value) -> Operand:
    """The derivative of ``hyp1f1`` in b."""
    return _kummer_slope(a, b, x, 1)


# -- 2F1 -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """The transformation for each index: none where it ``keeps`` the function, Pfaff's, or else Euler's.

    Pfaff's keeps a where it ``is_in_order``, and b elsewhere. Where the sum ``is_finite``, it has an end.
    """

    keeps: Value
    is_pfaff: Value
    is_in_order: Value
    is_finite: Value

    @classmethod
    def of(cls, operands: Sequence[Value], is_moved: Sequence[bool] = (False, False, False)) -> _Form:
        """Returns the form for a, b, c and x. A parameter that ``is_moved`` ends no series: values beside it do not."""
        a, b, c, x = operands
        first, second, third = NumberPair.of(a), NumberPair.of(b), NumberPair.of(c)
        fixed = [not moved for moved in is_moved]
        never = less(x, -math.inf)
        ends = [_ends(number) if kept else never for number, kept in (
            (first, fixed[0]), (second, fixed[1]), (third - first, fixed[0] and fixed[2]),
            (third - second, fixed[1] and fixed[2]))]
        excess, is_negative = (third - first - second).high, less(x, 0.0)
        has_other = both(either(ends[2], ends[3]), negation(_ends(third)))
        is_shorter = both(has_other, greater(excess, 0.0), greater_equal(x, 0.0), less_equal(x, 1.0))
        is_polynomial = both(either(ends[0], ends[1]), negation(is_shorter))
        is_direct = negation(either(is_negative, has_other, less(excess, 0.0)))
        keeps, is_low = either(is_polynomial, is_direct), less_equal(a, b)
        is_in_order = either(both(is_low, negation(ends[2])), both(negation(is_low), ends[3]))
        is_pfaff = both(is_negative, negation(is_polynomial))
        by_pfaff = either(both(is_in_order, either(ends[0], ends[3])),
                          both(negation(is_in_order), either(ends[1], ends[2])))
        is_finite = either(is_polynomial, both(is_pfaff, by_pfaff), both(negation(either(keeps, is_pfaff)), has_other))
        return cls(keeps, is_pfaff, is_in_order, is_finite)

    @property
    def is_polynomial(self) -> Value:
        """Whether the function is a polynomial of x, which is summed as it is."""
        return both(self.keeps, self.is_finite)

    def parameters(self, a: NumberPair, b: NumberPair, c: NumberPair) -> tuple[NumberPair, NumberPair, NumberPair]:
        """Returns the parameters above the line of the function that is summed, and the power of 1 - x beside it."""
        first, second = a.where(self.is_in_order, b), b.where(self.is_in_order, a)
        p = first.where(either(self.keeps, self.is_pfaff), c - first)
        q = second.where(self.keeps, c - second)
        return p, q, (-first).where(self.is_pfaff, a.like(0.0).where(self.keeps, c - a - b))

    def place(self, x: Value) -> tuple[NumberPair, NumberPair, NumberPair]:
        """Returns where it is summed, the distance of that to 1, and 1 - x."""
        one, own = NumberPair.of(x.full(1.0)), NumberPair.of(x)
        rest = one - own
        return (-own / rest).where(self.is_pfaff, own), (one / rest).where(self.is_pfaff, rest), rest


@formula(lambda y, a, b, c, x: [special("hyp2f1_slope_in_a", a, b, c, x), special("hyp2f1_slope_in_a", b, a, c, x),
                                special("hyp2f1_slope_in_c", a, b, c, x),
                                a * b / c * special("hyp2f1", a + 1, b + 1, c + 1, x)],
         "normal", "normal", "positive", "unit")
def hyp2f1(a: Value, b: Value, c: Value, x: Value) -> Operand:
    """The sum of (a)_k (b)_k / (c)_k x**k / k! over all k, and its continuation to all x below 1."""
    is_finite, (a, b, c, x) = _finite(a, b, c, x)
    form, numbers = _Form.of((a, b, c, x)), [NumberPair.of(entry) for entry in (a, b, c)]
    p, q, power = form.parameters(*numbers)
    is_inside = either(form.is_polynomial, less(x, 1.0))
    place, distance, rest = form.place(where(is_inside, x, 0.25))
    total, error, slope = gauss(p, q, numbers[2], place, distance, form.is_finite)
    factor = where(form.is_polynomial, 1.0, _power(rest.where(less(x, 1.0), 1.0), power))
    value = where(is_known(total.high, error, slope), total.high * factor, math.nan)
    outside = where(exactly(x, 1.0), _at_one(*numbers), math.nan)
    return where(is_finite, _completed(where(is_inside, value, outside), x, c, a, b), math.nan)


def _power(base: NumberPair, exponent: NumberPair) -> Value:
    """Returns a power of a positive number."""
    beside = exponent.low * Log(base.high) + exponent.high * (base.low / base.high)
    return Power(base.high, exponent.high) * (beside + 1)


def _at_one(a: NumberPair, b: NumberPair, c: NumberPair) -> Value:
    """Returns the sum at 1 (DLMF 15.4.20), or where there is none, infinity with the sign of the limit."""
    excess = c - a - b
    is_finite = greater(excess.high, 0.0)
    value = special("gamma", c.high) * special("gamma", where(is_finite, excess.high, 1.0))
    for number in (c - a, c - b):
        ends = _ends(number)
        value = where(ends, 0.0, value / special("gamma", where(ends, 1.0, number.high)))
    return where(is_finite, value, sign_of_gamma(a.high) * sign_of_gamma(b.high) * sign_of_gamma(c.high) * math.inf)


def _gauss_slope(operands: Sequence[Value], at: int) -> Operand:
    """Returns the derivative of 2F1 in a or in c."""
    is_finite, operands = _finite(*operands)
    a, b, c, x = operands
    is_moved = [number == at for number in range(3)]
    scale = _to_pole(c) if at == 2 else a.full(1.0)

    def moved(numbers: Sequence[Value], offset: Value | float) -> list[NumberPair]:
        return [NumberPair.sum_of(entry, offset if moves else 0.0)
                for entry, moves in zip(numbers, is_moved, strict=True)]

    def function(offset: Value, *operands: Value) -> tuple[NumberPair, Value]:
        form, numbers = _Form.of(operands, is_moved), moved(operands[:3], offset)
        p, q, _ = form.parameters(*numbers)
        place, distance, _ = form.place(operands[3])
        total, error, _ = gauss(p, q, numbers[2], place, distance, form.is_finite)
        return total, error

    is_inside = either(less(x, 1.0), _Form.of(operands, is_moved).is_polynomial)
    place = where(is_inside, x, 0.25)
    form = _Form.of((a, b, c, place), is_moved)
    value, slope, error = slope_of(function, [a, b, c, place], at, scale)
    before, after = [form.parameters(*moved((a, b, c), offset))[2] for offset in (0.0, 1.0)]
    rest = form.place(place)[2]
    rest = rest.where(less(place, 1.0), 1.0)
    change = Round((after - before).high) * Log(rest.high)
    known = both(is_inside, is_known(slope, error, value), negation(_ends(NumberPair.of(c))))
    found = where(known, _power(rest, before) * (slope + value * change), math.nan)
    return where(is_finite, where(exactly(x, 0.0), 0.0, found), math.nan)


@formula(_no_derivative, "normal", "normal", "positive", "unit")
def hyp2f1_slope_in_a(a: Value, b: Value, c: Value, x: Value) -> Operand:
    """The derivative of ``hyp2f1`` in a."""
    return _gauss_slope((a, b, c, x), 0)


@formula(_no_derivative, "normal", "normal", "positive", "unit")
def hyp2f1_slope_in_c(a: Value, b: Value, c: Value, x: Value) -> Operand:
    """The derivative of ``hyp2f1`` in c."""
    return _gauss_slope((a, b, c, x), 2)
