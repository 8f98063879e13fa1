"""Convolutions whose data lie in memory with the channels in front of the lengths, as they are given.

Filters are the rows of a product, places its columns. The data lie in memory with zeros around them; a view shows each
window's elements. The rows of places lie a fixed step apart, so that kernels may go through the zeros between two of
them, too: then long stretches of memory are columns of one product (:mod:`nervure.kernel.schedule.products.lines`).

>>> import nervure as nv
>>> from nervure.support.machine import GENERIC
>>> x, f = nv.Parameter(nv.float32, (8, 3, 32, 32)), nv.Parameter(nv.float32, (16, 3, 5, 5))
>>> geometry = Geometry((1, 1), (1, 1), ((2, 2), (2, 2)), 1)
>>> slid = ChannelsFirst(GENERIC).convolved(x.value, f.value, geometry, (32, 32))
>>> for op in nv.Function([slid], [x, f]).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 3, 32, 32)
Parameter (16, 3, 5, 5)
Reshape (1, 16, 1, 3, 5, 5)
Permute (1, 16, 5, 5, 3, 1)
Contiguous (1, 16, 5, 5, 3, 1)
Pad (8, 3, 36, 36)
Reshape (8, 3, 1, 1296)
Reshape (8, 1, 3, 1, 1296)
IndexView (8, 1, 5, 5, 3, 32, 32)
Contract (8, 1, 16, 1, 32, 32)
Reshape (8, 16, 32, 32)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.ir.op import Value
from nervure.ops.contraction import Contract
from nervure.ops.convolution import Geometry
from nervure.ops.update import FilledView, IndexView
from nervure.ops.views import Contiguous, Permute, Reshape, Reverse
from nervure.passes import unpadded
from nervure.passes.orders import Order
from nervure.passes.rearranged import by_group, in_memory, padded
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, product
from nervure.types.index_map import IndexMap, indices

Lengths = Sequence[DimLike]

class ChannelsFirst(NamedTuple):
    """Computes convolutions of data with the channels in front, on a machine."""

    machine: Machine

    def order(self, rank: int) -> Order:
        """Returns the order of the dimensions of data (N, C, lengths)."""
        return tuple(range(rank))

    def convolved(self, x: Value, f: Value, geometry: Geometry, places: Lengths, is_turned: bool = False) -> Value:
        """Returns the convolution of data (N, groups*C, lengths) with filters (groups*K, C, windows) at ``places``
        along each length.

        Filters that are turned lie in memory as they are: products read them from the last position of a window to
        the first.
        """
        windows, rank = f.shape[2:], 1 + len(places)
        seen = geometry, windows, places
        is_in_strips = self._strip(f, geometry.groups) != 1
        if is_in_strips and unpadded.are_known(x.dtype, x.shape[2:], *seen):
            columns = FilledView(x, unpadded.windows_of(x, *seen, arranged="ngwcp")).output
        else:
            columns = Stretches(x, *seen).in_columns()
        filters = self._in_strips(f, geometry.groups)
        filters = Reverse(filters, range(2, 1 + rank)).output if is_turned else filters
        points, kept = range(3 + rank, 3 + 2 * rank), range(3 + rank)
        slid = Contract(filters, columns, (1, 2, *points, 3), (0, 1, *points, *kept[4:]), kept)
        return Reshape(slid, (x.shape[0], f.shape[0], *places)).output

    def _strip(self, f: Value, groups: int) -> int:
        """Returns the number of filters that lie side by side for each point; 1 where these would not fill registers.

        Products read them as columns then, and results are transposed.
        """
        machine, tuning = self.machine, self.machine.products
        filters, points, windows = f.shape[0], product(f.shape[1:]), f.shape[2:]
        if not isinstance(filters, int) or all([length == 1 for length in windows]):
            return 1
        each = filters // groups
        if each < tuning.least_channels or each % machine.line_elements:
            return 1
        if isinstance(points, int) and points < tuning.transposed_points:
            return 1
        return machine.strip_columns if each % machine.strip_columns == 0 else each

    def _in_strips(self, f: Value, groups: int) -> Value:
        """Returns filters as (groups, strips, windows, C, filters of a strip), in this order in memory."""
        strip, each = self._strip(f, groups), f.shape[0] // groups
        apart = Reshape(f, (groups, each // strip, strip, *f.shape[1:]))
        strips = Permute(apart, (0, 1, *range(4, 2 + f.rank), 3, 2)).output
        lies_so = strip == 1 and (all([length == 1 for length in f.shape[2:]]) or f.shape[1] == 1)
        return strips if lies_so else in_memory(strips)


class Stretches:
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
        """Returns the data as (N, groups, window positions, C, places)."""
        batch, groups, channels = self._data.shape[:3]
        shape = (batch, groups, *self._windows, channels, *self._places)
        n, g, *rest = indices(len(shape))
        offsets, c, at = rest[:len(self._places)], rest[len(self._places)], rest[len(self._places) + 1:]
        return IndexView(self._data, IndexMap(shape, (n, g, c, *self._position(offsets, at)))).output

    def in_rows(self) -> Value:
        """Returns the data as (groups, C and window positions, N, places).

        The rows are one dimension where their number is known; of the places each dimension is one.
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
        """Returns the phase, and the position in memory, of a window position at a place."""
        phase: DimLike = 0
        place: DimLike = 0
        for d, (stride, dilation, _) in enumerate(self._steps):
            if self._phases[d] != 1:
                phase = phase * stride + offsets[d] * dilation % stride
            place = place * self.lengths[d] + at[d] + offsets[d] * dilation // stride
        return phase, place

    def _in_memory(self, x: Value, geometry: Geometry) -> Value:
        """Returns the padded data (N, C, phases, lengths), with the elements of a phase, a stride apart, side by side.
        """
        around = [(before, length * stride - before - own) for (before, _), length, stride, own
                  in zip(geometry.paddings, self.lengths, geometry.strides, x.shape[2:], strict=True)]
        if all([stride == 1 for stride in geometry.strides]):
            data = padded(x, [(0, 0), (0, 0), *around])
        else:
            n, c, *rest = indices(2 + 2 * len(self.lengths))
            phases, places = rest[:len(self.lengths)], rest[len(self.lengths):]
            coordinates = [place * stride + phase - before for place, stride, phase, (before, _)
                           in zip(places, geometry.strides, phases, around, strict=True)]
            shape = (*x.shape[:2], *self._phases, *self.lengths)
            data = Contiguous(FilledView(x, IndexMap(shape, (n, c, *coordinates))).output).output
        return Reshape(data, (*x.shape[:2], product(self._phases), product(self.lengths))).output


def _unravelled(number: DimLike, lengths: Lengths) -> list[DimLike]:
    """Returns the coordinates of the element of this number, in row-major order."""
    return [number // product(lengths[d + 1:]) % length for d, length in enumerate(lengths)]


