"""The pass that makes clusters: one walk over a function, which puts each op where its operands are made.

An op joins the step that made the last of its operands if it fits there (:mod:`fitting`); steps made earlier are
complete by then, so that no order of steps is ever circular. Else it joins a later step that reads the same memory over
the same shape, else it starts a step of its own. An earlier step over the same loops whose values nobody else has read
is drawn into the step that reads them.
"""

from __future__ import annotations

from collections.abc import Iterable

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.kernel.cluster import kinds
from nervure.kernel.cluster.assembling import is_assembled
from nervure.kernel.cluster.fitting import Fitting
from nervure.kernel.cluster.kinds import Facts
from nervure.kernel.cluster.reading import Reading, Readings
from nervure.kernel.cluster.refusals import Refusal
from nervure.kernel.cluster.steps import FULL, ROW, Copy, Host, Loops, Pieces, Scattering, Step
from nervure.kernel.cluster.storing import dense_base, mark_stored
from nervure.kernel.machine import GENERIC, Machine
from nervure.kernel.tuning import MOST_OPS, NEIGHBOUR_DEPTH, SHARING_OPS, SIBLINGS
from nervure.types.shape import Shape


def cluster(function: Function, facts: Facts | None = None, readings: Readings | None = None,
            machine: Machine = GENERIC) -> list[Step]:
    """The steps of a function, in an order in which they can run. Composites must have been decomposed."""
    facts = facts or Facts()
    return _Clustering(function, facts, readings or Readings(function, facts), machine).steps


