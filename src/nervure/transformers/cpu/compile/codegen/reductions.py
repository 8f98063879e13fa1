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

Of many points 64 are reduced at once; the tree over them comes last:

>>> text = generate(parse_kernel(text.format(n=1000)), Target.avx2()).text
>>> [f"fmul <{lanes} x float>" in text for lanes in (64, 32, 16, 8, 4, 2)]
[True, True, True, True, True, True]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nervure.errors import InternalError
from nervure.kernel.combiners import keeps_units
from nervure.kernel.ir import BLOCK, DEFAULT_ORDER, LANES, TOTALS_ORDER, Fold, Reduce
from nervure.kernel.rewriting import fresh_copy
from nervure.transformers.cpu.compile.codegen.accumulators import (
    AccumulatorLayout,
    Accumulators,
    Elements,
    accumulators_of,
    combined,
    flat,
    lane_tree,
    listed_tree,
    point_values,
    shaped,
    units,
)
from nervure.transformers.cpu.compile.codegen.context import (
    Context,
    Lanes,
    Preheader,
    Value,
    emit,
    emit_statement,
)
from nervure.transformers.cpu.compile.codegen.element import Element, literal
from nervure.transformers.cpu.compile.codegen.expressions import dimension, product_of_two
from nervure.transformers.cpu.compile.codegen.iterations import (
    first_lanes,
    guarded,
    has_iterations,
    nest,
    stored,
)
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I1, I64
from nervure.types.dtype import bool_, int64

Registers = Sequence[Register]


@emit_statement.register(Reduce)
def emit_reduce(reduce: Reduce, context: Context) -> None:
    """A reduction."""
    results = _reduced(context, reduce)
    for variable, result in zip(reduce.results, results, strict=True):
        context.keep(variable, context.here(result))


def _reduced(context: Context, reduce: Reduce) -> Elements:
    strategy = reduce.strategy
    if strategy is None:
        raise InternalError("a reduction does not say how it is computed")
    orders = {"lanes": (DEFAULT_ORDER, TOTALS_ORDER), "chain": (TOTALS_ORDER,)}
    if reduce.order not in orders.get(strategy.name, (DEFAULT_ORDER,)):
        raise InternalError(f"there is no code for a reduction in {reduce.order} as {strategy.name}")
    build = {"lanes": _lane_by_lane, "registers": _in_registers, "chain": _in_chain}.get(strategy.name)
    if build is not None:
        return build(context, reduce)
    wide = {"vector": _at_once, "memory": _in_memory}[strategy.name]
    return wide(context, reduce, strategy.lanes)


def _in_chain(context: Context, reduce: Reduce) -> Elements:
    """One point after the other, of one group at most."""
    start = units(context.builder, reduce, context.width)

    def point(carried: Registers) -> Registers:
        return flat(combined(reduce, shaped(start, carried), point_values(context, reduce)))

    return shaped(start, nest(context, reduce.indices, stored(reduce), flat(start), point))


# -- each lane for itself ----------------------------------------------------------------------------------------------


def _lane_by_lane(context: Context, reduce: Reduce) -> Elements:
    width = context.width
    layout = AccumulatorLayout(width, min(width, context.register_lanes), is_each=True)
    with accumulators_of(context, reduce, layout) as accumulators:
        def point(number: Register) -> None:
            place = (number & (reduce.order.lanes - 1)) * width
            values = point_values(context, reduce)
            accumulators.write(combined(reduce, accumulators.read(place, width), values), place)

        over_points(context, reduce, accumulators, context.builder.constant(I64, width), point)
        return accumulators.results(0, width)


