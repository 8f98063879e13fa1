"""Loops without reductions: every op at every point. Copies and checks are such loops, too.

In views of several parts (concatenations, padding), each part is written by loops of its own.

If all parts run along the leading axes, they share the loops over these: each iteration writes a piece of every part,
whose borders lie in the same cache lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InternalError
from nervure.ir.op import Value
from nervure.kernel.analysis import OpKind, segments_of
from nervure.kernel.cluster.inside import is_inside
from nervure.kernel.cluster.steps import Copy, Guards, Loops, Segments
from nervure.kernel.coordinates import Coordinates, compose
from nervure.kernel.failures import ConditionFailure
from nervure.kernel.ir import Literal, Scalar
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.kernel_builder import (
    BufferAssignment,
    KernelBuilder,
    LoweredKernel,
    here,
    loops_over,
    lower_store,
    nested,
    place_in,
)
from nervure.ops.effects import Guard
from nervure.types.dim import product
from nervure.types.dtype import int64
from nervure.types.view.complex import Piece


def lower_pointwise(step: Loops, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns one kernel."""
    builder = KernelBuilder(memory, step.shape, step.levels)
    elements, point = builder.elements, here(step.shape)
    with elements.body() as body:
        for op in step.ops:  # in order, so that a chain of ops does not recurse
            for value in op.outputs if memory.ops.kind(op) is not OpKind.SEGMENTS else ():
                elements.of(value, point)
        for value in step.stored:
            if memory.ops.kind(value.op) is OpKind.SEGMENTS:
                _store_parts(step, builder, value)
            else:
                builder.store_value(value, point, elements.of(value, point))
    return [builder.finish("pointwise", nested(loops_over(step.shape), body.list), product(step.shape), step.ops)]


def _store_parts(step: Loops, builder: KernelBuilder, value: Value) -> None:
    """Stores an element of each part of a view."""
    for piece in segments_of(value.op):
        at = step.row_point(piece.extents)
        if at is None or piece.index_map is None or piece.operand is None:
            raise InternalError(f"a part of {value.op!r} is not over the loops of {step}")
        element = builder.elements.of(value.op.operands[piece.operand], compose(piece.index_map, at))
        builder.store_value(value, shifted(piece, at), element)


def lower_copy(step: Copy, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns one kernel, which writes a value to the place of a root."""
    value, point, target = step.value, here(step.value.shape), memory.roots[step.root]
    return [lower_store(memory, "copy", value.op, value.shape, target, place_in(target, point, value.shape),
                        lambda builder: builder.elements.of(value, point), is_computed=False)]


def lower_check(step: Guards, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns one kernel, which stores nothing: it fails if a condition does not hold."""
    assert isinstance(step.op, Guard)
    condition, = step.op.operands
    builder = KernelBuilder(memory, condition.shape, {step.op: None})
    with builder.elements.body() as body:
        holds = builder.elements.of(condition, here(condition.shape))
        builder.elements.require(holds, Literal(0, int64), ConditionFailure(step.op))
    loops = nested(loops_over(condition.shape), body.list)
    return [builder.finish("check", loops, product(condition.shape), [step.op])]


# -- views of several parts ----------------------------------------------------------------------------------------


def lower_segments(step: Segments, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns one kernel, or one for each part if they share too few rows or there is only one. Parts that are already
    stored need none.
    """
    pieces = [piece for piece in segments_of(step.op) if not is_inside(step.op, piece, memory.inside)]
    if not step.together or len(pieces) < 2:
        return [_alone(step, memory, piece) for piece in pieces]
    return [_together(step, memory, pieces)]


def shifted(piece: Piece, point: Coordinates) -> Coordinates:
    """Returns the position in the whole of a point of a part."""
    return tuple([start + entry for start, entry in zip(piece.starts, point, strict=True)])


def _alone(step: Segments, memory: BufferAssignment, piece: Piece) -> LoweredKernel:
    output, point = step.op.outputs[0], here(piece.extents)
    place = memory.position(output, shifted(piece, point))
    return lower_store(memory, "piece", step.op, piece.extents, memory.of(output), place,
                       lambda builder: _element(builder, step, piece, point))


def _together(step: Segments, memory: BufferAssignment, pieces: Sequence[Piece]) -> LoweredKernel:
    output, shared = step.op.outputs[0], step.shared
    rank = len(output.shape)
    loops = [[(LoopIndex(rank * (number + 1) + axis), piece.extents[axis]) for axis in range(shared, rank)]
             for number, piece in enumerate(pieces)]
    more = [entry for entries in loops for entry in entries]
    builder = KernelBuilder(memory, output.shape[:shared], {step.op: None}, more)
    with builder.elements.body() as body:
        builder.buffer(memory.of(output), "out")
        for number, piece in enumerate(pieces):
            point = (*here(output.shape[:shared]), *[index.dim for index, _ in loops[number]])
            with builder.elements.body() as part:
                element = _element(builder, step, piece, point)
                builder.store_value(output, shifted(piece, point), element)
            for statement in nested(loops[number], part.list, parallel=False):
                body.add(statement)
    outer = nested(loops_over(output.shape[:shared]), body.list, vector=False)
    return builder.finish("pieces", outer, product(output.shape), [step.op])


def _element(builder: KernelBuilder, step: Segments, piece: Piece, point: Coordinates) -> Scalar:
    if piece.index_map is None or piece.operand is None:
        return Literal(piece.constant, step.op.outputs[0].dtype)
    return builder.elements.of(step.op.operands[piece.operand], compose(piece.index_map, point))
