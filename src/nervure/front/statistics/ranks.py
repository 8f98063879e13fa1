"""Ranks among ordered elements: quantiles along an axis, and places in a row that is sorted.

>>> import nervure as nv
>>> nv.median([[3, 1, 2], [6, 4, 9]], axis=1).tolist(), nv.searchsorted([1, 3, 5], [3, 4]).tolist()
([2.0, 6.0], [1, 2])
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import one_of, position_of, real, truth
from nervure.front.arranging.found import is_constant, known_array
from nervure.front.arranging.gathering import gather_elements
from nervure.front.arranging.rearranging import flip
from nervure.front.arranging.views import flatten, permuted, renamed, reshape
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import equal, is_nan, logical_or, maximum, minimum
from nervure.front.pointwise.elementwise import convert, logical_not, where
from nervure.front.promotion import floating, promote
from nervure.front.statistics import reductions
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike
from nervure.types.dim import less_equal
from nervure.types.dtype import float64, int64

__all__ = ["digitize", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile", "searchsorted"]

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(x: TensorLike, q: float | Sequence[float], axis: AxisLike | None = None, keepdims: bool = False,
             method: str = "linear") -> Tensor:
    """Returns the element below which the share ``q`` of the elements of x lies along an ``axis``, or of all of them.

    Between two elements ``method`` decides: "linear" goes the share of the way between them, "midpoint" half of it,
    "lower", "higher" and "nearest" take one. Several shares give an axis in front. NaN among the elements give NaN.

    >>> nv.quantile([1, 2, 3, 4], 0.5).item(), nv.quantile([1, 2, 3, 4], [0, 0.5], method="lower").tolist()
    (2.5, [1.0, 2.0])
    """
    return _quantile(x, q, 1.0, axis, keepdims, _checked_method(method, "quantile"), "quantile")


def percentile(x: TensorLike, q: float | Sequence[float], axis: AxisLike | None = None, keepdims: bool = False,
               method: str = "linear") -> Tensor:
    """Returns the element below which ``q`` percent of the elements of x lie along an ``axis``: ``nv.quantile``.

    >>> nv.percentile([1, 2, 3, 4], 25).item()
    1.75
    """
    return _quantile(x, q, 100.0, axis, keepdims, _checked_method(method, "percentile"), "percentile")


def median(x: TensorLike, axis: AxisLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the element in the middle of the elements of x along an ``axis``, or the mean of the two there.

    >>> nv.median([3, 1, 2]).item(), nv.median([[1, 2], [3, 5]], axis=0).tolist()
    (2.0, [2.0, 3.5])
    """
    return _quantile(x, 0.5, 1.0, axis, keepdims, "mean", "median")


def nanquantile(x: TensorLike, q: float | Sequence[float], axis: AxisLike | None = None, keepdims: bool = False,
                method: str = "linear") -> Tensor:
    """Returns the quantiles ``q`` of the elements of x along an ``axis`` that are not NaN; NaN where there are none.

    It goes by shares and a ``method`` as ``nv.quantile`` does.

    >>> nv.nanquantile([1, np.nan, 2, 3], 0.25).item()
    1.5
    """
    return _quantile(x, q, 1.0, axis, keepdims, _checked_method(method, "nanquantile"), "nanquantile")


def nanpercentile(x: TensorLike, q: float | Sequence[float], axis: AxisLike | None = None, keepdims: bool = False,
                  method: str = "linear") -> Tensor:
    """Returns the element below which ``q`` percent of those of x lie that are not NaN: ``nv.nanquantile``.

    >>> nv.nanpercentile([1, np.nan, 2, 3], 25).item()
    1.5
    """
    return _quantile(x, q, 100.0, axis, keepdims, _checked_method(method, "nanpercentile"), "nanpercentile")


def nanmedian(x: TensorLike, axis: AxisLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the median of the elements of x along an ``axis`` that are not NaN; NaN where there are none.

    >>> nv.nanmedian([[1, np.nan, 4], [3, 2, 7]], axis=1).tolist()
    [2.5, 3.0]
    """
    return _quantile(x, 0.5, 1.0, axis, keepdims, "mean", "nanmedian")


def searchsorted(x: TensorLike, v: TensorLike, side: str = "left") -> Tensor:
    """Returns the places at which ``v`` would stand in the row x, which is sorted, so that it stays in order.

    Among equal elements it is the first place with side "left", and the one behind them with "right".

    >>> nv.searchsorted([1, 2, 2, 3], [2, 5]).tolist(), nv.searchsorted([1, 2, 2, 3], 2, side="right").item()
    ([1, 4], 3)
    """
    row, given = operand_tensors((x, v), "searchsorted")
    if row.ndim != 1:
        raise ShapeMismatch("places are those in one row", op="searchsorted", operand=1, got=str(row.type),
                            expected="one axis", help="nv.vmap(nv.searchsorted) goes over rows")
    one_of(side, ("left", "right"), "searchsorted", "side", "of equal elements")
    dtype = promote([row.dtype, given.dtype], op="searchsorted")
    own, wanted = converted(row.value, dtype), flatten(Tensor(converted(given.value, dtype))).value
    found = places_in_order(own, wanted, side == "right")
    return renamed(reshape(Tensor(found), given.shape), given.axes if given.is_named else None)


def places_in_order(rows: Value, wanted: Value, is_right: bool) -> Value:
    """Returns the places (..., m) at which ``wanted`` elements (..., m) would stand in sorted ``rows`` (..., n), behind
    equal ones if ``is_right``.

    Rows of a known length are halved, for each element by itself. Others are sorted with what is wanted.
    """
    axis, length = rows.rank - 1, rows.shape[-1]
    if not isinstance(length, int):
        return _places_by_sorting(rows, wanted, is_right)
    place = ops.Full(0, int64, wanted.shape).output
    for step in [1 << number for number in reversed(range(length.bit_length()))]:
        further = place + step
        last = ops.Minimum(further, further.full(length)) - 1
        element = (ops.GatherElements(rows, last, axis) if axis else ops.Gather(rows, last, 0)).output
        is_before = ops.LessEqual(element, wanted) if is_right else ops.Less(element, wanted)
        if wanted.dtype.is_float:
            is_last = ops.IsNan(wanted).output
            if not is_right:
                is_last = ops.LogicalAnd(is_last, ops.LogicalNot(ops.IsNan(element))).output
            is_before = ops.LogicalOr(is_before, is_last)
        goes_on = ops.LogicalAnd(is_before, ops.LessEqual(further, further.full(length)))
        place = ops.Where(goes_on, further, place).output
    return place


def _places_by_sorting(rows: Value, wanted: Value, is_right: bool) -> Value:
    # A stable sort of both has each wanted element before those that are equal to it, or behind them.
    axis, count = rows.rank - 1, rows.shape[-1]
    order = ops.Sort(ops.Concatenate(*((rows, wanted) if is_right else (wanted, rows)), axis=axis)).outputs[1]
    start, bound = (count, count) if is_right else (0, wanted.shape[-1])
    limit = ops.Extent(bound, int64, order.shape)
    is_of_row = ops.Less(order, limit) if is_right else ops.GreaterEqual(order, limit)
    before = ops.Cumulative(converted(is_of_row.output, int64), axis=axis, kind="add").output
    whole = ops.ScatterElements(before.full(0), order, before, axis=axis, mode="set").output
    return ops.Slice(whole, [*[(0, each, 1) for each in rows.shape[:-1]], (start, wanted.shape[-1], 1)]).output


@in_order
def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> Tensor:
    """Returns the number of the interval between ``bins``, which ascend, in which each element of x lies.

    An interval has its lower end, or with ``right`` its upper one. Bins that are constants may descend: interval 0
    then has the largest elements.

    >>> nv.digitize([0.5, 1, 7], [1, 2, 4]).tolist(), nv.digitize([1, 2], [1, 2], right=True).tolist()
    ([0, 1, 3], [0, 1])
    """
    edges, side = as_tensor(bins, "digitize", 2), "left" if truth(right, "digitize", "right") else "right"
    if is_constant(edges.value) and edges.ndim == 1:
        ascends, descends = _directions(known_array(edges.value))
        if not (ascends or descends):
            raise InvalidArgument("the bins go up and down", op="digitize", operand="bins", got=f"{bins!r:.60}",
                                  expected="edges that ascend, or descend", help="nv.sort(bins) puts them in order")
        if not ascends:
            return edges.type.shape[0] - searchsorted(flip(edges), x, side)
    return searchsorted(edges, x, side)


def _directions(edges: np.ndarray) -> tuple[bool, bool]:
    """Returns whether ``edges`` never descend, and whether they never ascend; what is NaN is after all numbers."""
    before, behind = edges[:-1], edges[1:]
    return bool(np.all((before <= behind) | (behind != behind))), bool(np.all((before >= behind) | (before != before)))


def _checked_method(method: str, name: str) -> str:
    return one_of(method, METHODS, name, "method", "it says what is between two elements")


def _quantile(x: TensorLike, q: float | Sequence[float], unit: float, axis: AxisLike | None, keepdims: bool,
              method: str, name: str) -> Tensor:
    own, shares = as_tensor(x, name), _shares(q, unit, name)
    is_kept = truth(keepdims, name, "keepdims")
    if own.is_named and shares.ndim:
        raise InvalidArgument("several shares make an axis without a name", op=name, operand="q", got=f"{q!r:.60}",
                              expected="one share of a tensor with names", help="nv.stack quantiles along a new axis")
    rank, at = own.ndim, None if axis is None else position_of(own, axis, name)
    row = flatten(own) if at is None else permuted(own, [*[d for d in range(rank) if d != at], at])
    found = _between(Tensor(convert(row, floating(own.dtype)).value), shares.ravel(), method, name)
    shape = [1 if at in (None, d) else length for d, length in enumerate(own.type.shape)
             if is_kept or at not in (None, d)]
    if not shares.ndim:
        axes = Axes([each for d, each in enumerate(own.axes) if d != at]) if own.is_named and at is not None else None
        return renamed(reshape(found, shape), None if is_kept else axes)
    front = permuted(found, [found.ndim - 1, *range(found.ndim - 1)])
    return reshape(front, [len(shares), *shape])


def _shares(q: float | Sequence[float], unit: float, name: str) -> np.ndarray:
    """Returns shares from 0 to 1."""
    given = q if isinstance(q, (list, tuple, np.ndarray)) else real(q, name, "q")
    try:
        listed = np.asarray(given, np.float64) / unit
    except (TypeError, ValueError):  # no numbers, or lists of several lengths
        listed = np.full(1, math.nan)
    if listed.ndim > 1 or not np.all((listed >= 0) & (listed <= 1)):
        raise InvalidArgument("a share lies outside of the elements", op=name, operand="q", got=f"{q!r:.60}",
                              expected=f"0 to {unit:g}, one or a list", help="0.5 of them are below the median")
    return listed


def _between(row: Tensor, shares: np.ndarray, method: str, name: str) -> Tensor:
    """Returns what the last axis has at ``shares`` of its length, when it is sorted."""
    length = row.type.shape[-1]
    if less_equal(1, length) is not True:
        raise ShapeMismatch("there is no element", op=name, operand=1, got=str(row.type),
                            expected="one element or more along the axis", help='nv.dim("n", min=1) is a symbol')
    is_nan_left_out = name.startswith("nan")
    last = Tensor(ops.Extent(length=length - 1, dtype=float64, shape=(len(shares),)).output)
    if is_nan_left_out:
        count = reductions.count_nonzero(logical_not(is_nan(row)), axis=[row.ndim - 1], keepdims=True)
        last = maximum(convert(count, float64) - 1.0, 0.0)
    place = last * Tensor(ops.Constant(shares))
    low = Tensor(ops.Floor(place.value))
    rest = place - low
    if method in ("midpoint", "mean"):
        rest = where(rest > 0, 0.5, 0.0)
    elif method == "nearest":
        rest = Tensor(ops.Round(place.value)) - low
    elif method != "linear":
        rest = rest * 0.0 if method == "lower" else where(rest > 0, 1.0, 0.0)
    high = minimum(low + 1.0, last)
    ordered = ops.Sort(row.value).outputs[0]
    if is_nan_left_out:  # each row has places of its own
        smaller, larger = [gather_elements(Tensor(ordered), convert(each, int64), row.ndim - 1) for each in (low, high)]
    else:
        smaller, larger = [Tensor(ops.Gather(ordered, converted(each.value, int64), row.ndim - 1))
                           for each in (low, high)]
    step, way = larger - smaller, convert(rest, row.dtype)
    # From the nearer end, so that the share of 1 gives the larger one. Infinities have no distance.
    found = where(way < 0.5, smaller + step * way, larger - step * (1 - way))
    if method == "mean":
        found = where(way > 0, (smaller + larger) / 2, smaller)
    found = where(logical_or(equal(smaller, larger), equal(way, 0)), smaller, where(equal(way, 1), larger, found))
    return found if is_nan_left_out else where(is_nan(Tensor(ordered))[..., -1:], math.nan, found)


explain_keywords(globals(), __all__)
