"""Data of convolutions without zeros around them, where a good part of all products would be with zeros.

Of a window of three places over rows of four those are 17 % along each length. If windows see the data through a view
that is 0 outside of them, nobody stores these zeros, and kernels leave their products out. Of results and of gradients
for data the images are rows of a product at each place (:mod:`nervure.kernel.schedule.products.edges`): there data lie
place by place, those of all images, channels side by side. Of gradients for filters channels are rows, at each position
of the window (:mod:`nervure.kernel.schedule.products.live_points`), and data are read where they lie: there longer rows
are worth it, too.

>>> import nervure as nv
>>> from nervure.ops.convolution import Geometry
>>> x = nv.Parameter(nv.float32, (32, 512, 4, 4))
>>> geometry = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1)
>>> round(share_left_out(geometry, (3, 3), (4, 4), (4, 4)), 3)
0.306
>>> in_columns(x, geometry, (3, 3), (4, 4))
f32[32, 1, 3, 3, 512, 4, 4] FilledView(Pad)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeGuard

from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
from nervure.ops.update import FilledView
from nervure.ops.views import Permute
from nervure.passes.rearranged import in_memory
from nervure.types.dim import DimLike
from nervure.types.dtype import float32, float64
from nervure.types.index_map import IndexMap, indices

IMAGES, MOST_PLACES, CHANNELS, LEAST_SHARE = 8, 64, 256, 0.05
"""Images that fill a register tile; places whose results for so many images stay in the cache; the channels that are
half a block of points; and the share of the products that has to be left out to make up for the change of order.
"""

LEAST_ROWS, LEAST_FILTERS_SHARE = 48, 0.02
"""Of gradients for filters: channels that are rows of a product at a position of the window; and the share of the
products that has to be left out to make up for tables of each position.
"""


def is_worth(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> bool:
    """Whether data (N, C, lengths) are better seen so: all sizes are known, and many products are with zeros."""
    images, channels, *lengths = x.shape
    paddings = [entry for pair in geometry.paddings for entry in pair]
    if x.dtype not in (float32, float64) or not isinstance(channels, int) or not isinstance(images, int):
        return False
    if not (are_known(windows) and are_known(places) and are_known(lengths) and are_known(paddings)):
        return False
    each = channels // geometry.groups
    is_whole = images > 0 and images % IMAGES == 0 and (each == CHANNELS or each > 0 and each % (2 * CHANNELS) == 0)
    return (is_whole and min(places) > 1 and prod(places) <= MOST_PLACES and min(windows) > 1
            and share_left_out(geometry, windows, places, lengths) >= LEAST_SHARE)


def share_left_out(geometry: Geometry, windows: Sequence[int], places: Sequence[int], lengths: Sequence[int]) -> float:
    """The share of the products of a convolution that are with zeros around data of these lengths."""
    inside = 1.0
    for stride, dilation, (before, _), window, count, length in zip(
            geometry.strides, geometry.dilations, geometry.paddings, windows, places, lengths, strict=True):
        seen = [place * stride + offset * dilation - before for place in range(count) for offset in range(window)]
        inside *= sum([0 <= position < length for position in seen]) / len(seen)
    return 1 - inside


def in_columns(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """What windows see of data (N, groups*C, lengths), as (N, groups, window positions, C, places)."""
    rank, each = len(places), x.shape[1] // geometry.groups
    data = in_memory(Permute(x, (*range(2, 2 + rank), 0, 1)).output)
    shape = (x.shape[0], geometry.groups, *windows, each, *places)
    n, group, *rest = indices(len(shape))
    offsets, c, at = rest[:rank], rest[rank], rest[rank + 1:]
    return FilledView(data, IndexMap(shape, (*positions(geometry, at, offsets), n, group * each + c))).output


def filters_are_worth(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> bool:
    """Whether the gradient for filters is better computed of what windows see of the data themselves: all sizes but the
    number of images are known, and many products are with zeros.
    """
    lengths, paddings = x.shape[2:], [entry for pair in geometry.paddings for entry in pair]
    if x.dtype not in (float32, float64) or not isinstance(x.shape[1], int):
        return False
    if not (are_known(windows) and are_known(places) and are_known(lengths) and are_known(paddings)):
        return False
    is_whole = min(places) > 1 and min(windows) > 1 and x.shape[1] >= LEAST_ROWS * geometry.groups
    return is_whole and share_left_out(geometry, windows, places, lengths) >= LEAST_FILTERS_SHARE


def in_rows(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """What windows see of data (N, groups*C, lengths), as (groups, C, window positions, N, places)."""
    rank, each = len(places), x.shape[1] // geometry.groups
    shape = (geometry.groups, each, *windows, x.shape[0], *places)
    group, c, *rest = indices(len(shape))
    offsets, n, at = rest[:rank], rest[rank], rest[rank + 1:]
    return FilledView(x, IndexMap(shape, (n, group * each + c, *positions(geometry, at, offsets)))).output


def positions(geometry: Geometry, at: Sequence[DimLike], offsets: Sequence[DimLike]) -> list[DimLike]:
    """Where windows see the data, at a place and a position."""
    return [geometry.position(d, place, offset) for d, (place, offset) in enumerate(zip(at, offsets, strict=True))]


def are_known(lengths: Sequence[DimLike]) -> TypeGuard[Sequence[int]]:
    return all([isinstance(length, int) for length in lengths])
