"""Statistics of neighbours and of pairs: differences along an axis, slopes, areas, covariances, weighted means.

>>> import nervure as nv
>>> nv.diff([1, 4, 9]).tolist(), nv.trapezoid([1, 2, 3]).item(), nv.average([1, 2], weights=[3, 1]).item()
([3.0, 5.0], 4.0, 1.25)
"""

from __future__ import annotations

import math

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.apply import common_dtype
from nervure.front.argument_parsing import integer, position_of, positions_of, truth
from nervure.front.argument_parsing import real as real_number
from nervure.front.arranging.diagonals import diagonal
from nervure.front.arranging.indexing import slice_along_axis
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.rearranging import matrix_transpose
from nervure.front.arranging.views import broadcast, expand_dims, permuted, reshape
from nervure.front.creation import as_tensor, expression
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    equal,
    logical_and,
    mod,
    multiply,
    not_equal,
    sqrt,
    subtract,
)
from nervure.front.pointwise.complex_parts import conj, real
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.promotion import floating, promote
from nervure.front.statistics import reductions
from nervure.front.statistics.prefixes import cumsum
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike, AxisLike
from nervure.types.dim import DimLike, dim_max, less_equal
from nervure.types.dim import equal as same_length
from nervure.types.dtype import bool_

__all__ = ["average", "corrcoef", "cov", "diff", "gradient", "ptp", "trapezoid", "unwrap", "var"]


# -- neighbours --------------------------------------------------------------------------------------------------


def diff(x: TensorLike, n: int = 1, axis: AxisLike = -1) -> Tensor:
    """Returns the differences of neighbours along an ``axis``, ``n`` times over. Of truth values they are ``!=``.

    >>> nv.diff([1, 4, 9, 16]).tolist(), nv.diff([1, 4, 9, 16], 2).tolist()
    ([3.0, 5.0, 7.0], [2.0, 2.0])
    """
    own, times = as_tensor(x, "diff"), integer(n, "diff", "n", help="0 gives the tensor itself", least=0)
    at = position_of(own, axis, "diff")
    for _ in range(times):
        pair = _part(own, at, 1, None), _part(own, at, 0, -1)
        own = not_equal(*pair) if own.dtype is bool_ else subtract(*pair)
    return expression(own)


def gradient(x: TensorLike, *spacing: Operand, axis: AxesLike | None = None) -> Tensor | list[Tensor]:
    """Returns slopes along each ``axis``, by central differences inside and by differences of two at both ends.

    ``spacing`` is the distance of neighbours: none is 1, one number serves all axes, and there may be one for each. A
    list has one tensor for each axis, a single axis gives a tensor.

    >>> nv.gradient([1, 4, 9, 16]).tolist(), nv.gradient([1, 4, 9], 2.0).tolist()
    ([3.0, 4.0, 6.0, 7.0], [1.5, 2.0, 2.5])
    """
    own = as_floats(x, "gradient")
    places = tuple(range(own.ndim)) if axis is None else positions_of(own, axis, "gradient")
    if len(spacing) not in (0, 1, len(places)):
        raise InvalidArgument("a distance is given for each axis, or one for all", op="gradient", operand="spacing",
                              got=f"{len(spacing)} distances", expected=f"0, 1 or {len(places)}",
                              help="axis= chooses axes")
    steps: list[Operand | None] = [*(spacing or (None,))]
    steps = steps * len(places) if len(steps) == 1 else steps
    found = [_slopes(own, at, step) for at, step in zip(places, steps, strict=True)]
    return found[0] if len(found) == 1 else found


def _slopes(x: Tensor, at: int, step: Operand | None) -> Tensor:
    length = x.type.shape[at]
    if less_equal(2, length) is not True:
        raise ShapeMismatch("a slope needs two neighbours", op="gradient", operand=1, got=str(x.type),
                            expected=f"a length of 2 or more along axis {at}", help='nv.dim("n", min=2) is a symbol')
    if step is not None and as_tensor(step, "gradient", 2).ndim:
        raise ShapeMismatch("the distance of neighbours is a number", op="gradient", operand="spacing",
                            got=str(as_tensor(step, "gradient", 2).type), expected="a number",
                            help="nv.diff(x) / nv.diff(places) takes any places")
    inner = subtract(_part(x, at, 2, None), _part(x, at, 0, -2)) / 2
    first = subtract(_part(x, at, 1, 2), _part(x, at, 0, 1))
    last = subtract(_part(x, at, -1, None), _part(x, at, -2, -1))
    value = ops.Concatenate(first.value, inner.value, last.value, axis=at)
    slopes = Tensor(value, x._axes)
    return slopes if step is None else slopes / step


