"""Counts of numbers and of what lies between edges, and lines between points.

>>> import nervure as nv
>>> nv.bincount([0, 2, 2]).tolist(), nv.histogram([1, 2, 1], [0, 1, 2, 3])[0].tolist()
([1, 0, 2], [0, 2, 1])
>>> nv.interp(2.5, [1, 2, 3], [3, 2, 0]).item()
1.0
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import as_integer, integer, members, real, truth
from nervure.front.arranging.filled import arange, zeros
from nervure.front.arranging.found import is_constant, known_array
from nervure.front.arranging.gathering import as_index, from_front, gather, scatter
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import along_axis, axes_with_order, flatten, renamed, reshape
from nervure.front.creation import as_tensor, constant
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import divide, equal, is_finite, is_nan, logical_and, maximum, minimum, mod, multiply
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.promotion import floating, promote
from nervure.front.statistics import reductions
from nervure.front.statistics.differences import diff
from nervure.front.statistics.ranks import searchsorted
from nervure.front.statistics.sorts import argsort
from nervure.front.tensor import Number, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike, less_equal, product
from nervure.types.dim import equal as same_length
from nervure.types.dtype import bool_, int32, int64

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "interp"]


# -- counts ------------------------------------------------------------------------------------------------------


@in_order
def bincount(x: TensorLike, weights: TensorLike | None = None, minlength: int = 0,
             length: DimLike | None = None) -> Tensor:
    """Returns how often each number from 0 on occurs among the integers x, or the sums of their ``weights``.

    There are ``length`` counts, a number or a symbol. Without it x has to be a constant: its largest number is the
    last one counted, and there are at least ``minlength`` counts. Raises InvalidArgument or IndexOutOfRange for
    numbers that are negative or as large as the length.

    >>> nv.bincount([0, 2, 2], minlength=5).tolist(), nv.bincount([0, 1, 1], weights=[0.5, 1, 2]).tolist()
    ([1, 0, 2, 0, 0], [0.5, 3.0])
    >>> nv.computation(nv.bincount(x := nv.placeholder((3,), dtype=nv.int64), length=4), x)([3, 1, 3]).tolist()
    [0, 1, 0, 2]
    """
    row = _row(as_index(x, "bincount"), "bincount")
    count = _known_length(row, minlength) if length is None else length
    if weights is None:
        return scatter(zeros((count,), int64), from_front(row, count), 1, 0, "add")
    given = as_tensor(weights, "bincount", 2)
    if given.ndim != 1 or given.is_named or same_length(given.type.shape[0], row.type.shape[0]) is not True:
        raise ShapeMismatch("there is a weight for each number", op="bincount", operand="weights", got=str(given.type),
                            expected=f"one axis of length {row.type.shape[0]}", help="nv.flatten makes one axis")
    given = convert(given, floating(given.dtype))
    return scatter(zeros((count,), given.dtype), from_front(row, count), given, 0, "add")


def _known_length(row: Tensor, minlength: int) -> int:
    """Returns how many counts the numbers of a constant need."""
    if not is_constant(row.value):
        raise InvalidArgument("the number of counts depends on the call", op="bincount", operand="length", got=None,
                              expected="a length", help="nv.bincount(x, length=10) counts 0 to 9")
    numbers = known_array(row.value)
    if numbers.size and numbers.min() < 0:
        raise InvalidArgument("a number is negative", op="bincount", operand=1, got=int(numbers.min()),
                              expected="0 or more", help="x - nv.min(x) begins at 0")
    return max(int(numbers.max(initial=-1)) + 1, integer(minlength, "bincount", "minlength"))


@in_order
def histogram(x: TensorLike, bins: int | TensorLike = 10, range: Sequence[float] | None = None,
              weights: TensorLike | None = None, density: bool = False) -> tuple[Tensor, Tensor]:
    """Returns how many elements of x lie in each of the ``bins``, or the sums of their ``weights``; and their edges.

    A bin holds its lower edge, the last one its upper edge too. Edges are those of ``nv.histogram_bin_edges``. With
    ``density`` the area under the counts is 1.

    >>> counts, edges = nv.histogram([1, 2, 1, 4], bins=3)
    >>> counts.tolist(), edges.tolist()
    ([2, 1, 1], [1.0, 2.0, 3.0, 4.0])
    """
    own = as_tensor(x, "histogram")
    edges = histogram_bin_edges(own, bins, range)
    given = None if weights is None else _weights(as_tensor(weights, "histogram", 4), own, "histogram")
    is_even = [as_integer(bins) is not None]
    return counted([_plain(own)], [edges], is_even, given, truth(density, "histogram", "density")), edges


@in_order
def histogram2d(x: TensorLike, y: TensorLike, bins: int | Sequence[int | TensorLike] = 10,
                range: Sequence[Sequence[float]] | None = None, density: bool = False,
                weights: TensorLike | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Returns how many pairs of elements of the vectors x and ``y`` lie in each bin, and the edges for both.

    ``bins`` and ``range`` are those of ``nv.histogramdd``.

    >>> nv.histogram2d([0, 1, 1], [2, 3, 3], bins=2)[0].tolist()
    [[1, 0], [0, 2]]
    """
    pair = [_row(as_tensor(x, "histogram2d"), "histogram2d"),
            _row(as_tensor(y, "histogram2d", 2), "histogram2d", 2)]
    found, edges = _histogram(pair, bins, range, density, weights, "histogram2d")
    return found, edges[0], edges[1]


