"""Reductions with few or long rows: threads share the blocks of a row, whose totals are then combined in groups.

The first kernel runs over blocks and stores a total for each, the second combines the totals and computes the values
derived from them. The order in which elements are combined is that of a row kernel, so the bits are the same.

Where a block is whole rows of the innermost axes, each of these has an index: an operand in another order is then read
row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.op import Value
from nervure.kernel.analysis import Level, OpKind
from nervure.kernel.cluster.steps import Loops
from nervure.kernel.coordinates import Flat, Point, position, through
from nervure.kernel.ir import BLOCK, LANES, TOTALS_ORDER, Reduce, Scalar, Variable
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
from nervure.types.shape import Shape


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
        self._inner = _inner(step.shape, self._reduced)
        self._size = product([step.shape[axis] for axis in self._reduced])
        self._count = -(-self._size // BLOCK)
        self._partial: list[tuple[Value, str, Storage]] = []

    def lowered(self) -> LoweredKernel:
        """Returns the kernel of the blocks' totals."""
        step, rank = self._step, len(self._step.shape)
        block, lane = LoopIndex(rank), LoopIndex(rank + 1)
        inner = loops_over(step.shape, self._inner)
        row = product([length for _, length in inner])
        rows, most = self._size // row, BLOCK // row
        length = rows if self._count == 1 else most if rows % most == 0 else dim_min(most, rows - block.dim * most)
        builder = KernelBuilder(self._memory, step.shape, step.levels, [(block, self._count), (lane, most)])
        elements = builder.elements
        point = self._point(block.dim * most + lane.dim)
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
            elements.statements.add(Reduce(results, totals.combine, ((lane, length), *inner), tuple(iteration.list),
                                           tuple(totals.values)))
            for value, name, result in zip(totals.outputs, totals.combine, results, strict=True):
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
        """Returns the point of the tensor at a place among the reduced axes that are no inner ones."""
        outer = self._reduced[:len(self._reduced) - len(self._inner)]
        if not self._kept and not self._inner:
            return Flat(place)
        found = dict(zip(outer, through(Flat(place), tuple([self._step.shape[axis] for axis in outer])), strict=True))
        return tuple([found.get(axis, index(axis)) for axis in range(len(self._step.shape))])


def _inner(shape: Shape, reduced: Sequence[int]) -> tuple[int, ...]:
    """Returns the innermost of the ``reduced`` axes that have indices of their own.

    Whole rows of them fill a block, and whole groups of lanes a row.
    """
    for first in range(1, len(reduced)):
        row = product([shape[axis] for axis in reduced[first:]])
        if isinstance(row, int) and row and BLOCK % row == 0 and row % LANES == 0:
            return tuple(reduced[first:])
    return ()
