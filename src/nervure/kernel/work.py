"""The work of a kernel, counted once for all uses: computation, moved memory and entered loops.

Every statement counts as often as it runs. In a vector loop, and in a reduction outside of one, it does the work of as
many elements as a vector has; what reads or writes elements apart counts for each. Beside that stand the loops that are
entered, the multiply-adds of products, the operations, and the bytes of each buffer, which count once as read and once
as written, however often its elements are: what lies in the cache costs little. Where less than the whole of it is
touched (a gather), only that counts.

>>> from nervure.support.machine import GENERIC
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
>>> work = work_of(kernel, {"N": 1000}, GENERIC)
>>> work.additions, work.loads, work.elements, work.entries, work.sums, work.operations, work.bytes
(2000.0, 2000.0, 1000.0, 1000.0, 1000.0, 16000.0, 68000)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from nervure.kernel.ir import (
    Apply,
    Body,
    Buffer,
    Contract,
    Fold,
    For,
    Index,
    InterleavedStore,
    Kernel,
    Load,
    Loop,
    Reduce,
    Statement,
    Store,
    Widths,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import FEW_ROWS, Filling, Product, Transpose, routine_of
from nervure.kernel.tuning import FEW_ITERATIONS, SAMPLED_ITERATIONS
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, compile_dim, index_symbols

Bindings = Mapping[str, int]


@dataclass
class Work:
    """The amounts of a kernel's work, with vectors of a number of elements of four bytes.

    There are ``additions`` of vectors or of single elements (a function counts as the additions that it takes),
    ``loads`` and stores of vectors, ``elements`` that are read or written one by one, some of them from ``lines`` of
    memory of which nothing else is, ``entries`` of loops, ``sums`` that are finished, ``waits`` for the sum before,
    ``multiply_adds`` of products, ``transposes`` and the elements that are ``transposed`` by them, and ``operations``
    (an addition is 1, a function such as exp 16). ``bytes`` are read and written; ``width`` is of the widest type that
    is computed in.
    """

    additions: float = 0.0
    loads: float = 0.0
    elements: float = 0.0
    lines: float = 0.0
    entries: float = 0.0
    sums: float = 0.0
    waits: float = 0.0
    multiply_adds: float = 0.0
    transposes: float = 0.0
    transposed: float = 0.0
    operations: float = 0.0
    bytes: int = 0
    width: int = 4


def work_of(kernel: Kernel, bindings: Bindings, machine: Machine) -> Work:
    """Returns the work of all iterations of a kernel, with sizes from ``bindings`` and the vectors of ``machine``.

    Where the lengths of loops depend on an outer index, at most ``SAMPLED_ITERATIONS`` of its loop, spread evenly,
    count for all.
    """
    counting = _Counting(kernel, bindings, machine)
    for statement in kernel.body:
        counting.add(statement, _At(1.0, 1.0))
    counting.work.bytes = counting.bytes
    return counting.work


class _At(NamedTuple):
    """The place of a statement in its loops.

    It runs for a number of ``points``, or ``turns`` of a vector of them, of which some run ``together``. A vector has
    the elements of the index ``lane`` side by side; it is None outside of a vector loop.
    """

    points: float
    turns: float
    together: float = 1.0
    lane: LoopIndex | None = None

    def over(self, times: float) -> _At:
        """Returns the same inside of a loop."""
        return _At(self.points * times, self.turns * times, self.together, self.lane)


class _Counting:
    """Walks through a kernel."""

    def __init__(self, kernel: Kernel, bindings: Bindings, machine: Machine) -> None:
        self._lanes, self._line = machine.lanes, machine.line
        self._bindings = dict(bindings)  # of symbols, and of decisive indices
        lengths = [extent for entry in walk(kernel.body) if isinstance(entry, Loop) for _, extent in entry.indices]
        self._decisive = frozenset[str]().union(*map(index_symbols, lengths))
        self._sampled = 0  # loops around of which some iterations count for all
        self.work = Work()
        self._routines = dict[For, Product | Transpose | Filling | None]()
        self._lengths = dict[DimLike, Callable[[Bindings], int]]()
        self._touched = defaultdict[tuple[Buffer, bool], float](float)  # elements of a buffer, read (or written)

    @property
    def bytes(self) -> int:
        """The bytes that the counted statements read and write; an element counts once at most for reads, and once for
        writes.
        """
        return sum([min(round(elements), self._length(buffer.size)) * buffer.dtype.itemsize
                    for (buffer, _), elements in self._touched.items()])

    def add(self, statement: Statement, at: _At) -> None:
        """Counts a statement that runs there."""
        if isinstance(statement, For):
            self._add_for(statement, at)
        elif isinstance(statement, Reduce | Fold | Contract):
            self._add_reduction(statement, at)
        elif isinstance(statement, Apply):
            self._add_function(statement, at)
        elif isinstance(statement, Index):
            self.work.additions += 2 * at.turns
        elif isinstance(statement, Load | Store | InterleavedStore):
            self._touch(statement, at.points)
            self._add_access(statement, at)

    def _add_function(self, statement: Apply, at: _At) -> None:
        function, result = SCALAR_FUNCTIONS[statement.function], statement.result.dtype
        size = max([operand.dtype.itemsize for operand in (*statement.operands, statement.result)])
        self.work.additions += at.turns * function.cost * (max(size / 4, 1.0) if at.lane is not None else 1.0)
        self.work.operations += at.points * function.operations
        self.work.width = max(self.work.width, result.itemsize if result.is_float else 4)

    # -- memory ------------------------------------------------------------------------------------------

    def _touch(self, access: Load | Store | InterleavedStore, points: float) -> None:
        if isinstance(access, Store) and access.combine is not None:
            self.work.operations += points
        if access.buffer.role == "scratch":
            return
        self._touched[access.buffer, not isinstance(access, Load)] += points * len(access.addresses)
        if isinstance(access, Store) and access.combine is not None:
            self._touched[access.buffer, False] += points

    def _add_access(self, access: Load | Store | InterleavedStore, at: _At) -> None:
        lane, address, size = at.lane, access.address, access.buffer.dtype.itemsize
        step = None if lane is None else address.step(lane)
        if access.valid is not None or isinstance(access, Store) and access.combine is not None:
            self.work.additions += at.turns
        if lane is None:
            self.work.elements += at.turns
        elif lane.occurs_in(address.base):  # each element's place is computed
            self.work.elements += at.points
            self.work.additions += at.points
        elif step == 0 and isinstance(access, Load) and not address.terms:
            return  # one element for all lanes, read in front of the loop
        elif isinstance(step, int) and 1 <= abs(step) <= max(2, len(access.addresses)):
            self.work.loads += at.turns * abs(step) * max(size / 4, 0.5)
        else:
            self.work.elements += at.points
            self.work.lines += at.points if isinstance(step, int) and abs(step) * size >= self._line else 0.0

    # -- loops -------------------------------------------------------------------------------------------

    def _add_for(self, loop: For, at: _At) -> None:
        routine = self._routine(loop)
        if isinstance(routine, Product):
            self._add_product(routine, at)
        elif isinstance(routine, Transpose):
            self._add_transpose(routine, at)
        elif isinstance(routine, Filling):
            self._add_filling(routine, at)
        elif loop.vector:
            self._add_vectors(loop, at)
        else:
            for share, length in self._over(loop.index, loop.extent):
                self._add_all(loop.body, at.over(share * length))

    def _routine(self, loop: For) -> Product | Transpose | Filling | None:
        """Returns the routine that a loop is marked as."""
        if loop not in self._routines:
            self._routines[loop] = routine_of(loop)
        return self._routines[loop]

    def _add_vectors(self, loop: For, at: _At) -> None:
        widths = loop.widths or Widths((self._lanes,), self._lanes)
        if loop.tile is not None:
            widths = Widths(loop.tile.lanes[-1:], loop.tile.lanes[-1])
        together = max((*widths.full, widths.masked)) / self._lanes
        for share, length in self._over(loop.index, loop.extent):
            self.work.entries += 0.0 if loop.unrolled else share * at.turns
            inside = _At(share * at.points * length, share * at.turns * self._vectors(length, widths), together,
                         loop.index)
            self._add_all(loop.body, inside)

    def _vectors(self, length: int, widths: Widths) -> float:
        """Returns the number of vectors of a loop of some length, those that are not full included."""
        vectors = 0.0
        for width in widths.full:
            vectors += length // width * max(width / self._lanes, 1.0)
            length %= width
        return vectors + (-(-length // widths.masked) * max(widths.masked / self._lanes, 1.0) if widths.masked else 0.0)

    def _add_reduction(self, loop: Reduce | Fold | Contract, at: _At) -> None:
        """A reduction outside of a vector loop runs in lanes along its innermost index, unless it is a chain."""
        *outer, (last, extent) = loop.indices
        is_in_lanes = at.lane is None and isinstance(loop, Reduce) and not _is_chain(loop)
        self.work.sums += at.turns if is_in_lanes else 0.0
        for each in self._nested(outer, at):
            for share, length in self._over(last, extent):
                inside = each.over(share * length)
                if is_in_lanes:
                    self.work.entries += share * each.turns
                    inside = _At(inside.points, share * each.turns * -(-length // self._lanes), lane=last)
                else:
                    self.work.waits += inside.turns / inside.together
                for body in loop.bodies:
                    self._add_all(body, inside)
                self._add_combined(loop, inside)

    def _add_combined(self, loop: Reduce | Fold | Contract, at: _At) -> None:
        """Adds the additions of a reduction, beside what its bodies compute."""
        self.work.additions += at.turns * (len(loop.combine) if isinstance(loop, Reduce) else 1)
        if isinstance(loop, Contract):
            self.work.operations += 2 * at.points
            self.work.width = max(self.work.width, loop.result.dtype.itemsize)
        elif isinstance(loop, Reduce):
            self.work.operations += len(loop.combine) * at.points

    def _nested(self, indices: Sequence[tuple[LoopIndex, DimLike]], at: _At) -> Iterator[_At]:
        """Goes through the outer indices of a reduction."""
        if not indices:
            yield at
            return
        (index, extent), *rest = indices
        for share, length in self._over(index, extent):
            yield from self._nested(rest, at.over(share * length))

    def _add_product(self, product: Product, at: _At) -> None:
        rows, columns, points = [self._length(entry) for entry in (product.rows, product.columns, product.points)]
        padded = rows if rows <= FEW_ROWS // 2 else _multiple(rows, FEW_ROWS)
        tiles = at.turns * padded * _multiple(columns, self._line // 4)
        self.work.multiply_adds += tiles * points * product.right.result.dtype.itemsize / 4
        self._touch(product.store, at.points * rows * columns)
        every = at.points * rows * columns * points
        for load in (product.left, product.right, *(product.tables or ())):
            self._touch(load, every)
        self.work.operations += 2 * every
        self.work.width = max(self.work.width, product.store.buffer.dtype.itemsize)

    def _add_transpose(self, transpose: Transpose, at: _At) -> None:
        every = at.points * self._length(transpose.rows) * self._length(transpose.columns)
        self.work.transposes += at.turns
        self.work.transposed += every
        for access in (transpose.load, transpose.store):
            self._touch(access, every)

    def _add_filling(self, filling: Filling, at: _At) -> None:
        """Entries are computed and stored in vectors; nothing outside of the kernel's own memory is touched."""
        *outer, count = [self._length(extent) for extent in filling.extents]
        rows = at.turns * prod(outer) * len(filling.tables)
        vectors = rows * -(-count // self._lanes)
        self.work.entries += rows
        self.work.additions += 2 * vectors
        self.work.loads += 2 * vectors

    def _add_all(self, body: Body, at: _At) -> None:
        for statement in body:
            self.add(statement, at)

    # -- lengths -----------------------------------------------------------------------------------------

    def _over(self, index: LoopIndex, extent: DimLike) -> Iterator[tuple[float, int]]:
        """Yields the iterations of a loop: a share of them, and how many there are, while the index is one of the
        share. There is more than one share where lengths inside depend on the index.
        """
        length = self._length(extent)
        most = max(SAMPLED_ITERATIONS >> self._sampled, FEW_ITERATIONS) if index.name in self._decisive else 1
        shares = min(length, most)
        self._sampled += shares > FEW_ITERATIONS
        for number in range(shares):
            self._bindings[index.name] = (2 * number + 1) * length // (2 * shares)
            yield 1 / shares, length
        self._sampled -= shares > FEW_ITERATIONS

    def _length(self, extent: DimLike) -> int:
        if isinstance(extent, int):
            return max(extent, 0)
        if extent not in self._lengths:
            self._lengths[extent] = compile_dim(extent)
        return max(self._lengths[extent](self._bindings), 0)


def _is_chain(loop: Reduce) -> bool:
    """Whether the points of a reduction are computed one after the other."""
    return loop.order.lanes == 1 or loop.strategy is not None and loop.strategy.name in ("unrolled", "chain")


def _multiple(length: int, divisor: int) -> int:
    return -(-length // divisor) * divisor
