"""Arrays at the edge of memory: what reads or writes behind their last byte ends the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def fenced(array: np.ndarray) -> np.ndarray:
    """The array once more, where the byte behind its last one cannot be touched."""
    page = mmap.PAGESIZE
    size = -(-max(array.nbytes, 1) // page) * page
    memory = mmap.mmap(-1, size + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + size), page, 0) == 0
    copy = np.frombuffer(memory, array.dtype, array.size, size - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy
