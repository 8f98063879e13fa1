"""Arena packing: offsets in one block for values with live ranges, so that they take little room together.

>>> pack([Interval(0, 1, 100), Interval(1, 2, 50), Interval(2, 3, 100)])
([0, 128, 0], 192)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LINE = 64
"""Every place starts at a multiple of this many bytes."""


class Interval(NamedTuple):
    """A value that is alive from one step to another, both included."""

    first: int
    last: int
    bytes: int


def pack(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """The offset of each value, and the size of the block: the largest first, each at the lowest place that is free
    for all of its life.
    """
    offsets = [0] * len(intervals)
    placed: list[tuple[int, int, Interval]] = []
    total = 0
    for number in sorted(range(len(intervals)), key=lambda number: -intervals[number].bytes):
        entry = intervals[number]
        size = -(-entry.bytes // LINE) * LINE
        offset = 0
        for start, end, other in placed:
            if other.first <= entry.last and entry.first <= other.last and start < offset + size and offset < end:
                offset = end
        offsets[number] = offset
        placed.append((offset, offset + size, entry))
        placed.sort(key=lambda place: place[:2])
        total = max(total, offset + size)
    return offsets, total
