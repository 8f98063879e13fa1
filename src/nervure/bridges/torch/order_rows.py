"""Rows of elements in their order: sorting, the first elements, medians, and places in sorted rows.

NaN is larger than all numbers. Of equal elements the first one goes first, where PyTorch promises no order.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3)).output
>>> sort((x.type, x.type), x, 0, False)[0]
f32[2, 3] Permute(Sort)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure import ops
from nervure.bridges.torch.fitting import Given, axis_of, common, converted, expanded, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.front.statistics import prefixes, ranks
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, product
from nervure.types.shape import inverse_permutation

Pair = tuple[Value, Value]
Types = tuple[Type, Type]


@row("sort.default")
def sort(result: Types, x: Value, axis: int, descending: bool) -> Pair:
    return _in_rows(lambda rows: ops.Sort(rows, descending=descending).outputs, x, axis)


@row("sort.stable")
def sort_stably(result: Types, x: Value, stable: bool | None, axis: int, descending: bool) -> Pair:
    return sort(result, x, axis, descending)


@row("topk.default")
def top(result: Types, x: Value, count: Foreign, axis: int, largest: bool, is_sorted: bool) -> Pair:
    if not isinstance(count, int):
        raise Unsupported("as many elements as a length that is a symbol")
    return _in_rows(lambda rows: ops.TopK(rows, k=count, descending=largest).outputs, x, axis)


@row("kthvalue.default")
def element_in_order(result: Types, x: Value, number: int, axis: int, keep: bool) -> Pair:
    return _one_of_each(x, axis, result, lambda ordered: _number(number - 1, _one_beside(ordered)))


@row("median.dim")
def median_along(result: Types, x: Value, axis: int, keep: bool) -> Pair:
    return _one_of_each(x, axis, result, _middle_or_nan)


@row("nanmedian.dim")
def median_of_numbers_along(result: Types, x: Value, axis: int, keep: bool) -> Pair:
    return _one_of_each(x, axis, result, _middle_of_numbers)


@row("median.default")
def median(result: Type, x: Value) -> Value:
    return _of_all(_middle_or_nan, result, x)


@row("nanmedian.default")
def median_of_numbers(result: Type, x: Value) -> Value:
    return _of_all(_middle_of_numbers, result, x)


@row("mode.default")
def most_frequent(result: Types, x: Value, axis: int, keep: bool) -> Pair:
    return _one_of_each(x, axis, result, _end_of_longest_run)


def _in_rows(function: Callable[[Value], Sequence[Value]], x: Value, axis: int) -> Pair:
    """Applies a function that gives values and positions along the last dimension to another one."""
    if not x.rank:
        values, places = function(ops.Reshape(x, (1,)).output)
        return ops.Reshape(values, ()).output, ops.Reshape(places, ()).output
    axis, last = axis_of(axis, x.rank), x.rank - 1
    order = [*[d for d in range(x.rank) if d != axis], axis]
    back = inverse_permutation(order)
    values, places = function(x if axis == last else ops.Permute(x, order).output)
    return (values, places) if axis == last else (ops.Permute(values, back).output, ops.Permute(places, back).output)


def _one_of_each(x: Value, axis: int, result: Types, place: Callable[[Value], Value]) -> Pair:
    """Returns the element at a ``place`` of each sorted row, and its position, in the shapes of a result."""
    def pick(rows: Value) -> Pair:
        values, positions = ops.Sort(rows).outputs
        at = place(values)
        return (ops.GatherElements(values, at, rows.rank - 1).output,
                ops.GatherElements(positions, at, rows.rank - 1).output)
    values, positions = _in_rows(pick, x, axis)
    return ops.Reshape(values, result[0].shape).output, ops.Reshape(positions, result[1].shape).output


def _of_all(place: Callable[[Value], Value], result: Type, x: Value) -> Value:
    if 0 in x.shape:
        raise Unsupported("the median of no elements")
    flat = ops.Reshape(x, (product(x.shape),)).output
    return _one_of_each(flat, 0, (result, result.with_(dtype=types.int64)), place)[0]


def _number(number: Given, shape: tuple[DimLike, ...]) -> Value:
    return fitted(number, types.int64, shape)


def _one_beside(ordered: Value) -> tuple[DimLike, ...]:
    return (*ordered.shape[:-1], 1)


def _numbers(ordered: Value) -> Value:
    """Returns how many elements of each row are no NaN."""
    shape = _one_beside(ordered)
    if not ordered.dtype.is_float:
        return _number(ordered.shape[-1], shape)
    is_number = converted(ops.LogicalNot(ops.IsNan(ordered)).output, types.int64)
    return ops.Reshape(ops.Sum(is_number, axes=[ordered.rank - 1]), shape).output


def _middle_of_numbers(ordered: Value) -> Value:
    count = _numbers(ordered)
    return ops.Maximum(count - 1, count.full(0)).output // 2


def _middle_or_nan(ordered: Value) -> Value:
    count = _numbers(ordered)
    length = _number(ordered.shape[-1], count.shape)
    return where(ops.Less(count, length), count, (length - 1) // 2)


def _end_of_longest_run(ordered: Value) -> Value:
    """Returns the last place of the longest run of equal elements, the first of several."""
    axis, place = ordered.rank - 1, ops.Iota(ordered.shape, ordered.rank - 1, types.int64).output
    paddings = [*[(0, 0)] * axis, (1, -1)]
    begins = ops.LogicalOr(ops.NotEqual(ordered, ops.Pad(ordered, paddings)), ops.Equal(place, place.full(0)))
    start = prefixes.cummax(Tensor(where(begins, place, 0)), axis).value
    return ops.Reshape(ops.ArgMax(place - start, axes=[axis]), _one_beside(ordered)).output


# -- places ------------------------------------------------------------------------------------------------------------


@row("searchsorted.Tensor", "searchsorted.Scalar")
def places_in_rows(result: Type, rows: Value, wanted: Given, in_int32: bool, right: bool, side: str | None,
                   order: Value | None) -> Value:
    if order is not None:
        rows = ops.GatherElements(rows, order, rows.rank - 1).output
    dtype, is_right = common(rows, wanted), right or side == "right"
    found = ranks.places_in_order(converted(rows, dtype), fitted(wanted, dtype, result.shape), is_right)
    return converted(found, result.dtype)


@row("bucketize.Tensor", "bucketize.Scalar")
def interval_of(result: Type, x: Given, edges: Value, in_int32: bool, right: bool) -> Value:
    dtype = common(x, edges)
    return converted(ranks.places_in_order(converted(edges, dtype), fitted(x, dtype, result.shape), right),
                     result.dtype)


@row("nonzero_static.default")
def places_of_nonzero(result: Type, x: Value, size: int, unset: int) -> Value:
    if not x.rank:
        return fitted(0, types.int64, result.shape)
    count = product(x.shape)
    flat = ops.Reshape(converted(x, types.bool_), (count,)).output
    places = ops.Sort(flat, descending=True).outputs[1]  # in which those that are true come first
    row_count = ops.Reshape(ops.Sum(converted(flat, types.int64), axes=[0]), (1,)).output
    fitting = ops.Pad(places, [(0, size - count)]).output
    is_set = ops.Less(ops.Iota((size,), 0, types.int64), expanded(row_count, (size,))).output
    columns: list[Value] = []
    for length in reversed(x.shape):
        divisor = _number(length, (size,))
        columns.insert(0, where(is_set, fitting % divisor, unset))
        fitting = fitting // divisor
    return ops.Stack(*columns, axes=(1,), counts=(len(columns),)).output