def over_points(context: Context, reduce: Reduce, accumulators: Accumulators, columns: Register,
                point: Callable[[Register], None]) -> None:
    """The points in order, each of which is given its number and adds to row ``number % lanes`` of the accumulators."""
    lanes, block, _ = reduce.order
    b, all_rows = context.builder, context.builder.constant(I64, lanes)
    rows = b.intrinsic("smin", _count(context, reduce), lanes) if keeps_units(reduce) else all_rows
    accumulators.begin(rows, columns)

    def one(carried: Sequence[Register]) -> Sequence[Register]:
        point(carried[0])
        following = carried[0] + 1
        with b.if_((following & (block - 1)).equal(0), unlikely=True):
            accumulators.end_block(all_rows, rows, columns, following)
        return [following]

    number, = nest(context, reduce.indices, stored(reduce), [b.constant(I64, 0)], one)
    rest = number & (block - 1)
    with b.if_(rest.not_equal(0)):
        used = b.where(number < block, b.intrinsic("smin", rest, rows), all_rows)
        accumulators.end_block(used, b.constant(I64, 0), columns)
    accumulators.finish(number, columns)


def _count(context: Context, reduce: Reduce) -> Register:
    """The number of points."""
    count = context.integer(1)
    for _, extent in reduce.indices:
        count = product_of_two(context, count, dimension(context, extent))
    return count.register


# -- the innermost index in lanes ----------------------------------------------------------------------------------


def _at_once(context: Context, reduce: Reduce, width: int) -> Elements:
    """Reduces over one index of a few points, ``width`` of them at once, each of which has a lane of its own.

    The tree starts where it meets the first two lanes that have points: those without one hold the unit.
    """
    b, (name, extent) = context.builder, reduce.indices[0]
    assert isinstance(extent, int)
    groups, preheader = [], Preheader(b.region(), stored(reduce), True)
    context.loops.append((name, extent))
    for start in range(0, extent, width):
        left = b.constant(I64, extent - start) if start + width > extent else None
        body, given = fresh_copy(reduce.body, reduce.values)  # what is known of one group holds for no other
        group = replace(reduce, body=body, values=given)
        values, mask = _points(context, group, preheader, b.constant(I64, start), width, left)
        groups.append(combined(reduce, units(b, reduce, width), values, mask))
    context.loops.pop()
    return [lane_tree(combine, x) for combine, x in zip(reduce.combine, listed_tree(reduce, groups), strict=True)]


def _in_registers(context: Context, reduce: Reduce) -> Elements:
    """Reduces over one index of a block at most, with 64 points at once."""
    b, (name, extent) = context.builder, reduce.indices[0]
    start, wide, end = units(b, reduce), units(b, reduce, LANES), dimension(context, extent).register
    is_certain = has_iterations(extent, context.loops)
    context.loops.append((name, extent))

    def build() -> Registers:
        preheader = Preheader(b.region(), stored(reduce), is_certain)

        def points(carried: Registers, at: Register, count: Register | None = None) -> Registers:
            return flat(combined(reduce, shaped(wide, carried), *_points(context, reduce, preheader, at, LANES, count)))

        with b.loop(0, end - (LANES - 1), LANES, flat(wide)) as chunks:
            chunks.carried = list(points(chunks.carried, chunks.index))
        at, whole = chunks.index, chunks.results
        lanes = shaped(wide, guarded(b, at < end, whole, lambda: points(whole, at, end - at)))
        made = [lane_tree(combine, x) for combine, x in zip(reduce.combine, lanes, strict=True)]
        return flat(made if keeps_units(reduce) else combined(reduce, start, made))

    results = build() if is_certain else guarded(b, 0 < end, flat(start), build)
    context.loops.pop()
    return shaped(start, results)


def _points(context: Context, reduce: Reduce, preheader: Preheader, start: Register, width: int,
            count: Register | None) -> tuple[Elements, Register | None]:
    """What ``width`` points give, and the mask of the first ``count`` of them if there are no more."""
    with context.inside(preheader):
        mask = None if count is None else first_lanes(context, count, width)
        with context.vector(Lanes(reduce.indices[0][0], context.here(Element(int64, (start,))), width, mask)):
            return point_values(context, reduce), mask.register if mask else None


