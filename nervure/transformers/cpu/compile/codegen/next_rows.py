"""Memory is asked for ahead of time where it would otherwise wait for the processor, and the processor for it.

A kernel of rows reads a row from memory in its first run and then computes on it. So the last run, which works on what
is in the caches, asks for the row that the following turn of the loop will read. A processor that computes long
functions looks no further than the next few elements, so a loop of such functions asks for what comes some lines later.

>>> from nervure.kernel.parser import parse_kernel
>>> rows, = parse_kernel('''
... kernel rows(in x: f32[800], out y: f32[800]):
...   for i < 8:
...     v0 = reduce add over j < 100:
...       v1 = x[100*i + j]
...       give v1
...     for j < 100 vector:
...       v2 = x[100*i + j]
...       v3 = divide(v2, v0)
...       y[100*i + j] = v3
... ''').body
>>> [(buffer.name, address.base) for buffer, address in next_rows(rows)[rows.body[-1]]]
[('x', 100)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nervure.kernel.ir import Address, Buffer, For, Load, Reduce, Statement, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.machine import GENERIC
from nervure.kernel.schedule.vector_width import is_light
from nervure.transformers.cpu.compile.codegen.frame import Frame
from nervure.transformers.cpu.compile.codegen.places import locate
from nervure.transformers.cpu.compile.llvm.types import I8
from nervure.types.dim import index_symbols

_LONGEST = 65_536  # bytes of a row; a longer one would not stay in the caches

_DISTANCE = 2_048  # bytes that a loop of long functions looks ahead

Places = Sequence[tuple[Buffer, Address]]


def next_rows(loop: For) -> dict[For, Places]:
    """The last run in a loop's body, or the loop itself, and what is to be asked for in it: places along its index."""
    if loop.vector:
        return {loop: _further(loop)} if loop.parallel and not is_light(loop.body, loop.index) else {}
    *runs, last = loop.body or [loop]
    while runs and isinstance(last, Store):  # of what is one number a row
        *runs, last = runs
    if not isinstance(last, For) or not last.vector:
        return {}
    places: dict[tuple[Buffer, Address], None] = {}
    for run in [*runs, last]:
        for load, name in _rows_of(run, last):
            place = load.address.substitute({name: last.index.dim})
            step = place.step(loop.index)
            if step != 0 and load.buffer.role == "in" and _is_short(last, load.buffer):
                places[load.buffer, replace(place, base=place.base + step)] = None
    return {last: list(places)} if runs and places else {}


def _further(loop: For) -> Places:
    """What a loop will read some lines later."""
    loads = [entry for entry in loop.body if isinstance(entry, Load) and entry.address.step(loop.index) == 1]
    return [(load.buffer, replace(load.address, base=load.address.base + _DISTANCE // load.buffer.dtype.itemsize))
            for load in loads if not load.address.terms]


def ask(frame: Frame, places: Places) -> None:
    """Asks for the lines that as many turns as run at once will read."""
    for buffer, address in places:
        pointer = locate(frame, buffer, address).pointer.register
        for distance in range(0, frame.width * buffer.dtype.itemsize, GENERIC.line):
            frame.builder.fetch(frame.builder.offset(pointer, distance, I8))


def _rows_of(run: Statement, last: For) -> Iterator[tuple[Load, LoopIndex]]:
    """The loads of rows in a run over as many places as the last one, and the index of the run."""
    if isinstance(run, Reduce) and len(run.indices) == 1:
        name, extent = run.indices[0]
    elif isinstance(run, For) and run.vector:
        name, extent = run.index, run.extent
    else:
        return
    for statement in run.body if extent == last.extent else ():
        if isinstance(statement, Load) and not statement.address.terms and not index_symbols(statement.address.base):
            if statement.address.step(name) == 1:
                yield statement, name


def _is_short(last: For, buffer: Buffer) -> bool:
    return not isinstance(last.extent, int) or last.extent * buffer.dtype.itemsize <= _LONGEST

