"""Elementary functions that are made of others: angles, sums of powers, entropies, rounding by other names.

>>> import math
>>> import numpy as np
>>> import nervure as nv
>>> nv.degrees(math.pi).item(), nv.fix(np.array([-1.5, 1.5])).tolist(), round(nv.logaddexp(0.0, 0.0).item(), 4)
(180.0, [-1.0, 1.0], 0.6931)
"""

from __future__ import annotations

import math

from nervure.front.apply import operand_tensors
from nervure.front.creation import as_tensor, expression
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import (
    add,
    bitwise_not,
    equal,
    exp,
    greater_equal,
    is_inf,
    is_nan,
    less,
    log,
    log1p,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    sin,
    subtract,
    trunc,
)
from nervure.front.pointwise.elementwise import as_floats, both_as_floats, round, where
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords

__all__ = ["deg2rad", "degrees", "entr", "fix", "fmax", "fmin", "heaviside", "invert", "logaddexp", "logaddexp2",
           "logit", "positive", "rad2deg", "radians", "remainder", "rint", "sinc", "xlog1py", "xlogy"]


# -- angles ------------------------------------------------------------------------------------------------------


def degrees(x: Operand) -> Tensor:
    """Angles in degrees, of angles in radians.

    >>> nv.degrees([0.0, math.pi]).tolist()
    [0.0, 180.0]
    """
    return multiply(as_floats(x, "degrees"), 180 / math.pi)


def radians(x: Operand) -> Tensor:
    """Angles in radians, of angles in degrees.

    >>> round(nv.radians(180.0).item(), 4)
    3.1416
    """
    return multiply(as_floats(x, "radians"), math.pi / 180)


def rad2deg(x: Operand) -> Tensor:
    """Angles in degrees, as ``nv.degrees`` gives them.

    >>> nv.rad2deg([0.0, math.pi]).tolist()
    [0.0, 180.0]
    """
    return degrees(x)


def deg2rad(x: Operand) -> Tensor:
    """Angles in radians, as ``nv.radians`` gives them.

    >>> round(nv.deg2rad(180.0).item(), 4)
    3.1416
    """
    return radians(x)


