"""Arrays without gaps, in row-major order. How an array lies in memory decides how NumPy rounds some functions, and in
which order it adds. So what IEEE 754 does not fix is computed of dense copies, and depends on the elements alone.

>>> x = np.arange(6.0).reshape(2, 3)
>>> [array.flags.c_contiguous for array in dense(x.T, np.broadcast_to(1.0, (3, 2)))]
[True, True]
>>> summed_last(x.T, (1,), np.dtype(np.float64)).tolist()
[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def dense(*arrays: Any) -> list[np.ndarray]:
    """The arrays in one shape, without gaps; themselves where they are."""
    shaped = arrays if len(arrays) == 1 else np.broadcast_arrays(*arrays)
    return [np.asarray(array, order="C") for array in shaped]


def summed_last(elements: Any, axes: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """The elements as ``dtype``, dense, with these axes as one, the last. There NumPy adds pairwise; along others one
    after the other, which drifts where many are alike; where it converts at the same time, in parts of its own.
    """
    kept = [d for d in range(elements.ndim) if d not in axes]
    ordered = elements.transpose([*kept, *sorted(axes)])
    rows = ordered.shape[:len(kept)]
    return np.asarray(ordered, dtype, order="C").reshape(*rows, math.prod(ordered.shape[len(kept):]))
