"""The plan of a function: its steps lowered to kernels, and the memory of every value. It holds for all sizes.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4, 8))
>>> total = nv.ops.Sum(nv.ops.Exp(x), [1])
>>> plan = make_plan(nv.Function([total], [x]))
>>> for step in plan.steps:
...     print(step)
kernel rows: reads argument 0; writes root 0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from nervure import flags
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, ReadVariable
from nervure.ir.op import Op, Value, dimensions_of
from nervure.ir.whole_op import found_lengths
from nervure.kernel.analysis import segments_of
from nervure.kernel.cluster import Copy, Loops, Segments, Step, cluster
from nervure.kernel.cluster.inside import Place, places_inside
from nervure.kernel.failures import Failure
from nervure.kernel.in_place import replaceable, updates_in_place
from nervure.kernel.ir import Buffer, Kernel, dimensions_in
from nervure.kernel.loop_sharing import Made, groups_of
from nervure.kernel.lower import BufferAssignment, LoweredKernel, LoweredOpaque, lower_step
from nervure.kernel.printer import print_kernel
from nervure.kernel.producers import ProducerAnalysis, dense_base
from nervure.kernel.schedule import schedule_apart, schedule_kernel
from nervure.kernel.sharing import KernelSharing
from nervure.kernel.simplify import simplify_kernel
from nervure.kernel.step_order import check_order, relieved
from nervure.memory.storage import Storage, StorageKind, layout_of
from nervure.ops.choosing import required_size
from nervure.ops.rematerialising import After
from nervure.support.machine import GENERIC, Machine
from nervure.support.replacing import replace
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, symbols


class KernelStep(NamedTuple):
    """A kernel, the memory of its buffers, and the step of the clustering that it belongs to.

    ``lengths`` is the memory of the lengths, found by other steps, that its sizes depend on; ``required`` are sizes of
    these that must not be 0.
    """

    lowered: LoweredKernel
    cluster: Step
    lengths: tuple[Storage, ...] = ()
    required: tuple[DimLike, ...] = ()

    @property
    def storages(self) -> tuple[Storage, ...]:
        """The memory of the kernel's buffers, in their order."""
        return self.lowered.storages

    @property
    def read(self) -> list[Storage]:
        """The memory that is read."""
        return [*[storage for buffer, storage in self.pairs if buffer.role != "out"], *self.lengths]

    @property
    def written(self) -> list[Storage]:
        """The memory that is written."""
        return [storage for buffer, storage in self.pairs if buffer.role != "in"]

    @property
    def kernel(self) -> Kernel:
        """The loops."""
        return self.lowered.kernel

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures that its checks may find, in the order of their numbers."""
        return self.lowered.failures

    @property
    def may_fail(self) -> bool:
        """Whether it has checks."""
        return bool(self.lowered.failures or self.required)

    @property
    def pairs(self) -> Iterable[tuple[Buffer, Storage]]:
        """The kernel's buffers, each with its memory."""
        buffers = [buffer for buffer in self.kernel.buffers if buffer.is_given]
        return zip(buffers, self.lowered.storages, strict=True)

    def __str__(self) -> str:
        read, written = [", ".join(map(str, entries)) for entries in (self.read, self.written)]
        return f"kernel {self.kernel.name}: reads {read or 'nothing'}; writes {written}"


class OpaqueStep(NamedTuple):
    """An op that has no kernel: Python runs it, or programs do that a transformer makes of the functions inside of it.

    ``bases`` are the stored values from which its operands are made by views, ``lengths`` is the memory of the lengths
    that its sizes depend on.
    """

    op: Op
    bases: dict[Value, Storage]
    outputs: tuple[Storage, ...]
    cluster: Step
    lengths: tuple[Storage, ...] = ()

    @property
    def read(self) -> list[Storage]:
        """The memory that is read."""
        return [*self.bases.values(), *self.lengths]

    @property
    def written(self) -> list[Storage]:
        """The memory that is written."""
        return list(self.outputs)

    @property
    def storages(self) -> tuple[Storage, ...]:
        """All of it, once."""
        return tuple(dict.fromkeys([*self.read, *self.written]))

    @property
    def kernel(self) -> None:
        """None: there are no loops."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The empty tuple: an exception, rather than a check, ends the call."""
        return ()

    @property
    def may_fail(self) -> bool:
        """True: Python may raise anything."""
        return True

    def __str__(self) -> str:
        return f"opaque {type(self.op).__name__}"


PlanStep = KernelStep | OpaqueStep


