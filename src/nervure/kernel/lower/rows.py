"""Multi-pass row kernels: loops over rows, and inside a row one pass for each phase, with its data still in cache.

A softmax is three runs over each row: the maximum; the exponentials and their sum; the quotients. A value of one run
that a later one needs is computed again if that is cheap, else kept in the result itself or in scratch memory of the
row's length.

The last axis runs in lanes. If it is reduced, the lanes share a row; else each lane has a row of its own.

Cross-row reductions are computed on the way. A reduction numbers the rows, divides them into blocks of 4,096, and in
each block adds up the rows k, k + 64, k + 128, ... in order for each of 64 lanes. So the loop that threads share runs
over the lanes of all blocks, and one inside of it over the rows of a lane. The totals of a lane, as many as the
elements of a row, stay in the cache meanwhile. A second kernel combines the lanes by the tree and the blocks in order,
as any reduction does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nervure.ir.kinds import as_results
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import Level, OpKind
from nervure.kernel.cluster.steps import Loops
from nervure.kernel.coordinates import Coordinates, Flat, Point, through
from nervure.kernel.ir import (
    BLOCK,
    LANES,
    TOTALS_ORDER,
    Buffer,
    Contract,
    Fold,
    For,
    Reduce,
    Scalar,
    Statement,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex, position_among, substitute_indices
from nervure.kernel.lower.kernel_builder import (
    BufferAssignment,
    Indices,
    KernelBuilder,
    LoweredKernel,
    here,
    initial_value,
    loops_over,
    nested,
    row_point,
)
from nervure.kernel.lower.scalars import converted
from nervure.kernel.lower.values import ValueLowering
from nervure.memory.storage import Storage
from nervure.types.dim import DimLike, dim_min, index, product


class Totals:
    """The scalars that are combined, each for one of the ``outputs`` by the combiner in ``combine``.

    Ops with combiners of their own are in ``folds``, sums of products in ``contractions``.
    """

    def __init__(self, builder: KernelBuilder, ops: Iterable[Op], point: Point) -> None:
        analysis, elements = builder.memory.ops, builder.elements
        self.outputs: list[Value] = []
        self.values: list[Scalar] = []
        self.folds: list[Op] = []
        self.contractions: list[Op] = []
        combine: list[str] = []
        for op in ops:
            structure = analysis.structure(op)
            if analysis.is_contraction(op):
                self.contractions.append(op)
                continue
            if not isinstance(structure.combine, str):
                self.folds.append(op)
                continue
            given = elements.body_at(op, point)
            for output, value in zip(op.outputs, given, strict=True):
                self.outputs.append(output)
                self.values.append(converted(elements.statements, value, (structure.accumulate or value.dtype).compute))
                combine.append(structure.combine)
        self.combine = tuple(combine)


def note(elements: ValueLowering, outputs: Sequence[Value], results: Sequence[Scalar]) -> None:
    """Notes the results as row values, in the types of the ops' outputs; integers wrap as the sum itself does."""
    s = elements.scalars()
    for output, result in zip(outputs, results, strict=True):
        elements.rows[output] = (s.wrap if output.dtype.is_integer else s.convert)(result, output.dtype)


# -- rows ----------------------------------------------------------------------------------------------------------


