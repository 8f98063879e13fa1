"""Reductions: in which of six ways one is built. All keep the one order.

* The points are few and their number is known: one after the other, unrolled.
* In a vector loop each lane reduces for itself; its 64 accumulators are rows in memory.
* Otherwise the innermost index runs in lanes. At most 64 points of one index each have a lane of their own, and
  nothing is carried from one to the next;
* where the body is short and there is one index, 64 points at once, with the accumulators in registers;
* else a register's lanes at once, with the accumulators in memory, at whatever lane a row of points starts.

>>> from nervure.kernel.parser import parse_kernel
>>> text = "kernel ones():\\n  v0 = reduce add over i < {}:\\n    give 1.0_f32"
>>> [is_unrolled(parse_kernel(text.format(extent)).body[0], in_lanes=True) for extent in (9, 100)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from nervure.kernel.ir import BLOCK, LANES, Reduce, substituted, walk
from nervure.kernel.rewriting import fresh_copy
from nervure.transformers.cpu.codegen.combining import (
    Elements,
    combined,
    keeps_units,
    listed_tree,
    point_values,
    units,
)
from nervure.transformers.cpu.codegen.expressions import dimension, product_of_two
from nervure.transformers.cpu.codegen.frame import Frame
from nervure.transformers.cpu.codegen.loops import nest, stored
from nervure.transformers.cpu.codegen.reductions_in_lanes import (
    reduce_at_once,
    reduce_in_memory,
    reduce_in_parts,
    reduce_in_registers,
)
from nervure.transformers.cpu.codegen.slots import Layout, Slots, slots_of
from nervure.transformers.cpu.codegen.widths import heavy_width, is_light
from nervure.transformers.cpu.llvm.builder import Register
from nervure.transformers.cpu.llvm.types import I64

_UNROLLED = 16         # points that are built one after the other
_IN_REGISTERS = 24     # statements of a body that runs for 64 points at once
_SCALAR_UNROLLED = 4   # the same, where they could run in lanes
_GROUPS = 4            # copies of a longer body


def build_reduce(frame: Frame, reduce: Reduce) -> None:
    """Builds a reduction."""
    results = _reduced(frame, without_ones(reduce))
    for variable, result in zip(reduce.results, results, strict=True):
        frame.keep(variable, frame.here(result))


def without_ones(reduce: Reduce) -> Reduce:
    """The reduction without the indices that have one value; where all have, the last one stays."""
    indices = tuple([(index, extent) for index, extent in reduce.indices if extent != 1]) or reduce.indices[-1:]
    if len(indices) == len(reduce.indices):
        return reduce
    single = {index: 0 for index, _ in reduce.indices if index not in dict(indices)}
    return replace(reduce, indices=indices, body=substituted(reduce.body, single))


def is_unrolled(reduce: Reduce, in_lanes: bool) -> bool:
    """Whether its points are built one after the other."""
    extents = [extent for _, extent in reduce.indices if isinstance(extent, int)]
    if len(extents) < len(reduce.indices) or not keeps_units(reduce):
        return False
    return 0 < prod(extents) <= (_UNROLLED if in_lanes else _SCALAR_UNROLLED)


def _reduced(frame: Frame, reduce: Reduce) -> Elements:
    if is_unrolled(reduce, frame.lanes is not None):
        return _unrolled(frame, reduce)
    if frame.lanes is not None:
        return _lane_by_lane(frame, reduce)
    is_short = len(tuple(walk(reduce.body))) <= _IN_REGISTERS
    width = heavy_width(reduce.body, frame.register_lanes)
    if len(reduce.indices) == 1 and is_short and is_light(reduce.body, reduce.indices[0][0]):
        return reduce_at_once(frame, reduce, LANES) if _has_few(reduce, LANES) else reduce_in_registers(frame, reduce)
    if _has_few(reduce, min(_GROUPS * width, LANES)):
        return reduce_at_once(frame, reduce, width)
    if len(reduce.indices) == 1 and keeps_units(reduce):
        return reduce_in_parts(frame, reduce, width)
    return reduce_in_memory(frame, reduce, width)


def _has_few(reduce: Reduce, most: int) -> bool:
    """Whether its points, over one index, are known to be so many at most."""
    (_, extent), *others = reduce.indices
    return not others and isinstance(extent, int) and 0 < extent <= most and keeps_units(reduce)


# -- few points ----------------------------------------------------------------------------------------------------


def _unrolled(frame: Frame, reduce: Reduce) -> Elements:
    lanes = []
    for point in product(*[range(int(str(extent))) for _, extent in reduce.indices]):
        numbers = dict(zip([index for index, _ in reduce.indices], point, strict=True))
        body, values = fresh_copy(reduce.body, reduce.values, numbers)
        copy = replace(reduce, body=body, values=values)
        lanes.append(combined(reduce, units(frame.builder, reduce, frame.width), point_values(frame, copy)))
    return listed_tree(reduce, lanes)


# -- each lane for itself ----------------------------------------------------------------------------------------------


def _lane_by_lane(frame: Frame, reduce: Reduce) -> Elements:
    width = frame.width
    with slots_of(frame, reduce, Layout(width, min(width, frame.register_lanes), is_each=True)) as slots:
        def point(number: Register) -> None:
            place = (number & (LANES - 1)) * width
            values = point_values(frame, reduce)
            slots.write(combined(reduce, slots.read(place, width), values), place)

        over_points(frame, reduce, slots, frame.builder.constant(I64, width), point)
        return slots.results(0, width)


def over_points(frame: Frame, reduce: Reduce, slots: Slots, columns: Register,
                point: Callable[[Register], None]) -> None:
    """The points in order, each of which is given its number and adds to row ``number % 64`` of the accumulators."""
    b, all_rows = frame.builder, frame.builder.constant(I64, LANES)
    rows = b.intrinsic("smin", _count(frame, reduce), LANES) if keeps_units(reduce) else all_rows
    slots.begin(rows, columns)

    def one(carried: Sequence[Register]) -> Sequence[Register]:
        point(carried[0])
        following = carried[0] + 1
        with b.if_((following & (BLOCK - 1)).equal(0), unlikely=True):
            slots.end_block(all_rows, rows, columns)
        return [following]

    number, = nest(frame, reduce.indices, stored(reduce), [b.constant(I64, 0)], one)
    rest = number & (BLOCK - 1)
    with b.if_(rest.not_equal(0)):
        used = b.where(number < BLOCK, b.intrinsic("smin", rest, rows), all_rows)
        slots.end_block(used, b.constant(I64, 0), columns)


def _count(frame: Frame, reduce: Reduce) -> Register:
    """The number of points."""
    count = frame.integer(1)
    for _, extent in reduce.indices:
        count = product_of_two(frame, count, dimension(frame, extent))
    return count.register
