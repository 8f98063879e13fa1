"""Reductions whose innermost index runs in lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure.kernel.ir import BLOCK, LANES, Reduce
from nervure.transformers.cpu.codegen.combining import (
    Elements,
    Slots,
    combined,
    flat,
    point_values,
    shaped,
    tree,
    units,
)
from nervure.transformers.cpu.codegen.element import Element
from nervure.transformers.cpu.codegen.frame import Frame, Front, Lanes, Value
from nervure.transformers.cpu.codegen.loops import first_lanes, guarded, has_turns, nest, stored
from nervure.transformers.cpu.llvm.builder import Register
from nervure.transformers.cpu.llvm.types import I64
from nervure.types.dim import DimLike
from nervure.types.dtype import bool_, int64

Indices = Sequence[tuple[str, DimLike]]
Registers = Sequence[Register]


def reduce_in_registers(frame: Frame, reduce: Reduce, index: tuple[str, DimLike]) -> Elements:
    """Reduces over one index with 64 points at once."""
    b, (name, extent) = frame.builder, index
    start, end = units(b, reduce), frame.size(extent).register
    wide = units(b, reduce, LANES)
    frame.loops.append(index)

    def build() -> Registers:
        front = Front(b.region(), stored(reduce), has_turns(extent))

        def points(carried: Registers, at: Register, count: Register | None = None) -> Registers:
            with frame.inside(front):
                mask = None if count is None else first_lanes(frame, count, LANES)
                with frame.vector(Lanes(name, frame.here(Element(int64, (at,))), LANES, mask)):
                    values = point_values(frame, reduce)
                return flat(combined(reduce, shaped(wide, carried), values, mask.register if mask else None))

        with b.loop(0, end, BLOCK, flat(start)) as blocks:
            stop = b.intrinsic("smin", blocks.index + BLOCK, end)
            with b.loop(blocks.index, stop - (LANES - 1), LANES, flat(wide)) as chunks:
                chunks.carried = list(points(chunks.carried, chunks.index))
            at, lanes = chunks.index, chunks.results
            lanes = list(guarded(b, at < stop, lanes, lambda: points(lanes, at, stop - at)))
            total = combined(reduce, shaped(start, blocks.carried), tree(reduce, shaped(wide, lanes)))
            blocks.carried = flat(total)
        return blocks.results

    results = guarded(b, 0 < end, flat(start), build)
    frame.loops.pop()
    return shaped(start, results)


def reduce_in_memory(frame: Frame, reduce: Reduce, indices: Indices) -> Elements:
    """Reduces over rows of points, each of which starts in the lane where the one before it has ended."""
    b, width = frame.builder, frame.register_lanes
    slots = Slots(frame, reduce, LANES // width, width)
    rows = LANES // width
    slots.clear(rows)
    start = units(b, reduce)

    def finish(totals: Registers) -> Registers:
        finished = flat(combined(reduce, shaped(start, totals), tree(reduce, slots.read(0, LANES))))
        slots.clear(rows)
        return finished

    def row(carried: Registers) -> Registers:
        return _row(frame, reduce, indices[-1], slots, carried, finish)

    carried = [b.constant(I64, 0), *flat(start)]
    number, *totals = nest(frame, indices[:-1], stored(reduce), carried, row)
    is_open = (number & (BLOCK - 1)).not_equal(0)
    return shaped(start, guarded(b, is_open, totals, lambda: finish(totals)))


def _row(frame: Frame, reduce: Reduce, index: tuple[str, DimLike], slots: Slots, carried: Registers,
         finish: Callable[[Registers], Registers]) -> Registers:
    """The points of the innermost index, cut where blocks end."""
    b, width, (name, extent) = frame.builder, frame.register_lanes, index
    first, *totals = carried
    end = first + frame.size(extent).register
    frame.loops.append(index)

    def build() -> Registers:
        front = Front(b.region(), stored(reduce), has_turns(extent))

        def group(number: Register, mask: Value | None) -> None:
            at = frame.here(Element(int64, (number - first,)))
            with frame.vector(Lanes(name, at, width, mask)):
                values = point_values(frame, reduce)
            place = number & (LANES - 1)
            slots.write(combined(reduce, slots.read(place), values, mask.register if mask else None), place)

        with b.loop(_block_of(first), _block_of(end - 1) + 1, 1, totals) as blocks:
            stop = (blocks.index + 1) * BLOCK
            low, high = b.intrinsic("smax", first, blocks.index * BLOCK), b.intrinsic("smin", end, stop)
            with b.loop(low & -width, high, width) as groups:
                _groups(frame, front, groups.index, low, high, group)
            blocks.carried = list(guarded(b, high.equal(stop), blocks.carried, lambda: finish(blocks.carried)))
        return blocks.results

    results = guarded(b, first < end, totals, build)
    frame.loops.pop()
    return [end, *results]


def _block_of(number: Register) -> Register:
    return number.shift_right(BLOCK.bit_length() - 1)


def _groups(frame: Frame, front: Front, number: Register, low: Register, high: Register,
            group: Callable[[Register, Value | None], None]) -> None:
    """The points in one register's lanes, of which those from ``low`` up to ``high`` are due."""
    b, width = frame.builder, frame.register_lanes
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
