"""Rows of convolutions, of their gradients, and of pooling.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.float32, (1, 3, 5, 5)).output
>>> average_pool(Parameter(nv.float32, (1, 3, 2, 2)).type, x, [2, 2], [], [0], False, True, None)
f32[1, 3, 2, 2] Divide(Sum, Full)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from nervure import ops
from nervure.bridges.torch.elementwise_rows import truncating_quotient
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.notation import Number
from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
from nervure.ops.pooling import places_of_largest
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import Dim, DimLike, product

Ints = Sequence[int]


def each(entries: Ints, count: int) -> list[int]:
    """Returns an entry for each spatial dimension; one entry stands for all."""
    return list(entries) * count if len(entries) == 1 else list(entries)


# -- convolutions ------------------------------------------------------------------------------------------------------


def _geometry(rank: int, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> dict[str, Foreign]:
    count = rank - 2
    return {"strides": each(stride, count), "dilations": each(dilation, count), "groups": groups,
            "paddings": [(entry, entry) for entry in each(padding, count)]}


@row("convolution.default")
def convolution(result: Type, x: Value, weight: Value, bias: Value | None, stride: Ints, padding: Ints,
                dilation: Ints, transposed: bool, output_padding: Ints, groups: int) -> Value:
    settings = _geometry(x.rank, stride, padding, dilation, groups)
    wide = x.dtype.compute
    x, weight = converted(x, wide), converted(weight, wide)
    if transposed:
        settings, more = _reached(settings, output_padding)
        lengths = [length - before - after for length, (before, after) in zip(result.shape[2:], more, strict=True)]
        value = _padded(ops.ConvolutionDataGradient(x, weight, **settings, lengths=lengths).output, more)
    else:
        value = ops.Convolution(x, weight, **settings).output
    if bias is not None:
        others = [d for d in range(value.rank) if d != 1]
        value = value + ops.Broadcast(converted(bias, wide), value.shape, others).output
    return converted(value, result.dtype)


def _reached(settings: dict[str, Foreign],
             output_padding: Ints) -> tuple[dict[str, Foreign], list[tuple[DimLike, DimLike]]]:
    """Returns the settings of a transposed convolution whose result ends where windows do, and the padding it needs."""
    geometry, more = Geometry(**settings).reached(each(output_padding, len(settings["strides"])))
    return geometry._asdict(), more


def _padded(x: Value, more: Sequence[tuple[DimLike, DimLike]]) -> Value:
    """Returns x with zeros at both ends of each spatial dimension, or without elements where their number is negative.
    """
    return ops.Pad(x, [(0, 0), (0, 0), *more], 0).output if any(map(any, more)) else x


@row("convolution_backward.default")
def convolution_backward(result: tuple[Type | None, ...], gradient: Value, x: Value, weight: Value,
                         bias_sizes: object, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
                         output_padding: Ints, groups: int, mask: Sequence[bool]) -> tuple[Value | None, ...]:
    settings = _geometry(x.rank, stride, padding, dilation, groups)
    wide = x.dtype.compute
    own = x.dtype
    gradient, x, weight = converted(gradient, wide), converted(x, wide), converted(weight, wide)
    found: list[Value | None] = [None, None, None]
    if mask[2]:
        found[2] = ops.Sum(gradient, axes=[d for d in range(gradient.rank) if d != 1]).output
    if transposed:
        settings, more = _reached(settings, output_padding)
        gradient = _padded(gradient, [(-before, -after) for before, after in more])
    if mask[0] and transposed:
        found[0] = ops.Convolution(gradient, weight, **settings).output
    elif mask[0]:
        found[0] = ops.ConvolutionDataGradient(gradient, weight, **settings, lengths=x.shape[2:]).output
    if mask[1]:
        data, made = (gradient, x) if transposed else (x, gradient)
        found[1] = ops.ConvolutionFilterGradient(data, made, **settings, lengths=weight.shape[2:]).output
    return tuple([None if value is None else converted(value, own) for value in found])


# -- pooling -----------------------------------------------------------------------------------------------------------


class Pooled(NamedTuple):
    """The windows of a pooling over the last dimensions of x, at each of ``places``."""

    x: Value
    places: tuple[DimLike, ...]
    windows: list[int]
    strides: list[int]
    before: list[int]
    dilations: list[int]

    @classmethod
    def of(cls, x: Value, result: Type, spatial: int, window: Ints, stride: Ints, padding: Ints,
           dilation: Ints = (1,)) -> Pooled:
        """Returns the windows as PyTorch's arguments give them; no stride means that of the window."""
        windows = each(window, spatial)
        return cls(x, tuple(result.shape[-spatial:]), windows, each(stride, spatial) or windows, each(padding, spatial),
                   each(dilation, spatial))

    @property
    def axes(self) -> list[int]:
        """The dimensions over which windows move."""
        return list(range(self.x.rank - len(self.windows), self.x.rank))

    @property
    def paddings(self) -> list[tuple[DimLike, DimLike]]:
        """The elements around x by which all windows, and no other places, lie inside; less than 0 cuts off."""
        pairs: list[tuple[DimLike, DimLike]] = [(0, 0)] * self.x.rank
        for k, axis in enumerate(self.axes):
            reached = (self.places[k] - 1) * self.strides[k] + self.dilations[k] * (self.windows[k] - 1) + 1
            pairs[axis] = self.before[k], reached - self.x.shape[axis] - self.before[k]
        return pairs

    def shown(self, x: Value, fill: Number) -> Value:
        """Returns all windows of x, surrounded by ``fill``: their positions are the last dimensions."""
        padded = ops.Pad(x, self.paddings, fill).output if any(
            [pair != (0, 0) for pair in self.paddings]) else x
        return ops.Windows(padded, self.axes, self.windows, self.strides, self.dilations).output

    @property
    def positions(self) -> list[int]:
        """The dimensions of ``shown`` that count the positions in a window."""
        return list(range(self.x.rank, self.x.rank + len(self.windows)))


