"""Short rows side by side: a few of them together fill whole vectors.

Three channels of a pixel fill less than half of a register, and storing a part of one is slow. If rows are consecutive
in memory, and everything else that is read is the same for all of them (a scale for each channel), an iteration takes
as many rows as make a multiple of eight elements.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel repeat(in x: f32[3], out y: f32[48]):
...   for i < 16 parallel:
...     for j < 3 vector:
...       v0 = x[j]
...       y[3*i + j] = v0
... ''')
>>> rows, = with_short_rows_joined(kernel, GENERIC).body
>>> rows.extent, rows.body[0].extent, rows.body[0].body[0].address.base
(2, 24, %1 % 3)
"""

from __future__ import annotations

from math import gcd

from nervure.kernel.ir import LANES, Access, Apply, Body, For, Index, Kernel, Statement, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.schedule.nests import Nest, accesses, nested, rewritten
from nervure.kernel.tuning import COPIED_STATEMENTS, JOINED_ROWS, LONG_FUNCTION, MOST_COPIES
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.support.machine import Machine
from nervure.support.replacing import replace


def most_copies(body: Body) -> int:
    """Returns the number of copies of a body, one after the other, that may replace a loop."""
    count = sum([LONG_FUNCTION if isinstance(entry, Apply) and not SCALAR_FUNCTIONS[entry.function].is_short else 1
                 for entry in walk(body)])
    return max(COPIED_STATEMENTS // max(count, 1), MOST_COPIES)


def with_short_rows_joined(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with short rows taken a few at a time."""
    return rewritten(kernel, _joined)


def _joined(nest: Nest) -> For | None:
    if len(nest.loops) < 2:
        return None
    *outer, rows, columns = nest.loops
    length = columns.extent
    if not isinstance(length, int) or not columns.vector or length % JOINED_ROWS == 0:
        return None
    count = JOINED_ROWS // gcd(length, JOINED_ROWS)
    if not isinstance(rows.extent, int) or rows.extent % count or rows.extent == count:
        return None
    is_wide = all([entry.buffer.dtype.itemsize >= 8 for entry in accesses(nest.body)])
    if count * length > min(most_copies(nest.body) * JOINED_ROWS // (2 if is_wide else 1), LANES):
        return None
    if not all([_walks(entry, rows.index, columns.index, length) for entry in nest.body]) or not nest.is_free:
        return None
    body = tuple([_together(entry, rows.index, columns.index, count, length) for entry in nest.body])
    groups, joined = replace(rows, extent=rows.extent // count), replace(columns, extent=count * length)
    return nested([*outer, groups, joined], body)


def _walks(entry: Statement, rows: LoopIndex, columns: LoopIndex, length: int) -> bool:
    """Whether a statement continues in the next row where this one ends, or does the same in all rows."""
    if isinstance(entry, Apply):
        return True
    if isinstance(entry, Index):
        return not entry.mentions(rows)
    if not isinstance(entry, Access) or rows.occurs_in(entry.address.base) or columns.occurs_in(entry.address.base):
        return False
    steps = dict(entry.address.steps)
    return rows not in steps or (steps[rows], steps.get(columns)) == (length, 1)


def _together(entry: Statement, rows: LoopIndex, columns: LoopIndex, count: int, length: int) -> Statement:
    """Returns a statement for ``count`` rows, in which the old column is the remainder after whole rows."""
    if isinstance(entry, Access) and entry.mentions(rows):
        return entry.substitute({rows: rows.dim * count})
    return entry.substitute({columns: columns.dim % length})
