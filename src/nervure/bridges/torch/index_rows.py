"""Rows of indexing: elements that are read from, or written to, places that data names.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x, at = Parameter(nv.float32, (2, 3, 4)).output, Parameter(nv.int64, (5,)).output
>>> take(Parameter(nv.float32, (5, 3)).type, x, [at, None, at])
f32[5, 3] GatherNd(Permute, Concatenate)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure import ops
from nervure.bridges.torch.fitting import Given, axis_of, common_shape, converted, expanded, fitted
from nervure.bridges.torch.reduction_rows import norm_of
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.scan_rows import running_sum
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.alignment import reordered
from nervure.ir.op import Value
from nervure.ir.whole_op import fresh_length
from nervure.ops.embedding import divided_by_frequency
from nervure.ops.finding import FindPositions
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, index, product
from nervure.types.index_map import IndexMap
from nervure.types.shape import inverse_permutation


@row("embedding.default")
def embedding(result: Type, table: Value, places: Value, padding: int = -1, by_frequency: bool = False,
              *others: object) -> Value:
    """Returns the rows of a ``table``, with the derivatives that PyTorch's ``embedding`` has."""
    if padding < 0 and not by_frequency:
        return ops.Gather(table, places, 0).output
    return ops.LookupTable(table, places, padding if padding >= 0 else None, by_frequency).output


@row("embedding_renorm.default")
def embedding_with_norms(result: Type, table: Value, places: Value, most: float, order: float) -> Value:
    """Scales the rows at these places whose norm is above the largest one; a row that is named twice is the same."""
    if not table.dtype.is_float:
        raise Unsupported(f"norms of {table.dtype.name} rows")
    rows = converted(ops.Gather(table, places, 0).output, table.dtype.compute)
    axis, kept = rows.rank - 1, (*rows.shape[:-1], 1)
    norm = converted(norm_of(ops.Absolute(rows).output, order, [axis], kept), table.dtype)
    norm = converted(norm, rows.dtype)
    scale = where(ops.Less(norm.full(most), norm), most / (norm + 1e-7), 1)
    scaled = rows * ops.Broadcast(ops.Reshape(scale, kept[:-1]), rows.shape, [axis]).output
    return ops.Scatter(table, places, converted(scaled, table.dtype), 0, "set").output


@row("embedding_dense_backward.default")
def embedding_backward(result: Type, gradient: Value, places: Value, count: DimLike, padding: int,
                       by_frequency: bool) -> Value:
    wide = converted(gradient, gradient.dtype.compute)
    if by_frequency:
        wide = divided_by_frequency(wide, places, count)
    if padding >= 0:
        is_padding = ops.Broadcast(ops.Equal(places, places.full(padding)), wide.shape, [wide.rank - 1])
        wide = where(is_padding, 0, wide)
    zeros = ops.Full(0, wide.dtype, result.shape)
    return converted(ops.Scatter(zeros, places, wide, 0, "add").output, result.dtype)


@row("index_select.default")
def index_select(result: Type, x: Value, axis: int, places: Value) -> Value:
    found = ops.Gather(_with_axis(x), _with_axis(places), axis_of(axis, x.rank)).output
    return found if x.rank else ops.Reshape(found, ()).output


@row("gather.default")
def gather(result: Type, x: Value, axis: int, places: Value, sparse: bool) -> Value:
    if 0 in result.shape:  # an index without elements may have any number of dimensions
        return ops.Full(0, result.dtype, result.shape).output
    axis, x, places = axis_of(axis, x.rank), _with_axis(x), _with_axis(places)
    found = ops.GatherElements(_beside(x, places.shape, axis), places, axis).output
    return found if found.shape == result.shape else ops.Reshape(found, result.shape).output


def _with_axis(x: Value) -> Value:
    """Returns a tensor without dimensions as one of a single element along an axis."""
    return x if x.rank else ops.Reshape(x, (1,)).output


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
        shape = common_shape([entry for _, entry in known])
        columns = [ops.Reshape(expanded(converted(entry, types.int64), shape), (*shape, 1)) for _, entry in known]
        places = ops.Concatenate(*columns, axis=len(shape)).output
        rest = [d for d in range(x.rank) if d not in axes]
        is_together = axes == list(range(axes[0], axes[-1] + 1))
        first = axes[0] if is_together else 0
        rank = len(shape)
        back = [rank + d for d in range(first)] + list(range(rank)) + [rank + d for d in range(first, len(rest))]
        return cls([*axes, *rest], len(axes), places, back)


def _require_places(indices: Sequence[Value | None]) -> None:
    """Raises Unsupported for bytes, which PyTorch takes for a mask, with a warning."""
    if any([entry is not None and entry.dtype is types.uint8 for entry in indices]):
        raise Unsupported("bytes as an index: they are a mask")


