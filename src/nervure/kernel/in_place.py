"""The choice of the values that are written in place of others, and of the time when they are.

A new value is written in place if one kernel makes it, point by point, and nothing reads the old one afterwards, or at
another point. Or one kernel copies the old value and a second one changes elements of the copy, as scatters do; in
place, nothing is left to copy.

The new value of a variable is written in place of the old one. From the first such kernel on a call cannot be stopped,
so these kernels run last: after every step that may fail, and after all other work. A result is written in place of an
argument if the caller permits it in a call, whenever its kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from nervure.ir.function import Function
from nervure.kernel.ir import Contract, Fold, For, Load, Reduce, Statement, Store, walk
from nervure.kernel.time_model import duration_of, has_open_sizes
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
    touches = _Touches(steps)
    found: dict[Storage, Storage] = {}
    for root, (variable, _) in zip(new_values, function.updates, strict=True):
        old = places.get(numbers[variable])
        writer = None if old is None else touches.replacing(root, old)
        if old is not None and writer is not None and writer >= first and _is_short(steps[writer], machine):
            found[root] = old
    return found


def replaceable(function: Function, steps: Sequence[PlanStep], roots: Sequence[Storage]) -> list[ReplacedArgument]:
    """Returns those ``roots`` that are results and may lie in the memory of an argument of which they are an update.
    """
    touches = _Touches(steps)
    found = []
    for root in roots[:len(function.results)]:
        read = dict.fromkeys([storage for writer in touches.writers.get(root, ()) for storage in steps[writer].read])
        found += [(root, old) for old in read
                  if old.kind is StorageKind.ARGUMENT and (old.dtype, old.shape) == (root.dtype, root.shape)
                  and touches.replacing(root, old) is not None]
    return found


ReplacedArgument = tuple[Storage, Storage]
"""The memory of a result, and that of the argument in whose place it may lie."""


class _Touches:
    """The steps that read and write each storage, by their numbers, in order."""

    def __init__(self, steps: Sequence[PlanStep]) -> None:
        self._steps = steps
        self.readers, self.writers = [_numbers_by_storage(touched) for touched in (
            [step.read for step in steps], [step.written for step in steps])]
        self._accesses: dict[int, dict[Storage, list[_Place]]] = {}

    def replacing(self, root: Storage, old: Storage) -> int | None:
        """Returns the step that writes ``root`` when it lies in the memory of ``old``; None if it may not lie there."""
        if root not in self.writers:
            return None
        *copying, writer = self.writers[root]
        others = [reader for reader in self.readers[old] if reader not in copying]
        if copying:
            may_lie_there = len(copying) == 1 and self._copies(copying[0], old) and writer not in others
        else:
            is_new = writer not in self.readers.get(root, ())
            may_lie_there = is_new and self._are_at_one_place(writer, old, root)
        return writer if may_lie_there and others[-1:] <= [writer] else None

    def _copies(self, number: int, old: Storage) -> bool:
        """Whether a step is a copy of ``old``."""
        return is_copy(self._steps[number]) and self._steps[number].read == [old]

    def _are_at_one_place(self, number: int, old: Storage, root: Storage) -> bool:
        """Whether a step reads the old value only at the places that it writes in the same iteration, and before the
        write. It need not read it at all, or the only write and all reads are in one body, the reads first, at one
        address.
        """
        if number not in self._accesses:
            self._accesses[number] = _accesses(self._steps[number])
        accesses = self._accesses[number]
        if accesses and old not in accesses:
            return True
        places = sorted([*accesses.get(old, ()), *accesses.get(root, ())], key=lambda place: place[:2])
        *reads, write = [access for _, _, access in places] or [None]
        return (len({body for body, _, _ in places}) == 1 and isinstance(write, Store) and all(
            [isinstance(read, Load) and read.address == write.address for read in reads]))


_Place = tuple[int, int, Load | Store]
"""An access to memory: the number of its body, and its own number in there."""


def _accesses(step: PlanStep) -> dict[Storage, list[_Place]]:
    """Returns the accesses of a kernel to each storage; none for a step without loops."""
    found: dict[Storage, list[_Place]] = {}
    if step.kernel is None:
        return found
    storages = dict(step.pairs)
    for number, body in enumerate(_bodies(step.kernel.body)):
        for place, statement in enumerate(body):
            if isinstance(statement, Load | Store) and statement.buffer in storages:
                found.setdefault(storages[statement.buffer], []).append((number, place, statement))
    return found


def _numbers_by_storage(touched: Sequence[Sequence[Storage]]) -> dict[Storage, list[int]]:
    """Returns for each storage the numbers of the steps that touch it, in order."""
    found: dict[Storage, list[int]] = {}
    for number, storages in enumerate(touched):
        for storage in dict.fromkeys(storages):
            found.setdefault(storage, []).append(number)
    return found


def is_copy(step: PlanStep) -> bool:
    """Whether a step stores each element that it reads at the address that it has."""
    if step.kernel is None or [len(step.read), len(step.written)] != [1, 1]:
        return False
    statements = [statement for statement in walk(step.kernel.body) if not isinstance(statement, For)]
    if len(statements) != 2:
        return False
    load, store = statements
    return (isinstance(load, Load) and isinstance(store, Store) and store.value is load.result
            and load.valid is None and store.valid is None and store.combine is None and load.address == store.address)


def _is_short(step: PlanStep, machine: Machine) -> bool:
    """Whether a kernel may write in place of a variable, since it is short: it cannot be stopped once it does.

    Kernels that reduce may take long, except products that are known to be short.
    """
    if step.kernel is None or any([isinstance(statement, Reduce | Fold) for statement in walk(step.kernel.body)]):
        return False
    has_product = any([isinstance(statement, Contract) for statement in walk(step.kernel.body)])
    return not has_product or _may_be_short(step, machine)


def _may_be_short(step: KernelStep, machine: Machine) -> bool:
    """Whether a kernel takes no longer than an interrupt of the call may be delayed. If that depends on the sizes of a
    call, the call decides.
    """
    kernel, points = step.lowered.kernel, step.lowered.points
    return has_open_sizes(kernel, points) or duration_of(kernel, points, machine).nanoseconds({}) <= UNSTOPPED


def _bodies(body: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """Yields the body and those of all loops in it."""
    yield body
    for statement in body:
        for inner in statement.bodies:
            yield from _bodies(inner)
