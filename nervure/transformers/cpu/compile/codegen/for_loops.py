"""For loops: counted, vectorised, unrolled, or in tiles of columns, as the schedule says.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = "kernel iterations():\\n  for i < 8 parallel:\\n    for j < {}:"
>>> ["loop1" in generate(parse_kernel(text.format(extent)), Target.avx2()).text for extent in (8, 1)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nervure.kernel.ir import For
from nervure.kernel.rewriting import fresh_copy
from nervure.transformers.cpu.compile.codegen.column_tiles import emit_tiles
from nervure.transformers.cpu.compile.codegen.context import Context, Preheader, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.iterations import (
    counted,
    has_iterations,
    known_iterations,
    stored,
    vector_iterations,
)
from nervure.transformers.cpu.compile.llvm.builder import Register


@emit_statement.register(For)
def emit_for(loop: For, context: Context) -> None:
    """A loop from 0 to its extent."""
    if loop.unrolled and loop.widths is not None:
        _emit_copies(context, loop, loop.widths.masked)
        return
    begin, end = context.integer(0), dimension(context, loop.extent)
    emit_slice(context, loop, begin.register, end.register, has_iterations(loop.extent))


def emit_slice(context: Context, loop: For, begin: Register, end: Register, is_certain: bool = False) -> None:
    """The iterations of a loop from ``begin`` up to ``end``."""
    context.loops.append((loop.index, loop.extent))
    if loop.widths is not None or loop.tile is not None:
        with context.builder.if_(begin < end):
            _emit_vector_loop(context, loop, begin, end, is_certain)
    else:
        def body(_: Sequence[Register]) -> Sequence[Register]:
            emit(context, loop.body)
            return ()

        preheader = Preheader(None, stored(loop), is_certain)
        counted(context, loop.index, (begin, end), preheader, (), body)
    context.loops.pop()


def _emit_copies(context: Context, loop: For, width: int) -> None:
    """A few copies of the body, the last of them with a mask where whole vectors leave something."""
    preheader, extent = Preheader(context.builder.region(), stored(loop), True), loop.extent
    assert isinstance(extent, int)
    context.loops.append((loop.index, extent))
    for start in range(0, extent, width):
        body, _ = fresh_copy(loop.body)  # what is known of these iterations holds for no others
        known_iterations(context, loop.index, preheader, start, width, extent - start, partial(emit, context, body))
    context.loops.pop()


def _emit_vector_loop(context: Context, loop: For, begin: Register, end: Register, is_certain: bool) -> None:
    if loop.tile is not None:
        emit_tiles(context, loop, loop.tile, (begin, end))
        return
    preheader = Preheader(context.builder.region(), stored(loop), is_certain)
    assert loop.widths is not None
    vector_iterations(context, loop.index, (begin, end), preheader, loop.widths,
                 partial(emit, context, loop.body))
