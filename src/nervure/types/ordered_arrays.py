"""Arrays with their dimensions in any order in memory, or with gaps between their rows.

An order lists the dimensions from the slowest to the fastest; None is row-major; a layout has sizes above the shape.

>>> made = empty((2, 3), np.dtype(np.float32), (1, 0))
>>> made.strides, made.flags.owndata, is_in_order(made, (1, 0)), is_in_order(made, None)
((4, 8), True, True, False)
>>> in_order(np.ones((2, 3)), (1, 0)).strides
(8, 16)
>>> padded = in_order(np.ones((2, 3)), row_major((2, 3), sizes=(2, 4)))
>>> padded.strides, flat(padded).tolist()
((32, 8), [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
"""

from __future__ import annotations

import math
import sys

import numpy as np

from nervure.types.layout import Layout, dense, row_major

Order = tuple[int, ...] | Layout | None


def byte_strides(shape: tuple[int, ...], order: Order, itemsize: int) -> tuple[int, ...]:
    """Returns the strides of an array of ``shape`` in an ``order``, in bytes."""
    layout = order if isinstance(order, Layout) else row_major(shape) if order is None else dense(shape, order)
    return tuple([stride * itemsize for stride in layout.strides if type(stride) is int])


def empty(shape: tuple[int, ...], dtype: np.dtype, order: Order) -> np.ndarray:
    """Returns ``np.empty`` in an order. The array owns its memory; if it has gaps, its base does, and is zeros there.
    """
    if order is None:
        return np.empty(shape, dtype)
    strides = byte_strides(shape, order, dtype.itemsize)
    if not isinstance(order, Layout):
        return np.ndarray(shape, dtype, strides=strides)
    return np.ndarray(shape, dtype, buffer=np.zeros(_allocated(order), dtype), strides=strides)


def _allocated(layout: Layout) -> int:
    """Returns the number of elements that memory is allocated for."""
    return math.prod([size for size in layout.sizes or () if type(size) is int])


def is_in_order(array: np.ndarray, order: Order) -> bool:
    """Whether an array's elements are in this order: adjacent, or in rows as far apart as a layout says, with all of
    its memory.
    """
    if isinstance(order, Layout):
        strides = byte_strides(array.shape, order, array.itemsize)
        fits = [own == wanted for own, wanted, length in zip(array.strides, strides, array.shape, strict=True)
                if length > 1]
        memory = array.base if isinstance(array.base, np.ndarray) else array
        return all(fits) and memory.nbytes >= _allocated(order) * array.itemsize
    return bool((array if order is None else array.transpose(order)).flags.c_contiguous)


def in_order(array: np.ndarray, order: Order, copy: bool = False) -> np.ndarray:
    """Returns the same elements in an order: the array itself if it has that order and is aligned, unless ``copy``."""
    if not copy and array.flags.aligned and is_in_order(array, order):
        return array
    made = empty(array.shape, array.dtype, order)
    made[...] = array
    return made


def has_own_memory(array: np.ndarray, order: Order) -> bool:
    """Whether no other array uses the memory of an array in this order."""
    if array.base is None:
        return array.flags.owndata
    is_whole = isinstance(order, Layout) and isinstance(array.base, np.ndarray) and array.base.flags.owndata
    return is_whole and _references_of_base(array) <= _ONE


def _references_of_base(array: np.ndarray) -> int:
    memory = array.base
    return sys.getrefcount(memory)


_ONE = _references_of_base(empty((1,), np.dtype(np.uint8), Layout((1,), 0, (2,))))
"""The reference count that Python reports for the base of a single array."""


def flat(array: np.ndarray) -> np.ndarray:
    """Returns the memory of an array from its first element to its last, with the gaps, as one dimension. No dimension
    may run backwards.
    """
    reach = sum([(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)])
    count = reach // array.itemsize + 1 if array.size else 0
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))
