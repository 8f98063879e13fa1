"""What waits in memory between the runs over a row: what a later run needs and should not compute again.

Where a row's elements are in the lanes of vectors, one thread has one row at a time, and its values wait in scratch
memory of the row's length. Where each lane has a row of its own there is no such place: a value that three runs need is
stored as a whole, one that two runs need is computed twice.

>>> import nervure as nv
>>> from nervure.kernel.cluster.clustering import cluster
>>> from nervure.passes.pipelines import standard
>>> x = nv.Parameter(nv.float32, (64, 64))
>>> raised = nv.ops.Exp(x)
>>> function = standard(nv.Function([raised / nv.ops.Broadcast(nv.ops.Variance(raised, [0]), x.shape, [0])], [x]))
>>> for step in cluster(function):
...     print(", ".join([type(value.op).__name__ for value in step.stored]))
Exp, Divide
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.ir.op import Op, Value
from nervure.kernel.cluster import kinds
from nervure.kernel.cluster.reading import Readings
from nervure.kernel.cluster.steps import COLUMN, FULL, Loops
from nervure.kernel.tuning import CHEAP


def shares_rows(step: Loops) -> bool:
    """Whether the lanes of vectors share a row; else each has one of its own."""
    reduced = step.reduced or ()
    long = [axis for axis, length in enumerate(step.shape) if length != 1]
    last = long[-1] if any([axis in reduced for axis in long]) else len(step.shape) - 1
    return not step.kept or last in reduced


def kept_between_runs(step: Loops, readings: Readings) -> list[Value]:
    """The values that a later run loads: all that is stored anyway, and where lanes share rows what is not cheap."""
    costs = _costs(step, readings)

    def waits(op: Op, _: int) -> bool:
        is_stored = [value in step.stored for value in op.outputs]
        return all(is_stored) or shares_rows(step) and (costs[op] > CHEAP or any(is_stored))

    return _needed_later(step, readings, waits)


def needed_thrice(step: Loops, readings: Readings) -> list[Value]:
    """The values for which memory has to be found: three runs need them, they are not cheap, nor do they have a row."""
    if step.reduced is None or shares_rows(step):
        return []
    costs = _costs(step, readings)

    def waits(op: Op, runs: int) -> bool:
        return all([value in step.stored for value in op.outputs]) or runs > 1 and costs[op] > CHEAP

    return [value for value in _needed_later(step, readings, waits) if value not in step.stored]


def _needed_later(step: Loops, readings: Readings, waits: Callable[[Op, int], bool]) -> list[Value]:
    """The values of one run that a later one needs and that wait for it. ``waits`` is asked for an op and the number
    of later runs; what does not wait is computed again, from what then is needed later, too.
    """
    found: list[Value] = []
    wanted: dict[Value, int] = {}  # the last run that needs a value
    for op in reversed(step.ops):
        if step.levels[op] != FULL:
            run = step.last_run if step.levels[op] == COLUMN else step.phases[op] - 1
            for value in _operands(step, readings, op) if readings.facts.kind(op) == kinds.REDUCTION else ():
                wanted[value] = max(wanted.get(value, 0), run)
            continue
        last = max([wanted.get(value, 0) for value in op.outputs] + [step.phases[op]])
        if last > step.phases[op] and waits(op, last - step.phases[op]):
            found.extend([value for value in op.outputs if value in wanted])
            last = step.phases[op]
        for value in _operands(step, readings, op):
            wanted[value] = max(wanted.get(value, 0), last)
    return found


def _costs(step: Loops, readings: Readings) -> dict[Op, int]:
    """What it costs to compute each op again, from what is in memory."""
    costs: dict[Op, int] = {}
    for op in step.ops:
        below = sum([costs.get(value.op, 0) for value in _operands(step, readings, op)])
        costs[op] = op.cost + below if step.levels[op] == FULL else 0
    return costs


def _operands(step: Loops, readings: Readings, op: Op) -> list[Value]:
    """The values of this step that an op reads at its own point."""
    return [entry.value for entry in readings.of(op) if entry.value.op in step.levels]
