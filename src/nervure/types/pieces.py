"""Pieces of an array: boxes of a grid, each with its place in the whole.

>>> import numpy as np
>>> whole = np.arange(6).reshape(2, 3)
>>> pieces = [ArrayPiece((0, 0), whole[:, :2]), ArrayPiece((0, 2), whole[:, 2:])]
>>> [piece.box for piece in pieces]
[((0, 2), (0, 2)), ((0, 2), (2, 3))]
>>> is_grid((2, 3), [piece.box for piece in pieces])
True
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nervure.types.description import BasicTensorDescription

Box = tuple[tuple[int, int], ...]
"""The start and the end of a piece along each dimension."""


class ArrayPiece(NamedTuple):
    """A part of an array, and the index of its first element in the whole."""

    start: tuple[int, ...]
    array: np.ndarray

    @property
    def box(self) -> Box:
        """The place of the piece in the whole."""
        return tuple([(first, first + length) for first, length in zip(self.start, self.array.shape, strict=True)])


class Spread(NamedTuple):
    """An array of a ``type``, as the ``pieces`` of it that one of several processes has to keep."""

    type: BasicTensorDescription
    pieces: Sequence[ArrayPiece]


def is_grid(shape: Sequence[int], boxes: Sequence[Box]) -> bool:
    """Whether boxes fill a ``shape`` without gap or overlap, as the cells of one grid.

    >>> is_grid((4,), [((0, 2),), ((2, 4),)]), is_grid((4,), [((0, 2),), ((1, 4),)]), is_grid((), [()])
    (True, False, True)
    """
    if any([len(box) != len(shape) for box in boxes]):
        return False
    steps = []
    for axis, length in enumerate(shape):
        cuts = [*sorted({box[axis][0] for box in boxes}), length]
        steps.append(dict(itertools.pairwise(cuts)))
        if cuts[0] != 0 or any([steps[axis].get(start) != stop for start, stop in [box[axis] for box in boxes]]):
            return False
    starts = {tuple([start for start, _ in box]) for box in boxes}
    return len(starts) == len(boxes) == math.prod([len(step) for step in steps])
