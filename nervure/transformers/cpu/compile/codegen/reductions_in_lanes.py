"""Reductions whose innermost index runs in lanes.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = generate(parse_kernel('''
... kernel total(in x: f32[1000], out y: f32[1]):
...   v0 = reduce add over i < 1000:
...     v1 = x[i]
...     give v1
...   y[0] = v0
... '''), Target.avx2()).text
>>> [f"fadd <{lanes} x float>" in text for lanes in (64, 32, 16, 8, 4, 2)]      # 64 lanes, and the tree over them
[True, True, True, True, True, True]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nervure.kernel.ir import BLOCK, LANES, Reduce, Widths
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.tuning import WAITING_POINTS
from nervure.transformers.cpu.compile.codegen.combining import (
    Elements,
    combined,
    flat,
    lane_tree,
    listed_tree,
    point_values,
    shaped,
    units,
)
from nervure.transformers.cpu.compile.codegen.element import Element
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.frame import Frame, Front, Lanes, Value
from nervure.transformers.cpu.compile.codegen.lane_memory import lane_bytes, read_lanes, write_lanes
from nervure.transformers.cpu.compile.codegen.loops import (
    first_lanes,
    guarded,
    has_turns,
    nest,
    stored,
    vector_turns,
)
from nervure.transformers.cpu.compile.codegen.slots import Layout, Slots, slots_of
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.types.dtype import bool_, int64

Registers = Sequence[Register]


def reduce_at_once(frame: Frame, reduce: Reduce, width: int) -> Elements:
    """Reduces over one index of a few points, ``width`` of them at once, each of which has a lane of its own.

    The tree starts where it meets the first two lanes that have points: those without one hold the unit.
    """
    b, (name, extent) = frame.builder, reduce.indices[0]
    assert isinstance(extent, int)
    groups, front = [], Front(b.region(), stored(reduce), True)
    frame.loops.append((name, extent))
    for start in range(0, extent, width):
        left = b.constant(I64, extent - start) if start + width > extent else None
        body, given = fresh_copy(reduce.body, reduce.values)  # what is known of one group holds for no other
        group = replace(reduce, body=body, values=given)
        values, mask = _points(frame, group, front, b.constant(I64, start), width, left)
        groups.append(combined(reduce, units(b, reduce, width), values, mask))
    frame.loops.pop()
    return [lane_tree(combine, x) for combine, x in zip(reduce.combine, listed_tree(reduce, groups), strict=True)]


def reduce_in_registers(frame: Frame, reduce: Reduce) -> Elements:
    """Reduces over one index with 64 points at once."""
    b, wide = frame.builder, units(frame.builder, reduce, LANES)

    def block(front: Front, start: Register, stop: Register, lanes: Registers) -> Registers:
        def points(carried: Registers, at: Register, count: Register | None = None) -> Registers:
            return flat(combined(reduce, shaped(wide, carried), *_points(frame, reduce, front, at, LANES, count)))

        with b.loop(start, stop - (LANES - 1), LANES, lanes) as chunks:
            chunks.carried = list(points(chunks.carried, chunks.index))
        at, whole = chunks.index, chunks.results
        return guarded(b, at < stop, whole, lambda: points(whole, at, stop - at))

    return _over_blocks(frame, reduce, block)


def reduce_in_parts(frame: Frame, reduce: Reduce, width: int) -> Elements:
    """The same with ``width`` points at once: what a part of them gives waits in memory, with units up to the next
    64 lanes, and is then combined.
    """
    b, (name, _) = frame.builder, reduce.indices[0]
    wide = units(b, reduce, LANES)

    def block(front: Front, start: Register, stop: Register, lanes: Registers) -> Registers:
        with b.loop(start, stop, WAITING_POINTS, lanes) as parts:
            first, last = parts.index, b.intrinsic("smin", parts.index + WAITING_POINTS, stop)
            for unit, place in zip(wide, places, strict=True):
                write_lanes(unit, place, WAITING_POINTS, (last - first - 1) & -LANES)

            def body() -> None:
                assert frame.lanes is not None
                values, mask = point_values(frame, reduce), frame.lanes.mask
                if mask is not None:
                    values = combined(reduce, units(b, reduce, frame.width), values, mask.register)
                for x, place in zip(values, places, strict=True):
                    write_lanes(x, place, WAITING_POINTS, frame.lanes.start.register - first)

            vector_turns(frame, name, (first, last), front, Widths((width,), frame.register_lanes), body)
            with b.loop(first, last, LANES, parts.carried) as chunks:
                waiting = [read_lanes(x.dtype, place, WAITING_POINTS, chunks.index - first, LANES)
                           for x, place in zip(wide, places, strict=True)]
                chunks.carried = flat(combined(reduce, shaped(wide, chunks.carried), waiting))
            parts.carried = chunks.results
        return parts.results

    with frame.borrowed([lane_bytes(x.dtype, WAITING_POINTS) for x in wide]) as places:
        return _over_blocks(frame, reduce, block)


def _over_blocks(frame: Frame, reduce: Reduce,
                 block: Callable[[Front, Register, Register, Registers], Registers]) -> Elements:
    """Reduces over one index. ``block`` combines the points of a block in the 64 lanes that it is given."""
    b, (name, extent) = frame.builder, reduce.indices[0]
    start, end = units(b, reduce), dimension(frame, extent).register
    wide = units(b, reduce, LANES)
    frame.loops.append((name, extent))

    def build() -> Registers:
        front = Front(b.region(), stored(reduce), has_turns(extent))
        with b.loop(0, end, BLOCK, flat(start)) as blocks:
            stop = b.intrinsic("smin", blocks.index + BLOCK, end)
            lanes = shaped(wide, block(front, blocks.index, stop, flat(wide)))
            made = [lane_tree(combine, x) for combine, x in zip(reduce.combine, lanes, strict=True)]
            blocks.carried = flat(combined(reduce, shaped(start, blocks.carried), made))
        return blocks.results

    results = guarded(b, 0 < end, flat(start), build)
    frame.loops.pop()
    return shaped(start, results)


def _points(frame: Frame, reduce: Reduce, front: Front, start: Register, width: int,
            count: Register | None) -> tuple[Elements, Register | None]:
    """What ``width`` points give, and the mask of the first ``count`` of them if there are no more."""
    with frame.inside(front):
        mask = None if count is None else first_lanes(frame, count, width)
        with frame.vector(Lanes(reduce.indices[0][0], frame.here(Element(int64, (start,))), width, mask)):
            return point_values(frame, reduce), mask.register if mask else None


def reduce_in_memory(frame: Frame, reduce: Reduce, width: int) -> Elements:
    """Reduces over rows of points, each of which starts in the lane where the one before it has ended; ``width`` points
    at once.
    """
    b = frame.builder
    all_rows = b.constant(I64, LANES // width)
    with slots_of(frame, reduce, Layout(width, width, is_each=False)) as slots:
        columns = b.constant(I64, width)
        slots.begin(all_rows, columns)

        def row(carried: Registers) -> Registers:
            return [_row(frame, reduce, slots, carried[0], width)]

        number, = nest(frame, reduce.indices[:-1], stored(reduce), [b.constant(I64, 0)], row)
        with b.if_((number & (BLOCK - 1)).not_equal(0)):
            slots.end_block(all_rows, b.constant(I64, 0), columns)
        return slots.results(0, 1)


def _row(frame: Frame, reduce: Reduce, slots: Slots, first: Register, width: int) -> Register:
    """The points of the innermost index, cut where blocks end; the number of the point after them."""
    b, (name, extent) = frame.builder, reduce.indices[-1]
    end = first + dimension(frame, extent).register
    frame.loops.append((name, extent))

    with b.if_(first < end):
        front = Front(b.region(), stored(reduce), has_turns(extent))

        def group(number: Register, mask: Value | None) -> None:
            at = frame.here(Element(int64, (number - first,)))
            with frame.vector(Lanes(name, at, width, mask)):
                values = point_values(frame, reduce)
            place = number & (LANES - 1)
            slots.write(combined(reduce, slots.read(place, width), values, mask.register if mask else None), place)

        with b.loop(_block_of(first), _block_of(end - 1) + 1) as blocks:
            stop = (blocks.index + 1) * BLOCK
            low, high = b.intrinsic("smax", first, blocks.index * BLOCK), b.intrinsic("smin", end, stop)
            with b.loop(low & -width, high, width) as groups:
                _groups(frame, front, groups.index, (low, high), width, group)
            with b.if_(high.equal(stop), unlikely=True):
                rows = b.constant(I64, LANES // width)
                slots.end_block(rows, rows, b.constant(I64, width))
    frame.loops.pop()
    return end


def _block_of(number: Register) -> Register:
    return number.shift_right(BLOCK.bit_length() - 1)


def _groups(frame: Frame, front: Front, number: Register, ends: tuple[Register, Register], width: int,
            group: Callable[[Register, Value | None], None]) -> None:
    """The points in ``width`` lanes, of which those from the first of the ends up to the second are due."""
    b, (low, high) = frame.builder, ends
    if width == 1:
        with frame.inside(front):
            group(number, None)
        return
    whole, part, done = b.label("whole"), b.label("part"), b.label("done")
    b.branch((low <= number) & (number + width <= high), whole, part)
    b.block(whole)
    with frame.inside(front):
        group(number, None)
    b.jump(done)
    b.block(part)
    with frame.inside(front):
        before = first_lanes(frame, low - number, width)
        until = first_lanes(frame, high - number, width)
        group(number, frame.here(Element(bool_, (until.register & ~before.register,))))
    b.block(done)