def trapezoid(y: TensorLike, x: Operand | None = None, dx: Operand = 1.0, axis: AxisLike = -1) -> Tensor:
    """The area under y along an ``axis``, by the trapezoidal rule: between places ``x``, or at equal distances ``dx``.

    ``x`` has one axis, or those of y.

    >>> nv.trapezoid([1, 2, 3]).item(), nv.trapezoid([1, 2, 3], x=[4, 6, 8]).item()
    (4.0, 8.0)
    """
    own = as_floats(y, "trapezoid")
    at = position_of(own, axis, "trapezoid")
    wide = convert(own, own.dtype.compute)
    means = (_part(wide, at, 1, None) + _part(wide, at, 0, -1)) / 2
    if x is None:
        dtype = common_dtype((own, dx), "trapezoid")
        return convert(reductions.sum(multiply(means, dx), axis=[at]), dtype)
    places = as_floats(x, "trapezoid", 2)  # unsigned integers have no negative differences
    dtype = promote([own.dtype, places.dtype], op="trapezoid")
    steps = diff(convert(places, places.dtype.compute), axis=-1 if places.ndim == 1 else at)
    if places.ndim == 1 and not places.is_named:
        steps = reshape(steps, [means.shape[at] if d == at else 1 for d in range(own.ndim)])
    return convert(reductions.sum(multiply(means, steps), axis=[at]), dtype)


def unwrap(x: TensorLike, discont: float | None = None, axis: AxisLike = -1, period: float = 2 * math.pi) -> Tensor:
    """Adds multiples of the ``period`` to x, so that neighbours along an ``axis`` differ by half of it at most.

    Neighbours that differ by less than ``discont``, by default half a period, stay as they are.

    >>> nv.unwrap([0, 5, 2], period=4).tolist()
    [0.0, 1.0, 2.0]
    """
    own = as_floats(x, "unwrap")
    at, length = position_of(own, axis, "unwrap"), real_number(period, "unwrap", "period")
    if not length > 0:
        raise InvalidArgument("a period is positive", op="unwrap", operand="period", got=length,
                              expected="more than 0", help="2 * math.pi is that of an angle in radians")
    steps, half = diff(own, axis=at), length / 2
    near = mod(steps + half, length) - half
    near = where(logical_and(equal(near, -half), steps > 0), half, near)
    is_small = absolute(steps) < max(half, half if discont is None else real_number(discont, "unwrap", "discont"))
    moves = cumsum(where(is_small, 0, near - steps), at)
    front = [(1, 0) if d == at else (0, 0) for d in range(own.ndim)]
    padded = Tensor(ops.Pad(moves.value, tuple(front), 0).output)  # which has one element where x has none
    return add(own, Tensor(_part(padded, at, 0, own.type.shape[at]).value, own._axes))


def _part(x: Tensor, at: int, start: int, stop: DimLike | None) -> Tensor:
    """Returns a range of positions along one axis."""
    return slice_along_axis(x, at, slice(start, stop))


# -- statistics --------------------------------------------------------------------------------------------------


