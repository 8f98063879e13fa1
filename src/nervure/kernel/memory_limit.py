"""A limit of memory: which values a plan does not keep until they are read last, but makes again.

A value that lives on while others are made is a candidate. ``spared`` drops those with the most bytes for each
nanosecond of making them again, until the plan fits, and then keeps those again that it need not have dropped.

Before, totals that would be made with the last step that reads them (the gradient of a weight, in the step that updates
the weight) are made as soon as their operands exist, so that these are not kept for them.

>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> from nervure.passes.pipelines import native
>>> x = nv.Parameter(nv.float32, (1000, 64))
>>> y = x.output
>>> for _ in range(6):
...     y = nv.ops.Tanh(nv.ops.MatMul(y, nv.Parameter(nv.float32, (64, 64))))
>>> weights = [op for op in nv.ir.traverse.postorder([y]) if op.output.shape == (64, 64)]
>>> slopes = nv.autodiff.gradients([nv.ops.Sum(y, (0, 1))], weights, [None])
>>> plan = make_plan(native(nv.Function(slopes, [x, *weights])))
>>> peak_of(plan, {})
2914304
>>> found = spared(plan, 2_200_000, {}, make_plan)
>>> found.peak <= 2_200_000, 0 < len(found.dropped) < 6
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from nervure.ir.function import Function, is_effect
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpKind
from nervure.kernel.cluster import Loops, Step
from nervure.kernel.plan import KernelStep, Plan, PlanStep
from nervure.kernel.producers import ProducerAnalysis
from nervure.kernel.rewiring import Again, Delayed, Rewiring
from nervure.kernel.time_model import duration_of
from nervure.kernel.tuning import CUTS, PLANS_OF_A_CUT
from nervure.memory.arena import Interval, pack
from nervure.memory.storage import Storage, StorageKind
from nervure.support.machine import GENERIC, Machine
from nervure.types.dim import DimLike, evaluate

Bindings = Mapping[str, int]

_MADE_AGAIN = (OpKind.POINTWISE, OpKind.REDUCTION, OpKind.INDEXED, OpKind.SEGMENTS, OpKind.VIEW, OpKind.NUMBER)


class Dropped(NamedTuple):
    """A value that is made again, its bytes, and the nanoseconds that it costs."""

    value: Value
    bytes: int
    nanoseconds: int


class Spared(NamedTuple):
    """A plan that needs ``peak`` bytes, and what it makes again. Plans of one function with one ``key`` are equal."""

    plan: Plan
    peak: int
    dropped: tuple[Dropped, ...]
    key: tuple[frozenset[int], ...] = ()


def spared(plan: Plan, limit: int, bindings: Bindings, make: Callable[[Function], Plan],
           machine: Machine = GENERIC) -> Spared:
    """Returns a plan of the same function that needs at most ``limit`` bytes, or the least that was found.

    ``make`` makes plans of functions. A search for a limit stops where a plan fits; the search for none at all may find
    one that it passes over. So the least bytes depend on no limit: one of as many or more is always kept to.
    """
    found = _searched(plan, limit, bindings, make, machine)
    return found if found.peak <= limit else _searched(plan, 0, bindings, make, machine)


def _searched(plan: Plan, limit: int, bindings: Bindings, make: Callable[[Function], Plan],
              machine: Machine) -> Spared:
    """Returns the plan that needs the least of those on the way to a limit."""
    best = Spared(plan, peak_of(plan, bindings), ())
    if best.peak <= limit:
        return best
    early = make(with_early_totals(plan, bindings))
    found = Spared(early, peak_of(early, bindings), (), (frozenset(),))
    best = min(best, found, key=_peak)
    for _ in range(CUTS):
        if best.peak <= limit:
            break
        found = _across_a_cut(found, limit, bindings, make, machine)
        best = min(best, found, key=_peak)
    return best


def _across_a_cut(before: Spared, limit: int, bindings: Bindings, make: Callable[[Function], Plan],
                  machine: Machine) -> Spared:
    """Returns a plan that fits, or needs less, since it makes values again that live across one place of a plan."""
    choice = _Choice(before, bindings, machine)
    chosen: list[Value] = []
    best, target = before, limit
    for _ in range(PLANS_OF_A_CUT):
        more = choice.until(target, chosen)
        if len(more) == len(chosen):
            break
        chosen = more
        found = choice.made(chosen, make)
        best = min(best, found, key=_peak)
        if found.peak <= limit:
            fewer = choice.without_surplus(chosen, limit - max(found.peak - choice.peak(chosen), 0))
            again = choice.made(fewer, make) if len(fewer) < len(chosen) else found
            return again if again.peak <= limit else found
        target -= max(found.peak - limit, 1)
    return best


def _peak(found: Spared) -> int:
    return found.peak


# -- the memory of a plan --------------------------------------------------------------------------------------------


def peak_of(plan: Plan, bindings: Bindings) -> int:
    """Returns the bytes of a call: results and new values that lie in no other place, and one block for all else."""
    lives = _lives(plan)
    block = pack([Interval(first, last, bytes_of(storage, bindings)) for storage, (first, last) in lives.items()])[1]
    return block + _of_roots(plan, bindings)


def _of_roots(plan: Plan, bindings: Bindings) -> int:
    return sum([bytes_of(root, bindings) for root in dict.fromkeys(plan.roots) if root not in plan.in_place])


def _lives(plan: Plan) -> dict[Storage, tuple[int, int]]:
    """Returns the first and the last step that touch each storage of a call."""
    lives: dict[Storage, tuple[int, int]] = {}
    for number, step in enumerate(plan.steps):
        for storage in (*step.read, *step.written):
            if storage.kind is StorageKind.TEMPORARY:
                lives[storage] = lives.get(storage, (number, number))[0], number
    return lives


def bytes_of(storage: Storage, bindings: Bindings) -> int:
    """Returns the bytes that a storage takes."""
    size = storage.dtype.itemsize
    for length in storage.allocated:
        size *= max(_number(length, bindings), 0)
    return size


def _number(length: DimLike, bindings: Bindings) -> int:
    return length if isinstance(length, int) else evaluate(length, bindings)


# -- totals that are made early --------------------------------------------------------------------------------------


def with_early_totals(plan: Plan, bindings: Bindings) -> Function:
    """Returns the function with totals that its last steps make in steps of their own, as soon as that can be.

    A total is one of these if it is smaller than what it is made of, and no other step reads what its step makes.
    """
    totals, others = _EarlyTotals(plan, bindings), _read_by_others(plan)
    for step in dict.fromkeys([step.cluster for step in plan.steps if _writes_roots(step)]):
        if isinstance(step, Loops) and step not in others:
            totals.find(step)
    totals.order()
    return Rewiring(plan, totals.others).function()


class _EarlyTotals:
    """The totals of the last steps, which write results and new values, and what steps read in place of values."""

    def __init__(self, plan: Plan, bindings: Bindings) -> None:
        self._plan, self._bindings = plan, bindings
        self._producers = ProducerAnalysis(plan.function)
        self._written = {storage: number for number, step in enumerate(plan.steps) for storage in step.written}
        self._stored = plan.made
        self.others: dict[tuple[Step, Value], Delayed | Again] = {}
        last = {part for step in plan.steps if _writes_roots(step) for part in step.cluster.parts}
        self._makers = {self._stored[read.value] for step in last for _, read in step.reads(self._producers)
                        if read.value in self._stored and self._producers.ops.kind(read.value.op) is OpKind.REDUCTION}
        first = {step: value for value, step in reversed(self._stored.items())}
        self._main = [(number, step, first[step]) for step, (number, *_) in plan.kernels_of.items()
                      if step in first and step not in last and step not in self._makers]
        self._early: dict[Step, list[Value]] = {}  # the totals that are made in front of a step

    def find(self, step: Loops) -> None:
        """Finds the totals of a step that can be made early. The rest of it waits for all other work."""
        found = [total for total in _totals(step, self._producers) if self._is_early(total, step)]
        below = {value for total in found for value in _stored_below(total, step, self._stored)}
        others = {read.value: self._stored[read.value] for _, read in step.reads(self._producers) if found
                  and read.value not in below and self._stored.get(read.value, step) is not step}
        for value, maker in others.items():
            if maker in self._makers:
                self._is_early(value, maker)
        waiting = [*found, *others]
        for value in waiting:
            self.others[step, value] = Delayed(value, (self._main[-1][2], *waiting))

    def _is_early(self, total: Value, step: Step) -> bool:
        """Whether a step's total is made in front of the first step that its operands permit; notes it there if so."""
        read = [value for value in _stored_below(total, step, self._stored) if value in self._stored]
        ready = max([self._written[self._plan.places[value]] for value in read], default=-1)
        following = next((other for number, other, _ in self._main if number > ready), None)
        size = sum([_bytes(value, self._bindings) for value in read])
        if ready < 0 or following is None or size < _bytes(total, self._bindings) \
                or total in self._plan.function.roots:
            return False
        self._early.setdefault(following, []).append(total)
        return True

    def order(self) -> None:
        """Has steps wait for the totals that are to be made in front of them."""
        for step, totals in self._early.items():
            value = next((read.value for _, read in step.reads(self._producers) if isinstance(read.value.op, Leaf)
                          or self._stored.get(read.value, step) is not step), None)
            if value is not None:
                self.others[step, value] = Delayed(value, tuple(totals))


