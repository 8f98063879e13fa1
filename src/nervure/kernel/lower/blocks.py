"""Reductions with few or long rows: threads share the blocks of a row, whose totals are then combined in groups.

The first kernel runs over blocks and stores a total for each, the second combines the totals and computes the values
derived from them. The order in which elements are combined is that of a row kernel, so the bits are the same.
"""

from __future__ import annotations

from nervure.ir.op import Value
from nervure.kernel.analysis import Level, OpKind
from nervure.kernel.cluster.steps import Loops
from nervure.kernel.coordinates import Flat, Point, position, through
from nervure.kernel.ir import BLOCK, TOTALS_ORDER, Reduce, Scalar, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.kernel_builder import (
    BufferAssignment,
    KernelBuilder,
    LoweredKernel,
    loops_over,
    nested,
    row_point,
)
from nervure.kernel.lower.rows import Totals, note
from nervure.memory.storage import Storage
from nervure.types.dim import DimLike, dim_min, index, product


def lower_blocks(step: Loops, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns two kernels."""
    assert step.reduced is not None
    first = _Blocks(step, memory)
    return [first.lowered(), first.combined()]


class _Blocks:
    def __init__(self, step: Loops, memory: BufferAssignment) -> None:
        self._step, self._memory = step, memory
        self._reduced = step.reduced or ()
        self._kept = step.kept_axes
        self._row_point = tuple([index(axis) for axis in self._kept])
        self._size = product([step.shape[axis] for axis in self._reduced])
        self._count = -(-self._size // BLOCK)
        self._partial: list[tuple[Value, str, Storage]] = []

    def lowered(self) -> LoweredKernel:
        """Returns the kernel of the blocks' totals."""
        step, rank = self._step, len(self._step.shape)
        block, lane = LoopIndex(rank), LoopIndex(rank + 1)
        length = self._size if self._count == 1 else dim_min(BLOCK, self._size - block.dim * BLOCK)
        builder = KernelBuilder(self._memory, step.shape, step.levels, [(block, self._count), (lane, BLOCK)])
        elements = builder.elements
        point = self._point(block.dim * BLOCK + lane.dim)
        with elements.body() as body:
            with elements.body() as iteration:
                for op in step.ops:
                    for value in op.outputs if step.levels[op] is Level.FULL else ():
                        elements.of(value, point)
                for value in step.stored:
                    if step.levels[value.op] is Level.FULL:
                        builder.store_value(value, point, elements.of(value, point))
                ending = [op for op in step.ops if self._memory.ops.kind(op) is OpKind.REDUCTION]
                totals = Totals(builder, ending, point)
            results = tuple([Variable(value.dtype) for value in totals.values])
            elements.statements.add(Reduce(results, totals.combine, ((lane, length),), tuple(iteration.list),
                                           tuple(totals.values)))
            for value, name, result in zip(totals.places, totals.combine, results, strict=True):
                place = self._memory.temporary(result.dtype, (self._count, *step.kept), value)
                self._partial.append((value, name, place))
                offset = position((block.dim, *self._row_point), place.shape)
                builder.store(builder.buffer(place, "out"), offset, result)
        loops = [(block, self._count), *loops_over(step.shape, self._kept)]
        return builder.finish("blocks", nested(loops, body.list, vector=False), product(step.shape), step.ops)

    def combined(self) -> LoweredKernel:
        """Returns the kernel of the rows' totals, and of the values derived from them."""
        step, rank = self._step, len(self._step.shape)
        block = LoopIndex(rank)
        builder = KernelBuilder(self._memory, step.shape, step.levels, [(block, self._count)])
        elements = builder.elements
        scalars: list[Scalar] = []
        with elements.body() as body:
            for _, combine, place in self._partial:
                with elements.body() as iteration:
                    part = elements.load(builder.buffer(place), position((block.dim, *self._row_point), place.shape))
                result = Variable(place.dtype)
                elements.statements.add(Reduce((result,), (combine,), ((block, self._count),), tuple(iteration.list),
                                               (part,), order=TOTALS_ORDER))
                scalars.append(result)
            note(elements, [entry[0] for entry in self._partial], scalars)
            self._row_ops(builder)
        loops = loops_over(step.shape, self._kept)
        nest = nested(loops, body.list, vector=False, parallel=False)
        return builder.finish("totals", nest, product(step.kept) * self._count, step.ops)

    def _row_ops(self, builder: KernelBuilder) -> None:
        step, elements = self._step, builder.elements
        for op in step.ops:
            if step.levels[op] is Level.ROW and self._memory.ops.kind(op) is OpKind.POINTWISE:
                for value in op.outputs:
                    elements.rows[value] = elements.of(value, row_point(step, value))
        for value in step.stored:
            if step.levels[value.op] is Level.ROW:
                builder.store_value(value, row_point(step, value), elements.rows[value])

    def _point(self, place: DimLike) -> Point:
        """Returns the point of the tensor at a place among the reduced axes."""
        if not self._kept:
            return Flat(place)
        shape = tuple([self._step.shape[axis] for axis in self._reduced])
        inner = dict(zip(self._reduced, through(Flat(place), shape), strict=True))
        return tuple([inner[axis] if axis in inner else index(axis) for axis in range(len(self._step.shape))])
