"""ChosenRows of an array that are read when they are needed, so that each process of a job reads its own alone.

>>> rows = ChosenRows(np.arange(10) * 10, np.array([3, 1, 4, 1]))
>>> rows.shape, rows[1:3].tolist(), np.asarray(rows).tolist()
((4,), [10, 40], [30, 10, 40, 10])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


class ChosenRows:
    """The rows of an ``array`` at the positions ``chosen``, of which a slice along the first axis reads only its own.

    It stands for the array that NumPy makes of it. ``dtype`` is the element type of that.
    """

    __slots__ = ("_array", "_chosen", "dtype")

    def __init__(self, array: np.ndarray, chosen: np.ndarray, dtype: np.dtype | None = None) -> None:
        self._array, self._chosen = array, chosen
        self.dtype = array.dtype if dtype is None else dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all rows together."""
        return (len(self._chosen), *self._array.shape[1:])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    def astype(self, dtype: np.dtype) -> ChosenRows:
        """Returns the same rows, of which each is converted when it is read."""
        return ChosenRows(self._array, self._chosen, dtype)

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, index: Any) -> np.ndarray:
        first, *others = index if isinstance(index, tuple) else (index,)
        found = self._array[self._chosen[first]].astype(self.dtype, copy=False)
        return found[(slice(None) if isinstance(first, slice) else ..., *others)] if others else found

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self[:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def __repr__(self) -> str:
        return f"ChosenRows({self.shape}, {self.dtype})"
