"""Why values get memory and ops have kernels of their own, in the words of explanations.

>>> import nervure as nv
>>> from nervure.kernel.cluster.clustering import cluster
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> total = nv.ops.Sum(nv.ops.Sum(nv.ops.Exp(x), [1]), [0])
>>> function = nv.Function([total], [x])
>>> found = reasons(function, cluster(function))
>>> for value, listed in found.stored.items():
...     for reason in listed:
...         print(type(value.op).__name__, "-", reason.text)
Sum - Sum reads it: it runs over another shape than the kernel of its operand
Sum - result 0
>>> found.apart[total]
'it runs over another shape than the kernel of its operand'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.kernel.cluster.reading import Reading, Readings
from nervure.kernel.cluster.steps import Copy, Host, Loops, Pieces, Scattering, Step
from nervure.kernel.cluster.storing import dense_base

_LATER = "it also reads what a later step makes"


class Reason(NamedTuple):
    """Something that needs a value in memory; ``step`` is the step that reads it, None for a root."""

    text: str
    step: Step | None = None


class Reasons(NamedTuple):
    """For each value in memory all that needs it there, in order; for ops why they are not with their operands."""

    stored: dict[Value, list[Reason]]
    apart: dict[Op, str]


def reasons(function: Function, steps: Sequence[Step]) -> Reasons:
    """The reasons behind the steps of a function."""
    readings = Readings(function)
    made = {value: number for number, step in enumerate(steps) for op in ops_of(step) for value in op.outputs}
    again = made.keys() - {value for step in steps for value in stored_by(step)}
    roots = set(map(dense_base, function.roots))
    found = Reasons({}, {})
    for number, step in enumerate(steps):
        for reader, values in _read(step, readings).items():
            last = max([made.get(value, -1) for value in values], default=-1)
            if last not in (-1, number):
                found.apart[reader] = _why_apart(step, reader)
            for value in values:
                why = _why_apart(step, reader) if made.get(value) == last else _LATER
                for needed in _in_memory(value, readings, again, step):
                    if made.get(needed, number) != number:
                        reason = Reason(f"{type(reader).__name__} reads it: {why}", step)
                        found.stored.setdefault(needed, []).append(reason)
    for step in steps:
        for value in stored_by(step) if isinstance(step, Loops) else ():
            if value not in found.stored and value not in roots:
                found.stored[value] = [Reason("three runs over its rows need it", step)]
    for number, root in enumerate(function.roots):
        if dense_base(root) in made:
            found.stored.setdefault(dense_base(root), []).append(Reason(root_name(function, number)))
    return found


def ops_of(step: Step) -> list[Op]:
    """The ops that a step is made for; those that are computed inside of them are not among them."""
    if isinstance(step, Loops):
        return step.ops
    return [] if isinstance(step, Copy) else [step.op]


def stored_by(step: Step) -> Sequence[Value]:
    """The values that a step makes in memory."""
    if isinstance(step, Loops):
        return step.stored
    return () if isinstance(step, Copy) else step.op.outputs


def _why_apart(step: Step, op: Op) -> str:
    """Why an op is not in the step that makes the last of its operands."""
    if isinstance(step, Loops):
        return step.refused[op].value if op in step.refused else "it is in another kernel"
    if isinstance(step, Host):
        return "it runs in Python"
    if isinstance(step, Pieces):
        return "each of its parts is written by loops of its own"
    return "it writes at places of its own" if isinstance(step, Scattering) else "it is copied"


def root_name(function: Function, number: int) -> str:
    """``result 0``, or ``new value of w``."""
    count = len(function.results)
    if number < count:
        return f"result {number}"
    return f"new value of {function.updates[number - count][0].name or 'unnamed'}"


def _read(step: Step, readings: Readings) -> dict[Op, list[Value]]:
    """What each op of a step reads; for a copy the op that is copied stands for the reader."""
    if isinstance(step, Copy):
        return {step.value.op: _values(readings.of_values((step.value,), False))}
    return {op: _values(readings.of(op)) for op in ops_of(step)}


def _in_memory(value: Value, readings: Readings, again: Collection[Value], step: Step) -> Iterable[Value]:
    """A value; of one that its reader computes again, what it is computed of, each once."""
    pending, own = [value], set(ops_of(step))
    found: dict[Value, None] = {}
    while pending:
        value = pending.pop()
        if value in again and value.op not in own:
            pending.extend([entry.value for entry in readings.of(value.op)])
        else:
            found[value] = None
    return found


def _values(entries: Iterable[Reading]) -> list[Value]:
    return list(dict.fromkeys([entry.value for entry in entries]))