def histogramdd(x: TensorLike, bins: int | Sequence[int | TensorLike] = 10,
                range: Sequence[Sequence[float]] | None = None, density: bool = False,
                weights: TensorLike | None = None) -> tuple[Tensor, list[Tensor]]:
    """Returns how many rows of the matrix x lie in each bin, with an axis for each column; and the edges for each.

    ``bins`` is a number, or a list with a number or edges for each column, and ``range`` has a pair for each. With
    ``weights``, one for each row, there are their sums in place of counts, and with ``density`` the volume is 1.

    >>> counts, edges = nv.histogramdd([[0, 2], [1, 3], [1, 3]], bins=[2, [2, 3]])
    >>> counts.tolist(), [each.tolist() for each in edges]
    ([[1], [2]], [[0.0, 0.5, 1.0], [2.0, 3.0]])
    """
    own = as_tensor(x, "histogramdd")
    if own.ndim != 2 or own.is_named or not isinstance(own.type.shape[1], int):
        raise ShapeMismatch("it takes a row for each point", op="histogramdd", operand=1, got=str(own.type),
                            expected="two axes without names, the second one of a length that is a number",
                            help="nv.stack([x, y], pos=1) makes rows")
    return _histogram([own[:, at] for at in builtins.range(own.type.shape[1])], bins, range, density, weights,
                      "histogramdd")


def _histogram(columns: Sequence[Tensor], bins: object, range: Sequence[Sequence[float]] | None, density: bool,
               weights: TensorLike | None, name: str) -> tuple[Tensor, list[Tensor]]:
    each: list[Any] = [bins] * len(columns) if as_integer(bins) is not None else members(bins, name, "bins")
    ranges: list[Any] = [None] * len(columns) if range is None else members(range, name, "range")
    if len(each) != len(columns) or len(ranges) != len(columns):
        raise InvalidArgument("there are bins for each column", op=name, operand="bins", got=f"{bins!r:.60}",
                              expected=f"a number, or a list of {len(columns)}", help="a list may have lists of edges")
    edges = [histogram_bin_edges(column, one, ends) for column, one, ends in zip(columns, each, ranges, strict=True)]
    given = None if weights is None else _weights(as_tensor(weights, name, 5), columns[0], name)
    is_even = [as_integer(one) is not None for one in each]
    return counted(columns, edges, is_even, given, truth(density, name, "density")), edges


def _weights(weights: Tensor, x: Tensor, name: str) -> Tensor:
    """Returns the weights of elements as a vector, truth values as numbers: they are added."""
    given = axes_with_order(weights, x.axes) if x.is_named and weights.is_named else weights
    if given.is_named != x.is_named or given.ndim != x.ndim or not all([same_length(one, other) is True for one, other
                                                                        in zip(given.type.shape, x.type.shape)]):
        raise ShapeMismatch("there is a weight for each element", op=name, operand="weights", got=str(given.type),
                            expected=str(x.type), help="nv.broadcast gives them its shape")
    return _plain(convert(given, int64) if given.dtype is bool_ else given)


def _plain(x: Tensor) -> Tensor:
    """Returns all elements as a vector without names."""
    return Tensor(flatten(x).value)