def sinc(x: Operand) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0.

    >>> nv.sinc(np.array([0.0, 0.5])).numpy().round(4).tolist()
    [1.0, 0.6366]
    """
    own = multiply(as_floats(x, "sinc"), math.pi)
    at_zero = equal(own, 0.0)
    safe = where(at_zero, 1.0, own)  # so that the derivative of what is not chosen is finite
    return where(at_zero, subtract(1.0, own * own / 6), sin(safe) / safe)


# -- logarithms --------------------------------------------------------------------------------------------------


def logaddexp(x: Operand, y: Operand) -> Tensor:
    """log(exp(x) + exp(y)), without overflow.

    >>> nv.logaddexp(1000.0, 0.0).item()
    1000.0
    """
    left, right = both_as_floats(x, y, "logaddexp")
    is_first = greater_equal(left, right)
    larger, smaller = where(is_first, left, right), where(is_first, right, left)
    is_open = is_inf(larger) & equal(left, right)  # two infinities have no difference
    return where(is_open, larger, add(larger, log1p(exp(where(is_open, 0.0, subtract(smaller, larger))))))


def logaddexp2(x: Operand, y: Operand) -> Tensor:
    """log2(2**x + 2**y), without overflow.

    >>> nv.logaddexp2(3.0, 3.0).item()
    4.0
    """
    left, right = both_as_floats(x, y, "logaddexp2")
    return logaddexp(multiply(left, math.log(2)), multiply(right, math.log(2))) / math.log(2)


def logit(x: Operand) -> Tensor:
    """log(x / (1 - x)): the number whose ``nv.sigmoid`` is x.

    >>> nv.logit([0.5, 1.0]).tolist()
    [0.0, inf]
    """
    own = as_floats(x, "logit")
    return subtract(log(own), log1p(negative(own)))


def xlogy(x: Operand, y: Operand) -> Tensor:
    """x * log(y), and 0 where x is 0, unless y is NaN.

    >>> nv.xlogy(np.array([0.0, 2.0]), np.array([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    left, right = both_as_floats(x, y, "xlogy")
    is_nothing = equal(left, 0.0)
    product = multiply(left, log(where(is_nothing, 1.0, right)))
    return where(is_nothing & is_nan(right), math.nan, product)


def xlog1py(x: Operand, y: Operand) -> Tensor:
    """x * log(1 + y), and 0 where x is 0, unless y is NaN.

    >>> nv.xlog1py(np.array([0.0, 2.0]), np.array([-1.0, 0.0])).tolist()
    [0.0, 0.0]
    """
    left, right = both_as_floats(x, y, "xlog1py")
    is_nothing = equal(left, 0.0)
    product = multiply(left, log1p(where(is_nothing, 0.0, right)))
    return where(is_nothing & is_nan(right), math.nan, product)


def entr(x: Operand) -> Tensor:
    """-x * log(x), 0 at 0, and minus infinity below.

    >>> nv.entr([0.0, 1.0, -1.0]).tolist()
    [0.0, 0.0, -inf]
    """
    own = as_floats(x, "entr")
    return where(less(own, 0.0), -math.inf, subtract(0.0, xlogy(own, where(less(own, 0.0), 1.0, own))))


# -- choices and rounding ----------------------------------------------------------------------------------------


@in_order
def fmax(x: Operand, y: Operand) -> Tensor:
    """The larger of x and y; where one is NaN, the other.

    >>> nv.fmax(np.array([np.nan, 1.0]), 0.5).tolist()
    [0.5, 1.0]
    """
    left, right = operand_tensors((x, y), "fmax")
    return where(_is_nan(left), right, where(_is_nan(right), left, maximum(left, right)))


@in_order
def fmin(x: Operand, y: Operand) -> Tensor:
    """The smaller of x and y; where one is NaN, the other.

    >>> nv.fmin(np.array([np.nan, 1.0]), 0.5).tolist()
    [0.5, 0.5]
    """
    left, right = operand_tensors((x, y), "fmin")
    return where(_is_nan(left), right, where(_is_nan(right), left, minimum(left, right)))


def heaviside(x: Operand, y: Operand) -> Tensor:
    """0 where x is below 0, 1 above, and y where x is 0. NaN stays.

    >>> nv.heaviside(np.array([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    left, right = both_as_floats(x, y, "heaviside")
    step = where(less(left, 0.0), 0.0, where(equal(left, 0.0), right, 1.0))
    return where(is_nan(left), left, step)


def rint(x: Operand) -> Tensor:
    """The nearest whole number, halves to the even one.

    >>> nv.rint([0.5, 1.5, 2.4]).tolist()
    [0.0, 2.0, 2.0]
    """
    return round(as_floats(x, "rint"))


def fix(x: Operand) -> Tensor:
    """The nearest whole number towards 0, as ``nv.trunc`` gives it.

    >>> nv.fix(np.array([-1.5, 1.5])).tolist()
    [-1.0, 1.0]
    """
    return trunc(x)


@in_order
def remainder(x: Operand, y: Operand) -> Tensor:
    """Returns the rest of x divided by y, with the sign of y, as ``x % y``.

    >>> nv.remainder(np.array([-3, 3]), 2).tolist()
    [1, 1]
    """
    return mod(x, y)


def positive(x: Operand) -> Tensor:
    """x itself, as ``+x``.

    >>> nv.positive([1, -1]).tolist()
    [1.0, -1.0]
    """
    return expression(as_tensor(x, "positive"))


def invert(x: Operand) -> Tensor:
    """The bits of an integer the other way round, as ``~x``.

    >>> nv.invert(np.array([0, 1], np.int8)).tolist()
    [-1, -2]
    """
    return bitwise_not(x)


def _is_nan(x: Tensor) -> Tensor:
    return is_nan(x) if x.dtype.is_float or x.dtype.is_complex else equal(x, x) & False


explain_keywords(globals(), __all__)
