"""Elementwise functions that do more than apply one op; :mod:`nervure.front.op_functions` makes all others.

>>> import nervure as nv
>>> nv.clip(nv.constant([1, 5]), low=3).tolist()
[3.0, 5.0]
"""

from __future__ import annotations

import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument
from nervure.front import alignment
from nervure.front.apply import common_dtype, is_weak, operate, operate_real, tensors_of_type, truth
from nervure.front.argument_parsing import integer, real
from nervure.front.creation import as_tensor, expression
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import divide, floordivide, is_finite, log, mod, multiply
from nervure.front.promotion import floating
from nervure.front.tensor import Operand, Tensor, TensorLike, is_scalar
from nervure.front.traced_numbers import TracedNumber
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import DType, DTypeLike, as_dtype

__all__ = ["atan2", "bitcast", "clip", "convert", "divmod", "elu", "gelu", "leaky_relu", "logical_not",
           "power", "prelu", "round", "safelog", "stop_gradient", "where"]



def convert(x: Operand, dtype: DTypeLike, mode: str = "saturate") -> Tensor:
    """Converts x to another element type. ``mode`` "saturate" clamps values that do not fit, "wrap" takes integers
    modulo 2**bits.

    >>> nv.convert([1.7, 300.0], nv.uint8).tolist()
    [1, 255]
    """
    tensor = as_tensor(x, "convert")
    return Tensor(converted(tensor.value, as_dtype(dtype), mode), tensor._axes)


def as_floats(x: TensorLike, op: str, position: int = 1) -> Tensor:
    """Returns the operand x of a function of real numbers: integers and truth values become float32."""
    own = as_tensor(x, op, position)
    return convert(own, floating(own.dtype))


def both_as_floats(x: Operand, y: Operand, op: str) -> tuple[Tensor, Tensor]:
    """Returns the operands x and y of a function of real numbers in their common type."""
    left, right = tensors_of_type((x, y), op, floating(common_dtype((x, y), op)))
    return left, right


def bitcast(x: Operand, dtype: DTypeLike) -> Tensor:
    """Reinterprets the bits as elements of another type of the same width.

    >>> hex(nv.bitcast(np.float32(1.0), nv.int32).item())
    '0x3f800000'
    """
    tensor = as_tensor(x, "bitcast")
    return Tensor(ops.Bitcast(tensor.value, as_dtype(dtype)), tensor._axes)


def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    """Chooses a where the condition holds, else b, element by element. Numbers count as true when they are not 0.

    >>> x = np.array([-1.0, 2.0])
    >>> nv.where(x > 0, x, 0).tolist()
    [0.0, 2.0]
    """
    dtype = common_dtype((a, b), "where")
    tensors = [truth(condition), *[as_tensor(entry, "where", 2 + k, _scalar_type(entry, dtype))
                                    for k, entry in enumerate((a, b))]]
    values, axes, _ = alignment.aligned(tensors, "where")
    return Tensor(ops.Where(values[0], *[converted(value, dtype) for value in values[1:]]), axes)


def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> Tensor:
    """Limits x to the interval from ``low`` to ``high``; a bound of None does not limit. NaN stays.

    >>> nv.clip(np.array([-2.0, 0.5, 9.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    if low is not None and high is not None:
        return operate("clip", ops.Clip, (x, low, high))
    if low is not None:
        return operate("clip", ops.Maximum, (x, low))
    if high is not None:
        return operate("clip", ops.Minimum, (x, high))
    raise InvalidArgument("clip needs a bound", op="clip", help="nv.clip(x, low, high)", got="no bound",
                          expected="low, high, or both")


def logical_not(x: Operand) -> Tensor:
    """Whether an element is zero.

    >>> nv.logical_not(np.array([0, 3])).tolist()
    [True, False]
    """
    tensor = truth(x)
    return Tensor(ops.LogicalNot(tensor.value), tensor._axes)


_GELUS = (False, None, "none", True, "tanh")


def gelu(x: Operand, approximate: str | bool = False) -> Tensor:
    """x times the normal distribution's cumulative function at x; ``approximate="tanh"`` uses the usual formula
    with tanh.

    >>> nv.gelu(np.array([0.0, 1.0])).numpy().round(4).tolist()
    [0.0, 0.8413]
    """
    if not isinstance(approximate, (str, bool)) and approximate is not None or approximate not in _GELUS:
        raise InvalidArgument("unknown approximation", op="gelu", operand="approximate", got=f"{approximate!r:.60}",
                              expected="'tanh' or False", help="approximate='tanh' is the usual formula with tanh")
    core = ops.Gelu if approximate in (False, None, "none") else ops.GeluTanh
    return operate_real("gelu", core, x)


def leaky_relu(x: Operand, slope: float = 0.01) -> Tensor:
    """x where it is positive, else ``slope * x``.

    >>> nv.leaky_relu(np.array([-4.0, 2.0]), slope=0.5).tolist()
    [-2.0, 2.0]
    """
    return operate_real("leaky_relu", ops.LeakyRelu, x, slope=slope)


def elu(x: Operand, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else ``alpha * (exp(x) - 1)``.

    >>> nv.elu(np.array([-1.0, 2.0])).numpy().round(4).tolist()
    [-0.6321, 2.0]
    """
    return operate_real("elu", ops.Elu, x, alpha=alpha)


