"""The pass that makes clusters: one walk over a function, which puts each op where its operands are made.

An op joins the step that made the last of its operands if the loops fit and every operand that is made there is at
hand at the loops' own index; steps made earlier are complete by then, so that no order of steps is ever circular. Else
it joins a later step that reads the same memory over the same shape, else it starts a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.kernel.cluster import kinds
from nervure.kernel.cluster.kinds import DENSE, Facts
from nervure.kernel.cluster.reading import Reading, Readings
from nervure.kernel.cluster.refusals import Refusal
from nervure.kernel.cluster.steps import FULL, ROW, Copy, Host, Loops, Pieces, Scattering, Step
from nervure.kernel.points import compose
from nervure.types.dim import DimLike, index, product
from nervure.types.shape import Shape

MOST_OPS = 96
"""The ops of one step: more would not make it faster, but LLVM slower."""

MOST_OUTPUTS = 12
"""The values that one step computes for memory, about: each is a stream of its own for the processor."""

FEW_ROWS, SMALL = 16, 1 << 15
"""A tensor of more than SMALL elements in fewer than FEW_ROWS rows is not left to kernels whose threads share rows."""


def cluster(function: Function, facts: Facts | None = None) -> list[Step]:
    """The steps of a function, in an order in which they can run. Composites must have been decomposed."""
    return _Clustering(function, facts or Facts()).steps


class _Clustering:
    def __init__(self, function: Function, facts: Facts) -> None:
        self._facts = facts
        self._readings = Readings(function, facts)
        self.steps: list[Step] = []
        self._place: dict[Value, int] = {}  # the number of the step that makes a value
        self._siblings: dict[Shape, list[Loops]] = {}
        self._stored: dict[Value, None] = {}
        for op in function.operations:
            self._add(op)
        self._store_roots(function)
        self._mark_stored(function)

    # -- one op ------------------------------------------------------------------------------------------

    def _add(self, op: Op) -> None:
        kind = self._facts.kind(op)
        if kind in (kinds.LEAF, kinds.NUMBER, kinds.VIEW) or self._is_inlined(op):
            return
        readings = list(self._readings.of(op))
        if kind in (kinds.POINTWISE, kinds.MAPPED, kinds.REDUCTION):
            self._add_to_loops(op, kind, readings)
            return
        step = Host(op) if kind == kinds.HOST else Pieces(op) if kind == kinds.PIECES else Scattering(op)
        self._append(step, op)

    def _is_inlined(self, op: Op) -> bool:
        return bool(op.outputs) and all([self._readings.is_inlined(value) for value in op.outputs])

    def _append(self, step: Step, op: Op) -> None:
        for value in op.outputs:
            self._place[value] = len(self.steps)
        self.steps.append(step)

    def _add_to_loops(self, op: Op, kind: str, readings: list[Reading]) -> None:
        shape = self._facts.structure(op).domain if kind == kinds.REDUCTION else op.outputs[0].shape
        last = max([self._place.get(entry.value, -1) for entry in readings], default=-1)
        refusal = Refusal.NO_LOOPS if last >= 0 else None
        for step in self._candidates(shape, last):
            level = self._level_in(step, op, kind, shape, readings)
            if isinstance(level, str):
                break
            refusal = level if step.number == last else refusal
        else:
            step, level = Loops(len(self.steps), shape), ROW if kind == kinds.REDUCTION else FULL
            self._siblings.setdefault(shape, []).append(step)
            self.steps.append(step)
        if refusal is not None and step.number != last:
            step.refused[op] = refusal
        if kind == kinds.REDUCTION:
            step.reduced = self._facts.structure(op).reduced
        inside = [step.phases[entry.value.op] for entry in readings if self._place.get(entry.value) == step.number]
        step.levels[op], step.phases[op] = level, max(inside, default=0) + (kind == kinds.REDUCTION)
        for value in op.outputs:
            self._place[value] = step.number

    def _candidates(self, shape: Shape, last: int) -> Iterable[Loops]:
        """The steps that an op over a shape may join, if its last operand is made by this step."""
        if last >= 0 and isinstance(step := self.steps[last], Loops):
            yield step
        for step in reversed(self._siblings.get(shape, [])[-4:]):
            if step.number > last:
                yield step

    # -- whether an op fits in a step ----------------------------------------------------------------------

    def _level_in(self, step: Loops, op: Op, kind: str, shape: Shape, readings: list[Reading]) -> str | Refusal | None:
        """The level that an op would have in a step, or why it cannot join; None if nothing speaks for joining."""
        inside = [entry for entry in readings if self._place.get(entry.value) == step.number]
        if not inside and not self._shares_memory(step, readings):
            return None
        if len(step.levels) >= MOST_OPS:
            return Refusal.TOO_MANY_OPS
        if kind == kinds.REDUCTION:
            return self._reduction_level(step, op, inside)
        is_row = step.reduced is not None and inside and shape == step.kept and kind == kinds.POINTWISE and all(
            [entry.in_place and step.levels[entry.value.op] == ROW for entry in inside])
        if shape != step.shape:
            return ROW if is_row else Refusal.OTHER_SHAPE
        refusal = self._refusal_of_full(step, inside)
        return FULL if refusal is None else ROW if is_row else refusal

    def _refusal_of_full(self, step: Loops, inside: list[Reading]) -> Refusal | None:
        """Why an op over the whole shape has not all operands at hand, in place or as rows spread over the whole."""
        for entry in inside:
            is_row = step.levels[entry.value.op] == ROW
            if not (self._spreads_rows(step, entry) if is_row else entry.in_place):
                return Refusal.OTHER_INDEX
            if is_row and not has_enough_rows(step):
                return Refusal.FEW_ROWS
        return None

    def _spreads_rows(self, step: Loops, entry: Reading) -> bool:
        if entry.in_place:
            return not step.reduced
        coordinates: tuple[DimLike, ...] | None = None
        for view in entry.views:
            map = self._facts.index_map(view)
            coordinates = map.coordinates if coordinates is None else compose(map, coordinates)
        return coordinates == tuple([index(d) for d in range(len(step.shape)) if d not in (step.reduced or ())])

    def _reduction_level(self, step: Loops, op: Op, inside: list[Reading]) -> str | Refusal:
        structure = self._facts.structure(op)
        if structure.domain != step.shape:
            return Refusal.OTHER_SHAPE
        if step.reduced not in (None, structure.reduced):
            return Refusal.OTHER_AXES
        if any([not entry.in_place or step.levels[entry.value.op] != FULL for entry in inside]):
            return Refusal.OTHER_INDEX
        return ROW

    def _shares_memory(self, step: Loops, readings: list[Reading]) -> bool:
        ours = {entry.value for entry in readings if entry.in_place}
        return any([entry.value in ours for op in list(step.levels)[:8] for entry in self._readings.of(op)
                    if entry.in_place])

    # -- what gets memory ----------------------------------------------------------------------------------

    def _mark_stored(self, function: Function) -> None:
        """Values that are read outside of the step that makes them are stored by it."""
        for number, step in enumerate(self.steps):
            for entry in self._read_by(step):
                if self._place.get(entry.value, number) != number:
                    self._stored[entry.value] = None
        for root in function.roots:
            value = dense_base(root)
            if value in self._place:
                self._stored[value] = None
        for value in self._stored:
            step = self.steps[self._place[value]]
            if isinstance(step, Loops) and value not in step.stored:
                step.stored.append(value)

    def _read_by(self, step: Step) -> Iterable[Reading]:
        if isinstance(step, Copy):
            yield from self._readings.of_values((step.value,), False)
        elif isinstance(step, Loops):
            for op in step.levels:
                yield from self._readings.of(op)
        else:
            yield from self._readings.of(step.op)

    def _store_roots(self, function: Function) -> None:
        """Roots that no step makes in memory of their own: leaves, views, inlined values, and what is a root twice."""
        taken: set[Value] = set()
        for number, root in enumerate(function.roots):
            value = dense_base(root)
            if value in self._place and value not in taken:
                taken.add(value)
            else:
                self.steps.append(Copy(root, number))


def dense_base(value: Value) -> Value:
    """The value that has the same elements in the same order in memory."""
    while isinstance(value.op, DENSE):
        value = value.op.operands[0]
    return value


def has_enough_rows(step: Loops) -> bool:
    """Whether threads have enough to do if each row is one's."""
    rows, size = product(step.kept), product(step.shape)
    if isinstance(size, int) and size <= SMALL:
        return True
    return not isinstance(rows, int) or rows >= FEW_ROWS
