"""Reading the operands of a product: where they lie, by offset tables, or from a panel that is packed.

A panel pays where an operand lies across memory, far apart, or has to be computed, and where rows enough read it. Of a
right operand that lasts from call to call, the whole is packed, apart from the product.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.support.machine import GENERIC
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
>>> matrices = matrices_of(kernel, GENERIC)
>>> reading = reading_of(matrices, ())
>>> reading.is_left_packed, reading.is_right_packed, reading.has_tables, reading.source
(False, True, False, None)
>>> reading_of(matrices, kernel.buffers[1:2]).source.name
'y'
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK, Buffer
from nervure.kernel.routines import FEW_ROWS, Side
from nervure.kernel.schedule.products.boxes import Grid, element, moving
from nervure.kernel.schedule.products.matrices import Matrices
from nervure.kernel.schedule.products.offsets import Offsets, offsets_of
from nervure.types.dim import DimLike, affine, product


class Reading(NamedTuple):
    """The way in which operands are read.

    ``left_offsets`` and ``right_offsets`` are those of operands that are worth tables, ``source`` the buffer from which
    the whole right operand is packed for all tasks, if it is.
    """

    left_offsets: Offsets | None
    right_offsets: Offsets | None
    is_left_packed: bool
    is_right_packed: bool
    source: Buffer | None

    @property
    def has_tables(self) -> bool:
        """Whether tables say where an operand lies; then they say it of both."""
        return self.left_offsets is not None or self.right_offsets is not None

    @property
    def packs_in_tasks(self) -> bool:
        """Whether each task packs the right operand for itself."""
        return self.is_right_packed and self.source is None


def reading_of(matrices: Matrices, lasting: Collection[Buffer]) -> Reading:
    """Returns the best way to read the operands of a product.

    The right one is read from a panel of its own kernel, if it follows from one of the ``lasting`` buffers.
    """
    left_offsets, right_offsets = _left_offsets(matrices), _right_offsets(matrices)
    is_left_packed = left_offsets is None and _is_left_packed(matrices)
    is_right_packed = right_offsets is None and _is_right_packed(matrices)
    may_be_apart = right_offsets is None and _may_be_apart(matrices, is_right_packed)
    source = matrices.right.source(lasting) if may_be_apart else None
    return Reading(left_offsets, right_offsets, is_left_packed, is_right_packed or source is not None, source)


def _is_right_packed(matrices: Matrices) -> bool:
    """Whether blocks of the right operand are copied to where they lie close together."""
    right, rows, machine = matrices.right, matrices.m.extent, matrices.machine
    if matrices.right_element is None:
        return True
    apart = right.step(matrices.k.number)
    if right.step(matrices.n.number) != 1:
        return not (matrices.may_be_across and apart == 1)
    if matrices.is_of_bytes:
        return False  # their micro-kernels pack the right operand themselves
    if isinstance(rows, int) and rows <= machine.products.direct_rows:
        return matrices.depth == CONTRACT_BLOCK and _meets_in_cache(matrices, machine.products.least_rows - 1)
    if _is_read_again(matrices) or _meets_in_cache(matrices, machine.products.direct_rows):
        return True
    return not (isinstance(apart, int) and apart * matrices.depth * matrices.dtype.itemsize <= machine.own_cache)


def _meets_in_cache(matrices: Matrices, few: int) -> bool:
    """Whether lines of the right operand meet in the first cache from k to k, and more than a ``few`` rows read them.

    Each tile of rows then reads them from a further cache.
    """
    right, rows = matrices.right, matrices.m.extent
    if matrices.is_of_bytes or matrices.right_element is None or not isinstance(rows, int) or rows <= few:
        return False
    apart = right.step(matrices.k.number)
    return (right.step(matrices.n.number) == 1 and isinstance(apart, int)
            and apart * matrices.dtype.itemsize % matrices.machine.conflict_distance == 0)


def _is_read_again(matrices: Matrices) -> bool:
    """Whether narrow strips of the right operand have left the first cache when the next rows read them. They are
    better read from where rows are aligned and side by side. A smaller one is read where it lies: threads share its
    rows.
    """
    columns, rows, size = matrices.n.extent, matrices.m.extent, matrices.depth * matrices.dtype.itemsize
    machine = matrices.machine
    is_large = not isinstance(columns, int) or columns * size > 2 * machine.first_cache
    return machine.tile_is_a_line_wide and isinstance(rows, int) and is_large


def _is_left_packed(matrices: Matrices) -> bool:
    """Whether the left operand is computed, or lies across memory.

    Its k are then so far apart that they meet in the cache; of bytes, they only have to be apart.
    """
    if matrices.left_element is None:
        return True
    apart = matrices.left.step(matrices.k.number)
    if matrices.is_of_bytes:
        return apart != 1
    is_across = matrices.left.step(matrices.m.number) == 1
    return (is_across and isinstance(apart, int)
            and apart * matrices.dtype.itemsize % matrices.machine.conflict_distance == 0)


def _may_be_apart(matrices: Matrices, is_packed: bool) -> bool:
    """Whether a panel of the whole right operand has a fixed size, and is worth it.

    It always is where the operand would be packed in each call, lies across memory, or has lines that meet in the first
    cache. Else columns are better read side by side if they stay in the own caches of cores, but not in the first one:
    what comes from memory is as fast where it lies.
    """
    machine, size = matrices.machine, matrices.dtype.itemsize
    extents = [matrices.n.extent, matrices.k.extent, *[loop.extent for loop in matrices.right_batch]]
    if len(matrices.n.indices) > 1 or not all([isinstance(extent, int) for extent in extents]):
        return False
    stays = machine.first_cache < product(extents) * size < machine.threads * machine.own_cache
    return (is_packed or matrices.right.step(matrices.n.number) != 1 or stays and not matrices.is_of_bytes
            or _meets_in_cache(matrices, machine.streamed_rows))


# -- offsets -----------------------------------------------------------------------------------------------------


def _left_offsets(matrices: Matrices) -> Offsets | None:
    """Returns the offsets of the left operand, where it is read by tables.

    Its k follow each other in runs, of a transposed product a fixed step apart. Boxes of rows are always read so.
    """
    m, k = matrices.m, matrices.k
    if matrices.partition is not None:
        return offsets_of(matrices.left, m, k)
    offsets = _offsets(matrices, matrices.left, m, k)
    step = None if offsets is None else _step(matrices.left, k, offsets.of[-1])
    return offsets if step == 1 or matrices.is_transposed and step is not None else None


def _right_offsets(matrices: Matrices) -> Offsets | None:
    """Returns those of the right operand, whose columns follow each other. To more rows it is worth to pack it, unless
    the product is transposed.
    """
    right, rows, n = matrices.right, matrices.m.extent, matrices.n
    if element(right, n) is None or right.step(n.number) != 1:
        return None
    offsets = _offsets(matrices, right, matrices.k)
    is_worth = matrices.is_transposed or isinstance(rows, int) and rows <= matrices.machine.products.table_rows
    is_in_runs = offsets is not None and _step(right, matrices.k, offsets.of[-1]) is not None
    return offsets if is_worth and is_in_runs else None


def _offsets(matrices: Matrices, side: Side, *grids: Grid) -> Offsets | None:
    """Returns the offsets of an operand that is but read, where its steps are not fixed; a few rows are worth no
    tables.
    """
    is_few = isinstance(matrices.m.extent, int) and matrices.m.extent <= FEW_ROWS
    if side.element() is None or element(side, *grids) is not None or matrices.is_of_bytes or is_few:
        return None
    return offsets_of(side, *grids)


def _step(side: Side, k: Grid, offset: DimLike) -> DimLike | None:
    """Returns the step from k to k along the last loop over them; None where that differs."""
    index = moving(side, k)
    found = affine(offset, [index.name])
    return None if found is None else found[0][index.name]
