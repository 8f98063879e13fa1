"""Narrow columns: sums over consecutive rows of a few elements go along memory.

A vector of each row would have lanes for a few columns alone. As many rows as a reduction has lanes are a vector of
their own: its sums, one for each lane of each column, wait in the first cache and are combined at the end, as a
reduction would combine them.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sums(in x: f32[3000], out y: f32[3]):
...   for i < 3 vector:
...     v0 = reduce add over j < 1000:
...       v1 = x[i + 3*j]
...       give v1
...     y[i] = v0
... ''')
>>> print(print_kernel(with_narrow_columns(kernel, GENERIC)), end="")
kernel sums(in x: f32[3000], out y: f32[3], scratch sums0: f32[192]):
  for i < 192 vector:
    sums0[i] = 0.0_f32
  for i < 16:
    for j < min(3000 - 192*i, 192) vector:
      v0 = x[192*i + j]
      sums0[j] add = v0
  for i < 3 vector:
    v1 = reduce add over j < 64:
      v2 = sums0[i + 3*j]
      give v2
    y[i] = v1
"""

from __future__ import annotations

from nervure.kernel.combiners import keeps_units, unit
from nervure.kernel.ir import (
    DEFAULT_ORDER,
    LANES,
    Address,
    Apply,
    Buffer,
    For,
    Kernel,
    Load,
    Loop,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import MemoryRewrite, fresh_copy
from nervure.kernel.simplify.loops import walks_on
from nervure.kernel.tuning import LEAST_NARROW_ROWS, NARROW_COLUMNS
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import dim_min, highest


def with_narrow_columns(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with its reductions over rows of a few elements along memory."""
    return _Narrow(kernel).rewritten()


class _Narrow(MemoryRewrite):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._place, self._group, self._lane = [self.index() for _ in range(3)]

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        reduce = loop.body[0] if loop.body else None
        if isinstance(reduce, Reduce) and _is_narrow(loop, reduce):
            out += self._along_memory(loop, reduce)
        else:
            super().for_loop(loop, out)

    def _along_memory(self, loop: For, reduce: Reduce) -> list[Statement]:
        """Returns the sums of all lanes of all columns, and their combination for each column."""
        columns, (row, rows) = loop.extent, reduce.indices[0]
        assert isinstance(columns, int)
        size, place, group = columns * LANES, self._place, self._group
        sums = [self.memory("sums", result.dtype, size) for result in reduce.results]
        here = Address(0, ((place, 1),))
        begin = [Store(buffer, here, unit(combine, buffer.dtype))
                 for buffer, combine in zip(sums, reduce.combine, strict=True)]
        body, values = fresh_copy(reduce.body, reduce.values, {loop.index: place.dim, row: group.dim * LANES})
        add = [Store(buffer, here, value, combine)
               for buffer, value, combine in zip(sums, values, reduce.combine, strict=True)]
        along = For(place, dim_min(size, (rows - group.dim * LANES) * columns), (*body, *add), vector=True)
        return [For(place, size, tuple(begin), vector=True), For(group, -(-rows // LANES), (along,)),
                replace(loop, body=(self._of_columns(loop.index, columns, reduce, sums), *loop.body[1:]))]

    def _of_columns(self, column: LoopIndex, columns: int, reduce: Reduce, sums: list[Buffer]) -> Reduce:
        """Returns the reduction of a column's lanes."""
        place = Address(0, ((column, 1), (self._lane, columns)))
        loads = [Load(Variable(buffer.dtype), buffer, place) for buffer in sums]
        values: tuple[Scalar, ...] = tuple([load.result for load in loads])
        return replace(reduce, indices=((self._lane, LANES),), body=tuple(loads), values=values)


def _is_narrow(loop: For, reduce: Reduce) -> bool:
    """Whether a loop of few columns reduces consecutive rows, no more than a block of them."""
    columns, (row, rows) = loop.extent, reduce.indices[-1]
    most = highest(rows)
    if not loop.vector or loop.parallel or not isinstance(columns, int) or not 1 < columns <= NARROW_COLUMNS:
        return False
    if len(reduce.indices) > 1 or reduce.order != DEFAULT_ORDER or not keeps_units(reduce):
        return False
    if most is None or not LEAST_NARROW_ROWS <= most <= reduce.order.block:
        return False
    if any([isinstance(entry, Loop) for entry in loop.body[1:]]):
        return False
    return walks_on(reduce.body, row, loop.index, columns) and all([
        isinstance(entry, Apply) or (isinstance(entry, Load) and entry.address.step(loop.index) in (0, 1))
        for entry in reduce.body])
