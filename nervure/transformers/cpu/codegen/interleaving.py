"""Two stores to every second place, which together fill a row: they become one.

A counter-based generator makes two words a turn; stored lane by lane they would cost more than they take to make.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel words(out words: u32[64]):
...   for i < 32 vector:
...     words[2*i + 1] = 7_u32
...     words[2*i] = 8_u32
... ''')
>>> loop, = kernel.body
>>> upper, lower = loop.body
>>> pairs(loop.body, loop.index) == {lower: (lower, upper)}
True
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.ir import Definition, Load, Statement, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.transformers.cpu.codegen import access
from nervure.transformers.cpu.codegen.element import Element
from nervure.transformers.cpu.codegen.frame import Frame
from nervure.transformers.cpu.codegen.memory import streaming
from nervure.transformers.cpu.codegen.places import locate
from nervure.transformers.cpu.llvm.builder import Register
from nervure.types.dim import DimLike

Pairs = dict[Statement, tuple[Store, Store]]


def pairs(statements: Sequence[Statement], index: LoopIndex) -> Pairs:
    """For each store that completes a row with an earlier one: the two, the one to the lower place first."""
    found: Pairs = {}
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


def store_pair(frame: Frame, lower: Store, upper: Store) -> None:
    """Builds both stores as one row of twice the lanes."""
    place, width = locate(frame, lower.buffer, lower.address), frame.width
    values = [frame.spread(frame.scalar(store.value), width).element for store in (lower, upper)]
    both = [_interleaved(x, y) for x, y in zip(values[0].registers, values[1].registers, strict=True)]
    mask = frame.lanes.mask if frame.lanes is not None else None
    lanes = None if mask is None else _interleaved(mask.register, mask.register)
    access.write_row(Element(lower.buffer.dtype, tuple(both)), place.pointer.register, lanes, streaming(frame, lower))


def _is_half(store: Store, index: LoopIndex) -> bool:
    address = store.address
    return (address.step(index) == 2 and not address.terms and store.combine is None and store.valid is None
            and not index.occurs_in(address.base))


def _distance(x: Store, y: Store) -> DimLike | None:
    """How many places y goes beyond x, where both walk alike."""
    if x.buffer is not y.buffer or dict(x.address.steps) != dict(y.address.steps):
        return None
    return y.address.base - x.address.base


def _interleaved(x: Register, y: Register) -> Register:
    width = x.type.lanes
    return x.builder.shuffle(x, y, [lane + part * width for lane in range(width) for part in range(2)])
