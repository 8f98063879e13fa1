"""Rows of pooling over parts of axes: as many as the result has elements, which may overlap, or at drawn places.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.float32, (1, 3, 6, 5)).output
>>> adaptive_average_pool(Parameter(nv.float32, (1, 3, 2, 5)).type, x, [2, 5])
f32[1, 3, 2, 5] Mean(Reshape)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from nervure import ops
from nervure.bridges.torch.fitting import converted, expanded
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.bridges.torch.window_rows import added_to_largest, max_pool
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, product

Pair = tuple[Type, Type]

@row("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default")
def adaptive_average_pool(result: Type, x: Value, size: Sequence[DimLike]) -> Value:
    wide = converted(x, x.dtype.compute)
    spatial = len(size)
    if _is_divided(x.shape[-spatial:], result.shape[-spatial:]):
        split, axes = _divided(x.shape, result.shape, spatial)
        return converted(ops.Mean(ops.Reshape(wide, split), axes=axes).output, result.dtype)
    for axis in range(x.rank - spatial, x.rank):
        parts = _Parts.of(x.shape[axis], result.shape[axis])
        sums = parts.sums(wide, axis)
        wide = sums / parts.counts_like(sums, axis)
    return converted(wide, result.dtype)


def _average_backward(spatial: int) -> Callable[..., Value]:
    return lambda result, gradient, x: adaptive_average_pool_backward(result, gradient, x, spatial)


def adaptive_average_pool_backward(result: Type, gradient: Value, x: Value, spatial: int) -> Value:
    wide = converted(gradient, x.dtype.compute)
    if _is_divided(x.shape[-spatial:], gradient.shape[-spatial:]):
        split, axes = _divided(x.shape, gradient.shape, spatial)
        count = prod([length for d, length in enumerate(split) if d in axes and isinstance(length, int)])
        return converted(ops.Reshape(ops.Broadcast(wide / count, split, axes), x.shape).output, result.dtype)
    for axis in range(x.rank - spatial, x.rank):
        parts = _Parts.of(x.shape[axis], gradient.shape[axis])
        shares = wide / parts.counts_like(wide, axis)
        wide = _Parts.of(gradient.shape[axis], x.shape[axis]).sums(shares, axis)
    return converted(wide, result.dtype)


@row("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(result: Pair, x: Value, size: Sequence[DimLike]) -> tuple[Value, Value]:
    lengths, parts = [_known(shape[-len(size):]) for shape in (x.shape, result[0].shape)]
    if _is_divided(lengths, parts):
        windows = [length // part for length, part in zip(lengths, parts, strict=True)]
        return max_pool(result, x, windows, windows, [0], [1], False)
    known = [_Parts.of(length, count) for length, count in zip(lengths, parts, strict=True)]
    along = [ops.Constant(np.minimum(part.positions, part.ends[:, None] - 1)).output for part in known]
    return _largest(result, x, _in_row_major(along, lengths), len(size))


def _largest_backward(spatial: int) -> Callable[..., Value]:
    return lambda result, gradient, x, *settings: added_to_largest(gradient, x, settings[-1], spatial)


@row("fractional_max_pool2d.default", "fractional_max_pool3d.default")
def fractional_max_pool(result: Pair, x: Value, window: Sequence[int], size: Sequence[int],
                        samples: Value) -> tuple[Value, Value]:
    spatial = len(size)
    if x.dtype not in (types.float32, types.float64):
        raise Unsupported(f"windows at drawn places of {x.type}")
    outer, lengths, along = x.shape[:-spatial], _known(x.shape[-spatial:]), []
    for k, length in enumerate(lengths):
        number = spatial - 1 - k if spatial == 2 else k  # PyTorch draws that of columns first in images alone
        sample = ops.Reshape(ops.Slice(samples, [(0, n, 1) for n in samples.shape[:-1]] + [(number, 1, 1)]), outer)
        starts = _drawn_starts(sample.output, length, size[k], window[k])
        shape = (*starts.shape, window[k])
        along.append(ops.Broadcast(starts, shape, [len(shape) - 1]) + ops.Iota(shape, len(shape) - 1, types.int64))
    return _largest(result, x, _in_row_major(along, lengths), spatial)


def _drawn_starts(sample: Value, length: int, count: int, window: int) -> Value:
    """Returns where windows of an axis start, in steps that a number from 0 to 1 shifts; the last one is at the end."""
    shape = (*sample.shape, count)
    number = ops.Iota(shape, len(shape) - 1, types.int64).output
    step = (sample.dtype.numpy.type(length - window) / sample.dtype.numpy.type(max(count - 1, 1))).item()
    shift = ops.Broadcast(sample, shape, [len(shape) - 1]).output
    first, at = [converted(ops.Floor(place * step).output, types.int64)
                 for place in (shift, converted(number, sample.dtype) + shift)]
    return where(ops.Equal(number, number.full(count - 1)), length - window, at - first)


def _in_row_major(along: Sequence[Value], lengths: Sequence[int]) -> Value:
    """Returns places among the elements of axes of these lengths, as one, for each part and each of its elements.

    For each axis there are the positions, by parts and their elements, in the last two dimensions of a tensor.
    """
    outer, count = along[0].shape[:-2], len(along)
    whole = [at.shape[which] for which in (-2, -1) for at in along]
    place = ops.Full(0, types.int64, (*outer, *whole)).output
    for k, (at, length) in enumerate(zip(along, lengths, strict=True)):
        shape: list[DimLike] = [1] * len(whole)
        shape[k], shape[count + k] = at.shape[-2:]
        place = place * length + expanded(ops.Reshape(at, (*outer, *shape)).output, place.shape)
    return ops.Reshape(place, (*outer, product(whole[:count]), product(whole[count:]))).output


def _largest(result: Pair, x: Value, places: Value, spatial: int) -> tuple[Value, Value]:
    """Returns the largest element of each part, and where it is; the same places for all images, or own ones."""
    outer = x.shape[:-spatial]
    flat = ops.Reshape(x, (*outer, product(x.shape[-spatial:]))).output
    if places.rank == 2:
        shown = ops.Gather(flat, places, len(outer)).output
        places = ops.Broadcast(places, shown.shape, range(len(outer))).output
    else:
        single = ops.Reshape(places, (*outer, product(places.shape[-2:])))
        shown = ops.Reshape(ops.GatherElements(flat, single, len(outer)), places.shape).output
    last = shown.rank - 1
    number = ops.Reshape(ops.ArgMax(shown, axes=[last]), (*shown.shape[:last], 1))
    found = ops.Max(shown, axes=[last]), ops.GatherElements(places, number, last)
    return ops.Reshape(found[0], result[0].shape).output, ops.Reshape(found[1], result[1].shape).output


for _spatial in (2, 3):
    row(f"_adaptive_avg_pool{_spatial}d_backward.default")(_average_backward(_spatial))
    for _kind in ("adaptive", "fractional"):
        row(f"{_kind}_max_pool{_spatial}d_backward.default")(_largest_backward(_spatial))


class _Parts(NamedTuple):
    """Parts of an axis, which may overlap: part k of n elements is from floor(k*n/parts) to ceil((k + 1)*n/parts).

    The parts that have element i are those from floor(i*parts/n) to ceil((i + 1)*parts/n): the same rule, by which
    gradients are sums over parts, too.
    """

    length: int
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, length: DimLike, parts: DimLike) -> _Parts:
        length, parts = _known([length, parts])
        place = np.arange(parts)
        return cls(length, place * length // parts, -((place + 1) * -length // parts))

    @property
    def positions(self) -> np.ndarray:
        """The positions of the elements of each part, as many as the longest has, and further ones behind."""
        return self.starts[:, None] + np.arange(max(int((self.ends - self.starts).max(initial=0)), 1))

    def sums(self, x: Value, axis: int) -> Value:
        """Returns the sums of the parts of an axis of x."""
        positions = self.positions
        shown = ops.Gather(x, ops.Constant(np.minimum(positions, self.length - 1)), axis).output
        others = [d for d in range(shown.rank) if d not in (axis, axis + 1)]
        inside = ops.Broadcast(ops.Constant(positions < self.ends[:, None]), shown.shape, others)
        return ops.Sum(ops.Where(inside, shown, shown.full(0)), axes=[axis + 1]).output

    def counts_like(self, x: Value, axis: int) -> Value:
        """Returns the lengths of the parts as a tensor like x, whose axis counts the parts."""
        counts = ops.Constant((self.ends - self.starts).astype(x.dtype.numpy))
        return ops.Broadcast(counts, x.shape, [d for d in range(x.rank) if d != axis]).output


def _known(lengths: Sequence[DimLike]) -> list[int]:
    found = [length for length in lengths if isinstance(length, int)]
    if len(found) < len(lengths):
        raise Unsupported("parts of an axis of unknown length")
    return found


def _is_divided(lengths: Sequence[DimLike], parts: Sequence[DimLike]) -> bool:
    """Whether each length is known, and a multiple of its number of parts."""
    return all([isinstance(length, int) and isinstance(part, int) and part > 0 and length % part == 0
                for length, part in zip(lengths, parts, strict=True)])


def _divided(shape: Sequence[DimLike], result: Sequence[DimLike], spatial: int) -> tuple[list[DimLike], list[int]]:
    """Returns the shape with each of the last dimensions cut into equal parts, and the dimensions of the parts."""
    split, axes = list(shape[:-spatial]), []
    for length, parts in zip(shape[-spatial:], result[-spatial:], strict=True):
        if not _is_divided([length], [parts]):
            raise Unsupported(f"{length} elements in {parts} parts that overlap")
        split.extend([parts, length // parts])
        axes.append(len(split) - 1)
    return split, axes