class _Clustering:
    def __init__(self, function: Function, facts: Facts, readings: Readings, machine: Machine) -> None:
        self._facts, self._readings = facts, readings
        self._made: list[Step | None] = []
        self._place: dict[Value, int] = {}  # the number of the step that makes a value
        self._readers: dict[int, list[tuple[Op, Reading]]] = {}  # who reads the values of a step from outside
        self._siblings: dict[Shape, list[Loops]] = {}
        self._fitting = Fitting(facts, self._place, machine)
        for op in function.operations:
            self._add(op)
        self.steps: list[Step] = [step for step in self._made if step is not None]
        self._join_neighbours()
        self._copy_roots(function)
        mark_stored(function, self.steps, readings)

    # -- one op ------------------------------------------------------------------------------------------

    def _add(self, op: Op) -> None:
        kind = self._facts.kind(op)
        if kind in (kinds.LEAF, kinds.NUMBER, kinds.VIEW) or self._is_inlined(op):
            return
        readings = list(self._readings.of(op))
        assembling = self._assembling(op, readings) if kind == kinds.PIECES else None
        if assembling is not None or kind in (kinds.POINTWISE, kinds.MAPPED, kinds.REDUCTION):
            step = assembling or self._add_to_loops(op, kind, readings)
            self._note_readers(op, readings)
            for number in sorted({self._place[entry.value] for entry in readings if entry.value in self._place}):
                self._draw_in(number, step)
            return
        made = Host(op) if kind == kinds.HOST else Pieces(op) if kind == kinds.PIECES else Scattering(op)
        for value in op.outputs:
            self._place[value] = len(self._made)
        self._made.append(made)
        self._note_readers(op, readings)

    def _assembling(self, op: Op, readings: list[Reading]) -> Loops | None:
        """The step that computes the parts of a view, which it now ends with."""
        last = self._last_of(readings)
        step = self._made[last] if last >= 0 else None
        if not isinstance(step, Loops) or step.complete or not is_assembled(step, op, self._facts, self._readings):
            return None
        self._fitting.enter(step, op, FULL, readings)
        step.complete = True
        return step

    def _last_of(self, readings: list[Reading]) -> int:
        """The number of the last step that makes something that is read; -1 if none does."""
        return max([self._place.get(entry.value, -1) for entry in readings], default=-1)

    def _is_inlined(self, op: Op) -> bool:
        return bool(op.outputs) and all([self._readings.is_inlined(value) for value in op.outputs])

    def _note_readers(self, op: Op, readings: list[Reading]) -> None:
        own = self._place.get(op.outputs[0]) if op.outputs else None
        for entry in readings:
            number = self._place.get(entry.value)
            if number is not None and number != own:
                self._readers.setdefault(number, []).append((op, entry))

    def _add_to_loops(self, op: Op, kind: str, readings: list[Reading]) -> Loops:
        shape = self._facts.structure(op).domain if kind == kinds.REDUCTION else op.outputs[0].shape
        last = self._last_of(readings)
        refusal = Refusal.NO_LOOPS if last >= 0 else None
        for step in self._candidates(shape, last):
            level = self._level_in(step, op, shape, readings)
            if isinstance(level, str):
                break
            refusal = level if step.number == last else refusal
        else:
            step, level = Loops(len(self._made), shape), ROW if kind == kinds.REDUCTION else FULL
            self._siblings.setdefault(shape, []).append(step)
            self._made.append(step)
        if refusal is not None and step.number != last:
            step.refused[op] = refusal
        self._fitting.enter(step, op, level, readings)
        return step

    def _candidates(self, shape: Shape, last: int) -> Iterable[Loops]:
        """The steps that an op over a shape may join, if its last operand is made by this step."""
        if last >= 0 and isinstance(step := self._made[last], Loops) and not step.complete:
            yield step
        for step in reversed(self._siblings.get(shape, [])[-SIBLINGS:]):
            if step.number > last and not step.complete:
                yield step

    def _level_in(self, step: Loops, op: Op, shape: Shape, readings: list[Reading]) -> str | Refusal | None:
        """The level that an op would have in a step, or why it cannot join; None if nothing speaks for joining."""
        inside = [entry for entry in readings if self._place.get(entry.value) == step.number]
        if not inside and not self._shares_memory(step, readings):
            return None
        return self._fitting.level(step, op, shape, inside)

    def _shares_memory(self, step: Loops, readings: list[Reading]) -> bool:
        ours = {entry.value for entry in readings if entry.in_place}
        return any([entry.value in ours for op in list(step.levels)[:SHARING_OPS] for entry in self._readings.of(op)
                    if entry.in_place])

    # -- drawing in ----------------------------------------------------------------------------------------

    def _draw_in(self, number: int, step: Loops) -> None:
        """Makes an earlier step part of this one, if all its readers are here and at its own index."""
        earlier = self._made[number]
        if earlier is step or not isinstance(earlier, Loops) or earlier.shape != step.shape or earlier.complete:
            return
        if len(earlier.levels) + len(step.levels) > MOST_OPS:
            return
        if not self._fitting.fit_together(earlier, step, self._readers.get(number, [])):
            return
        for op in earlier.levels:
            for value in op.outputs:
                self._place[value] = step.number
        self._fitting.unite(earlier, step, self._readings)
        self._readers.pop(number, None)
        self._made[number] = None
        self._siblings[step.shape].remove(earlier)

    def _join_neighbours(self) -> None:
        """Makes one of two steps in a row that reduce the same axes and read the same memory."""
        for number in range(len(self.steps) - 1, 0, -1):
            first, second = self.steps[number - 1:number + 1]
            if not isinstance(first, Loops) or not isinstance(second, Loops) or first.reduced is None:
                continue
            same = first.shape == second.shape and first.reduced == second.reduced
            if not same or len(first.levels) + len(second.levels) > MOST_OPS:
                continue
            depends = any([entry.value.op in first.levels for op in second.levels for entry in self._readings.of(op)])
            if not depends and self._leaves(first) & self._leaves(second):
                self._fitting.unite(first, second, self._readings)
                del self.steps[number - 1]

    def _leaves(self, step: Loops) -> set[Value]:
        """What the ops of a step read in place, through a few ops of other steps that may be computed again."""
        found: set[Value] = set()
        level = {entry.value for op in step.levels for entry in self._readings.of(op) if entry.in_place}
        for _ in range(NEIGHBOUR_DEPTH):
            found |= level
            level = {entry.value for value in level if self._facts.kind(value.op) == kinds.POINTWISE
                     for entry in self._readings.of(value.op) if entry.in_place}
        return found

    # -- roots ---------------------------------------------------------------------------------------------

    def _copy_roots(self, function: Function) -> None:
        """Roots that no step makes in memory of their own: leaves, views, inlined values, and what is a root twice."""
        taken: set[Value] = set()
        for number, root in enumerate(function.roots):
            value = dense_base(root)
            if value in self._place and value not in taken:
                taken.add(value)
            else:
                self.steps.append(Copy(root, number))
