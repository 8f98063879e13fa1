"""The matrices that a kernel multiplies: two sides, and loops over rows, columns, points, and pairs of matrices.

A nest around a contraction of two elements is a product. The innermost loop goes over columns, of which the right side
alone depends; what the left side alone depends on are rows, and all other loops choose a pair of matrices. Columns may
lie in lines (:mod:`nervure.kernel.schedule.products.lines`): then the loops over lines and along them are one.

>>> from nervure.kernel.parser import parse_kernel
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
... '''))
>>> [loop.extent for loop in matrices.batch], matrices.rows.extent, matrices.columns.extent, matrices.points
([2], 5, 4, 12)
>>> matrices.is_stored, matrices.right.step(matrices.point)
(True, 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK, Body, Contract, For, Kernel, Loop, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import unused_indices
from nervure.kernel.routines import BYTES, FEW_ROWS, Side, is_affine, sides_of
from nervure.kernel.schedule.nests import nest_of
from nervure.kernel.schedule.products.bands import Bands, bands_of
from nervure.kernel.schedule.products.edges import Edges, Margins, edges_of, without_condition
from nervure.kernel.schedule.products.extents import at_most
from nervure.kernel.schedule.products.lines import Lines, lines_of
from nervure.kernel.schedule.products.live_points import LivePoints, live_points_of
from nervure.kernel.schedule.products.places import parts_of
from nervure.kernel.schedule.products.points import in_runs, joined, with_one_index
from nervure.kernel.schedule.products.turned import are_better_turned, in_long_lines, with_places
from nervure.kernel.tuning import LEAST_PACKED_POINTS, PACKED_ROWS
from nervure.types.dim import DimLike, product
from nervure.types.dtype import DType


class NewIndices(NamedTuple):
    """Indices of the loops that blocks add: over tasks, blocks of points, groups of rows, runs of points, lines, the
    groups of blocks behind the first one, and places. No loop counts the strip of columns of a task, or the row where
    there is a single one.
    """

    task: LoopIndex
    block: LoopIndex
    group: LoopIndex
    run: LoopIndex
    strip: LoopIndex
    line: LoopIndex
    row: LoopIndex
    later: LoopIndex
    place: LoopIndex  # the last one: what goes through places takes the numbers behind it for more


class Matrices(NamedTuple):
    """A product: its contraction over the points, both sides, loops over rows and columns, those of the ``batch`` over
    pairs of matrices, and the ``rest``, which is done with an element of the result. Where columns lie in lines with
    gaps, the right side goes on from the first line through all of them. In a turned product rows lie in lines; it may
    leave out what is beyond the ``edges`` of its left side, as one of live points does.
    """

    contract: Contract
    left: Side
    right: Side
    rows: For
    columns: For
    batch: tuple[For, ...]
    rest: Body
    lines: Lines | None
    new: NewIndices
    is_turned: bool = False
    edges: Edges | LivePoints | Bands | None = None

    @property
    def point(self) -> LoopIndex:
        """The index of the points."""
        return self.contract.indices[0][0]

    @property
    def row_group(self) -> int:
        """The rows that every block has a multiple of: those of a line of an image, or of a row of each position of the
        window, where these are multiplied one by one.
        """
        if self.edges is None:
            return 1
        return self.edges.length if isinstance(self.edges, Bands) else self.edges.places

    @property
    def points(self) -> DimLike:
        """How many points there are."""
        return self.contract.indices[0][1]

    @property
    def depth(self) -> int:
        """The most points of a block."""
        return at_most(self.points, CONTRACT_BLOCK)

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
        """Whether the points of the right side may follow each other: there are few rows, or it is of bytes."""
        return self.is_of_bytes or isinstance(self.rows.extent, int) and self.rows.extent <= FEW_ROWS

    @property
    def along(self) -> For:
        """The loop that goes through lines, if there are any."""
        return self.rows if self.is_turned else self.columns

    @property
    def across(self) -> For:
        """The other one of those over rows and columns."""
        return self.columns if self.is_turned else self.rows

    @property
    def has_packed_lines(self) -> bool:
        """Whether the columns of the right side lie in lines, and those of its panel one line behind the other."""
        return self.lines is not None and self.lines.packed

    @property
    def right_batch(self) -> list[For]:
        """The loops over matrices of the right side."""
        return [loop for loop in self.batch if self.right.mentions(loop.index)]

    @property
    def is_stored(self) -> bool:
        """Whether nothing is done with results but to store them, in rows."""
        store = self.rest[0]
        return (self.lines is None and len(self.rest) == 1 and isinstance(store, Store)
                and store.value is self.contract.result and store.combine is None
                and is_affine(store, self.rows.index, self.columns.index)
                and store.address.step(self.columns.index) == 1)


def matrices_of(kernel: Kernel) -> Matrices | None:
    """The matrices of a kernel that is a product; None if it is none, or one of so few points that the right side,
    which would be packed for a single row, is better computed in registers.
    """
    if kernel.sliced is None:
        return None
    nest = nest_of(kernel.sliced)
    *outer, columns = nest.loops
    loops = [entry for entry in nest.body if isinstance(entry, Loop)]
    if len(loops) != 1 or not isinstance(loops[0], Contract):
        return None
    contract = with_one_index(loops[0])
    sides = sides_of(contract, columns.index)
    if sides is None or not nest.is_free:
        return None
    left, right = sides
    rows = [loop for loop in outer if left.mentions(loop.index) and not right.mentions(loop.index)]
    point, points = contract.indices[0]
    if not rows and right.element(columns.index, point) is None and points in range(LEAST_PACKED_POINTS):
        return None  # depthwise windows
    new = NewIndices(*unused_indices(nest.loops[:1], len(NewIndices._fields)))
    row = rows[-1] if rows else For(new.row, 1, ())
    batch = tuple([loop for loop in outer if loop is not row])
    rest = tuple([entry for entry in nest.body if entry is not loops[0]])
    matrices = Matrices(contract, left, right, row, columns, batch, rest, None, new)
    matrices = _with_live_points(matrices, rows, loops[0])
    if matrices.edges is not None:
        return matrices
    matrices = _with_long_rows(matrices, rows)
    return _in_lines(matrices, [loop for loop in outer if loop is row or loop in matrices.batch])


def _with_long_rows(matrices: Matrices, loops: Sequence[For]) -> Matrices:
    """The same with the rows of all these loops as those of one, where the last loop has few: so the places of images
    are rows, and a table says where each lies. The left side has to be read along memory, run by run.
    """
    row, point = matrices.rows, matrices.point
    if len(loops) < 2 or matrices.is_of_bytes or not isinstance(row.extent, int) or row.extent > PACKED_ROWS:
        return matrices
    indices = tuple([(loop.index, loop.extent) for loop in loops])
    left = matrices.left._replace(statements=joined(matrices.left.statements, indices))
    load, runs = left.element(), in_runs(matrices.left, point, matrices.new.run)
    is_along = (matrices.left if runs is None else runs.side).step(point) == 1
    if load is None or not is_along or parts_of(load.address, row.index, point) is None:
        return matrices
    rows = For(row.index, product([extent for _, extent in indices]), ())
    batch = tuple([loop for loop in matrices.batch if loop not in loops])
    return matrices._replace(left=left, rows=rows, batch=batch, rest=joined(matrices.rest, indices))


def _with_live_points(matrices: Matrices, loops: Sequence[For], contract: Contract) -> Matrices:
    """The same where points beyond the edges of the left side are left out, if they can be."""
    bare = without_condition(matrices.left)
    if bare is None or not loops:
        return matrices
    extents, point, new = [extent for _, extent in contract.indices], matrices.point, matrices.new.place
    live = (live_points_of(matrices.left, loops, point, extents, new)
            or bands_of(*bare, loops, point, matrices.points, new))
    if live is None or matrices.is_of_bytes:
        return matrices
    indices = tuple([(loop.index, loop.extent) for loop in loops])
    rows = For(matrices.rows.index, product([extent for _, extent in indices]), ())
    batch = tuple([loop for loop in matrices.batch if loop not in loops])
    return matrices._replace(left=bare[0]._replace(statements=joined(bare[0].statements, indices)), rows=rows,
                             batch=batch, rest=joined(matrices.rest, indices), edges=live)


def _in_lines(matrices: Matrices, outer: Sequence[For]) -> Matrices:
    """The same where columns lie in lines, which are one loop then: through the gaps, or without them if that takes
    less time.
    """
    left, right = matrices.left, matrices.right
    bare = without_condition(right)
    if outer and bare is not None:
        return _with_edges(matrices, *bare, outer)
    lines = lines_of(outer[-1], matrices.columns, left, right) if outer else None
    if lines is None:
        return matrices
    if are_better_turned(left, right, matrices.rows):
        return _turned(matrices, outer)
    if not matrices.is_of_bytes and lines.are_better_packed(matrices.rows.extent):
        lines = lines.without_gaps([loop for loop in outer if not left.mentions(loop.index)])
    else:
        first = dict.fromkeys(lines.at(0), 0)
        right = right._replace(statements=tuple([entry.substitute(first) for entry in right.statements]))
    batch = tuple([loop for loop in matrices.batch if loop.index not in lines.at(0)])
    return matrices._replace(right=right, columns=For(lines.column, lines.extent, ()), batch=batch, lines=lines)


def _with_edges(matrices: Matrices, bare: Side, margins: Margins, outer: Sequence[For]) -> Matrices:
    """The same, turned, where points beyond the edges of the right side are left out, if they can be. ``bare`` is that
    side where it has elements.
    """
    loops, point, new = _over_places(matrices, outer), matrices.point, matrices.new.place
    edges = bands_of(bare, margins, loops, point, matrices.points, new) or edges_of(matrices.right, loops, point, new)
    if edges is None or matrices.is_of_bytes or not are_better_turned(matrices.left, bare, matrices.rows):
        return matrices
    return _turned(matrices._replace(right=bare, edges=edges), outer)


def _over_places(matrices: Matrices, outer: Sequence[For]) -> list[For]:
    """The loops over all that the right side alone depends on."""
    return [*[loop for loop in outer if not matrices.left.mentions(loop.index)], matrices.columns]


def _turned(matrices: Matrices, outer: Sequence[For]) -> Matrices:
    """The same where rows and columns have changed places: the rows are in lines."""
    loops = _over_places(matrices, outer)
    rest, lines = in_long_lines(matrices.rest, loops)
    return matrices._replace(
        left=with_places(matrices.right, loops), right=matrices.left,
        rows=For(lines.column, lines.line_count * lines.length, ()), columns=matrices.rows,
        batch=tuple([loop for loop in matrices.batch if loop not in loops]), rest=rest, lines=lines, is_turned=True)
