"""Structural hashing of steps: layers of one structure share their kernels, which are lowered and scheduled once.

Two steps have one structure if they have the same ops with the same attributes, which read each other's values and
memory of the same types in the same pattern. Their kernels then differ only in the memory that they are given.

>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> from nervure.passes.pipelines import standard
>>> x, w = nv.Parameter(nv.float32, (4, 8)), nv.Parameter(nv.float32, (8, 8))
>>> first = nv.ops.MatMul(x, w)
>>> function = nv.Function([nv.ops.MatMul(first, w)], [x, w])
>>> one, other = make_plan(standard(function)).steps
>>> one.kernel.body is other.kernel.body
True
>>> print(one)
kernel product: reads argument 0, argument 1; writes temporary 0
>>> print(other)
kernel product: reads temporary 0, argument 1; writes root 0
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence

from nervure.ir.op import Op, Value
from nervure.kernel.cluster.steps import Loops, Segments, Step
from nervure.kernel.lower import BufferAssignment, LoweredKernel, LoweredOpaque
from nervure.memory.storage import Storage
from nervure.support.replacing import replace

Lowered = Sequence[LoweredKernel | LoweredOpaque]


class KernelSharing:
    """The kernels of the steps so far, by the structure of the steps. ``lower`` makes those of a step, which may
    depend on the ``lasting`` memory.
    """

    def __init__(self, memory: BufferAssignment, lasting: Container[Storage], lower: Callable[[Step], Lowered]) -> None:
        self._memory, self._lasting, self._lower = memory, lasting, lower
        self._known: dict[Hashable, tuple[_Structure, Lowered]] = {}

    def kernels(self, step: Step) -> Lowered:
        """Returns the kernels of a step."""
        if not isinstance(step, (Loops, Segments)):
            return self._lower(step)
        structure = _Structure(step, self._memory, self._lasting)
        if structure.key in self._known:
            first, kernels = self._known[structure.key]
            return [structure.instead_of(first, kernel) for kernel in kernels if isinstance(kernel, LoweredKernel)]
        kernels = self._lower(step)
        if all([isinstance(kernel, LoweredKernel) and structure.covers(kernel) for kernel in kernels]):
            self._known[structure.key] = structure, kernels
        return kernels


class _Structure:
    """The common part of all steps that may share kernels, as a ``key``; ops and storages are numbered as they are
    met.
    """

    def __init__(self, step: Loops | Segments, memory: BufferAssignment, lasting: Container[Storage]) -> None:
        self._memory, self._lasting, self._own = memory, lasting, set(step.ops)
        self._ops: dict[Op, int] = {}
        self._storages: dict[Storage, int] = {}
        self._parts: list[Hashable] = []
        for op in step.ops:
            self._meet(op)
        self._parts += self._of_loops(step) if isinstance(step, Loops) else ["segments", step.together]
        self._parts += [(self._place(memory.places[value]), memory.within(value), *map(self._place, memory.repeated.get(
            value, ()))) for value in step.stored]
        self.key: Hashable = tuple(self._parts)

    def covers(self, kernel: LoweredKernel) -> bool:
        """Whether everything in a kernel has a number here; its checks name ops of the one step."""
        return not kernel.failures and self._storages.keys() >= set(kernel.storages) and all(
            [op in self._ops for op in kernel.kernel.origins])

    def instead_of(self, first: _Structure, kernel: LoweredKernel) -> LoweredKernel:
        """Returns the kernel of another step of this structure with the ops and the memory of this one."""
        ops, storages = list(self._ops), list(self._storages)
        origins = tuple([ops[first._ops[op]] for op in kernel.kernel.origins if isinstance(op, Op)])
        return kernel._replace(kernel=replace(kernel.kernel, origins=origins),
                               storages=tuple([storages[first._storages[each]] for each in kernel.storages]))

    def _of_loops(self, step: Loops) -> list[Hashable]:
        """Returns the decisions about loops: for each op, and for values that are in memory for a while."""
        return [step.shape, step.reduced, step.strategy, step.complete, step.has_contraction,
                *[(step.levels[op], step.phases[op]) for op in step.ops],
                *[tuple([(self._ops[value.op], value.op.outputs.index(value)) for value in values])
                  for values in (step.stored, step.materialised, step.reloaded)]]

    def _meet(self, op: Op) -> int:
        """Returns the number of an op, which is described after its operands when it is met first."""
        if op not in self._ops:
            operands = tuple([self._value(operand) for operand in op.operands])
            attributes = tuple([field.kind.key(getattr(op, name)) for name, field in type(op).fields.items()])
            types = tuple([(value.dtype, value.shape) for value in op.outputs])
            self._parts.append((type(op), operands, attributes, types))
            self._ops[op] = len(self._ops)
        return self._ops[op]

    def _value(self, value: Value) -> Hashable:
        """Returns the key of an operand: its place in memory, if it is read from there, or the op that makes it."""
        storage = self._memory.places.get(value)
        if storage is not None and value.op not in self._own:
            numbers = self._memory.ops.integers.of(value)  # an index between them may have no check
            return "in memory", self._place(storage), value.shape, self._memory.within(value), numbers
        return self._meet(value.op), value.op.outputs.index(value)

    def _place(self, storage: Storage) -> Hashable:
        number = self._storages.setdefault(storage, len(self._storages))
        return number, storage.dtype, storage.shape, storage.layout, storage in self._lasting
