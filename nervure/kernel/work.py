"""Work: the bytes that a kernel must move for given sizes, and its operations.

A buffer counts once as read and once as written, however often its elements are: what lies in the cache costs little.
Where less than the whole of it is touched (a gather), only that counts.

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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from nervure.kernel.ir import Apply, Buffer, Kernel, Load, Loop, Reduce, Statement, Store
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dim import DimLike, evaluate, index_symbols


class Work(NamedTuple):
    """Bytes read and written, operations (an addition is 1, a function such as exp 16), and the bytes of the widest
    type that is computed in.
    """

    bytes: int
    operations: int
    width: int


def work(kernel: Kernel, bindings: Mapping[str, int]) -> Work:
    """The work of all iterations of a kernel. Where the length of a loop depends on an outer index, the first
    one counts for all.
    """
    count = _Count(bindings)
    for statement in kernel.body:
        count.add(statement, 1)
    moved = sum([min(times, max(count.number(buffer.size), 0)) * buffer.dtype.itemsize
                 for (buffer, _), times in count.touched.items()])
    return Work(moved, count.operations, count.width)


class _Count:
    def __init__(self, bindings: Mapping[str, int]) -> None:
        self._bindings = bindings
        self.touched: Counter[tuple[Buffer, bool]] = Counter()  # elements of a buffer that are read (or written)
        self.operations = 0
        self.width = 4

    def number(self, length: DimLike) -> int:
        """A length, at the first iteration of the loops around."""
        return evaluate(length, {**self._bindings, **dict.fromkeys(index_symbols(length), 0)})

    def add(self, statement: Statement, iterations: int) -> None:
        """Counts a statement that runs so many times."""
        if isinstance(statement, Loop):
            for _, extent in statement.indices:
                iterations *= max(self.number(extent), 0)
            for entry in [entry for body in statement.bodies for entry in body]:
                self.add(entry, iterations)
            if isinstance(statement, Reduce):
                self.operations += iterations * len(statement.combine)
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

    def _touch(self, buffer: Buffer, is_written: bool, iterations: int) -> None:
        if buffer.role != "scratch":
            self.touched[buffer, is_written] += iterations