def _totals(step: Loops, producers: ProducerAnalysis) -> list[Value]:
    """Returns the results of reductions in a step from which no other one of them is made."""
    totals = [value for op in step.ops if producers.ops.kind(op) is OpKind.REDUCTION for value in op.outputs]
    inner = {op for total in totals for op in _ops_below(total, step, producers) if op is not total.op}
    return [total for total in totals if total.op not in inner]


def _read_by_others(plan: Plan) -> set[Step]:
    """Returns the steps of which others read results, so that they cannot wait for all other work."""
    readers: dict[Storage, set[Step]] = {}
    for step in plan.steps:
        for storage in step.read:
            readers.setdefault(storage, set()).add(step.cluster)
    return {step.cluster for step in plan.steps for storage in step.written
            if readers.get(storage, set()) - {step.cluster}}


def _writes_roots(step: PlanStep) -> bool:
    return any([storage.kind is StorageKind.ROOT for storage in step.written])


def _ops_below(value: Value, step: Loops, producers: ProducerAnalysis) -> Iterator[Op]:
    """Yields the ops of a step from which one of its values is made, that op among them."""
    stack, seen = [value.op], {value.op}
    while stack:
        op = stack.pop()
        yield op
        for read in producers.reads(op):
            if read.value.op in step.levels and read.value.op not in seen:
                seen.add(read.value.op)
                stack.append(read.value.op)