class Plan(NamedTuple):
    """Steps in order, and the memory of the roots: results, then new values of variables.

    ``in_place`` are the roots that lie in the memory of the variable whose new value they are; ``replaceable`` pairs
    results with arguments in whose memory they may lie; ``constants`` are the arrays of constant storages by their
    numbers; ``held`` is the value of each storage that a call makes for itself
    (or partial totals of it, if the types differ); ``inside`` are the values that lie in the memory of others.
    ``places`` is the memory of each value that has some.
    """

    function: Function
    steps: tuple[PlanStep, ...]
    roots: tuple[Storage, ...]
    in_place: dict[Storage, Storage]
    replaceable: tuple[tuple[Storage, Storage], ...]
    clusters: tuple[Step, ...]
    constants: tuple[np.ndarray, ...]
    held: dict[Storage, Value]
    inside: Mapping[Value, Place]
    places: Mapping[Value, Storage]

    @property
    def stored(self) -> set[Value]:
        """The values that a call needs memory for."""
        touched = {storage for step in self.steps for storage in (*step.read, *step.written)}
        return {*self.function.roots, *[self.held[each] for each in touched if each in self.held]}

    @property
    def kernels_of(self) -> dict[Step, list[int]]:
        """The numbers of the kernels of each step of the clustering, in order."""
        found: dict[Step, list[int]] = {}
        for number, step in enumerate(self.steps):
            for part in step.cluster.parts:
                found.setdefault(part, []).append(number)
        return found

    @property
    def made(self) -> dict[Value, Step]:
        """The values that steps write to memory, each with its step; not what is scratch memory of a shared loop."""
        written = {storage for step in self.steps for storage in step.written}
        return {value: step for step in self.clusters for value in step.stored if self.places.get(value) in written}


def make_plan(function: Function, machine: Machine = GENERIC,
              on_kernel: Callable[[KernelStep], None] = lambda step: None, invariant: Collection[int] = (),
              lengths: Mapping[str, Storage] = MappingProxyType({})) -> Plan:
    """Makes the plan of a function without composites. ``on_kernel`` is called with each kernel as soon as it exists.

    ``invariant`` are the parameters that are the same in all iterations of the loop whose body this is. ``lengths`` is
    the memory of lengths that were found outside, by their names: arguments behind the parameters.
    """
    producers = ProducerAnalysis(function)
    clusters = cluster(function, producers, machine)
    memory = BufferAssignment(producers)
    memory.inside = places_inside(function, clusters, producers)
    constants = _place_leaves(function, memory)
    roots = _place_roots(function, clusters, memory)
    lasting = _lasting(function, memory, invariant)
    _place_values(clusters, memory, lasting)
    sharing = KernelSharing(memory, lasting, lambda step: list(map(_simplified, lower_step(step, memory))))
    made = [Made(lowered, step) for step in clusters for lowered in sharing.kernels(step)]
    steps = list(_steps(made, memory, lasting, machine, on_kernel, {**lengths, **_lengths(function, memory)}))
    if flags.debug:
        _show(function, clusters, steps)
    ordered, in_place = updates_in_place(
        function, relieved(steps, _awaited(function, clusters, memory)), roots, machine)
    check_order(ordered)
    return Plan(function, tuple(ordered), tuple(roots), in_place, tuple(replaceable(function, ordered, roots)),
                tuple(clusters), constants, memory.held, memory.inside, memory.places)


def preheader(steps: Sequence[PlanStep], invariant: Collection[int]) -> tuple[list[PlanStep], int]:
    """Returns the steps of a loop's body with those in front that do the same in each iteration, and their number.

    They read constants, the parameters that are ``invariant``, and each other's results, and cannot fail.
    """
    writers = Counter([storage for step in steps for storage in step.written])
    same: set[Storage] = set()
    early: list[PlanStep] = []
    late: list[PlanStep] = []
    for step in steps:
        is_same = step.kernel is not None and not step.may_fail and all([
            storage in same or storage.kind is StorageKind.CONSTANT
            or (storage.kind is StorageKind.ARGUMENT and storage.number in invariant) for storage in step.read])
        if is_same and all([storage.is_of_call and writers[storage] == 1 for storage in step.written]):
            same.update(step.written)
            early.append(step)
        else:
            late.append(step)
    return [*early, *late], len(early)


def _simplified(lowered: LoweredKernel | LoweredOpaque) -> LoweredKernel | LoweredOpaque:
    """Returns a kernel in its simplest form, with the memory that it still touches."""
    if isinstance(lowered, LoweredOpaque):
        return lowered
    return _with_memory(lowered, simplify_kernel(lowered.kernel), lowered.memory)


def _lengths(function: Function, memory: BufferAssignment) -> dict[str, Storage]:
    """Returns the memory of the lengths that ops find, by their names."""
    return {name: memory.places[length.value] for name, length in found_lengths(function.effects).items()}


