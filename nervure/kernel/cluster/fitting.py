"""Whether an op, or a whole step, can share the loops of a step: everything it reads there must be at hand.

An op over the whole shape reads what is made in the step at its own index, or rows spread over the reduced axes. An op
on rows (results of reductions, and what follows from them) reads rows, whatever lengths of 1 their shapes have. What a
reduction over the axes that stay gives (:mod:`columns`) nobody reads here.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from nervure.ir.op import Op, Value
from nervure.kernel.cluster import kinds
from nervure.kernel.cluster.columns import may_be_column
from nervure.kernel.cluster.keeping import shares_rows
from nervure.kernel.cluster.kinds import Facts
from nervure.kernel.cluster.reading import Reading, Readings
from nervure.kernel.cluster.refusals import Refusal
from nervure.kernel.cluster.steps import COLUMN, FULL, ROW, Loops
from nervure.kernel.machine import Machine
from nervure.kernel.points import Coordinates, compose
from nervure.kernel.tuning import LONG_ROW, MOST_OPS, SMALL_TENSOR
from nervure.types.dim import product
from nervure.types.shape import Shape


def has_enough_rows(step: Loops, machine: Machine) -> bool:
    """Whether threads should have rows of their own.

    Not where there are few. Nor where they are long and lie across memory, hence side by side: a processor that reads
    some of them has its neighbours' lines brought in as well.
    """
    rows, size = product(step.kept), product(step.shape)
    if isinstance(size, int) and size <= SMALL_TENSOR:
        return True
    length = product([step.shape[axis] for axis in step.reduced or ()])
    if not shares_rows(step) and isinstance(length, int) and length >= LONG_ROW:
        return False
    return not isinstance(rows, int) or rows >= machine.threads


class Fitting:
    """The rules; ``place`` says which step makes a value."""

    def __init__(self, facts: Facts, place: MutableMapping[Value, int], machine: Machine) -> None:
        self._facts, self._place, self._machine = facts, place, machine

    def level(self, step: Loops, op: Op, shape: Shape, inside: Sequence[Reading]) -> str | Refusal:
        """The level of an op over this shape in a step, some of whose values it reads; or why it cannot join."""
        if len(step.levels) >= MOST_OPS:
            return Refusal.TOO_MANY_OPS
        kind = self._facts.kind(op)
        if kind == kinds.REDUCTION:
            return self._reduction_level(step, op, inside)
        refusal = self._refusal_of_full(step, inside) if shape == step.shape else Refusal.OTHER_SHAPE
        if refusal is None:
            return FULL
        is_row = step.reduced is not None and inside and kind == kinds.POINTWISE and self._are_rows(step, shape, inside)
        return ROW if is_row else refusal

    def enter(self, step: Loops, op: Op, level: str, readings: Sequence[Reading]) -> None:
        """Puts an op into a step."""
        is_reduction = self._facts.kind(op) == kinds.REDUCTION and level != COLUMN
        if is_reduction:
            step.reduced = self._facts.structure(op).reduced
        inside = [step.phases[entry.value.op] for entry in readings if entry.value.op in step.phases]
        step.levels[op], step.phases[op] = level, max(inside, default=0) + is_reduction
        for value in op.outputs:
            self._place[value] = step.number

    # -- one op ------------------------------------------------------------------------------------------

    def _refusal_of_full(self, step: Loops, inside: Sequence[Reading]) -> Refusal | None:
        """Why an op over the whole shape has not all operands at hand, in place or as rows spread over the whole."""
        for entry in inside:
            is_row = step.levels[entry.value.op] == ROW
            if step.levels[entry.value.op] == COLUMN:
                return Refusal.OTHER_AXES
            if not (self._lands(step, entry, step.point) if is_row else entry.in_place):
                return Refusal.OTHER_INDEX
            if is_row and not has_enough_rows(step, self._machine):
                return Refusal.FEW_ROWS
        return None

    def _are_rows(self, step: Loops, shape: Shape, inside: Sequence[Reading]) -> bool:
        """Whether an op over a shape is one on rows."""
        point = step.row_point(shape)
        return point is not None and all(
            [step.levels[entry.value.op] == ROW and self._lands(step, entry, point) for entry in inside])

    def _lands(self, step: Loops, entry: Reading, point: Coordinates) -> bool:
        """Whether a reader at a point reads a row value at the row of that point."""
        if not entry.aligned:
            return False
        for view in entry.views:
            point = compose(self._facts.index_map(view), point)
        lengths = entry.value.shape
        place = tuple([0 if length == 1 else at for at, length in zip(point, lengths, strict=True)])
        return place == step.row_point(lengths)

    def _reduction_level(self, step: Loops, op: Op, inside: Sequence[Reading]) -> str | Refusal:
        structure = self._facts.structure(op)
        if structure.domain != step.shape:
            return Refusal.OTHER_SHAPE
        if step.reduced not in (None, structure.reduced):
            is_column = may_be_column(step, op, structure, self._machine) and has_enough_rows(
                step, self._machine)
            return self._refusal_of_full(step, inside) or COLUMN if is_column else Refusal.OTHER_AXES
        if any([not entry.in_place or step.levels[entry.value.op] != FULL for entry in inside]):
            return Refusal.OTHER_INDEX
        return ROW

    # -- two steps -----------------------------------------------------------------------------------------

    def fit_together(self, earlier: Loops, step: Loops, readers: Sequence[tuple[Op, Reading]]) -> bool:
        """Whether two steps can be one, if these ops read the values of the earlier one from outside."""
        if earlier.reduced is not None and step.reduced not in (None, earlier.reduced):
            return False
        together = Loops(step.number, step.shape, earlier.reduced if step.reduced is None else step.reduced)
        if earlier.reduced is None and step.reduced is not None and not has_enough_rows(together, self._machine):
            if any([level == FULL and step.phases[op] for op, level in step.levels.items()]):
                return False
        together.levels = {**earlier.levels, **step.levels}
        for op, entry in readers:
            if op not in step.levels or not self._reads_at_hand(together, op, step.levels[op], entry):
                return False
        return True

    def _reads_at_hand(self, step: Loops, op: Op, level: str, entry: Reading) -> bool:
        if self._facts.kind(op) == kinds.REDUCTION and level != COLUMN:
            return entry.in_place and step.levels[entry.value.op] == FULL
        if level != ROW:
            return self._refusal_of_full(step, [entry]) is None
        return self._are_rows(step, op.outputs[0].shape, [entry])

    def unite(self, earlier: Loops, step: Loops, readings: Readings) -> None:
        """Puts the ops of an earlier step before those of this one."""
        levels, refused = {**earlier.levels, **step.levels}, {**earlier.refused, **step.refused}
        step.levels, step.phases, step.reduced = {}, {}, earlier.reduced if step.reduced is None else step.reduced
        step.refused = refused
        for op, level in levels.items():
            self.enter(step, op, level, list(readings.of(op)))
