"""Epilogues: what is done with the results of a product, which wait in a tile while they are in the cache.

Where results are but stored, in rows, there is no tile: a product stores them, and adds to them what follows from more
blocks of points. Nor is there one where what is made of them takes their place: micro-kernels ask for the lines of that
memory while they multiply.

>>> from nervure.kernel.ir import Kernel
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> from nervure.support.machine import GENERIC
>>> kernel = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[3000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[50*k + j]
...         give v1, v2
...       v3 = negative(v0)
...       z[50*i + j] = v3
... ''')
>>> matrices = matrices_of(kernel, GENERIC._replace(threads=1))
>>> results = results_of(blocking_of(matrices, reading_of(matrices, ())))
>>> print(print_kernel(Kernel("rest", (*kernel.buffers[2:], results.tile), results.epilogue(), ())), end="")
kernel rest(out z: f32[5000], scratch tile: f32[5000]):
  for i < 100:
    for j < 50 vector:
      v0 = tile[50*i + j]
      v1 = negative(v0)
      z[50*i + j] = v1

Rows of 50 elements are no whole lines of memory; with 64 the second line would be ``v0 = z[64*i + j]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.kernel.ir import Address, Body, Buffer, For, Literal, Load, Scalar, Store, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.boxes import Walk
from nervure.support.replacing import replace
from nervure.types.dim import DimLike


class Results(NamedTuple):
    """The memory of the results of a task.

    It is a ``tile``, whose rows are as wide as a task, if there is one, else a place in the kernel's own result. A
    product with swapped operands has a ``transposed`` tile beside it. The sums of a ``group`` of blocks of k wait like
    those in a tile.
    """

    blocking: Blocking
    tile: Buffer | None
    transposed: Buffer | None
    group: Buffer

    def of_later_groups(self) -> Results:
        """Returns the memory of the sums of a group of blocks behind the first one."""
        return self._replace(tile=self.group, transposed=None)

    def cleared(self) -> For:
        """Returns the loop that makes all results of a task 0."""
        return self._over_tile((self.stored(Literal(0.0, self.group.dtype), None, self.blocking.moved),))

    def added(self, results: Results) -> For:
        """Returns the loop that adds the tile to other ``results`` of the same task."""
        assert self.tile is not None
        load = Load(Variable(self.tile.dtype), self.tile, self._place)
        return self._over_tile((load, results.stored(load.result, "add", self.blocking.moved)))

    def _over_tile(self, body: Body) -> For:
        return For(self.blocking.matrices.m.number, self.blocking.rows, (self.blocking.over_columns(body),))

    def stored(self, result: Scalar, combine: str | None, moved: Mapping[LoopIndex, DimLike]) -> Store:
        """Returns the store of a ``result``, added to another one if ``combine`` says so, where indices are ``moved``.
        """
        matrices = self.blocking.matrices
        if self.tile is None:
            assert matrices.place is not None
            return replace(matrices.place, value=result, combine=combine).substitute(moved)
        row = matrices.m.number
        inside = moved[row] - self.blocking.moved[row] + row.dim
        return Store(self.tile, self._place.substitute({row: inside}), result, combine)

    def epilogue(self) -> Body:
        """Returns the loops over the results of a task, and all that is computed of them.

        They go over rows and columns, of a transposed product over columns and rows, and over those loops of their
        grids that results tell apart.
        """
        matrices, load = self.blocking.matrices, self._loaded
        if matrices.is_stored:
            return ()
        blocking = self.blocking
        rows, rest = matrices.m.merged(matrices.rest)
        down = rows.walk(rest, blocking.first(rows), blocking.rows, blocking.height)
        if matrices.lines is not None:
            return (self._in_lines(load, down, rest),)
        columns, rest = matrices.n.merged(rest)
        across = columns.walk(rest, blocking.first(columns), blocking.columns, blocking.width)
        transpose: Body = ()
        if self.transposed is not None:
            place = Address(0, ((matrices.n.number, blocking.height), (matrices.m.number, 1)))
            transpose = (self._transpose(load, self.transposed, place),)
            load = replace(load, buffer=self.transposed, address=place)
        place = load.address.substitute({matrices.m.number: down.position, matrices.n.number: across.position})
        at = {**blocking.moved, **down.at, **across.at}
        body = (replace(load, address=place), *[entry.substitute(at) for entry in rest])
        inner, outer = (down, across) if self.transposed is not None else (across, down)
        loop = For(*outer.inner, (For(*inner.inner, body, vector=True),))
        return (*transpose, *outer.around(inner.around((loop,))))

    def _in_lines(self, load: Load, down: Walk, rest: Body) -> For:
        """Returns the ``rest`` line by line for the rows that it goes ``down``; what gaps hold is left out."""
        matrices, line = self.blocking.matrices, self.blocking.line()
        row, column = matrices.m.number, matrices.n.number
        place = load.address.substitute({row: down.position, column: line.start + column.dim})
        at = {**self.blocking.moved, **line.moved, **down.at}
        body = (replace(load, address=place), *[entry.substitute(at) for entry in rest])
        along = For(column, line.columns, body, vector=True)
        return For(matrices.new.line, line.lines, down.around((For(*down.inner, (along,)),)))

    def _transpose(self, load: Load, target: Buffer, place: Address) -> For:
        """Returns the loop that stores the results of a transposed product as they lie in memory."""
        loaded = replace(load, result=Variable(load.result.dtype))
        over_rows = For(self.blocking.matrices.m.number, self.blocking.rows,
                        (loaded, Store(target, place, loaded.result)), vector=True)
        return For(self.blocking.matrices.n.number, self.blocking.columns, (over_rows,), routine="transpose")

    @property
    def _loaded(self) -> Load:
        """The load of a result of a task."""
        matrices = self.blocking.matrices
        if self.tile is not None:
            return Load(matrices.contract.result, self.tile, self._place)
        assert matrices.place is not None
        place = matrices.place.substitute(self.blocking.moved)
        return Load(matrices.contract.result, place.buffer, place.address)

    @property
    def _place(self) -> Address:
        """An element of the tile."""
        matrices = self.blocking.matrices
        return Address(0, ((matrices.m.number, self.blocking.width), (matrices.n.number, 1)))


def results_of(blocking: Blocking) -> Results:
    """Returns the memory of the results of tasks of these blocks."""
    matrices = blocking.matrices
    tile, transposed, group = [Buffer(name, matrices.dtype, blocking.height * blocking.width, "scratch")
                               for name in ("tile", "transposed", "group")]
    return Results(blocking, tile if matrices.place is None else None, transposed if matrices.is_transposed else None,
                   group)
