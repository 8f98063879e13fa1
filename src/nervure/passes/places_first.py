"""Data of convolutions without zeros around them, where a good part of all products would be with zeros.

Of a window of three places over rows of four those are 17 % along each length. If windows see the data through a view
that is 0 outside of them, nobody stores these zeros, and kernels leave their products out
(:mod:`nervure.kernel.schedule.products.regions`). For results and for gradients for data, these lie place by place,
those of all images, channels side by side. For gradients for filters they are read where they lie: there longer rows
are worth it, too.

>>> import nervure as nv
>>> from nervure.ops.convolution import Geometry
>>> x = nv.Parameter(nv.float32, (32, 512, 4, 4))
>>> geometry = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1)
>>> is_worth(x, geometry, (3, 3), (4, 4))
True
>>> in_columns(x, geometry, (3, 3), (4, 4))
f32[32, 1, 3, 3, 512, 4, 4] FilledView(Contiguous)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
from nervure.ops.update import FilledView
from nervure.ops.views import Permute
from nervure.passes.rearranged import in_memory
from nervure.passes.window_sizes import known_sizes
from nervure.types.dim import DimLike
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
    images, channels, *_ = x.shape
    sizes = known_sizes(x.dtype, x.shape[2:], geometry, windows, places)
    if sizes is None or not isinstance(channels, int) or not isinstance(images, int):
        return False
    each = channels // geometry.groups
    is_whole = images > 0 and images % IMAGES == 0 and (each == CHANNELS or each > 0 and each % (2 * CHANNELS) == 0)
    return (is_whole and min(sizes.places) > 1 and prod(sizes.places) <= MOST_PLACES and min(sizes.windows) > 1
            and sizes.share_left_out() >= LEAST_SHARE)


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
    channels, sizes = x.shape[1], known_sizes(x.dtype, x.shape[2:], geometry, windows, places)
    if sizes is None or not isinstance(channels, int):
        return False
    is_whole = min(sizes.places) > 1 and min(sizes.windows) > 1 and channels >= LEAST_ROWS * geometry.groups
    return is_whole and sizes.share_left_out() >= LEAST_FILTERS_SHARE


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
