"""Dead code: values that nothing needs are not computed.

>>> from nervure.kernel.parser import parse_kernel
>>> without_dead_statements(parse_kernel("kernel nothing():\\n  v0 = exp(1.0_f32)").body)
()
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.kernel.ir import (
    Access,
    Body,
    Check,
    Contract,
    Definition,
    Fold,
    For,
    Kernel,
    Loop,
    Reduce,
    Scalar,
    Statement,
    Variable,
    Write,
    walk,
)
from nervure.support.replacing import replace


def without_dead_statements(body: Body) -> Body:
    """Keeps the statements that have an effect or that such a statement needs; likewise for each result of a
    reduction.
    """
    return _Living().block(body)


def without_unused_buffers(kernel: Kernel) -> Kernel:
    """Returns the kernel with the buffers that a statement touches."""
    touched = {statement.buffer for statement in walk(kernel.body) if isinstance(statement, Access)}
    return replace(kernel, buffers=tuple([buffer for buffer in kernel.buffers if buffer in touched]))


class _Living:
    """A walk from the last statement to the first; ``used`` are the variables that are read after it."""

    def __init__(self) -> None:
        self._used: set[Variable] = set()

    def block(self, statements: Sequence[Statement]) -> Body:
        """Returns those of the ``statements`` that are alive."""
        living: list[Statement] = []
        for statement in reversed(statements):
            living.extend(reversed(self._living(statement)))
        return tuple(reversed(living))

    def _living(self, statement: Statement) -> Body:
        if isinstance(statement, For):
            loop = statement.map_bodies(self.block)
            return (loop,) if loop.body else ()
        if isinstance(statement, Reduce):
            return self._reduce(statement)
        if isinstance(statement, Fold):
            return self._fold(statement)
        if isinstance(statement, Contract):
            return self._contract(statement)
        if isinstance(statement, Definition) and statement.result not in self._used:
            return ()
        self._read(statement.operands)
        return (statement,)

    def _reduce(self, loop: Reduce) -> Body:
        columns = [column for column in zip(loop.results, loop.combine, loop.values, strict=True)
                   if column[0] in self._used]
        if columns:
            results, combine, values = zip(*columns, strict=True)
            self._read(values)
            return (replace(loop, results=results, combine=combine, body=self.block(loop.body), values=values),)
        body = self.block(loop.body)
        for index, extent in reversed(loop.indices) if body else ():
            body = (For(index, extent, body),)
        return body

    def _fold(self, loop: Fold) -> Body:
        if not _has_effect(loop) and self._used.isdisjoint(loop.results):
            return ()
        self._read(loop.combined)
        combine = self.block(loop.combine)
        self._read(loop.values)
        return (replace(loop, body=self.block(loop.body), combine=combine),)

    def _contract(self, loop: Contract) -> Body:
        if not _has_effect(loop) and loop.result not in self._used:
            return ()
        self._read(loop.operands)
        return (loop.map_bodies(self.block),)

    def _read(self, scalars: Iterable[Scalar]) -> None:
        self._used.update([entry for entry in scalars if isinstance(entry, Variable)])


def _has_effect(loop: Loop) -> bool:
    """Whether a loop does more than define its results."""
    return any([isinstance(entry, Write | Check) for entry in walk((loop,))])
