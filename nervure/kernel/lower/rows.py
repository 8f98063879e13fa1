"""Row kernels: loops over rows, and inside a row one run for each phase, with the row's data still in cache.

A softmax is three runs over each row: the maximum; the exponentials and their sum; the quotients. What one run
computes and a later one needs is computed again where that is cheap, else kept in the result itself or in scratch
memory of the row's length.

The last axis runs in lanes. Where it is reduced, the lanes share a row; else each lane has a row of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nervure.ir.op import Op, Value
from nervure.kernel.analysis import Level, OpKind
from nervure.kernel.ir import Buffer, Fold, Reduce, Statement, Variable
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.lower.kernels import (
    Indices,
    Lowered,
    Maker,
    Memory,
    here,
    loops_over,
    nested,
    row_point,
    row_position,
)
from nervure.kernel.lower.scalars import converted
from nervure.kernel.lower.totals import Totals, note
from nervure.kernel.points import Coordinates
from nervure.types.dim import DimLike, product

if TYPE_CHECKING:
    from nervure.kernel.cluster.steps import Loops


def lower_rows(step: Loops, memory: Memory) -> list[Lowered]:
    """One kernel."""
    return [Rows(step, memory).lowered()]


class Rows:
    """The kernel of a step of rows. ``more`` are indices beside those of the step's shape; the axes that stay are at
    ``places``, by default at their own index.
    """

    def __init__(self, step: Loops, memory: Memory, more: Indices = (),
                 places: Mapping[LoopIndex, DimLike] | None = None) -> None:
        assert step.reduced is not None
        self._step, self._memory = step, memory
        self._maker = Maker(memory, step.shape, step.levels, more)
        self._elements = self._maker.elements
        self._reduced = list(step.reduced)
        self._along_row = step.has_lanes_along_row
        self._places = places or {}
        self._point = self._at(here(step.shape))
        self._held = self._plan_held()

    def lowered(self) -> Lowered:
        """The kernel."""
        body = nested(loops_over(self._step.shape, self._step.kept_axes), self._row(), vector=not self._along_row)
        return self._maker.finish("rows", body, product(self._step.shape), self._step.ops)

    def _row(self) -> list[Statement]:
        """What is done for one row."""
        with self._elements.body() as row:
            for phase in range(self._step.last_run + 1):
                self._row_ops(phase)
                self._run(phase)
            for value in self._step.stored:
                if self._step.levels[value.op] is Level.ROW:
                    buffer = self._maker.buffer(self._memory.of(value), "out")
                    place = self._memory.position(value, self._at(row_point(self._step, value)))
                    self._maker.store(buffer, place, self._elements.rows[value])
        return row.list

    def _at(self, coordinates: Coordinates) -> Coordinates:
        """Coordinates over the indices of the step's shape, where the row is."""
        if not self._places:
            return coordinates
        return tuple([substitute_indices(entry, self._places) for entry in coordinates])

    # -- rows and runs -------------------------------------------------------------------------------------

    def _row_ops(self, phase: int) -> None:
        """What is computed of the results of earlier runs."""
        for op in self._ops(Level.ROW, phase):
            if self._memory.ops.kind(op) is OpKind.POINTWISE:
                for value in op.outputs:
                    point = self._at(row_point(self._step, value))
                    self._elements.rows[value] = self._elements.of(value, point)

    def _ops(self, level: Level, phase: int) -> list[Op]:
        step = self._step
        return [op for op in step.levels if step.levels[op] == level and step.phases[op] == phase]

    def _run(self, phase: int) -> None:
        """One run over the row: everything of this phase, the reductions that end with it."""
        step, elements = self._step, self._elements
        ending = [op for op in self._ops(Level.ROW, phase + 1) if self._memory.ops.kind(op) is OpKind.REDUCTION]
        elements.held = {value: place for value, place in self._held.items() if step.phases[value.op] < phase}
        loops = loops_over(step.shape, self._reduced) or [(LoopIndex(len(step.shape)), 1)]
        with elements.body() as body:
            for op in self._ops(Level.FULL, phase):
                for value in op.outputs:
                    elements.of(value, self._point)
            stores = self._stores(phase)
            totals = Totals(self._maker, ending, self._point)
        elements.held = {}
        if totals.values:
            results = tuple([Variable(value.dtype) for value in totals.values])
            elements.statements.add(
                Reduce(results, totals.combine, tuple(loops), tuple(body.list), tuple(totals.values)))
            note(elements, totals.places, results)
        elif stores:
            for statement in nested(loops, body.list, vector=self._along_row, parallel=False):
                elements.statements.add(statement)
        for op in totals.folds:
            self._fold(op, loops)

    def _stores(self, phase: int) -> bool:
        """Stores what this phase computes for memory or for later runs; whether there is anything."""
        step, point, count = self._step, self._point, len(self._elements.statements.list)
        for value in step.stored:
            if step.levels[value.op] is Level.FULL and step.phases[value.op] == phase:
                buffer = self._maker.buffer(self._memory.of(value), "inout" if value in self._held else "out")
                self._maker.store(buffer, self._memory.position(value, point), self._elements.of(value, point))
        for value, (buffer, offset) in self._held.items():
            if buffer.role == "scratch" and step.phases[value.op] == phase:
                self._maker.store(buffer, offset, self._elements.of(value, point))
        return len(self._elements.statements.list) > count

    def _fold(self, op: Op, loops: list[tuple[LoopIndex, Any]]) -> None:
        """A reduction with a combiner of its own."""
        elements, structure = self._elements, self._memory.ops.structure(op)
        with elements.body() as body:
            values = elements.body_at(op, self._point)
            values = values if isinstance(values, tuple) else (values,)
        left, right, results = [tuple([Variable(value.dtype) for value in values]) for _ in range(3)]
        with elements.body() as combine:
            combined = structure.combine(elements.scalars(), left, right)  # type: ignore[operator,misc]
            combined = tuple([converted(elements.statements, entry, value.dtype)
                              for entry, value in zip(combined, values, strict=True)])
        elements.statements.add(Fold(results, tuple(loops), tuple(body.list), values, left, right,
                                     tuple(combine.list), combined))
        finish = structure.finish
        given = results if finish is None else finish(elements.scalars(), results)
        for output, scalar in zip(op.outputs, given if isinstance(given, tuple) else (given,), strict=True):
            elements.rows[output] = converted(elements.statements, scalar, output.dtype)

    # -- what is kept between runs -------------------------------------------------------------------------

    def _plan_held(self) -> dict[Value, tuple[Buffer, Any]]:
        """The values of one run that a later one loads, and where from."""
        step = self._step
        held: dict[Value, tuple[Buffer, Any]] = {}
        for value in step.reloaded:
            if value in step.stored:
                buffer = self._maker.buffer(self._memory.of(value), "inout")
                held[value] = buffer, self._memory.position(value, self._point)
            else:
                size = product([step.shape[axis] for axis in self._reduced])
                buffer = self._maker.scratch(value.dtype, size)
                held[value] = buffer, row_position(step.shape, self._reduced)
        return held
