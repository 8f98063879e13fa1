"""For loops: counted, vectorised, unrolled, or in strips, as the schedule says.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = "kernel turns():\\n  for i < 8 parallel:\\n    for j < {}:"
>>> ["loop1" in generate(parse_kernel(text.format(extent)), Target.avx2()).text for extent in (8, 1)]
[True, False]

A vector loop around a reduction is one of strips, whose rows are read in several registers at once:

>>> text = generate(parse_kernel('''
... kernel sums(in x: f32[M*N], out y: f32[M]):
...   symbol M
...   symbol N
...   for i < M vector:
...     v0 = reduce add over j < N:
...       v1 = x[i + M*j]
...       give v1
...     y[i] = v0
... '''), Target.avx2()).text
>>> "call i64 @llvm.smin.i64" in text, "fadd <32 x float>" in text
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from nervure.kernel.divisions import counted_divisions
from nervure.kernel.ir import For, Strip, Widths, substituted
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.room import needs_mask
from nervure.transformers.cpu.compile.codegen.context import Context, Preheader, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Elements
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.iterations import (
    counted,
    has_iterations,
    known_iterations,
    stored,
    vector_iterations,
)
from nervure.transformers.cpu.compile.codegen.quotients import Quotients
from nervure.transformers.cpu.compile.codegen.routine_calls import emit_routine
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.types.dim import highest, index_symbols


@emit_statement.register(For)
def emit_for(loop: For, context: Context) -> None:
    """Emits a loop from 0 to its extent."""
    if loop in context.apart:
        _call_apart(context, context.apart[loop])
        return
    if loop.routine is not None:
        emit_routine(context, loop)
        return
    if loop.unrolled and loop.widths is not None:
        _emit_copies(context, loop, loop.widths.masked)
        return
    begin, end = context.integer(0), dimension(context, loop.extent)
    if loop.widths is None and loop.strip is None and highest(loop.extent) == 1:
        _emit_branch(context, loop, end.register)
        return
    emit_slice(context, loop, begin.register, end.register,
               loop.extent in context.strips or has_iterations(loop.extent))


def _call_apart(context: Context, symbol: str) -> None:
    """Calls another kernel for this iteration of the loop that threads share."""
    b, (index, _) = context.builder, context.loops[0]
    buffers, sizes, _, _, scratch, status = b.arguments
    begin = dimension(context, index.dim).register
    b.call(symbol, None, buffers, sizes, begin, begin + 1, scratch, status)


def _emit_branch(context: Context, loop: For, count: Register) -> None:
    """Emits a loop of one iteration or none; where that is the same in the whole kernel, none is what is usual.

    The body has 0 in place of the index: values that follow from that number would be known, under the index, outside
    of the loop, and so to another loop with this index.
    """
    b = context.builder
    context.loops.append((loop.index, loop.extent))
    with b.if_(0 < count, unlikely=not index_symbols(loop.extent)):
        with context.inside(Preheader(b.region(), stored(loop), True)):
            context.keep_index(loop.index, context.integer(0).register)
            emit(context, substituted(loop.body, {loop.index: 0}))
    context.loops.pop()


def emit_slice(context: Context, loop: For, begin: Register, end: Register, is_certain: bool = False) -> None:
    """Emits the iterations of a loop from ``begin`` up to ``end``."""
    with _counted_among(context, loop):
        if loop.strip is not None:
            _emit_strips(context, loop, loop.strip, begin, end)
        elif loop.widths is not None:
            with nullcontext() if is_certain else context.builder.if_(begin < end):
                _emit_vector_loop(context, loop, loop.widths, begin, end, is_certain)
        else:
            _emit_counted_loop(context, loop, begin, end, is_certain)


@contextmanager
def _counted_among(context: Context, loop: For) -> Iterator[None]:
    """Inside of a loop, the iterations of which count among those of the loops around; in a strip they have counted."""
    strip = context.strips.get(loop.extent)
    if strip is None:
        context.loops.append((loop.index, loop.extent))
        yield
        context.loops.pop()
        return
    context.inside_strips[strip] = loop.index
    yield
    del context.inside_strips[strip]


def _emit_counted_loop(context: Context, loop: For, begin: Register, end: Register, is_certain: bool) -> None:
    quotients = Quotients(context, loop.index, [] if loop.parallel else counted_divisions(loop), begin)

    def body(carried: Elements) -> Elements:
        quotients.keep(carried)
        emit(context, loop.body)
        return quotients.following(carried)

    counted(context, loop.index, (begin, end), Preheader(None, stored(loop), is_certain), quotients.first, body)


def _emit_copies(context: Context, loop: For, width: int) -> None:
    """Emits a few copies of the body, the last of them with a mask where whole vectors leave something."""
    preheader, extent = Preheader(context.builder.region(), stored(loop), True), loop.extent
    assert isinstance(extent, int)
    context.loops.append((loop.index, extent))
    for start in range(0, extent, width):
        body, _ = fresh_copy(loop.body)  # what is known of these iterations holds for no others
        known_iterations(context, loop.index, preheader, start, width, extent - start, partial(emit, context, body))
    context.loops.pop()


def _emit_vector_loop(context: Context, loop: For, widths: Widths, begin: Register, end: Register,
                      is_certain: bool) -> None:
    preheader = Preheader(context.builder.region(), stored(loop), is_certain)
    is_masked = needs_mask(context.rooms, loop.body, loop.index, widths.masked)
    vector_iterations(context, loop.index, (begin, end), preheader, widths, partial(emit, context, loop.body),
                      is_masked)


def _emit_strips(context: Context, loop: For, strip: Strip, begin: Register, end: Register) -> None:
    """Emits the iterations of a loop, as many as a strip has at a time."""
    b, preheader = context.builder, Preheader(context.builder.region(), stored(loop), False)
    context.strips[strip.length.dim] = loop.index
    with b.loop(begin, end, strip.most) as strips, context.inside(preheader):
        length = b.intrinsic("smin", end - strips.index, strip.most)
        context.keep_index(loop.index, strips.index)
        context.keep_index(strip.length, length)
        emit(context, loop.body)
