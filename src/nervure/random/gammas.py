"""Gamma distributed numbers, and what is made of them: beta, Dirichlet, chi-square, Student's t, Fisher's F.

>>> import nervure as nv
>>> shape = nv.variable((), 2.0)
>>> x = nv.random.gamma((50_000,), shape)
>>> mean, slope = nv.computation([nv.mean(x), nv.deriv(nv.mean(x), shape)])()
>>> bool(abs(mean - 2) < 0.05), bool(abs(slope - 1) < 0.05)
(True, True)

A gamma number is drawn by the method of Marsaglia and Tsang (2000), whose rounds go on until all elements are accepted.
The numbers of an element do not depend on the others; after ``ROUNDS`` rounds, which one in 10**15 elements reaches,
one is the mode. The derivative for the shape is that of implicit differentiation (Figurnov et al. 2018).
"""

from __future__ import annotations

import math

import numpy as np

from nervure.front.argument_parsing import position_of
from nervure.front.arranging.filled import full
from nervure.front.arranging.views import broadcast, expand_dims
from nervure.front.custom import custom_vjp
from nervure.front.evaluation_order import in_order
from nervure.front.loops.loop_functions import while_loop
from nervure.front.op_functions import (
    add,
    digamma,
    divide,
    exp,
    greater,
    less,
    log,
    logical_and,
    maximum,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
)
from nervure.front.pointwise.elementwise import power, stop_gradient, where
from nervure.front.random import bernoulli, normal
from nervure.front.statistics.reductions import any as some
from nervure.front.statistics.reductions import max as largest
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.random.numbers import exponentials, finished, floats, inner, parameter, spread
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dtype import DType, DTypeLike, float32

ROUNDS = 12
"""The most rounds of rejection; each accepts more than 95 % of the elements."""

_NODES = np.linspace(-3.6, 2.4, 61)
_DISTANCES = np.exp(math.pi / 2 * np.sinh(_NODES))
_WEIGHTS = (_NODES[1] - _NODES[0]) * math.pi / 2 * np.cosh(_NODES) * _DISTANCES
"""Nodes and weights of the double exponential rule for integrals from 0 to infinity (Takahasi and Mori 1974)."""


@in_order
def gamma(axes: AxesLike, shape: Operand, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from the gamma distribution with density x ** (shape - 1) * exp(-x / ``scale``), for a positive ``shape``.

    Derivatives go to both parameters.

    >>> x = nv.evaluate(nv.random.gamma((10_000,), 3.0, 2.0))
    >>> bool(abs(x.mean() - 6) < 0.3), bool(abs(x.var() - 12) < 1.5)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "gamma")
    found = _standard(own, parameter(shape, "gamma", "shape", 0.0), working, "gamma")
    return finished(multiply(found, parameter(scale, "gamma", "scale", 0.0)), own, wanted, "gamma")


