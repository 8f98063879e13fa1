"""Which values get memory: roots, and what is read outside of the step that makes it.

A value that is cheap to compute from little memory is computed again by its readers instead, if that moves less than
storing and loading it would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.kernel.cluster import kinds
from nervure.kernel.cluster.keeping import needed_thrice
from nervure.kernel.cluster.kinds import DENSE, ONCE
from nervure.kernel.cluster.reading import Reading, Readings
from nervure.kernel.cluster.steps import FULL, Copy, Host, Loops, Scattering, Step
from nervure.kernel.tuning import CHEAP, RECOMPUTED_DEPTH, STORE


def dense_base(value: Value) -> Value:
    """The value that has the same elements in the same order in memory."""
    while isinstance(value.op, DENSE):
        value = value.op.operands[0]
    return value


def mark_stored(function: Function, steps: Sequence[Step], readings: Readings) -> None:
    """Fills in what each step stores."""
    _Storing(function, steps, readings).mark()


class _Storing:
    def __init__(self, function: Function, steps: Sequence[Step], readings: Readings) -> None:
        self._steps, self._readings = steps, readings
        self._maker: dict[Value, Step] = {}
        for step in steps:
            for value in _made_by(step):
                self._maker[value] = step
        self._stored: dict[Value, None] = {}
        for root in function.roots:
            if dense_base(root) in self._maker:
                self._stored[dense_base(root)] = None
        self._outside: dict[Value, list[tuple[Step, Reading]]] = {}

    def mark(self) -> None:
        """Decides for each value, readers before what they read: who computes a value again reads its operands."""
        for step in self._steps:
            for entry in self._read_by(step):
                self._note(step, entry)
        for step in reversed(self._steps):
            for value in reversed(list(_made_by(step))):
                self._decide(value)
        for value in self._stored:
            step = self._maker[value]
            if isinstance(step, Loops) and value not in step.stored:
                step.stored.append(value)
        for step in self._steps:
            if isinstance(step, Loops):
                step.stored.extend(needed_thrice(step, self._readings))
                order = {value: number for number, value in enumerate(_made_by(step))}
                step.stored.sort(key=order.__getitem__)

    def _note(self, step: Step, entry: Reading) -> None:
        if self._maker.get(entry.value, step) is not step:
            self._outside.setdefault(entry.value, []).append((step, entry))

    def _decide(self, value: Value) -> None:
        outside = self._outside.get(value)
        if not outside or value in self._stored:
            return
        if not self._is_cheap(value, outside):
            self._stored[value] = None
            return
        for step, entry in outside:
            for below in self._readings.of(value.op):
                self._note(step, Reading(below.value, (*entry.views, *below.views), below.aligned))

    def _is_cheap(self, value: Value, outside: list[tuple[Step, Reading]]) -> bool:
        """Whether all readers outside should compute a value again."""
        maker = self._maker[value]
        if not isinstance(maker, Loops) or maker.levels[value.op] != FULL or len(value.op.outputs) != 1:
            return False
        for step, entry in outside:
            if isinstance(step, (Host, Scattering, Copy)) or not all([isinstance(view, ONCE) for view in entry.views]):
                return False
            if not entry.aligned:
                return False
        cost, loads = self._again(value, 0)
        readers = len({id(step) for step, _ in outside})
        return cost <= CHEAP and readers * loads <= STORE + readers

    def _again(self, value: Value, depth: int) -> tuple[int, int]:
        """What computing a value again costs, and how many tensors of its size it loads."""
        if self._readings.facts.kind(value.op) != kinds.POINTWISE or depth > RECOMPUTED_DEPTH:
            return CHEAP + 1, 0
        cost, loads = value.op.cost, 0
        for entry in self._readings.of(value.op):
            maker = self._maker.get(entry.value)
            if entry.value in self._stored or maker is None:
                loads += entry.value.shape == value.shape
            elif isinstance(maker, Loops) and maker.levels[entry.value.op] == FULL and entry.in_place:
                below = self._again(entry.value, depth + 1)
                cost, loads = cost + below[0], loads + below[1]
            else:
                loads += entry.value.shape == value.shape
        return cost, loads

    def _read_by(self, step: Step) -> Iterable[Reading]:
        if isinstance(step, Copy):
            yield from self._readings.of_values((step.value,), True)
        elif isinstance(step, Loops):
            for op in step.levels:
                yield from self._readings.of(op)
        else:
            yield from self._readings.of(step.op)


def _made_by(step: Step) -> Iterable[Value]:
    if isinstance(step, Loops):
        return [value for op in step.levels for value in op.outputs]
    return [] if isinstance(step, Copy) else step.op.outputs
