"""Rows in pairs: two rows that read much of the same memory are computed at once.

A window of three rows reads each row of the data for three rows of its results. If two of these are computed side by
side, the memory that they share is read once.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sums(in x: f32[224], out y: f32[192]):
...   for i < 2 parallel:
...     for j < 6:
...       for k < 16 vector:
...         v0 = x[112*i + 16*j + k]
...         v1 = x[112*i + 16*j + k + 16]
...         v2 = add(v0, v1)
...         y[96*i + 16*j + k] = v2
... ''')
>>> print("\\n".join(print_kernel(with_paired_rows(kernel, GENERIC)).splitlines()[2:]))
    for j < 3:
      for k < 16 vector:
        v0 = x[112*i + 32*j + k]
        v1 = x[112*i + 32*j + k + 16]
        v2 = x[112*i + 32*j + k + 32]
        v3 = add(v0, v1)
        v4 = add(v1, v2)
        y[96*i + 32*j + k] = v3
        y[96*i + 32*j + k + 16] = v4
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from nervure.kernel.ir import Apply, Body, For, Index, Kernel, Load, Statement, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import Rewrite, fresh_copy
from nervure.kernel.simplify.common_subexpressions import with_shared_scalars
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, less_equal


def with_paired_rows(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with loops over rows of vectors that take two at a time, if these share memory."""
    return replace(kernel, body=_Pairing(kernel.sliced, machine.products.shared_loads).block(kernel.body))


class _Pairing(Rewrite):
    def __init__(self, sliced: For | None, share: float) -> None:
        super().__init__()
        self._sliced, self._share = sliced, share

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        pairs = None if loop is self._sliced else _in_pairs(loop, self._share)
        out.extend([self.rebuilt(loop)] if pairs is None else pairs)


def _in_pairs(loop: For, share: float) -> list[For] | None:
    """Returns the loop in pairs of iterations, and the last one if it is left; None if that is of no use.

    It is of use if a pair needs at most this ``share`` of the loads of both.
    """
    row = loop.body[0] if len(loop.body) == 1 and loop.routine is None else None
    if not isinstance(row, For) or not row.vector or not _may_meet(loop, row):
        return None
    before = _loads(row.body, loop.index)
    most = share * 2 * len(before)
    if not before or 2 * len(before) - _met(before, loop.index) > most:
        return None  # without the rows themselves, which are expensive to make
    body = _pair(row.body, loop.index)
    if len(_loads(body, loop.index)) > most or less_equal(loop.extent, 1) is True:
        return None
    pairs: DimLike = loop.extent // 2
    found = [replace(loop, extent=pairs, body=(replace(row, body=body),))]
    if loop.extent % 2 == 0:
        return found
    last, _ = fresh_copy(loop.body, (), {loop.index: 2 * pairs + loop.index.dim})
    return [*found, replace(loop, extent=loop.extent % 2, body=last)]


def _may_meet(loop: For, row: For) -> bool:
    """Whether two rows may be computed side by side. They must be equally long, and store elements that no other row
    reads, once to each buffer, so that the later of two rows that meet is still the later one.
    """
    if loop.index.occurs_in(row.extent) or not all([isinstance(entry, Load | Apply | Index | Store)
                                                    for entry in row.body]):
        return False
    stores = [entry for entry in row.body if isinstance(entry, Store)]
    written = {entry.buffer for entry in stores}
    is_free = all([entry.combine is None and not entry.address.terms for entry in stores])
    read = [entry.buffer for entry in row.body if isinstance(entry, Load)]
    return is_free and len(written) == len(stores) and written.isdisjoint(read)


def _met(loads: Sequence[Load], index: LoopIndex) -> int:
    """Returns the number of loads that read the same as another one in the next row, if conditions do not depend on
    the row.
    """
    places = {_place(load, load.address.base) for load in loads}
    return sum([_place(load, load.address.base + load.address.step(index)) in places for load in loads])


def _place(load: Load, base: DimLike) -> tuple[Hashable, ...]:
    """Returns a key of the place of a load."""
    return load.buffer, base, frozenset(load.address.steps), load.address.terms


def _pair(body: Body, index: LoopIndex) -> Body:
    """Returns a row and the next one, statement by statement."""
    rows = [fresh_copy(body, (), {index: 2 * index.dim + row})[0] for row in range(2)]
    return with_shared_scalars(tuple([entry for pair in zip(*rows, strict=True) for entry in pair]))


def _loads(body: Iterable[Statement], index: LoopIndex) -> list[Load]:
    """Returns the loads that differ from row to row."""
    return [entry for entry in body if isinstance(entry, Load) and entry.mentions(index)]
