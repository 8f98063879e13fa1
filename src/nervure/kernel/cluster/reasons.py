"""Reasons why values get memory and ops have kernels of their own, in the words of explanations.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
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
from nervure.kernel.analysis import OpKind
from nervure.kernel.cluster.prologues import repetitions
from nervure.kernel.cluster.steps import Step
from nervure.kernel.producers import ProducerAnalysis, dense_base
from nervure.support.machine import GENERIC, Machine

_LATER = "it also reads what a later step makes"


class Reason(NamedTuple):
    """A reader that needs a value in memory; ``step`` is the step that reads it, None for a root."""

    text: str
    step: Step | None = None


class Reasons(NamedTuple):
    """The reasons for each value in memory, in order; and for ops, why they are not with their operands."""

    stored: dict[Value, list[Reason]]
    apart: dict[Op, str]


def reasons(function: Function, steps: Sequence[Step], machine: Machine = GENERIC) -> Reasons:
    """Returns the reasons behind the steps of a function, which were made for a ``machine``."""
    producers = ProducerAnalysis(function)
    made = {value: number for number, step in enumerate(steps) for op in step.ops for value in op.outputs}
    stored = {value for step in steps for value in step.stored}
    again = {value for op in function.operations if producers.ops.kind(op) is OpKind.POINTWISE
             or producers.ops.is_moved(op) for value in op.outputs} - stored
    roots = set(map(dense_base, function.roots))
    found = Reasons({}, {})
    for number, step in enumerate(steps):
        for reader, values in _read(step, producers).items():
            last = max([made.get(value, -1) for value in values], default=-1)
            if last not in (-1, number):
                found.apart[reader] = step.why_apart(reader)
            for value in values:
                why = step.why_apart(reader) if made.get(value) == last else _LATER
                why = _why_not_packed(reader, value, producers, machine) or why
                for needed in _in_memory(value, producers, again, step):
                    if made.get(needed, number) != number:
                        reason = Reason(f"{type(reader).__name__} reads it: {why}", step)
                        found.stored.setdefault(needed, []).append(reason)
    for step in steps:
        for value in step.stored:
            why_stored = step.why_stored(value)
            if why_stored and value not in found.stored and value not in roots:
                found.stored[value] = [Reason(why_stored, step)]
    for number, root in enumerate(function.roots):
        if dense_base(root) in made:
            found.stored.setdefault(dense_base(root), []).append(Reason(root_name(function, number)))
    return found


def _why_not_packed(reader: Op, value: Value, producers: ProducerAnalysis, machine: Machine) -> str | None:
    """Returns the reason why a product does not compute a value as it packs it, if it would only do so too often."""
    if not producers.ops.is_contraction(reader) or producers.ops.kind(value.op) is not OpKind.POINTWISE:
        return None
    counts = zip(reader.operands, repetitions(reader, producers.ops, machine), strict=True)
    most = max([times or 0 for operand, times in counts if producers.base(operand)[0] is value], default=0)
    return f"it would compute it {most} times" if most > 1 else None


def root_name(function: Function, number: int) -> str:
    """Returns ``result 0``, or ``new value of w``."""
    count = len(function.results)
    if number < count:
        return f"result {number}"
    return f"new value of {function.updates[number - count][0].name or 'unnamed'}"


def _read(step: Step, producers: ProducerAnalysis) -> dict[Op, list[Value]]:
    """Returns the values that each op of a step reads, each value once."""
    found: dict[Op, dict[Value, None]] = {}
    for op, read in step.reads(producers):
        found.setdefault(op, {})[read.value] = None
    return {op: list(values) for op, values in found.items()}


def _in_memory(value: Value, producers: ProducerAnalysis, again: Collection[Value], step: Step) -> Iterable[Value]:
    """Returns a value, or, if its reader computes it again, the values that it is computed from, each once."""
    pending, own = [value], set(step.ops)
    found: dict[Value, None] = {}
    while pending:
        value = pending.pop()
        if value in again and value.op not in own:
            pending.extend([entry.value for entry in producers.reads(value.op)])
        else:
            found[value] = None
    return found
