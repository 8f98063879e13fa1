"""Row kernels that also reduce over the rows: a turn of the loop takes the rows that one lane of a reduction adds up.

A reduction over the rows numbers them, divides them into blocks of 4,096, and in each block adds up the rows k, k + 64,
k + 128, ... in order for each of 64 lanes. So the loop that threads share runs over the lanes of all blocks, and one
inside of it over the rows of a lane. The totals of a lane, as many as a row has elements, stay in the cache meanwhile.
A second kernel combines the lanes by the tree and the blocks in order, as any reduction does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nervure.ir.op import Value
from nervure.kernel.analysis import Level
from nervure.kernel.ir import BLOCK, LANES, For, Load, Reduce, Scalar, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.kernels import Lowered, Maker, Memory, loops_over, nested, row_position, unit
from nervure.kernel.lower.rows import Rows
from nervure.kernel.lower.totals import Totals, note
from nervure.kernel.points import Flat, through
from nervure.memory.storage import Storage
from nervure.types.dim import DimLike, dim_min, index, product

if TYPE_CHECKING:
    from nervure.kernel.cluster.steps import Loops


def lower_cross_rows(step: Loops, memory: Memory) -> list[Lowered]:
    """Two kernels."""
    first = _Lanes(step, memory)
    return [first.lowered(), first.combined()]


class _Lanes(Rows):
    """The row kernel of such a step, whose rows are found by a lane and a turn, and the kernel that follows it."""

    def __init__(self, step: Loops, memory: Memory) -> None:
        rank, rows = len(step.shape), product(step.kept)
        self._rows = rows
        self._lane, self._turn = LoopIndex(rank), LoopIndex(rank + 1)
        lane, turn = self._lane.dim, self._turn.dim
        self._blocks = -(-rows // BLOCK)
        block: DimLike = 0 if self._blocks == 1 else lane // LANES
        first = lane if self._blocks == 1 else lane % LANES
        self._turns = (dim_min(BLOCK, rows - block * BLOCK) - first + (LANES - 1)) // LANES
        row = through(Flat(block * BLOCK + first + turn * LANES), step.kept)
        self._partial: list[tuple[Value, str, Storage]] = []
        self._lanes = dim_min(self._blocks * LANES, rows)  # of less than 64 rows each is a lane
        more = [(self._lane, self._lanes), (self._turn, BLOCK // LANES)]
        places = {LoopIndex(axis): entry for axis, entry in zip(step.kept_axes, row, strict=True)}
        super().__init__(step, memory, more, places)
        self._row_length = product([step.shape[axis] for axis in self._reduced])

    def lowered(self) -> Lowered:
        """The rows, and the totals of each lane."""
        rows = self._row()
        with self._elements.body() as body:
            for _, combine, place in self._partial:
                with self._elements.body() as empty:
                    self._maker.store(self._maker.buffer(place), self._own_place(), unit(combine, place.dtype))
                loops = loops_over(self._step.shape, self._reduced)
                body.list.extend(nested(loops, empty.list, parallel=False))
            body.list.append(For(self._turn, self._turns, tuple(rows)))
        loop = For(self._lane, self._lanes, tuple(body.list), parallel=True)
        return self._maker.finish("rows", [loop], product(self._step.shape), self._step.ops)

    def _own_place(self) -> DimLike:
        """Where the totals of the lane are."""
        return self._lane.dim * self._row_length + row_position(self._step.shape, self._reduced)

    def _stores(self, phase: int) -> bool:
        found = super()._stores(phase)
        if phase != self._step.last_run:
            return found
        totals = Totals(self._maker, self._step.cross_row, self._point)
        for value, combine, total in zip(totals.places, totals.combine, totals.values, strict=True):
            lengths = [self._step.shape[axis] for axis in self._reduced]
            place = self._memory.temporary(total.dtype, (self._blocks * LANES, *lengths), value)
            self._partial.append((value, combine, place))
            self._maker.store(self._maker.buffer(place, "inout"), self._own_place(), total, combine)
        return True

    def combined(self) -> Lowered:
        """The lanes and blocks of each column combined."""
        step, memory, rank = self._step, self._memory, len(self._step.shape)
        lane = LoopIndex(rank + 1)
        block: DimLike = 0 if self._blocks == 1 else LoopIndex(rank).dim
        maker = Maker(memory, step.shape, step.levels, [(LoopIndex(rank), self._blocks), (lane, LANES)])
        elements, column = maker.elements, row_position(step.shape, self._reduced)
        results: list[Scalar] = []
        with elements.body() as body:
            for value, combine, place in self._partial:
                with elements.body() as inner:
                    part = elements.load(maker.buffer(place), (block * LANES + lane.dim) * self._row_length + column)
                total = Variable(place.dtype)
                lanes = dim_min(LANES, self._rows - block * BLOCK)
                reduce = Reduce((total,), (combine,), ((lane, lanes),), tuple(inner.list), (part,))
                results.append(self._over_blocks(maker, value, combine, reduce, column))
            note(elements, [value for value, _, _ in self._partial], results)
            point = tuple([index(axis) for axis in self._reduced])
            for value in step.stored:
                if step.levels[value.op] is Level.CROSS_ROW:
                    buffer = maker.buffer(memory.of(value), "out")
                    maker.store(buffer, memory.position(value, point), elements.rows[value])
        loops = loops_over(step.shape, self._reduced)
        return maker.finish("columns", nested(loops, body.list), self._row_length * self._blocks * LANES,
                            step.cross_row)

    def _over_blocks(self, maker: Maker, value: Value, combine: str, reduce: Reduce, column: DimLike) -> Scalar:
        """The totals of the blocks, of which each is this reduction, combined in order."""
        statements, (total,) = maker.elements.statements, reduce.results
        if self._blocks == 1:
            statements.add(reduce)
            return total
        lengths = tuple([self._step.shape[axis] for axis in self._reduced])
        sums = maker.buffer(self._memory.temporary(total.dtype, lengths, value), "inout")
        maker.store(sums, column, unit(combine, total.dtype))
        with maker.elements.body() as turn:
            turn.add(reduce)
            maker.store(sums, column, total, combine)
        statements.add(For(LoopIndex(len(self._step.shape)), self._blocks, tuple(turn.list)))
        result = Variable(total.dtype)
        statements.add(Load(result, sums, maker.elements.address(column)))
        return result

