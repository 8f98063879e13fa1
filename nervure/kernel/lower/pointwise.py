"""Loops without reductions: every op at every point; copies are such loops, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nervure.errors import InternalError
from nervure.ir.op import Value
from nervure.kernel.analysis import OpKind, segments_of
from nervure.kernel.ir import Buffer
from nervure.kernel.lower.kernels import Lowered, Maker, Memory, here, loops_over, lower_store, nested
from nervure.kernel.lower.segments import shifted
from nervure.kernel.points import compose, position
from nervure.types.dim import product

if TYPE_CHECKING:
    from nervure.kernel.cluster.steps import Copy, Loops


def lower_pointwise(step: Loops, memory: Memory) -> list[Lowered]:
    """One kernel."""
    maker = Maker(memory, step.shape, step.levels)
    elements, point = maker.elements, here(step.shape)
    with elements.body() as body:
        for op in step.ops:  # in order: a chain of ops is no chain of calls
            for value in op.outputs if memory.ops.kind(op) is not OpKind.SEGMENTS else ():
                elements.of(value, point)
        for value in step.stored:
            buffer = maker.buffer(memory.of(value), "out")
            if memory.ops.kind(value.op) is OpKind.SEGMENTS:
                _store_parts(step, maker, value, buffer)
            else:
                maker.store(buffer, memory.position(value, point), elements.of(value, point))
    return [maker.finish("pointwise", nested(loops_over(step.shape), body.list), product(step.shape), step.ops)]


def _store_parts(step: Loops, maker: Maker, value: Value, buffer: Buffer) -> None:
    """Stores an element of each part of a view."""
    for piece in segments_of(value.op):
        at = step.row_point(piece.extents)
        if at is None or piece.index_map is None or piece.operand is None:
            raise InternalError(f"a part of {value.op!r} is not over the loops of {step}")
        element = maker.elements.of(value.op.operands[piece.operand], compose(piece.index_map, at))
        maker.store(buffer, maker.memory.position(value, shifted(piece, at)), element)


def lower_copy(step: Copy, memory: Memory) -> list[Lowered]:
    """One kernel, which writes a value where a root wants it."""
    value, point = step.value, here(step.value.shape)
    return [lower_store(memory, "copy", value.op, {}, value.shape, memory.roots[step.root],
                        position(point, value.shape), lambda maker: maker.elements.of(value, point))]
