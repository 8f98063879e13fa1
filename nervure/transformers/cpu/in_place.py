"""Which new values of variables are written where the old ones are, and when.

That is so where one kernel makes the new value, point by point, and nothing reads the old one afterwards, or at another
point. From the first such kernel on a call cannot be stopped, so these kernels run last: after whatever may fail, and
after whatever else there is to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nervure.ir.function import Function
from nervure.kernel.ir import Buffer, Load, Reduce, Store, walk
from nervure.memory.storage import Storage


def updates_in_place(function: Function, steps: Sequence[Any],
                     roots: Sequence[Storage]) -> tuple[list[Any], dict[Storage, Storage]]:
    """The steps of a plan in the order in which they are to run, and for each root that may lie in the memory of its
    variable, that memory.
    """
    new_values = roots[len(function.results):]
    written = set(new_values)
    early, late = _divided(steps, lambda step: is_safe(step) and not written.isdisjoint(step.written))
    ordered = [*early, *late]
    found = _found(function, ordered, new_values, len(early))
    early, late = _divided(ordered, lambda step: not found.keys().isdisjoint(step.written))
    return [*early, *late], found


def _divided(steps: Sequence[Any], is_chosen: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """The steps, each part in order: those that are chosen and of which only chosen ones need anything come last."""
    early: list[Any] = []
    late: list[Any] = []
    needed: set[Storage] = set()
    for step in reversed(steps):
        if is_chosen(step) and needed.isdisjoint(step.written):
            late.append(step)
        else:
            early.append(step)
            needed.update(step.read, step.written)
    return early[::-1], late[::-1]


def _found(function: Function, steps: Sequence[Any], new_values: Sequence[Storage],
           first: int) -> dict[Storage, Storage]:
    """The new values that may lie in place, made by the steps from ``first`` on."""
    places = {storage.source: storage for step in steps for storage in step.read if storage.kind == "variable"}
    found: dict[Storage, Storage] = {}
    for root, (variable, _) in zip(new_values, function.updates, strict=True):
        old = places.get(variable)
        writers = [number for number, step in enumerate(steps) if root in step.written]
        if old is None or len(writers) != 1 or writers[0] < first:
            continue
        writer = writers[0]
        last_reader = max([number for number, step in enumerate(steps) if old in step.read])
        if last_reader <= writer and root not in steps[writer].read and _same_places(steps[writer], old, root):
            found[root] = old
    return found


def is_safe(step: Any) -> bool:
    """Whether a step is a kernel that cannot fail."""
    return hasattr(step, "lowered") and not step.lowered.failures


def _same_places(step: Any, old: Storage, root: Storage) -> bool:
    """Whether a kernel reads the old value only at the places that it writes in the same turn."""
    lowered = step.lowered
    statements = list(walk(lowered.kernel.body))
    if any([isinstance(statement, Reduce) for statement in statements]):
        return False
    buffers: dict[Storage, Buffer] = dict(zip(
        lowered.storages, [buffer for buffer in lowered.kernel.buffers if buffer.role != "scratch"], strict=True))
    reads = [statement for statement in statements if isinstance(statement, Load)
             and statement.buffer is buffers.get(old)]
    writes = [statement for statement in statements if isinstance(statement, Store)
              and statement.buffer is buffers[root]]
    places = {statement.address for statement in writes}
    return len(writes) == 1 and all([statement.address in places for statement in reads])