def lower_rows(step: Loops, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns one kernel."""
    return [Rows(step, memory).lowered()]


class Rows:
    """The kernel of a step of rows. ``more`` are indices beside those of the step's shape; ``places`` are the
    positions of the kept axes, by default their own indices.
    """

    def __init__(self, step: Loops, memory: BufferAssignment, more: Indices = (),
                 places: Mapping[LoopIndex, DimLike] | None = None) -> None:
        assert step.reduced is not None
        self._step, self._memory = step, memory
        self._builder = KernelBuilder(memory, step.shape, step.levels, more)
        self._elements = self._builder.elements
        self._reduced = list(step.reduced)
        self._along_row = step.has_lanes_along_row
        self._places = places or {}
        self._point = self._at(here(step.shape))
        self._held = self._plan_held()

    def lowered(self) -> LoweredKernel:
        """Returns the kernel."""
        body = nested(loops_over(self._step.shape, self._step.kept_axes), self._row(), vector=not self._along_row)
        name = "product" if self._step.has_contraction else "rows"
        return self._builder.finish(name, body, product(self._step.shape), self._step.ops)

    def _row(self) -> list[Statement]:
        """Returns the statements for one row."""
        with self._elements.body() as row:
            for phase in range(self._step.last_run + 1):
                self._row_ops(phase)
                self._run(phase)
            for value in self._step.stored:
                if self._step.levels[value.op] is Level.ROW:
                    point = self._at(row_point(self._step, value))
                    self._builder.store_value(value, point, self._elements.rows[value])
        return row.list

    def _at(self, coordinates: Coordinates) -> Coordinates:
        """Returns coordinates over the indices of the step's shape, at the position of the row."""
        if not self._places:
            return coordinates
        return tuple([substitute_indices(entry, self._places) for entry in coordinates])

    # -- rows and runs -------------------------------------------------------------------------------------

    def _row_ops(self, phase: int) -> None:
        """Computes the row values that depend on the results of earlier runs."""
        for op in self._ops(Level.ROW, phase):
            if self._memory.ops.kind(op) is OpKind.POINTWISE:
                for value in op.outputs:
                    point = self._at(row_point(self._step, value))
                    self._elements.rows[value] = self._elements.of(value, point)

    def _ops(self, level: Level, phase: int) -> list[Op]:
        step = self._step
        return [op for op in step.levels if step.levels[op] == level and step.phases[op] == phase]

    def _run(self, phase: int) -> None:
        """Adds one run over the row: everything of this phase, and the reductions that end with it."""
        step, elements = self._step, self._elements
        ending = [op for op in self._ops(Level.ROW, phase + 1) if self._memory.ops.kind(op) is OpKind.REDUCTION]
        elements.held = {value: place for value, place in self._held.items() if step.phases[value.op] < phase}
        loops = loops_over(step.shape, self._reduced) or [(LoopIndex(len(step.shape)), 1)]
        with elements.body() as body:
            for op in self._ops(Level.FULL, phase):
                for value in op.outputs:
                    elements.of(value, self._point)
            stores = self._stores(phase)
            totals = Totals(self._builder, ending, self._point)
        elements.held = {}
        for op in totals.contractions:
            self._contract(op, loops)
        if totals.values:
            results = tuple([Variable(value.dtype) for value in totals.values])
            elements.statements.add(
                Reduce(results, totals.combine, tuple(loops), tuple(body.list), tuple(totals.values)))
            note(elements, totals.outputs, results)
        elif stores:
            for statement in nested(loops, body.list, vector=self._along_row, parallel=False):
                elements.statements.add(statement)
        for op in totals.folds:
            self._fold(op, loops)

    def _stores(self, phase: int) -> bool:
        """Stores the values of this phase for memory or for later runs; returns whether there are any."""
        step, point, count = self._step, self._point, len(self._elements.statements.list)
        for value in step.stored:
            if step.levels[value.op] is Level.FULL and step.phases[value.op] == phase:
                role = "inout" if value in self._held else "out"
                self._builder.store_value(value, point, self._elements.of(value, point), role)
        for value, (buffer, offset) in self._held.items():
            if buffer.role == "scratch" and step.phases[value.op] == phase:
                self._builder.store(buffer, offset, self._elements.of(value, point))
        return len(self._elements.statements.list) > count

    def _contract(self, op: Op, loops: list[tuple[LoopIndex, DimLike]]) -> None:
        """Adds a sum of products."""
        elements, structure = self._elements, self._memory.ops.structure(op)
        dtype = structure.accumulate or op.outputs[0].dtype.compute
        with elements.body() as body:
            sides = [converted(elements.statements, side, dtype)
                     for side in elements.reads_at(op, self._point)]
        result = Variable(dtype)
        elements.statements.add(Contract(result, tuple(loops), tuple(body.list), *sides))
        note(elements, op.outputs, [result])

    def _fold(self, op: Op, loops: list[tuple[LoopIndex, Any]]) -> None:
        """Adds a reduction with a combiner of its own."""
        elements, structure = self._elements, self._memory.ops.structure(op)
        with elements.body() as body:
            values = elements.body_at(op, self._point)
        left, right, results = [tuple([Variable(value.dtype) for value in values]) for _ in range(3)]
        with elements.body() as combine:
            combined = structure.combine(elements.scalars(), left, right)  # type: ignore[operator,misc]
            combined = tuple([converted(elements.statements, entry, value.dtype)
                              for entry, value in zip(combined, values, strict=True)])
        elements.statements.add(Fold(results, tuple(loops), tuple(body.list), values, left, right,
                                     tuple(combine.list), combined))
        given = results if structure.finish is None else as_results(structure.finish(elements.scalars(), results))
        for output, scalar in zip(op.outputs, given, strict=True):
            elements.rows[output] = converted(elements.statements, scalar, output.dtype)

    # -- values kept between runs -----------------------------------------------------------------------------

    def _plan_held(self) -> dict[Value, tuple[Buffer, Any]]:
        """Returns the values of one run that a later one loads, with their places."""
        step = self._step
        held: dict[Value, tuple[Buffer, Any]] = {}
        for value in step.reloaded:
            if value in step.stored:
                buffer = self._builder.buffer(self._memory.of(value), "inout")
                held[value] = buffer, self._memory.position(value, self._point)
            else:
                size = product([step.shape[axis] for axis in self._reduced])
                buffer = self._builder.scratch(value.dtype, size)
                held[value] = buffer, position_among(loops_over(step.shape, self._reduced))
        return held


# -- cross-row reductions ------------------------------------------------------------------------------------------


def lower_cross_rows(step: Loops, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns two kernels."""
    first = _Lanes(step, memory)
    return [first.lowered(), first.combined()]


class _Lanes(Rows):
    """The row kernel of a cross-row step, whose rows are found by lane and iteration, and the kernel that follows it.
    """

    def __init__(self, step: Loops, memory: BufferAssignment) -> None:
        rank, rows = len(step.shape), product(step.kept)
        self._rows = rows
        self._lane, self._iteration = LoopIndex(rank), LoopIndex(rank + 1)
        lane, iteration = self._lane.dim, self._iteration.dim
        self._blocks = -(-rows // BLOCK)
        block: DimLike = 0 if self._blocks == 1 else lane // LANES
        first = lane if self._blocks == 1 else lane % LANES
        self._iterations = (dim_min(BLOCK, rows - block * BLOCK) - first + (LANES - 1)) // LANES
        row = through(Flat(block * BLOCK + first + iteration * LANES), step.kept)
        self._partial: list[tuple[Value, str, Storage]] = []
        self._lanes = dim_min(self._blocks * LANES, rows)  # with less than 64 rows, each is a lane
        more = [(self._lane, self._lanes), (self._iteration, BLOCK // LANES)]
        places = {LoopIndex(axis): entry for axis, entry in zip(step.kept_axes, row, strict=True)}
        super().__init__(step, memory, more, places)
        self._row_length = product([step.shape[axis] for axis in self._reduced])

    def lowered(self) -> LoweredKernel:
        """Returns the kernel of the rows, with the totals of each lane."""
        rows = self._row()
        with self._elements.body() as body:
            for _, combine, place in self._partial:
                with self._elements.body() as empty:
                    self._builder.store(self._builder.buffer(place), self._own_place(),
                                        initial_value(combine, place.dtype))
                loops = loops_over(self._step.shape, self._reduced)
                body.list.extend(nested(loops, empty.list, parallel=False))
            body.list.append(For(self._iteration, self._iterations, tuple(rows)))
        loop = For(self._lane, self._lanes, tuple(body.list), parallel=True)
        return self._builder.finish("rows", [loop], product(self._step.shape), self._step.ops)

    def _own_place(self) -> DimLike:
        """Returns the position of the lane's totals."""
        return self._lane.dim * self._row_length + position_among(loops_over(self._step.shape, self._reduced))

    def _stores(self, phase: int) -> bool:
        found = super()._stores(phase)
        if phase != self._step.last_run:
            return found
        totals = Totals(self._builder, self._step.cross_row, self._point)
        for value, combine, total in zip(totals.outputs, totals.combine, totals.values, strict=True):
            lengths = [self._step.shape[axis] for axis in self._reduced]
            place = self._memory.temporary(total.dtype, (self._blocks * LANES, *lengths), value)
            self._partial.append((value, combine, place))
            self._builder.store(self._builder.buffer(place, "inout"), self._own_place(), total, combine)
        return True

    def combined(self) -> LoweredKernel:
        """Returns the kernel that combines the lanes and blocks of each column."""
        step, memory, rank = self._step, self._memory, len(self._step.shape)
        lane = LoopIndex(rank + 1)
        block: DimLike = 0 if self._blocks == 1 else LoopIndex(rank).dim
        builder = KernelBuilder(memory, step.shape, step.levels, [(LoopIndex(rank), self._blocks), (lane, LANES)])
        elements, column = builder.elements, position_among(loops_over(step.shape, self._reduced))
        results: list[Scalar] = []
        with elements.body() as body:
            for _, combine, place in self._partial:
                with elements.body() as inner:
                    part = elements.load(builder.buffer(place), (block * LANES + lane.dim) * self._row_length + column)
                total = Variable(place.dtype)
                lanes = dim_min(LANES, self._rows - block * BLOCK)
                reduce = Reduce((total,), (combine,), ((lane, lanes),), tuple(inner.list), (part,))
                results.append(self._over_blocks(builder, reduce))
            note(elements, [value for value, _, _ in self._partial], results)
            point = tuple([index(axis) for axis in self._reduced])
            for value in step.stored:
                if step.levels[value.op] is Level.CROSS_ROW:
                    builder.store_value(value, point, elements.rows[value])
        loops = loops_over(step.shape, self._reduced)
        return builder.finish("columns", nested(loops, body.list), self._row_length * self._blocks * LANES,
                            step.cross_row)

    def _over_blocks(self, builder: KernelBuilder, reduce: Reduce) -> Scalar:
        """Combines the totals of the blocks, each by this reduction, in groups."""
        statements, (total,) = builder.elements.statements, reduce.results
        if self._blocks == 1:
            statements.add(reduce)
            return total
        result, block = Variable(total.dtype), LoopIndex(len(self._step.shape))
        statements.add(Reduce((result,), reduce.combine, ((block, self._blocks),), (reduce,), (total,),
                              order=TOTALS_ORDER))
        return result
