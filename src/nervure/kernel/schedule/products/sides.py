"""How both sides of a product are read: where they lie, by tables of their places, or from a panel that is packed.

A panel pays where a side lies across memory, far apart, or has to be computed, and where rows enough read it. Of a
right side that lasts from call to call, the whole is packed, apart from the product.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> kernel = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[3000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[60*j + k]
...         give v1, v2
...       z[50*i + j] = v0
... ''')
>>> reading = reading_of(matrices_of(kernel), ())
>>> reading.is_left_packed, reading.is_right_packed, reading.has_tables, reading.source
(False, True, False, None)
>>> reading_of(matrices_of(kernel), kernel.buffers[1:2]).source.name
'y'
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from nervure.kernel.ir import Buffer, Index
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.machine import GENERIC, Machine
from nervure.kernel.routines import FEW_ROWS, Side
from nervure.kernel.schedule.products.bands import Bands
from nervure.kernel.schedule.products.edges import Edges
from nervure.kernel.schedule.products.live_points import LivePoints
from nervure.kernel.schedule.products.matrices import Matrices
from nervure.kernel.schedule.products.places import Parts, parts_of, place_of
from nervure.kernel.schedule.products.points import in_runs
from nervure.kernel.tuning import DIRECT_BYTES, DIRECT_ROWS, MEETING_BYTES, PLACES_ROWS
from nervure.types.dim import DimLike, affine


class Reading(NamedTuple):
    """How the sides are read. ``left_parts`` and ``right_parts`` are the places of those that tables are worth for,
    ``source`` the buffer from which the whole right side is packed for all tasks, if it is.
    """

    left_parts: Parts | None
    right_parts: Parts | None
    is_left_packed: bool
    is_right_packed: bool
    source: Buffer | None

    @property
    def has_tables(self) -> bool:
        """Whether tables say where a side lies; then they say it of both."""
        return self.left_parts is not None or self.right_parts is not None

    @property
    def packs_in_tasks(self) -> bool:
        """Whether each task packs the right side for itself."""
        return self.is_right_packed and self.source is None


def reading_of(matrices: Matrices, lasting: Collection[Buffer], machine: Machine = GENERIC) -> Reading:
    """How the sides of a product are best read: the right one from a panel of its own kernel, if it follows from one of
    the ``lasting`` buffers.
    """
    left_parts, right_parts = _left_parts(matrices), _right_parts(matrices)
    is_left_packed = left_parts is None and _is_left_packed(matrices)
    is_right_packed = right_parts is None and _is_right_packed(matrices, machine)
    source = matrices.right.source(lasting) if _may_be_apart(matrices, is_right_packed) else None
    return Reading(left_parts, right_parts, is_left_packed, is_right_packed, source)


def _is_right_packed(matrices: Matrices, machine: Machine) -> bool:
    """Whether blocks of the right side are copied to where they lie close together."""
    right, rows = matrices.right, matrices.rows.extent
    if matrices.has_packed_lines or right.element(matrices.columns.index, matrices.point) is None:
        return True
    apart = right.step(matrices.point)
    if right.step(matrices.columns.index) != 1:
        return not (matrices.may_be_across and apart == 1)
    if matrices.is_of_bytes or isinstance(rows, int) and rows <= DIRECT_ROWS:
        return False  # who multiplies bytes packs them
    if _is_read_again(matrices, machine):
        return True
    return not (isinstance(apart, int) and apart * matrices.depth * matrices.dtype.itemsize <= DIRECT_BYTES)


def _is_read_again(matrices: Matrices, machine: Machine) -> bool:
    """Whether narrow strips of the right side have left the first cache when the next rows read them. They are better
    read from where rows are aligned and side by side. A smaller side is read where it lies: threads share its rows.
    """
    columns, rows, size = matrices.columns.extent, matrices.rows.extent, matrices.depth * matrices.dtype.itemsize
    is_large = not isinstance(columns, int) or columns * size > 2 * machine.first_cache
    return machine.strip <= machine.line and isinstance(rows, int) and is_large


def _is_left_packed(matrices: Matrices) -> bool:
    """Whether the left side is computed, or lies across memory: its points so far apart that they meet in the cache, or
    of bytes at all.
    """
    left, row = matrices.left, matrices.rows.index
    if isinstance(matrices.edges, Bands):
        return False  # it has no elements beyond the data
    if left.element(row, matrices.point) is None:
        return True
    apart = left.step(matrices.point)
    if matrices.is_of_bytes:
        return apart != 1
    return left.step(row) == 1 and isinstance(apart, int) and apart * matrices.dtype.itemsize % MEETING_BYTES == 0


def _may_be_apart(matrices: Matrices, is_packed: bool) -> bool:
    """Whether a panel of the whole right side has a fixed size, and is worth it."""
    extents = [matrices.columns.extent, matrices.points, *[loop.extent for loop in matrices.right_batch]]
    is_better_packed = is_packed or matrices.right.step(matrices.columns.index) != 1
    return all([isinstance(extent, int) for extent in extents]) and is_better_packed and not matrices.has_packed_lines


# -- places ------------------------------------------------------------------------------------------------------


def _left_parts(matrices: Matrices) -> Parts | None:
    """The places of the left side, where tables are to say what they are: its points follow each other in runs, of
    a turned product a fixed step apart.
    """
    if isinstance(matrices.edges, Edges | LivePoints):
        return matrices.edges.parts
    row, point, load = matrices.rows.index, matrices.point, matrices.left.element()
    if isinstance(matrices.edges, Bands) and load is not None:
        return parts_of(load.address, row, point) if matrices.left.element(row, point) is None else None
    parts = _parts(matrices, matrices.left, row, point)
    step = None if parts is None else _step(matrices, parts.added[-1])
    return parts if step == 1 or matrices.is_turned and step is not None else None


def _right_parts(matrices: Matrices) -> Parts | None:
    """Those of the right side, whose columns follow each other. To more rows it is worth to pack it, unless the product
    is turned.
    """
    right, rows, column = matrices.right, matrices.rows.extent, matrices.columns.index
    if right.element(column) is None or right.step(column) != 1 or matrices.has_packed_lines:
        return None
    parts = _parts(matrices, right, matrices.point)
    is_worth = matrices.is_turned or isinstance(rows, int) and rows <= PLACES_ROWS
    return parts if is_worth and parts is not None and _step(matrices, parts.added[-1]) is not None else None


def _parts(matrices: Matrices, side: Side, *indices: LoopIndex) -> Parts | None:
    """The places of a side that is but read, where they are not affine; a few rows are worth no tables."""
    rows, load = matrices.rows.extent, side.element()
    is_few = isinstance(rows, int) and rows <= FEW_ROWS
    if load is None or side.element(*indices) is not None or matrices.is_of_bytes or is_few:
        return None
    return parts_of(load.address, *indices)


def _step(matrices: Matrices, place: DimLike) -> DimLike | None:
    """How far it is from point to point in each run of them; None if there are no such runs."""
    side = place_of(place)
    runs = in_runs(side, matrices.point, matrices.new.run)
    (index,), name = (side if runs is None else runs.side).statements, matrices.point.name
    assert isinstance(index, Index)
    found = affine(index.expression, [name])
    return None if found is None else found[0][name]