def loggamma(axes: AxesLike, shape: Operand, dtype: DTypeLike = float32) -> Tensor:
    """Draws logarithms of gamma numbers, also for a ``shape`` so small that these would be 0.

    They are the logarithm of one whose shape is larger by 1, less an exponential number over the shape.

    >>> x = nv.evaluate(nv.random.loggamma((10_000,), 0.001))
    >>> bool(np.isfinite(x).all()), bool(abs(x.mean() / -1000.6 - 1) < 0.05)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "loggamma")
    given = parameter(shape, "loggamma", "shape", 0.0)
    larger = log(_standard(own, given + 1.0, working, "loggamma"))
    return finished(subtract(larger, divide(exponentials(own, working), given)), own, wanted, "loggamma")


@in_order
def generalized_normal(axes: AxesLike, shape: Operand, loc: Operand = 0.0, scale: Operand = 1.0,
                       dtype: DTypeLike = float32) -> Tensor:
    """Draws numbers ``loc`` + ``scale`` * x, where the density of x is in proportion to exp(-abs(x) ** ``shape``).

    Shape 1 is Laplace's distribution, 2 the normal one of variance 1/2. x is a power of a gamma number, with a sign.

    >>> x = nv.evaluate(nv.random.generalized_normal((10_000,), 2.0))
    >>> bool(abs(x.var() - 0.5) < 0.05)
    True
    """
    own, wanted, working = floats(axes, dtype, "generalized_normal")
    inverse = 1.0 / parameter(shape, "generalized_normal", "shape", 0.0)
    size = exp(multiply(loggamma(own, inverse, working), inverse))
    signed = where(bernoulli(own), size, negative(size))
    moved = add(multiply(signed, parameter(scale, "generalized_normal", "scale", 0.0)),
                parameter(loc, "generalized_normal", "loc"))
    return finished(moved, own, wanted, "generalized_normal")


def chisquare(axes: AxesLike, df: Operand, dtype: DTypeLike = float32) -> Tensor:
    """Draws from the chi-square distribution with ``df`` degrees of freedom: twice a gamma number of shape df / 2.

    >>> x = nv.evaluate(nv.random.chisquare((10_000,), 3.0))
    >>> bool(abs(x.mean() - 3) < 0.15)
    True
    """
    own, wanted, working = floats(axes, dtype, "chisquare")
    half = parameter(df, "chisquare", "df", 0.0) / 2.0
    return finished(multiply(_standard(own, half, working, "chisquare"), 2.0), own, wanted, "chisquare")


@in_order
def beta(axes: AxesLike, a: Operand, b: Operand, dtype: DTypeLike = float32) -> Tensor:
    """Draws from the beta distribution on (0, 1), for positive ``a`` and ``b``.

    Its density is in proportion to x ** (a - 1) * (1 - x) ** (b - 1).

    >>> x = nv.evaluate(nv.random.beta((10_000,), 2.0, 3.0))
    >>> bool(abs(x.mean() - 0.4) < 0.02)
    True
    """
    own, wanted, working = floats(axes, dtype, "beta")
    (first, lift), (second, other) = [_factors(own, parameter(value, "beta", name, 0.0), working, "beta")
                                      for value, name in ((a, "a"), (b, "b"))]
    most = stop_gradient(maximum(lift, other))
    first, second = multiply(first, exp(subtract(lift, most))), multiply(second, exp(subtract(other, most)))
    return finished(_positive(divide(first, add(first, second))), own, wanted, "beta")


def dirichlet(axes: AxesLike, shapes: TensorLike, axis: AxisLike = -1, dtype: DTypeLike = float32) -> Tensor:
    """Draws positive numbers with sum 1 along ``axis``, from Dirichlet's distribution with the positive ``shapes``.

    Shapes are over some of ``axes``; they are numbers along ``axis`` as a rule.

    >>> x = nv.evaluate(nv.random.dirichlet((10_000, 3), [1.0, 2.0, 3.0]))
    >>> bool(np.allclose(x.sum(axis=1), 1, atol=1e-5)), bool(abs(x[:, 2].mean() - 0.5) < 0.02)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "dirichlet")
    numbers, lifts = _factors(own, parameter(shapes, "dirichlet", "shapes", 0.0), working, "dirichlet")
    at, plain = position_of(numbers, axis, "dirichlet"), Tensor(lifts.value)
    most = stop_gradient(largest(plain, axis=at, keepdims=True))
    parts = multiply(Tensor(numbers.value), exp(subtract(plain, most)))
    shares = _positive(divide(parts, total(parts, axis=at, keepdims=True)))
    return finished(Tensor(shares.value, numbers._axes), own, wanted, "dirichlet")


def t(axes: AxesLike, df: Operand, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Student's distribution with ``df`` degrees of freedom: a normal number over the root of a chi-square
    one.

    >>> x = nv.evaluate(nv.random.t((10_000,), 5.0))
    >>> bool(abs(x.mean()) < 0.1), bool(abs(x.var() - 5 / 3) < 0.3)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "t")
    half = parameter(df, "t", "df", 0.0) / 2.0
    square_mean = divide(_standard(own, half, working, "t"), half)
    return finished(divide(normal(own, dtype=working), sqrt(square_mean)), own, wanted, "t")


