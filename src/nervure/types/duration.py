"""Durations: the time of a kernel as a function of the sizes of a call, which are known when it arrives.

A few times are known, for kernels of a few sizes; between these the time is in proportion, and beyond the last it grows
as it did before it.

>>> from nervure.types.dim import dim
>>> copied = Duration(2 * dim("N"), ((0, 230), (200, 240), (20_000, 1_230)))
>>> [copied.nanoseconds({"N": number}) for number in (0, 50, 100, 10_000, 20_000)]
[230, 235, 240, 1230, 2230]
>>> Duration(0, ((0, 500),)).nanoseconds({})
500
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from nervure.types.dim import DimLike, compile_dim

MOST_NANOSECONDS = 10**15
"""What takes longer than eleven days is taken to last as long."""


@dataclass(frozen=True)
class Duration:
    """The time of a kernel on one core: of ``known`` sizes, which rise, the nanoseconds. ``size`` is what the symbols
    make of it.
    """

    size: DimLike = 0
    known: tuple[tuple[int, int], ...] = ((0, 0),)

    def nanoseconds(self, bindings: Mapping[str, int]) -> int:
        """The time for these values of the symbols, from 0 to ``MOST_NANOSECONDS``."""
        if len(self.known) == 1:
            return self.known[0][1]
        size = compile_dim(self.size)(bindings)
        for (first, least), (last, most) in pairwise(self.known):  # noqa: B007  # the last one counts beyond its end
            if size <= last:
                break
        return min(max(least + (most - least) * (size - first) // max(last - first, 1), 0), MOST_NANOSECONDS)

    def is_sound(self) -> bool:
        """Whether there are times, and sizes that rise."""
        sizes, times = [entry[0] for entry in self.known], [entry[1] for entry in self.known]
        return bool(sizes) and sizes == sorted({*sizes}) and all([0 <= time <= MOST_NANOSECONDS for time in times])
