"""Rows of running sums, products and extremes, and of sorting axes so short that each element is compared with all
others.

A running sum is made of the sums within blocks, where each element is compared with the block alone, and of the running
sum of the blocks before.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3)).output
>>> running_sum(x.type, x, 1, None)
f32[2, 3] Sum(Where)
>>> x = nv.Parameter(nv.float32, (2, 1000)).output
>>> running_sum(x.type, x, 1, None)
f32[2, 1000] Slice(Reshape)
"""

from __future__ import annotations

from collections.abc import Callable

from nervure import ops
from nervure.bridges.torch.fitting import axis_of, converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.notation import Number
from nervure.ir.op import Op, Value
from nervure.ops.pooling import smallest
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike
from nervure.types.dtype import DType

Pair = tuple[DimLike, DimLike]

LONGEST = 256
"""The longest axis for which work that grows with its square is less than what a cut of the graph costs."""

BLOCK, LEVELS = 64, 3
"""The length of the blocks of a scan, and how often an axis of unknown length is divided into blocks."""


@row("cumsum.default")
def running_sum(result: Type, x: Value, axis: int, dtype: object) -> Value:
    return _running(ops.Sum, ops.Add, 0, result, x, axis)


@row("cumprod.default")
def running_product(result: Type, x: Value, axis: int, dtype: object) -> Value:
    return _running(ops.Prod, ops.Multiply, 1, result, x, axis)


@row("cummax.default")
def running_maximum(result: tuple[Type, Type], x: Value, axis: int) -> tuple[Value, Value]:
    return _running_extremum(ops.Max, ops.Maximum, smallest, result, x, axis)


@row("cummin.default")
def running_minimum(result: tuple[Type, Type], x: Value, axis: int) -> tuple[Value, Value]:
    return _running_extremum(ops.Min, ops.Minimum, largest, result, x, axis)


def largest(dtype: DType) -> Number:
    """Returns infinity, or the largest number of a type without infinities."""
    least = smallest(dtype)
    return -least if isinstance(least, float) else dtype.limits[1]


def running_count(mask: Value) -> Value:
    """Returns how many entries of a mask of one dimension are set, up to each of them."""
    return _scanned(ops.Sum, ops.Add, 0, converted(mask, types.int64), 0, LEVELS)


def _running(op: type[Op], combine: type[Op], neutral: Number, result: Type, x: Value, axis: int) -> Value:
    wide = converted(converted(x, result.dtype), result.dtype.compute)
    if x.rank:
        wide = _scanned(op, combine, neutral, wide, axis_of(axis, x.rank), LEVELS)
    return converted(wide, result.dtype)


def _running_extremum(op: type[Op], combine: type[Op], neutral: Callable[[DType], Number], result: tuple[Type, Type],
                      x: Value, axis: int) -> tuple[Value, Value]:
    """Returns the running extremes, and where each of them was seen last; what follows NaN is NaN."""
    wide = converted(x, types.uint8) if x.dtype is types.bool_ else x
    if not x.rank:
        return x, ops.Full(0, types.int64, ()).output
    axis = axis_of(axis, x.rank)
    found = _scanned(op, combine, neutral(wide.dtype), wide, axis, LEVELS)
    is_seen = ops.LogicalOr(ops.Equal(wide, found), ops.IsNan(wide))
    place = ops.Iota(x.shape, axis, types.int64).output
    last = ops.Where(is_seen, place, place.full(0)).output
    return converted(found, x.dtype), _scanned(ops.Max, ops.Maximum, 0, last, axis, LEVELS)


def _scanned(op: type[Op], combine: type[Op], neutral: Number, x: Value, axis: int, levels: int) -> Value:
    """Returns, for each element along an axis, the reduction of those up to it. An axis of unknown length is divided
    into blocks ``levels`` times at most.
    """
    length = x.shape[axis]
    if length <= BLOCK if isinstance(length, int) else not levels:
        own, other, place, position = _pairs(x, axis)
        seen = ops.Where(ops.LessEqual(position, place), other, other.full(neutral))
        return op(seen, axes=[axis + 1]).output
    count = (length + (BLOCK - 1)) // BLOCK
    padded = ops.Pad(x, _at(x, axis, (0, count * BLOCK - length), (0, 0)), neutral)
    shape = (*x.shape[:axis], count, BLOCK, *x.shape[axis + 1:])
    blocks = ops.Reshape(padded, shape).output
    within = _scanned(op, combine, neutral, blocks, axis + 1, levels)
    totals = _scanned(op, combine, neutral, op(blocks, axes=[axis + 1]).output, axis, levels - 1)
    before = ops.Pad(totals, _at(totals, axis, (1, -1), (0, 0)), neutral)  # each block's is that of the one before
    whole = ops.Reshape(combine(ops.Broadcast(before, shape, [axis + 1]), within), padded.output.shape).output
    return ops.Slice(whole, [(0, extent, 1) for extent in x.shape]).output


def _at(x: Value, axis: int, entry: Pair, other: Pair) -> list[Pair]:
    """Returns an entry for each dimension of x, which is ``other`` but for the axis."""
    return [entry if d == axis else other for d in range(x.rank)]


def _pairs(x: Value, axis: int) -> tuple[Value, Value, Value, Value]:
    """Returns, for all pairs of elements along an axis, the first and the second one, and their positions. The second
    ones are along a new axis behind.
    """
    length = x.shape[axis]
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
    length = x.shape[axis]
    if not isinstance(length, int) or length > LONGEST:
        raise Unsupported(f"a sort of {length} elements")
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