def var(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Returns the variance of x along an ``axis``, as ``nv.variance`` does.

    >>> nv.var([1, 2, 3, 4]).item()
    1.25
    """
    return reductions.variance(x, axis=axis, keepdims=keepdims, ddof=ddof)


def ptp(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the distance from the smallest element of x along an ``axis`` to the largest one.

    >>> nv.ptp([[1, 5], [2, 2]], axis=1).tolist()
    [4.0, 0.0]
    """
    own = as_tensor(x, "ptp")
    return subtract(reductions.max(own, axis=axis, keepdims=keepdims),
                    reductions.min(own, axis=axis, keepdims=keepdims))


def average(x: TensorLike, axis: AxesLike | None = None, weights: Operand | None = None,
            keepdims: bool = False) -> Tensor:
    """The mean with ``weights``, which have the axes of x or those that are reduced, in the order of ``axis``.

    >>> nv.average([[1, 2], [3, 4]], axis=1, weights=[3, 1]).tolist()
    [1.25, 3.25]
    """
    own = as_tensor(x, "average")
    if weights is None:
        return reductions.mean(own, axis=axis, keepdims=keepdims)
    heavy = as_tensor(weights, "average", 2)
    dtype = floating(promote([own.dtype, heavy.dtype], op="average"))
    if heavy.ndim != own.ndim and not heavy.is_named:
        heavy = _along(own, heavy, axis)
    own, heavy = convert(own, dtype.compute), convert(heavy, dtype.compute)
    product = multiply(own, heavy)
    whole = broadcast(heavy, own.axes if own.is_named else own.shape)
    return convert(divide(reductions.sum(product, axis=axis, keepdims=keepdims),
                          reductions.sum(whole, axis=axis, keepdims=keepdims)), dtype)


def _along(x: Tensor, weights: Tensor, axis: AxesLike | None) -> Tensor:
    """Returns weights of the axes of x that are reduced with an axis for each of x."""
    places = () if axis is None else positions_of(x, axis, "average")
    lengths = tuple([x.type.shape[at] for at in places])
    if len(places) != weights.ndim or not places or any([
            same_length(*pair) is False for pair in zip(weights.type.shape, lengths, strict=True)]):
        raise ShapeMismatch("weights have the axes that are reduced", op="average", operand="weights",
                            got=str(weights.type), help="broadcast the weights",
                            expected=f"the axes of x, or the lengths ({', '.join(map(str, lengths))})")
    ordered = permuted(weights, [places.index(at) for at in sorted(places)])
    lengths_of = dict(zip(sorted(places), ordered.type.shape, strict=True))
    return reshape(ordered, [lengths_of.get(at, 1) for at in range(x.ndim)])


def cov(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True, bias: bool = False,
        ddof: int | None = None) -> Tensor:
    """The covariances of variables, whose observations are the rows of x (the columns unless ``rowvar``), and of y.

    They are divided by n - ``ddof``: 1 by default, 0 with ``bias``. Of complex variables the second one of each pair
    is conjugated. Where n is at most ``ddof``, they are infinite or NaN. That of one variable is a scalar.

    >>> nv.cov([[0, 1, 2], [2, 1, 0]]).tolist(), nv.cov(np.array([1j, -1j])).item()
    ([[1.0, -1.0], [-1.0, 1.0]], (2+0j))
    """
    rows = _variables(x, y, rowvar, "cov")
    less_by = (0 if truth(bias, "cov", "bias") else 1) if ddof is None else integer(ddof, "cov", "ddof")
    return convert(_covariances(convert(rows, rows.dtype.compute), less_by), rows.dtype)


def corrcoef(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True) -> Tensor:
    """Returns the correlations of the variables of x and y: covariances over products of deviations (``nv.cov``).

    >>> nv.corrcoef([[0, 1, 2], [2, 1, 0]]).numpy().round(4).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    rows = _variables(x, y, rowvar, "corrcoef")
    found = _covariances(convert(rows, rows.dtype.compute), 1)
    if found.ndim == 0:
        return convert(divide(found, found), rows.dtype)
    deviations = sqrt(real(diagonal(found)))
    return convert(divide(divide(found, expand_dims(deviations, 1)), expand_dims(deviations, 0)), rows.dtype)


def _covariances(rows: Tensor, less_by: int) -> Tensor:
    """Returns the covariances of variables, divided by a count that is less, in a type of arithmetic."""
    centred = subtract(rows, reductions.mean(rows, axis=1, keepdims=True))
    found = divide(matmul(centred, matrix_transpose(conj(centred))), dim_max(rows.type.shape[1] - less_by, 0))
    return reshape(found, ()) if rows.type.shape[0] == 1 else found


def _variables(x: TensorLike, y: TensorLike | None, rowvar: bool, name: str) -> Tensor:
    """Returns floats with a row for each variable of x and of y."""
    rows = _rows(x, rowvar, name, 1)
    return rows if y is None else concatenate([rows, _rows(y, rowvar, name, 2)], 0)


def _rows(x: TensorLike, rowvar: bool, name: str, operand: int) -> Tensor:
    """Returns floats with a row for each variable of an operand."""
    own = as_tensor(x, name, operand)
    if own.ndim > 2 or own.is_named:
        raise ShapeMismatch("variables are the rows of a matrix without names", op=name, operand=operand,
                            got=str(own.type), expected="one or two axes", help="nv.reshape(x, (variables, -1))")
    own = as_floats(own, name)
    rows = own if own.ndim == 2 else reshape(own, (1, -1))
    return rows if truth(rowvar, name, "rowvar") or own.ndim < 2 else matrix_transpose(rows)


explain_keywords(globals(), __all__)
