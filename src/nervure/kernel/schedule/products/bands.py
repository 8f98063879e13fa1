"""Bands: lines of places whose windows reach above or below the data by as much, and so have the same points.

At the first and the last lines of an image a side that is 0 outside of its data has elements at some rows of the window
alone. Their points are a range; a product goes through each of these lines by itself, with those points, and through
all lines between them at once, with all points.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.routines import Side
>>> from nervure.kernel.schedule.products.edges import without_condition
>>> kernel = parse_kernel('''
... kernel window(in x: f32[25088], out z: f32[1]):
...   for i < 14:
...     for j < 14:
...       for k < 1152:
...         v0 = index i + k//384 - 1
...         v1 = less_equal(0_i64, v0)
...         v2 = index 13
...         v3 = less_equal(v0, v2)
...         v4 = bitwise_and(v1, v3)
...         v5 = x[k % 128 + 1792*i + 128*j + 1792*(k//384) + 128*(k//128 % 3) - 1792] if v4 else 0.0_f32
...         z[0] add = v5
... ''')
>>> line = kernel.body[0]
>>> place, point = line.body[0], line.body[0].body[0].index
>>> *side, _ = line.body[0].body[0].body
>>> bare, margins = without_condition(Side(tuple(side), side[-1].result))
>>> bands = bands_of(bare, margins, [line, place], point, 1152, LoopIndex(5))
>>> bands.lines, bands.length, bands.above, bands.below, bands.total
(14, 14, 1, 1, 3)
>>> [bands.begin(b) for b in range(4)]
[0, 1, 13, 14]
>>> [bands.range_of(b, 512, 512) for b in range(3)]
[(0, 512), (0, 512), (0, 256)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.kernel.ir import For
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.edges import Margins
from nervure.kernel.schedule.products.live_points import spans
from nervure.kernel.schedule.products.places import parts_of, place_of
from nervure.kernel.schedule.products.points import divisors, in_runs
from nervure.kernel.schedule.products.turned import with_places
from nervure.kernel.tuning import ROW_MULTIPLE
from nervure.types.dim import DimLike, affine, dim_max, dim_min, product, simplify


class Bands(NamedTuple):
    """Rows of a product that are places of images, each of so many ``lines`` of a ``length``. Of the lines the first,
    ``above``, and the last, ``below``, see less than the whole window: the one at ``line`` so many ``rows`` of it from
    the ``first`` on, each of which has as many points as a ``run``.
    """

    lines: int
    length: int
    above: int
    below: int
    line: LoopIndex
    first: DimLike
    rows: DimLike
    run: int

    @property
    def total(self) -> int:
        """How many bands an image has."""
        return self.above + 1 + self.below

    def begin(self, band: DimLike) -> DimLike:
        """The first line of a band, or the end of the one before it: all but one are single lines."""
        return band + (self.lines - self.total) * dim_min(dim_max(band - self.above, 0), 1)

    def in_task(self, start: DimLike, rows: DimLike, image: DimLike, band: DimLike) -> tuple[DimLike, DimLike, DimLike]:
        """Of a task that has so many rows from the start on, whole lines: the first row, counted from there, and how
        many there are of a band of an image, of those that the task meets; and how many these are.
        """
        above, lines = start // self.length, rows // self.length
        first, last = above // self.lines, (above + lines - 1) // self.lines
        before = (first + image) * self.lines - above
        begin = dim_max(before + self.begin(band), 0)
        end = dim_min(before + self.begin(band + 1), lines)
        return begin * self.length, dim_max(end - begin, 0) * self.length, last - first + 1

    def range_of(self, band: DimLike, start: DimLike, points: DimLike) -> tuple[DimLike, DimLike]:
        """Of a block of so many points the first that is live in a band, counted from its start, and how many are."""
        at = {self.line: self.begin(band)}
        first, rows = [substitute_indices(entry, at) for entry in (self.first, self.rows)]
        begin, end = dim_max(first * self.run - start, 0), dim_min((first + rows) * self.run - start, points)
        return begin, dim_max(end - begin, 0)


def bands_of(side: Side, margins: Margins, loops: Sequence[For], point: LoopIndex, points: DimLike,
             line: LoopIndex) -> Bands | None:
    """The bands of a side that has elements where no margin is negative, at the places that loops go through; ``line``
    and the index behind it are new ones. None where margins depend on more than one of the loops, where lines have
    fewer places than a register tile has rows, where none sees the whole window, or where no tables could say what
    lies where.
    """
    over = [number for number, loop in enumerate(loops) if any([loop.index.occurs_in(margin) for margin in margins])]
    runs = {divisor for margin in margins for divisor in divisors(margin, point)}
    if len(over) != 1 or len(runs) != 1 or not isinstance(points, int):
        return None
    (number,), (run,) = over, runs
    lines, length = loops[number].extent, product([loop.extent for loop in loops[number + 1:]])
    if not (isinstance(run, int) and isinstance(lines, int) and isinstance(length, int)):
        return None
    if length < ROW_MULTIPLE or points % run:
        return None
    window, row = points // run, LoopIndex(line.number + 1)
    moved = {loops[number].index: line.dim, point: row.dim * run + point.dim}
    ranges = {point.name: (0, run - 1), line.name: (0, lines - 1), row.name: (0, window - 1)}
    found = spans([simplify(substitute_indices(margin, moved), ranges) for margin in margins], [row], [window], line)
    if found is None:
        return None
    (first,), (rows,) = found
    is_whole = [substitute_indices(rows, {line: number}) == window for number in range(lines)]
    if not any(is_whole) or not _has_places(side, loops, point, row):
        return None
    return Bands(lines, length, is_whole.index(True), is_whole[::-1].index(True), line, first, rows, run)


def _has_places(side: Side, loops: Sequence[For], point: LoopIndex, run: LoopIndex) -> bool:
    """Whether places of a side are sums of what rows and what points add, of which the latter come in runs."""
    load = with_places(side, loops).element()
    parts = None if load is None else parts_of(load.address, loops[-1].index, point)
    if parts is None:
        return False
    added = parts.added[-1]
    return affine(added, [point.name]) is not None or in_runs(place_of(added), point, run) is not None
