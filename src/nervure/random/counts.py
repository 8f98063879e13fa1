"""Whole numbers: even ones, signs, trials until a success, events in a time, successes among trials.

>>> import nervure as nv
>>> x = nv.evaluate(nv.random.poisson((10_000,), 4.0))
>>> bool(abs(x.mean() - 4) < 0.2), x.dtype.name
(True, 'int64')
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import fraction, integer
from nervure.front.arranging.filled import full
from nervure.front.creation import as_tensor, read_axes
from nervure.front.evaluation_order import in_order
from nervure.front.loops.loop_functions import while_loop
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    exp,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    lgamma,
    log,
    log1p,
    logical_and,
    logical_or,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    sqrt,
    subtract,
)
from nervure.front.pointwise.elementwise import bitcast, convert, where
from nervure.front.random import bernoulli, uniform
from nervure.front.statistics.reductions import any as some
from nervure.front.tensor import Operand, Tensor
from nervure.random.gammas import gamma
from nervure.random.numbers import exponentials, finished, inner, parameter, spread, words
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.dtype import DTypeLike, as_dtype, bool_, float64, int64, uint64

FEW = 10.0
"""A mean below which counts are found by adding up probabilities, from 0 on; above, by rejection."""

MOST_FEW = 110
"""The largest count below that mean: the chance of a larger one is below 2**-64 twice over."""

ROUNDS = 40
"""The most rounds of rejection; each accepts 4 of 5 elements or more."""


def randint(axes: AxesLike, low: int, high: int, dtype: DTypeLike = int64) -> Tensor:
    """Draws whole numbers from ``low`` to before ``high``: 64 random bits modulo their number, plus low.

    No number is more likely than another by more than their number over 2**64. An empty range, or one that the element
    type lacks, is an InvalidArgument.

    >>> x = nv.evaluate(nv.random.randint((1000,), -2, 3))
    >>> sorted(set(x.tolist()))
    [-2, -1, 0, 1, 2]
    """
    own, wanted = read_axes(axes), as_dtype(dtype)
    if not wanted.is_integer:
        raise WrongKind("whole numbers have an integer type", op="randint", operand="dtype", got=wanted.name,
                        expected="an integer type", help="nv.floor(nv.uniform(axes, low, high)) gives floats")
    start, end = integer(low, "randint", "low"), integer(high, "randint", "high")
    least, most = (-(1 << wanted.bits - 1), 1 << wanted.bits - 1) if wanted.is_signed else (0, 1 << wanted.bits)
    if not (start < end and least <= start and end <= most):
        raise InvalidArgument("there is no such number", op="randint", operand="low", got=f"{low} to before {high}",
                              expected=f"low < high, both from {least} to {most}", help="high itself is not drawn")
    bits = Tensor(words(own.lengths).value, own if not own.is_anonymous else None)
    found = bits if end - start == 1 << 64 else mod(bits, full((), end - start, uint64))
    return convert(bitcast(found, int64) + start if start <= 0 or end < 1 << 63 else found + start, wanted, "wrap")


def rademacher(axes: AxesLike, dtype: DTypeLike = int64) -> Tensor:
    """Draws 1 and -1, both as likely, in the element type ``dtype``.

    >>> sorted(set(nv.random.rademacher((100,)).tolist()))
    [-1, 1]
    """
    return convert(where(bernoulli(axes), 1, -1), as_dtype(dtype))


def geometric(axes: AxesLike, p: Operand, dtype: DTypeLike = int64) -> Tensor:
    """Draws the number of trials up to the first success, of probability ``p``, from 1 on.

    It is the quotient of an exponential number and -log(1 - p), rounded up.

    >>> x = nv.evaluate(nv.random.geometric((10_000,), 0.25))
    >>> int(x.min()), bool(abs(x.mean() - 4) < 0.2)
    (1, True)
    """
    own, chance = read_axes(axes), _chance(p, "geometric")
    trials = divide(exponentials(own, float64), negative(log1p(negative(as_tensor(chance, dtype=float64)))))
    return _counted(add(floor(trials), 1.0), own, dtype, "geometric")


def poisson(axes: AxesLike, rate: Operand, dtype: DTypeLike = int64) -> Tensor:
    """Draws the number of events in a time in which ``rate`` are expected; 0 for a rate of 0.

    Small rates add up probabilities until they exceed a uniform number, large ones take the transformed rejection of
    Hörmann (1993), in float64.

    >>> x = nv.evaluate(nv.random.poisson((10_000,), 50.0))
    >>> bool(abs(x.mean() - 50) < 0.5), bool(abs(x.var() - 50) < 5)
    (True, True)
    """
    own = read_axes(axes)
    mean = spread(parameter(rate, "poisson", "rate", 0.0, True), own, float64, "poisson")
    few, many = minimum(mean, FEW), maximum(mean, FEW)
    small = _summed(own, exp(negative(few)), lambda k: divide(few, k))
    large = _poisson_rejected(own, many)
    return _counted(where(less(mean, FEW), small, large), own, dtype, "poisson")


@in_order
def binomial(axes: AxesLike, n: Operand, p: Operand, dtype: DTypeLike = int64) -> Tensor:
    """Draws the number of successes among ``n`` trials, each of probability ``p``.

    Few expected ones add up probabilities until they exceed a uniform number, many take the transformed rejection of
    Hörmann (1993), in float64.

    >>> x = nv.evaluate(nv.random.binomial((10_000,), 20, 0.25))
    >>> bool(abs(x.mean() - 5) < 0.1), bool(abs(x.var() - 3.75) < 0.4)
    (True, True)
    """
    own = read_axes(axes)
    trials = spread(parameter(n, "binomial", "n", 0.0, True), own, float64, "binomial")
    chance = spread(_chance(p, "binomial"), own, float64, "binomial")
    is_likely = greater(chance, 0.5)
    rare = where(is_likely, subtract(1.0, chance), chance)
    is_few = less(multiply(trials, rare), FEW)
    odds = divide(where(is_few, rare, 0.25), subtract(1.0, where(is_few, rare, 0.25)))
    few = where(is_few, trials, 1.0)
    start = exp(multiply(few, log1p(negative(where(is_few, rare, 0.25)))))
    small = _summed(own, start, lambda k: multiply(divide(subtract(few, subtract(k, 1.0)), k), odds))
    large = _binomial_rejected(own, where(is_few, 40.0, trials), where(is_few, 0.5, rare))
    found = where(is_few, minimum(small, trials), large)
    return _counted(where(is_likely, subtract(trials, found), found), own, dtype, "binomial")


@in_order
def negative_binomial(axes: AxesLike, n: Operand, p: Operand, dtype: DTypeLike = int64) -> Tensor:
    """Draws the number of failures before ``n`` successes, each of probability ``p``: a Poisson number whose rate is a
    gamma one.

    >>> x = nv.evaluate(nv.random.negative_binomial((10_000,), 3.0, 0.5))
    >>> bool(abs(x.mean() - 3) < 0.2)
    True
    """
    own = read_axes(axes)
    chance = as_tensor(_chance(p, "negative_binomial"), dtype=float64)
    rates = multiply(gamma(own, n, dtype=float64), divide(subtract(1.0, chance), chance))
    return poisson(own, rates, dtype)


def _counted(x: Tensor, axes: Axes, dtype: DTypeLike, op: str) -> Tensor:
    return finished(x, axes, as_dtype(dtype), op)


def _chance(p: Operand, op: str) -> Operand:
    if isinstance(p, (int, float, np.number)):
        fraction(p, op, "p", "divide a count by how many there are")
    return parameter(p, op, "p")


def _summed(axes: Axes, first: Tensor, ratio: Callable[[Tensor], Tensor]) -> Tensor:
    """Returns the first count whose probability, with those of all smaller ones, exceeds a uniform number. ``first`` is
    the probability of 0, ``ratio(k)`` that of k over that of k - 1.
    """
    u = uniform(axes, dtype=float64)

    def is_open(state: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        _, _, rest, k = state
        return logical_and(some(Tensor(greater_equal(rest, 0.0).value)), less(k, MOST_FEW))

    def added(state: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        count, chance, rest, k = state
        is_more = greater_equal(rest, 0.0)
        after = maximum(multiply(chance, ratio(convert(k, float64))), 0.0)
        return where(is_more, add(count, 1.0), count), after, subtract(rest, after), k + 1
    start = (full(axes, 0.0, float64), first, subtract(u, first), full((), 1, int64))
    count, _, _, _ = while_loop(is_open, added, start)
    return count


def _rejected(axes: Axes, mean: Tensor, tried: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    """Returns the first count that a round takes; ``tried(u, v)`` gives one, and whether it is taken."""
    def is_open(state: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        return logical_and(some(Tensor(state[1].value)), less(state[2], ROUNDS))

    def round_of(state: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        found, waits, number = state
        count, is_taken = tried(subtract(inner(axes, float64), 0.5), inner(axes, float64))
        return where(logical_and(waits, is_taken), count, found), logical_and(waits, ~is_taken), number + 1
    found, _, _ = while_loop(is_open, round_of, (floor(mean), full(axes, True, bool_), full((), 0, int64)))
    return found


def _poisson_rejected(axes: Axes, rate: Tensor) -> Tensor:
    """Algorithm PTRS of Hörmann 1993, "The transformed rejection method for generating Poisson random variables"."""
    b = add(0.931, multiply(2.53, sqrt(rate)))
    a = add(-0.059, multiply(0.02483, b))
    scale = add(1.1239, divide(1.1328, subtract(b, 3.4)))
    sure = subtract(0.9277, divide(3.6224, subtract(b, 2.0)))
    logarithm = log(rate)

    def tried(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        us = subtract(0.5, absolute(u))
        k = floor(add(multiply(add(divide(multiply(2.0, a), us), b), u), add(rate, 0.43)))
        whole = maximum(k, 0.0)
        bound = subtract(subtract(multiply(whole, logarithm), rate), lgamma(add(whole, 1.0)))
        height = log(divide(multiply(v, scale), add(divide(a, multiply(us, us)), b)))
        is_near = logical_and(greater_equal(us, 0.07), less_equal(v, sure))
        is_out = logical_or(less(k, 0.0), logical_and(less(us, 0.013), greater(v, us)))
        return whole, logical_or(is_near, logical_and(~is_out, less_equal(height, bound)))
    return _rejected(axes, rate, tried)


def _binomial_rejected(axes: Axes, n: Tensor, p: Tensor) -> Tensor:
    """Algorithm BTRS of Hörmann 1993, "The generation of binomial random variates", without its squeezes' tables."""
    deviation = sqrt(multiply(multiply(n, p), subtract(1.0, p)))
    b = add(1.15, multiply(2.53, deviation))
    a = add(add(-0.0873, multiply(0.0248, b)), multiply(0.01, p))
    c = add(multiply(n, p), 0.5)
    sure = subtract(0.92, divide(4.2, b))
    scale = multiply(add(2.83, divide(5.1, b)), deviation)
    peak = floor(multiply(add(n, 1.0), p))
    odds = log(divide(p, subtract(1.0, p)))
    height_of_peak = add(lgamma(add(peak, 1.0)), lgamma(add(subtract(n, peak), 1.0)))

    def tried(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        us = subtract(0.5, absolute(u))
        k = floor(add(multiply(add(divide(multiply(2.0, a), us), b), u), c))
        is_out = logical_or(less(k, 0.0), greater(k, n))
        whole = minimum(maximum(k, 0.0), n)
        bound = add(subtract(height_of_peak, add(lgamma(add(whole, 1.0)), lgamma(add(subtract(n, whole), 1.0)))),
                    multiply(subtract(whole, peak), odds))
        height = log(divide(multiply(v, scale), add(divide(a, multiply(us, us)), b)))
        is_near = logical_and(greater_equal(us, 0.07), less_equal(v, sure))
        return whole, logical_and(~is_out, logical_or(is_near, less_equal(height, bound)))
    return _rejected(axes, multiply(n, p), tried)


__all__ = ["binomial", "geometric", "negative_binomial", "poisson", "rademacher", "randint"]

explain_keywords(globals(), __all__)