def _steps(made: Sequence[Made], memory: BufferAssignment, lasting: Mapping[Storage, Value], machine: Machine,
           on_kernel: Callable[[KernelStep], None], lengths: Mapping[str, Storage]) -> Iterator[PlanStep]:
    """Yields the kernels and calls of Python of a plan, with their loops in order. Some kernels share an outer loop.
    Their sizes may depend on ``lengths``.
    """
    shares = machine.shares_loops and not lengths
    found, apart = groups_of(made, lasting, machine) if shares else ([], {})
    groups = {group.numbers[-1]: group for group in found}
    joined = {number for group in groups.values() for number in group.numbers}
    scheduling, shared = _Scheduling(memory, lasting, machine), dict[int, Kernel]()
    for number, (lowered, step) in enumerate(made):
        if number in groups:
            kernels = [KernelStep(groups[number].scheduled(made, machine, shared), groups[number].step(made))]
        elif number in joined:
            continue
        elif isinstance(lowered, LoweredOpaque):
            yield OpaqueStep(*lowered, step, _used(dimensions_of(lowered.op), lengths, lowered.outputs))
            continue
        else:
            noted = lowered._replace(notes=(apart[number],)) if number in apart else lowered
            kernels = [_with_lengths(KernelStep(each, step), lengths) for each in scheduling.scheduled(noted)]
        for kernel in kernels:
            on_kernel(kernel)
            yield kernel


def _with_lengths(step: KernelStep, lengths: Mapping[str, Storage]) -> KernelStep:
    """Returns a step with the memory of the ``lengths`` that its sizes depend on, and the sizes that must not be 0."""
    if not lengths:
        return step
    required = [size for op in step.cluster.ops if (size := required_size(op)) is not None]
    return step._replace(lengths=_used(dimensions_in(step.kernel), lengths), required=tuple(required))


def _used(dimensions: Iterable[DimLike], lengths: Mapping[str, Storage],
          own: Collection[Storage] = ()) -> tuple[Storage, ...]:
    """Returns the memory of the lengths in some dimensions, but for those that a step finds itself."""
    names = frozenset[str]().union(*map(symbols, dimensions))
    return tuple([storage for name, storage in lengths.items() if name in names and storage not in own])


def _awaited(function: Function, clusters: Iterable[Step], memory: BufferAssignment) -> dict[Step, list[Storage]]:
    """Returns the memory that each step waits for beside what it reads, as ``After`` says."""
    if not any([type(op) is After for op in function.operations]):
        return {}
    found: dict[Step, list[Storage]] = {}
    for step in clusters:
        for _, read in step.reads(memory.producers):
            found.setdefault(step, []).extend([memory.places[other] for other in memory.producers.awaited(read)
                                               if other in memory.places])
    return found


def _show(function: Function, clusters: list[Step], steps: list[PlanStep]) -> None:
    """Prints the output that the switch ``debug`` asks for."""
    if flags.shows("cluster"):
        flags.show(f"cluster {function.name}", "\n".join(map(str, clusters)))
    for number, step in enumerate(steps):
        if isinstance(step, KernelStep) and flags.shows("kernels"):
            flags.show(f"step {number} of {function.name}", print_kernel(step.lowered.kernel))


def _lasting(function: Function, memory: BufferAssignment, invariant: Collection[int]) -> dict[Storage, Value]:
    """Returns the memory that stays the same from call to call, unless other code writes it, with its value.

    These are constants, variables that the function does not write, and the parameters that are ``invariant``.
    """
    written = {variable for variable, _ in function.updates}
    ops = [op for op in function.operations if isinstance(op, Constant)
           or isinstance(op, ReadVariable) and op.variable not in written]
    same = [parameter for number, parameter in enumerate(function.parameters) if number in invariant]
    values = [op.value for op in (*ops, *same)]
    return {memory.places[value]: value for value in values}


