"""What is computed twice is computed once, what nothing needs is not computed.

>>> from nervure.kernel.ir import Address, Literal
>>> from nervure.types.dtype import float32
>>> y, (a, b) = Buffer("y", float32, 1, "out"), [Variable(float32) for _ in range(2)]
>>> one = Literal(1.0, float32)
>>> body = (Apply(a, "exp", (one,)), Apply(b, "exp", (one,)), Store(y, Address(0), b))
>>> body = with_shared_scalars(body)
>>> [type(statement).__name__ for statement in body], body[1].value is a
(['Apply', 'Store'], True)
>>> without_dead_statements((Apply(a, "exp", (one,)),))
()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nervure.kernel.ir import (
    Apply,
    Buffer,
    Check,
    Fold,
    For,
    Index,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
    walk,
)
from nervure.kernel.simplify.rewriting import Body, Rewrite, Simple

# -- once instead of twice -----------------------------------------------------------------------------------


def with_shared_scalars(body: Body) -> Body:
    """Equal functions and indices, and equal loads with no store to their buffer between them, happen once.

    What an outer loop knows is known in the loops inside it.
    """
    return _Sharing().block(body)


class _Sharing(Rewrite):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Any, Variable] = {}
        self._loads: dict[Buffer, dict[Any, Variable]] = {}

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, (Check, Store)):
            if isinstance(statement, Store):
                self._loads.pop(statement.buffer, None)
            out.append(statement)
            return
        if isinstance(statement, Load):
            table = self._loads.setdefault(statement.buffer, {})
            key: Any = statement.address, statement.valid, statement.fill
        else:
            table = self._known
            key = (statement.expression if isinstance(statement, Index)
                   else (statement.function, statement.operands, statement.result.dtype))
        found = table.setdefault(key, statement.result)
        if found is statement.result:
            out.append(statement)
        else:
            self.replaced[statement.result] = found

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        self._forget(loop)
        out.append(For(loop.index, loop.extent, self._inner(loop.body), loop.parallel, loop.vector))

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        self._forget(loop)
        body = self._inner(loop.body)
        out.append(Reduce(loop.results, loop.combine, loop.indices, body, self.scalars(loop.values)))

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        self._forget(loop)
        body, combine = self._inner(loop.body), self._inner(loop.combine)
        out.append(Fold(loop.results, loop.indices, body, self.scalars(loop.values), loop.left, loop.right, combine,
                        self.scalars(loop.combined)))

    def _forget(self, loop: For | Reduce | Fold) -> None:
        """What a loop stores into is not known inside it: another turn of it may have come before."""
        for statement in walk((loop,)):
            if isinstance(statement, Store):
                self._loads.pop(statement.buffer, None)

    def _inner(self, body: Body) -> Body:
        """A body inside a loop; what is found in it is not known after it."""
        outer = self._known, self._loads
        self._known = dict(self._known)
        self._loads = {buffer: dict(table) for buffer, table in self._loads.items()}
        inner = self.block(body)
        self._known, self._loads = outer
        return inner


# -- nothing instead of once ---------------------------------------------------------------------------------


def without_dead_statements(body: Body) -> Body:
    """Statements that have an effect or whose result such a statement needs; so for each result of a reduction."""
    return _Living().block(body)


class _Living:
    """A walk from the last statement to the first; ``used`` are the variables that are read after it."""

    def __init__(self) -> None:
        self._used: set[Variable] = set()

    def block(self, statements: Sequence[Statement]) -> Body:
        """The statements among these that live."""
        living: list[Statement] = []
        for statement in reversed(statements):
            living.extend(reversed(self._living(statement)))
        return tuple(reversed(living))

    def _living(self, statement: Statement) -> Body:
        if isinstance(statement, For):
            body = self.block(statement.body)
            return (For(statement.index, statement.extent, body, statement.parallel, statement.vector),) if body else ()
        if isinstance(statement, Reduce):
            return self._reduce(statement)
        if isinstance(statement, Fold):
            return self._fold(statement)
        if isinstance(statement, (Apply, Index, Load)) and statement.result not in self._used:
            return ()
        self._read(_operands(statement))
        return (statement,)

    def _reduce(self, loop: Reduce) -> Body:
        columns = [column for column in zip(loop.results, loop.combine, loop.values, strict=True)
                   if column[0] in self._used]
        if columns:
            results, combine, values = zip(*columns, strict=True)
            self._read(values)
            return (Reduce(results, combine, loop.indices, self.block(loop.body), values),)
        body = self.block(loop.body)
        for index, extent in reversed(loop.indices) if body else ():
            body = (For(index, extent, body),)
        return body

    def _fold(self, loop: Fold) -> Body:
        effects = [entry for entry in (*walk(loop.body), *walk(loop.combine)) if isinstance(entry, (Store, Check))]
        if not effects and self._used.isdisjoint(loop.results):
            return ()
        self._read(loop.combined)
        combine = self.block(loop.combine)
        self._read(loop.values)
        return (Fold(loop.results, loop.indices, self.block(loop.body), loop.values, loop.left, loop.right, combine,
                     loop.combined),)

    def _read(self, scalars: Sequence[Scalar | None]) -> None:
        self._used.update([entry for entry in scalars if isinstance(entry, Variable)])


def _operands(statement: Simple) -> Sequence[Scalar | None]:
    """The scalars that a statement reads."""
    if isinstance(statement, Apply):
        return statement.operands
    if isinstance(statement, Check):
        return statement.condition, statement.value
    if isinstance(statement, Index):
        return ()
    terms = [scalar for _, scalar in statement.address.terms]
    if isinstance(statement, Store):
        return *terms, statement.value, statement.valid
    return *terms, statement.valid, statement.fill