def _in_memory(context: Context, reduce: Reduce, width: int) -> Elements:
    """Reduces over rows of points, each of which starts in the lane where the one before it has ended; ``width`` points
    at once.
    """
    b = context.builder
    all_rows = b.constant(I64, LANES // width)
    with accumulators_of(context, reduce, AccumulatorLayout(width, width, is_each=False)) as accumulators:
        columns = b.constant(I64, width)
        accumulators.begin(all_rows, columns)

        def row(carried: Registers) -> Registers:
            return [_row(context, reduce, accumulators, carried[0], width)]

        number, = nest(context, reduce.indices[:-1], stored(reduce), [b.constant(I64, 0)], row)
        with b.if_((number & (BLOCK - 1)).not_equal(0)):
            accumulators.end_block(all_rows, b.constant(I64, 0), columns)
        accumulators.finish(number, columns)
        return accumulators.results(0, 1)


def _row(context: Context, reduce: Reduce, accumulators: Accumulators, first: Register, width: int) -> Register:
    """The points of the innermost index, cut where blocks end; the number of the point after them."""
    b, (name, extent) = context.builder, reduce.indices[-1]
    end = first + dimension(context, extent).register
    context.loops.append((name, extent))

    with b.if_(first < end):
        preheader = Preheader(b.region(), stored(reduce), has_iterations(extent))

        def group(number: Register, mask: Value | None) -> None:
            at = context.here(Element(int64, (number - first,)))
            with context.vector(Lanes(name, at, width, mask)):
                values = point_values(context, reduce)
            place = number & (LANES - 1)
            before = accumulators.read(place, width)
            accumulators.write(combined(reduce, before, values, mask.register if mask else None), place)

        with b.loop(_block_of(first), _block_of(end - 1) + 1) as blocks:
            stop = (blocks.index + 1) * BLOCK
            low, high = b.intrinsic("smax", first, blocks.index * BLOCK), b.intrinsic("smin", end, stop)
            with b.loop(low & -width, high, width) as groups:
                _groups(context, preheader, groups.index, (low, high), width, group)
            with b.if_(high.equal(stop), unlikely=True):
                rows = b.constant(I64, LANES // width)
                accumulators.end_block(rows, rows, b.constant(I64, width), stop)
    context.loops.pop()
    return end


def _block_of(number: Register) -> Register:
    return number.shift_right(BLOCK.bit_length() - 1)


def _groups(context: Context, preheader: Preheader, number: Register, ends: tuple[Register, Register], width: int,
            group: Callable[[Register, Value | None], None]) -> None:
    """The points in ``width`` lanes, of which those from the first of the ends up to the second are due."""
    b, (low, high) = context.builder, ends
    if width == 1:
        with context.inside(preheader):
            group(number, None)
        return
    whole, part, done = b.label("whole"), b.label("part"), b.label("done")
    b.branch((low <= number) & (number + width <= high), whole, part)
    b.block(whole)
    with context.inside(preheader):
        group(number, None)
    b.jump(done)
    b.block(part)
    with context.inside(preheader):
        before = first_lanes(context, low - number, width)
        until = first_lanes(context, high - number, width)
        group(number, context.here(Element(bool_, (until.register & ~before.register,))))
    b.block(done)


# -- folds -------------------------------------------------------------------------------------------------------------


@emit_statement.register(Fold)
def emit_fold(fold: Fold, context: Context) -> None:
    """A fold: one point after the other, in a vector loop in each lane.

    The first point meets zeros, whose combination is thrown away.
    """
    b, width = context.builder, context.width
    zeros = [literal(b, 0, variable.dtype, width) for variable in fold.results]

    def point(carried: Sequence[Register]) -> Sequence[Register]:
        is_first, *before = carried
        emit(context, fold.body)
        values = [context.spread(context.scalar(value), width) for value in fold.values]
        for variable, element in zip(fold.left, shaped(zeros, before), strict=True):
            context.keep(variable, context.here(element))
        for variable, value in zip(fold.right, values, strict=True):
            context.keep(variable, value)
        emit(context, fold.combine)
        combined = flat([context.spread(context.scalar(value), width).element for value in fold.combined])
        following = [b.where(is_first, new, both)
                     for new, both in zip(flat([value.element for value in values]), combined, strict=True)]
        return [b.constant(I1, False), *following]

    _, *results = nest(context, fold.indices, stored(fold), [b.constant(I1, True), *flat(zeros)], point)
    for variable, element in zip(fold.results, shaped(zeros, results), strict=True):
        context.keep(variable, context.here(element))
