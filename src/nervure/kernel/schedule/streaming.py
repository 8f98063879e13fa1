"""Streaming (non-temporal) stores: large results are stored past the caches.

A plain store reads the line that it writes to. If the memory is larger than the caches that read is a quarter or a
third of all traffic, and the stored data have left the caches before they are read. Streaming stores do neither, but
they need whole lines: short rows go past the caches only if none of them shares a line with the next.

>>> from nervure.kernel.ir import walk
>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel ones(out x: f32[N]):
...   symbol N
...   for i < N parallel vector:
...     x[i] = 1.0_f32
... ''')
>>> streaming = with_streaming_stores(kernel, GENERIC, {kernel.buffers[0]: 1 << 20})
>>> [entry.streaming for entry in walk(streaming.body) if isinstance(entry, Store)]
[min(N//262144, 1)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nervure.kernel.ir import Body, Buffer, For, Kernel, Load, Reduce, Simple, Statement, Store, walk
from nervure.kernel.rewriting import AnyLoop, Rewrite
from nervure.kernel.tuning import STREAMED_ROW
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_max, dim_min, index_symbols
from nervure.types.dim.polynomial import TooLarge


def with_streaming_stores(kernel: Kernel, machine: Machine, least_bytes: Mapping[Buffer, int]) -> Kernel:
    """Returns the kernel with streaming stores into the buffers of ``least_bytes`` from those sizes on, unless they
    are read.
    """
    read = {entry.buffer for entry in walk(kernel.body)
            if isinstance(entry, Load) or (isinstance(entry, Store) and entry.combine is not None)}
    conditions = {buffer: _condition(kernel, machine, buffer, least) for buffer, least in least_bytes.items()
                  if buffer not in read}
    return replace(kernel, body=_Streaming(conditions).block(kernel.body)) if conditions else kernel


class _Streaming(Rewrite):
    def __init__(self, conditions: Mapping[Buffer, DimLike]) -> None:
        super().__init__()
        self._conditions = conditions
        self._is_in_lanes = False  # in loops whose stores are of whole vectors

    def rebuilt(self, loop: AnyLoop) -> AnyLoop:
        outer, has_lanes = self._is_in_lanes, isinstance(loop, Reduce) or (isinstance(loop, For) and loop.vector)
        self._is_in_lanes = outer or has_lanes
        inner = super().rebuilt(loop)
        self._is_in_lanes = outer
        return inner

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, Store) and self._is_in_lanes:
            statement = replace(statement, streaming=self._conditions.get(statement.buffer, 0))
        out.append(statement)


def _condition(kernel: Kernel, machine: Machine, buffer: Buffer, least: int) -> DimLike:
    """Returns 1 if a buffer is large and its rows are whole lines, else 0, also where that is too long to ask."""
    condition, bytes_each = dim_min(buffer.size // max(-(-least // buffer.dtype.itemsize), 1), 1), buffer.dtype.itemsize
    try:
        for length, distance in dict.fromkeys(_rows(kernel.body, buffer)):
            condition = condition * _is_whole(length * bytes_each, distance * bytes_each, machine)
    except TooLarge:
        return 0
    return condition


def _rows(body: Body, buffer: Buffer) -> Iterator[tuple[DimLike, DimLike]]:
    """Yields the length of stored rows, 0 if that varies, and their distance from each other."""
    for loop in [entry for entry in walk(body) if isinstance(entry, For) and entry.vector]:
        length = 0 if index_symbols(loop.extent) else loop.extent
        for store in [entry for entry in walk(loop.body) if isinstance(entry, Store) and entry.buffer is buffer]:
            steps = [step for index, step in store.address.steps if index is not loop.index]
            for distance in (*steps, *[stride for stride, _ in store.address.terms]):
                yield length, distance


def _is_whole(length: DimLike, distance: DimLike, machine: Machine) -> DimLike:
    """Returns 1 if rows of ``length`` bytes share no line, or hardly any of theirs, else 0."""
    return dim_max(1 - dim_min(distance % machine.line, 1), dim_min(length // STREAMED_ROW, 1))