@row("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool(result: tuple[Type, Type], x: Value, window: Ints, stride: Ints, padding: Ints, dilation: Ints,
             ceil: bool) -> tuple[Value, Value]:
    pool = Pooled.of(x, result[0], len(window) if len(window) > 1 else 2, window, stride, padding, dilation)
    shown = pool.shown(x, x.dtype.extremes[0])
    places = places_of_largest(shown, x, pool.axes, pool.windows, pool.strides, pool.dilations, pool.before)
    return ops.Max(shown, axes=pool.positions).output, places


@row("max_pool2d_with_indices_backward.default", "max_pool3d_with_indices_backward.default")
def max_pool_backward(result: Type, gradient: Value, x: Value, window: Ints, stride: Ints, padding: Ints,
                      dilation: Ints, ceil: bool, places: Value) -> Value:
    return added_to_largest(gradient, x, places, len(window) if len(window) > 1 else 2)


def added_to_largest(gradient: Value, x: Value, places: Value, spatial: int) -> Value:
    """Returns the gradient of x, of which elements at ``places`` in the last dimensions, as one, were found."""
    outer = x.shape[:-spatial]
    count = product(x.shape[-spatial:])
    flat = ops.Full(0, x.dtype.compute, (*outer, count)).output
    shape = (*outer, product(gradient.shape[-spatial:]))
    added = ops.ScatterElements(flat, ops.Reshape(places, shape),
                                ops.Reshape(converted(gradient, flat.dtype), shape), axis=len(outer), mode="add")
    return converted(ops.Reshape(added, x.shape).output, x.dtype)


@row("avg_pool1d.default")
def average_pool_of_lines(result: Type, x: Value, window: Ints, stride: Ints, padding: Ints, ceil: bool,
                          count_padding: bool) -> Value:
    return _averages(Pooled.of(x, result, 1, window, stride, padding), result, count_padding, None)


@row("avg_pool2d.default", "avg_pool3d.default")
def average_pool(result: Type, x: Value, window: Ints, stride: Ints, padding: Ints, ceil: bool,
                 count_padding: bool, divisor: int | None) -> Value:
    spatial = len(window) if len(window) > 1 else 2
    return _averages(Pooled.of(x, result, spatial, window, stride, padding), result, count_padding, divisor)


def _averages(pool: Pooled, result: Type, count_padding: bool, divisor: int | None) -> Value:
    wide = converted(pool.x, result.dtype.compute)
    sums = ops.Sum(pool.shown(wide, 0), axes=pool.positions).output
    counts = _counts(pool, sums, count_padding, divisor)
    return converted(sums / counts if wide.dtype.is_float else truncating_quotient(sums, counts), result.dtype)


def _counts(pool: Pooled, like: Value, count_padding: bool, divisor: int | None) -> Value:
    """Returns by how much the sum of each window is divided: the elements inside of x, or of x and its padding."""
    is_plain = all([before == 0 and _stays_inside(pair[1])
                    for before, pair in zip(pool.before, pool.paddings[-len(pool.windows):], strict=True)])
    if divisor is not None or is_plain:
        return like.full(divisor if divisor is not None else prod(pool.windows))
    count = like.full(1)
    for k, axis in enumerate(pool.axes):
        length = pool.x.shape[axis]
        if isinstance(length, Dim):
            raise Unsupported("averages with padding along an axis of unknown length")
        start = ops.Iota(like.shape, axis, types.int64) * pool.strides[k] - pool.before[k]
        end = ops.Minimum(start + pool.windows[k], start.full(length + pool.before[k])).output
        if not count_padding:
            start = ops.Maximum(start, start.full(0)).output
            end = ops.Minimum(end, end.full(length)).output
        count = count * converted(end - start, count.dtype)
    return count


def _stays_inside(after: DimLike) -> bool:
    return isinstance(after, int) and after <= 0


@row("avg_pool2d_backward.default", "avg_pool3d_backward.default")
def average_pool_backward(result: Type, gradient: Value, x: Value, window: Ints, stride: Ints, padding: Ints,
                          ceil: bool, count_padding: bool, divisor: int | None) -> Value:
    spatial = len(window) if len(window) > 1 else 2
    pool = Pooled.of(x, gradient.type, spatial, window, stride, padding)
    wide = converted(gradient, gradient.dtype.compute)
    shares = wide / _counts(pool, wide, count_padding, divisor)
    padded = ops.Pad(ops.Full(0, wide.dtype, x.shape), pool.paddings, 0)
    view = ops.Windows(padded, pool.axes, pool.windows, pool.strides, pool.dilations)
    spread = ops.Broadcast(shares, view.output.shape, pool.positions).output
    added, = view.vjp(spread, padded.output)
    cut = [(-before, -after) for before, after in pool.paddings]
    return converted(ops.Pad(added, cut, 0).output, result.dtype)
