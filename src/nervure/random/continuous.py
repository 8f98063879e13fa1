"""Distributions by formulas of one or two uniform numbers.

>>> import nervure as nv
>>> x = nv.evaluate(nv.random.laplace((10_000,), loc=3.0))
>>> bool(abs(x.mean() - 3) < 0.1)
True
"""

from __future__ import annotations

import math

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import real
from nervure.front.arranging.filled import full
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import (
    add,
    divide,
    exp,
    expm1,
    greater,
    less,
    log,
    log1p,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
    tan,
)
from nervure.front.pointwise.elementwise import clip, power, where
from nervure.front.random import bernoulli, normal, uniform
from nervure.front.special.error_functions import ndtri
from nervure.front.special.special_functions import log_ndtr
from nervure.front.tensor import Operand, Tensor, is_scalar
from nervure.random.numbers import exponentials, finished, floats, inner, parameter
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.dtype import DType, DTypeLike, float32


def exponential(axes: AxesLike, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from the exponential distribution with mean ``scale``: -scale * log(1 - u).

    >>> x = nv.evaluate(nv.random.exponential((10_000,), 2.0))
    >>> bool(x.min() > 0), bool(abs(x.mean() - 2) < 0.1)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "exponential")
    return finished(multiply(exponentials(own, working), parameter(scale, "exponential", "scale", 0.0)), own, wanted,
                    "exponential")


