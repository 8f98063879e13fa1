"""Outer lines: data whose first and last lines windows see without the zeros above and below them.

Of a window of three places over fourteen lines 5 % are above or below the data. They lie in memory with zeros around
them, as other windows may want them; if windows see them through a view that is 0 above the first line and below the
last one, kernels leave the products with these zeros out (:mod:`nervure.kernel.schedule.products.regions`).

>>> import nervure as nv
>>> from nervure.ops.convolution import Geometry
>>> x = nv.Parameter(nv.float32, (1, 256, 14, 14))
>>> geometry = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1)
>>> are_worth(x.dtype, (14, 14), geometry, (3, 3), (14, 14))
True
>>> in_columns(x, geometry, (3, 3), (14, 14))
f32[1, 1, 3, 3, 256, 14, 14] FilledView(Slice)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
from nervure.ops.update import FilledView
from nervure.ops.views import Slice
from nervure.passes.places_first import positions
from nervure.passes.rearranged import padded
from nervure.passes.window_sizes import known_sizes
from nervure.types.dim import DimLike
from nervure.types.dtype import DType
from nervure.types.index_map import IndexMap, indices

LEAST_SHARE, LEAST_PLACES = 0.01, 6
"""The share of the products that has to be left out to make up for more, smaller products; and the places of a line
that are worth one of its own: the rows of a register tile.
"""


def are_worth(dtype: DType, lengths: Sequence[DimLike], geometry: Geometry, windows: Sequence[DimLike],
              places: Sequence[DimLike]) -> bool:
    """Whether many products of data of these lengths are with zeros above and below them: all sizes are known, windows
    are a step of 1 apart, and there are lines that they see whole.
    """
    sizes = known_sizes(dtype, lengths, geometry, windows, places)
    if sizes is None or any([stride != 1 for stride in sizes.strides]):
        return False
    (before, after), reach = sizes.paddings[0], (sizes.windows[0] - 1) * sizes.dilations[0]
    if min(before, after) < 0 or prod(sizes.places[1:]) < LEAST_PLACES or min(sizes.places) < 1:
        return False
    is_seen_whole = sizes.places[0] > before + after and sizes.lengths[0] > reach
    return is_seen_whole and sizes.of_lines().share_left_out() >= LEAST_SHARE


def in_columns(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """What windows see of data (N, groups*C, lengths), as (N, groups, window positions, C, places)."""
    rank, each = len(places), x.shape[1] // geometry.groups
    shape = (x.shape[0], geometry.groups, *windows, each, *places)
    n, group, *rest = indices(len(shape))
    offsets, c, at = rest[:rank], rest[rank], rest[rank + 1:]
    data = _between(padded(x, [(0, 0), (0, 0), *geometry.paddings]), 2, geometry, x.shape[2])
    return FilledView(data, IndexMap(shape, (n, group * each + c, *_positions(geometry, at, offsets)))).output


def in_lines(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """What windows see of data (N, lengths, groups*C), as (N, places, groups, window positions, C)."""
    rank, each = len(places), x.shape[-1] // geometry.groups
    shape = (x.shape[0], *places, geometry.groups, *windows, each)
    n, *rest = indices(len(shape))
    at, (group, *offsets, c) = rest[:rank], rest[rank:]
    data = _between(padded(x, [(0, 0), *geometry.paddings, (0, 0)]), 1, geometry, x.shape[1])
    return FilledView(data, IndexMap(shape, (n, *_positions(geometry, at, offsets), group * each + c))).output


def _between(data: Value, axis: int, geometry: Geometry, length: DimLike) -> Value:
    """Padded data from their first line, of so many, to the last."""
    before, _ = geometry.paddings[0]
    return Slice(data, [(before, length, 1) if d == axis else (0, own, 1) for d, own in enumerate(data.shape)]).output


def _positions(geometry: Geometry, at: Sequence[DimLike], offsets: Sequence[DimLike]) -> list[DimLike]:
    """Where windows see such data, at a place and a position: what lies beside them is there."""
    beside = [(0, 0) for _ in geometry.paddings[1:]]
    return positions(geometry._replace(paddings=(geometry.paddings[0], *beside)), at, offsets)
