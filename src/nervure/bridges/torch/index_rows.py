"""Rows of indexing: elements that are read from, or written to, places that data names.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x, at = Parameter(nv.float32, (2, 3, 4)).output, Parameter(nv.int64, (5,)).output
>>> take(Parameter(nv.float32, (5, 3)).type, x, [at, None, at])
f32[5, 3] GatherNd(Permute, Concatenate)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure import ops
from nervure.bridges.torch.fitting import Given, axis_of, converted, expanded, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, equal, index
from nervure.types.index_map import IndexMap


@row("embedding.default")
def embedding(result: Type, table: Value, places: Value, *others: object) -> Value:
    return ops.Gather(table, places, 0).output


@row("embedding_dense_backward.default")
def embedding_backward(result: Type, gradient: Value, places: Value, count: DimLike, padding: int,
                       by_frequency: bool) -> Value:
    if by_frequency:
        raise Unsupported("gradients divided by how often a row is read")
    wide = converted(gradient, gradient.dtype.compute)
    if padding >= 0:
        is_padding = ops.Broadcast(ops.Equal(places, places.full(padding)), wide.shape, [wide.rank - 1])
        wide = where(is_padding, 0, wide)
    zeros = ops.Full(0, wide.dtype, result.shape)
    return converted(ops.Scatter(zeros, places, wide, 0, "add").output, result.dtype)


@row("index_select.default")
def index_select(result: Type, x: Value, axis: int, places: Value) -> Value:
    if not x.rank or not places.rank:
        raise Unsupported("an index of a single element")
    return ops.Gather(x, places, axis % x.rank).output


@row("gather.default")
def gather(result: Type, x: Value, axis: int, places: Value, sparse: bool) -> Value:
    if not x.rank or not places.rank:
        raise Unsupported("an index of a single element")
    axis = axis % x.rank
    return ops.GatherElements(_beside(x, places.shape, axis), places, axis).output


def _beside(x: Value, shape: Sequence[DimLike], axis: int) -> Value:
    """Returns the part of x, from the start, that an index of this shape along an axis can reach."""
    slices = [(0, own if d == axis else other, 1) for d, (own, other) in enumerate(zip(x.shape, shape, strict=True))]
    return x if all([own == extent for own, (_, extent, _) in zip(x.shape, slices)]) else ops.Slice(x, slices).output


# -- several indices ---------------------------------------------------------------------------------------------------


class IndexedPlaces(NamedTuple):
    """Indices of some dimensions of x, which are brought to the front.

    ``order`` is that of x's dimensions then, of which the first ``indexed`` have an index; ``places`` has the positions
    in its last dimension; ``back`` brings the result into the order of PyTorch.
    """

    order: list[int]
    indexed: int
    places: Value
    back: list[int]

    @classmethod
    def of(cls, x: Value, indices: Sequence[Value | None]) -> IndexedPlaces:
        """Reads the indices of PyTorch: integers for some dimensions, which broadcast against each other."""
        known = [(d, entry) for d, entry in enumerate(indices) if entry is not None]
        if any([not entry.dtype.is_integer for _, entry in known]):
            raise Unsupported("a mask as an index: the shape of the result depends on data")
        if not known:
            raise Unsupported("an index without tensors")
        axes = [d for d, _ in known]
        shape = _common_shape([entry for _, entry in known])
        columns = [ops.Reshape(expanded(converted(entry, types.int64), shape), (*shape, 1)) for _, entry in known]
        places = ops.Concatenate(*columns, axis=len(shape)).output
        rest = [d for d in range(x.rank) if d not in axes]
        is_together = axes == list(range(axes[0], axes[-1] + 1))
        first = axes[0] if is_together else 0
        rank = len(shape)
        back = [rank + d for d in range(first)] + list(range(rank)) + [rank + d for d in range(first, len(rest))]
        return cls([*axes, *rest], len(axes), places, back)


def _common_shape(values: Sequence[Value]) -> tuple[DimLike, ...]:
    rank = max([value.rank for value in values])
    shape: list[DimLike] = [1] * rank
    for value in values:
        for d, length in enumerate(value.shape, rank - value.rank):
            if shape[d] == 1:
                shape[d] = length
            elif length != 1 and equal(shape[d], length) is not True:
                raise Unsupported(f"indices of lengths {shape[d]} and {length}")
    return tuple(shape)


def _permuted(x: Value, order: Sequence[int]) -> Value:
    return x if list(order) == list(range(x.rank)) else ops.Permute(x, list(order)).output


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


@row("index.Tensor", "_unsafe_index.Tensor")
def take(result: Type, x: Value, indices: Sequence[Value | None]) -> Value:
    known = [d for d, entry in enumerate(indices) if entry is not None]
    alone = indices[known[0]] if len(known) == 1 else None
    if alone is not None and alone.dtype.is_integer:
        return ops.Gather(x, alone, known[0]).output
    found = IndexedPlaces.of(x, indices)
    return _permuted(ops.GatherNd(_permuted(x, found.order), found.places).output, found.back)


@row("index_put.default", "_unsafe_index_put.default")
def put(result: Type, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool) -> Value:
    mask = indices[0] if len(indices) == 1 else None
    if mask is not None and mask.dtype is types.bool_:
        return _put_where(x, mask, values, accumulate)
    found = IndexedPlaces.of(x, indices)
    shown = _permuted(x, found.order)
    rest = shown.shape[found.indexed:]
    there = (*found.places.shape[:-1], *rest)
    updates = _permuted(expanded(converted(values, x.dtype), [there[d] for d in found.back]), _inverse(found.back))
    written = ops.ScatterNd(shown, found.places, updates, mode="add" if accumulate else "set").output
    return _permuted(written, _inverse(found.order))


def _put_where(x: Value, mask: Value, values: Value, accumulate: bool) -> Value:
    """Writes one number at the places of a mask over the first dimensions of x."""
    if values.rank and any([length != 1 for length in values.shape]) or mask.shape != x.shape[:mask.rank]:
        raise Unsupported("a mask as an index, with a value for each place")
    number = expanded(converted(values, x.dtype), x.shape[:values.rank] if values.rank > x.rank else x.shape)
    chosen = ops.Broadcast(mask, x.shape, range(mask.rank, x.rank)) if mask.rank < x.rank else mask
    return ops.Where(chosen, x + number if accumulate else number, x).output


# -- scatter -----------------------------------------------------------------------------------------------------------


@row("scatter.src")
def scatter(result: Type, x: Value, axis: int, places: Value, source: Value) -> Value:
    return _scattered(x, axis, places, source, "set")


@row("scatter.value")
def scatter_number(result: Type, x: Value, axis: int, places: Value, number: Given) -> Value:
    return _scattered(x, axis, places, fitted(number, x.dtype, places.shape), "set")


@row("scatter_add.default")
def scatter_add(result: Type, x: Value, axis: int, places: Value, source: Value) -> Value:
    return _scattered(x, axis, places, source, "add")


_MODES = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


@row("scatter_reduce.two")
def scatter_reduce(result: Type, x: Value, axis: int, places: Value, source: Value, reduce: str,
                   include_self: bool) -> Value:
    if not include_self or reduce not in _MODES:
        raise Unsupported(f"a scatter by {reduce}{'' if include_self else ' without the old elements'}")
    return _scattered(x, axis, places, source, _MODES[reduce])


def _scattered(x: Value, axis: int, places: Value, source: Value, mode: str) -> Value:
    if not x.rank or not places.rank or x.dtype is types.bool_ and mode != "set":
        raise Unsupported("an index of a single element, or combined truth values")
    axis = axis_of(axis, x.rank)
    if places.shape != source.shape:
        source = ops.Slice(source, [(0, extent, 1) for extent in places.shape]).output
    reached = _beside(x, places.shape, axis)
    wide = x.dtype if mode == "set" else x.dtype.compute
    written = ops.ScatterElements(converted(reached, wide), places, converted(source, wide), axis=axis, mode=mode)
    value = converted(written.output, x.dtype)
    if reached is x:
        return value
    return ops.UpdateView(x, value, IndexMap(value.shape, tuple([index(d) for d in range(x.rank)]))).output
