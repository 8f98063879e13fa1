"""Software prefetch: rows that no processor foresees are requested while it works on others.

* A loop of long functions asks for what it reads some lines later: a processor that computes them looks no further
  than the next few elements.
* A kernel of rows reads a row from memory in its first pass and then computes on it. So the last pass, which works on
  what is in the caches, asks for the row of the following iteration.
* Where rows are found by numbers in memory, the number is loaded once more, as it will be some iterations later, and
  the loop over the row asks for that row.
* A tile of columns goes from row to row of a matrix; each asks for one some rows later.
* Short rows that lie apart, such as those of which a panel is packed, end before a processor reads ahead: each asks
  for a later one.
* A reduction over rows that lie apart, as in a sum over the first and the last axis of three, asks for later rows.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel gather(in rows: i64[50], in x: f32[450], out y: f32[N]):
...   symbol N
...   for i < 50:
...     v0 = rows[i]
...     for j < N vector lanes 8 masked 8:
...       v1 = x[j + N*v0]
...       y[N*i + j] = v1
... ''')
>>> print("\\n".join(print_kernel(with_prefetches(kernel, GENERIC)).splitlines()[3:]))
    v0 = rows[(min(i + 4, 49))]
    v1 = rows[i]
    for j < N vector lanes 8 masked 8:
      v2 = x[j + N*v1]
      y[N*i + j] = v2
      prefetch x[j + N*v0]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from nervure.kernel.ir import (
    LANES,
    Access,
    Address,
    Body,
    Definition,
    For,
    Kernel,
    Load,
    Prefetch,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import Rewrite, fresh_copy
from nervure.kernel.schedule.reduce_across_rows import parts_of
from nervure.kernel.schedule.reduction_strategy import is_read_in_place
from nervure.kernel.schedule.vector_width import is_light
from nervure.kernel.tuning import (
    PREFETCH_DISTANCE,
    PREFETCHED_ADDRESS,
    PREFETCHED_ROW,
    ROWS_AHEAD,
    ROWS_AHEAD_BY_NUMBER,
    ROWS_APART_DISTANCE,
    SHORT_ROW,
)
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_min, highest, index_symbols, less_equal

Rows = TypeVar("Rows", bound=For | Reduce)


def with_prefetches(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with prefetches; all of its loops have their final form."""
    return replace(kernel, body=_Prefetching().block(kernel.body))


class _Prefetching(Rewrite):
    def __init__(self) -> None:
        super().__init__()
        self._around: list[LoopIndex] = []  # the loops around

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        if loop.tile is not None:
            loop = _rows_of_tile(loop)
        elif loop.vector:
            loop = _further(loop)
        else:
            loop = _short_rows(_gathered_row(_next_row(loop)))
        self._around.append(loop.index)
        out.append(self.rebuilt(loop))
        self._around.pop()

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        out.append(self.rebuilt(_rows_apart(loop, self._around)))


def _is_vector_loop(statement: Statement) -> bool:
    """Whether a statement is a loop that is built of vectors."""
    return isinstance(statement, For) and statement.widths is not None and not statement.unrolled


def _with(loop: Rows, prefetches: Iterable[Prefetch]) -> Rows:
    """Adds ``prefetches`` to each iteration of a loop, each once."""
    return replace(loop, body=(*loop.body, *{(entry.buffer, entry.address): entry for entry in prefetches}.values()))


def _later(load: Load, distance: DimLike) -> Prefetch:
    """Prefetches the element some distance behind a loaded one."""
    return Prefetch(load.buffer, replace(load.address, base=load.address.base + distance))


# -- along a row -----------------------------------------------------------------------------------------------


