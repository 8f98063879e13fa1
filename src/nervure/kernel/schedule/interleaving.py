"""Interleaved stores: two to four stores at as many places by turns, which together fill a row, become one.

A counter-based generator makes two words in each iteration, and the channels of a pixel are three; storing them lane by
lane would cost more than making them.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel words(out words: u32[64]):
...   for i < 32 vector:
...     words[2*i + 1] = 7_u32
...     words[2*i] = 8_u32
... ''')
>>> loop, = with_interleaved_stores(kernel, GENERIC).body
>>> [(type(entry).__name__, [value.value for value in entry.values]) for entry in loop.body]
[('InterleavedStore', [8, 7])]
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.ir import Body, Definition, For, InterleavedStore, Kernel, Load, Reduce, Statement, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import AnyLoop, Rewrite
from nervure.kernel.tuning import INTERLEAVED
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike


def with_interleaved_stores(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with one store for those that together fill a row along the index that runs in lanes."""
    return replace(kernel, body=_Interleaving().block(kernel.body))


class _Interleaving(Rewrite):
    def __init__(self) -> None:
        super().__init__()
        self._lanes: LoopIndex | None = None  # the surrounding index that runs in lanes

    def rebuilt(self, loop: AnyLoop) -> AnyLoop:
        outer = self._lanes
        if outer is None and (isinstance(loop, Reduce) or (isinstance(loop, For) and loop.vector)):
            self._lanes = loop.indices[-1][0]
        inner = super().rebuilt(loop)
        self._lanes = outer
        return inner

    def block(self, statements: Body) -> Body:
        body = super().block(statements)
        if self._lanes is None:
            return body
        rows = _rows(body, self._lanes)
        if not rows:
            return body
        parts = {store for row in rows.values() for store in row}
        return tuple([_together(rows[entry]) if entry in rows else entry
                      for entry in body if entry in rows or entry not in parts])


def _together(row: Sequence[Store]) -> InterleavedStore:
    first = row[0]
    return InterleavedStore(first.buffer, first.address, tuple([store.value for store in row]), first.streaming)


def _rows(statements: Body, index: LoopIndex) -> dict[Statement, list[Store]]:
    """Returns, for each store that completes a row with earlier ones, all of these by their places."""
    found: dict[Statement, list[Store]] = {}
    waiting: list[Store] = []
    for statement in statements:
        if isinstance(statement, Store) and _is_part(statement, index):
            waiting.append(statement)
            row = _completed(waiting, index)
            if row is not None:
                found[statement] = row
                waiting = [other for other in waiting if other not in row]
        elif isinstance(statement, Load):
            waiting = [other for other in waiting if other.buffer is not statement.buffer]
        elif not isinstance(statement, Definition):
            waiting = []  # loops, other stores and checks keep their order
    return found


def _is_part(store: Store, index: LoopIndex) -> bool:
    address = store.address
    return (address.step(index) in INTERLEAVED and not address.terms and store.combine is None and store.valid is None
            and not index.occurs_in(address.base))


def _completed(waiting: Sequence[Store], index: LoopIndex) -> list[Store] | None:
    """Returns the stores that fill a row with the last of those that are ``waiting``, by their places."""
    last, count = waiting[-1], waiting[-1].address.step(index)
    assert isinstance(count, int)
    at = {_distance(last, other): other for other in waiting}
    for first in range(1 - count, 1):
        row = [at[place] for place in range(first, first + count) if place in at]
        if len(row) == count:
            return row
    return None


def _distance(x: Store, y: Store) -> DimLike | None:
    """Returns the distance from ``x`` to ``y`` in places, if both have the same strides."""
    if x.buffer is not y.buffer or dict(x.address.steps) != dict(y.address.steps):
        return None
    return y.address.base - x.address.base
