"""Rows of running sums and of sorting, for axes so short that each element can be compared with all others.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3)).output
>>> running_sum(x.type, x, 1, None)
f32[2, 3] Sum(Where)
"""

from __future__ import annotations

from nervure import ops
from nervure.bridges.torch.fitting import axis_of, converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.op import Op, Value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type

LONGEST = 256
"""The longest axis for which work that grows with its square is less than what a cut of the graph costs."""


@row("cumsum.default")
def running_sum(result: Type, x: Value, axis: int, dtype: object) -> Value:
    return _running(ops.Sum, 0, result, x, axis)


@row("cumprod.default")
def running_product(result: Type, x: Value, axis: int, dtype: object) -> Value:
    return _running(ops.Prod, 1, result, x, axis)


def _running(op: type[Op], neutral: int, result: Type, x: Value, axis: int) -> Value:
    wide = converted(converted(x, result.dtype), result.dtype.compute)
    if not x.rank:
        return converted(wide, result.dtype)
    axis = axis_of(axis, x.rank)
    own, other, place, position = _pairs(wide, axis)
    seen = ops.Where(ops.LessEqual(position, place), other, other.full(neutral))
    return converted(op(seen, axes=[axis + 1]).output, result.dtype)


def _pairs(x: Value, axis: int) -> tuple[Value, Value, Value, Value]:
    """Returns, for all pairs of elements along an axis, the first and the second one, and their positions. The second
    ones are along a new axis behind.
    """
    length = x.shape[axis]
    if not isinstance(length, int) or length > LONGEST:
        raise Unsupported(f"a scan or a sort of {length} elements")
    shape = (*x.shape[:axis + 1], length, *x.shape[axis + 1:])
    own, other = [ops.Broadcast(x, shape, [at]).output for at in (axis + 1, axis)]
    place, position = [ops.Iota(shape, at, types.int64).output for at in (axis, axis + 1)]
    return own, other, place, position


@row("sort.default")
def sort(result: tuple[Type, Type], x: Value, axis: int, descending: bool) -> tuple[Value, Value]:
    return _sorted(x, axis, descending)


@row("sort.stable")
def sort_stably(result: tuple[Type, Type], x: Value, stable: bool | None, axis: int,
                descending: bool) -> tuple[Value, Value]:
    return _sorted(x, axis, descending)


@row("topk.default")
def top(result: tuple[Type, Type], x: Value, count: Foreign, axis: int, largest: bool,
        is_sorted: bool) -> tuple[Value, Value]:
    if not x.rank or x.dtype not in (types.float32, types.float64):
        raise Unsupported("the largest of numbers of few digits, among which equal ones are frequent")
    axis = axis_of(axis, x.rank)
    slices = [(0, length, 1) for length in result[0].shape]
    values, places = _sorted(x, axis, largest)
    return ops.Slice(values, slices).output, ops.Slice(places, slices).output


def _sorted(x: Value, axis: int, descending: bool) -> tuple[Value, Value]:
    """Returns the sorted elements and where they were; equal ones stay in order, and NaN is larger than all numbers."""
    if not x.rank:
        return x, ops.Full(0, types.int64, ()).output
    axis = axis_of(axis, x.rank)
    own, other, place, position = _pairs(converted(x, types.uint8) if x.dtype is types.bool_ else x, axis)
    first, second = (other, own) if descending else (own, other)
    is_behind = ops.LogicalOr(ops.Less(second, first),
                              ops.LogicalAnd(ops.IsNan(first), ops.LogicalNot(ops.IsNan(second))))
    is_same = ops.LogicalOr(ops.Equal(own, other), ops.LogicalAnd(ops.IsNan(own), ops.IsNan(other)))
    precedes = ops.LogicalOr(is_behind, ops.LogicalAnd(is_same, ops.Less(position, place)))
    rank = ops.Sum(ops.Convert(precedes, types.int64), axes=[axis + 1]).output
    _, ranks, target, source = _pairs(rank, axis)
    there = ops.Where(ops.Equal(ranks, target), source, source.full(0))
    places = ops.Sum(there, axes=[axis + 1]).output
    return ops.GatherElements(x, places, axis).output, places
