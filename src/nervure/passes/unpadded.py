"""Windows over data that have no padding in memory: they show zeros outside of the data, which products leave out.

Kernels cut such windows into those that lie inside of the data and those at a border
(:mod:`nervure.kernel.schedule.products.regions`): nothing stores zeros around the data, and nothing multiplies them.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (32, 512, 4, 4))
>>> geometry = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1)
>>> in_columns(x, geometry, (3, 3), (4, 4))
f32[32, 1, 3, 3, 512, 4, 4] FilledView(Parameter)
>>> are_known(x.dtype, x.shape[2:], geometry, (3, 3), (4, 4))
True
>>> are_known(x.dtype, (nv.dim("n"), 4), geometry, (3, 3), (nv.dim("n"), 4))
False
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
from nervure.ops.update import FilledView
from nervure.support.machine import Machine
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, float32, float64
from nervure.types.index_map import IndexMap, indices


def are_known(dtype: DType, lengths: Sequence[DimLike], geometry: Geometry, windows: Sequence[DimLike],
              places: Sequence[DimLike]) -> bool:
    """Whether kernels can cut windows over data of these ``lengths``: all sizes but the number of images are known, and
    register tiles multiply the type.
    """
    paddings = [entry for padding in geometry.paddings for entry in padding]
    sizes = (*lengths, *windows, *places, *paddings)
    return dtype in (float32, float64) and all([isinstance(size, int) for size in sizes]) and min(places) > 0


def are_worth_rows(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike],
                   machine: Machine) -> bool:
    """Whether a ``machine`` computes the gradient for filters of such windows over ``x``.

    There has to be padding, and at each position of the window as many channels as are worth tables of their own.
    """
    channels, has_padding = x.shape[1], any([entry != (0, 0) for entry in geometry.paddings])
    is_wide = isinstance(channels, int) and channels >= machine.products.least_channels * geometry.groups
    return has_padding and is_wide and are_known(x.dtype, x.shape[2:], geometry, windows, places)


def in_columns(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """The elements that ``windows`` have of data (N, groups*C, lengths), as (N, groups, windows, C, places)."""
    rank, each = len(places), x.shape[1] // geometry.groups
    shape = (x.shape[0], geometry.groups, *windows, each, *places)
    n, group, *rest = indices(len(shape))
    offsets, c, at = rest[:rank], rest[rank], rest[rank + 1:]
    return FilledView(x, IndexMap(shape, (n, group * each + c, *positions(geometry, at, offsets)))).output


def in_rows(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """The elements that ``windows`` have of data (N, groups*C, lengths), as (groups, C, windows, N, places)."""
    rank, each = len(places), x.shape[1] // geometry.groups
    shape = (geometry.groups, each, *windows, x.shape[0], *places)
    group, c, *rest = indices(len(shape))
    offsets, n, at = rest[:rank], rest[rank], rest[rank + 1:]
    return FilledView(x, IndexMap(shape, (n, group * each + c, *positions(geometry, at, offsets)))).output


def positions(geometry: Geometry, at: Sequence[DimLike], offsets: Sequence[DimLike]) -> list[DimLike]:
    """The positions in the data of the elements at ``offsets`` of the windows ``at`` some places."""
    return [geometry.position(d, place, offset) for d, (place, offset) in enumerate(zip(at, offsets, strict=True))]
