"""Tiles of columns: a vector loop around reductions goes through the rows, a tile of its columns together.

:mod:`nervure.kernel.schedule.reduce_across_rows` says which loops, and why. The parts of the body run one after the
other for the whole tile, and what one leaves for a later one waits in memory. A reduction has 64 rows of accumulators:
each row of what is reduced is added to one of them, and at the end of a block they are combined by halves. They lie one
behind the other, each with room for whole vectors.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel differences(in x: f32[16000], out y: f32[16000]):
...   for i < 40 vector tile 4096 lanes 32, 32:
...     v0 = reduce add over j < 400:
...       v1 = x[i + 40*j]
...       give v1
...     for j < 400:
...       v2 = x[i + 40*j]
...       v3 = subtract(v2, v0)
...       y[i + 40*j] = v3
... ''')
>>> print("\\n".join(print_kernel(with_column_tiles(kernel, GENERIC)).splitlines()[1:10]))
  for i < 40 by j <= 4096:
    for k < 512*((j + 7)//8) vector lanes 8 masked 8:
      rows0[k] = 0.0_f32
    for k < 400:
      for l < j vector lanes 32 masked 8:
        v0 = x[i + 40*k + l]
        rows0[l + (8*((j + 7)//8)*(k % 64))] add = v0
    for k < 256*((j + 7)//8) vector lanes 8 masked 8:
      v1 = rows0[k + (256*((j + 7)//8))]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.kernel.ir import (
    LANES,
    Address,
    Body,
    Buffer,
    For,
    Kernel,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Strip,
    Variable,
    Widths,
    substituted,
    used,
)
from nervure.kernel.rewriting import MemoryRewrite, Rewrite
from nervure.kernel.schedule.accumulators import Accumulators
from nervure.kernel.schedule.group_totals import group_sizes
from nervure.kernel.schedule.reduce_across_rows import Part, bytes_of, parts_of
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.kernel.tuning import ACCUMULATORS_IN_USE
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, highest


def with_column_tiles(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel whose loops in tiles of columns are loops over tiles, with loops over columns inside."""
    return _Tiles(kernel, register_lanes(kernel, machine)).rewritten()


class _Tiles(MemoryRewrite):
    """The walk over a kernel, and the layout: a row has an element for each column of a tile. All loops over tiles have
    the same indices, and share the memory of accumulators.
    """

    def __init__(self, kernel: Kernel, lanes: int) -> None:
        super().__init__(kernel)
        self._column, self._columns, self.place = self.index(), self.index(), self.index()
        self._lanes = lanes
        self._distance = (self._columns.dim + (lanes - 1)) // lanes * lanes  # from row to row of accumulators
        self._most = 0  # columns of a tile
        self._waiting: dict[Variable, Buffer] = {}  # what parts of a body leave for later ones

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        if loop.tile is None:
            super().for_loop(loop, out)
            return
        body = substituted(self.block(loop.body), {loop.index: loop.index.dim + self._column.dim})
        most, parts = highest(loop.extent), parts_of(body)
        most = loop.tile.columns if most is None else min(most, loop.tile.columns)
        self._most = -(-most // self._lanes) * self._lanes
        self._waiting = {x: self.memory("waiting", x.dtype, self._most * rows) for x, rows in _crossing(parts)}
        made: list[Statement] = []
        for part, lanes in zip(parts, loop.tile.lanes, strict=True):
            if isinstance(part, Reduce):
                totals = [self._waiting[result] for result in part.results]
                rows = self.shared("rows", part.results, LANES * self._most)
                made += Accumulators(part, rows, totals, self, lanes).reduced()
            elif isinstance(part, For):
                made.append(replace(part, body=self.along(part.body, lanes), vector=False))
            else:
                made += self.along((*part, *self._kept(part)), lanes)
        strip = Strip(self._columns, loop.tile.columns)
        out.append(replace(loop, body=tuple(made), vector=False, tile=None, strip=strip))

    def _kept(self, part: Body) -> list[Statement]:
        """Keeps what a part defines and later ones read."""
        return [Store(self._waiting[x], self.here(0), x) for entry in part for x in entry.results if x in self._waiting]

    # -- the layout --------------------------------------------------------------------------------------

    is_private = False

    def here(self, row: DimLike) -> Address:
        return Address(self._distance * row, ((self._column, 1),))

    def along(self, statements: Body, lanes: int) -> Body:
        """Statements for each column of the tile, which read what waits for them."""
        own = {variable for entry in statements for variable in entry.results}
        wanted = [x for x in dict.fromkeys(used(statements)) if x in self._waiting and x not in own]
        loads = [Load(Variable(x.dtype), self._waiting[x], self.here(0)) for x in wanted]
        reading = Rewrite()
        reading.replaced.update(zip(wanted, [load.result for load in loads], strict=True))
        body, widths = (*loads, *reading.block(statements)), Widths((lanes,), self._lanes)
        return (For(self._column, self._columns.dim, body, vector=True, widths=widths),)

    def each(self, body: Iterable[Statement]) -> Body:
        """Returns a loop over the columns, and over the lanes beside them that vectors have."""
        widths = Widths((self._lanes,), self._lanes)
        return (For(self._column, self._distance, tuple(body), vector=True, widths=widths),)

    def flat(self, rows: DimLike, body: Iterable[Statement]) -> For:
        widths = Widths((self._lanes,), self._lanes)
        return For(self.place, self._distance * rows, tuple(body), vector=True, widths=widths)

    def distance(self, rows: int) -> DimLike:
        return self._distance * rows

    def rows_in_use(self, reduce: Reduce) -> DimLike | None:
        share = ACCUMULATORS_IN_USE // bytes_of(reduce)
        return None if self._most * LANES <= share else share // self._columns.dim


def _crossing(parts: Sequence[Part]) -> list[tuple[Variable, int]]:
    """Returns the variables that one part defines and another one uses, and all results of reductions, with the rows of
    memory that each needs.
    """
    found: list[tuple[Variable, int]] = []
    for number, part in enumerate(parts):
        if isinstance(part, Reduce):
            found += [(x, 1 + group_sizes(part)) for x in part.results]
        if isinstance(part, tuple):
            later = {x for other in parts[number + 1:] for x in _used_by(other)}
            found += [(x, 1) for entry in part for x in entry.results if x in later]
    return found


def _used_by(part: Part) -> Sequence[Scalar]:
    if isinstance(part, Reduce):
        return [*used(part.body), *part.values]
    return used(part.body if isinstance(part, For) else part)