@row("index.Tensor", "_unsafe_index.Tensor")
def take(result: Type, x: Value, indices: Sequence[Value | None]) -> Value:
    _require_places(indices)
    known = [d for d, entry in enumerate(indices) if entry is not None]
    alone = indices[known[0]] if len(known) == 1 else None
    if alone is not None and alone.dtype.is_integer:
        return ops.Gather(x, alone, known[0]).output
    found = IndexedPlaces.of(x, indices)
    return reordered(ops.GatherNd(reordered(x, found.order), found.places).output, found.back)


@row("index_put.default", "_unsafe_index_put.default")
def put(result: Type, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool) -> Value:
    _require_places(indices)
    mask = indices[0] if len(indices) == 1 else None
    if mask is not None and mask.dtype is types.bool_:
        return _put_where(x, mask, values, accumulate)
    mode = "add" if accumulate else "set"
    known = [d for d, entry in enumerate(indices) if entry is not None]
    alone = indices[known[0]] if len(known) == 1 else None
    if alone is not None and alone.dtype.is_integer:  # written along its axis, so that the others stay where they lie
        axis, = known
        updates = expanded(converted(values, x.dtype), (*x.shape[:axis], *alone.shape, *x.shape[axis + 1:]))
        return ops.Scatter(x, alone, updates, axis, mode).output
    found = IndexedPlaces.of(x, indices)
    shown = reordered(x, found.order)
    rest = shown.shape[found.indexed:]
    there = (*found.places.shape[:-1], *rest)
    spread = expanded(converted(values, x.dtype), [there[d] for d in found.back])
    updates = reordered(spread, inverse_permutation(found.back))
    written = ops.ScatterNd(shown, found.places, updates, mode=mode).output
    return reordered(written, inverse_permutation(found.order))


@row("put.default")
def put_in_row_major(result: Type, x: Value, places: Value, source: Value, accumulate: bool) -> Value:
    if x.dtype is types.bool_ and accumulate:
        raise Unsupported("truth values that are added")
    wide = x.dtype.compute if accumulate else x.dtype
    count = product(places.shape)
    flat = converted(ops.Reshape(x, (product(x.shape),)).output, wide)
    updates = converted(ops.Reshape(source, (count,)).output, wide)
    written = ops.Scatter(flat, ops.Reshape(places, (count,)), updates, 0, "add" if accumulate else "set")
    return converted(ops.Reshape(written, x.shape).output, x.dtype)


def _put_where(x: Value, mask: Value, values: Value, accumulate: bool) -> Value:
    """Writes at the places of a mask over the first dimensions of x: one value for each, or the same for all."""
    if mask.shape != x.shape[:mask.rank]:
        raise Unsupported("a mask of another shape as an index")
    rest, given = x.shape[mask.rank:], converted(values, x.dtype)
    if given.rank > len(rest) and given.shape[0] != 1:
        chosen = _in_order_of(mask, expanded(given, (given.shape[0], *rest)), is_exact=True)
    else:
        chosen = expanded(ops.Reshape(given, given.shape[1:]).output if given.rank > len(rest) else given, x.shape)
    place = ops.Broadcast(mask, x.shape, range(mask.rank, x.rank)).output if rest else mask
    return ops.Where(place, x + chosen if accumulate else chosen, x).output


def _in_order_of(mask: Value, values: Value, is_exact: bool) -> Value:
    """Returns, for each place of a mask that is set, the next one of some values; others have the first one.

    Too few values are an index that is out of range, and so are too many of them if the number has to be exact.
    """
    if values.shape[0] == 0:
        raise Unsupported("a mask as an index, and no value")
    flat = ops.Reshape(mask, (product(mask.shape),)).output
    number = where(flat, running_sum(flat.type.with_(dtype=types.int64), flat, 0, None) - 1, 0)
    if is_exact:
        given = fitted(values.shape[0], types.int64, flat.shape)
        total = expanded(ops.Sum(converted(flat, types.int64), axes=[0]).output, flat.shape)
        number = where(ops.Equal(total, given), number, given)
    return ops.Gather(values, ops.Reshape(number, mask.shape), 0).output


@row("masked_scatter.default")
def masked_scatter(result: Type, x: Value, mask: Value, source: Value) -> Value:
    x, mask = expanded(x, result.shape), expanded(mask, result.shape)
    if 0 in result.shape:
        return x
    flat = ops.Reshape(source, (product(source.shape),)).output
    return ops.Where(mask, _in_order_of(mask, flat, is_exact=False), x).output


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


@row("scatter.reduce")
def scatter_combined(result: Type, x: Value, axis: int, places: Value, source: Value, reduce: str) -> Value:
    return _scattered(x, axis, places, source, reduce)


@row("scatter.value_reduce")
def scatter_number_combined(result: Type, x: Value, axis: int, places: Value, number: Given, reduce: str) -> Value:
    return _scattered(x, axis, places, fitted(number, x.dtype, places.shape), reduce)


_MODES = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


@row("scatter_reduce.two")
def scatter_reduce(result: Type, x: Value, axis: int, places: Value, source: Value, reduce: str,
                   include_self: bool) -> Value:
    return _reduced(x, source, reduce, include_self,
                    lambda old, updates, mode: _scattered(old, axis, places, updates, mode))


