"""Rows of histograms: the edges of bins, and how many points lie in each, or the sums of their weights.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.float32, (9,)).output
>>> [found.shape for found in histogram_of_count((x.type, x.type), x, 4, None, None, False)]
[(4,), (5,)]
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.statistics import bins
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import product


def _edges(column: Value, count: int, ends: Sequence[float] | None) -> Value:
    """Returns the edges of bins as wide as each other, counted from the nearer end, so that both ends are exact."""
    if ends is None and not column.shape[0]:
        ends = 0.0, 1.0
    low, high = [op(column, axes=[0]).output for op in (ops.Min, ops.Max)] if ends is None else [
        ops.Full(end, column.dtype, ()).output for end in ends]
    is_same = ops.Equal(low, high).output
    low, high = where(is_same, low - 0.5, low), where(is_same, high + 0.5, high)
    shape = (count + 1,)
    number = ops.Iota(shape, 0, column.dtype).output
    first, last, step = [ops.Broadcast(each, shape, [0]).output for each in (low, high, (high - low) / count)]
    is_near = ops.Less(number, number.full((count + 1) // 2)).output
    return where(is_near, first + step * number, last - step * (-number + count))


def _columns(x: Value) -> list[Value]:
    """Returns the coordinates of all points, which are the last axis of x."""
    if x.dtype not in (types.float32, types.float64) or not isinstance(x.shape[-1], int):
        raise Unsupported(f"a histogram of {x.type}")
    points = ops.Reshape(x, (product(x.shape[:-1]), x.shape[-1])).output
    whole = points.shape[0]
    return [ops.Reshape(ops.Slice(points, [(0, whole, 1), (at, 1, 1)]), (whole,)).output for at in range(x.shape[-1])]


def _counted(result: Type, columns: Sequence[Value], edges: Sequence[Value], weights: Value | None,
             is_density: bool) -> Value:
    given = None if weights is None else Tensor(ops.Reshape(weights, columns[0].shape).output)
    found = bins.counted([Tensor(column) for column in columns], [Tensor(each) for each in edges],
                         [False] * len(edges), given, is_density)
    return converted(found.value, result.dtype)


def _ranges(ends: Sequence[float] | None, count: int) -> list[Sequence[float] | None]:
    return [None if ends is None else ends[2 * at:2 * at + 2] for at in range(count)]


@row("histogram.bin_ct")
def histogram_of_count(result: tuple[Type, Type], x: Value, count: int, ends: Sequence[float] | None,
                       weights: Value | None, is_density: bool) -> tuple[Value, Value]:
    columns = _columns(ops.Reshape(x, (*x.shape, 1)).output)
    edges = _edges(columns[0], count, ends)
    return _counted(result[0], columns, [edges], weights, is_density), edges


@row("histogram.bins_tensor")
def histogram_of_edges(result: tuple[Type, Type], x: Value, edges: Value, weights: Value | None,
                       is_density: bool) -> tuple[Value, Value]:
    columns = _columns(ops.Reshape(x, (*x.shape, 1)).output)
    return _counted(result[0], columns, [edges], weights, is_density), edges


@row("_histogramdd_bin_edges.default")
def edges_of_columns(result: tuple[Type, ...], x: Value, counts: Sequence[int], ends: Sequence[float] | None,
                     *others: object) -> tuple[Value, ...]:
    columns = _columns(x)
    return tuple([_edges(*each) for each in zip(columns, counts, _ranges(ends, len(columns)), strict=True)])


@row("_histogramdd_from_bin_cts.default")
def counts_of_points(result: Type, x: Value, counts: Sequence[int], ends: Sequence[float] | None,
                     weights: Value | None, is_density: bool) -> Value:
    return _counted(result, _columns(x), edges_of_columns((), x, counts, ends), weights, is_density)


@row("_histogramdd_from_bin_tensors.default")
def counts_between_edges(result: Type, x: Value, edges: Sequence[Value], weights: Value | None,
                         is_density: bool) -> Value:
    return _counted(result, _columns(x), edges, weights, is_density)