def prelu(x: Operand, slope: Operand) -> Tensor:
    """x where it is positive, else ``slope * x``, with a learnt slope.

    >>> nv.prelu(np.array([-4.0, 2.0]), 0.25).tolist()
    [-1.0, 2.0]
    """
    return operate_real("prelu", ops.PRelu, x, slope)


def safelog(x: Operand, limit: float = -50.0) -> Tensor:
    """The logarithm, limited from below by ``limit``, so that it is finite at 0.

    >>> round(nv.safelog(0.0).item(), 4)
    -50.0
    """
    floor = float(np.exp(np.float64(real(limit, "safelog", "limit", help="nv.maximum limits by a tensor"))))
    return log(operate_real("safelog", ops.Maximum, x, floor))


def power(x: Operand, y: Operand) -> Tensor:
    """x ** y. 0 ** 0 is 1; an integer to a constant negative power is an error.

    >>> nv.power(np.array([2, 3]), 3).tolist()
    [8, 27]
    """
    dtype = common_dtype((x, y), "power")
    if dtype.is_integer and isinstance(y, TracedNumber):
        y = y.noted(_exponent)
    elif dtype.is_integer and isinstance(y, (int, np.integer)):
        _exponent(y)
    if is_scalar(y) and y == 2:
        return operate("power", ops.Square, (x,), dtype)
    if dtype.is_complex:
        return operate_real("power", ops.Power, x, y)
    return operate("power", ops.Power, (x, y), dtype)


def _exponent(y: int | np.integer) -> int | np.integer:
    """Returns an exponent for integers as it is, if it is an integer."""
    if y < 0:
        raise InvalidArgument("an integer has no negative powers", op="power", operand=2, got=y,
                              expected="0 or more", help="convert the base: x.astype(nv.float32) ** y")
    return y


def atan2(y: Operand, x: Operand) -> Tensor:
    """The angle of the point (x, y), in [-pi, pi]. Its derivative at the origin is NaN.

    >>> round(nv.atan2(1.0, -1.0).item(), 4)
    2.3562
    """
    return operate_real("atan2", ops.Atan2, y, x)


@in_order
def divmod(x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """x // y and x % y.

    >>> import nervure as nv
    >>> [part.tolist() for part in nv.divmod(nv.constant([7.0, -7.0]), 2)]
    [[3.0, -4.0], [1.0, 1.0]]
    """
    return floordivide(x, y), mod(x, y)


MOST_DECIMALS = 30
"""The most decimals: a power of ten within float32's range."""


def round(x: Operand, decimals: int = 0) -> Tensor:
    """Rounds x to ``decimals`` decimal places, halves to the even digit; negative ones round to tens, hundreds.

    Integers have no decimals and are returned as they are; rounding integers to tens is an InvalidArgument.

    >>> import nervure as nv
    >>> nv.round(nv.constant([0.5, 1.5, 2.6])).tolist(), f"{nv.round(2.71828, 2):.4f}"
    ([0.0, 2.0, 3.0], '2.7200')
    """
    places = integer(decimals, "round", "decimals")
    if places == 0:
        return operate("round", ops.Round, (x,))
    dtype, own = common_dtype((x,), "round"), as_tensor(x, "round")
    if dtype.is_integer and places > 0:
        return expression(own)
    if dtype.is_integer or not -MOST_DECIMALS <= places <= MOST_DECIMALS:
        raise InvalidArgument("this many decimals cannot be rounded to", op="round", operand="decimals",
                              got=f"{places}, of {dtype.name}",
                              expected=f"{-MOST_DECIMALS} to {MOST_DECIMALS}; for integers 0 or more",
                              help="convert integers first: x.astype(nv.float64)")
    scale, wide = 10.0 ** abs(places), convert(own, dtype.compute)
    scaled = multiply(wide, scale) if places > 0 else divide(wide, scale)
    whole = operate("round", ops.Round, (scaled,))
    rounded = divide(whole, scale) if places > 0 else multiply(whole, scale)
    return convert(where(is_finite(scaled), rounded, wide), dtype)


def stop_gradient(x: Operand) -> Tensor:
    """x itself; derivatives do not pass.

    >>> x = nv.variable((), 3.0)
    >>> nv.deriv(x * nv.stop_gradient(x), x).item()
    3.0
    """
    tensor = as_tensor(x, "stop_gradient")
    return Tensor(ops.StopGradient(tensor.value), tensor._axes)


def _scalar_type(operand: Operand, dtype: DType) -> DType | None:
    return dtype if is_weak(operand) else None


explain_keywords(globals(), __all__)
