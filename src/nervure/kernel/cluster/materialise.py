"""Materialisation: the choice of the values that get memory, and of those that wait in memory between the runs over a
row.

Roots get memory, and so do values read outside of the step that makes them. A value that is cheap to compute from
little memory is rematerialised by its readers instead, if that moves less than storing and loading it.

Values computed from a product at each element of its result are treated like that, too: the backward pass of a layer
normalisation reads the gradient again rather than three multiples of it. A product computes its operands as it packs
them, unless it packs them too often (:mod:`prologues`).

If the lanes of vectors share a row, a thread has one row at a time, and its values wait in scratch memory of the row's
length. If each lane has its own row there is no such memory: a value that three runs need is stored as a whole, one
that two runs need is computed twice.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
>>> from nervure.passes.pipelines import standard
>>> x = nv.Parameter(nv.float32, (64, 64))
>>> raised = nv.ops.Exp(x)
>>> function = standard(nv.Function([raised / nv.ops.Broadcast(nv.ops.Variance(raised, [0]), x.shape, [0])], [x]))
>>> for step in cluster(function):
...     print(", ".join([type(value.op).__name__ for value in step.stored]))
Exp, Divide
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.kinds import Element
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import Level, OpAnalysis, OpKind
from nervure.kernel.cluster.prologues import has_edges, is_widened, repetitions
from nervure.kernel.cluster.steps import Loops, Scatter, Step
from nervure.kernel.producers import ProducerAnalysis, Read, dense_base
from nervure.kernel.tuning import CHEAP, ONE_BY_ONE, PACKING, RECOMPUTED_DEPTH, STORE
from nervure.support.machine import Machine
from nervure.types.dim import product


def materialise(function: Function, steps: Sequence[Step], producers: ProducerAnalysis, machine: Machine) -> None:
    """Fills in the values that steps store on a ``machine``, and those that their runs load from each other."""
    stored = _Materialisation(function, steps, producers, machine).stored()
    for step in steps:
        if isinstance(step, Loops):
            step.stored = [value for value in step.values if value in stored]
            if step.reduced is not None:
                _between_runs(step, producers)


class _Reader(NamedTuple):
    """A step that reads a value of another one. ``times`` is how often it would compute each element itself, None if
    it cannot; a product computes its operands as it packs them.
    """

    step: Step
    read: Read
    times: int | None
    is_product: bool


class _Materialisation:
    def __init__(self, function: Function, steps: Sequence[Step], producers: ProducerAnalysis,
                 machine: Machine) -> None:
        self._steps, self._producers, self._machine = steps, producers, machine
        self._maker = {value: step for step in steps for op in step.ops for value in op.outputs}
        self._stored = {dense_base(root) for root in function.roots}.intersection(self._maker)
        self._outside: dict[Value, list[_Reader]] = {}

    def stored(self) -> set[Value]:
        """Returns the values with memory. Readers are decided before their operands, since a value computed again reads
        its operands. Values that certainly have memory come first: others may be computed from these. In the step of a
        product the order is that of the ops: its first results are expensive, those derived from them cheap.
        """
        for step in self._steps:
            for reader in self._readers(step):
                self._note(reader)
        self._stored.update([value for value in self._outside if not self._can_be_again(value)])
        self._stored.update([value for value, outside in self._outside.items()
                             if any([reader.is_product for reader in outside]) and not self._is_cheap(value, outside)])
        for step in reversed(self._steps):
            for op in step.ops if _is_product(step) else reversed(step.ops):
                for value in reversed(op.outputs):
                    self._decide(value)
        return self._stored

    def _readers(self, step: Step) -> Iterator[_Reader]:
        """Yields the reads of a step, with the number of times."""
        ops = self._producers.ops
        if _is_product(step):
            for op in step.ops:
                counts = repetitions(op, ops, self._machine) if ops.is_contraction(op) else ()
                for operand, times in zip(op.operands, counts, strict=False):
                    for read in self._producers.reads_of_values((operand,), True):
                        yield _Reader(step, read, 1 if is_widened(read.value) or has_edges(read.value) else times, True)
        if isinstance(step, Scatter):
            for operand, times in zip(step.op.operands, _times_of_scatter(step.op, ops), strict=True):
                for read in self._producers.reads_of_values((operand,), True):
                    yield _Reader(step, read, times, False)
            return
        for op, read in step.reads(self._producers):
            if not ops.is_contraction(op) and not _has_parts_at_hand(step, op, ops):
                yield _Reader(step, read, 1 if step.computes_again else None, False)
        for op in step.ops:
            if _has_parts_at_hand(step, op, ops):
                for read in self._producers.reads_of_values(op.operands, True):
                    yield _Reader(step, read, 1, False)

    def _note(self, reader: _Reader) -> None:
        value = reader.read.value
        if self._maker.get(value, reader.step) is not reader.step:
            self._outside.setdefault(value, []).append(reader)

    def _decide(self, value: Value) -> None:
        outside = self._outside.get(value)
        if not outside or value in self._stored:
            return
        if not self._is_cheap(value, outside):
            self._stored.add(value)
            return
        for reader in outside:
            for below in self._producers.reads(value.op):
                read = Read(below.value, (*reader.read.views, *below.views), below.aligned)
                self._note(reader._replace(read=read, times=None if has_edges(value) else reader.times))
        for below in self._producers.reads(value.op):
            if _is_product(self._maker[value]) and self._maker.get(below.value) is self._maker[value]:
                self._decide(below.value)  # when it was decided, it was not needed outside

    def _is_cheap(self, value: Value, outside: list[_Reader]) -> bool:
        """Whether all readers outside should compute a value again, which then has no memory.

        What the first of them computes costs nothing more.
        """
        if not self._can_be_again(value):
            return False
        cost, loads = self._again(value, 0)
        if any([isinstance(reader.step, Scatter) for reader in outside]):
            cost *= ONE_BY_ONE
        readers = len({id(reader.step) for reader in outside})
        packed = [reader.times or 0 for reader in outside if reader.is_product]
        more = sum([(times - 1) * (cost + loads) + times * PACKING for times in packed])
        return cost <= CHEAP and readers * loads <= STORE + readers and more <= CHEAP

    def _can_be_again(self, value: Value) -> bool:
        """Whether all readers outside can compute a value at the points where they need it."""
        ops = self._producers.ops
        is_moved = ops.is_moved(value.op)  # a load from another place
        is_pointwise = ops.kind(value.op) is OpKind.POINTWISE and len(value.op.outputs) == 1
        return (is_pointwise or is_moved) and self._is_of_each_point(value) and all(
            [reader.times is not None and (reader.read.aligned or is_moved) and all(
                [ops.traits(view).is_injective for view in reader.read.views])
             for reader in self._outside[value]])

    def _again(self, value: Value, depth: int) -> tuple[int, int]:
        """Returns the cost of computing a value again, and the number of tensors of its size that it loads."""
        if self._producers.ops.is_moved(value.op):
            return value.op.cost, 1
        if self._producers.ops.kind(value.op) is not OpKind.POINTWISE or depth > RECOMPUTED_DEPTH:
            return CHEAP + 1, 0
        cost, loads = self._producers.cost(value.op), 0
        for read in self._producers.reads(value.op):
            maker = None if read.value in self._stored else self._maker.get(read.value)
            is_near = maker is not None and (maker is self._maker[value] or maker.level(read.value.op) is Level.FULL)
            is_own = read.aligned and all([self._producers.ops.traits(view).keeps_order for view in read.views])
            if is_near and is_own and self._is_of_each_point(read.value):
                below = self._again(read.value, depth + 1)
                cost, loads = cost + below[0], loads + below[1]
            else:
                loads += read.value.shape == value.shape
        return cost, loads

    def _is_of_each_point(self, value: Value) -> bool:
        """Whether a value has an element for each point of the loops of its step, or of the result of a product."""
        step = self._maker[value]
        return step.level(value.op) is (Level.ROW if _is_product(step) else Level.FULL)


def _times_of_scatter(op: Op, ops: OpAnalysis) -> list[int | None]:
    """Returns how often a scatter computes each element of its operands: once those of an index that each iteration has
    for itself. Updates are not computed by it: they may be made of what it changes in place.
    """
    structure = ops.structure(op)
    entries = [entry for access in structure.writes for entry in access.coordinates]
    indices = {entry.operand for entry in entries if isinstance(entry, Element)}
    return [1 if number in indices and product(operand.shape) == product(structure.domain) else None
            for number, operand in enumerate(op.operands)]


def _has_parts_at_hand(step: Step, op: Op, ops: OpAnalysis) -> bool:
    """Whether an op is a view whose parts a step computes at its own points."""
    return isinstance(step, Loops) and ops.kind(op) is OpKind.SEGMENTS


def _is_product(step: Step) -> bool:
    return isinstance(step, Loops) and step.has_contraction


# -- between the runs over a row -----------------------------------------------------------------------------


def _between_runs(step: Loops, producers: ProducerAnalysis) -> None:
    """Fills in the values that later runs need, and where they wait."""
    step.materialised = _needed_thrice(step, producers)
    step.stored = [value for value in step.values if value in step.stored or value in step.materialised]
    step.reloaded = _reloaded(step, producers)


def _reloaded(step: Loops, producers: ProducerAnalysis) -> list[Value]:
    """Returns the values that a later run loads: all that are stored anyway, and, if lanes share rows, those that are
    not cheap.
    """
    costs = _costs(step, producers)

    def waits(op: Op, _: int) -> bool:
        is_stored = [value in step.stored for value in op.outputs]
        return all(is_stored) or step.has_lanes_along_row and (costs[op] > CHEAP or any(is_stored))

    return _needed_later(step, producers, waits)


def _needed_thrice(step: Loops, producers: ProducerAnalysis) -> list[Value]:
    """Returns the values that need memory: three runs need them, they are not cheap, and they have no scratch row."""
    if step.has_lanes_along_row:
        return []
    costs = _costs(step, producers)

    def waits(op: Op, runs: int) -> bool:
        return all([value in step.stored for value in op.outputs]) or runs > 1 and costs[op] > CHEAP

    return [value for value in _needed_later(step, producers, waits) if value not in step.stored]


def _needed_later(step: Loops, producers: ProducerAnalysis, waits: Callable[[Op, int], bool]) -> list[Value]:
    """Returns the values of one run that wait for a later one. ``waits`` is asked for an op and the number of later
    runs. Other values are computed again, from operands that are then needed later, too.
    """
    found: list[Value] = []
    wanted: dict[Value, int] = {}  # the last run that needs a value
    for op in reversed(step.ops):
        level, phase = step.levels[op], step.phases[op]
        if level is not Level.FULL:
            run = step.last_run if level is Level.CROSS_ROW else phase - 1
            for value in _operands(step, producers, op) if producers.ops.kind(op) is OpKind.REDUCTION else ():
                wanted[value] = max(wanted.get(value, 0), run)
            continue
        last = max([wanted.get(value, 0) for value in op.outputs] + [phase])
        if last > phase and waits(op, last - phase):
            found.extend([value for value in op.outputs if value in wanted])
            last = phase
        for value in _operands(step, producers, op):
            wanted[value] = max(wanted.get(value, 0), last)
    return found


def _costs(step: Loops, producers: ProducerAnalysis) -> dict[Op, int]:
    """Returns the cost of computing each op again, from values in memory."""
    costs: dict[Op, int] = {}
    for op in step.ops:
        below = sum([costs.get(value.op, 0) for value in _operands(step, producers, op)])
        costs[op] = producers.cost(op) + below if step.levels[op] is Level.FULL else 0
    return costs


def _operands(step: Loops, producers: ProducerAnalysis, op: Op) -> list[Value]:
    """Returns the values of this step that an op reads at its own point."""
    return [read.value for read in producers.reads(op) if read.value.op in step.levels]
