"""Vectorisation: the number of iterations of vector loops and points of reductions at once, and the loops that vanish.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel negatives(in x: f32[N], out y: f32[N]):
...   symbol N
...   for i < N parallel vector:
...     v0 = x[i]
...     v1 = negative(v0)
...     y[i] = v1
... ''')
>>> print(print_kernel(with_vectors(kernel, GENERIC)).splitlines()[2])
  for i < N parallel vector lanes 32, 8 masked 8:
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd

from nervure.kernel.ir import LANES, For, Kernel, Reduce, Statement, Widths, substituted
from nervure.kernel.rewriting import Rewrite
from nervure.kernel.schedule.reduce_across_rows import tile_of
from nervure.kernel.schedule.reduction_strategy import strategy_of
from nervure.kernel.schedule.short_rows import most_copies
from nervure.kernel.schedule.vector_width import register_lanes, vector_widths
from nervure.kernel.simplify.loops import without_unit_indices
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, highest


def with_vectors(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with the form of all vector loops and reductions.

    Loops of one iteration are removed, except the one whose iterations are taken in slices.
    """
    return replace(kernel, body=_Vectors(kernel, register_lanes(kernel, machine)).block(kernel.body))


class _Vectors(Rewrite):
    def __init__(self, kernel: Kernel, lanes: int) -> None:
        super().__init__()
        self._sliced, self._lanes = kernel.sliced, lanes
        self._kept: set[Statement | None] = {kernel.sliced}  # loops that stay, even of one iteration
        self._is_in_lanes = False

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        if loop.routine is not None:
            out.append(loop)
        elif loop.extent == 1 and loop not in self._kept:
            out.extend(self.block(substituted(loop.body, {loop.index: 0})))
        elif loop.vector and not self._is_in_lanes:
            with self._in_lanes():
                out.append(self.rebuilt(self._settled(loop)))
        else:
            out.append(self.rebuilt(loop))

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = without_unit_indices(loop)
        strategy = strategy_of(loop, self._is_in_lanes, self._lanes)
        loop = replace(loop, strategy=strategy)
        with self._in_lanes(self._is_in_lanes or loop.in_lanes):
            out.append(self.rebuilt(loop))

    @contextmanager
    def _in_lanes(self, is_in_lanes: bool = True) -> Iterator[None]:
        outer, self._is_in_lanes = self._is_in_lanes, is_in_lanes
        yield
        self._is_in_lanes = outer

    def _settled(self, loop: For) -> For:
        """Returns a vector loop with its form."""
        tile = tile_of(loop, self._lanes)
        if tile is not None:
            self._kept.update(loop.body)
            return replace(loop, tile=tile)
        if loop is self._sliced:
            return replace(loop, widths=vector_widths(loop, self._lanes))
        return in_lanes(loop, self._lanes)


def in_lanes(loop: For, lanes: int) -> For:
    """Returns a vector loop with its form: without a loop if its iterations are few, for registers of ``lanes`` lanes.
    """
    widths = vector_widths(loop, lanes)
    extent, most = loop.extent, min(most_copies(loop.body) * widths.full[0], LANES)
    if not isinstance(extent, int) or not 0 < extent <= most:
        return replace(loop, widths=_needed(widths, extent))
    width = _of_copies(extent, widths.full[0], lanes)
    return replace(loop, widths=Widths((width,), width), unrolled=True)


def _needed(widths: Widths, extent: DimLike) -> Widths:
    """Returns the ``widths`` at which a loop of this ``extent`` may have iterations."""
    if extent % widths.full[0] == 0:
        return Widths(widths.full[:1])
    most = highest(extent)
    full = tuple([width for width in widths.full if most is None or width <= most])
    return Widths(full, 0 if full and extent % full[-1] == 0 else widths.masked)


def _of_copies(extent: int, widest: int, lanes: int) -> int:
    """Returns the number of a few iterations that run at once: whole registers, if possible."""
    width = min(widest, 1 << (extent - 1).bit_length())
    return gcd(extent, width) if gcd(extent, width) >= lanes else width
