"""Common subexpressions: equal computations and loads happen once.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel twice(out y: f32[1]):
...   v0 = exp(1.0_f32)
...   v1 = exp(1.0_f32)
...   y[0] = v1
... ''')
>>> power, store = with_shared_scalars(kernel.body)
>>> store.value is power.result
True
"""

from __future__ import annotations

from typing import Any

from nervure.kernel.ir import Apply, Body, Buffer, Definition, Load, Loop, Simple, Statement, Variable, Write, walk
from nervure.kernel.rewriting import AnyLoop, Rewrite


def with_shared_scalars(body: Body) -> Body:
    """Merges equal functions and indices, and equal loads with no store to their buffer between them.

    Values known in an outer loop are known in the loops inside it.
    """
    return _Sharing().block(body)


class _Sharing(Rewrite):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Any, Variable] = {}
        self._loads: dict[Buffer, dict[Any, Variable]] = {}

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, Write):
            self._loads.pop(statement.buffer, None)
        if isinstance(statement, Definition):
            table, key = self._entry(statement)
            found = table.setdefault(key, statement.result)
            if found is not statement.result:
                self.replaced[statement.result] = found
                return
        out.append(statement)

    def _entry(self, statement: Definition) -> tuple[dict[Any, Variable], Any]:
        """Returns the table that may hold the variable with the value of a statement, and the key there."""
        if isinstance(statement, Load):
            table = self._loads.setdefault(statement.buffer, {})
            return table, (statement.address, statement.valid, statement.fill)
        if isinstance(statement, Apply):
            return self._known, (statement.function, statement.operands, statement.result.dtype)
        return self._known, statement.dims

    def rebuilt(self, loop: AnyLoop) -> AnyLoop:
        self._forget(loop)
        return loop.map_bodies(self._inner).replace_operands(self.replaced)

    def _forget(self, loop: Loop) -> None:
        """Forgets the buffers that a loop stores to: inside it, another iteration may have come before."""
        for statement in walk((loop,)):
            if isinstance(statement, Write):
                self._loads.pop(statement.buffer, None)

    def _inner(self, body: Body) -> Body:
        """Rewrites a body inside a loop; values found in it are not known after it."""
        outer = self._known, self._loads
        self._known = dict(self._known)
        self._loads = {buffer: dict(table) for buffer, table in self._loads.items()}
        inner = self.block(body)
        self._known, self._loads = outer
        return inner
