"""Activations that are made of other functions: shrinkage, hard bounds, gates, slopes that are drawn.

>>> import nervure as nv
>>> nv.hard_tanh([-3.0, 0.5, 3.0]).tolist(), nv.soft_shrink([-3.0, 0.2, 3.0]).tolist()
([-1.0, 0.5, 1.0], [-2.5, 0.0, 2.5])
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import position_of, real, require_function
from nervure.front.arranging.joining import split
from nervure.front.networks.normalization import softmax
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    expm1,
    greater,
    greater_equal,
    less,
    less_equal,
    minimum,
    multiply,
    negative,
    sigmoid,
    sqrt,
    square,
    subtract,
    tanh,
)
from nervure.front.pointwise.elementwise import as_floats, clip, where
from nervure.front.random import uniform
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike, AxisLike

__all__ = ["celu", "glu", "hard_shrink", "hard_tanh", "relu6", "rrelu", "soft_shrink", "soft_sign", "softmin",
           "squareplus", "tanh_shrink", "threshold"]


# -- bounds ------------------------------------------------------------------------------------------------------


def relu6(x: Operand) -> Tensor:
    """x limited to the interval from 0 to 6.

    >>> nv.relu6([-1.0, 3.0, 9.0]).tolist()
    [0.0, 3.0, 6.0]
    """
    return clip(as_floats(x, "relu6"), 0.0, 6.0)


def hard_tanh(x: Operand, low: float = -1.0, high: float = 1.0) -> Tensor:
    """x limited to the interval from ``low`` to ``high``; an InvalidArgument unless low is below high.

    >>> nv.hard_tanh([-2.0, 0.5, 2.0]).tolist()
    [-1.0, 0.5, 1.0]
    """
    least, most = real(low, "hard_tanh", "low"), real(high, "hard_tanh", "high")
    if not least < most:
        raise InvalidArgument("an interval has two ends", op="hard_tanh", operand="low", got=f"{low} to {high}",
                              expected="low < high", help="low=-1.0, high=1.0 are usual")
    return clip(as_floats(x, "hard_tanh"), least, most)


def threshold(x: Operand, bound: float, value: float) -> Tensor:
    """x where it is above ``bound``, else ``value``. NaN stays.

    >>> nv.threshold([0.05, 2.0], 0.1, 20.0).tolist()
    [20.0, 2.0]
    """
    own = as_floats(x, "threshold")
    return where(less_equal(own, real(bound, "threshold", "bound")), real(value, "threshold", "value"), own)


def hard_shrink(x: Operand, bound: float = 0.5) -> Tensor:
    """x where it is above ``bound`` or below ``-bound``, else 0. NaN stays.

    >>> nv.hard_shrink([-1.0, 0.2, 1.0]).tolist()
    [-1.0, 0.0, 1.0]
    """
    own, limit = as_floats(x, "hard_shrink"), _not_negative(bound, "hard_shrink")
    return where(less_equal(absolute(own), limit), 0.0, own)


def soft_shrink(x: Operand, bound: float = 0.5) -> Tensor:
    """x moved towards 0 by ``bound``; what is nearer becomes 0. NaN stays.

    >>> nv.soft_shrink([-1.0, 0.2, 1.0]).tolist()
    [-0.5, 0.0, 0.5]
    """
    own, limit = as_floats(x, "soft_shrink"), _not_negative(bound, "soft_shrink")
    return where(less_equal(absolute(own), limit), 0.0, where(less(own, 0.0), add(own, limit), subtract(own, limit)))


def tanh_shrink(x: Operand) -> Tensor:
    """x - tanh(x).

    >>> nv.tanh_shrink([0.0]).tolist()
    [0.0]
    """
    own = as_floats(x, "tanh_shrink")
    return subtract(own, tanh(own))


# -- smooth functions --------------------------------------------------------------------------------------------


def celu(x: Operand, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else ``alpha * (exp(x / alpha) - 1)`` (Barron 2017).

    >>> nv.celu(np.array([-1.0, 2.0])).numpy().round(4).tolist()
    [-0.6321, 2.0]
    """
    own, scale = as_floats(x, "celu"), real(alpha, "celu", "alpha")
    if scale == 0:
        raise InvalidArgument("alpha divides", op="celu", operand="alpha", got=alpha, expected="a number but 0",
                              help="nv.relu is the limit for alpha = 0")
    below = multiply(scale, expm1(divide(minimum(own, 0.0), scale)))  # finite where it is not chosen, too
    return where(greater(own, 0.0), own, below)