def _further(loop: For) -> For:
    """Adds prefetches, some lines ahead, to a loop of long functions."""
    if not loop.parallel or not _is_vector_loop(loop) or is_light(loop.body, loop.index):
        return loop
    loads = [entry for entry in loop.body if isinstance(entry, Load) and entry.address.step(loop.index) == 1]
    return _with(loop, [_later(load, PREFETCH_DISTANCE // load.buffer.dtype.itemsize)
                        for load in loads if not load.address.terms])


# -- the next row --------------------------------------------------------------------------------------------------


def _next_row(loop: For) -> For:
    """Lets the last pass of a loop over rows prefetch the rows that the passes of the next iteration read."""
    if not loop.body:
        return loop
    *passes, last = loop.body
    results: Body = ()
    while passes and isinstance(last, Store):  # stores of one number a row
        results = (last, *results)
        *passes, last = passes
    if not passes or not isinstance(last, For) or not _is_vector_loop(last):
        return loop
    found = []
    for row in [*passes, last]:
        for load, index in _rows_of(row, last):
            load = load.substitute({index: last.index.dim})
            step = load.address.step(loop.index)
            if step != 0 and load.buffer.role == "in" and _stays_in_cache(last, load):
                found.append(_later(load, step))
    return replace(loop, body=(*passes, _with(last, found), *results)) if found else loop


def _rows_of(row: Statement, last: For) -> Iterator[tuple[Load, LoopIndex]]:
    """Yields the loads of rows in a pass over as many elements as the last one, and the index of the pass."""
    if not isinstance(row, Reduce | For) or len(row.indices) != 1 or (isinstance(row, For) and not row.vector):
        return
    (index, extent), = row.indices
    for statement in row.body if extent == last.extent else ():
        if isinstance(statement, Load) and not statement.address.terms and not index_symbols(statement.address.base):
            if statement.address.step(index) == 1:
                yield statement, index


def _stays_in_cache(last: For, load: Load) -> bool:
    return not isinstance(last.extent, int) or last.extent * load.buffer.dtype.itemsize <= PREFETCHED_ROW


# -- rows found by numbers -----------------------------------------------------------------------------------------


def _gathered_row(loop: For) -> For:
    """Lets a loop over rows that are found by numbers compute the place of a later one, and prefetch it."""
    if not loop.body:
        return loop
    last = loop.body[-1]
    if not isinstance(last, For) or not _is_vector_loop(last):
        return loop
    defined = {entry.result: entry for entry in (*loop.body, *last.body) if isinstance(entry, Definition)}
    needed: dict[Statement, None] = {}
    rows = []
    for entry in last.body:
        if isinstance(entry, Access) and entry.address.terms and entry.address.step(last.index) == 1:
            makers = _makers(entry.address, defined, last.index)
            needed.update(dict.fromkeys(makers))
            rows += [Prefetch(entry.buffer, entry.address)] if makers else []
    if not rows or len(needed) > PREFETCHED_ADDRESS:
        return loop
    order = [entry for entry in defined.values() if entry in needed]
    later = dim_min(loop.index.dim + ROWS_AHEAD_BY_NUMBER, loop.extent - 1)
    body, _ = fresh_copy([*order, *rows], (), {loop.index: later})
    ahead, asked = body[:len(order)], body[len(order):]
    last = replace(last, body=(*last.body, *asked, *_added_rows(loop, last)))
    return replace(loop, body=(*ahead, *loop.body[:-1], last))


def _added_rows(loop: For, last: For) -> list[Prefetch]:
    """Returns prefetches for the rows that are added up, which may be pieces of longer ones."""
    if not any([isinstance(entry, Store) and entry.combine for entry in last.body]):
        return []
    loads = [entry for entry in last.body if isinstance(entry, Load) and not entry.address.terms
             and entry.address.step(last.index) == 1 and entry.buffer.role == "in"]
    return [_later(load, load.address.step(loop.index) * ROWS_AHEAD_BY_NUMBER) for load in loads
            if load.address.step(loop.index) != 0]


def _makers(address: Address, defined: dict[Variable, Definition], inner: LoopIndex) -> list[Statement]:
    """Returns the statements that compute the place of a row. There are none if one of them is computed anew at each
    element of the row, or reads memory that the kernel may still write.
    """
    found: dict[Statement, None] = {}
    waiting: list[Scalar] = list(address.operands)
    while waiting:
        x = waiting.pop()
        entry = defined.get(x) if isinstance(x, Variable) else None
        if entry is None or entry in found:
            continue
        is_written = isinstance(entry, Load) and entry.buffer.role != "in"
        if entry.mentions(inner) or is_written or len(found) > PREFETCHED_ADDRESS:
            return []
        found[entry] = None
        waiting += entry.operands
    return list(found)


# -- short rows that lie apart ---------------------------------------------------------------------------------------


def _short_rows(loop: For) -> For:
    """Lets a loop that copies short rows which lie apart, as those of a panel that is packed, ask for a later one.

    Where several rows are read at once, as around each place of a window, enough of memory is under way.
    """
    row = loop.body[0] if len(loop.body) == 1 else None
    if not isinstance(row, For) or not _is_vector_loop(row) or not is_light(row.body, row.index):
        return loop
    loads = [entry for entry in row.body if isinstance(entry, Load)]
    if len(loads) != 1 or loads[0].address.terms or loads[0].address.step(row.index) != 1:
        return loop
    load = loads[0]
    step, length = load.address.step(loop.index), highest(row.extent)
    if length is None or length * load.buffer.dtype.itemsize > SHORT_ROW:
        return loop
    if not isinstance(step, int) or step <= length:
        return loop
    return replace(loop, body=(_with(row, [_later(load, step * ROWS_AHEAD)]),))


# -- rows that are reduced together ----------------------------------------------------------------------------------


def _rows_apart(loop: Reduce, around: Sequence[LoopIndex]) -> Reduce:
    """Adds prefetches for later rows to a reduction over rows that are not consecutive. If their values wait, and rows
    are asked for only a few ahead, the last ones ask for the first ones of the next reduction, which come while this
    one is combined.
    """
    if len(loop.indices) == 1 or loop.strategy is None or loop.strategy.name != "parts":
        return loop
    (rows, count), (columns, length) = loop.indices[-2:]
    loads = [entry for entry in loop.body if isinstance(entry, Load) and entry.address.step(columns) == 1
             and entry.address.step(rows) not in (0, length)]
    goes_on = len(loop.indices) == 2 and bool(around) and not is_read_in_place(loop)
    later = []
    for load in loads:
        ahead = _rows_between(length, load)
        row = rows.dim + ahead
        places = {rows: row % count, around[-1]: around[-1].dim + row // count} \
            if goes_on and less_equal(2 * ahead, count) else {rows: row}
        later.append(Prefetch(load.buffer, load.address.substitute(places)))
    return _with(loop, later)


def _rows_between(length: DimLike, load: Load) -> int:
    """Returns the distance of a prefetch, in rows of a length."""
    return max(ROWS_APART_DISTANCE // (length * load.buffer.dtype.itemsize), 1) if isinstance(length, int) else 1


# -- tiles of columns ----------------------------------------------------------------------------------------------


def _rows_of_tile(loop: For) -> For:
    """Adds prefetches for later rows to the parts of a loop in tiles of columns."""
    parts = [_across(part, loop.index) if isinstance(part, Reduce | For) else part for part in parts_of(loop.body)]
    return replace(loop, body=tuple([entry for part in parts
                                     for entry in (part if isinstance(part, tuple) else (part,))]))


def _across(rows: Rows, column: LoopIndex) -> Rows:
    """Adds prefetches of later rows to ``rows``: a block of lanes ahead in a reduction over one index, else fewer."""
    index, _ = rows.indices[-1]
    ahead = LANES if isinstance(rows, Reduce) and len(rows.indices) == 1 else ROWS_AHEAD
    loads = [entry for entry in rows.body if isinstance(entry, Load) and entry.address.step(column) == 1]
    return _with(rows, [_later(load, load.address.step(index) * ahead) for load in loads
                        if load.address.step(index) != 0])
