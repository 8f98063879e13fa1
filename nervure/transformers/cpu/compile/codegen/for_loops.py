"""The loops of a kernel: which of the ways to run its turns each of them takes.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = "kernel turns():\\n  for i < 8 parallel:\\n    for j < {}:"
>>> ["loop1" in generate(parse_kernel(text.format(extent)), Target.avx2()).text for extent in (8, 1)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nervure.kernel.ir import For
from nervure.kernel.rewriting import fresh_copy
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.frame import Frame, Front, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.loops import (
    counted,
    has_turns,
    known_turns,
    stored,
    vector_turns,
)
from nervure.transformers.cpu.compile.codegen.reduce_across_rows import emit_tiles
from nervure.transformers.cpu.compile.llvm.builder import Register


@emit_statement.register(For)
def emit_for(loop: For, frame: Frame) -> None:
    """A loop from 0 to its extent."""
    if loop.unrolled and loop.widths is not None:
        _emit_copies(frame, loop, loop.widths.masked)
        return
    emit_slice(frame, loop, frame.integer(0).register, dimension(frame, loop.extent).register, has_turns(loop.extent))


def emit_slice(frame: Frame, loop: For, begin: Register, end: Register, is_certain: bool = False) -> None:
    """The turns of a loop from ``begin`` up to ``end``."""
    frame.loops.append((loop.index, loop.extent))
    if loop.widths is not None or loop.tile is not None:
        with frame.builder.if_(begin < end):
            _emit_vector_loop(frame, loop, begin, end, is_certain)
    else:
        def body(_: Sequence[Register]) -> Sequence[Register]:
            emit(frame, loop.body)
            return ()

        front = Front(None, stored(loop), is_certain)
        counted(frame, loop.index, (begin, end), front, (), body)
    frame.loops.pop()


def _emit_copies(frame: Frame, loop: For, width: int) -> None:
    """A few copies of the body, the last of them with a mask where whole vectors leave something."""
    front, extent = Front(frame.builder.region(), stored(loop), True), loop.extent
    assert isinstance(extent, int)
    frame.loops.append((loop.index, extent))
    for start in range(0, extent, width):
        body, _ = fresh_copy(loop.body)  # what is known of these turns holds for no others
        known_turns(frame, loop.index, front, start, width, extent - start, partial(emit, frame, body))
    frame.loops.pop()


def _emit_vector_loop(frame: Frame, loop: For, begin: Register, end: Register, is_certain: bool) -> None:
    if loop.tile is not None:
        emit_tiles(frame, loop, loop.tile, (begin, end))
        return
    front = Front(frame.builder.region(), stored(loop), is_certain)
    assert loop.widths is not None
    vector_turns(frame, loop.index, (begin, end), front, loop.widths,
                 partial(emit, frame, loop.body))
