"""Pools: the storage that calls make on devices written in Python, and the time of its release.

A call ends with the finalizers of the storage that it made and does not return. Inside ``with memory_pool():`` calls
of this thread keep that storage for later calls, and the finalizers run when the block ends.

>>> import nervure as nv
>>> with memory_pool() as pool:
...     pool.bytes
0
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nervure.ir.device import Device
from nervure.transformers.devices.elements import Elements, Numbers, allocated, device_of, over, row_major_type
from nervure.types.dtype import DType

_Key = tuple[type[Device], DType, int]


class Pool:
    """Free storage, by device, element type and number of elements."""

    def __init__(self) -> None:
        self._free: dict[_Key, list[Elements]] = {}

    @property
    def bytes(self) -> int:
        """The number of bytes of elements that wait to be used again."""
        return sum([dtype.itemsize * count * len(waiting) for (_, dtype, count), waiting in self._free.items()])

    def take(self, device: type[Device], dtype: DType, shape: Numbers) -> Elements | None:
        """Returns an undefined tensor of ``shape`` over free storage; None if there is none of its size. Then the
        longest shorter storage is released, since a longer one will replace it.
        """
        waiting = self._free.get((device, dtype, math.prod(shape)))
        if not waiting:
            self._let_go_for(device, dtype, math.prod(shape))
            return None
        tensor = waiting.pop()
        return over(device, tensor.storage, tensor.count, row_major_type(dtype, shape))

    def give(self, tensor: Elements) -> None:
        """Takes back a tensor that is not read any more."""
        self._free.setdefault((device_of(tensor), tensor.type.dtype, tensor.count), []).append(tensor)

    def _let_go_for(self, device: type[Device], dtype: DType, count: int) -> None:
        shorter = [key[2] for key, waiting in self._free.items()
                   if waiting and key[:2] == (device, dtype) and key[2] < count]
        if shorter:
            self._free[device, dtype, max(shorter)].pop().finalizer()

    def close(self) -> None:
        """Releases everything."""
        waiting = [tensor for entry in self._free.values() for tensor in entry]
        self._free.clear()
        for tensor in waiting:
            tensor.finalizer()


class _Current(threading.local):
    def __init__(self) -> None:
        self.pool: Pool | None = None


_current = _Current()


@contextmanager
def memory_pool() -> Iterator[Pool]:
    """Keeps the storage that calls make on devices written in Python; finalizers run when the block ends.

    >>> with nv.memory_pool() as pool:
    ...     total = nv.sum(nv.ones((2, 3))).item()
    >>> total
    6.0
    """
    before, _current.pool = _current.pool, Pool()
    try:
        yield _current.pool
    finally:
        pool, _current.pool = _current.pool, before
        pool.close()


class Lease:
    """The tensors that one call has made."""

    def __init__(self, pool: Pool | None) -> None:
        self._pool = pool
        self._taken: list[Elements] = []

    def take(self, device: type[Device], dtype: DType, shape: Numbers) -> Elements:
        """Returns an undefined tensor of ``shape``, valid until the call ends."""
        found = None if self._pool is None else self._pool.take(device, dtype, shape)
        tensor = allocated(device, dtype, shape) if found is None else found
        self._taken.append(tensor)
        return tensor

    def end(self) -> None:
        """Gives everything to the pool, or releases it."""
        for tensor in self._taken:
            if self._pool is None:
                tensor.finalizer()
            else:
                self._pool.give(tensor)


@contextmanager
def lease() -> Iterator[Lease]:
    """Opens a lease for the storage of a call."""
    made = Lease(_current.pool)
    try:
        yield made
    finally:
        made.end()
