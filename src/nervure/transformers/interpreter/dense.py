"""Dense copies of arrays: without gaps, in row-major order.

How an array lies in memory decides how NumPy rounds some functions, and in which order it adds. So what IEEE 754 does
not fix is computed of dense copies, and depends on the elements alone.

>>> x = np.arange(6.0).reshape(2, 3)
>>> [array.flags.c_contiguous for array in dense(x.T, np.broadcast_to(1.0, (3, 2)))]
[True, True]
>>> dense_rows(x, (0,)).tolist()
[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def dense(*arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays in one shape, without gaps; themselves where they are."""
    shaped = arrays if len(arrays) == 1 else np.broadcast_arrays(*arrays)
    return [np.asarray(array, order="C") for array in shaped]


def dense_rows(elements: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The elements without gaps, with these axes as one, the last. There NumPy adds pairwise; along others one after
    the other, which drifts where many are alike.
    """
    kept = [d for d in range(elements.ndim) if d not in axes]
    ordered = elements.transpose([*kept, *sorted(axes)])
    rows = ordered.shape[:len(kept)]
    return dense(ordered)[0].reshape(*rows, math.prod(ordered.shape[len(kept):]))
