"""Which new values of variables are written where the old ones are.

That is so where one kernel makes the new value, point by point, and nothing reads the old one afterwards, or at another
point. From the first such kernel on a call cannot be stopped, so nothing that may fail comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nervure.ir.function import Function
from nervure.kernel.ir import Buffer, Load, Reduce, Store, walk
from nervure.memory.storage import Storage


def updates_in_place(function: Function, steps: Sequence[Any], roots: Sequence[Storage]) -> dict[Storage, Storage]:
    """For each root that may lie in the memory of its variable, that memory. ``steps`` are those of a plan."""
    places = {storage.source: storage for step in steps for storage in step.read if storage.kind == "variable"}
    last_risk = max([number for number, step in enumerate(steps) if not is_safe(step)], default=-1)
    found: dict[Storage, Storage] = {}
    for root, (variable, _) in zip(roots[len(function.results):], function.updates, strict=True):
        old = places.get(variable)
        writers = [number for number, step in enumerate(steps) if root in step.written]
        if old is None or len(writers) != 1 or writers[0] <= last_risk:
            continue
        readers = [number for number, step in enumerate(steps) if old in step.read]
        read_later = any([root in step.read for number, step in enumerate(steps) if number == writers[0]])
        if max(readers) <= writers[0] and not read_later and _same_places(steps[writers[0]], old, root):
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
