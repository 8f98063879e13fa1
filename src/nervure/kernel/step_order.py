"""The order of steps: a step that frees more memory than it fills runs as soon as its operands exist.

So the gradient of a layer's weights is made while the gradient of its result is alive, and the layer's input need not
wait for the other layers.

>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> from nervure.passes.pipelines import standard
>>> x, v = nv.Parameter(nv.float32, (64, 64)), nv.Parameter(nv.float32, (64, 2))
>>> wide = nv.ops.MatMul(x, x)
>>> results = nv.ops.MatMul(nv.ops.MatMul(wide, x), x), nv.ops.MatMul(x, nv.ops.MatMul(wide, v))
>>> for step in make_plan(standard(nv.Function(results, [x, v]))).steps:
...     print(step)
kernel product: reads argument 0; writes temporary 0
kernel product: reads temporary 0, argument 1; writes temporary 2
kernel product: reads temporary 0, argument 0; writes temporary 1
kernel product: reads temporary 1, argument 0; writes root 0
kernel product: reads argument 0, temporary 2; writes root 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nervure.errors import InternalError
from nervure.memory.storage import Storage, StorageKind
from nervure.types.dim import DimLike, less_equal

if TYPE_CHECKING:
    from nervure.kernel.cluster import Step
    from nervure.kernel.plan import PlanStep


def relieved(steps: Sequence[PlanStep], awaited: Mapping[Step, Sequence[Storage]]) -> list[PlanStep]:
    """Returns the steps with those moved ahead that free memory. None passes a step that makes its operands, or what
    it has ``awaited``, or touches its results; a step that may fail, or writes more than the memory of the call, stays.
    """
    last = {storage: number for number, step in enumerate(steps) for storage in (*step.read, *step.written)}
    read, written = dict[Storage, int](), dict[Storage, int]()
    places: list[tuple[int, int]] = []
    for number, step in enumerate(steps):
        place = number
        if not step.may_fail and _is_inside(step) and _makes_free(step, number, last):
            before = [*step.read, *step.written]
            before += [storage for part in step.cluster.parts for storage in awaited.get(part, ())]
            place = max([-1, *[written.get(storage, -1) for storage in before],
                         *[read.get(storage, -1) for storage in step.written]])
        places.append((place, number))
        for table, storages in (read, step.read), (written, step.written):
            table.update({storage: max(place, table.get(storage, -1)) for storage in storages})
    return [steps[number] for _, number in sorted(places)]


def check_order(steps: Sequence[PlanStep]) -> None:
    """Raises InternalError if a step reads memory of the call, or a root, that no step before it fills."""
    filled: set[Storage] = set()
    for step in steps:
        filled.update(step.written)
        for storage in step.read:
            is_made = storage.kind in (StorageKind.TEMPORARY, StorageKind.ROOT)
            if is_made and storage not in filled and less_equal(storage.size, 0) is not True:
                raise InternalError(f"the step {step} reads {storage}, which no step before it fills")


def _is_inside(step: PlanStep) -> bool:
    """Whether a step is a kernel that writes only memory of the call."""
    return step.kernel is not None and all([storage.kind is StorageKind.TEMPORARY for storage in step.written])


def _makes_free(step: PlanStep, number: int, last: Mapping[Storage, int]) -> bool:
    """Whether certainly less memory is in use after a step than before it."""
    freed = [storage for storage in dict.fromkeys(step.read)
             if storage.kind is StorageKind.TEMPORARY and last[storage] == number]
    return less_equal(_bytes(step.written) + 1, _bytes(freed)) is True


def _bytes(storages: Sequence[Storage]) -> DimLike:
    return sum([storage.nbytes for storage in storages], start=0)
