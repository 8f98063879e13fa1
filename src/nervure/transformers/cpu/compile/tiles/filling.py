"""Tables of offsets: an affine expression of the indices of three loops, at the places that another one gives.

The innermost loop goes along the table, in vectors. Nothing outside of its entries is written.

>>> text = filling_function(64).text()
>>> "store <8 x i64>" in text, "masked.store.v8i64" in text
(True, True)
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder
from nervure.transformers.cpu.compile.llvm.types import I64, PTR
from nervure.transformers.cpu.compile.tiles.transpose import first_lanes

FILLING = "fill_offsets"
"""The name of the function."""

ARGUMENTS = (("table", PTR), ("first", I64), ("outer", I64), ("outer_place", I64), ("outer_step", I64),
             ("rows", I64), ("row_place", I64), ("row_step", I64), ("count", I64), ("step", I64))
"""Each of the outer loops has its turns, and what a turn adds to the place and to the value of an entry."""


def filling_function(vector_bytes: int) -> Builder:
    """Returns the function that fills a table, for vectors of ``vector_bytes``."""
    lanes = I64.lanes_in(vector_bytes)
    b = Builder(FILLING, ARGUMENTS, attributes="nounwind")
    table, first, outer, outer_place, outer_step, rows, row_place, row_step, count, step = b.arguments
    along = b.vector(I64.vector(lanes), range(lanes)) * b.splat(step, lanes)
    further = b.splat(step * lanes, lanes)
    with b.loop(0, outer) as turn, b.loop(0, rows) as row:
        start = b.offset(table, turn.index * outer_place + row.index * row_place, I64)
        value = first + turn.index * outer_step + row.index * row_step
        with b.loop(0, count - (lanes - 1), lanes, [b.splat(value, lanes) + along]) as loop:
            b.store(loop.carried[0], b.offset(start, loop.index, I64), 8)
            loop.carried = [loop.carried[0] + further]
        rest = count - loop.index
        with b.if_(rest > 0):
            b.store_masked(loop.results[0], b.offset(start, loop.index, I64), first_lanes(b, rest, lanes))
    b.ret()
    return b
