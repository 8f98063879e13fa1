"""The meaning of views of several tensors, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nervure.types.dim import evaluate
from nervure.types.view import ComplexView


def assembled(view: ComplexView, arrays: Sequence[np.ndarray], names: Mapping[str, int]) -> np.ndarray:
    """The elements that a view shows of arrays, where the symbols have these values."""
    made = np.empty([evaluate(length, names) for length in view.shape], arrays[0].dtype)
    for piece in view.pieces:
        bounds = [[evaluate(end, names) for end in (start, start + extent)]
                  for start, extent in zip(piece.starts, piece.extents)]
        box = tuple(slice(start, max(start, stop)) for start, stop in bounds)
        made[box] = piece.constant if piece.operand is None else piece.index_map.take(arrays[piece.operand], names)
    return made