@row("index_reduce.default")
def index_reduce(result: Type, x: Value, axis: int, places: Value, source: Value, reduce: str,
                 include_self: bool) -> Value:
    places, axis = _with_axis(places), axis_of(axis, x.rank)

    def write(old: Value, updates: Value, mode: str) -> Value:
        wide = old.dtype if mode == "set" else old.dtype.compute
        given = converted(_with_axis(old), wide), converted(_with_axis(updates), wide)
        written = ops.Scatter(given[0], places, given[1], axis, mode)
        return converted(ops.Reshape(written, old.shape).output, old.dtype)
    return _reduced(x, source, reduce, include_self, write)


def _reduced(x: Value, source: Value, reduce: str, include_self: bool,
             write: Callable[[Value, Value, str], Value]) -> Value:
    """Combines elements of x with those of the source that ``write`` brings to the same places."""
    mode = _MODES[reduce]
    old = x
    if not include_self:  # elements that are written begin with what changes nothing
        low, high = x.dtype.extremes
        neutral = {"add": 0, "multiply": 1, "maximum": low, "minimum": high}[mode]
        no, yes = [ops.Full(choice, types.bool_, of.shape).output for choice, of in ((False, x), (True, source))]
        old = where(write(no, yes, "set"), neutral, x)
    found = write(old, source, mode)
    if reduce != "mean":
        return found
    ones, start = ops.Full(1, types.int64, source.shape).output, ops.Full(int(include_self), types.int64, x.shape)
    count = write(start.output, ones, mode)
    count = converted(ops.Maximum(count, count.full(1)).output, x.dtype)
    return found / count if x.dtype.is_float else ops.FloorDivide(found, count).output


def _scattered(x: Value, axis: int, places: Value, source: Value, mode: str) -> Value:
    if not places.rank or not x.rank:
        written = _scattered(_with_axis(x), axis, _with_axis(places), _with_axis(source), mode)
        return ops.Reshape(written, x.shape).output
    if 0 in places.shape:  # an index without elements may have any number of dimensions
        return x
    if x.dtype is types.bool_ and mode != "set":
        return _scattered_truths(x, axis, places, source, mode)
    axis = axis_of(axis, x.rank)
    if places.shape != source.shape:
        source = ops.Slice(source, [(0, extent, 1) for extent in places.shape]).output
    reached = _beside(x, places.shape, axis)
    wide = x.dtype if mode == "set" else x.dtype.compute
    combined = ops.ScatterElements(converted(reached, wide), places, converted(source, wide), axis=axis, mode=mode)
    value = converted(combined.output, x.dtype)
    if reached is x:
        return value
    return ops.UpdateView(x, value, IndexMap(value.shape, tuple([index(d) for d in range(x.rank)]))).output


def _scattered_truths(x: Value, axis: int, places: Value, source: Value, mode: str) -> Value:
    """Combines truth values as 0 and 1: any of them, or all of them."""
    extremum = {"add": "maximum", "multiply": "minimum"}.get(mode, mode)
    return converted(_scattered(converted(x, types.uint8), axis, places, converted(source, types.uint8), extremum),
                     types.bool_)


@row("histc.default")
def histogram(result: Type, x: Value, bins: int, low: float, high: float) -> Value:
    if x.dtype not in (types.float32, types.float64) or 0 in x.shape:
        raise Unsupported(f"a histogram of {x.type}")
    first, last = [ops.Full(bound, x.dtype, ()).output for bound in (low, high)]
    if low == high:  # that of the elements
        first, last = [op(x, axes=list(range(x.rank))).output for op in (ops.Min, ops.Max)]
    is_narrow = ops.Equal(first, last).output
    first, last = where(is_narrow, first - 1, first), where(is_narrow, last + 1, last)
    flat = ops.Reshape(x, (product(x.shape),)).output
    start, end = expanded(first, flat.shape), expanded(last, flat.shape)
    is_inside = ops.LogicalAnd(ops.LessEqual(start, flat), ops.LessEqual(flat, end)).output
    place = ops.Floor(where(is_inside, flat - start, 0) * bins / (end - start)).output
    place = converted(ops.Minimum(place, place.full(bins - 1)).output, types.int64)
    counts = ops.Scatter(ops.Full(0, types.int64, result.shape), place, converted(is_inside, types.int64), 0, "add")
    return converted(counts.output, result.dtype)


@row("repeat_interleave.Tensor")
def repeated_positions(result: Type, counts: Value, size: DimLike | None) -> Value:
    """Returns each position as often as its count says. Counts that add up to another number than ``size`` fail: more
    are above the bound, and fewer leave places that are out of range.
    """
    if size is None:
        raise Unsupported("counts whose sum is not given: the shape of the result depends on data")
    found = FindPositions(converted(counts, types.int64), length=fresh_length(size), bound=size).outputs[0]
    return converted(ops.Gather(found, ops.Iota((size,), 0, types.int64), 0).output, result.dtype)
