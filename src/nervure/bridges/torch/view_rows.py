"""Rows of views: other shapes, orders and parts of the same elements, and tensors that are put together.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.float32, (2, 6)).output
>>> part(Parameter(nv.float32, (2, 2)).type, x, 1, 1, 100, 3)
f32[2, 2] Slice(Parameter)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import Given, axis_of, converted, expanded, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.leaves import Parameter
from nervure.ir.op import Value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import Dim, DimLike, dim_max, dim_min, equal, index
from nervure.types.index_map import IndexMap


@row("view.default", "_unsafe_view.default", "unsqueeze.default", "squeeze.dim", "squeeze.dims",
     "squeeze.default", "_reshape_alias.default", "view_copy.default", "unsqueeze_copy.default", "squeeze_copy.dim",
     "squeeze_copy.dims", "squeeze_copy.default")
def reshape(result: Type, x: Value, *others: object) -> Value:
    return x if x.shape == result.shape else ops.Reshape(x, result.shape).output


@row("permute.default", "permute_copy.default")
def permute(result: Type, x: Value, order: Sequence[int]) -> Value:
    return ops.Permute(x, [axis % x.rank for axis in order]).output if x.rank else x


@row("transpose.int", "transpose_copy.int")
def transpose(result: Type, x: Value, first: int, second: int) -> Value:
    order = list(range(x.rank))
    if order:
        first, second = first % x.rank, second % x.rank
        order[first], order[second] = order[second], order[first]
    return permute(result, x, order)


@row("t.default", "t_copy.default")
def matrix_transpose(result: Type, x: Value) -> Value:
    return permute(result, x, list(reversed(range(x.rank))))


@row("expand.default", "expand_copy.default")
def expand(result: Type, x: Value, *others: object) -> Value:
    return expanded(x, result.shape)


@row("flip.default")
def flip(result: Type, x: Value, axes: Sequence[int]) -> Value:
    return ops.Reverse(x, [axis % x.rank for axis in axes]).output if x.rank else x


# -- parts -------------------------------------------------------------------------------------------------------------


@row("slice.Tensor", "slice_copy.Tensor")
def part(result: Type, x: Value, axis: int, start: Given, end: Given, step: int) -> Value:
    axis = axis_of(axis, x.rank)
    return _sliced(x, axis, first_of(start, x.shape[axis], result.shape[axis] if step == 1 else 0),
                   result.shape[axis], step)


def first_of(start: Given, length: DimLike, extent: DimLike) -> DimLike:
    """Returns where a slice starts: inside of an axis, or at its end. From a symbol on there are at least ``extent``
    elements, as PyTorch has found when it traced the slice.
    """
    if isinstance(start, Dim):
        return dim_min(start, length - extent)
    if start is None:
        return 0
    if isinstance(start, int) and start < 0:
        return dim_max(length + start, 0)
    return start if start == 0 else dim_min(start, length)


def _sliced(x: Value, axis: int, start: DimLike, extent: DimLike, step: DimLike) -> Value:
    slices: list[tuple[DimLike, DimLike, DimLike]] = [(0, length, 1) for length in x.shape]
    if slices[axis] == (start, extent, step):
        return x
    slices[axis] = (start, extent, step)
    return ops.Slice(x, slices).output


@row("select.int", "select_copy.int")
def select(result: Type, x: Value, axis: int, position: Given) -> Value:
    axis = axis_of(axis, x.rank)
    if isinstance(position, Dim):
        raise Unsupported("a position that is a symbol")
    start = position if position >= 0 else x.shape[axis] + position
    return ops.Reshape(_sliced(x, axis, start, 1, 1), result.shape).output


@row("split_with_sizes.default", "split.Tensor", "unbind.int", "split_with_sizes_copy.default", "split_copy.Tensor",
     "unbind_copy.int")
def split(result: tuple[Type, ...], x: Value, *others: Foreign) -> tuple[Value, ...]:
    axis = axis_of(others[-1], x.rank)
    start: DimLike = 0
    parts = []
    for each in result:
        is_whole = len(each.shape) == x.rank
        extent = each.shape[axis] if is_whole else 1
        found = _sliced(x, axis, start, extent, 1)
        parts.append(found if is_whole else ops.Reshape(found, each.shape).output)
        start = start + extent
    return tuple(parts)


@row("narrow_copy.default")
def narrow(result: Type, x: Value, axis: int, start: Given, length: Given) -> Value:
    axis = axis_of(axis, x.rank)
    if isinstance(start, int) and start < 0:
        start = x.shape[axis] + start
    return _sliced(x, axis, start, length, 1)


@row("unfold.default", "unfold_copy.default")
def unfold(result: Type, x: Value, axis: int, size: int, step: int) -> Value:
    if not x.rank:
        return ops.Reshape(x, result.shape).output
    return ops.Windows(x, [axis % x.rank], [size], [step]).output


@row("diagonal.default", "diagonal_copy.default")
def diagonal(result: Type, x: Value, offset: int, first: int, second: int) -> Value:
    return ops.Diagonal(x, offset, first % x.rank, second % x.rank).output


@row("slice_scatter.default")
def slice_scatter(result: Type, x: Value, source: Value, axis: int, start: Given, end: Given, step: int) -> Value:
    axis = axis_of(axis, x.rank)
    extent = source.shape[axis]
    begin = first_of(start, x.shape[axis], extent if step == 1 else 0)
    source = converted(source, x.dtype)
    if not source.type == x.type.with_(shape=source.shape):
        raise Unsupported("a part of another type")
    if begin == 0 and equal(extent, x.shape[axis]) is True:
        return source
    if step == 1 and not isinstance(x.op, Parameter):  # an argument is a cache as a rule, updated where it lies
        before = _sliced(x, axis, 0, begin, 1)
        after = _sliced(x, axis, begin + extent, x.shape[axis] - begin - extent, 1)
        return ops.Concatenate(*[each for each in (before, source, after) if each.shape[axis] != 0], axis=axis).output
    return _updated(x, source, axis, index(axis) * step + begin)


@row("select_scatter.default")
def select_scatter(result: Type, x: Value, source: Value, axis: int, position: Given) -> Value:
    axis = axis_of(axis, x.rank)
    if isinstance(position, Dim):
        raise Unsupported("a position that is a symbol")
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])
    source = ops.Reshape(converted(source, x.dtype), shape).output
    start = position if position >= 0 else x.shape[axis] + position
    return _updated(x, source, axis, index(axis) + start)


def _updated(x: Value, source: Value, axis: int, coordinate: DimLike) -> Value:
    coordinates: list[DimLike] = [index(d) for d in range(x.rank)]
    coordinates[axis] = coordinate
    return ops.UpdateView(x, source, IndexMap(source.shape, tuple(coordinates))).output


@row("diagonal_scatter.default")
def diagonal_scatter(result: Type, x: Value, source: Value, offset: int, first: int, second: int) -> Value:
    shown = ops.Diagonal(x, offset, first % x.rank, second % x.rank)
    return ops.UpdateView(x, converted(source, x.dtype), shown.simple_view.index_map).output


# -- together ----------------------------------------------------------------------------------------------------------


@row("cat.default")
def cat(result: Type, parts: Sequence[Value], axis: int) -> Value:
    rank = len(result.shape)  # a vector of no elements fits to everything
    fitting = [converted(x, result.dtype) for x in parts if not (x.shape == (0,) and rank != 1)]
    if not fitting:
        return fitted(0, result.dtype, result.shape)
    return ops.Concatenate(*fitting, axis=axis % rank).output


@row("stack.default")
def stack(result: Type, parts: Sequence[Value], axis: int) -> Value:
    axis = axis % len(result.shape)
    rows = [ops.Reshape(converted(x, result.dtype), (*x.shape[:axis], 1, *x.shape[axis:])).output for x in parts]
    return ops.Concatenate(*rows, axis=axis).output


@row("repeat.default")
def repeat(result: Type, x: Value, counts: Sequence[Given]) -> Value:
    # Each dimension is a pair, of a count and a length, until all are repeated.
    missing = len(counts) - x.rank
    lengths = (*[1] * missing, *x.shape)
    pairs = [entry for pair in zip(counts, lengths, strict=True) for entry in pair]
    spread = ops.Broadcast(ops.Reshape(x, lengths), pairs, range(0, 2 * len(counts), 2))
    return ops.Reshape(spread, result.shape).output


@row("constant_pad_nd.default")
def pad(result: Type, x: Value, given: Sequence[Given], value: Given) -> Value:
    paddings: list[tuple[DimLike, DimLike]] = [(0, 0)] * x.rank
    for k in range(len(given) // 2):
        paddings[x.rank - 1 - k] = given[2 * k], given[2 * k + 1]
    return ops.Pad(x, paddings, _number(value, x)).output


def _number(value: Given, x: Value) -> Foreign:
    if isinstance(value, Dim) or x.dtype is types.bool_ and value not in (0, 1):
        raise Unsupported("a padding of such numbers")
    return value


@row("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def reflection_pad(result: Type, x: Value, given: Sequence[Given]) -> Value:
    return _folded(x, given, "reflect")


@row("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def replication_pad(result: Type, x: Value, given: Sequence[Given]) -> Value:
    return _folded(x, given, "edge")


def _folded(x: Value, given: Sequence[Given], mode: str) -> Value:
    if any([not isinstance(entry, int) for entry in given]):
        raise Unsupported("a padding that is a symbol")
    paddings: list[tuple[DimLike, DimLike]] = [(0, 0)] * x.rank
    cut = list(paddings)
    for k in range(len(given) // 2):
        pair = given[2 * k:2 * k + 2]
        paddings[x.rank - 1 - k] = max(pair[0], 0), max(pair[1], 0)
        cut[x.rank - 1 - k] = min(pair[0], 0), min(pair[1], 0)
    padded = ops.FoldedPad(x, paddings, mode).output
    return ops.Pad(padded, cut, 0).output if any([pair != (0, 0) for pair in cut]) else padded