def _stored_below(value: Value, step: Step, stored: Mapping[Value, Step]) -> list[Value]:
    """Returns the leaves and the stored values of other steps from which a step makes a value."""
    stack, found, seen = [value.op], dict[Value, None](), {value.op}
    while stack:
        for operand in stack.pop().operands:
            if isinstance(operand.op, Leaf) or stored.get(operand, step) is not step:
                found[operand] = None
            elif operand.op not in seen:
                seen.add(operand.op)
                stack.append(operand.op)
    return [*found]


def _bytes(value: Value, bindings: Bindings) -> int:
    size = value.dtype.itemsize
    for length in value.shape:
        size *= max(_number(length, bindings), 0)
    return size


# -- what is dropped -------------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    """A value that lives across the cut: its storage and bytes, its last reader before, and its readers behind.

    ``operands`` are the stored values that it is made of, ``nanoseconds`` what that takes.
    """

    value: Value
    storage: Storage
    bytes: int
    last: int
    readers: tuple[tuple[int, Step], ...]
    operands: tuple[Value, ...]
    nanoseconds: int


class _Choice:
    """The choice among the values of a plan that live on across a cut: the place where most bytes do."""

    def __init__(self, before: Spared, bindings: Bindings, machine: Machine) -> None:
        plan, self._before = before.plan, before
        self._plan, self._bindings, self._machine = plan, bindings, machine
        self._producers, self._made = ProducerAnalysis(plan.function), plan.made
        self._home = {op: step for step in plan.clusters for op in step.ops}
        self._lives = _lives(plan)
        self._bytes = {storage: bytes_of(storage, bindings) for storage in self._lives}
        self._fixed = _of_roots(plan, bindings)
        self._durations: dict[int, int] = {}
        self._cut = self._widest()
        self.candidates = {entry.value: entry for entry in self._found()}
        self._order = {op: number for number, op in enumerate(plan.function.operations)}

    # -- candidates --------------------------------------------------------------------------------------------

    def _widest(self) -> int:
        """Returns the step behind which most bytes wait that it does not touch."""
        waiting = [0] * (len(self._plan.steps) + 1)
        touched = [{*step.read, *step.written} for step in self._plan.steps]
        for storage, (first, last) in self._lives.items():
            for number in range(first, last):
                if storage not in touched[number]:
                    waiting[number] += self._bytes[storage]
        return max(range(len(waiting)), key=waiting.__getitem__)

    def _found(self) -> Iterator[_Candidate]:
        plan, home = self._plan, self._made
        readers: dict[Storage, list[int]] = {}
        for number, step in enumerate(plan.steps):
            for storage in dict.fromkeys(step.read):
                readers.setdefault(storage, []).append(number)
        shared = set(plan.inside) | {place.whole for place in plan.inside.values()}
        kernels = plan.kernels_of
        position = {step: numbers[0] for step, numbers in kernels.items()}
        for value, storage in plan.places.items():
            if storage.kind is not StorageKind.TEMPORARY or value in shared or value not in home:
                continue
            before = [number for number in readers.get(storage, ()) if number <= self._cut]
            behind = [number for number in readers.get(storage, ()) if number > self._cut]
            made = max(kernels[home[value]])
            late = {part for number in behind for part in plan.steps[number].cluster.parts}
            if made > self._cut or not behind or any([position[step] <= self._cut for step in late]):
                continue
            below = self._below(value)
            if below is not None:
                operands, nanoseconds = below
                yield _Candidate(value, storage, self._bytes[storage], max([made, *before]),
                                 tuple(sorted([(position[step], step) for step in late], key=_position)),
                                 operands, max(nanoseconds, 1))

    def _below(self, value: Value) -> tuple[tuple[Value, ...], int] | None:
        """Returns the stored values from which one is made, and the nanoseconds; None if it cannot be made again."""
        ops, home = self._producers.ops, self._home
        stack, inside, operands = [value.op], {value.op}, dict[Value, None]()
        while stack:
            op = stack.pop()
            if ops.kind(op) not in _MADE_AGAIN or is_effect(op):
                return None
            for operand in op.operands:
                if operand in operands or operand.op in inside:
                    continue
                if isinstance(operand.op, Leaf) or operand in self._made:
                    operands[operand] = None
                else:
                    inside.add(operand.op)
                    stack.append(operand.op)
        if not operands:
            return None
        whole = {home[op] for op in inside if op in home and ops.kind(op) is OpKind.REDUCTION}
        taken = sum([self._nanoseconds(step) for step in whole])
        return tuple(operands), taken + self._of_elements(value, inside, operands)

    def _of_elements(self, value: Value, inside: Iterable[Op], operands: Iterable[Value]) -> int:
        """Returns the time of the ops that compute element by element, which share loops."""
        machine, total = self._machine, 0.0
        for op in inside:
            if self._producers.ops.kind(op) is OpKind.POINTWISE:
                total += _elements(op.outputs[0], self._bindings) / machine.lanes * op.cost * machine.addition
        moved = sum([_bytes(each, self._bindings) for each in (value, *operands)])
        return round(machine.started + total + moved * machine.byte_from_cache)

    def _nanoseconds(self, step: Step) -> int:
        return sum([self._duration(each) for each in self._plan.steps
                    if step in each.cluster.parts and isinstance(each, KernelStep)])

    def _duration(self, step: KernelStep) -> int:
        key = id(step.kernel.body)
        if key not in self._durations:
            found = duration_of(step.kernel, step.lowered.points, self._machine)
            self._durations[key] = found.nanoseconds(self._bindings)
        return self._durations[key]

    # -- what a choice means -----------------------------------------------------------------------------------

    def _places(self, chosen: Sequence[Value]) -> dict[Value, int]:
        """Returns the step in front of which each chosen value is made again: its first reader, which may itself be
        made again.
        """
        wanted = {value: self.candidates[value].readers[0][0] for value in chosen}
        for value in sorted(chosen, key=lambda value: -self._order[value.op]):
            for operand in self.candidates[value].operands:
                if operand in wanted:
                    wanted[operand] = min(wanted[operand], wanted[value])
        return wanted

    def _alive(self, chosen: Sequence[Value]) -> list[int]:
        """Returns the bytes that are alive in each step if values are made again."""
        places = self._places(chosen)
        lives = {storage: [life] for storage, life in self._lives.items()}
        for value, place in places.items():
            entry = self.candidates[value]
            lives[entry.storage] = [(self._lives[entry.storage][0], entry.last),
                                    (place, max(entry.readers[-1][0], place))]
        for value, place in places.items():
            for operand in self.candidates[value].operands:
                storage = self._plan.places.get(operand)
                if operand not in places and storage in lives:
                    first, last = lives[storage][0]
                    lives[storage] = [(first, max(last, place))]
        changes = [0] * (len(self._plan.steps) + 1)
        for storage, parts in lives.items():
            for first, last in parts:
                changes[first] += self._bytes[storage]
                changes[last + 1] -= self._bytes[storage]
        return list(accumulate(changes))

    def peak(self, chosen: Sequence[Value]) -> int:
        """Returns the bytes that a plan is expected to need."""
        return max(self._alive(chosen)) + self._fixed

    def until(self, target: int, chosen: Sequence[Value]) -> list[Value]:
        """Returns the chosen values with more, so that a plan is expected to need no more than the ``target``."""
        found = dict.fromkeys(chosen)
        while True:
            alive = self._alive([*found])
            peak = max(alive)
            if peak + self._fixed <= target:
                return [*found]
            worth = {value: self._saved(entry, found, alive.index(peak)) / entry.nanoseconds
                     for value, entry in self.candidates.items() if value not in found}
            best = max(worth, key=worth.__getitem__, default=None)
            if best is None or worth[best] <= 0:
                return [*found]
            found[best] = None

    def _saved(self, entry: _Candidate, chosen: Collection[Value], at: int) -> int:
        """Returns the bytes that are saved in a step if a value is made again, beside those that are chosen."""
        place = entry.readers[0][0]
        if not entry.last < at < place:
            return 0
        longer = [self._plan.places.get(operand) for operand in entry.operands if operand not in chosen]
        return entry.bytes - sum([self._bytes[storage] for storage in longer
                                  if storage is not None and storage in self._lives and self._lives[storage][1] < at])

    def without_surplus(self, chosen: Sequence[Value], limit: int) -> list[Value]:
        """Returns the chosen values without those, the dearest first, that a plan is expected not to need."""
        found = [*chosen]
        for value in sorted(chosen, key=lambda value: -self.candidates[value].nanoseconds):
            fewer = [entry for entry in found if entry is not value]
            if self.peak(fewer) <= limit:
                found = fewer
        return found

    def made(self, chosen: Sequence[Value], make: Callable[[Function], Plan]) -> Spared:
        """Returns the plan in which the chosen values are made again."""
        others: dict[tuple[Step, Value], Delayed | Again] = {}
        for value, place in self._places(chosen).items():
            again = Again(value, self._in_front(place))
            others.update({(step, value): again for _, step in self.candidates[value].readers})
        plan = make(Rewiring(self._plan, others).function())
        dropped = [Dropped(value, self.candidates[value].bytes, self.candidates[value].nanoseconds) for value in chosen]
        key = frozenset([self._order[value.op] for value in chosen])
        return Spared(plan, peak_of(plan, self._bindings), (*self._before.dropped, *dropped), (*self._before.key, key))

    def _in_front(self, place: int) -> tuple[Value, ...]:
        """Returns a value that the last step in front of one makes."""
        for step in reversed(self._plan.steps[:place]):
            found = [value for value in step.cluster.stored if value in self._made]
            if found:
                return (found[0],)
        return ()


def _position(entry: tuple[int, Step]) -> int:
    return entry[0]


def _elements(value: Value, bindings: Bindings) -> int:
    return _bytes(value, bindings) // max(value.dtype.itemsize, 1)
