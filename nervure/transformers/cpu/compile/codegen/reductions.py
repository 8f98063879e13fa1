"""Reductions, each in the way that its strategy says; see :mod:`nervure.kernel.schedule.reduction_strategy`. Folds.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = '''
... kernel product(in x: f32[{n}], out y: f32[1]):
...   v0 = reduce multiply over i < {n}:
...     v1 = x[i]
...     give v1
...   y[0] = v0
... '''
>>> ["loop0" in generate(parse_kernel(text.format(n=n)), Target.avx2()).text for n in (3, 30, 300)]
[False, False, True]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

from nervure.errors import InternalError
from nervure.kernel.combining import keeps_units
from nervure.kernel.ir import BLOCK, DEFAULT_ORDER, LANES, Fold, Reduce
from nervure.kernel.rewriting import fresh_copy
from nervure.transformers.cpu.compile.codegen.combining import (
    Elements,
    combined,
    flat,
    listed_tree,
    point_values,
    shaped,
    units,
)
from nervure.transformers.cpu.compile.codegen.element import literal
from nervure.transformers.cpu.compile.codegen.expressions import dimension, product_of_two
from nervure.transformers.cpu.compile.codegen.frame import Frame, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.loops import nest, stored
from nervure.transformers.cpu.compile.codegen.reductions_in_lanes import (
    reduce_at_once,
    reduce_in_memory,
    reduce_in_parts,
    reduce_in_registers,
)
from nervure.transformers.cpu.compile.codegen.slots import Layout, Slots, slots_of
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I1, I64


@emit_statement.register(Reduce)
def emit_reduce(reduce: Reduce, frame: Frame) -> None:
    """A reduction."""
    results = _reduced(frame, reduce)
    for variable, result in zip(reduce.results, results, strict=True):
        frame.keep(variable, frame.here(result))


def _reduced(frame: Frame, reduce: Reduce) -> Elements:
    strategy = reduce.strategy
    if strategy is None:
        raise InternalError("a reduction does not say how it is computed")
    if reduce.order != DEFAULT_ORDER:
        raise InternalError(f"there is no code for a reduction in {reduce.order}")
    build = {"unrolled": _unrolled, "lanes": _lane_by_lane, "registers": reduce_in_registers}.get(strategy.name)
    if build is not None:
        return build(frame, reduce)
    wide = {"vector": reduce_at_once, "parts": reduce_in_parts, "memory": reduce_in_memory}[strategy.name]
    return wide(frame, reduce, strategy.lanes)


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


# -- folds -------------------------------------------------------------------------------------------------------------


@emit_statement.register(Fold)
def emit_fold(fold: Fold, frame: Frame) -> None:
    """A fold: one point after the other, in a vector loop in each lane.

    The first point meets zeros, whose combination is thrown away.
    """
    b, width = frame.builder, frame.width
    zeros = [literal(b, 0, variable.dtype, width) for variable in fold.results]

    def point(carried: Sequence[Register]) -> Sequence[Register]:
        is_first, *before = carried
        emit(frame, fold.body)
        values = [frame.spread(frame.scalar(value), width) for value in fold.values]
        for variable, element in zip(fold.left, shaped(zeros, before), strict=True):
            frame.keep(variable, frame.here(element))
        for variable, value in zip(fold.right, values, strict=True):
            frame.keep(variable, value)
        emit(frame, fold.combine)
        combined = flat([frame.spread(frame.scalar(value), width).element for value in fold.combined])
        following = [b.where(is_first, new, both)
                     for new, both in zip(flat([value.element for value in values]), combined, strict=True)]
        return [b.constant(I1, False), *following]

    _, *results = nest(frame, fold.indices, stored(fold), [b.constant(I1, True), *flat(zeros)], point)
    for variable, element in zip(fold.results, shaped(zeros, results), strict=True):
        frame.keep(variable, frame.here(element))
