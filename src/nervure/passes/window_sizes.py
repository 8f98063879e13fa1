"""Sizes of windows and of data, where all are numbers, and how many products are with zeros around the data.

Of a window of three places over rows of four they are 17 % along each length:

>>> import nervure as nv
>>> from nervure.ops.convolution import Geometry
>>> geometry = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1)
>>> sizes = known_sizes(nv.float32, (4, 4), geometry, (3, 3), (4, 4))
>>> round(sizes.share_left_out(), 3), round(sizes.of_lines().share_left_out(), 3)
(0.306, 0.167)
>>> known_sizes(nv.float32, (nv.dim("n"), 4), geometry, (3, 3), (nv.dim("n"), 4)) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from nervure.ops.convolution import Geometry
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, float32, float64


class Sizes(NamedTuple):
    """The sizes of a convolution, an entry a length."""

    strides: Sequence[int]
    dilations: Sequence[int]
    paddings: Sequence[tuple[int, int]]
    windows: Sequence[int]
    places: Sequence[int]
    lengths: Sequence[int]

    def of_lines(self) -> Sizes:
        """Those of the first length alone."""
        return Sizes._make([entries[:1] for entries in self])

    def share_left_out(self) -> float:
        """The share of the products that are with zeros around the data."""
        inside = 1.0
        for stride, dilation, (before, _), window, count, length in zip(*self, strict=True):
            seen = [place * stride + offset * dilation - before for place in range(count) for offset in range(window)]
            inside *= sum([0 <= position < length for position in seen]) / len(seen)
        return 1 - inside


def known_sizes(dtype: DType, lengths: Sequence[DimLike], geometry: Geometry, windows: Sequence[DimLike],
                places: Sequence[DimLike]) -> Sizes | None:
    """The sizes of a convolution of data of these lengths; None where one of them is not known, or where the data are
    of a type that no register tiles multiply.
    """
    paddings = [(before, after) for before, after in geometry.paddings
                if isinstance(before, int) and isinstance(after, int)]
    if dtype not in (float32, float64) or len(paddings) < len(lengths):
        return None
    if not (_are_known(windows) and _are_known(places) and _are_known(lengths)):
        return None
    return Sizes(geometry.strides, geometry.dilations, paddings, windows, places, lengths)


def _are_known(lengths: Sequence[DimLike]) -> TypeGuard[Sequence[int]]:
    return all([isinstance(length, int) for length in lengths])
