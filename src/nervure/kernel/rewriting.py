"""The walks that all rewrites share, copies of bodies, and loop indices for new loops.

>>> from nervure.kernel.ir import Apply
>>> from nervure.types.dtype import float32
>>> class WithoutCopies(Rewrite):
...     def simple(self, statement, out):
...         if getattr(statement, "function", "") == "bitcast":
...             self.replaced[statement.result] = statement.operands[0]
...         else:
...             out.append(statement)
>>> x, y, z = [Variable(float32) for _ in range(3)]
>>> body = WithoutCopies().block((Apply(y, "bitcast", (x,)), Apply(z, "negative", (y,))))
>>> [(statement.function, statement.operands == (x,)) for statement in body]
[('negative', True)]
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from nervure.kernel.ir import (
    Body,
    Buffer,
    Contract,
    Fold,
    For,
    Kernel,
    Loop,
    Reduce,
    Scalar,
    Simple,
    Statement,
    Variable,
    substituted,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.support.replacing import replace
from nervure.types.dim import DimLike
from nervure.types.dtype import DType

AnyLoop = TypeVar("AnyLoop", bound=Loop)


class Rewrite:
    """A walk over a body from its first statement to its last. A subclass decides on the replacement of each
    statement.

    ``replaced`` maps variables whose definition is gone to their replacements.
    """

    def __init__(self) -> None:
        self.replaced: dict[Variable, Scalar] = {}

    def block(self, statements: Body) -> Body:
        """Returns the replacements of these statements; the same tuple if all of them stay."""
        out: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Simple):
                self.simple(statement.replace_operands(self.replaced) if self.replaced else statement, out)
            elif isinstance(statement, For):
                self.for_loop(statement, out)
            elif isinstance(statement, Reduce):
                self.reduce(statement, out)
            elif isinstance(statement, Fold):
                self.fold(statement, out)
            elif isinstance(statement, Contract):
                self.contract(statement, out)
        is_same = len(out) == len(statements) and all(map(operator.is_, out, statements))
        return statements if is_same else tuple(out)

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        """Appends the replacement of a statement, whose operands have been replaced."""
        out.append(statement)

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        """Appends the replacement of a loop."""
        out.append(self.rebuilt(loop))

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        """Appends the replacement of a reduction."""
        out.append(self.rebuilt(loop))

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        """Appends the replacement of a fold."""
        out.append(self.rebuilt(loop))

    def contract(self, loop: Contract, out: list[Statement]) -> None:
        """Appends the replacement of a contraction."""
        out.append(self.rebuilt(loop))

    def scalars(self, entries: Iterable[Scalar]) -> tuple[Scalar, ...]:
        """Returns the replacements of scalars."""
        return tuple([self.replaced.get(entry, entry) if isinstance(entry, Variable) else entry for entry in entries])

    def rebuilt(self, loop: AnyLoop) -> AnyLoop:
        """Returns a loop with the replacements of the statements inside it and of the scalars that it reads."""
        return loop.map_bodies(self.block).replace_operands(self.replaced)


class MemoryRewrite(Rewrite):
    """A walk over a ``kernel`` that needs memory and loops of its own.

    ``role`` is that of memory for one iteration of the loops around, of which there are ``depth``.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._kernel = kernel
        self._unused: int | None = None  # found when it is asked for, as it seldom is
        self._memory: dict[str, Buffer] = {}
        self._shared: dict[Hashable, Buffer] = {}
        self.role, self.depth = "scratch", 0

    def rewritten(self) -> Kernel:
        """Returns the replacement of the kernel."""
        body = self.block(self._kernel.body)
        return self._kernel if body is self._kernel.body else replace(
            self._kernel, body=body, buffers=(*self._kernel.buffers, *self._memory.values()))

    def rebuilt(self, loop: AnyLoop) -> AnyLoop:
        outer = self.role, self.depth
        self.role, self.depth = "private" if loop.in_lanes else self.role, self.depth + 1
        inner = super().rebuilt(loop)
        self.role, self.depth = outer
        return inner

    def index(self) -> LoopIndex:
        """Returns an index that no loop has."""
        if self._unused is None:
            self._unused = unused_indices(self._kernel.body, 1)[0].number
        self._unused += 1
        return LoopIndex(self._unused - 1)

    def memory(self, name: str, dtype: DType, size: DimLike, role: str = "scratch") -> Buffer:
        """Returns fresh memory, called ``name`` and a number."""
        taken = {buffer.name for buffer in self._kernel.buffers} | self._memory.keys()
        free = next(f"{name}{number}" for number in range(len(taken) + 1) if f"{name}{number}" not in taken)
        return self._memory.setdefault(free, Buffer(free, dtype, size, role))

    def shared(self, name: str, results: Iterable[Variable], size: DimLike, role: str = "scratch",
               key: Hashable = None) -> list[Buffer]:
        """Returns memory of ``size`` elements for each of some ``results``. Calls with results of the same types and
        otherwise equal arguments get the same memory.
        """
        buffers = []
        for number, result in enumerate(results):
            place = name, result.dtype, number, size, role, key
            if place not in self._shared:
                self._shared[place] = self.memory(name, result.dtype, size, role)
            buffers.append(self._shared[place])
        return buffers


def fresh_copy(body: Iterable[Statement], values: Iterable[Scalar] = (),
               indices: Mapping[LoopIndex, DimLike] | None = None) -> tuple[Body, tuple[Scalar, ...]]:
    """Copies a body with new variables, and with expressions in place of some loop ``indices``; also returns
    ``values`` in the copy.

    >>> from nervure.kernel.ir import Address, Buffer, Load
    >>> from nervure.types.dtype import float32
    >>> x, y = Buffer("x", float32, 12, "in"), Variable(float32)
    >>> i, j = LoopIndex(0), LoopIndex(1)
    >>> body, values = fresh_copy([Load(y, x, Address(1, ((i, 4), (j, 1))))], [y], {j: 2})
    >>> body[0].address, values[0] is body[0].result, values[0] is y
    (Address(base=3, steps=((%0, 4),), terms=()), True, False)
    """
    table: dict[Variable, Variable] = {}

    def copied(statements: Iterable[Statement]) -> Body:
        return tuple([fresh(statement) for statement in statements])

    def fresh(statement: Statement) -> Statement:
        table.update({entry: Variable(entry.dtype) for entry in (*statement.results, *statement.arguments)})
        return statement.map_bodies(copied).replace_operands(table).replace_results(table)

    made = copied(substituted(body, indices or {}))
    return made, tuple([table.get(value, value) if isinstance(value, Variable) else value for value in values])


def unused_indices(body: Iterable[Statement], count: int) -> list[LoopIndex]:
    """Returns ``count`` loop indices that no loop in a body has.

    >>> from nervure.kernel.ir import For
    >>> unused_indices([For(LoopIndex(2), 8, ())], 2)
    [%3, %4]
    """
    used = [index.number for entry in walk(body) if isinstance(entry, Loop) for index, _ in entry.indices]
    first = 1 + max(used, default=-1)
    return [LoopIndex(first + number) for number in range(count)]
