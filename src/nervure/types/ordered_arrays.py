"""Arrays whose dimensions lie in memory in an order of their own, without gaps.

An order lists the dimensions from the one that moves slowest; None is row-major.

>>> made = empty((2, 3), np.dtype(np.float32), (1, 0))
>>> made.strides, made.flags.owndata, is_in_order(made, (1, 0)), is_in_order(made, None)
((4, 8), True, True, False)
>>> in_order(np.ones((2, 3)), (1, 0)).strides
(8, 16)
"""

from __future__ import annotations

import numpy as np

from nervure.types.layout import dense

Order = tuple[int, ...] | None


def byte_strides(shape: tuple[int, ...], order: Order, itemsize: int) -> tuple[int, ...]:
    """The strides of such an array, in bytes."""
    strides = dense(shape, range(len(shape)) if order is None else order).strides
    return tuple([stride * itemsize for stride in strides if type(stride) is int])


def empty(shape: tuple[int, ...], dtype: np.dtype, order: Order) -> np.ndarray:
    """``np.empty`` in an order. The array has memory of its own."""
    if order is None:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, strides=byte_strides(shape, order, dtype.itemsize))


def is_in_order(array: np.ndarray, order: Order) -> bool:
    """Whether the elements lie so, side by side."""
    return bool((array if order is None else array.transpose(order)).flags.c_contiguous)


def in_order(array: np.ndarray, order: Order, copy: bool = False) -> np.ndarray:
    """The same elements in an order: the array itself if they lie so, and aligned, unless a copy is asked for."""
    if not copy and array.flags.aligned and is_in_order(array, order):
        return array
    made = empty(array.shape, array.dtype, order)
    made[...] = array
    return made
