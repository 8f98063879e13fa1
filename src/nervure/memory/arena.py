"""Arena packing: offsets in one block for values with live ranges, so that they need little memory together.

>>> pack([Interval(0, 1, 100), Interval(1, 2, 50), Interval(2, 3, 100)])
([0, 128, 0], 192)
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

LINE = 64
"""Every place starts at a multiple of this many bytes."""


class Interval(NamedTuple):
    """A value that is alive from one step to another, both included."""

    first: int
    last: int
    bytes: int


def pack(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Returns the offset of each value, and the size of the block.

    Values are placed one by one, at the lowest place that is free for all of their life. Several orders are tried:
    first the values alive when most bytes are (greedy by breadth, Pisarchyk and Lee 2020), among these the long-lived
    or the large ones first; or simply the large ones first. The smallest block is used; no order can take less than
    the bytes alive at once.
    """
    sizes = [-(-entry.bytes // LINE) * LINE for entry in intervals]
    alive = _alive(intervals, sizes)
    breadths = [max(alive[entry.first:entry.last + 1]) for entry in intervals]
    keys = (lambda n: (-breadths[n], intervals[n].first - intervals[n].last), lambda n: (-breadths[n], -sizes[n]),
            lambda n: -sizes[n])
    best = None
    for key in keys:
        found = _placed(intervals, sizes, sorted(range(len(intervals)), key=key))
        if best is None or found[1] < best[1]:
            best = found
        if best[1] == max(alive, default=0):
            break
    assert best is not None
    return best


def _alive(intervals: Sequence[Interval], sizes: Sequence[int]) -> list[int]:
    """Returns the number of bytes alive in each step."""
    changes = [0] * (max([entry.last for entry in intervals], default=-1) + 2)
    for entry, size in zip(intervals, sizes, strict=True):
        changes[entry.first] += size
        changes[entry.last + 1] -= size
    return list(accumulate(changes))


def _placed(intervals: Sequence[Interval], sizes: Sequence[int], order: Sequence[int]) -> tuple[list[int], int]:
    """Returns the offsets and the size of the block, if values are placed in this order."""
    offsets = [0] * len(intervals)
    taken: list[tuple[int, int, int, int]] = []  # start and end, first and last step, sorted by places
    for number in order:
        first, last, _ = intervals[number]
        offset = 0
        for start, end, other_first, other_last in taken:
            if start >= offset + sizes[number]:
                break
            if other_first <= last and first <= other_last and end > offset:
                offset = end
        offsets[number] = offset
        insort(taken, (offset, offset + sizes[number], first, last))
    return offsets, max([end for _, end, _, _ in taken], default=0)
