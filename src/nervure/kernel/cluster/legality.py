"""Legality of fusion: whether an op, or a whole step, can share the loops of a step.

Everything that the op reads there must be available. An op over the whole shape reads values made in the step at its
own index, or rows spread over the reduced axes. An op on rows (results of reductions, and computations on them) reads
rows, whatever lengths of 1 their shapes have.

A cross-row reduction, over the axes that a step of rows keeps, is computed on the way while a row is in cache; no op
of the step reads its result. The gradient of a layer normalisation has both kinds: the terms subtracted in each row
are sums over the row, the gradients of scale and shift are sums over all rows.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
>>> x = nv.Parameter(nv.float32, (4096, 100))
>>> rows, columns = nv.ops.Sum(nv.ops.Exp(x), [1]), nv.ops.Sum(nv.ops.Exp(x), [0])
>>> for step in cluster(nv.Function([rows, columns], [x])):
...     print(step)
loop over (4096, 100) reducing (1,): Exp, Sum, Exp, Sum; stores Sum, Sum

A view of several parts of one shape is written where its parts are computed: each iteration of the loops fills an
element of each part.

>>> x = nv.Parameter(nv.float32, (8,))
>>> angle = x + x
>>> waves = [nv.ops.Reshape(wave(angle), (8, 1)) for wave in (nv.ops.Sin, nv.ops.Cos)]
>>> for step in cluster(nv.Function([nv.ops.Concatenate(*waves, axis=1)], [x])):
...     print(step)
loop over (8,): Add, Concatenate; stores Concatenate
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from nervure.ir.kinds import Structure
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import Level, OpKind, segments_of
from nervure.kernel.cluster.stencils import stencil_of
from nervure.kernel.cluster.steps import FusionBlocker, Loops
from nervure.kernel.cluster.strategy import has_enough_rows
from nervure.kernel.coordinates import Coordinates, compose, without_ones
from nervure.kernel.producers import ProducerAnalysis, Read
from nervure.kernel.tuning import LEAST_ROWS_CROSSED, MOST_CROSS_ROW_REDUCTIONS
from nervure.support.machine import Machine
from nervure.types.dim import product
from nervure.types.shape import Shape
from nervure.types.view.complex import Piece

_TOTAL = 4  # bytes of a total, of the usual type
_COMBINES = ("add", "maximum", "minimum")


def _may_cross_rows(step: Loops, op: Op, structure: Structure, machine: Machine) -> bool:
    """Whether a reduction could run on the way through the rows of a step, as far as its operands allow it."""
    if structure.reduced != step.kept_axes or not step.has_lanes_along_row:
        return False
    if structure.combine not in _COMBINES or any([value.dtype.is_complex for value in op.outputs]):
        return False
    rows, row = product(step.kept), product([step.shape[axis] for axis in step.reduced or ()])
    are_few_rows = isinstance(rows, int) and rows < LEAST_ROWS_CROSSED
    is_beyond_cache = isinstance(row, int) and row * _TOTAL > machine.first_cache  # its totals stay there otherwise
    others = list(step.levels.values()).count(Level.CROSS_ROW)
    return others < MOST_CROSS_ROW_REDUCTIONS and not are_few_rows and not is_beyond_cache


def _is_better_apart(step: Loops, reduced: tuple[int, ...], machine: Machine) -> bool:
    """Whether the ops of a step should be stored before they are reduced over these axes."""
    return any([stencil.is_better_apart(step.shape, reduced, machine) for stencil in step.stencils.values()])


class Legality:
    """The rules of fusion; ``maker`` maps a value to its step."""

    def __init__(self, producers: ProducerAnalysis, maker: MutableMapping[Value, int], machine: Machine) -> None:
        self._producers, self._ops = producers, producers.ops
        self._maker, self._machine = maker, machine

    def level(self, step: Loops, op: Op, shape: Shape, inside: Sequence[Read]) -> Level | FusionBlocker:
        """Returns the level of an op over this ``shape`` in a ``step``, which makes the values ``inside``; or why it
        cannot join.
        """
        kind = self._ops.kind(op)
        if kind is OpKind.REDUCTION:
            return FusionBlocker.OTHER_AXES if step.has_contraction else self._reduction_level(step, op, inside)
        is_full = shape == step.shape and not step.has_contraction
        blocker = self._blocker_of_full(step, inside) if is_full else FusionBlocker.OTHER_SHAPE
        if blocker is None:
            return Level.FULL
        may_be_row = step.reduced is not None and inside and kind is OpKind.POINTWISE
        return Level.ROW if may_be_row and self._are_rows(step, shape, inside) else blocker

    def enter(self, step: Loops, op: Op, level: Level, reads: Sequence[Read]) -> None:
        """Puts an op into a step, at a ``level``."""
        is_reduction = self._ops.kind(op) is OpKind.REDUCTION and level is not Level.CROSS_ROW
        if is_reduction:
            step.reduced = self._ops.structure(op).reduced
            step.has_contraction = self._ops.is_contraction(op)
        inside = [step.phases[entry.value.op] for entry in reads if entry.value.op in step.phases]
        first = int(level is Level.ROW and not is_reduction)  # a row operation on values in memory: after a run
        step.levels[op], step.phases[op] = level, max(inside, default=first) + is_reduction
        if level is Level.FULL:
            step.stencils[op] = stencil_of(op, reads, step.stencils, self._ops)
        for value in op.outputs:
            self._maker[value] = step.number

    # -- one op ------------------------------------------------------------------------------------------

    def _blocker_of_full(self, step: Loops, inside: Sequence[Read]) -> FusionBlocker | None:
        """Returns why an op over the whole shape lacks an operand, in place or as a spread row; None if it lacks none.
        """
        for entry in inside:
            is_row = step.levels[entry.value.op] is Level.ROW
            if step.levels[entry.value.op] is Level.CROSS_ROW:
                return FusionBlocker.OTHER_AXES
            if not (self._lands(step, entry, step.point) if is_row else entry.in_place):
                return FusionBlocker.OTHER_INDEX
            if is_row and not has_enough_rows(step, self._machine):
                return FusionBlocker.FEW_ROWS
        return None

    def _are_rows(self, step: Loops, shape: Shape, inside: Sequence[Read]) -> bool:
        """Whether an op over a shape is one on rows."""
        point = step.row_point(shape)
        return point is not None and all(
            [step.levels[entry.value.op] is Level.ROW and self._lands(step, entry, point) for entry in inside])

    def _lands(self, step: Loops, entry: Read, point: Coordinates) -> bool:
        """Whether a reader at a point reads a row value at the row of that point."""
        if not entry.aligned:
            return False
        for view in entry.views:
            below = step.row_point(view.operands[0].shape) if self._ops.traits(view).keeps_order else None
            if below is None or point != step.row_point(view.outputs[0].shape):
                below = compose(self._ops.index_map(view), point)
            point = below
        lengths = entry.value.shape
        place = tuple([0 if length == 1 else at for at, length in zip(point, lengths, strict=True)])
        return place == step.row_point(lengths)

    def _reduction_level(self, step: Loops, op: Op, inside: Sequence[Read]) -> Level | FusionBlocker:
        structure = self._ops.structure(op)
        if structure.domain != step.shape:
            return FusionBlocker.OTHER_SHAPE
        if step.reduced not in (None, structure.reduced):
            if not (_may_cross_rows(step, op, structure, self._machine) and has_enough_rows(step, self._machine)):
                return FusionBlocker.OTHER_AXES
            return self._blocker_of_full(step, inside) or Level.CROSS_ROW
        if any([not entry.in_place or step.levels[entry.value.op] is not Level.FULL for entry in inside]):
            return FusionBlocker.OTHER_INDEX
        return FusionBlocker.STENCIL if _is_better_apart(step, structure.reduced, self._machine) else Level.ROW

    # -- two steps -----------------------------------------------------------------------------------------

    def may_merge(self, earlier: Loops, step: Loops, readers: Sequence[tuple[Op, Read]]) -> bool:
        """Whether two steps can be one, if ``readers`` read the values of the ``earlier`` one from outside."""
        if earlier.reduced is not None and step.reduced not in (None, earlier.reduced):
            return False
        together = Loops(step.number, step.shape, earlier.reduced if step.reduced is None else step.reduced)
        if together.reduced is not None and any(
                [_is_better_apart(each, together.reduced, self._machine) for each in (earlier, step)]):
            return False
        if earlier.reduced is None and step.reduced is not None and not has_enough_rows(together, self._machine):
            if any([level is Level.FULL and step.phases[op] for op, level in step.levels.items()]):
                return False
        together.levels = {**earlier.levels, **step.levels}
        for op, entry in readers:
            if op not in step.levels or not self._reads_at_hand(together, op, step.levels[op], entry):
                return False
        return True

    def _reads_at_hand(self, step: Loops, op: Op, level: Level, entry: Read) -> bool:
        if self._ops.kind(op) is OpKind.REDUCTION and level is not Level.CROSS_ROW:
            return entry.in_place and step.levels[entry.value.op] is Level.FULL
        if level is not Level.ROW:
            return self._blocker_of_full(step, [entry]) is None
        return self._are_rows(step, op.outputs[0].shape, [entry])

    def merge(self, earlier: Loops, step: Loops) -> None:
        """Puts the ops of an earlier step before those of this one."""
        levels, blockers = {**earlier.levels, **step.levels}, {**earlier.blockers, **step.blockers}
        step.levels, step.phases, step.reduced = {}, {}, earlier.reduced if step.reduced is None else step.reduced
        step.blockers, step.stencils = blockers, {}
        for op, level in levels.items():
            self.enter(step, op, level, list(self._producers.reads(op)))


# -- segments ------------------------------------------------------------------------------------------------


def ends_with_segments(step: Loops, op: Op, producers: ProducerAnalysis) -> bool:
    """Whether a step has each part of a view available: the same point of its loops is one of each part."""
    pieces = segments_of(op)
    return step.reduced is None and len(pieces) > 1 and all(
        [_is_at_hand(step, op, piece, producers) for piece in pieces])


def _is_at_hand(step: Loops, op: Op, piece: Piece, producers: ProducerAnalysis) -> bool:
    point = step.row_point(piece.extents)
    if point is None or piece.index_map is None or piece.operand is None:
        return False
    start = compose(piece.index_map, point)
    inside = [entry for entry in producers.reads_of_values((op.operands[piece.operand],), True)
              if entry.value.op in step.levels]
    return all([entry.aligned and _below(entry, start, producers) == step.row_point(entry.value.shape)
                for entry in inside])


def _below(entry: Read, point: Coordinates, producers: ProducerAnalysis) -> Coordinates | None:
    """Returns the point at which a value is read, below the views on it."""
    for view in entry.views:
        shapes = view.outputs[0].shape, view.operands[0].shape
        is_dense = producers.ops.traits(view).keeps_order
        found = without_ones(point, *shapes) if is_dense else compose(producers.ops.index_map(view), point)
        if found is None:
            return None
        point = found
    return point
