"""The time that a kernel takes on one core, where its sizes are known: what explanations compare with what is measured.

Every statement counts as often as it runs. In a vector loop, and in a reduction outside of one, it does the work of as
many elements as a vector has, and what reads or writes elements apart counts for each. Beside that stand the loops that
are entered, the bytes that no cache next to the core holds, and the multiply-adds of products.

>>> from nervure.kernel.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[16*N], out y: f32[N]):
...   symbol N
...   for i < N:
...     v0 = reduce add over j < 16:
...       v1 = x[16*i + j]
...       give v1
...     y[i] = v0
... ''')
>>> counts = counts_of(kernel, {"N": 1000}, lanes=8)
>>> counts.additions, counts.loads, counts.elements, counts.entries, counts.sums
(2000.0, 2000.0, 1000.0, 1000.0, 1000.0)
>>> round(nanoseconds(kernel, {"N": 1000}, GENERIC))
8460
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nervure.kernel.cost_model import work
from nervure.kernel.ir import (
    Apply,
    Body,
    Contract,
    Fold,
    For,
    Index,
    Kernel,
    Load,
    Loop,
    Reduce,
    Statement,
    Store,
    StorePair,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.machine import Machine
from nervure.kernel.routines import FEW_ROWS, Product, Transpose, product_of, transpose_of
from nervure.kernel.tuning import COLUMN_MULTIPLE, SAMPLED_ITERATIONS
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dim import DimLike, evaluate, index_symbols


@dataclass
class Counts:
    """How often a kernel does what: additions (of vectors or of elements; a function counts as the additions that it
    takes), loads and stores of vectors, elements that are read or written one by one, loops that are entered, sums that
    are finished, multiply-adds, transposes and their elements.
    """

    additions: float = 0.0
    loads: float = 0.0
    elements: float = 0.0
    entries: float = 0.0
    sums: float = 0.0
    multiply_adds: float = 0.0
    transposes: float = 0.0
    transposed: float = 0.0


def nanoseconds(kernel: Kernel, bindings: Mapping[str, int], machine: Machine) -> float:
    """The time of all iterations of a kernel on one core of a machine."""
    counts, moved = counts_of(kernel, bindings, machine.lanes), work(kernel, bindings).bytes
    computed = (counts.additions * machine.addition + counts.entries * machine.entry + counts.sums * machine.sum_ended
                + counts.multiply_adds * machine.multiply_add)
    in_cache = (counts.loads * machine.vector_moved + counts.elements * machine.element_moved
                + counts.transposes * machine.entry_of_transpose + counts.transposed * machine.element_transposed)
    is_far, is_near = moved > machine.own_cache, moved <= machine.first_cache
    byte = machine.byte_outside if is_far else 0.0 if is_near else machine.byte_from_cache
    return machine.started + computed + in_cache + moved * byte


def counts_of(kernel: Kernel, bindings: Mapping[str, int], lanes: int) -> Counts:
    """What a kernel does, with vectors of ``lanes`` elements of four bytes."""
    counting = _Counting(kernel, bindings, lanes)
    for statement in kernel.body:
        counting.add(statement, 1.0, None)
    return counting.counts


class _Counting:
    """Walks through a kernel. ``lane`` is the index whose elements a vector has side by side, None outside of such a
    loop.
    """

    def __init__(self, kernel: Kernel, bindings: Mapping[str, int], lanes: int) -> None:
        self.counts, self._lanes, self._bindings = Counts(), lanes, dict(bindings)
        lengths = [extent for entry in walk(kernel.body) if isinstance(entry, Loop) for _, extent in entry.indices]
        self._decisive = frozenset[str]().union(*map(index_symbols, lengths))

    def add(self, statement: Statement, times: float, lane: LoopIndex | None) -> None:
        """Counts a statement that runs ``times`` times."""
        if isinstance(statement, For):
            self._add_for(statement, times, lane)
        elif isinstance(statement, Reduce | Fold | Contract):
            self._add_reduction(statement, times, lane)
        elif isinstance(statement, Apply):
            cost = SCALAR_FUNCTIONS[statement.function].cost
            size = max([operand.dtype.itemsize for operand in (*statement.operands, statement.result)])
            self.counts.additions += times * cost * (max(size / 4, 1.0) if lane is not None else 1.0)
        elif isinstance(statement, Index):
            self.counts.additions += 2 * times
        elif isinstance(statement, Load | Store | StorePair):
            self._add_access(statement, times, lane)

    def _add_access(self, access: Load | Store | StorePair, times: float, lane: LoopIndex | None) -> None:
        step = None if lane is None else access.address.step(lane)
        if step is None:
            self.counts.elements += times
        elif lane is not None and lane.occurs_in(access.address.base):  # each element's place is computed
            self.counts.elements += times * self._lanes
            self.counts.additions += times * self._lanes
        elif step == 0 and isinstance(access, Load) and not access.address.terms:
            return  # one element for all lanes, read in front of the loop
        elif isinstance(step, int) and 1 <= abs(step) <= 2:
            self.counts.loads += times * abs(step) * max(access.buffer.dtype.itemsize / 4, 0.5)
        else:
            self.counts.elements += times * self._lanes

    def _add_for(self, loop: For, times: float, lane: LoopIndex | None) -> None:
        product, transpose = product_of(loop), transpose_of(loop)
        if loop.routine is not None and product is not None:
            self._add_product(product, times)
        elif loop.routine is not None and transpose is not None:
            self._add_transpose(transpose, times)
        elif loop.vector:
            self._over(loop.index, loop.extent, lambda extent: self._add_vectors(loop, extent, times))
        else:
            self._over(loop.index, loop.extent, lambda extent: self._add_all(loop.body, times * extent, lane))

    def _add_vectors(self, loop: For, extent: int, times: float) -> None:
        """A vector loop; short ones are done several at a time."""
        is_short = extent < self._lanes
        turns = extent / self._lanes if is_short else float(-(-extent // self._lanes))
        self.counts.entries += times * min(turns, 1.0)
        self._add_all(loop.body, times * turns, loop.index)

    def _add_reduction(self, loop: Reduce | Fold | Contract, times: float, lane: LoopIndex | None) -> None:
        """A reduction outside of a vector loop runs in lanes along its innermost index."""
        *outer, (last, extent) = loop.indices
        is_in_lanes = lane is None and isinstance(loop, Reduce)

        def inside(times: float) -> None:
            def along(extent: int) -> None:
                turns = times * (-(-extent // self._lanes) if is_in_lanes else extent)
                for body in loop.bodies:
                    self._add_all(body, turns, last if is_in_lanes else lane)
                self.counts.additions += turns * (len(loop.combine) if isinstance(loop, Reduce) else 1)
            self.counts.entries += times if is_in_lanes else 0
            self._over(last, extent, along)

        self.counts.sums += times if is_in_lanes else 0
        self._nested(outer, times, inside)

    def _nested(self, indices: Sequence[tuple[LoopIndex, DimLike]], times: float,
                inside: Callable[[float], None]) -> None:
        """Goes through the outer indices of a reduction."""
        if not indices:
            inside(times)
            return
        (index, extent), *rest = indices
        self._over(index, extent, lambda extent: self._nested(rest, times * extent, inside))

    def _add_product(self, product: Product, times: float) -> None:
        rows, columns, points = [self._number(entry) for entry in (product.rows, product.columns, product.points)]
        rounded = rows if rows <= FEW_ROWS // 2 else -(-rows // FEW_ROWS) * FEW_ROWS
        width = product.right.result.dtype.itemsize / 4
        self.counts.multiply_adds += times * rounded * -(-columns // COLUMN_MULTIPLE) * COLUMN_MULTIPLE * points * width

    def _add_transpose(self, transpose: Transpose, times: float) -> None:
        self.counts.transposes += times
        self.counts.transposed += times * self._number(transpose.rows) * self._number(transpose.columns)

    def _add_all(self, body: Body, times: float, lane: LoopIndex | None) -> None:
        for statement in body:
            self.add(statement, times, lane)

    def _number(self, extent: DimLike) -> int:
        return max(evaluate(extent, self._bindings), 0)

    def _over(self, index: LoopIndex, extent: DimLike, body: Callable[[int], None]) -> None:
        """Counts the body of a loop of an extent; some iterations for all, where lengths inside depend on the index."""
        length = self._number(extent)
        samples = min(length, SAMPLED_ITERATIONS) if index.name in self._decisive else min(length, 1)
        if samples <= 1:
            self._bindings[index.name] = length // 2
            if length:
                body(length)
            return
        before = Counts(**vars(self.counts))
        for number in range(samples):
            self._bindings[index.name] = (2 * number + 1) * length // (2 * samples)
            body(length)
        for name, start in vars(before).items():
            setattr(self.counts, name, start + (getattr(self.counts, name) - start) / samples)
