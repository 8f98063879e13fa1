"""Fusion: the pass that makes clusters, in one walk over a function, which puts each op into the step of its operands.

An op joins the step that made the last of its operands if it fits there (:mod:`legality`); steps made earlier are
complete by then, so that the order of steps is never circular. Else it joins a later step that reads the same memory
over the same shape (single elements derived from leaves join any such step), else it starts a new step. An earlier
step over the same loops is fused into the step that reads its values if no other step has read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Value, dimensions_of
from nervure.ir.whole_op import found_lengths
from nervure.kernel.analysis import Level, OpKind
from nervure.kernel.cluster.legality import Legality, ends_with_segments
from nervure.kernel.cluster.materialise import materialise
from nervure.kernel.cluster.steps import Copy, FusionBlocker, Guards, Loops, Opaque, Scatter, Segments, Step
from nervure.kernel.cluster.strategy import are_together, strategy_of
from nervure.kernel.producers import ProducerAnalysis, Read, dense_base
from nervure.kernel.tuning import EARLY_ELEMENTS, MOST_OPS, MOST_WAITING, NEIGHBOUR_DEPTH, SHARING_OPS, SIBLINGS
from nervure.ops.rematerialising import After
from nervure.support.machine import GENERIC, Machine
from nervure.types.dim import product, symbols
from nervure.types.shape import Shape

_OF_ONE_OP: dict[OpKind, Callable[[Op], Step]] = {
    OpKind.CHECK: Guards, OpKind.OPAQUE: Opaque, OpKind.SEGMENTS: Segments, OpKind.SCATTER: Scatter}


def cluster(function: Function, producers: ProducerAnalysis | None = None, machine: Machine = GENERIC) -> list[Step]:
    """Returns the steps of a function, in an order in which they can run. Composites must have been decomposed."""
    producers = producers or ProducerAnalysis(function)
    steps = _Fusion(function, producers, machine).steps
    materialise(function, steps, producers, machine)
    steps = [step for step in steps if not isinstance(step, Loops) or step.stored]  # others are computed by readers
    for step in steps:
        if isinstance(step, Loops):
            step.strategy = strategy_of(step, producers.ops, machine)
        elif isinstance(step, Segments):
            step.together = are_together(step, machine)
    return steps


def _early_ops(function: Function, producers: ProducerAnalysis) -> set[Op]:
    """Returns the ops that come first, so that any step can join their readers.

    Such are the correction of a count of steps, and the factors of a batch norm. All are leaves, and derived from such
    ops alone: single elements, and rows of a few derived from variables and constants. Rows derived from other leaves
    come first where they are read at more points than they have.
    """
    ops, early, rows = producers.ops, set[Op](), list[Op]()
    derived, lasting = set[Op](), set[Op]()  # from leaves alone, from variables and constants alone
    for op in function.operations:
        kind, below = ops.kind(op), [x.op for x in op.operands]
        if kind in (OpKind.LEAF, OpKind.NUMBER):
            early.add(op)
            derived.add(op)
            lasting.update([] if isinstance(op, Parameter) else [op])
        elif derived.issuperset(below) and (kind is OpKind.VIEW or kind is OpKind.POINTWISE and _are_small(op)):
            derived.add(op)
            lasting.update([op] if lasting.issuperset(below) else [])
            if kind is OpKind.POINTWISE:
                is_small = op in lasting or all([x.shape == () for x in op.outputs])
                is_first = is_small and _reads_only(op, early, producers)
                early.update([op] if is_first else [])
                rows += [] if is_first else [op]
    return early | _read_at_more_points(rows, early, producers)


def _read_at_more_points(rows: Sequence[Op], early: set[Op], producers: ProducerAnalysis) -> set[Op]:
    """Returns the ops among ``rows``, in order, that are read by each other or at more points than they have.

    They are computed from each other or from ``early`` ones.
    """
    wanted: set[Op] = set()
    for op in reversed(rows):
        if all([_is_spread(value, wanted, producers) for value in op.outputs]):
            wanted.add(op)
    found: set[Op] = set()
    for op in rows:
        if op in wanted and _reads_only(op, early | found, producers):
            found.add(op)
    return found


def _reads_only(op: Op, known: set[Op], producers: ProducerAnalysis) -> bool:
    """Whether all that an op reads, seen through views, is computed by ``known`` ops."""
    return all([read.value.op in known for read in producers.reads(op)])


def lengths_behind(function: Function, producers: ProducerAnalysis) -> dict[Op, set[Value]]:
    """Returns the lengths, found by other ops, that loops of an op depend on: by their counts. Others have none."""
    lengths = found_lengths(function.effects)
    behind: dict[Op, set[Value]] = {}
    for op in function.operations if lengths else ():
        names = frozenset[str]().union(*map(symbols, dimensions_of(op)))
        own = {length.value for name, length in lengths.items() if name in names and length.value.op is not op}
        for operand in op.operands:  # what is computed inside of its readers
            if producers.ops.kind(operand.op) is OpKind.VIEW or producers.is_inlined(operand):
                own |= behind.get(operand.op, set())
        if own:
            behind[op] = own
    return behind


def _are_small(op: Op) -> bool:
    sizes = [product(value.shape) for value in op.outputs]
    return all([isinstance(size, int) and size <= EARLY_ELEMENTS for size in sizes])


def _is_spread(value: Value, wanted: set[Op], producers: ProducerAnalysis) -> bool:
    """Whether all readers of a value are wanted, too, or are elementwise over more points than it has."""
    size = product(value.shape)
    readers = [use.reader for use in producers.uses(value)]
    return bool(readers) and all(
        [reader in wanted or (reader is not None and producers.ops.kind(reader) is OpKind.POINTWISE
                              and product(reader.outputs[0].shape) != size) for reader in readers])


class _Fusion:
    def __init__(self, function: Function, producers: ProducerAnalysis, machine: Machine) -> None:
        self._producers, self._ops = producers, producers.ops
        self._made: list[Step | None] = []
        self._maker: dict[Value, int] = {}  # the number of the step that makes a value
        self._readers: dict[int, list[tuple[Op, Read]]] = {}  # readers of the values of a step, from outside
        self._siblings: dict[Shape, list[Loops]] = {}
        self._waiting: dict[Value, list[tuple[Op, list[Read]]]] = {}  # ops that are placed with an only reader
        self._legality = Legality(producers, self._maker, machine)
        self._lengths = lengths_behind(function, producers)
        self._early = {op for op in _early_ops(function, producers) if op not in self._lengths}
        for op in sorted(function.operations, key=lambda op: op not in self._early):
            self._add(op)
        self.steps: list[Step] = [step for step in self._made if step is not None]
        self._join_neighbours()
        self._copy_roots(function)

    # -- one op ------------------------------------------------------------------------------------------

    def _add(self, op: Op) -> None:
        kind = self._ops.kind(op)
        if kind in (OpKind.LEAF, OpKind.NUMBER, OpKind.VIEW) or self._is_inlined(op):
            return
        reads = list(self._producers.reads(op))
        ending = self._ending(op, reads) if kind is OpKind.SEGMENTS else None
        if ending is None and kind in _OF_ONE_OP:
            for value in op.outputs:
                self._maker[value] = len(self._made)
            self._made.append(_OF_ONE_OP[kind](op))
            self._note_readers(op, reads)
            return
        below = [entry for read in reads for entry in self._waiting.pop(read.value, ())]
        if len(below) < MOST_WAITING and self._waits(op, kind, reads):
            self._waiting[op.outputs[0]] = [*below, (op, reads)]
            return
        step = ending or self._add_to_loops(op, kind, reads, below)
        for placed, own in [*below, (op, reads)]:
            self._note_readers(placed, own)
        for number in sorted({self._maker[read.value] for read in reads if read.value in self._maker}):
            self._fuse_producer(number, step)

    def _ending(self, op: Op, reads: list[Read]) -> Loops | None:
        """Returns the step that computes the parts of a view, which ends with the view from now on."""
        step = self._open(self._last_of(reads))
        if step is None or not ends_with_segments(step, op, self._producers):
            return None
        self._legality.enter(step, op, Level.FULL, reads)
        step.complete = True
        return step

    def _open(self, number: int) -> Loops | None:
        """Returns the loops of this number, if ops may still join them."""
        step = self._made[number] if number >= 0 else None
        return step if isinstance(step, Loops) and not step.complete else None

    def _last_of(self, reads: list[Read]) -> int:
        """Returns the number of the last step that makes one of the reads; -1 if none does."""
        return max([self._maker.get(read.value, -1) for read in reads], default=-1)

    def _awaited(self, reads: list[Read]) -> int:
        """Returns the number of the last step that has to be complete before the reads; -1 if none has to be."""
        return max([self._maker.get(value, -1) for read in reads for value in self._producers.awaited(read)],
                   default=-1)

    def _is_inlined(self, op: Op) -> bool:
        return bool(op.outputs) and all([self._producers.is_inlined(value) for value in op.outputs])

    def _note_readers(self, op: Op, reads: list[Read]) -> None:
        own = self._maker.get(op.outputs[0]) if op.outputs else None
        for read in reads:
            number = self._maker.get(read.value)
            if number is not None and number != own:
                self._readers.setdefault(number, []).append((op, read))

    def _add_to_loops(self, op: Op, kind: OpKind, reads: list[Read], below: list[tuple[Op, list[Read]]]) -> Loops:
        is_reduction = kind is OpKind.REDUCTION
        shape = self._ops.structure(op).domain if is_reduction else op.outputs[0].shape
        read_together = [*reads, *[read for _, own in below for read in own]]
        found = [self._maker[length] for each in (op, *[waiting for waiting, _ in below])
                 for length in self._lengths.get(each, ())]
        last = max([self._last_of(reads), *found])
        blocker = FusionBlocker.NO_LOOPS if last >= 0 else None
        for step in self._candidates(shape, last, max([self._last_of(read_together), *found]),
                                     self._awaited(read_together)):
            level = self._level_in(step, op, shape, read_together, len(below))
            if isinstance(level, Level):
                break
            blocker = level if step.number == last else blocker
        else:
            step, level = Loops(len(self._made), shape), Level.ROW if is_reduction else Level.FULL
            self._siblings.setdefault(shape, []).append(step)
            self._made.append(step)
        if blocker is not None and step.number != last:
            step.blockers[op] = blocker
        for waiting, own in below:
            self._legality.enter(step, waiting, level, own)
        self._legality.enter(step, op, level, reads)
        return step

    def _waits(self, op: Op, kind: OpKind, reads: list[Read]) -> bool:
        """Whether an op that reads leaves alone is placed with its only reader, an op at the same points. That reader
        may also read values of a step. Single elements that come first count as leaves if there are more points: few
        steps precede those that make them, and these are no candidates.
        """
        if kind is not OpKind.POINTWISE or len(op.outputs) != 1:
            return False
        late = [read for read in reads if op.outputs[0].shape == () or read.value.op not in self._early]
        if max(self._last_of(late), self._awaited(reads)) >= 0:
            return False
        uses = self._producers.uses(op.outputs[0])
        reader = uses[0].reader if len(uses) == 1 and not uses[0].views else None
        return (reader is not None and self._ops.kind(reader) is OpKind.POINTWISE and not self._is_inlined(reader)
                and reader.outputs[0].shape == op.outputs[0].shape)

    def _candidates(self, shape: Shape, last: int, last_together: int, awaited: int) -> Iterable[Loops]:
        """Yields the steps that an op over a shape may join. ``last`` is the step of its last operand,
        ``last_together`` that of the last operand of the op and of the ops that wait for it, ``awaited`` the last one
        that comes before.
        """
        if last == last_together and last > awaited and isinstance(step := self._made[last], Loops):
            yield step
        for step in reversed(self._siblings.get(shape, [])[-SIBLINGS:]):
            if step.number > max(last_together, awaited) and not step.complete:
                yield step

    def _level_in(self, step: Loops, op: Op, shape: Shape, reads: list[Read],
                  waiting: int) -> Level | FusionBlocker | None:
        """Returns the level that an op, with the ops that wait for it, would have in a step, or the reason why it
        cannot join. None if nothing speaks for joining.
        """
        inside = [read for read in reads if self._maker.get(read.value) == step.number]
        if not inside and op not in self._early and not self._shares_memory(step, reads):
            return None
        if step.complete and not self._passes_by(op, inside):
            return FusionBlocker.NO_LOOPS
        if len(step.levels) + waiting >= MOST_OPS:
            return FusionBlocker.TOO_MANY_OPS
        return self._legality.level(step, op, shape, inside)

    def _passes_by(self, op: Op, inside: list[Read]) -> bool:
        """Whether an op may join a step that ends with a view of parts: it reads none, and reduces nothing."""
        kinds = [self._ops.kind(op), *[self._ops.kind(read.value.op) for read in inside]]
        return kinds[0] is OpKind.POINTWISE and OpKind.SEGMENTS not in kinds

    def _shares_memory(self, step: Loops, reads: list[Read]) -> bool:
        ours = {read.value for read in reads if read.in_place}
        return any([read.value in ours for op in list(step.levels)[:SHARING_OPS] for read in self._producers.reads(op)
                    if read.in_place])

    # -- two steps -----------------------------------------------------------------------------------------

    def _fuse_producer(self, number: int, step: Loops) -> None:
        """Merges an earlier step into this one, if all its readers are here and at its own index."""
        earlier = self._open(number)
        if earlier is None or earlier is step or earlier.shape != step.shape:
            return
        if earlier.has_contraction or step.has_contraction:
            return
        if len(earlier.levels) + len(step.levels) > MOST_OPS:
            return
        readers = self._readers.get(number, [])
        if any([isinstance(view, After) for _, read in readers for view in read.views]):
            return  # its values are to be there before
        if not self._legality.may_merge(earlier, step, readers):
            return
        self._legality.merge(earlier, step)
        self._readers.pop(number, None)
        self._made[number] = None
        self._siblings[step.shape].remove(earlier)

    def _join_neighbours(self) -> None:
        """Merges two consecutive steps that reduce the same axes and read the same memory."""
        for number in range(len(self.steps) - 1, 0, -1):
            first, second = self.steps[number - 1:number + 1]
            if not isinstance(first, Loops) or not isinstance(second, Loops) or first.reduced is None:
                continue
            if first.has_contraction or second.has_contraction:
                continue
            same = first.shape == second.shape and first.reduced == second.reduced
            if not same or len(first.levels) + len(second.levels) > MOST_OPS:
                continue
            depends = any([read.value.op in first.levels for _, read in second.reads(self._producers)])
            if not depends and self._leaves(first) & self._leaves(second):
                self._legality.merge(first, second)
                del self.steps[number - 1]

    def _leaves(self, step: Loops) -> set[Value]:
        """Returns the values that the ops of a step read in place, through a few ops of other steps that may be
        computed again.
        """
        found: set[Value] = set()
        level = {read.value for _, read in step.reads(self._producers) if read.in_place}
        for _ in range(NEIGHBOUR_DEPTH):
            found |= level
            level = {read.value for value in level if self._ops.kind(value.op) is OpKind.POINTWISE
                     for read in self._producers.reads(value.op) if read.in_place}
        return found

    # -- roots ---------------------------------------------------------------------------------------------

    def _copy_roots(self, function: Function) -> None:
        """Adds copies for roots that no step makes in memory of their own: leaves, views, inlined values, and repeated
        roots. Loops store a value that is several results in the memory of each.
        """
        taken, results = set[Value](), len(function.results)
        loops = {op: step for step in self.steps if isinstance(step, Loops) for op in step.levels}
        for number, root in enumerate(function.roots):
            value, maker = dense_base(root), loops.get(root.op)
            if value in self._maker and value not in taken:
                taken.add(value)
            elif root in taken and maker and number < results and self._ops.kind(root.op) is OpKind.POINTWISE:
                maker.repeated.setdefault(root, []).append(number)
            else:
                self.steps.append(Copy(root, number))
