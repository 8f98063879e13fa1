"""Rows of an array that are read when they are needed, so that each process of a job reads its own alone.

>>> rows = ChosenRows(np.arange(10) * 10, np.array([3, 1, 4, 1]))
>>> rows.shape, rows[1:3].tolist(), np.asarray(rows).tolist(), rows + 1, rows.max()
((4,), [10, 40], [30, 10, 40, 10], array([31, 11, 41, 11]), np.int64(40))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike


class ChosenRows(NDArrayOperatorsMixin):
    """The rows of an ``array`` at the positions ``chosen``, of which a slice along the first axis reads only its own.

    It stands for the array that NumPy makes of it, and reads that where it is used as one. ``dtype`` is its element
    type.
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

    def astype(self, dtype: DTypeLike) -> ChosenRows:
        """Returns the same rows, of which each is converted to ``dtype`` when it is read."""
        return ChosenRows(self._array, self._chosen, np.dtype(dtype))

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, index: Any) -> np.ndarray:
        first, *others = index if isinstance(index, tuple) else (index,)
        with np.errstate(all="ignore"):
            found = self._array[self._chosen[first]].astype(self.dtype, copy=False)
        return found[(slice(None) if isinstance(first, slice) else ..., *others)] if others else found

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self[:])

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # a protocol of others, who would take the rows for another kind of thing
            raise AttributeError(name)
        return getattr(self[:], name)

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: object, **options: object) -> object:
        whole = [operand[:] if isinstance(operand, ChosenRows) else operand for operand in operands]
        return getattr(function, method)(*whole, **options)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def __repr__(self) -> str:
        return f"ChosenRows({self.shape}, {self.dtype})"