class _Scheduling:
    """The kernels of a plan with their loops in order. Those that share their loops are scheduled once."""

    def __init__(self, memory: BufferAssignment, lasting: Mapping[Storage, Value], machine: Machine) -> None:
        self._memory, self._lasting, self._machine = memory, lasting, machine
        self._known: dict[tuple[int, tuple[bool, ...]], tuple[Kernel, tuple[Kernel | None, Kernel]]] = {}

    def scheduled(self, lowered: LoweredKernel) -> list[LoweredKernel]:
        """Returns a kernel with its loops in order, behind one that packs an operand once for many calls, if there is
        such an operand.
        """
        storages, kernel = lowered.memory, lowered.kernel
        key = id(kernel.body), tuple([storage in self._lasting for storage in lowered.storages])
        if key not in self._known:  # bodies are known by their identity, as those in the table live
            stays = [buffer for buffer in kernel.buffers if storages.get(buffer.name) in self._lasting]
            found = schedule_apart(kernel, self._machine, stays)
            self._known[key] = kernel, found or (None, schedule_kernel(kernel, self._machine))
        first, rest = self._known[key][1]
        rest = replace(rest, origins=kernel.origins)
        if first is None:
            return [_with_memory(lowered, rest, storages)]
        source, panel = storages[first.buffers[0].name], first.buffers[1]
        storages[panel.name] = self._memory.derived(panel.dtype, (panel.size,), self._lasting[source])
        pack = LoweredKernel(first, (source, storages[panel.name]), (), panel.size)
        return [pack, _with_memory(lowered, rest, storages)]


def _with_memory(lowered: LoweredKernel, kernel: Kernel, storages: Mapping[str, Storage]) -> LoweredKernel:
    """Returns a lowered step with another kernel, and the memory of that kernel's buffers."""
    kept = tuple([storages[buffer.name] for buffer in kernel.buffers if buffer.is_given])
    return lowered._replace(kernel=kernel, storages=kept)


def _place_leaves(function: Function, memory: BufferAssignment) -> tuple[np.ndarray, ...]:
    """Gives constants, arguments and variables their memory; returns the arrays of the constants."""
    for number, parameter in enumerate(function.parameters):
        memory.places[parameter.value] = _storage(StorageKind.ARGUMENT, parameter.value, number)
    variables = {variable: _storage(StorageKind.VARIABLE, variable.type, number, variable.type)
                 for number, variable in enumerate(function.variables)}
    constants: list[np.ndarray] = []
    for op in function.operations:
        if isinstance(op, Constant):
            memory.places[op.value] = _storage(StorageKind.CONSTANT, op.value, len(constants))
            constants.append(op.array)
        elif isinstance(op, ReadVariable):
            memory.places[op.value] = variables[op.variable]
    return tuple(constants)


def _storage(kind: StorageKind, held: Any, number: int, kept: BasicTensorDescription | None = None) -> Storage:
    """Makes a storage for the value ``held``; if the memory is ``kept`` between calls, with the layout of its
    description.
    """
    return Storage(kind, held.dtype, held.shape, number, None if kept is None else layout_of(kept))


def _place_roots(function: Function, clusters: list[Step], memory: BufferAssignment) -> list[Storage]:
    """Returns the memory of roots: computed values lie there from the start, others are copied there by a step.

    A value that is several results lies in the memory of the first one.
    """
    copied = {step.root for step in clusters if isinstance(step, Copy)}
    repeated = {number: value for step in clusters if isinstance(step, Loops)
                for value, numbers in step.repeated.items() for number in numbers}
    kept = [*[None] * len(function.results), *[variable.type for variable, _ in function.updates]]
    roots = []
    for number, root in enumerate(function.roots):
        storage = memory.roots[number] = _storage(StorageKind.ROOT, root, number, kept[number])
        roots.append(storage)
        if number in repeated:
            memory.repeated.setdefault(repeated[number], []).append(storage)
        elif number not in copied:
            memory.places[dense_base(root)] = storage
    return roots


def _place_values(clusters: list[Step], memory: BufferAssignment, lasting: Mapping[Storage, Value]) -> None:
    """Assigns temporary storage to the stored values that are no roots. A copy, in another order, of memory that stays
    the same is made once for many calls.
    """
    makers = {value: step for step in clusters for value in step.stored}
    for value in [value for value in makers if value not in memory.places and value not in memory.inside]:
        source = _copied(makers[value], memory)
        if source is not None and source in lasting and source.size != 0:
            memory.places[value] = memory.derived(value.dtype, value.shape, lasting[source])
        else:
            memory.places[value] = memory.temporary(value.dtype, value.shape, value)
    for value in memory.inside:
        memory.places[value] = memory.places[_whole(value, memory.inside)]


def _whole(value: Value, inside: Mapping[Value, Place]) -> Value:
    """Returns the value in whose memory another one lies."""
    while value in inside:
        value = inside[value].whole
    return value


def _copied(step: Step, memory: BufferAssignment) -> Storage | None:
    """Returns the memory of which a step makes nothing but a copy, for all sizes of a call."""
    if not isinstance(step, Segments) or len(segments_of(step.op)) != 1:
        return None
    read = {memory.places.get(entry.value) for _, entry in step.reads(memory.producers)}
    is_fixed = all([isinstance(length, int) for length in step.op.outputs[0].shape])
    return read.pop() if len(read) == 1 and is_fixed else None
