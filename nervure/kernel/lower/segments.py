"""Views of several parts (concatenations, padding): each part is written by loops of its own.

Where all parts run along the leading axes, they share the loops over these: each turn writes all of its parts, whose
borders lie in the same lines of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nervure.kernel.analysis import segments_of
from nervure.kernel.ir import Literal, Scalar
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.kernels import Lowered, Maker, Memory, here, loops_over, lower_store, nested
from nervure.kernel.points import Coordinates, compose
from nervure.types.dim import product
from nervure.types.view.complex import Piece

if TYPE_CHECKING:
    from nervure.kernel.cluster.steps import Segments


def lower_segments(step: Segments, memory: Memory) -> list[Lowered]:
    """One kernel, or one for each part where they have too few rows in common."""
    return [_together(step, memory)] if step.together else [
        _alone(step, memory, piece) for piece in segments_of(step.op)]


def shifted(piece: Piece, point: Coordinates) -> Coordinates:
    """Where a point of a part is in the whole."""
    return tuple([start + entry for start, entry in zip(piece.starts, point, strict=True)])


def _alone(step: Segments, memory: Memory, piece: Piece) -> Lowered:
    output, point = step.op.outputs[0], here(piece.extents)
    place = memory.position(output, shifted(piece, point))
    return lower_store(memory, "piece", step.op, {step.op: None}, piece.extents, memory.of(output), place,
                       lambda maker: _element(maker, step, piece, point))


def _together(step: Segments, memory: Memory) -> Lowered:
    output, pieces, shared = step.op.outputs[0], segments_of(step.op), step.shared
    rank = len(output.shape)
    loops = [[(LoopIndex(rank * (number + 1) + axis), piece.extents[axis]) for axis in range(shared, rank)]
             for number, piece in enumerate(pieces)]
    maker = Maker(memory, output.shape[:shared], {step.op: None}, [entry for entries in loops for entry in entries])
    with maker.elements.body() as body:
        buffer = maker.buffer(memory.of(output), "out")
        for number, piece in enumerate(pieces):
            point = (*here(output.shape[:shared]), *[index.dim for index, _ in loops[number]])
            with maker.elements.body() as part:
                maker.store(buffer, memory.position(output, shifted(piece, point)), _element(maker, step, piece, point))
            for statement in nested(loops[number], part.list, parallel=False):
                body.add(statement)
    outer = nested(loops_over(output.shape[:shared]), body.list, vector=False)
    return maker.finish("pieces", outer, product(output.shape), [step.op])


def _element(maker: Maker, step: Segments, piece: Piece, point: Coordinates) -> Scalar:
    if piece.index_map is None or piece.operand is None:
        return Literal(piece.constant, step.op.outputs[0].dtype)
    return maker.elements.of(step.op.operands[piece.operand], compose(piece.index_map, point))