def counted(columns: Sequence[Tensor], edges: Sequence[Tensor], are_even: Sequence[bool], weights: Tensor | None,
             is_density: bool) -> Tensor:
    """Returns how many points, whose coordinates are ``columns``, lie between ``edges``, with an axis for each column.

    Bins that ``are_even`` have one width. There are sums of ``weights`` if they are given, and the volume is 1 if the
    result ``is_density``.
    """
    position: Tensor | int = 0
    lengths: list[DimLike] = []
    for row, ends, is_even in zip(columns, edges, are_even, strict=True):
        count = ends.type.shape[0] - 1
        # What lies before the first edge and behind the last one is counted at both ends, which are left out.
        if is_even:
            place = _even_bin(row, ends)
        else:
            place = searchsorted(ends, row, "right")
            place = where(equal(row, ends[-1]), count, place)
        position = position * (count + 2) + place
        lengths.append(count + 2)
    whole = zeros((product(lengths),), int64 if weights is None else weights.dtype)
    found = scatter(whole, as_tensor(position, "histogram"), 1 if weights is None else weights, 0, "add")
    found = reshape(found, lengths)[(slice(1, -1),) * len(lengths)]
    if not is_density:
        return found
    dtype = floating(promote([found.dtype, *[ends.dtype for ends in edges]], op="histogram"))
    found = convert(found, dtype.compute)
    found = divide(found, reductions.sum(found))
    for at, ends in enumerate(edges):
        widths = diff(convert(ends, ends.dtype.compute))
        found = divide(found, along_axis(widths, at, len(edges)))
    return convert(found, dtype)


def _even_bin(row: Tensor, ends: Tensor) -> Tensor:
    """Returns the number of the bin of each element, from 1 on; 0 outside of all.

    The distance from the first edge says which, but for a rounding: both edges are compared with the element.
    """
    dtype, count = promote([row.dtype, ends.dtype], op="histogram").compute, ends.type.shape[0] - 1
    assert isinstance(count, int)  # even edges are those of a number of bins
    own, edges = convert(row, dtype), convert(ends, dtype)
    low, high = edges[0], edges[-1]
    is_inside = logical_and(own >= low, own <= high)
    scale = _scale(low, high)
    share = (where(is_inside, own, low) * scale - low * scale) / (high * scale - low * scale)
    near = minimum(convert(share * float(count), int32), count - 1)
    near = where(own < gather(edges, near, 0), near - 1, near)
    near = where(logical_and(own >= gather(edges, near + 1, 0), near < count - 1), near + 1, near)
    return convert(where(is_inside, near + 1, 0), int64)


def _scale(low: Tensor, high: Tensor) -> Tensor:
    """Returns what numbers are multiplied with for their distances to be finite: 1, or a half of those far apart."""
    return where(is_finite(high - low), 1.0, convert(0.5, low.dtype))


@in_order
def histogram_bin_edges(x: TensorLike, bins: int | TensorLike = 10, range: Sequence[float] | None = None) -> Tensor:
    """Returns the edges of ``bins`` for x: of a number of bins as wide as each other, or the edges that are given.

    The bins go over ``range``, a pair of numbers, or from the smallest to the largest element of x.

    >>> nv.histogram_bin_edges([0, 2, 4], bins=2).tolist(), nv.histogram_bin_edges([0], 2, range=(0, 1)).tolist()
    ([0.0, 2.0, 4.0], [0.0, 0.5, 1.0])
    """
    own, count = as_tensor(x, "histogram_bin_edges"), as_integer(bins)
    if count is None:
        return _edges(bins)
    integer(count, "histogram_bin_edges", "bins", help="a list gives edges", least=1)
    dtype = floating(own.dtype)
    if range is None and not any([same_length(length, 0) is True for length in own.type.shape]):
        row = convert(_plain(own), dtype.compute)
        low, high = reductions.min(row, axis=[0]), reductions.max(row, axis=[0])
        is_point = equal(low, high)
        low, high = where(is_point, low - 0.5, low), where(is_point, high + 0.5, high)
        scale = _scale(low, high)
        steps = multiply(convert(arange(count), dtype.compute), (high * scale - low * scale) / count)
        inner = minimum((steps + low * scale) / scale, high)
        return convert(concatenate([inner, reshape(high, (1,))], 0), dtype)
    ends = (0.0, 1.0) if range is None else tuple([
        real(end, "histogram_bin_edges", "range") for end in members(range, "histogram_bin_edges", "range")])
    if len(ends) != 2 or not -math.inf < ends[0] <= ends[1] < math.inf:
        raise InvalidArgument("a range goes from one number up to another", op="histogram_bin_edges", operand="range",
                              got=f"{range!r:.60}", expected="(lower, upper)", help="None goes over all elements")
    wide = (ends[0] - 0.5, ends[1] + 0.5) if ends[0] == ends[1] else ends
    return constant(np.linspace(*wide, count + 1), dtype=dtype)


