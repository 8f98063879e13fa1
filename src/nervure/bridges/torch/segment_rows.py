"""Rows of reductions of segments: parts of an axis that follow each other, whose lengths or bounds are data.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x, lengths = Parameter(nv.float32, (9, 4)).output, Parameter(nv.int64, (3,)).output
>>> segment_reduce(x.type.with_(shape=(3, 4)), x, "sum", lengths, None, None, 0, False, None).shape
(3, 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure import ops
from nervure.bridges.torch.fitting import converted, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.scan_rows import running_sum
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike

_MODES = {"sum": "add", "mean": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


class AxisSegments(NamedTuple):
    """The segments of an axis of x: the number of that of each element, in the shape of x, and how many there are.

    An element outside of all segments has the number that follows, or one more if it is to be an error.
    """

    number: Value
    axis: int
    segments: DimLike
    sizes: Value

    @classmethod
    def of(cls, x: Value, axis: int, lengths: Value | None, bounds: Value | None, is_exact: bool) -> AxisSegments:
        """Reads segments that are given by their lengths, or by bounds, along the last axis of these tensors."""
        if lengths is not None:
            ends = running_sum(lengths.type.with_(dtype=types.int64), lengths, axis, None)
            starts = ends - converted(lengths, types.int64)
        elif bounds is not None:
            starts, ends = [converted(_part(bounds, first, bounds.shape[axis] - 1), types.int64) for first in (0, 1)]
        else:
            raise Unsupported("segments by the number of that of each element")
        count = starts.shape[axis]
        if 0 in (*x.shape, *starts.shape):
            raise Unsupported("segments of no elements, or no segments")
        shape = (*x.shape[:axis + 1], count)
        at = ops.Iota(shape, axis, types.int64).output
        is_behind = ops.LessEqual(ops.Broadcast(ends, shape, [axis]), at).output
        number = ops.Sum(converted(is_behind, types.int64), axes=[axis + 1]).output
        first = ops.Broadcast(_part(starts, 0, 1), (*shape[:axis + 1], 1), [axis]).output
        first = ops.Reshape(first, number.shape).output
        outside = number.full(0) + fitted(count, types.int64, number.shape)
        number = where(ops.Less(ops.Iota(number.shape, axis, types.int64), first), outside, number)
        if is_exact:
            number = where(ops.Equal(number, outside), outside + 1, number)
        further = range(axis + 1, x.rank)
        wide_sizes = ops.Broadcast(ends - starts, (*starts.shape, *x.shape[axis + 1:]), further).output
        return cls(ops.Broadcast(number, x.shape, further).output if further else number, axis, count,
                   wide_sizes)

    def combined(self, x: Value, start: object, mode: str) -> Value:
        """Returns the elements of each segment, and ``start``, combined."""
        shape = self.longer(x.shape)
        found = ops.ScatterElements(ops.Full(start, x.dtype, shape), self.number, x, axis=self.axis, mode=mode).output
        return ops.Slice(found, [(0, self.segments if d == self.axis else n, 1) for d, n in enumerate(shape)]).output

    def longer(self, shape: Sequence[DimLike]) -> tuple[DimLike, ...]:
        return (*shape[:self.axis], self.segments + 1, *shape[self.axis + 1:])

    def spread(self, x: Value, outside: object) -> Value:
        """Returns, for each element, that of its segment; another one for those outside."""
        rest = ops.Full(outside, x.dtype, [1 if d == self.axis else n for d, n in enumerate(x.shape)])
        return ops.GatherElements(ops.Concatenate(x, rest, axis=self.axis), self.number, self.axis).output


def _part(x: Value, first: int, count: DimLike) -> Value:
    """Returns some elements along the last axis."""
    return ops.Slice(x, [*[(0, n, 1) for n in x.shape[:-1]], (first, count, 1)]).output


def _start(reduce: str, x: Value, initial: object) -> object:
    low, high = x.dtype.extremes
    return {"sum": 0, "mean": 0, "prod": 1, "max": low, "min": high}[reduce] if initial is None else initial


@row("segment_reduce.default")
def segment_reduce(result: Type, x: Value, reduce: str, lengths: Value | None, numbers: Value | None,
                   bounds: Value | None, axis: int, is_unsafe: bool, initial: object) -> Value:
    if numbers is not None:
        raise Unsupported("segments by the number of that of each element")
    axis = axis % x.rank
    segments = AxisSegments.of(x, axis, lengths, bounds, is_exact=lengths is not None and not is_unsafe)
    wide = converted(x, x.dtype.compute)
    found = segments.combined(wide, _start(reduce, wide, initial), _MODES[reduce])
    if reduce == "mean":
        is_empty = ops.Equal(segments.sizes, segments.sizes.full(0)).output
        mean = found / converted(where(is_empty, 1, segments.sizes), found.dtype)
        found = mean if initial is not None else where(is_empty, float("nan"), mean)
    return converted(found, result.dtype)


@row("_segment_reduce_backward.default")
def segment_reduce_backward(result: Type, gradient: Value, reduced: Value, x: Value, reduce: str,
                            lengths: Value | None, bounds: Value | None, axis: int, initial: object) -> Value:
    segments = AxisSegments.of(x, axis % x.rank, lengths, bounds, is_exact=False)
    wide, gradient, reduced = [converted(each, x.dtype.compute) for each in (x, gradient, reduced)]
    if reduce == "mean":
        gradient = gradient / converted(ops.Maximum(segments.sizes, segments.sizes.full(1)).output, gradient.dtype)
    shares = segments.spread(gradient, 0)
    if reduce in ("max", "min"):
        is_found = ops.LogicalOr(ops.Equal(wide, segments.spread(reduced, 0)), ops.IsNan(wide)).output
        count = segments.spread(segments.combined(converted(is_found, wide.dtype), 0, "add"), 1)
        # PyTorch divides gradients above 0 alone among equal elements.
        divided = where(ops.Less(shares.full(0), shares), shares / ops.Maximum(count, count.full(1)), shares)
        shares = where(is_found, divided, 0)
    elif reduce == "prod":
        shares = shares * _product_of_others(segments, wide, reduced, _start(reduce, wide, initial))
    return converted(shares, result.dtype)


def _product_of_others(segments: AxisSegments, x: Value, reduced: Value, start: object) -> Value:
    """Returns the product of the other elements of the same segment, where a division by one may be none."""
    is_zero, is_nan = ops.Equal(x, x.full(0)).output, ops.IsNan(x).output
    is_plain = ops.LogicalNot(ops.LogicalOr(is_zero, is_nan)).output
    found = segments.spread(segments.combined(where(is_plain, x, 1), start, "multiply"), 1)
    for is_such, factor in ((is_zero, 0), (is_nan, float("nan"))):
        own = converted(is_such, x.dtype)
        others = segments.spread(segments.combined(own, 0, "add"), 0) - own
        found = where(ops.Less(others.full(0), others), found * factor, found)
    return where(is_plain, segments.spread(reduced, 0) / where(is_plain, x, 1), found)
