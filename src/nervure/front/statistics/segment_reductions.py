"""Reductions over segments, and products of groups of rows with a matrix each.

A segment is all slices that carry one number, such as the neighbours of a node in a graph.

>>> import nervure as nv
>>> nv.segment_sum([1, 2, 3], [0, 2, 0], 3).tolist(), nv.segment_max([1, 2, 3], [0, 1, 0], 2).tolist()
([4.0, 0.0, 2.0], [3.0, 2.0])
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import NotSupported, ShapeMismatch
from nervure.front.argument_parsing import position_of
from nervure.front.arranging.filled import full, iota, ones
from nervure.front.arranging.gathering import as_index, from_front, gather
from nervure.front.arranging.views import expand_dims
from nervure.front.creation import as_tensor
from nervure.front.custom import custom_vjp
from nervure.front.evaluation_order import in_order
from nervure.front.matrices.contraction import einsum
from nervure.front.op_functions import divide, equal, logical_and, maximum
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.statistics.prefixes import cumsum
from nervure.front.statistics.ranks import searchsorted
from nervure.front.tensor import Number, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dim import DimLike
from nervure.types.dim import equal as same_length
from nervure.types.dtype import int64

__all__ = ["ragged_dot", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum"]


@in_order
def segment_sum(x: TensorLike, segments: TensorLike, count: DimLike, axis: AxisLike = 0) -> Tensor:
    """Returns the sums of the slices of x along an axis that have one number in ``segments``, for ``count`` numbers.

    Numbers are in any order; one that is negative, or no less than the count, is an IndexOutOfRange when the graph
    runs. The axis keeps its name, with a length of ``count``.

    >>> nv.segment_sum([[1, 2], [3, 4], [5, 6]], [1, 0, 1], 2).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    return _reduced(as_tensor(x, "segment_sum"), segments, count, axis, "add", 0, "segment_sum")


@in_order
def segment_prod(x: TensorLike, segments: TensorLike, count: DimLike, axis: AxisLike = 0) -> Tensor:
    """Returns the products of the slices of x along an axis that have one number in ``segments``; 1 for none.

    ``count`` and ``axis`` are those of ``nv.segment_sum``.

    >>> nv.segment_prod([2, 3, 4], [1, 0, 1], 3).tolist()
    [3.0, 8.0, 1.0]
    """
    own = as_tensor(x, "segment_prod")
    if not (own.dtype.is_float or own.dtype.is_complex):
        return _reduced(own, segments, count, axis, "multiply", 1, "segment_prod")
    multiplied = custom_vjp(lambda x: _reduced(x, segments, count, axis, "multiply", 1, "segment_prod"),
                            lambda gradient, x: _of_others(gradient, x, segments, count, axis))
    return multiplied(own)


def _of_others(gradient: Tensor, x: Tensor, segments: TensorLike, count: DimLike, axis: AxisLike) -> Tensor:
    """Returns the gradient of products: each factor's is the product of the others in its segment.

    That is the quotient where no factor is 0, and the product of the rest for the one that is.
    """
    at = position_of(x, axis, "segment_prod")
    numbers = Tensor(as_index(segments, "segment_prod", 2).value)
    is_zero = equal(x, 0)
    rest = segment_prod(where(is_zero, 1, x), segments, count, at)
    zeros = segment_sum(convert(is_zero, int64), segments, count, at)
    spread, counted, own = [Tensor(gather(Tensor(entry.value), numbers, at).value, x._axes)
                            for entry in (rest, zeros, gradient)]
    others = where(equal(counted, 0), divide(spread, where(is_zero, 1, x)), 0)
    return own * where(logical_and(is_zero, equal(counted, 1)), spread, others)


@in_order
def segment_max(x: TensorLike, segments: TensorLike, count: DimLike, axis: AxisLike = 0) -> Tensor:
    """Returns the largest of the slices of x along an axis that have one number in ``segments``.

    It is the least number of the type, such as -inf, for none. ``count`` and ``axis`` are those of ``nv.segment_sum``.

    >>> nv.segment_max([2, 3, 4], [1, 0, 1], 3).tolist()
    [3.0, 4.0, -inf]
    """
    own = _ordered(x, "segment_max")
    return _reduced(own, segments, count, axis, "maximum", own.dtype.extremes[0], "segment_max")


@in_order
def segment_min(x: TensorLike, segments: TensorLike, count: DimLike, axis: AxisLike = 0) -> Tensor:
    """Returns the smallest of the slices of x along an axis that have one number in ``segments``.

    It is the largest number of the type, such as inf, for none. ``count`` and ``axis`` are those of
    ``nv.segment_sum``.

    >>> nv.segment_min([2, 3, 4], [1, 0, 1], 3).tolist()
    [3.0, 2.0, inf]
    """
    own = _ordered(x, "segment_min")
    return _reduced(own, segments, count, axis, "minimum", own.dtype.extremes[1], "segment_min")


