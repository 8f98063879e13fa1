"""The choice of the new values of variables that are written in place, and of the time when they are.

A new value is written in place if one kernel makes it, point by point, and nothing reads the old one afterwards, or at
another point. From the first such kernel on a call cannot be stopped, so these kernels run last: after every step that
may fail, and after all other work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from nervure.ir.function import Function
from nervure.kernel.ir import Contract, Fold, Load, Reduce, Statement, Store, walk
from nervure.kernel.time_model import duration_of
from nervure.memory.storage import UNSTOPPED, Storage, StorageKind
from nervure.support.machine import Machine

if TYPE_CHECKING:
    from nervure.kernel.plan import KernelStep, PlanStep


def updates_in_place(function: Function, steps: Sequence[PlanStep], roots: Sequence[Storage],
                     machine: Machine) -> tuple[list[PlanStep], dict[Storage, Storage]]:
    """Returns the steps of a plan in the order in which they run, and the roots that may lie in place. For each of
    these roots, it gives the memory of its variable.
    """
    new_values = roots[len(function.results):]
    written = set(new_values)
    early, late = _divided(steps, lambda step: not step.may_fail and not written.isdisjoint(step.written))
    ordered = [*early, *late]
    found = _found(function, ordered, new_values, len(early), machine)
    early, late = _divided(ordered, lambda step: not found.keys().isdisjoint(step.written))
    return [*early, *late], found


def _divided(steps: Sequence[PlanStep], is_chosen: Callable[[PlanStep], bool]) -> tuple[list[PlanStep], list[PlanStep]]:
    """Returns the steps in two parts, each in order. The late part has the chosen steps, unless a step that is not
    chosen needs them.
    """
    early: list[PlanStep] = []
    late: list[PlanStep] = []
    needed: set[Storage] = set()
    for step in reversed(steps):
        if is_chosen(step) and needed.isdisjoint(step.written):
            late.append(step)
        else:
            early.append(step)
            needed.update(step.read, step.written)
    return early[::-1], late[::-1]


def _found(function: Function, steps: Sequence[PlanStep], new_values: Sequence[Storage],
           first: int, machine: Machine) -> dict[Storage, Storage]:
    """Returns the new values that may lie in place, made by the steps from ``first`` on."""
    places = {storage.number: storage for step in steps for storage in step.read
              if storage.kind is StorageKind.VARIABLE}
    numbers = {variable: number for number, variable in enumerate(function.variables)}
    readers, writers = [_numbers_by_storage(touched) for touched in (
        [step.read for step in steps], [step.written for step in steps])]
    found: dict[Storage, Storage] = {}
    for root, (variable, _) in zip(new_values, function.updates, strict=True):
        old = places.get(numbers[variable])
        if old is None or len(writers.get(root, ())) != 1 or writers[root][0] < first:
            continue
        writer = writers[root][0]
        is_last = readers[old][-1] <= writer and writer not in readers.get(root, ())
        if is_last and _same_places(steps[writer], old, root, machine):
            found[root] = old
    return found


def _numbers_by_storage(touched: Sequence[Sequence[Storage]]) -> dict[Storage, list[int]]:
    """Returns for each storage the numbers of the steps that touch it, in order."""
    found: dict[Storage, list[int]] = {}
    for number, storages in enumerate(touched):
        for storage in dict.fromkeys(storages):
            found.setdefault(storage, []).append(number)
    return found


def _same_places(step: PlanStep, old: Storage, root: Storage, machine: Machine) -> bool:
    """Whether a kernel reads the old value only at the places that it writes in the same iteration, and before the
    write. The only write and all reads must be in one body, the reads first, at one address. Kernels that reduce are
    excluded, except products that may be short: they may take long, and cannot be stopped once they write in place.
    """
    if step.kernel is None or any([isinstance(statement, Reduce | Fold) for statement in walk(step.kernel.body)]):
        return False
    has_product = any([isinstance(statement, Contract) for statement in walk(step.kernel.body)])
    if has_product and not _may_be_short(step, machine):
        return False
    buffers = {buffer for buffer, storage in step.pairs if storage in (old, root)}
    touching = [[statement for statement in body if isinstance(statement, Load | Store)
                 and statement.buffer in buffers] for body in _bodies(step.kernel.body)]
    together = [statements for statements in touching if statements]
    if len(together) != 1:
        return False
    *reads, write = together[0]
    return isinstance(write, Store) and all(
        [isinstance(read, Load) and read.address == write.address for read in reads])


def _may_be_short(step: KernelStep, machine: Machine) -> bool:
    """Whether a kernel takes no longer than an interrupt of the call may be delayed. If that depends on the sizes of a
    call, the call decides.
    """
    points = step.lowered.points
    return not isinstance(points, int) or duration_of(step.lowered.kernel, points, machine).nanoseconds({}) <= UNSTOPPED


def _bodies(body: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """Yields the body and those of all loops in it."""
    yield body
    for statement in body:
        for inner in statement.bodies:
            yield from _bodies(inner)