@in_order
def f(axes: AxesLike, first: Operand, second: Operand, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Fisher's distribution: the ratio of two means of squares, of ``first`` and of ``second`` normal
    numbers.

    >>> x = nv.evaluate(nv.random.f((10_000,), 4.0, 10.0))
    >>> bool(abs(x.mean() - 1.25) < 0.1)
    True
    """
    own, wanted, working = floats(axes, dtype, "f")
    halves = [parameter(value, "f", name, 0.0) / 2.0 for value, name in ((first, "first"), (second, "second"))]
    above, below = [divide(_standard(own, half, working, "f"), half) for half in halves]
    return finished(divide(above, below), own, wanted, "f")


def _standard(axes: Axes, shape: Operand, dtype: DType, op: str) -> Tensor:
    """Draws gamma numbers of scale 1 over all axes; derivatives go to the shape."""
    own = spread(shape, axes, dtype, op)
    if isinstance(shape, Tensor):
        return _with_slope(own, stop_gradient(_drawn(axes, stop_gradient(own), dtype)))
    return _drawn(axes, own, dtype)


def _factors(axes: Axes, shape: Operand, dtype: DType, op: str) -> tuple[Tensor, Tensor]:
    """Draws gamma numbers as two factors: one of a shape of 1 or more, and the logarithm of the other. So small shapes
    give numbers that are less than any float.
    """
    own = spread(shape, axes, dtype, op)
    is_small, larger = _lifted(own)
    found = _accepted(axes, stop_gradient(larger), dtype)
    lift = maximum(divide(log(inner(axes, dtype)), where(is_small, own, 1.0)), float(np.finfo(dtype.numpy).min))
    return (_with_slope(larger, stop_gradient(found)) if isinstance(shape, Tensor) else found,
            where(is_small, lift, 0.0))


def _drawn(axes: Axes, shape: Tensor, dtype: DType) -> Tensor:
    """Draws by rejection; shapes below 1 are drawn one larger, and times a power of a uniform number."""
    is_small, larger = _lifted(shape)
    found = _accepted(axes, larger, dtype)
    return _positive(where(is_small, multiply(found, power(inner(axes, dtype), divide(1.0, shape))), found))


def _lifted(shape: Tensor) -> tuple[Tensor, Tensor]:
    """Returns where shapes are below 1, and shapes of 1 or more, which are there larger by 1."""
    is_small = less(shape, 1.0)
    return is_small, where(is_small, add(shape, 1.0), shape)


def _positive(x: Tensor) -> Tensor:
    """Returns numbers with the least normal number in place of smaller ones."""
    return maximum(x, float(np.finfo(x.dtype.numpy).tiny))


def _accepted(axes: Axes, shape: Tensor, dtype: DType) -> Tensor:
    """Draws gamma numbers of shapes of 1 or more by rejection."""
    d = subtract(shape, 1 / 3)
    c = divide(1 / 3, sqrt(d))

    def is_open(state: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        _, waits, number = state
        return logical_and(some(Tensor(waits.value)), less(number, ROUNDS))

    def tried(state: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        found, waits, number = state
        x = normal(axes, dtype=dtype)
        v = power(add(1.0, multiply(c, x)), 3)
        is_inside = greater(v, 0.0)
        bound = add(multiply(0.5, square(x)), multiply(d, add(subtract(1.0, v), log(where(is_inside, v, 1.0)))))
        is_taken = logical_and(is_inside, less(negative(exponentials(axes, dtype)), bound))
        is_new = logical_and(waits, is_taken)
        return where(is_new, multiply(d, v), found), logical_and(waits, ~is_taken), number + 1
    waiting = broadcast(full((), True, bool), axes) if axes else full((), True, bool)
    found, _, _ = while_loop(is_open, tried, (d, waiting, full((), 0, "int64")))
    return found


def _slope(gradient: Tensor, shape: Tensor, x: Tensor) -> tuple[Tensor, None]:
    """Returns the gradient for the shape: ``-dF/dshape / density`` at x, where F is the distribution function.

    F changes by the integral of ``density(t) * (log(t) - digamma(shape))`` up to x, or by minus that from x on; the
    side of less mass is taken. With t = x * exp(-+s) the integral goes over s from 0 on.
    """
    a, at = [Tensor(expand_dims(Tensor(entry.value), entry.ndim).value) for entry in (shape, x)]
    s = np.asarray(_DISTANCES, a.dtype.numpy)
    is_below = less(at, a)
    side = where(is_below, -1.0, 1.0)
    exponent = subtract(multiply(multiply(a, side), s), multiply(at, subtract(exp(multiply(side, s)), 1.0)))
    centred = subtract(add(log(at), multiply(side, s)), digamma(a))
    terms = multiply(multiply(exp(exponent), centred), np.asarray(_WEIGHTS, a.dtype.numpy))
    found = multiply(multiply(total(terms, axis=-1), Tensor(x.value)), where(less(x, shape), -1.0, 1.0).detach())
    return multiply(gradient, Tensor(found.value, shape._axes)), None


_with_slope = custom_vjp(lambda shape, x: x, _slope)

__all__ = ["beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t"]

explain_keywords(globals(), __all__)