def soft_sign(x: Operand) -> Tensor:
    """x / (1 + \\|x\\|).

    >>> nv.soft_sign([-1.0, 0.0, 3.0]).tolist()
    [-0.5, 0.0, 0.75]
    """
    own = as_floats(x, "soft_sign")
    return divide(own, add(1.0, absolute(own)))


def squareplus(x: Operand, b: float = 4.0) -> Tensor:
    """(x + sqrt(x**2 + b)) / 2, a smooth ``nv.relu`` (Barron 2021).

    >>> nv.squareplus([0.0, 1.5]).tolist()
    [1.0, 2.0]
    """
    own = as_floats(x, "squareplus")
    return multiply(0.5, add(own, sqrt(add(square(own), _not_negative(b, "squareplus", "b")))))


def softmin(x: Operand, normalization_axes: AxesLike | None = None, *, axis: AxesLike | None = None) -> Tensor:
    """exp(-x) over its sum along ``normalization_axes`` or ``axis``, as ``nv.softmax`` takes them.

    >>> nv.softmin([[0.0, 0.0]], -1).tolist()
    [[0.5, 0.5]]
    """
    return softmax(negative(as_floats(x, "softmin")), normalization_axes, axis=axis)


# -- gates and noise ---------------------------------------------------------------------------------------------


def glu(x: TensorLike, axis: AxisLike = -1, gate: Callable[[Tensor], Tensor] = sigmoid) -> Tensor:
    """The first half of x along ``axis`` times the ``gate`` of the second half (Dauphin et al. 2017).

    ``gate=nv.silu`` is SwiGLU's, ``gate=nv.gelu`` GEGLU's (Shazeer 2020). An odd length is a ShapeMismatch.

    >>> nv.glu([[2.0, 4.0, 0.0, 0.0]]).tolist()
    [[1.0, 2.0]]
    """
    require_function(gate, "glu", "gate")
    own = as_floats(x, "glu")
    first, second = split(own, 2, position_of(own, axis, "glu"))
    return multiply(first, gate(second))


def rrelu(x: TensorLike, low: float = 1 / 8, high: float = 1 / 3) -> Tensor:
    """x where it is not negative, else x times a slope that is drawn evenly from ``low`` to ``high`` for each element
    (Xu et al. 2015).

    >>> y = nv.rrelu([-1.0, 2.0], low=0.5, high=0.75).numpy()
    >>> bool(-0.75 <= y[0] <= -0.5), y[1].item()
    (True, 2.0)
    """
    own = as_floats(x, "rrelu")
    least, most = real(low, "rrelu", "low"), real(high, "rrelu", "high")
    if not least <= most:
        raise InvalidArgument("slopes lie between two ends", op="rrelu", operand="low", got=f"{low} to {high}",
                              expected="low <= high", help="low=1/8, high=1/3 are usual")
    slope: Operand = least if least == most else uniform(own, least, most, own.dtype)
    return where(greater_equal(own, 0.0), own, multiply(own, slope))


def _not_negative(value: float, op: str, operand: str = "bound") -> float:
    number = real(value, op, operand)
    if not number >= 0:
        raise InvalidArgument(f"{operand} is not negative", op=op, operand=operand, got=value, expected="0 or more",
                              help="0.5 is usual" if operand == "bound" else "4.0 is usual")
    return number


explain_keywords(globals(), __all__)
