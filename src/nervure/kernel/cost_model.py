"""Cost model of kernels: the time of a point on one core; the bytes that a kernel must move, and its operations.

The time says what threads are worth, and when a call lets other Python threads run. Of the bytes a buffer counts once
as read and once as written, however often its elements are: what lies in the cache costs little. Where less than the
whole of it is touched (a gather), only that counts.

>>> from nervure.kernel.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel power(in x: f32[N], out y: f32[N]):
...   symbol N
...   for i < N:
...     v0 = x[i]
...     v1 = exp(v0)
...     y[i] = v1
... ''')
>>> work(kernel, {"N": 1000})
Work(bytes=8000, operations=16000, width=4)
>>> nanoseconds_per_point(kernel, GENERIC)     # of its memory: it does not know which op it comes from
0.32
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from nervure.ir.op import Op
from nervure.kernel.ir import (
    Address,
    Apply,
    Buffer,
    Contract,
    Fold,
    For,
    Kernel,
    Load,
    Loop,
    Reduce,
    Statement,
    Store,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.machine import Machine
from nervure.kernel.routines import Product, product_of
from nervure.kernel.tuning import SAMPLED_ITERATIONS
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dim import DimLike, evaluate, index_symbols


def nanoseconds_per_point(kernel: Kernel, machine: Machine) -> float:
    """The larger of what memory and what arithmetic take for one point of the loops."""
    products = [product for entry in walk(kernel.body) if (product := product_of(entry)) is not None]
    if products:
        return _of_product(products[0], machine)
    moved, known = 0.0, set[tuple[object, type]]()
    for access, is_far in _accesses(kernel.body, None):
        size, key = access.buffer.dtype.itemsize, (access.buffer, type(access))
        moved += machine.element_apart if is_far else size * (
            machine.byte_from_cache if key in known else machine.byte_from_memory)
        known.add(key)
    work = sum([op.cost * _vectors(op) for op in kernel.origins if isinstance(op, Op)])
    return round(max(moved, work * machine.operation / machine.lanes, 0.1), 3)


def _of_product(product: Product, machine: Machine) -> float:
    """The same of a matrix product: what follows it counts for nothing. Few rows wait for memory."""
    size, rows = product.right.result.dtype.itemsize, product.rows if isinstance(product.rows, int) else 1 << 10
    return round(max(machine.multiply_add * size / 4, machine.byte_from_memory * size / max(rows, 1)), 3)


def _accesses(statements: Sequence[Statement], lane: LoopIndex | None) -> Iterator[tuple[Load | Store, bool]]:
    """The loads and stores of memory, and whether they touch one element here and one there."""
    for statement in statements:
        if isinstance(statement, Load | Store) and statement.buffer.role != "scratch":
            yield statement, _is_far(statement.address, lane)
        elif isinstance(statement, For):
            inside = _accesses(statement.body, statement.index if statement.vector else lane)
            yield from inside if statement.routine is None else [(access, False) for access, _ in inside]
        elif isinstance(statement, Reduce | Fold | Contract):
            yield from _accesses(statement.body, lane or statement.indices[-1][0])


def _is_far(address: Address, lane: LoopIndex | None) -> bool:
    step = 0 if lane is None else address.step(lane)
    if address.terms:
        return step == 0
    return not isinstance(step, int) or abs(step) > 2


def _vectors(op: Op) -> float:
    """How many vectors an op's eight elements take."""
    return max([1.0, *[value.dtype.itemsize / 4 for value in (*op.operands, *op.outputs)]])


# -- work --------------------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """Bytes read and written, operations (an addition is 1, a function such as exp 16), and the bytes of the widest
    type that is computed in.
    """

    bytes: int
    operations: int
    width: int


def work(kernel: Kernel, bindings: Mapping[str, int]) -> Work:
    """The work of all iterations of a kernel. Where the lengths of loops depend on an outer index, at most
    ``SAMPLED_ITERATIONS`` of its loop, spread evenly, count for all.
    """
    lengths = [extent for entry in walk(kernel.body) if isinstance(entry, Loop) for _, extent in entry.indices]
    count = _Count(bindings, frozenset[str]().union(*map(index_symbols, lengths)))
    for statement in kernel.body:
        count.add(statement, 1)
    moved = sum([min(round(times), max(evaluate(buffer.size, bindings), 0)) * buffer.dtype.itemsize
                 for (buffer, _), times in count.touched.items()])
    return Work(moved, round(count.operations), count.width)


class _Count:
    def __init__(self, bindings: Mapping[str, int], decisive: Collection[str]) -> None:
        self._bindings = dict(bindings)  # and of the ``decisive`` indices around, on which lengths depend
        self._decisive = decisive
        self.touched = defaultdict[tuple[Buffer, bool], float](float)  # elements of a buffer, read (or written)
        self.operations = 0.0
        self.width = 4

    def add(self, statement: Statement, iterations: float) -> None:
        """Counts a statement that runs so many times."""
        if isinstance(statement, Loop):
            self._add_loop(statement, statement.indices, iterations)
        elif isinstance(statement, Apply):
            self.operations += iterations * SCALAR_FUNCTIONS[statement.function].operations
            self.width = max(self.width, statement.result.dtype.itemsize if statement.result.dtype.is_float else 4)
        elif isinstance(statement, Load):
            self._touch(statement.buffer, False, iterations)
        elif isinstance(statement, Store):
            self._touch(statement.buffer, True, iterations)
            if statement.combine is not None:
                self._touch(statement.buffer, False, iterations)
                self.operations += iterations

    def _add_loop(self, loop: Loop, indices: Sequence[tuple[LoopIndex, DimLike]], iterations: float) -> None:
        """The iterations of these indices of a loop."""
        if not indices:
            self._add_bodies(loop, iterations)
            return
        (index, extent), *rest = indices
        length = max(evaluate(extent, self._bindings), 0)
        samples = min(length, SAMPLED_ITERATIONS) if index.name in self._decisive else min(length, 1)
        for number in range(samples):
            self._bindings[index.name] = (2 * number + 1) * length // (2 * samples)
            self._add_loop(loop, rest, iterations * length / samples)

    def _add_bodies(self, loop: Loop, iterations: float) -> None:
        for entry in [entry for body in loop.bodies for entry in body]:
            self.add(entry, iterations)
        if isinstance(loop, Contract):
            self.operations += 2 * iterations
            self.width = max(self.width, loop.result.dtype.itemsize)
        if isinstance(loop, Reduce):
            self.operations += iterations * len(loop.combine)

    def _touch(self, buffer: Buffer, is_written: bool, iterations: float) -> None:
        if buffer.role != "scratch":
            self.touched[buffer, is_written] += iterations
