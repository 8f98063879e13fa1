"""Reductions of one block, with points in lanes or one after the other, and folds.

A lane without a point holds the unit, and what is combined with the unit stays what it is, because every lane starts
from the unit (so that no sum is -0.0). Only products of complex numbers are an exception: infinity times 1 + 0i is NaN.
What the schedule has done before is in :mod:`nervure.kernel.schedule.reduction_strategy`.

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

>>> long = generate(parse_kernel(text.format(n=1000)), Target.avx2()).text
>>> [f"fmul <{lanes} x float>" in long for lanes in (64, 32, 16, 8, 4, 2)]
[True, True, True, True, True, True]

Where these fill the lanes, there is no code for last ones that do not:

>>> [generate(parse_kernel(text.format(n=n)), Target.avx2()).text.count("fmul <64 x float>") for n in (1000, 1024)]
[2, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nervure.errors import InternalError
from nervure.kernel.combiners import FUNCTIONS, keeps_units, unit
from nervure.kernel.ir import BLOCK_ORDER, CHAIN_ORDER, DEFAULT_ORDER, LANES, TOTALS_ORDER, Fold, Reduce
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.room import divides
from nervure.transformers.cpu.compile.codegen.context import Context, Preheader, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Element, Elements, choose, flat, literal, select, shaped
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.iterations import has_iterations, in_lanes, nest, stored
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.types.dtype import bool_


@emit_statement.register(Reduce)
def emit_reduce(reduce: Reduce, context: Context) -> None:
    """Emits a reduction."""
    if reduce.strategy is None:
        raise InternalError("a reduction does not say how it is computed")
    name, lanes = reduce.strategy
    build = {"vector": _at_once, "registers": _in_registers, "chain": _in_chain}.get(name)
    orders = (TOTALS_ORDER, CHAIN_ORDER) if name == "chain" else (DEFAULT_ORDER, BLOCK_ORDER)
    if build is None or reduce.order not in orders:
        raise InternalError(f"there is no code for a reduction in {reduce.order} as {name}")
    for variable, result in zip(reduce.results, build(context, reduce, lanes), strict=True):
        context.keep(variable, context.here(result))


def _in_chain(context: Context, reduce: Reduce, lanes: int) -> Elements:
    """Combines one point after the other, of one group at most."""
    start = [context.spread(context.scalar(value), context.width).element for value in reduce.start] or \
        _units(context.builder, reduce, context.width)
    return nest(context, reduce.indices, stored(reduce), start,
                lambda carried: _combined(reduce, carried, _values(context, reduce)))


def _at_once(context: Context, reduce: Reduce, lanes: int) -> Elements:
    """Reduces over one index of a few points, some of them at once, each of which has a lane of its own.

    The tree starts where it meets the first two lanes that have points: those without one hold the unit.
    """
    b, (name, extent) = context.builder, reduce.indices[0]
    assert isinstance(extent, int)
    groups, preheader = [], Preheader(b.region(), stored(reduce), True)
    context.loops.append((name, extent))
    for start in range(0, extent, lanes):
        left = b.constant(I64, extent - start) if start + lanes > extent else None
        body, given = fresh_copy(reduce.body, reduce.values)  # what is known of one group holds for no other
        group = replace(reduce, body=body, values=given)
        values, mask = _points(context, group, preheader, b.constant(I64, start), lanes, left)
        groups.append(_combined(reduce, _units(b, reduce, lanes), values, mask))
    context.loops.pop()
    return _tree(reduce, groups)


def _in_registers(context: Context, reduce: Reduce, lanes: int) -> Elements:
    """Reduces over one index of a block at most, with a point for each lane of the order at once. Points that fill the
    lanes have no code for last ones that do not.
    """
    b, (name, extent) = context.builder, reduce.indices[0]
    start, wide, end = _units(b, reduce), _units(b, reduce, lanes), dimension(context, extent).register
    is_certain = has_iterations(extent, context.loops)
    context.loops.append((name, extent))

    def build() -> Elements:
        preheader = Preheader(b.region(), stored(reduce), is_certain)

        def points(carried: Elements, at: Register, count: Register | None = None) -> Elements:
            return _combined(reduce, carried, *_points(context, reduce, preheader, at, lanes, count))

        fills = divides(lanes, extent)
        with b.loop(0, end if fills else end - (lanes - 1), lanes, flat(wide), is_certain=fills) as chunks:
            chunks.carried = flat(points(shaped(wide, chunks.carried), chunks.index))
        at, found = chunks.index, shaped(wide, chunks.results)
        if not fills:
            whole = found
            found = choose(at < end, whole, lambda: points(whole, at, end - at))
        total = _tree(reduce, [found])
        return total if keeps_units(reduce) or reduce.order == BLOCK_ORDER else _combined(reduce, start, total)

    results = build() if is_certain else choose(0 < end, start, build)
    context.loops.pop()
    return results


def _points(context: Context, reduce: Reduce, preheader: Preheader, start: Register, width: int,
            count: Register | None) -> tuple[Elements, Register | None]:
    """Returns what ``width`` points give, and the mask of the first ``count`` of them if there are no more."""
    (name, _), = reduce.indices
    return in_lanes(context, name, preheader, start, width, count, partial(_values, context, reduce))


def _values(context: Context, reduce: Reduce) -> Elements:
    """Emits the body, and returns what it gives in all lanes."""
    emit(context, reduce.body)
    return [context.spread(context.scalar(value), context.width).element for value in reduce.values]


# -- combined elements -------------------------------------------------------------------------------------------------


def _units(b: Builder, reduce: Reduce, width: int = 1) -> Elements:
    return [literal(b, unit(combine, variable.dtype).value, variable.dtype, width)
            for combine, variable in zip(reduce.combine, reduce.results, strict=True)]


def _combined(reduce: Reduce, left: Elements, right: Elements, mask: Register | None = None) -> Elements:
    """Returns the left and the right of each result combined; the left alone in lanes outside of the mask."""
    results = []
    for combine, x, y in zip(reduce.combine, left, right, strict=True):
        both = apply(FUNCTIONS[combine], [x, y], x.dtype)
        results.append(both if mask is None else select(mask, both, x))
    return results


def _tree(reduce: Reduce, groups: Sequence[Elements]) -> Elements:
    """Returns all lanes of all groups combined by halves: lane j with lane j + half."""
    half = LANES // 2
    while len(groups) > 1:
        groups = [_combined(reduce, groups[lane], groups[lane + half]) if lane + half < len(groups) else groups[lane]
                  for lane in range(min(half, len(groups)))]
        half //= 2
    found, = groups
    width = found[0].lanes
    while width > 1:
        width //= 2
        found = _combined(reduce, _part(found, 0, width), _part(found, width, width))
    return found


def _part(elements: Elements, start: int, width: int) -> list[Element]:
    lanes = range(start, start + width)
    return [x.map(lambda register: register.builder.shuffle(register, register, lanes)) for x in elements]


# -- folds -------------------------------------------------------------------------------------------------------------


@emit_statement.register(Fold)
def emit_fold(fold: Fold, context: Context) -> None:
    """Emits a fold: one point after the other, in a vector loop in each lane.

    The first point meets zeros, whose combination is thrown away.
    """
    b, width = context.builder, context.width
    zeros = [literal(b, 0, variable.dtype, width) for variable in fold.results]

    def point(carried: Elements) -> Elements:
        is_first, *before = carried
        emit(context, fold.body)
        values = [context.spread(context.scalar(value), width) for value in fold.values]
        for variable, element in zip(fold.left, before, strict=True):
            context.keep(variable, context.here(element))
        for variable, value in zip(fold.right, values, strict=True):
            context.keep(variable, value)
        emit(context, fold.combine)
        combined = [context.spread(context.scalar(value), width).element for value in fold.combined]
        return [literal(b, False, bool_), *[select(is_first.register, value.element, both)
                                            for value, both in zip(values, combined, strict=True)]]

    _, *results = nest(context, fold.indices, stored(fold), [literal(b, True, bool_), *zeros], point)
    for variable, element in zip(fold.results, results, strict=True):
        context.keep(variable, context.here(element))
