"""The matrices that a kernel multiplies: two operands, and what rows, columns and k stand for in its loops.

A nest around a contraction of two elements is a product. The innermost loop goes over columns, of which the right
operand alone depends; what the left one alone depends on are rows, and all other loops choose a pair of matrices. Rows,
columns and k keep the loops that they stand for (:class:`nervure.kernel.schedule.products.boxes.Grid`). Where the left
operand is 0 outside of its data, the rows are cut into boxes (:mod:`nervure.kernel.schedule.loop_partition`): what lies
outside is left out of products.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.support.machine import GENERIC
>>> matrices = matrices_of(parse_kernel('''
... kernel product(in x: f32[120], in y: f32[96], out z: f32[40]):
...   for i < 2 parallel:
...     for j < 5:
...       for k < 4 vector:
...         v0 = contract over l < 12:
...           v1 = x[60*i + 12*j + l]
...           v2 = y[48*i + k + 4*l]
...           give v1, v2
...         z[20*i + 4*j + k] = v0
... '''), GENERIC)
>>> [loop.extent for loop in matrices.batch], matrices.m.extent, matrices.n.extent, matrices.k.extent
([2], 5, 4, 12)
>>> matrices.is_stored, matrices.right.step(matrices.k.number)
(True, 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.ir.kinds import LANES
from nervure.kernel.ir import CONTRACT_BLOCK, Access, Body, Contract, For, Kernel, Load, Loop, Store, walk
from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.kernel.rewriting import unused_indices
from nervure.kernel.routines import BYTES, FEW_ROWS, Side, is_affine, sides_of
from nervure.kernel.schedule.loop_partition import Partition, partition_of
from nervure.kernel.schedule.nests import nest_of
from nervure.kernel.schedule.products.boxes import Grid, element, moving
from nervure.kernel.schedule.products.conditions import without_condition
from nervure.kernel.schedule.products.extents import at_most, longest_part
from nervure.kernel.schedule.products.lines import Lines, lines_of
from nervure.kernel.schedule.products.offsets import offsets_of
from nervure.kernel.schedule.products.split_indices import with_digits
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, index_symbols
from nervure.types.dtype import DType


class NewIndices(NamedTuple):
    """Indices of the loops that blocks add: over tasks, blocks of k, groups of rows, the groups of blocks behind the
    first one, and lines. No loop counts the strip of columns of a task. ``row``, ``column`` and ``k`` number the points
    of grids of several loops; ``any`` is a loop without turns where there are no rows.
    """

    task: LoopIndex
    block: LoopIndex
    group: LoopIndex
    strip: LoopIndex
    line: LoopIndex
    later: LoopIndex
    row: LoopIndex
    column: LoopIndex
    k: LoopIndex
    any: LoopIndex
    segment: LoopIndex  # the last one: loops over segments take the numbers behind it for more


class Matrices(NamedTuple):
    """A product of matrices.

    It has a contraction, two operands, the grids of its rows ``m``, columns ``n`` and ``k``, the loops of the ``batch``
    over pairs of matrices, and the ``rest``, which is done with an element of the result, on a ``machine``. An operand
    that walks on through all loops of a grid is written with the number of its points. ``lines``: columns lie in lines
    with gaps, and the right operand goes on from the first line through all of them. ``is_transposed``: operands have
    been swapped, so that results are transposed before the rest is done. ``partition`` cuts the rows where the left
    operand has no elements for some of k. The first ``live`` columns are needed; all if that is None.
    """

    contract: Contract
    left: Side
    right: Side
    m: Grid
    n: Grid
    k: Grid
    batch: tuple[For, ...]
    rest: Body
    new: NewIndices
    machine: Machine
    lines: Lines | None = None
    is_transposed: bool = False
    partition: Partition | None = None
    live: DimLike | None = None

    @property
    def depth(self) -> int:
        """The most k of a block."""
        return at_most(self.k.extent, CONTRACT_BLOCK)

    @property
    def dtype(self) -> DType:
        """The type of the results."""
        return self.contract.result.dtype

    @property
    def is_of_bytes(self) -> bool:
        """Whether bytes are multiplied."""
        return self.left.value.dtype in BYTES

    @property
    def may_be_across(self) -> bool:
        """Whether the k of the right operand may follow each other: there are few rows, or it is of bytes."""
        return self.is_of_bytes or isinstance(self.m.extent, int) and self.m.extent <= FEW_ROWS

    @property
    def right_batch(self) -> list[For]:
        """The loops over matrices of the right operand."""
        return [loop for loop in self.batch if self.right.mentions(loop.index)]

    @property
    def left_element(self) -> Load | None:
        """The load that the left operand is, if it moves by fixed steps from row to row and from k to k."""
        return element(self.left, self.m, self.k)

    @property
    def right_element(self) -> Load | None:
        """The load that the right operand is, if it moves by fixed steps from column to column and from k to k."""
        return element(self.right, self.n, self.k)

    @property
    def is_stored(self) -> bool:
        """Whether nothing is done with results but to store them, in rows."""
        return len(self.rest) == 1 and self.place is not None and self.place.value is self.contract.result

    @property
    def place(self) -> Store | None:
        """The store of what is made of results in whose memory they may wait for that; None if there is none.

        Rows have to lie in it as in a product, and what follows reads and writes that memory at no other time. Rows
        that are no whole lines are better apart: what reads one of them would wait for what was written to the last.
        The same holds for results that do not stay in any cache: these are stored past it.
        """
        if self.lines is not None or self.is_transposed or self.m.is_in(*self.rest) or self.n.is_in(*self.rest):
            return None
        stores = [entry for entry in self.rest if isinstance(entry, Store)]
        found = [store for store in stores if store.combine is None and is_affine(store, self.m.number, self.n.number)
                 and store.address.step(self.n.number) == 1]
        if len(self.rest) > 1:
            found = [store for store in found if self._may_wait(store)]
        return found[0] if found else None

    def _may_wait(self, store: Store) -> bool:
        """Whether results may wait where a ``store`` writes what is made of them."""
        size, row = store.buffer.size, self.n.extent
        if store.buffer.dtype is not self.dtype or not isinstance(size, int) or not isinstance(row, int):
            return False
        others = [entry for entry in walk(self.rest) if isinstance(entry, Access) and entry is not store]
        is_apart = all([entry.buffer is not store.buffer and entry.address != store.address for entry in others])
        return (is_apart and row * self.dtype.itemsize % self.machine.line == 0
                and size * self.dtype.itemsize <= self.machine.shared_cache)


def matrices_of(kernel: Kernel, machine: Machine) -> Matrices | None:
    """Returns the matrices of a kernel that is a product, as a ``machine`` multiplies them; None for any other kernel.

    None, too, for one of so few k that the right operand, which would be packed for a single row, is better computed in
    registers.
    """
    if kernel.sliced is None:
        return None
    nest = nest_of(kernel.sliced)
    *outer, columns = nest.loops
    loops = [entry for entry in nest.body if isinstance(entry, Loop)]
    if len(loops) != 1 or not isinstance(loops[0], Contract):
        return None
    contract = with_digits(loops[0], (nest.loops[0],))
    sides = sides_of(contract, columns.index)
    if sides is None or not nest.is_free:
        return None
    new = NewIndices(*unused_indices((nest.loops[0], contract), len(NewIndices._fields)))
    k = _grid(contract.indices, new.k)
    left, right = [k.numbered_side(side) for side in sides]
    longest = longest_part(columns.extent) if index_symbols(columns.extent) else None
    n = _grid(((columns.index, columns.extent if longest is None else longest),), new.column)
    rows = [loop for loop in outer if left.mentions(loop.index) and not right.mentions(loop.index)]
    if not rows and element(right, n, k) is None and k.extent in range(LANES + 1):
        return None  # depthwise windows
    row = rows[-1] if rows else For(new.row, 1, ())
    batch = tuple([loop for loop in outer if loop is not row])
    rest = tuple([entry for entry in nest.body if entry is not loops[0]])
    m = _grid(((row.index, row.extent),), new.row)
    live = None if longest is None else columns.extent
    matrices = Matrices(contract, left, right, m, n, k, batch, rest, new, machine, live=live)
    return _partitioned(matrices, rows) or _transposed(matrices, outer) or _with_columns(
        _with_rows(matrices, rows), outer)


def _grid(indices: Indices, number: LoopIndex) -> Grid:
    """Returns the grid of loops; ``number`` counts its points if there are several."""
    return Grid(indices[0][0] if len(indices) == 1 else number, indices)


def _indices(loops: Sequence[For]) -> Indices:
    return tuple([(loop.index, loop.extent) for loop in loops])


def _over_rows(matrices: Matrices, left: Side, loops: Sequence[For]) -> Matrices:
    """Returns the same where all of some loops go over rows."""
    m = _grid(_indices(loops), matrices.new.row)
    batch = tuple([loop for loop in matrices.batch if loop not in loops])
    return matrices._replace(left=m.numbered_side(left), m=m, batch=batch, rest=m.numbered(matrices.rest))


def _partitioned(matrices: Matrices, loops: Sequence[For]) -> Matrices | None:
    """Returns the same with what is outside of the data of the left operand left out; None where it cannot be."""
    found = without_condition(matrices.left)
    partition = _partition(matrices, found[1], loops) if found and loops else None
    if found is None or partition is None:
        return None
    cut = _over_rows(matrices, matrices.k.numbered_side(found[0]), loops)._replace(partition=partition)
    return None if offsets_of(cut.left, cut.m, cut.k) is None else cut


def _partition(matrices: Matrices, margins: tuple[DimLike, ...], loops: Sequence[For]) -> Partition | None:
    """Returns the partition of rows by conditions, if all but the outermost loops over rows and k have numbers of
    turns.
    """
    inner = [extent for _, extent in (*_indices(loops)[1:], *matrices.k.indices[1:])]
    if matrices.is_of_bytes or not all([isinstance(extent, int) for extent in inner]):
        return None
    return partition_of(margins, _indices(loops), matrices.k.indices)


def _with_rows(matrices: Matrices, loops: Sequence[For]) -> Matrices:
    """Returns the same with the rows of all ``loops``, where the last one has few.

    So the places of images are rows, and a table has their offsets. The left operand has to be read along memory, run
    by run.
    """
    extent, most = matrices.m.extent, matrices.machine.products.packed_rows
    if len(loops) < 2 or matrices.is_of_bytes or not isinstance(extent, int) or extent > most:
        return matrices
    found = _over_rows(matrices, matrices.left, loops)
    is_along = found.left.step(moving(found.left, found.k)) == 1
    return found if is_along and offsets_of(found.left, found.m, found.k) is not None else matrices


# -- swapped operands --------------------------------------------------------------------------------------------


def _transposed(matrices: Matrices, outer: Sequence[For]) -> Matrices | None:
    """Returns the same with operands swapped, which computes the transposed result; None where that does not pay.

    It does where columns lie in lines, which fill registers badly, and rows fill them as columns.
    """
    found = without_condition(matrices.right)
    right = matrices.right if found is None else matrices.k.numbered_side(found[0])
    loops = [*[loop for loop in outer if not matrices.left.mentions(loop.index)], _columns(matrices)]
    if not outer or not _fill_registers(matrices, right):
        return None
    partition = None
    if found is not None:
        partition = _partition(matrices, found[1], loops)
        if partition is None:
            return None
    elif lines_of(outer[-1], _columns(matrices), matrices.left, right, matrices.machine) is None:
        return None
    swapped = matrices._replace(left=right, right=matrices.left, n=matrices.m, is_transposed=True, partition=partition,
                                batch=tuple([loop for loop in outer if loop.index is not matrices.m.number]))
    swapped = _over_rows(swapped, right, loops)._replace(rest=matrices.rest)
    return None if partition is not None and offsets_of(swapped.left, swapped.m, swapped.k) is None else swapped


def _columns(matrices: Matrices) -> For:
    """Returns the loop over columns."""
    (index, extent), = matrices.n.indices
    return For(index, extent, ())


def _fill_registers(matrices: Matrices, right: Side) -> bool:
    """Whether rows follow each other in memory and fill registers as columns; both operands are but read."""
    left, (row, rows) = matrices.left, matrices.m.indices[0]
    is_read = left.element(row) is not None and right.element() is not None
    fills = isinstance(rows, int) and rows % matrices.machine.line_elements == 0
    return is_read and fills and left.step(row) == 1


# -- lines of columns --------------------------------------------------------------------------------------------


def _with_columns(matrices: Matrices, outer: Sequence[For]) -> Matrices:
    """Returns the same where columns lie in lines: through the gaps, or without them if that takes less time."""
    loops = [loop for loop in outer if loop in matrices.batch or loop.index is matrices.m.number]
    left, right, column = matrices.left, matrices.right, _columns(matrices)
    lines = lines_of(loops[-1], column, left, right, matrices.machine) if loops else None
    if lines is None:
        return matrices
    if not matrices.is_of_bytes and lines.are_better_packed(matrices.m.extent, matrices.machine):
        packed = [*[loop for loop in loops if not left.mentions(loop.index)], column]
        n = _grid(_indices(packed), matrices.new.column)
        batch = tuple([loop for loop in matrices.batch if loop not in packed])
        return matrices._replace(right=n.numbered_side(right), n=n, batch=batch, rest=n.numbered(matrices.rest))
    first = {lines.outer: 0}
    right = right._replace(statements=tuple([entry.substitute(first) for entry in right.statements]))
    batch = tuple([loop for loop in matrices.batch if loop.index is not lines.outer])
    return matrices._replace(right=right, n=Grid(column.index, ((column.index, lines.extent),)), batch=batch,
                             lines=lines)
