"""Short rows side by side: a few of them together fill whole vectors.

Three channels of a pixel fill less than half of a register, and storing a part of one is slow. If rows are consecutive
in memory, and everything else that is read is the same for all of them (a scale for each channel), an iteration takes
as many rows as make a multiple of eight elements. If what is read lies along the rows (a plane of each channel), rows
run in lanes, and the two to four elements of each are stored together.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.ir import Store
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
>>> kernel = parse_kernel('''
... kernel pixels(in x: f32[192], out y: f32[192]):
...   for i < 64 parallel:
...     for j < 3 vector:
...       v0 = x[i + 64*j]
...       y[3*i + j] = v0
... ''')
>>> rows, = with_short_rows_joined(kernel, GENERIC).body
>>> rows.extent, rows.vector, [entry.address.base for entry in rows.body if isinstance(entry, Store)]
(64, True, [0, 1, 2])
"""

from __future__ import annotations

from math import gcd

from nervure.kernel.ir import LANES, Access, Apply, Body, For, Index, Kernel, Load, Loop, Statement, Store, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import fresh_copy
from nervure.kernel.schedule.nests import Nest, accesses, nested, rewritten
from nervure.kernel.tuning import COPIED_STATEMENTS, INTERLEAVED, JOINED_ROWS, LONG_FUNCTION, MOST_COPIES
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import lowest


def most_copies(body: Body) -> int:
    """Returns the number of copies of a body, one after the other, that may replace a loop."""
    count = sum([LONG_FUNCTION if isinstance(entry, Apply) and not SCALAR_FUNCTIONS[entry.function].is_short else 1
                 for entry in walk(body)])
    return max(COPIED_STATEMENTS // max(count, 1), MOST_COPIES)


def with_short_rows_joined(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with short rows taken a few at a time."""
    return rewritten(kernel, lambda nest: _joined(nest) or _in_lanes(nest))


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


def _in_lanes(nest: Nest) -> For | None:
    """Returns a nest with rows in lanes, if each is stored as a whole and what is read of them lies along the rows."""
    if len(nest.loops) < 2 or not nest.is_free or any([isinstance(entry, Loop) for entry in nest.body]):
        return None
    *outer, rows, columns = nest.loops
    length = columns.extent
    if not isinstance(length, int) or length not in INTERLEAVED or not columns.vector:
        return None
    if length > most_copies(nest.body) or (lowest(rows.extent) or 0) < LANES:
        return None
    found = [*accesses(nest.body)]
    stores, loads = [[entry for entry in found if isinstance(entry, kind)] for kind in (Store, Load)]
    if len(stores) + len(loads) < len(found) or not loads:
        return None
    if not all([_is_whole(store, rows.index, columns.index, length) for store in stores]):
        return None
    if not all([_is_along(load, rows.index, columns.index) for load in loads]):
        return None
    body = [entry for place in range(length) for entry in fresh_copy(nest.body, indices={columns.index: place})[0]]
    return nested([*outer, replace(rows, vector=True)], tuple(body))


def _is_whole(store: Access, rows: LoopIndex, columns: LoopIndex, length: int) -> bool:
    """Whether a store writes every element of rows that follow each other in memory."""
    address = store.address
    is_affine = not (address.terms or rows.occurs_in(address.base) or columns.occurs_in(address.base))
    is_plain = isinstance(store, Store) and store.combine is None and store.valid is None
    return is_affine and is_plain and (address.step(rows), address.step(columns)) == (length, 1)


def _is_along(load: Access, rows: LoopIndex, columns: LoopIndex) -> bool:
    """Whether a load moves by an element from row to row, or not at all and is the same for all columns."""
    address = load.address
    if address.terms or rows.occurs_in(address.base):
        return False
    return address.step(rows) == 1 and address.step(columns) != 1 or address.step(rows) == 0
