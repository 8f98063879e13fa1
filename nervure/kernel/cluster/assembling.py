"""A view of several parts of one shape is written where its parts are computed: each turn of the loops fills all.

>>> import nervure as nv
>>> from nervure.kernel.cluster.clustering import cluster
>>> x = nv.Parameter(nv.float32, (8,))
>>> angle = x + x
>>> waves = [nv.ops.Reshape(wave(angle), (8, 1)) for wave in (nv.ops.Sin, nv.ops.Cos)]
>>> for step in cluster(nv.Function([nv.ops.Concatenate(*waves, axis=1)], [x])):
...     print(step)
loop over (8,): Add, Concatenate; stores Concatenate
"""

from __future__ import annotations

from typing import Any

from nervure.ir.op import Op
from nervure.kernel.cluster.kinds import DENSE, Facts
from nervure.kernel.cluster.reading import Reading, Readings
from nervure.kernel.cluster.steps import Loops
from nervure.kernel.points import Coordinates, compose, without_ones
from nervure.types.view.complex import Piece


def pieces_of(op: Op) -> tuple[Piece, ...]:
    """The parts of a view of several tensors."""
    view: Any = op
    pieces: tuple[Piece, ...] = view.view.pieces
    return pieces


def is_assembled(step: Loops, op: Op, facts: Facts, readings: Readings) -> bool:
    """Whether a step has each part of a view at hand: the same point of its loops is one of each part."""
    pieces = pieces_of(op)
    return step.reduced is None and len(pieces) > 1 and all(
        [_is_at_hand(step, op, piece, facts, readings) for piece in pieces])


def _is_at_hand(step: Loops, op: Op, piece: Piece, facts: Facts, readings: Readings) -> bool:
    point = step.row_point(piece.extents)
    if point is None or piece.index_map is None or piece.operand is None:
        return False
    start = compose(piece.index_map, point)
    inside = [entry for entry in readings.of_values((op.operands[piece.operand],), True)
              if entry.value.op in step.levels]
    return all([_below(entry, start, facts) == step.row_point(entry.value.shape) for entry in inside])


def _below(entry: Reading, point: Coordinates, facts: Facts) -> Coordinates | None:
    """Where a value is read, below the views on it."""
    for view in entry.views:
        shapes = view.outputs[0].shape, view.operands[0].shape
        found = without_ones(point, *shapes) if isinstance(view, DENSE) else compose(facts.index_map(view), point)
        if found is None:
            return None
        point = found
    return point
