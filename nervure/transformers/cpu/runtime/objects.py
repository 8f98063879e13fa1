"""Where objects of CPython and NumPy have their fields, as native code reads them.

>>> FIELDS["data"], FIELDS["memory_handler"]
(16, 88)

The offsets are those of CPython with a GIL and NumPy 2; :mod:`memory` checks them on real arrays before they are used.
"""

from __future__ import annotations

FIELDS = {"references": 0, "type": 8, "data": 16, "rank": 24, "dims": 32, "strides": 40, "base": 48, "descr": 56,
          "flags": 64, "memory_handler": 88}
"""The bytes at which the fields of an array's header lie."""

LIST_SIZE, LIST_ITEMS, TUPLE_ITEMS = 16, 24, 24
"""The bytes at which lists and tuples have their length and their items (a list: the address of its items)."""

C_CONTIGUOUS, OWNS_DATA, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400
