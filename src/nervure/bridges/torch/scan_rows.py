"""Rows of running sums, products, extremes and logarithms of sums.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3)).output
>>> running_sum(x.type, x, 1, None)
f32[2, 3] Cumulative(Parameter)
"""

from __future__ import annotations

from collections.abc import Callable

from nervure import ops
from nervure.bridges.torch.fitting import axis_of, converted
from nervure.bridges.torch.row_table import row
from nervure.front.statistics import prefixes
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type

Running = Callable[[Tensor, int], Tensor]


@row("cumsum.default")
def running_sum(result: Type, x: Value, axis: int, dtype: object) -> Value:
    return running(prefixes.cumsum, result, x, axis)


@row("cumprod.default")
def running_product(result: Type, x: Value, axis: int, dtype: object) -> Value:
    return running(prefixes.cumprod, result, x, axis)


@row("logcumsumexp.default")
def running_logarithm(result: Type, x: Value, axis: int) -> Value:
    return running(prefixes.cumlogsumexp, result, x, axis)


@row("cummax.default")
def running_maximum(result: tuple[Type, Type], x: Value, axis: int) -> tuple[Value, Value]:
    return _running_extremum(prefixes.cummax, result, x, axis)


@row("cummin.default")
def running_minimum(result: tuple[Type, Type], x: Value, axis: int) -> tuple[Value, Value]:
    return _running_extremum(prefixes.cummin, result, x, axis)


def running(function: Running, result: Type, x: Value, axis: int) -> Value:
    """Returns running values along an axis, of elements in the result's type."""
    x = converted(x, result.dtype)
    return converted(function(Tensor(x), axis_of(axis, x.rank)).value, result.dtype) if x.rank else x


def _running_extremum(function: Running, result: tuple[Type, Type], x: Value, axis: int) -> tuple[Value, Value]:
    """Returns the running extremes, and where each of them was seen last; what follows NaN is NaN."""
    found = running(function, result[0], x, axis)
    if not x.rank:
        return found, ops.Full(0, types.int64, ()).output
    is_seen = ops.Equal(x, found).output
    if x.dtype.is_float:
        is_seen = ops.LogicalOr(is_seen, ops.IsNan(x)).output
    place = ops.Iota(x.shape, axis_of(axis, x.rank), types.int64).output
    last = ops.Where(is_seen, place, place.full(0)).output
    return found, running(prefixes.cummax, result[1], last, axis)