@in_order
def gumbel(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Gumbel's distribution of largest values: loc - ``scale`` * log(e), where e is exponential.

    >>> x = nv.evaluate(nv.random.gumbel((10_000,)))
    >>> bool(abs(x.mean() - 0.5772) < 0.1)
    True
    """
    own, wanted, working = floats(axes, dtype, "gumbel")
    return _placed(negative(log(exponentials(own, working))), own, loc, scale, wanted, "gumbel")


@in_order
def laplace(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Laplace's distribution: loc plus or minus ``scale`` times an exponential number.

    >>> x = nv.evaluate(nv.random.laplace((10_000,)))
    >>> bool(abs(x.mean()) < 0.1), bool(abs(x.var() - 2) < 0.3)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "laplace")
    size = exponentials(own, working)
    return _placed(where(bernoulli(own), size, negative(size)), own, loc, scale, wanted, "laplace")


@in_order
def logistic(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from the logistic distribution: loc + ``scale`` * log(u / (1 - u)).

    >>> x = nv.evaluate(nv.random.logistic((10_000,)))
    >>> bool(abs(x.mean()) < 0.1), bool(abs(x.var() - 3.29) < 0.4)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "logistic")
    u = inner(own, working)
    return _placed(subtract(log(u), log1p(negative(u))), own, loc, scale, wanted, "logistic")


@in_order
def cauchy(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Cauchy's distribution: loc + ``scale`` * tan(pi * (u - 1/2)).

    >>> x = nv.evaluate(nv.random.cauchy((10_001,), loc=2.0))
    >>> bool(abs(np.median(x) - 2) < 0.1)
    True
    """
    own, wanted, working = floats(axes, dtype, "cauchy")
    turned = tan(multiply(subtract(inner(own, working), 0.5), math.pi))
    return _placed(turned, own, loc, scale, wanted, "cauchy")


def rayleigh(axes: AxesLike, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Rayleigh's distribution: ``scale`` * sqrt(2 * e), where e is exponential.

    >>> x = nv.evaluate(nv.random.rayleigh((10_000,)))
    >>> bool(abs(x.mean() - 1.2533) < 0.05)
    True
    """
    own, wanted, working = floats(axes, dtype, "rayleigh")
    return finished(multiply(sqrt(multiply(2.0, exponentials(own, working))),
                             parameter(scale, "rayleigh", "scale", 0.0)), own, wanted, "rayleigh")


def maxwell(axes: AxesLike, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Maxwell's distribution of speeds: ``scale`` times the length of a vector of three normal numbers.

    >>> x = nv.evaluate(nv.random.maxwell((10_000,)))
    >>> bool(abs(x.mean() - 1.5958) < 0.05)
    True
    """
    own, wanted, working = floats(axes, dtype, "maxwell")
    return finished(multiply(_speeds(own, working), parameter(scale, "maxwell", "scale", 0.0)), own, wanted, "maxwell")


@in_order
def double_sided_maxwell(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0,
                         dtype: DTypeLike = float32) -> Tensor:
    """Draws numbers ``loc`` plus or minus ``scale`` times one of Maxwell's distribution.

    >>> x = nv.evaluate(nv.random.double_sided_maxwell((10_000,), 1.0))
    >>> bool(abs(x.mean() - 1) < 0.1), bool(abs(x.var() - 3) < 0.3)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "double_sided_maxwell")
    size = _speeds(own, working)
    return _placed(where(bernoulli(own), size, negative(size)), own, loc, scale, wanted, "double_sided_maxwell")


@in_order
def weibull(axes: AxesLike, shape: Operand, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Weibull's distribution: ``scale`` * e ** (1 / ``shape``), where e is exponential.

    >>> x = nv.evaluate(nv.random.weibull((10_000,), 2.0))
    >>> bool(abs(x.mean() - 0.8862) < 0.05)
    True
    """
    own, wanted, working = floats(axes, dtype, "weibull")
    raised = power(exponentials(own, working), 1.0 / parameter(shape, "weibull", "shape", 0.0))
    return finished(multiply(raised, parameter(scale, "weibull", "scale", 0.0)), own, wanted, "weibull")


@in_order
def pareto(axes: AxesLike, shape: Operand, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Pareto's distribution of numbers from ``scale`` on: scale * exp(e / ``shape``), where e is
    exponential.

    NumPy's ``pareto`` starts from 0: it is this minus 1.

    >>> x = nv.evaluate(nv.random.pareto((10_000,), 3.0))
    >>> bool(x.min() >= 1), bool(abs(x.mean() - 1.5) < 0.1)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "pareto")
    raised = exp(divide(exponentials(own, working), parameter(shape, "pareto", "shape", 0.0)))
    return finished(multiply(raised, parameter(scale, "pareto", "scale", 0.0)), own, wanted, "pareto")


@in_order
def lognormal(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws numbers whose logarithms have mean ``loc`` and standard deviation ``scale``: exp of normal ones.

    >>> x = nv.evaluate(nv.random.lognormal((10_000,), scale=0.5))
    >>> bool(abs(np.log(x).std() - 0.5) < 0.02)
    True
    """
    own, wanted, working = floats(axes, dtype, "lognormal")
    return finished(exp(_placed(normal(own, dtype=working), own, loc, scale, working, "lognormal")), own, wanted,
                    "lognormal")


@in_order
def triangular(axes: AxesLike, low: Operand, peak: Operand, high: Operand, dtype: DTypeLike = float32) -> Tensor:
    """Draws from ``low`` to ``high``, with a density that rises to ``peak`` and falls, both in a straight line.

    Numbers that are not in this order are an InvalidArgument.

    >>> x = nv.evaluate(nv.random.triangular((10_000,), 0.0, 1.0, 2.0))
    >>> bool(0 <= x.min() and x.max() <= 2), bool(abs(x.mean() - 1) < 0.05)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "triangular")
    start, top, end = [parameter(value, "triangular", name)
                       for value, name in ((low, "low"), (peak, "peak"), (high, "high"))]
    if all([is_scalar(value) for value in (start, top, end)]) and not _ascend(start, top, end):
        raise InvalidArgument("the peak lies between the ends", op="triangular", operand="peak",
                              got=f"{low}, {peak}, {high}", expected="low <= peak <= high, low < high",
                              help="the order is low, peak, high")
    u = uniform(own, dtype=working)
    width, rise, fall = end - start, top - start, end - top
    is_first = less(multiply(u, width), rise)
    below = add(start, sqrt(multiply(multiply(u, width), rise)))
    above = subtract(end, sqrt(multiply(multiply(subtract(1.0, u), width), fall)))
    return finished(where(is_first, below, above), own, wanted, "triangular")


@in_order
def truncated_normal(axes: AxesLike, low: Operand = -2.0, high: Operand = 2.0, loc: Operand = 0.0,
                     scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from the normal distribution, of numbers from ``low`` to ``high`` standard deviations off the mean alone.

    ``loc`` and ``scale`` are mean and deviation of the distribution that is not cut off. Bounds in the wrong order are
    an InvalidArgument. An interval may lie as far out as the element type tells numbers in it apart.

    >>> x = nv.evaluate(nv.random.truncated_normal((10_000,), -1.0, 1.0))
    >>> bool(-1 <= x.min() and x.max() <= 1), bool(abs(x.std() - 0.5396) < 0.02)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "truncated_normal")
    start, end = parameter(low, "truncated_normal", "low"), parameter(high, "truncated_normal", "high")
    if is_scalar(start) and is_scalar(end) and not real(start, "", "") < real(end, "", ""):
        raise InvalidArgument("the bounds make no interval", op="truncated_normal", operand="low",
                              got=f"[{low}, {high}]", expected="low < high", help="the lower bound comes first")
    below, above = [full((), bound, working) if is_scalar(bound) else bound for bound in (start, end)]
    is_reflected = greater(add(below, above), 0.0)  # chances are told apart where they are small: below the mean
    first, last = where(is_reflected, negative(above), below), where(is_reflected, negative(below), above)
    most = log_ndtr(last)
    share = log1p(multiply(inner(own, working), expm1(subtract(log_ndtr(first), most))))
    found = clip(_of_logarithm(add(most, share)), first, last)
    return _placed(where(is_reflected, negative(found), found), own, loc, scale, wanted, "truncated_normal")


def _of_logarithm(chance: Tensor) -> Tensor:
    """Returns the x below which a normal number lies with a chance whose logarithm is ``chance``.

    A chance that is no float any more is inverted by its asymptote, and Newton's method from there.
    """
    is_far = less(chance, -10.0)
    near = where(is_far, -1.0, chance)
    is_high = greater(near, -0.5)
    found = ndtri(where(is_high, negative(expm1(near)), exp(near)))
    squared = multiply(where(is_far, chance, -10.0), -2.0)
    x = where(is_far, negative(sqrt(subtract(squared, log(multiply(squared, 2 * math.pi))))),
              where(is_high, negative(found), found))
    for _ in range(3):
        logarithm = log_ndtr(x)
        slope = exp(subtract(negative(multiply(square(x), 0.5)), add(logarithm, 0.5 * math.log(2 * math.pi))))
        x = where(is_far, subtract(x, divide(subtract(logarithm, chance), slope)), x)
    return x


def _speeds(axes: Axes, dtype: DType) -> Tensor:
    """Draws lengths of vectors of three normal numbers."""
    x, y, z = [square(normal(axes, dtype=dtype)) for _ in range(3)]
    return sqrt(add(add(x, y), z))


def _ascend(*numbers: Operand) -> bool:
    low, peak, high = [real(number, "triangular", "low") for number in numbers]
    return low <= peak <= high and low < high


def _placed(numbers: Tensor, axes: AxesLike, loc: Operand, scale: Operand, dtype: DTypeLike, op: str) -> Tensor:
    """Returns ``loc + scale * numbers``."""
    width, centre = parameter(scale, op, "scale", 0.0), parameter(loc, op, "loc")
    scaled = numbers if is_scalar(width) and width == 1 else multiply(numbers, width)
    moved = scaled if is_scalar(centre) and centre == 0 else add(scaled, centre)
    own, wanted, _ = floats(axes, dtype, op)
    return finished(moved, own, wanted, op)


__all__ = ["cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell",
           "pareto", "rayleigh", "triangular", "truncated_normal", "weibull"]

explain_keywords(globals(), __all__)
