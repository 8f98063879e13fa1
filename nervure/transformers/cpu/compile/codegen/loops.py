"""What loops are built of: one turn after the other, or many turns at once in the lanes of vectors.

A vector loop is built up to three times: wide, for as many turns as keep the machine busy; in the lanes of one
register, for what is left; and once more with a mask, for the last turns. What does not depend on its index is computed
in front of all three.

>>> from nervure.types.dim import dim
>>> has_turns(dim("N")), has_turns(dim("N", min=1)), has_turns(3)
(False, True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure.kernel.ir import Buffer, Loop, Widths, Write, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.transformers.cpu.compile.codegen.element import Element
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.frame import Frame, Front, Lanes, Value
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I32, I64
from nervure.types.dim import DimLike, bounds
from nervure.types.dtype import bool_, int64

Registers = Sequence[Register]


def counted(frame: Frame, index: LoopIndex, ends: tuple[Register, Register], front: Front, carried: Registers,
            body: Callable[[Registers], Registers]) -> Registers:
    """A loop of one turn after the other; ``body`` makes what the next turn, or what follows, gets."""
    begin, end = ends
    b = frame.builder

    def build() -> Registers:
        front.region = b.region()
        with b.loop(begin, end, 1, carried) as turns, frame.inside(front):
            frame.keep(("index", index), frame.here(Element(int64, (turns.index,))))
            turns.carried = list(body(turns.carried))
        return turns.results

    return guarded(b, begin < end, carried, build)


def nest(frame: Frame, indices: Sequence[tuple[LoopIndex, DimLike]], written: frozenset[Buffer], carried: Registers,
         body: Callable[[Registers], Registers]) -> Registers:
    """Loops inside each other, the last index the fastest."""
    if not indices:
        return body(carried)
    (index, extent), *others = indices
    frame.loops.append((index, extent))
    ends = frame.integer(0).register, dimension(frame, extent).register
    results = counted(frame, index, ends, Front(None, written, has_turns(extent)), carried,
                      lambda inner: nest(frame, others, written, inner, body))
    frame.loops.pop()
    return results


def guarded(b: Builder, condition: Register, otherwise: Registers, build: Callable[[], Registers]) -> Registers:
    """What ``build`` gives where a condition holds; elsewhere its code does not run."""
    yes, done, before = b.label("then"), b.label("done"), b.current
    b.branch(condition, yes, done)
    b.block(yes)
    results = build()
    end = b.current
    b.block(done)
    return [b.phi(x.type, (x, end), (y, before)) for x, y in zip(results, otherwise, strict=True)]


def has_turns(extent: DimLike) -> bool:
    """Whether a loop of this extent surely has one."""
    return (bounds(extent)[0] or 0) >= 1


def stored(loop: Loop) -> frozenset[Buffer]:
    """The buffers that a loop writes."""
    return frozenset([entry.buffer for entry in walk((loop,)) if isinstance(entry, Write)])


def vector_turns(frame: Frame, index: LoopIndex, ends: tuple[Register, Register], front: Front, widths: Widths,
                 body: Callable[[], None]) -> None:
    """A loop of many turns at once, in up to three copies of ``body``."""
    b, (start, end) = frame.builder, ends
    for width in widths.full:
        with b.loop(start, end - (width - 1), width) as turns:
            _turns(frame, index, front, turns.index, width, None, body)
        start = turns.index
    if widths.full[-1] > 1:
        with b.loop(start, end, widths.masked) as turns:
            left = end - turns.index if widths.masked > 1 else None
            _turns(frame, index, front, turns.index, widths.masked, left, body)


def _turns(frame: Frame, index: LoopIndex, front: Front, start: Register, width: int, count: Register | None,
           body: Callable[[], None]) -> None:
    """``width`` turns at once, of which the first ``count`` take place."""
    with frame.inside(front):
        mask = None if count is None else first_lanes(frame, count, width)
        with frame.vector(Lanes(index, frame.here(Element(int64, (start,))), width, mask)):
            body()


def known_turns(frame: Frame, index: LoopIndex, front: Front, start: int, width: int, count: int,
                body: Callable[[], None]) -> None:
    """The same for numbers: what depends on nothing else is computed once, in front of all loops."""
    with frame.inside(front):
        mask = None
        if count < width:
            with frame.at(0):
                mask = Value(_first(frame.builder, frame.builder.constant(I64, count), width), 0)
        with frame.vector(Lanes(index, frame.integer(start), width, mask)):
            body()


def first_lanes(frame: Frame, count: Register, width: int) -> Value:
    """The mask of the lanes below a count."""
    return frame.here(_first(frame.builder, count, width))


def _first(b: Builder, count: Register, width: int) -> Element:
    numbers = b.vector(I32.vector(width), range(width))
    return Element(bool_, (numbers < b.splat(count.cast("trunc", I32), width),))
