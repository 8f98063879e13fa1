"""The walk that all rewrites share: statements with other scalars, blocks with other statements.

>>> from nervure.types.dtype import float32
>>> x, y = Variable(float32), Variable(float32)
>>> renamed(Apply(Variable(float32), "add", (x, x)), {x: y}).operands == (y, y)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure.kernel.ir import (
    Address,
    Apply,
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
)

Simple = Apply | Index | Load | Store | Check
Body = tuple[Statement, ...]


class Rewrite:
    """A walk over a body from its first statement to its last. What a statement is replaced by is up to a subclass.

    ``replaced`` are variables whose definition is gone and what stands for them.
    """

    def __init__(self) -> None:
        self.replaced: dict[Variable, Scalar] = {}

    def block(self, statements: Sequence[Statement]) -> Body:
        """The statements that stand for these."""
        out: list[Statement] = []
        for statement in statements:
            if isinstance(statement, For):
                self.for_loop(statement, out)
            elif isinstance(statement, Reduce):
                self.reduce(statement, out)
            elif isinstance(statement, Fold):
                self.fold(statement, out)
            else:
                self.simple(renamed(statement, self.replaced), out)
        return tuple(out)

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        """Appends what stands for a statement, whose operands have been replaced."""
        out.append(statement)

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        """Appends what stands for a loop."""
        out.append(For(loop.index, loop.extent, self.block(loop.body), loop.parallel, loop.vector))

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        """Appends what stands for a reduction."""
        body = self.block(loop.body)
        out.append(Reduce(loop.results, loop.combine, loop.indices, body, self.scalars(loop.values)))

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        """Appends what stands for a fold."""
        body = self.block(loop.body)
        values = self.scalars(loop.values)
        combine = self.block(loop.combine)
        out.append(Fold(loop.results, loop.indices, body, values, loop.left, loop.right, combine,
                        self.scalars(loop.combined)))

    def scalar(self, x: Scalar) -> Scalar:
        """What stands for a scalar."""
        return self.replaced.get(x, x) if isinstance(x, Variable) else x

    def scalars(self, entries: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """What stands for scalars."""
        return tuple([self.scalar(entry) for entry in entries])


def renamed(statement: Simple, table: Mapping[Variable, Scalar]) -> Simple:
    """A statement in which other scalars stand for some variables that it reads."""
    if not table or isinstance(statement, Index):
        return statement

    def scalar(x: Scalar) -> Scalar:
        return table.get(x, x) if isinstance(x, Variable) else x

    if isinstance(statement, Apply):
        operands = tuple([scalar(operand) for operand in statement.operands])
        return statement if operands == statement.operands else Apply(statement.result, statement.function, operands)
    if isinstance(statement, Check):
        return Check(scalar(statement.condition), statement.failure, scalar(statement.value))
    address = statement.address
    if address.terms:
        terms = tuple([(stride, scalar(variable)) for stride, variable in address.terms])
        address = Address(address.base, address.steps, terms)
    valid = None if statement.valid is None else scalar(statement.valid)
    if isinstance(statement, Store):
        return Store(statement.buffer, address, scalar(statement.value), statement.combine, valid)
    fill = None if statement.fill is None else scalar(statement.fill)
    return Load(statement.result, statement.buffer, address, valid, fill)


def moved(statement: Load | Store, address: Address) -> Load | Store:
    """The same access at another address."""
    if isinstance(statement, Load):
        return Load(statement.result, statement.buffer, address, statement.valid, statement.fill)
    return Store(statement.buffer, address, statement.value, statement.combine, statement.valid)