def _ordered(x: TensorLike, name: str) -> Tensor:
    """Returns a tensor whose elements have an order."""
    own = as_tensor(x, name)
    if own.dtype.is_complex:
        raise NotSupported("complex numbers have no order", op=name, operand=1, got=str(own.type),
                           expected="real numbers", help="nv.absolute(x) has an order")
    return own


@in_order
def segment_mean(x: TensorLike, segments: TensorLike, count: DimLike, axis: AxisLike = 0) -> Tensor:
    """Returns the means of the slices of x along an axis that have one number in ``segments``; 0 for none.

    ``count`` and ``axis`` are those of ``nv.segment_sum``.

    >>> nv.segment_mean([2, 3, 4], [1, 0, 1], 3).tolist()
    [3.0, 3.0, 0.0]
    """
    own = as_floats(x, "segment_mean")
    at, wide = position_of(own, axis, "segment_mean"), convert(own, own.dtype.compute)
    sums = _reduced(wide, segments, count, at, "add", 0, "segment_mean")
    number = _reduced(ones((own.type.shape[at],), wide.dtype), segments, count, 0, "add", 0, "segment_mean")
    for _ in range(own.ndim - at - 1):
        number = expand_dims(number, -1)
    return Tensor(convert(divide(Tensor(sums.value), maximum(number, 1)), own.dtype).value, sums._axes)


def _reduced(x: Tensor, segments: TensorLike, count: DimLike, axis: AxisLike, mode: str, start: Number,
             name: str) -> Tensor:
    """Returns slices combined by their numbers, from a first number on."""
    at, numbers = position_of(x, axis, name), as_index(segments, name, 2)
    length = x.type.shape[at]
    if numbers.ndim != 1 or same_length(numbers.type.shape[0], length) is False or (
            numbers.is_named and x.is_named and numbers.axes.names != (x.axes[at].name,)):
        raise ShapeMismatch("each slice has the number of its segment", op=name, operand=2, got=str(numbers.axes),
                            expected=f"one axis of length {length}", help="nv.flatten makes one axis of all")
    shape = tuple([count if d == at else own for d, own in enumerate(x.type.shape)])
    written = ops.Scatter(full(shape, start, x.dtype).value, from_front(Tensor(numbers.value), count).value, x.value,
                          at, mode)
    if not x.is_named:
        return Tensor(written)
    return Tensor(written, x.axes.resized(at, count))


@in_order
def ragged_dot(x: TensorLike, y: TensorLike, sizes: TensorLike) -> Tensor:
    """Multiplies groups of rows of x, (m, k), with a matrix each, of ``y``, (groups, k, n); ``sizes`` counts the rows.

    Rows behind the last group give zeros. With a matrix ``y``, (k, n), the sizes divide k, the axis that is summed, and
    each group gives a product: (groups, m, n). It takes as many products as a matrix of x's rows with all groups, so
    that an element that is not finite reaches other groups, as NaN.

    >>> nv.ragged_dot([[1.0], [1.0], [1.0]], [[[2.0]], [[3.0]]], [1, 2]).tolist()
    [[2.0], [3.0], [3.0]]
    >>> nv.ragged_dot([[1.0, 1.0, 1.0]], [[1.0], [2.0], [3.0]], [1, 2]).tolist()
    [[[1.0]], [[5.0]]]
    """
    own, other, counts = as_floats(x, "ragged_dot"), as_floats(y, "ragged_dot", 2), as_index(sizes, "ragged_dot", 3)
    fits = own.ndim == 2 and other.ndim in (2, 3) and counts.ndim == 1 and not (
        own.is_named or other.is_named or counts.is_named)
    if not fits or same_length(own.type.shape[1], other.type.shape[-2]) is False or other.ndim == 3 and same_length(
            other.type.shape[0], counts.type.shape[0]) is False:
        raise ShapeMismatch("the operands do not fit together", op="ragged_dot", operand=2,
                            got=f"{own.type}, {other.type} and {counts.type}",
                            expected="(m, k), (groups, k, n) or (k, n), and (groups,), without names",
                            help="sizes has the number of rows of each group, or of the elements of k")
    divided = own.type.shape[1 if other.ndim == 2 else 0]
    group = searchsorted(cumsum(counts, 0), iota(divided), "right")
    is_in = convert(equal(expand_dims(group, 1), iota(counts.type.shape[0])), own.dtype)
    return einsum("kg,mk,kn->gmn" if other.ndim == 2 else "mg,mk,gkn->mn", is_in, own, other)


explain_keywords(globals(), __all__)
