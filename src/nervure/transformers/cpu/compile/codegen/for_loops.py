"""For loops: counted, vectorised, unrolled, or in tiles of columns, as the schedule says.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = "kernel turns():\\n  for i < 8 parallel:\\n    for j < {}:"
>>> ["loop1" in generate(parse_kernel(text.format(extent)), Target.avx2()).text for extent in (8, 1)]
[True, False]

A vector loop around a reduction is one in tiles:

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
>>> "@end_add_float32_8_of_4096" in text, "fadd <32 x float>" in text
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial

from nervure.kernel.ir import BLOCK, LANES, Body, For, Reduce, Scalar, Statement, Tile, Variable, Widths, used
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.schedule.reduce_across_rows import Part, bytes_of, parts_of
from nervure.kernel.tuning import ACCUMULATORS_IN_USE
from nervure.transformers.cpu.compile.codegen.accumulators import (
    AccumulatorLayout,
    Accumulators,
    accumulators_with,
    combined,
    point_values,
    read_spilled,
    row_length,
    spill_bytes,
    total_bytes,
    write_spilled,
)
from nervure.transformers.cpu.compile.codegen.context import Context, Preheader, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Element
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.iterations import (
    counted,
    has_iterations,
    known_iterations,
    nest,
    stored,
    vector_iterations,
)
from nervure.transformers.cpu.compile.codegen.quotients import Quotients, divisions
from nervure.transformers.cpu.compile.codegen.reductions import over_points
from nervure.transformers.cpu.compile.codegen.routine_calls import emit_routine
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.types.dim import bounds, index_symbols
from nervure.types.dtype import int64


@emit_statement.register(For)
def emit_for(loop: For, context: Context) -> None:
    """A loop from 0 to its extent."""
    if loop.routine is not None:
        emit_routine(context, loop)
        return
    if loop.unrolled and loop.widths is not None:
        _emit_copies(context, loop, loop.widths.masked)
        return
    begin, end = context.integer(0), dimension(context, loop.extent)
    if loop.widths is None and bounds(loop.extent)[1] == 1:
        _emit_branch(context, loop, end.register)
        return
    emit_slice(context, loop, begin.register, end.register, has_iterations(loop.extent, context.loops))


def _emit_branch(context: Context, loop: For, count: Register) -> None:
    """A loop of one iteration or none; where that is the same in the whole kernel, none is what is usual."""
    b = context.builder
    context.loops.append((loop.index, loop.extent))
    with b.if_(0 < count, unlikely=not index_symbols(loop.extent)):
        with context.inside(Preheader(b.region(), stored(loop), True)):
            context.keep(("index", loop.index), context.integer(0))
            emit(context, loop.body)
    context.loops.pop()


def emit_slice(context: Context, loop: For, begin: Register, end: Register, is_certain: bool = False) -> None:
    """The iterations of a loop from ``begin`` up to ``end``."""
    context.loops.append((loop.index, loop.extent))
    if loop.widths is not None or loop.tile is not None:
        with nullcontext() if is_certain else context.builder.if_(begin < end):
            _emit_vector_loop(context, loop, begin, end, is_certain)
    else:
        _emit_counted_loop(context, loop, begin, end, is_certain)
    context.loops.pop()


def _emit_counted_loop(context: Context, loop: For, begin: Register, end: Register, is_certain: bool) -> None:
    quotients = Quotients(context, loop.index, [] if loop.parallel else divisions(loop), begin)

    def body(carried: Sequence[Register]) -> Sequence[Register]:
        quotients.keep(carried)
        emit(context, loop.body)
        return quotients.following(carried)

    counted(context, loop.index, (begin, end), Preheader(None, stored(loop), is_certain), quotients.first, body)


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
        _ColumnTiles(context, loop, loop.tile).emit(begin, end)
        return
    preheader = Preheader(context.builder.region(), stored(loop), is_certain)
    assert loop.widths is not None
    vector_iterations(context, loop.index, (begin, end), preheader, loop.widths, partial(emit, context, loop.body))


# -- tiles of columns --------------------------------------------------------------------------------------------


class _ColumnTiles:
    """A vector loop around reductions: a tile of columns at a time, row after row.

    The statements of the body run one part after the other for the whole tile, and each point of a reduction for all
    columns of it; :mod:`nervure.kernel.schedule.reduce_across_rows` says why. What one part leaves for a later one
    waits in memory.
    """

    def __init__(self, context: Context, loop: For, tile: Tile) -> None:
        self._context, self._loop = context, loop
        self._columns, self._lanes = tile
        self._parts = parts_of(loop.body)
        self._waiting = _crossing(self._parts)
        self._memory: dict[Variable, Register] = {}

    def emit(self, begin: Register, end: Register) -> None:
        """The iterations of the loop, a tile at a time."""
        context, b = self._context, self._context.builder
        totals = {variable for part in self._parts if isinstance(part, Reduce) for variable in part.results}
        sizes = [(total_bytes if variable in totals else spill_bytes)(variable.dtype, self._columns)
                 for variable in self._waiting]
        with ExitStack() as stack:
            self._memory = dict(zip(self._waiting, stack.enter_context(context.borrowed(sizes)), strict=True))
            preheader = Preheader(b.region(), stored(self._loop), False)
            tiles = stack.enter_context(b.loop(begin, end, self._columns))
            stack.enter_context(context.inside(preheader))
            stop = b.intrinsic("smin", tiles.index + self._columns, end)
            for part, lanes in zip(self._parts, self._lanes, strict=True):
                if isinstance(part, Reduce):
                    self._reduce(part, lanes, tiles.index, stop)
                elif isinstance(part, For):
                    self._rows(part, lanes, tiles.index, stop)
                else:
                    self._plain(part, lanes, tiles.index, stop)

    def _plain(self, part: Body, lanes: int, start: Register, stop: Register) -> None:
        context = self._context

        def body() -> None:
            self._fetch(part, (), start)
            emit(context, part)
            for variable in [entry for entry in _defined(part) if entry in self._memory]:
                element = context.spread(context.scalar(variable), context.width).element
                write_spilled(element, self._memory[variable], self._columns, self._place(start))

        self._iterations(lanes, (start, stop), body)

    def _rows(self, rows: For, lanes: int, start: Register, stop: Register) -> None:
        """A loop over rows: each of them for all columns of the tile."""
        context = self._context

        def body() -> None:
            self._fetch(rows.body, (), start)
            emit(context, rows.body)

        def row(_: Sequence[Register]) -> Sequence[Register]:
            self._iterations(lanes, (start, stop), body)
            return ()

        nest(context, [(rows.index, rows.extent)], stored(rows), (), row)

    def _reduce(self, reduce: Reduce, lanes: int, start: Register, stop: Register) -> None:
        context, width = self._context, self._context.register_lanes
        with accumulators_with(context, reduce, AccumulatorLayout(self._columns, width, is_each=True),
                        [self._memory[variable] for variable in reduce.results]) as accumulators:
            columns = stop - start
            length = row_length(columns, width)

            def point(number: Register) -> None:
                row = (number & (LANES - 1)) * length

                def body() -> None:
                    self._fetch(reduce.body, reduce.values, start)
                    values = point_values(context, reduce)
                    place = row + self._place(start)
                    accumulators.write(combined(reduce, accumulators.read(place, context.width), values), place)

                self._iterations(lanes, (start, stop), body)

            if len(reduce.indices) > 1:
                over_points(context, reduce, accumulators, columns, point)
            else:
                self._over_rows(reduce, accumulators, columns, point)

    def _over_rows(self, reduce: Reduce, accumulators: Accumulators, columns: Register,
                   point: Callable[[Register], None]) -> None:
        """The points of one index, in an order in which few accumulators are in use for long.

        The rows of a block are taken in groups of neighbours: first all that add to the accumulators of the first
        group, 64 rows from each other, and so on. Each accumulator gets its points in order.
        """
        context, b, (name, extent) = self._context, self._context.builder, reduce.indices[0]
        end, lanes = dimension(context, extent).register, b.constant(I64, LANES)
        group = _quotient(b.constant(I64, ACCUMULATORS_IN_USE), columns * bytes_of(reduce))
        group = b.intrinsic("smax", b.intrinsic("smin", group, lanes), 1)
        accumulators.begin(b.intrinsic("smin", end, lanes), columns)
        context.loops.append((name, extent))
        with b.if_(0 < end):
            preheader = Preheader(b.region(), stored(reduce), has_iterations(extent))
            with b.loop(0, end, BLOCK) as blocks:
                stop = b.intrinsic("smin", blocks.index + BLOCK, end)
                used = b.intrinsic("smin", stop - blocks.index, lanes)
                with b.loop(0, used, group) as groups, b.loop(blocks.index, stop, LANES) as chunks:
                    first = chunks.index + groups.index
                    last = b.intrinsic("smin", chunks.index + b.intrinsic("smin", groups.index + group, lanes), stop)
                    with b.loop(first, last) as rows, context.inside(preheader):
                        context.keep(("index", name), context.here(Element(int64, (rows.index,))))
                        point(rows.index)
                accumulators.end_block(used, b.where(stop < end, used, 0), columns, stop)
        accumulators.finish(end, columns)
        context.loops.pop()

    def _iterations(self, lanes: int, ends: tuple[Register, Register], body: Callable[[], None]) -> None:
        context = self._context
        preheader = Preheader(context.builder.region(), stored(self._loop), True)
        vector_iterations(context, self._loop.index, ends, preheader, Widths((lanes,), context.register_lanes), body)

    def _place(self, start: Register) -> Register:
        assert self._context.lanes is not None
        return self._context.lanes.start.register - start

    def _fetch(self, part: Iterable[Statement], values: Iterable[Scalar], start: Register) -> None:
        """Reads what waits for these statements."""
        context, own = self._context, set(_defined(part))
        for variable in dict.fromkeys([*used(part), *values]):
            if isinstance(variable, Variable) and variable in self._memory and variable not in own:
                place = self._memory[variable]
                found = read_spilled(variable.dtype, place, self._columns, self._place(start), context.width)
                context.keep(variable, context.here(found))


def _quotient(x: Register, y: Register) -> Register:
    return x.builder.emit(I64, f"udiv i64 {x.text}, {y.text}")


def _crossing(parts: Sequence[Part]) -> list[Variable]:
    """The variables that one part defines and another one uses, and all results of reductions."""
    found: list[Variable] = []
    for number, part in enumerate(parts):
        if isinstance(part, Reduce):
            found += part.results
        if isinstance(part, tuple):
            later = {x for other in parts[number + 1:] for x in _used_by(other)}
            found += [variable for variable in _defined(part) if variable in later]
    return found


def _defined(part: Iterable[Statement]) -> list[Variable]:
    return [variable for statement in part for variable in statement.results]


def _used_by(part: Part) -> Sequence[Scalar]:
    if isinstance(part, Reduce):
        return [*used(part.body), *part.values]
    return used(part.body if isinstance(part, For) else part)
