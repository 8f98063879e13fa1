"""Convolutions and their gradients as products of matrices, one side of which is read through windows.

The data lie in memory with zeros around them; a view shows each window's elements, and a contraction adds up their
products. Its points are numbered window position by window position, the channels of each in order; those of a filter's
gradient batch by batch, the places of each in order.

>>> import nervure as nv
>>> x, f = nv.Parameter(nv.float32, (8, 3, 32, 32)), nv.Parameter(nv.float32, (16, 3, 5, 5))
>>> slid = nv.ops.Convolution(x, f, paddings=[(2, 2), (2, 2)])
>>> for op in lower_convolutions(nv.Function([slid], [x, f])).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 3, 32, 32)
Parameter (16, 3, 5, 5)
Reshape (1, 16, 1, 3, 5, 5)
Permute (1, 16, 5, 5, 3, 1)
Pad (1, 16, 5, 5, 3, 1)
Pad (8, 3, 36, 36)
Reshape (8, 3, 1, 1296)
Reshape (8, 1, 3, 1, 1296)
IndexView (8, 1, 5, 5, 3, 32, 32)
Contract (8, 1, 16, 1, 32, 32)
Reshape (8, 16, 32, 32)

The rows of places lie a fixed step apart, so that kernels may go through the zeros between two of them, too: then long
stretches of memory are columns of one product (:mod:`nervure.kernel.schedule.products.lines`). Filters that fill
registers lie side by side for each point, in strips; products read them as columns then, and places as rows
(:mod:`nervure.kernel.schedule.products.turned`). Around short rows there need be no zeros
(:mod:`nervure.passes.places_first`). With strides, every phase of a stride has its own place in memory first. The
gradient for the data is a convolution of what came out, with the filters turned, one for each phase of the strides;
where dilations meet strides there are zeros in between, whose products with a filter that is not finite are NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from nervure.ir.function import Function
from nervure.ir.leaves import Full
from nervure.ir.op import Value
from nervure.ops.contraction import Contract
from nervure.ops.convolution import (
    Convolution,
    ConvolutionDataGradient,
    ConvolutionFilterGradient,
    ConvolutionForm,
    Geometry,
)
from nervure.ops.update import IndexView
from nervure.ops.views import Pad, Permute, Reshape, Reverse, Slice
from nervure.passes import channels_last, outer_lines, places_first
from nervure.passes.layouts import channels_stay_last
from nervure.passes.phases import Meeting, Steps, by_phases, steps_over
from nervure.passes.rearranged import by_group, in_memory, joined, padded
from nervure.passes.rewrite import Local, Rewriter
from nervure.types.dim import DimLike, product
from nervure.types.index_map import IndexMap, indices
from nervure.types.shape import Shape

Lengths = Sequence[DimLike]

STRIP, LEAST_POINTS = 64, 128
"""Filters of a strip that products read as columns: as many as the main tile has; and points that are worth it, since
results are transposed then.
"""


def lower_convolutions(function: Function) -> Function:
    """The function without convolutions."""
    if not any([isinstance(op, ConvolutionForm) for op in function.operations]):
        return function
    forms = _Forms(channels_last.chosen(function))
    return channels_stay_last(Rewriter("lower_convolutions", [
        Local("result", [Convolution], forms.of_result), Local("data", [ConvolutionDataGradient], forms.of_data),
        Local("filters", [ConvolutionFilterGradient], _of_filters)])(function))


class _Forms:
    """What results and gradients for data are made of. ``last`` are the leaves whose filters have their data with
    channels last.
    """

    def __init__(self, last: Collection[Value]) -> None:
        self._last = last

    def _is_last(self, f: Value) -> bool:
        """Whether data of these filters have their channels last."""
        return channels_last.leaf_of(f) in self._last

    def of_result(self, op: Convolution) -> Value:
        x, f = op.operands
        return self._convolved(x, f, op.geometry, op.outputs[0].shape[2:])

    def of_data(self, op: ConvolutionDataGradient) -> Value:
        """Filters that are turned go over what came out: for each phase of the strides the positions that meet a
        place.
        """
        r, f = op.operands
        if _is_apart(op):
            return self._unfolded(r, f, op)
        steps = steps_over(op.geometry, f.shape[2:])
        if steps is not None and any([stride != 1 for stride in op.strides]):
            return self._by_phases(r, f, op, steps)
        around = [(before, length + before - stride * places) for (before, _), length, stride, places
                  in zip(op.paddings, op.lengths, op.strides, r.shape[2:], strict=True)]
        return self._turned(_spread(r, op.strides), f, op.geometry, around, op.lengths)

    def _unfolded(self, r: Value, f: Value, op: ConvolutionDataGradient) -> Value:
        """Every place as a window: a product has the elements of all windows as rows, and each is put where it
        belongs.
        """
        if self._is_last(f):
            return channels_last.unfolded(r, f, op)
        rank = len(op.lengths)
        turned = by_group(f, op.groups, 0)
        turned = Permute(turned, (0, *range(2, turned.rank), 1)).output
        filters = Reshape(turned, (product(turned.shape[:-1]), turned.shape[-1], *[1] * rank)).output
        whole = self._convolved(r, filters, channels_last.single_positions(rank, op.groups), r.shape[2:])
        apart = Reshape(whole, (r.shape[0], op.groups * f.shape[1], *op.strides, *r.shape[2:])).output
        between = [axis for pair in zip(range(2 + rank, 2 + 2 * rank), range(2, 2 + rank), strict=True)
                   for axis in pair]
        return Reshape(Permute(apart, (0, 1, *between)), op.outputs[0].shape).output

    def _turned(self, r: Value, f: Value, geometry: Geometry, around: Sequence[tuple[DimLike, DimLike]],
                lengths: Lengths) -> Value:
        """What turned filters give of places a step of 1 apart; ``around`` are the lengths that data have before the
        first of them left out, and what they have more than these and the places.
        """
        turned = by_group(f, geometry.groups, 0)
        turned = Permute(turned, (0, 2, 1, *range(3, turned.rank))).output
        paddings = [((window - 1) * dilation - before, after) for (before, after), window, dilation
                    in zip(around, f.shape[2:], geometry.dilations, strict=True)]
        unit = Geometry((1,) * len(lengths), geometry.dilations, tuple(paddings), geometry.groups)
        return self._convolved(r, joined(turned, 0), unit, lengths, is_turned=True)

    def _by_phases(self, r: Value, f: Value, op: ConvolutionDataGradient, steps: Sequence[Steps]) -> Value:
        """The same for each phase of the strides, put between each other where channels lie."""
        part, shape = functools.partial(self._phase, r, f, op.geometry), op.outputs[0].shape
        if not self._is_last(f):
            return by_phases(shape, steps, part)

        def moved(last: Shape, meetings: Sequence[Meeting]) -> Value:
            n, *lengths, c = range(len(last))
            order = (n, c, *lengths)
            return channels_last.last(part(tuple([last[d] for d in order]), [meetings[d] for d in order]))

        n, c, *lengths = range(len(shape))
        order = (n, *lengths, c)
        return channels_last.first(by_phases(tuple([shape[d] for d in order]), [steps[d] for d in order], moved))

    def _phase(self, r: Value, f: Value, geometry: Geometry, shape: Shape, meetings: Sequence[Meeting]) -> Value:
        """What the elements of the data get that lie a stride apart from a first one."""
        if not all(meetings):
            return Full(0, r.dtype, shape).output
        counts, spatial = shape[2:], meetings[2:]
        slices = [(met[-1][0], len(met), stride) for met, stride in zip(spatial, geometry.strides, strict=True)]
        around = [(met[-1][1], count + met[-1][1] - places)
                  for met, count, places in zip(spatial, counts, r.shape[2:], strict=True)]
        own = Slice(f, [*[(0, length, 1) for length in f.shape[:2]], *slices]).output
        return self._turned(r, own, geometry, around, counts)

    def _convolved(self, x: Value, f: Value, geometry: Geometry, places: Lengths, is_turned: bool = False) -> Value:
        """The convolution of data (N, groups*C, lengths) with filters (groups*K, C, windows) at so many places. Filters
        that are turned lie in memory as they are: products read them from the last position of a window to the first.
        """
        if self._is_last(f):
            return channels_last.convolved(x, f, geometry, places, is_turned)
        windows, rank = f.shape[2:], 1 + len(places)
        seen = x, geometry, windows, places
        is_in_strips = _strip(f, geometry.groups) != 1
        if is_in_strips and places_first.is_worth(*seen):
            columns = places_first.in_columns(*seen)
        elif is_in_strips and outer_lines.are_worth(*seen):
            columns = outer_lines.in_columns(*seen)
        else:
            columns = _Stretches(*seen).in_columns()
        filters = _in_strips(f, geometry.groups)
        filters = Reverse(filters, range(2, 1 + rank)).output if is_turned else filters
        points, kept = range(3 + rank, 3 + 2 * rank), range(3 + rank)
        slid = Contract(filters, columns, (1, 2, *points, 3), (0, 1, *points, *kept[4:]), kept)
        return Reshape(slid, (x.shape[0], f.shape[0], *places)).output


def _is_apart(op: ConvolutionDataGradient) -> bool:
    """Whether windows lie side by side: each element of the data is in one of them."""
    r, f = op.operands
    return (any([stride != 1 for stride in op.strides]) and f.shape[2:] == op.strides
            and all([before == 0 for before, _ in op.paddings]) and all([dilation == 1 for dilation in op.dilations])
            and all([length == places * stride for length, places, stride
                     in zip(op.lengths, r.shape[2:], op.strides, strict=True)]))


def _of_filters(op: ConvolutionFilterGradient) -> Value:
    """Rows are the positions of a window and its channels, columns the filters, points the batch and places."""
    x, r = op.operands
    shape, groups = op.outputs[0].shape, op.groups
    if places_first.filters_are_worth(x, op.geometry, shape[2:], r.shape[2:]):
        seen = places_first.in_rows(x, op.geometry, shape[2:], r.shape[2:])
    else:
        seen = _Stretches(x, op.geometry, shape[2:], r.shape[2:]).in_rows()
    *rows, batch = range(seen.rank - len(op.strides))
    places, column = range(batch + 1, seen.rank), seen.rank
    total = Contract(seen, by_group(r, groups, 1), (*rows, batch, *places), (batch, 0, column, *places),
                     (*rows, column))
    whole = Reshape(total, (groups, *shape[1:], total.outputs[0].shape[-1])).output
    *rows, filter = range(1, whole.rank)
    return joined(Permute(whole, (0, filter, *rows)).output, 0)


def _strip(f: Value, groups: int) -> int:
    """How many filters lie side by side for each point: 1 where they do not fill registers so."""
    filters, points, windows = f.shape[0], product(f.shape[1:]), f.shape[2:]
    if not isinstance(filters, int) or all([length == 1 for length in windows]):
        return 1
    each = filters // groups
    if each < channels_last.LEAST_FILTERS or each % channels_last.FILTER_MULTIPLE:
        return 1
    if isinstance(points, int) and points < LEAST_POINTS:
        return 1
    return STRIP if each % STRIP == 0 else each


def _in_strips(f: Value, groups: int) -> Value:
    """Filters (groups, strips, windows, C, those of a strip), which lie in memory so."""
    strip, each = _strip(f, groups), f.shape[0] // groups
    apart = Reshape(f, (groups, each // strip, strip, *f.shape[1:]))
    strips = Permute(apart, (0, 1, *range(4, 2 + f.rank), 3, 2)).output
    is_so = strip == 1 and (all([length == 1 for length in f.shape[2:]]) or f.shape[1] == 1)
    return strips if is_so else in_memory(strips)


class _Stretches:
    """Padded data as windows show them.

    ``lengths`` are those of the data in memory, in places: from one row of places to the next it is as far as from one
    row of data to the next. In front of them come the phases of the strides.
    """

    def __init__(self, x: Value, geometry: Geometry, windows: Lengths, places: Lengths) -> None:
        self._windows, self._places = windows, places
        self._steps = list(zip(geometry.strides, geometry.dilations, windows, strict=True))
        self._phases = [1 if window == 1 else stride for stride, _, window in self._steps]
        reaches = [(window - 1) * dilation // stride for stride, dilation, window in self._steps]
        self.lengths = [place + reach for place, reach in zip(places, reaches, strict=True)]
        self._data = by_group(self._in_memory(x, geometry), geometry.groups, 1)

    def in_columns(self) -> Value:
        """(N, groups, window positions, C, places)."""
        batch, groups, channels = self._data.shape[:3]
        shape = (batch, groups, *self._windows, channels, *self._places)
        n, g, *rest = indices(len(shape))
        offsets, c, at = rest[:len(self._places)], rest[len(self._places)], rest[len(self._places) + 1:]
        return IndexView(self._data, IndexMap(shape, (n, g, c, *self._position(offsets, at)))).output

    def in_rows(self) -> Value:
        """(groups, C and window positions, N, places). The rows are one dimension where their number is known; of the
        places each dimension is one.
        """
        batch, groups, channels = self._data.shape[:3]
        apart = (channels, *self._windows)
        is_known = all([isinstance(length, int) and length > 0 for length in apart])
        rows = [product(apart)] if is_known else apart
        g, *rest = indices(2 + len(rows) + len(self._places))
        row, n, at = rest[:len(rows)], rest[len(rows)], rest[len(rows) + 1:]
        c, *offsets = _unravelled(row[0], apart) if is_known else row
        shape = (groups, *rows, batch, *self._places)
        return IndexView(self._data, IndexMap(shape, (n, g, c, *self._position(offsets, at)))).output

    def _position(self, offsets: Lengths, at: Lengths) -> tuple[DimLike, DimLike]:
        """The phase, and the position in memory, of a window position at a place."""
        phase: DimLike = 0
        place: DimLike = 0
        for d, (stride, dilation, _) in enumerate(self._steps):
            if self._phases[d] != 1:
                phase = phase * stride + offsets[d] * dilation % stride
            place = place * self.lengths[d] + at[d] + offsets[d] * dilation // stride
        return phase, place

    def _in_memory(self, x: Value, geometry: Geometry) -> Value:
        """The padded data (N, C, phases, lengths), with the elements of a phase, a stride apart, side by side."""
        around = [(before, length * stride - before - own) for (before, _), length, stride, own
                  in zip(geometry.paddings, self.lengths, geometry.strides, x.shape[2:], strict=True)]
        data = padded(x, [(0, 0), (0, 0), *around])
        if any([stride != 1 for stride in geometry.strides]):
            n, c, *rest = indices(2 + 2 * len(self.lengths))
            phases, places = rest[:len(self.lengths)], rest[len(self.lengths):]
            coordinates = [place * stride + phase for place, stride, phase
                           in zip(places, geometry.strides, phases, strict=True)]
            shape = (*x.shape[:2], *self._phases, *self.lengths)
            data = in_memory(IndexView(data, IndexMap(shape, (n, c, *coordinates))).output)
        return Reshape(data, (*x.shape[:2], product(self._phases), product(self.lengths))).output


def _unravelled(number: DimLike, lengths: Lengths) -> list[DimLike]:
    """The coordinates of the element of this number, in row-major order."""
    return [number // product(lengths[d + 1:]) % length for d, length in enumerate(lengths)]


def _spread(x: Value, strides: Sequence[int]) -> Value:
    """The data with zeros behind each of their elements, so that they are strides apart."""
    for axis, stride in enumerate(strides, 2):
        if stride != 1:
            apart = Reshape(x, (*x.shape[:axis + 1], 1, *x.shape[axis + 1:]))
            wide = Pad(apart, [(0, stride - 1 if d == axis + 1 else 0) for d in range(x.rank + 1)]).output
            x = Reshape(wide, (*x.shape[:axis], x.shape[axis] * stride, *x.shape[axis + 1:])).output
    return x
