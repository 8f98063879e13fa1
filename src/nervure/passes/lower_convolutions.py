"""Convolutions and their gradients as products of matrices, one side of which is read through windows.

A view shows the elements that each window has of the data, and a contraction adds up their products. Its points are
numbered window position by window position, the channels of each in order; those of a filter's gradient batch by batch,
the places of each in order.

>>> import nervure as nv
>>> x, f = nv.Parameter(nv.float32, (8, 3, 32, 32)), nv.Parameter(nv.float32, (16, 3, 5, 5))
>>> slid = nv.ops.Convolution(x, f, paddings=[(2, 2), (2, 2)])
>>> lowered = lower_convolutions(nv.Function([slid], [x, f]))
>>> [op.outputs[0].shape for op in lowered.operations if isinstance(op, Contract)]
[(8, 1, 16, 1, 32, 32)]

In which order the data and the result of a convolution lie is decided first, for all of a function
(:func:`nervure.passes.channels_last.chosen`). With channels first, filters are rows and places are columns
(:mod:`nervure.passes.channels_first`); with channels last it is the other way round
(:mod:`nervure.passes.channels_last`).

The gradient for the data is a convolution of what came out, with the filters turned, one for each phase of the strides;
where dilations meet strides there are zeros in between, whose products with a filter that is not finite are NaN.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

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
from nervure.ops.update import FilledView
from nervure.ops.views import Pad, Permute, Reshape, Slice
from nervure.passes import channels_last, unpadded
from nervure.passes.channels_first import ChannelsFirst, Stretches
from nervure.passes.layouts import with_layouts
from nervure.passes.orders import Operands, Order, Ordered, moved
from nervure.passes.phases import Meeting, by_phases, steps_over
from nervure.passes.rearranged import by_group, joined
from nervure.support.machine import GENERIC, Machine
from nervure.types.dim import DimLike, product
from nervure.types.shape import Shape

T = TypeVar("T")


class ChannelOrder(Protocol):
    """The way to compute convolutions of data that lie in one order: the channels first, or last."""

    def order(self, rank: int) -> Order:
        """Returns the order of the dimensions of data (N, C, lengths)."""

    def convolved(self, x: Value, f: Value, geometry: Geometry, places: Sequence[DimLike], is_turned: bool) -> Value:
        """Returns the convolution of data ``x`` with filters ``f`` (groups*K, C, windows) at ``places`` along each
        length.

        Data and result lie in the order. The positions of a window count from the last one if ``is_turned``.
        """


def lower_convolutions(function: Function, machine: Machine = GENERIC) -> Function:
    """Returns the function without convolutions, and with ops made in the orders in which their operands lie.

    The products that it makes of them are those that suit a ``machine``.
    """
    forms = _Forms(channels_last.chosen(function, machine), machine)
    return with_layouts(function, {Convolution: forms.of_result, ConvolutionDataGradient: forms.of_data,
                                   ConvolutionFilterGradient: forms.of_filters})


class _Forms:
    """Lowers results and gradients. ``last`` has the leaves of filters whose data have channels last."""

    def __init__(self, last: Collection[Value], machine: Machine) -> None:
        self._last, self._machine = last, machine

    def of_result(self, op: Convolution, laid: Operands) -> Ordered:
        x, f = op.operands
        layout, order = self._layout(op, f)
        data = moved(x, laid[0], order)
        return Ordered(layout.convolved(data, f, op.geometry, op.outputs[0].shape[2:], False), order)

    def of_data(self, op: ConvolutionDataGradient, laid: Operands) -> Ordered:
        r, f = op.operands
        layout, order = self._layout(op, f)
        return Ordered(_DataGradient(layout, order, moved(r, laid[0], order), f, op).value, order)

    def of_filters(self, op: ConvolutionFilterGradient, laid: Operands) -> Value:
        """Rows are the positions of a window and its channels, columns the filters, points the batch and places."""
        x, r = op.operands
        shape, groups = op.outputs[0].shape, op.groups
        if unpadded.are_worth_rows(x, op.geometry, shape[2:], r.shape[2:], self._machine):
            seen = FilledView(x, unpadded.windows_of(x, op.geometry, shape[2:], r.shape[2:], arranged="gcwnp")).output
        else:
            seen = Stretches(x, op.geometry, shape[2:], r.shape[2:]).in_rows()
        *rows, batch = range(seen.rank - len(op.strides))
        places, column = range(batch + 1, seen.rank), seen.rank
        total = Contract(seen, by_group(r, groups, 1), (*rows, batch, *places), (batch, 0, column, *places),
                         (*rows, column))
        whole = Reshape(total, (groups, *shape[1:], total.outputs[0].shape[-1])).output
        *rows, filter = range(1, whole.rank)
        return joined(Permute(whole, (0, filter, *rows)).output, 0)

    def _layout(self, op: ConvolutionForm, f: Value) -> tuple[ChannelOrder, Order]:
        layout: ChannelOrder = channels_last if channels_last.leaf_of(f) in self._last else ChannelsFirst(self._machine)
        return layout, layout.order(op.outputs[0].rank)


class _DataGradient(NamedTuple):
    """The gradient for data: a convolution of ``r``, which lies in the ``order`` of a layout, with flipped filters.

    With strides there is one for each phase of them, of the positions of a window that meet an element of the data.
    """

    layout: ChannelOrder
    order: Order
    r: Value
    f: Value
    op: ConvolutionDataGradient

    @property
    def value(self) -> Value:
        """The gradient, in the order."""
        op, places = self.op, self._lengths(self.r.shape)
        if _is_unfolded(op):
            return self._unfolded()
        steps = steps_over(op.geometry, self.f.shape[2:])
        if steps is not None and any([stride != 1 for stride in op.strides]):
            shape = tuple([op.outputs[0].shape[own] for own in self.order])
            return by_phases(shape, [steps[own] for own in self.order], self._phase)
        around = [(before, length + before - stride * count) for (before, _), length, stride, count
                  in zip(op.paddings, op.lengths, op.strides, places, strict=True)]
        spread = _spread(self.r, dict(zip(self._lengths(range(self.r.rank)), op.strides, strict=True)))
        return self._turned(spread, self.f, around, op.lengths)

    def _lengths(self, entries: Sequence[T]) -> list[T]:
        """Returns the entries of the lengths, where there is an entry for each dimension of the order."""
        return [entry for entry, own in zip(entries, self.order, strict=True) if own >= 2]

    def _turned(self, r: Value, f: Value, around: Sequence[tuple[DimLike, DimLike]],
                lengths: Sequence[DimLike]) -> Value:
        """Returns the convolution of ``r`` with flipped filters ``f``, with a step of 1, at ``lengths`` elements.

        Each length of the data begins as many elements before the first place as the first of its pair in ``around``
        says; the second says how many elements it has beyond these and the places.
        """
        geometry = self.op.geometry
        turned = by_group(f, geometry.groups, 0)
        turned = Permute(turned, (0, 2, 1, *range(3, turned.rank))).output
        paddings = [((window - 1) * dilation - before, after) for (before, after), window, dilation
                    in zip(around, f.shape[2:], geometry.dilations, strict=True)]
        unit = Geometry((1,) * len(lengths), geometry.dilations, tuple(paddings), geometry.groups)
        return self.layout.convolved(r, joined(turned, 0), unit, lengths, True)

    def _unfolded(self) -> Value:
        """Returns the gradient where windows lie side by side: one product, whose filters are the elements of a window.
        """
        op, places, rank = self.op, self._lengths(self.r.shape), self.r.rank
        # The elements of a window lie in the order, too: the results of the product at each place have dimension 1 as
        # groups, and the others of an element as ``rank`` + 1, ...
        window = [own for own in self.order if own != 0]
        turned = Permute(by_group(self.f, op.groups, 0), (0, *[own + 1 for own in window], 1)).output
        single = Geometry((1,) * len(places), (1,) * len(places), ((0, 0),) * len(places), op.groups)
        filters = Reshape(turned, (product(turned.shape[:-1]), turned.shape[-1], *single.strides)).output
        whole = self.layout.convolved(self.r, filters, single, places, False)
        dims, shape = list[int](), list[DimLike]()
        for own, length in zip(self.order, self.r.shape, strict=True):
            dims += [1, *[rank + entry for entry in window]] if own == 1 else [own]
            shape += turned.shape[:-1] if own == 1 else [length]
        beside = [dims.index(d) for own in self.order for d in (own, rank + own) if d in dims]
        result = tuple([op.outputs[0].shape[own] for own in self.order])
        return Reshape(Permute(Reshape(whole, shape), beside), result).output

    def _phase(self, shape: Shape, meetings: Sequence[Meeting]) -> Value:
        """Returns the gradient of those elements of the data that lie a stride apart."""
        if not all(meetings):
            return Full(0, self.r.dtype, shape).output
        counts, met, places = self._lengths(shape), self._lengths(meetings), self._lengths(self.r.shape)
        slices = [(entry[-1][0], len(entry), stride) for entry, stride in zip(met, self.op.strides, strict=True)]
        around = [(entry[-1][1], count + entry[-1][1] - length)
                  for entry, count, length in zip(met, counts, places, strict=True)]
        own = Slice(self.f, [*[(0, length, 1) for length in self.f.shape[:2]], *slices]).output
        return self._turned(self.r, own, around, counts)


def _is_unfolded(op: ConvolutionDataGradient) -> bool:
    """Whether windows lie side by side: each element of the data is in one of them."""
    r, f = op.operands
    return (any([stride != 1 for stride in op.strides]) and f.shape[2:] == op.strides
            and all([before == 0 for before, _ in op.paddings]) and all([dilation == 1 for dilation in op.dilations])
            and all([length == places * stride for length, places, stride
                     in zip(op.lengths, r.shape[2:], op.strides, strict=True)]))


def _spread(x: Value, strides: Mapping[int, int]) -> Value:
    """Returns the data with zeros behind each of their elements along some axes, so that they are strides apart."""
    for axis, stride in strides.items():
        if stride != 1:
            apart = Reshape(x, (*x.shape[:axis + 1], 1, *x.shape[axis + 1:]))
            wide = Pad(apart, [(0, stride - 1 if d == axis + 1 else 0) for d in range(x.rank + 1)]).output
            x = Reshape(wide, (*x.shape[:axis], x.shape[axis] * stride, *x.shape[axis + 1:])).output
    return x
