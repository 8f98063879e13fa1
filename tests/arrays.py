"""Arrays of the tests: random ones, and copies beside memory that may not be read.

>>> guarded(normal(2, 3)).tolist() == normal(2, 3).tolist()
True
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Numbers from the standard normal distribution, the same ones for the same shape and seed."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def guarded(array: np.ndarray, at_start: bool = False) -> np.ndarray:
    """A contiguous copy at the end of a page, or ``at_start`` of one, with a closed page beside it.

    To touch that ends the process: so a read out of bounds is seen that changes no result.
    """
    size = -(-max(array.nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    closed = ctypes.CDLL(None).mprotect(ctypes.c_void_p(start if at_start else start + size), mmap.PAGESIZE, 0)
    assert closed == 0, "the page beside an array cannot be closed"
    offset = mmap.PAGESIZE if at_start else size - array.nbytes
    copy = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    return copy
