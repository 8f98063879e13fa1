"""Windows over data that have no padding in memory: they show zeros outside of the data, which products leave out.

Kernels cut such windows into those that lie inside of the data and those at a border
(:mod:`nervure.kernel.schedule.products.regions`): nothing stores zeros around the data, and nothing multiplies them.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (32, 512, 4, 4))
>>> geometry = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1)
>>> print(windows_of(x.value, geometry, (3, 3), (4, 4), arranged="ngwcp"))
(%0, %1, %2, %3, %4, %5, %6) in (32, 1, 3, 3, 512, 4, 4) -> (%0, 512*%1 + %4, %2 + %5 - 1, %3 + %6 - 1)
>>> are_known(x.dtype, x.shape[2:], geometry, (3, 3), (4, 4))
True
>>> are_known(x.dtype, (nv.dim("n"), 4), geometry, (3, 3), (nv.dim("n"), 4))
False
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
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


def windows_of(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike],
               arranged: str, channels_last: bool = False) -> IndexMap:
    """The map of the elements that windows at ``places`` have of data (N, groups*C, lengths).

    With ``channels_last`` the data are (N, lengths, groups*C). ``arranged`` has a letter for the dimensions of the
    domain, in their order: n for N, g for the groups, c for C, w for the positions in a window, and p for the places.
    """
    each = x.shape[-1 if channels_last else 1] // geometry.groups
    extents: dict[str, list[DimLike]] = {
        "n": [x.shape[0]], "g": [geometry.groups], "c": [each], "w": [*windows], "p": [*places]}
    shape = tuple([extent for letter in arranged for extent in extents[letter]])
    own = iter(indices(len(shape)))
    at = {letter: [next(own) for _ in extents[letter]] for letter in arranged}
    (n,), channel = at["n"], at["g"][0] * each + at["c"][0]
    inside = [geometry.position(d, *pair) for d, pair in enumerate(zip(at["p"], at["w"], strict=True))]
    return IndexMap(shape, (n, *inside, channel) if channels_last else (n, channel, *inside))
