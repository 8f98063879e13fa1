"""Convolutions with filters of their own for each element of a batch of unknown length, as products over windows.

Where the length is a number, such a convolution has that many groups. Else data are read through their windows:

>>> import nervure as nv
>>> length = nv.dim("L")
>>> images, filters = nv.Parameter(nv.float32, (length, 8, 3, 32)), nv.Parameter(nv.float32, (length, 16, 3, 5))
>>> shapes = (8, 3, 32), (16, 3, 5), (8, 16, 28)
>>> result_of_each(WindowProduct(shapes, (1,), (1,), ((0, 0),), 1), images.output, filters.output)
f32[L, 8, 16, 28] Reshape(Contract)
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.ir.op import Value
from nervure.ops.contraction import Contract
from nervure.ops.update import AccumulateView, IndexView
from nervure.ops.views import Pad, Reshape
from nervure.types.dim import DimLike, index
from nervure.types.index_map import IndexMap, indices

Shape = tuple[DimLike, ...]

_BATCH, _IMAGE, _GROUP, _FILTER, _CHANNEL, _FIRST = range(6)
"""The numbers of the indices of the products; places and positions of windows follow."""


class WindowProduct(NamedTuple):
    """The trilinear form of a convolution for each element: the shapes of data, filters and result of one element, and
    the motion of the filter.
    """

    shapes: tuple[Shape, Shape, Shape]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    paddings: tuple[tuple[DimLike, DimLike], ...]
    groups: int

    @property
    def places(self) -> tuple[int, ...]:
        """The numbers of the indices of places."""
        return tuple(range(_FIRST, _FIRST + len(self.strides)))

    @property
    def positions(self) -> tuple[int, ...]:
        """The numbers of the indices of positions in a window."""
        return tuple(range(_FIRST + len(self.strides), _FIRST + 2 * len(self.strides)))

    @property
    def of_data(self) -> tuple[int, ...]:
        """The indices of data as they are seen through windows."""
        return _BATCH, _IMAGE, _GROUP, _CHANNEL, *self.places, *self.positions

    @property
    def of_filters(self) -> tuple[int, ...]:
        """The indices of filters."""
        return _BATCH, _GROUP, _FILTER, _CHANNEL, *self.positions

    @property
    def of_result(self) -> tuple[int, ...]:
        """The indices of the result."""
        return _BATCH, _IMAGE, _GROUP, _FILTER, *self.places

    @property
    def around(self) -> tuple[tuple[DimLike, DimLike], ...]:
        """The padding of all dimensions of the data of all elements."""
        return ((0, 0),) * 3 + self.paddings

    def split(self, x: Value, at: int) -> Value:
        """Splits a dimension into groups and what is in each."""
        return Reshape(x, (*x.shape[:at], self.groups, x.shape[at] // self.groups, *x.shape[at + 1:])).output

    def windows(self, length: DimLike) -> IndexMap:
        """Returns the map from places and positions to padded data in groups, for a batch of this ``length``."""
        data, filters, result = self.shapes
        shape = (length, data[0], self.groups, filters[1], *result[2:], *filters[2:])
        spatial = len(self.strides)
        moving = [index(4 + d) * self.strides[d] + index(4 + spatial + d) * self.dilations[d] for d in range(spatial)]
        return IndexMap(shape, (*indices(4), *moving))

    def seen(self, data: Value) -> Value:
        """Returns data of all elements through their windows."""
        padded = self.split(Pad(data, self.around).output, 2)
        return IndexView(padded, self.windows(data.shape[0])).output


def result_of_each(form: WindowProduct, data: Value, filters: Value) -> Value:
    """Returns the result of each element, from ``data`` and ``filters``."""
    product = Contract(form.seen(data), form.split(filters, 1), form.of_data, form.of_filters, form.of_result)
    return Reshape(product, (data.shape[0], *form.shapes[2])).output


def filters_of_each(form: WindowProduct, data: Value, result: Value) -> Value:
    """Returns the gradient for the filters of each element, from ``data`` and ``result``."""
    product = Contract(form.seen(data), form.split(result, 2), form.of_data, form.of_result, form.of_filters)
    return Reshape(product, (data.shape[0], *form.shapes[1])).output


def data_of_each(form: WindowProduct, result: Value, filters: Value) -> Value:
    """Returns the gradient for the data of each element, from ``result`` and ``filters``: what windows show adds up."""
    length, (batch, channels, *lengths) = result.shape[0], form.shapes[0]
    product = Contract(form.split(result, 2), form.split(filters, 1), form.of_result, form.of_filters, form.of_data)
    padded = [extent + before + after for extent, (before, after) in zip(lengths, form.paddings, strict=True)]
    inner = channels // form.groups
    total = AccumulateView(product, form.windows(length), (length, batch, form.groups, inner, *padded))
    whole = Reshape(total, (length, batch, channels, *padded))
    return Pad(whole, [(-before, -after) for before, after in form.around]).output
