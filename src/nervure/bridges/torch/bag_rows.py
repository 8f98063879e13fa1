"""Rows of sums, means and maxima of bags: rows of a table, of which those from one offset to the next are a bag.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> table = Parameter(nv.float32, (9, 4)).output
>>> places, offsets = [Parameter(nv.int64, (length,)).output for length in (6, 2)]
>>> results = table.type.with_(shape=(2, 4)), places.type.with_(shape=(0,)), offsets.type, offsets.type
>>> embedding_bag(results, table, places, offsets, False, 0, False, None, False, -1)[0]
f32[2, 4] Scatter(Full, Where, Where)
"""

from __future__ import annotations

from nervure import ops
from nervure.bridges.torch.fitting import converted, fitted
from nervure.bridges.torch.index_rows import embedding
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike

SUM, MEAN, LARGEST = 0, 1, 2
"""The numbers of the modes."""


@row("_embedding_bag.default")
def embedding_bag(result: tuple[Type, ...], table: Value, places: Value, offsets: Value, by_frequency: bool, mode: int,
                  sparse: bool, weights: Value | None, has_end: bool, padding: int) -> tuple[Value, ...]:
    if has_end:  # which may lie before the last place; what is behind it counts in some modes of PyTorch, not in others
        raise Unsupported("an offset behind the last bag")
    bags, counted = result[0].shape[0], _counted(places, padding)
    bag = _bag_of_each(places, offsets, bags)
    wide = converted(embedding(table.type, table, places, -1, by_frequency), table.dtype.compute)
    sizes = _added(converted(counted, types.int64), bag, bags)
    largest = ops.Full(0, result[3].dtype, result[3].shape).output
    if mode == LARGEST:
        value, named = _largest(wide, places, counted, bag, sizes)
        largest = named if named.shape == largest.shape else largest
    else:
        value = _added(_along(wide, counted, weights), bag, bags)
        value = value / _spread(sizes, value) if mode == MEAN else value
    of_each = bag if result[1].shape == bag.shape else ops.Full(0, types.int64, result[1].shape).output
    return (converted(value, result[0].dtype), converted(of_each, result[1].dtype), converted(sizes, result[2].dtype),
            converted(largest, result[3].dtype))


@row("_embedding_bag_forward_only.default")
def embedding_bag_without_gradient(result: tuple[Type, ...], *arguments: Foreign) -> tuple[Value, ...]:
    sizes = result[2].with_(shape=result[0].shape[:1])
    return embedding_bag((*result[:2], sizes, result[3]), *arguments)[:1]


@row("_embedding_bag_backward.default")
def embedding_bag_backward(result: Type, gradient: Value, places: Value, offsets: Value, of_each: Value, sizes: Value,
                           largest: Value, count: DimLike, by_frequency: bool, mode: int, sparse: bool,
                           weights: Value | None, padding: int) -> Value:
    if by_frequency:  # PyTorch 2.13 divides by how often another row is read
        raise Unsupported("gradients divided by how often a row is read")
    bags, counted = gradient.shape[0], _counted(places, padding)
    wide = converted(gradient, gradient.dtype.compute)
    if mode == LARGEST:
        is_empty = ops.Broadcast(ops.Equal(sizes, sizes.full(0)), wide.shape, [1])
        zeros = ops.Full(0, wide.dtype, result.shape)
        found = ops.ScatterElements(zeros, largest, where(is_empty, 0, wide), axis=0, mode="add")
        return converted(found.output, result.dtype)
    bag = _bag_of_each(places, offsets, bags)
    if mode == MEAN:
        wide = wide / _spread(_added(converted(counted, types.int64), bag, bags), wide)
    shares = _along(ops.Gather(wide, bag, 0).output, counted, weights)
    return converted(ops.Scatter(ops.Full(0, wide.dtype, result.shape), places, shares, 0, "add").output, result.dtype)


@row("_embedding_bag_per_sample_weights_backward.default")
def embedding_bag_weights_backward(result: Type, gradient: Value, table: Value, places: Value, offsets: Value,
                                   of_each: Value, mode: int, padding: int) -> Value:
    bag, dtype = _bag_of_each(places, offsets, gradient.shape[0]), gradient.dtype.compute
    shown, rows = [converted(ops.Gather(x, at, 0).output, dtype) for x, at in ((gradient, bag), (table, places))]
    products = _along(shown * rows, _counted(places, padding), None)
    return converted(ops.Sum(products, axes=[1]).output, result.dtype)


def _largest(rows: Value, places: Value, counted: Value, bag: Value, sizes: Value) -> tuple[Value, Value]:
    """Returns the largest element of each column of a bag, 0 of an empty one, and the place of the first such row."""
    if places.shape[0] == 0:
        raise Unsupported("largest elements of no rows")
    shape = (*sizes.shape, rows.shape[1])
    is_counted = ops.Broadcast(counted, rows.shape, [1]).output
    shown = where(is_counted, rows, rows.dtype.extremes[0])
    found = ops.Scatter(ops.Full(rows.dtype.extremes[0], rows.dtype, shape), bag, shown, 0, "maximum").output
    is_found = ops.LogicalOr(ops.Equal(rows, ops.Gather(found, bag, 0)), ops.IsNan(rows)).output
    number, none = ops.Iota(rows.shape, 0, types.int64).output, fitted(places.shape[0], types.int64, rows.shape)
    number = where(ops.LogicalAnd(is_found, is_counted), number, none)
    first = ops.Scatter(fitted(places.shape[0], types.int64, shape), bag, number, 0, "minimum").output
    is_empty = ops.Broadcast(ops.Equal(sizes, sizes.full(0)), shape, [1]).output
    named = ops.Gather(places, where(is_empty, 0, first), 0).output
    return where(is_empty, 0, found), where(is_empty, 0, named)


def _bag_of_each(places: Value, offsets: Value, bags: DimLike) -> Value:
    """Returns the number of the bag of each place: that of the last offset that is not behind it. A place before all
    bags, which PyTorch refuses, gets a number that is out of range.
    """
    starts = ops.Slice(offsets, [(0, bags, 1)]).output
    shape = (places.shape[0], bags)
    number = ops.Iota(shape, 0, starts.dtype).output
    reached = ops.LessEqual(ops.Broadcast(starts, shape, [0]), number).output
    count = ops.Sum(converted(reached, types.int64), axes=[1]).output
    return where(ops.Equal(count, count.full(0)), fitted(bags, types.int64, count.shape), count - 1)


def _counted(places: Value, padding: int) -> Value:
    """Returns which places count: those that are not padding."""
    return ops.NotEqual(places, places.full(padding)).output if padding >= 0 else ops.Full(
        True, types.bool_, places.shape).output


def _along(rows: Value, counted: Value, weights: Value | None) -> Value:
    """Returns a row for each place times its weight; 0 where it does not count."""
    if weights is not None:
        rows = rows * ops.Broadcast(converted(weights, rows.dtype), rows.shape, [1]).output
    return where(ops.Broadcast(counted, rows.shape, [1]), rows, 0)


def _added(x: Value, bag: Value, bags: DimLike) -> Value:
    return ops.Scatter(ops.Full(0, x.dtype, (bags, *x.shape[1:])), bag, x, 0, "add").output


def _spread(sizes: Value, like: Value) -> Value:
    """Returns the sizes of bags, at least 1, for each element of a tensor with a row for each bag."""
    known = converted(ops.Maximum(sizes, sizes.full(1)).output, like.dtype)
    return ops.Broadcast(known, like.shape, [1]).output
