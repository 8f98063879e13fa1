"""Loops: one iteration after the other, or many at once in the lanes of vectors.

A vector loop is built up to three times: wide, for as many iterations as keep the machine busy; in the lanes of one
register, for the rest; and once more with a mask, for the last iterations. The last two are one where there is room for
lanes without an iteration. Values that do not depend on its index are computed before all three.

>>> from nervure.types.dim import dim
>>> has_iterations(dim("N")), has_iterations(dim("N", min=1)), has_iterations(3)
(False, True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from nervure.kernel.ir import Buffer, Loop, Widths, Write, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.transformers.cpu.compile.codegen.context import Context, Lanes, Preheader, Value
from nervure.transformers.cpu.compile.codegen.element import Element, Elements, choose, flat, shaped
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.types.dim import DimLike, index_symbols, lowest
from nervure.types.dtype import bool_, int64

Built = TypeVar("Built")


def counted(context: Context, index: LoopIndex, ends: tuple[Register, Register], preheader: Preheader,
            carried: Elements, body: Callable[[Elements], Elements]) -> Elements:
    """Builds a loop of one iteration after the other; ``body`` returns the ``carried`` values of the next iteration,
    or the results.
    """
    begin, end = ends
    b = context.builder

    def build() -> Elements:
        preheader.region = b.region()
        with b.loop(begin, end, 1, flat(carried), is_certain=True) as iterations, context.inside(preheader):
            context.keep_index(index, iterations.index)
            iterations.carried = flat(body(shaped(carried, iterations.carried)))
        return shaped(carried, iterations.results)

    return build() if preheader.is_certain else choose(begin < end, carried, build)


def nest(context: Context, indices: Sequence[tuple[LoopIndex, DimLike]], written: frozenset[Buffer], carried: Elements,
         body: Callable[[Elements], Elements]) -> Elements:
    """Builds loops inside each other, with the last index the fastest; ``body`` is as for ``counted``."""
    if not indices:
        return body(carried)
    (index, extent), *others = indices
    context.loops.append((index, extent))
    ends = context.integer(0).register, dimension(context, extent).register
    results = counted(context, index, ends, Preheader(None, written, has_iterations(extent)), carried,
                      lambda inner: nest(context, others, written, inner, body))
    context.loops.pop()
    return results


def has_iterations(extent: DimLike, around: Iterable[tuple[LoopIndex, DimLike]] = ()) -> bool:
    """Whether a loop of this extent is seen to have an iteration, inside of the loops ``around`` it.

    Bounds are asked, and no proof is tried: what is not seen costs a comparison in front of the loop.
    """
    if (lowest(extent) or 0) >= 1:
        return True
    ranges = {index.name: (0, outer - 1) for index, outer in around} if index_symbols(extent) else {}
    return bool(ranges) and (lowest(extent, ranges) or 0) >= 1


def stored(loop: Loop) -> frozenset[Buffer]:
    """Returns the buffers that a loop writes."""
    return frozenset([entry.buffer for entry in walk((loop,)) if isinstance(entry, Write)])


def vector_iterations(context: Context, index: LoopIndex, ends: tuple[Register, Register], preheader: Preheader,
                      widths: Widths, body: Callable[[], None], is_masked: bool = True) -> None:
    """Builds a loop of many iterations at once, in up to three copies of ``body``. If no copy ``is_masked``, the one
    for the last iterations does for others in as many lanes.
    """
    b, (start, end), (full, masked) = context.builder, ends, widths
    if full[-1:] == (1,):
        masked = 0  # nothing is left
    if masked == 0 and len(full) == 1 and start.text == "0":
        with b.loop(start, end, full[0], is_certain=True) as iterations:  # else the code in front is not reached
            in_lanes(context, index, preheader, iterations.index, full[0], None, body)
        return
    for width in full[:-1] if full and full[-1] == masked and not is_masked else full:
        with b.loop(start, end - (width - 1), width) as iterations:
            in_lanes(context, index, preheader, iterations.index, width, None, body)
        start = iterations.index
    if masked > 0:
        with b.loop(start, end, masked) as iterations:
            left = end - iterations.index if is_masked and masked > 1 else None
            in_lanes(context, index, preheader, iterations.index, masked, left, body)


def in_lanes(context: Context, index: LoopIndex, preheader: Preheader, start: Register, width: int,
             count: Register | None, body: Callable[[], Built]) -> tuple[Built, Register | None]:
    """Builds ``width`` iterations at once, of which only the first ``count`` take place. Also returns their mask, None
    if all do.
    """
    with context.inside(preheader):
        mask = None if count is None else context.here(_first(context.builder, count, width))
        with context.vector(Lanes(index, context.here(Element(int64, (start,))), width, mask)):
            return body(), mask.register if mask else None


def known_iterations(context: Context, index: LoopIndex, preheader: Preheader, start: int, width: int, count: int,
                     body: Callable[[], None]) -> None:
    """Builds iterations with known numbers ``start`` and ``count``, whose mask is a constant."""
    with context.inside(preheader):
        mask = Value(_first(context.builder, context.builder.constant(I64, count), width), 0) if count < width else None
        with context.vector(Lanes(index, context.integer(start), width, mask)):
            body()


def _first(b: Builder, count: Register, width: int) -> Element:
    return Element(bool_, (b.first_lanes(count, width),))
