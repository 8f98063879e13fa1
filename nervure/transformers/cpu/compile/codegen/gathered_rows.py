"""Rows that are found by numbers in memory: no processor foresees where the next one lies, so it is asked for.

A loop over rows whose inner loop reads, or adds, at an address with a variable in it computes that variable once more,
as it will be some turns later, and the inner loop asks for that row while it works on its own.

>>> from nervure.kernel.parser import parse_kernel
>>> loop, = parse_kernel('''
... kernel gather(in rows: i64[50], in x: f32[900], out y: f32[450]):
...   for i < 50:
...     v0 = rows[i]
...     for j < 9 vector:
...       v1 = x[j + 9*v0]
...       y[9*i + j] = v1
... ''').body
>>> statements, places = gathered_rows(loop)
>>> statements[0].buffer.name, statements[0].address.base, [buffer.name for buffer, _ in places[loop.body[-1]]]
('rows', min(%0 + 4, 49), ['x'])
"""

from __future__ import annotations

from dataclasses import replace

from nervure.kernel.ir import (
    Access,
    Address,
    Buffer,
    Definition,
    For,
    Load,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import fresh_copy
from nervure.transformers.cpu.compile.codegen.next_rows import Places
from nervure.types.dim import dim_min

_AHEAD = 4      # rows between the one that is read and the one that is asked for
_LONGEST = 24   # statements that compute where a row lies


def gathered_rows(loop: For) -> tuple[list[Statement], dict[For, Places]]:
    """Statements for the body of a loop over rows, and what its last loop is to ask for after them."""
    last = loop.body[-1] if loop.body else loop
    if loop.vector or not isinstance(last, For) or not last.vector:
        return [], {}
    defined = {entry.result: entry for entry in (*loop.body, *last.body) if isinstance(entry, Definition)}
    later = {loop.index: dim_min(loop.index.dim + _AHEAD, loop.extent - 1)}
    found: dict[Statement, None] = {}
    places: list[tuple[Buffer, Address]] = []
    for entry in last.body:
        if isinstance(entry, Access) and entry.address.terms and entry.address.step(last.index) == 1:
            needed = _needed(entry.address, defined, last.index)
            found.update(dict.fromkeys(needed or ()))
            places += [(entry.buffer, entry.address)] if needed else []
    if not places or len(found) > _LONGEST:
        return [], {}
    order = [entry for entry in defined.values() if entry in found]
    loads = [Load(Variable(buffer.dtype), buffer, address) for buffer, address in places]
    body, _ = fresh_copy([*order, *loads], (), later)
    split = len(order)
    asked = [(load.buffer, load.address) for load in body[split:] if isinstance(load, Load)]
    return list(body[:split]), {last: [*asked, *_added_rows(loop, last)]}


def _added_rows(loop: For, last: For) -> list[tuple[Buffer, Address]]:
    """The rows that are to be added up, which may be pieces of longer ones."""
    rows = []
    for load in [entry for entry in last.body if isinstance(entry, Load) and not entry.address.terms]:
        step = load.address.step(loop.index)
        if step != 0 and load.address.step(last.index) == 1 and load.buffer.role == "in":
            rows.append((load.buffer, replace(load.address, base=load.address.base + step * _AHEAD)))
    return rows if any([isinstance(entry, Store) and entry.combine for entry in last.body]) else []


def _needed(address: Address, defined: dict[Variable, Definition], inner: LoopIndex) -> list[Statement] | None:
    """The statements that compute where a row lies; None if one of them is computed anew at each place of the row."""
    found: dict[Statement, None] = {}
    waiting: list[Scalar] = list(address.operands)
    while waiting:
        x = waiting.pop()
        entry = defined.get(x) if isinstance(x, Variable) else None
        if entry is None or entry in found:
            continue
        if entry.mentions(inner) or len(found) > _LONGEST:
            return None
        found[entry] = None
        waiting += entry.operands
    return list(found)

