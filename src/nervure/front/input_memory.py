"""The memory of an input: it holds a value whose length may change, and grows, but never shrinks.

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
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np


class DeviceBlock(Protocol):
    """Memory that a device allocated for an input; ``flat`` is an array over it, or None if elements are reached one
    by one.
    """

    flat: np.ndarray | None

    @property
    def storage(self) -> object: ...

    @property
    def count(self) -> int: ...

    def load(self, shape: Sequence[int]) -> np.ndarray: ...

    def fill(self, array: np.ndarray) -> None: ...

    def put(self, index: Sequence[int], number: np.ndarray, shape: Sequence[int]) -> None: ...

    def let_go(self) -> None: ...


class InputMemory:
    """The value of an input and the memory it lies in. ``order`` lists the dimensions from the slowest to the fastest
    in memory. ``allocate`` returns memory of a device for a shape, filled with zeros or (False) left undefined;
    without it, the memory is an array.
    """

    __slots__ = ("order", "shape", "_allocate", "_array", "_block", "_outside")

    def __init__(self, order: tuple[int, ...],
                 allocate: Callable[[tuple[int, ...], bool], DeviceBlock] | None = None) -> None:
        self.order, self._allocate = order, allocate
        self.shape: tuple[int, ...] | None = None
        self._array: np.ndarray | None = None
        self._block = np.empty(0, np.uint8)
        self._outside: DeviceBlock | None = None

    @property
    def array(self) -> np.ndarray | None:
        """The value, at the start of the memory; None before there is one. Elements that a device keeps without a
        buffer are read now.
        """
        if self._outside is None or self._outside.flat is not None or self.shape is None:
            return self._array
        return self._outside.load(self.shape)

    @property
    def storage(self) -> object:
        """The memory as its owner sees it: the array, or what the device allocated."""
        return self._array if self._outside is None else self._outside.storage

    def room(self, shape: tuple[int, ...], dtype: np.dtype, zeros: bool = True) -> np.ndarray | None:
        """Returns the value's array, of this shape from now on. If the shape changes, the elements are undefined,
        except that new memory is filled with zeros if ``zeros``. None if a device keeps them without a buffer.
        """
        if self.shape == shape:
            return self._array
        if self._allocate is None and self._outside is None:
            return self._over_block(shape, dtype)
        if self._outside is None or self._outside.count < math.prod(shape):
            before = self._outside
            if self._allocate is None:
                self._outside = None
                return self._over_block(shape, dtype)
            self._outside = self._allocate(shape, zeros)
            if before is not None:
                before.let_go()
        return self._over(self._outside, shape)

    def write(self, value: np.ndarray) -> None:
        """Copies a value into the input."""
        array = self.room(value.shape, value.dtype, zeros=False)
        if array is not None:
            array[...] = value
        else:
            assert self._outside is not None
            self._outside.fill(value)

    def put(self, index: tuple[int, ...], number: np.ndarray) -> None:
        """Writes one element of the value."""
        assert self.shape is not None
        if self._array is not None:
            self._array[index] = number
        else:
            assert self._outside is not None
            self._outside.put(index, number, self.shape)

    def adopt(self, array: np.ndarray) -> None:
        """Takes over an array from outside, which is the value from now on."""
        self._block, self._array, self.shape = array.transpose(self.order).reshape(-1), array, array.shape
        self._outside = None

    def adopt_outside(self, block: DeviceBlock, shape: tuple[int, ...]) -> None:
        """Takes over memory that was made for the device elsewhere."""
        self._outside = block
        self._over(block, shape)

    def _over(self, outside: DeviceBlock, shape: tuple[int, ...]) -> np.ndarray | None:
        self.shape, self._array = shape, None if outside.flat is None else outside.load(shape)
        return self._array

    def _over_block(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        count = math.prod(shape)
        if self._block.dtype != dtype or self._block.size < count:
            self._block = np.zeros(count, dtype)
        packed = self._block[:count].reshape([shape[d] for d in self.order])
        self.shape, self._array = shape, packed.transpose([self.order.index(d) for d in range(len(shape))])
        return self._array
