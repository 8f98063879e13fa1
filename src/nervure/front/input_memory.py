"""The memory of an input: it holds a value of a length that may change, grows with longer ones and is kept for shorter.

>>> import numpy as np
>>> memory = InputMemory(order=(0, 1))
>>> array = memory.room((2, 10), np.dtype(np.float32))
>>> array is memory.room((2, 10), np.dtype(np.float32))
True
>>> shorter = memory.room((1, 10), np.dtype(np.float32))
>>> np.shares_memory(array, shorter), memory.array is shorter
(True, True)
"""

from __future__ import annotations

import math

import numpy as np


class InputMemory:
    """``array`` is the value, at the start of a block of memory; None before there is one. ``order`` are its dimensions
    from the one that moves slowest through memory.
    """

    __slots__ = ("array", "order", "_block")

    def __init__(self, order: tuple[int, ...]) -> None:
        self.array: np.ndarray | None = None
        self.order = order
        self._block = np.empty(0, np.uint8)

    def room(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The value's array, of this shape from now on. Of another shape than before its elements are open, and zeros
        where the memory is new.
        """
        if self.array is not None and self.array.shape == shape:
            return self.array
        count = math.prod(shape)
        if self._block.dtype != dtype or self._block.size < count:
            self._block = np.zeros(count, dtype)
        packed = self._block[:count].reshape([shape[d] for d in self.order])
        self.array = packed.transpose([self.order.index(d) for d in range(len(shape))])
        return self.array

    def adopt(self, array: np.ndarray) -> None:
        """Takes over an array of somebody else's, which is the value from now on."""
        self._block, self.array = array.transpose(self.order).reshape(-1), array