def _edges(bins: object) -> Tensor:
    if isinstance(bins, str):
        raise InvalidArgument("edges are not found by rules", op="histogram", operand="bins", got=repr(bins),
                              expected="a number of bins, or their edges",
                              help="np.histogram_bin_edges(x.numpy(), bins) gives edges of an array")
    edges = _row(as_tensor(bins, "histogram", 2), "histogram", 2)
    if less_equal(2, edges.type.shape[0]) is not True:
        raise ShapeMismatch("a bin has two edges", op="histogram", operand="bins", got=str(edges.type),
                            expected="two edges or more", help='nv.dim("n", min=2) is a symbol')
    if is_constant(edges.value) and not np.all(np.diff(known_array(edges.value)) >= 0):
        raise InvalidArgument("edges do not ascend", op="histogram", operand="bins", got=f"{bins!r:.60}",
                              expected="numbers in order", help="nv.sort(bins) orders them")
    return edges


# -- lines between points ----------------------------------------------------------------------------------------


def interp(x: TensorLike, xp: TensorLike, fp: TensorLike, left: Number | None = None, right: Number | None = None,
           period: Number | None = None) -> Tensor:
    """Returns values at x of the lines between the points with the places ``xp``, which ascend, and the values ``fp``.

    Before the first place the value is ``left``, by default the first of fp, behind the last one it is ``right``. With
    ``period`` places are taken modulo a number, in any order, and the lines go around.

    >>> nv.interp([0, 1.5, 4], [1, 2, 3], [3, 2, 0]).tolist(), nv.interp(0, [1, 2], [3, 2], left=-1).item()
    ([3.0, 2.5, 0.0], -1.0)
    >>> nv.interp([350, 10], [0, 90, 180, 270], [0, 9, 18, 9], period=360).numpy().round(4).tolist()
    [1.0, 1.0]
    """
    given = operand_tensors((x, xp, fp), "interp")
    dtype = floating(promote([entry.dtype for entry in given], op="interp"))
    own = given[0]
    row, places, values = [_plain(convert(own, dtype)), *[convert(_row(entry, "interp", at), dtype)
                                                           for at, entry in enumerate(given[1:], 2)]]
    count = places.type.shape[0]
    if same_length(count, values.type.shape[0]) is not True or less_equal(1, count) is not True:
        raise ShapeMismatch("each place has a value", op="interp", operand=3, got=str(given[2].type),
                            expected=f"one axis of length {count}, of one element or more",
                            help='nv.dim("n", min=1) is a symbol')
    if given[1].dtype.is_complex or own.dtype.is_complex:
        raise InvalidArgument("places are real", op="interp", operand=2, got=str(given[1].type),
                              expected="real numbers", help="fp may be split: nv.real(fp) and nv.imag(fp)")
    if period is not None:
        row, places, values = _around(row, places, values, real(period, "interp", "period"))
        count, left, right = count + 2, None, None
    at = searchsorted(places, row, "right") - 1
    low, high = maximum(at, 0), minimum(maximum(at, 0) + 1, count - 1)
    (x0, x1), (y0, y1) = [[gather(entry, index, 0) for index in (low, high)] for entry in (places, values)]
    width = where(equal(x1, x0), 1, x1 - x0)
    slope = (y1 - y0) / width
    found = slope * (row - x0) + y0
    found = where(is_nan(found), slope * (row - x1) + y1, found)  # a value beside an infinite one
    found = where(logical_and(is_nan(found), equal(y0, y1)), y0, found)
    found = where(row >= places[-1], values[-1], found)
    found = where(row > places[-1], values[-1] if right is None else right, found)
    found = where(row < places[0], values[0] if left is None else left, found)
    found = where(is_nan(row), row, found)
    return renamed(reshape(found, own.type.shape), own.axes if own.is_named else None)


def _around(x: Tensor, places: Tensor, values: Tensor, period: float) -> tuple[Tensor, Tensor, Tensor]:
    """Returns places within a period, in order, with the last one before and the first one behind them."""
    if period == 0:
        raise InvalidArgument("a period is not 0", op="interp", operand="period", got=period, expected="a number",
                              help="None takes the places as they are")
    width = abs(period)
    places = mod(places, width)
    order = argsort(places)
    places, values = gather(places, order, 0), gather(values, order, 0)
    return (mod(x, width), concatenate([places[-1:] - width, places, places[:1] + width], 0),
            concatenate([values[-1:], values, values[:1]], 0))


def _row(x: Tensor, name: str, operand: int = 1) -> Tensor:
    """Returns a vector without names."""
    if x.ndim != 1 or x.is_named:
        raise ShapeMismatch("it takes a vector without names", op=name, operand=operand, got=str(x.type),
                            expected="one axis", help="nv.flatten(x) makes one axis of all")
    return x


explain_keywords(globals(), __all__)
