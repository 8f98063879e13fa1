"""Panels: data derived from one version of a variable, or from a constant, made once and kept for later calls.

A panel has its memory and the version that it was made from. The step of a program that makes it runs if the variable
has another version by now, and the version is recorded when the step has ended: an interrupted call leaves nothing
wrong behind. Code that may change the variable holds its lock, as does every call that reads it; for a constant two
calls may write the same bytes at once.

>>> stamp, kept = ctypes.c_int64(0), WeakValueDictionary()
>>> panel = panel_of(kept, ("of w",), 1000, stamp)
>>> panel is panel_of(kept, ("of w",), 1000, stamp), panel.bytes, panel.runs
(True, 1000, 0)

All panels of the process together take at most ``flags.panel_limit`` bytes:

>>> panel_of(kept, ("too large",), 1 << 60, stamp) is None
True
"""

from __future__ import annotations

import ctypes
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from nervure import flags
from nervure.support import forks
from nervure.transformers.cpu.runtime import pooled_arrays, records

CONSTANT = ctypes.c_int64(0)
"""The stamp of constants."""

_all: WeakSet[PanelMemory] = WeakSet()
_lock = forks.lock()  # reentrant: a signal handler may come while it is held


class PanelMemory:
    """The ``memory`` of a panel, and its record. It lives as long as the programs that use it."""

    def __init__(self, size: int, stamp: ctypes.c_int64) -> None:
        self.memory = pooled_arrays.empty((size,), np.dtype(np.uint8))
        self._stamp = stamp
        self._record = records.PanelRecord(stamp=ctypes.addressof(stamp), made_from=-1)
        self.address = ctypes.addressof(self._record)

    @property
    def bytes(self) -> int:
        """The bytes that it takes."""
        return self.memory.nbytes

    @property
    def runs(self) -> int:
        """The number of times that it was made."""
        return self._record.runs


def panel_of(kept: WeakValueDictionary[tuple[object, ...], PanelMemory], key: tuple[object, ...], size: int,
             stamp: ctypes.c_int64) -> PanelMemory | None:
    """Returns the panel that is kept under a key, or a new one; None if there is no room for it. The ``stamp`` is a
    cell's.
    """
    with _lock:
        panel = kept.get(key)
        if panel is None and size + sum([each.bytes for each in _all]) <= flags.panel_limit:
            try:
                panel = kept[key] = PanelMemory(size, stamp)
            except MemoryError:
                return None
            _all.add(panel)
        return panel
