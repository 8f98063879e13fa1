"""Columns of a product that lie in lines of memory: those of a line follow each other, between lines there are gaps.

A window sees the places of an image row by row. Where the next row begins a fixed step further on, all rows are one
stretch of memory, and columns of one product: what is computed in the gaps, from elements that rows have beside their
places, is left out when results are stored. Where gaps would cost more than that is worth, the columns are packed one
line behind the other.

>>> from nervure.kernel.ir import For
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.routines import sides_of
>>> from nervure.support.machine import GENERIC
>>> kernel = parse_kernel('''
... kernel product(in x: f32[12], in y: f32[160], out z: f32[192]):
...   for i < 4 parallel:
...     for j < 6:
...       for k < 8 vector:
...         v0 = contract over l < 3:
...           v1 = x[3*i + l]
...           v2 = y[k + 10*j + 40*l]
...           give v1, v2
...         z[48*i + 8*j + k] = v0
... ''')
>>> line = kernel.body[0].body[0]
>>> column = line.body[0]
>>> left, right = sides_of(column.body[0], column.index)
>>> lines = lines_of(line, column, left, right, GENERIC)
>>> lines.apart, lines.extent
(10, 58)
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.kernel.ir import For, Load
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import Side, is_affine
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, dim_max, dim_min, less_equal, product


class Lines(NamedTuple):
    """``line_count`` lines of ``length`` columns each, of which one begins as many columns behind another as they are
    ``apart``. The loop over them has the index ``outer``, that along them ``column``.
    """

    outer: LoopIndex
    line_count: DimLike
    column: LoopIndex
    length: DimLike
    apart: DimLike

    def are_better_packed(self, rows: DimLike, machine: Machine) -> bool:
        """Whether ``rows`` take longer to multiply what is in the gaps than it takes to pack the lines."""
        if not all([isinstance(extent, int) for extent in (rows, self.line_count, self.length)]):
            return False
        assert isinstance(rows, int) and isinstance(self.extent, int) and isinstance(self.length, int)
        computed = -(-self.extent // machine.line_elements) * machine.line_elements
        wanted = self.line_count * self.length
        products = machine.products
        packing = products.gap_packing if rows <= products.table_rows else 0  # else they are packed with the gaps
        is_short = self.length <= machine.strip_columns
        return is_short and rows >= products.least_rows and computed * rows > wanted * (rows + packing)

    @property
    def extent(self) -> DimLike:
        """The columns from the first to the last, those in the gaps included, if there is any."""
        return (self.line_count - 1) * self.apart + self.length

    @property
    def is_any(self) -> DimLike:
        """1 if there is any column, else 0."""
        unknown = [extent for extent in (self.line_count, self.length) if less_equal(1, extent) is not True]
        return product([dim_min(extent, 1) for extent in unknown])

    def in_block(self, first: DimLike, columns: DimLike) -> tuple[DimLike, DimLike]:
        """Returns the first line of a block that has ``columns`` from the first one on, and how many lines it has, in
        part at least.
        """
        if columns == self.extent:
            return 0, self.line_count
        return first // self.apart, (first % self.apart + columns + (self.apart - 1)) // self.apart

    def part(self, number: DimLike, first: DimLike, columns: DimLike) -> tuple[DimLike, DimLike, DimLike]:
        """Returns the part of a line that a block of ``columns`` from ``first`` on has.

        For the line of this ``number`` in the block: its beginning there, the columns of it that came before, and those
        that the block has.
        """
        if columns == self.extent:
            return number * self.apart, 0, self.length
        start = number * self.apart - first % self.apart
        before = dim_max(-start, 0)
        return dim_max(start, 0), before, dim_max(dim_min(self.length, columns - start) - before, 0)


def lines_of(outer: For, columns: For, left: Side, right: Side, machine: Machine) -> Lines | None:
    """Returns the lines that two loops go through, ``columns`` along each.

    None where they are not columns of one product, or so far apart that it would compute more in the gaps than it
    saves.
    """
    loads = [entry for entry in right.statements if isinstance(entry, Load)]
    others = [entry for entry in right.statements if not isinstance(entry, Load)]
    steps = {load.address.step(outer.index) for load in loads}
    if left.mentions(outer.index) or any([entry.mentions(outer.index) or entry.mentions(columns.index)
                                          for entry in others]):
        return None
    if len(steps) != 1 or not all([is_affine(load, outer.index, columns.index)
                                   and load.address.step(columns.index) == 1 for load in loads]):
        return None
    apart = steps.pop()
    gap = apart - columns.extent
    most = columns.extent // 2 if isinstance(columns.extent, int) else 0
    if less_equal(0, gap) is not True or less_equal(gap, max(machine.strip_columns // 2, most)) is not True:
        return None
    return Lines(outer.index, outer.extent, columns.index, columns.extent, apart)
