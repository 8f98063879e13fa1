"""Interleaved stores: two stores to alternate places, which together fill a row, become one.

A counter-based generator makes two words in each iteration; storing them lane by lane would cost more than making
them.

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
[('StorePair', [8, 7])]
"""

from __future__ import annotations

from nervure.kernel.ir import Body, Definition, For, Kernel, Load, Reduce, Statement, Store, StorePair
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import AnyLoop, Rewrite
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike


def with_interleaved_stores(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with one store for each two that are half a row along the index that runs in lanes."""
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
        pairs = _pairs(body, self._lanes)
        if not pairs:
            return body
        halves = {store for pair in pairs.values() for store in pair}
        return tuple([_together(*pairs[entry]) if entry in pairs else entry
                      for entry in body if entry in pairs or entry not in halves])


def _together(lower: Store, upper: Store) -> StorePair:
    return StorePair(lower.buffer, lower.address, (lower.value, upper.value), lower.streaming)


def _pairs(statements: Body, index: LoopIndex) -> dict[Statement, tuple[Store, Store]]:
    """Returns, for each store that completes a row with an earlier one, the two, the one to the lower place first."""
    found: dict[Statement, tuple[Store, Store]] = {}
    waiting: list[Store] = []
    for statement in statements:
        if isinstance(statement, Store) and _is_half(statement, index):
            partner = next((other for other in waiting if _distance(other, statement) in (-1, 1)), None)
            if partner is None:
                waiting.append(statement)
                continue
            waiting.remove(partner)
            found[statement] = ((partner, statement) if _distance(partner, statement) == 1 else (statement, partner))
        elif isinstance(statement, Load):
            waiting = [other for other in waiting if other.buffer is not statement.buffer]
        elif not isinstance(statement, Definition):
            waiting = []  # loops, other stores and checks keep their order
    return found


def _is_half(store: Store, index: LoopIndex) -> bool:
    address = store.address
    return (address.step(index) == 2 and not address.terms and store.combine is None and store.valid is None
            and not index.occurs_in(address.base))


def _distance(x: Store, y: Store) -> DimLike | None:
    """Returns the distance from ``x`` to ``y`` in places, if both have the same strides."""
    if x.buffer is not y.buffer or dict(x.address.steps) != dict(y.address.steps):
        return None
    return y.address.base - x.address.base
