"""Whole ops: those that native code of the runtime computes as a whole.

Their code stands in the place of a step's runner. The step's table of sizes says where its operands and outputs are
among the buffers of the step, and how long they are.

>>> run_positions.name
'run_positions'
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder
from nervure.transformers.cpu.compile.llvm.types import I8, I64
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Table, Word, native
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StepRecord


@native
def run_positions(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
                  status: At[Status]) -> None:
    """Writes each position as often as its count says, and the number of all.

    The sizes are the places of counts, positions and their number, the number of counts, whether they are bool, and
    the bound. A negative count, or more positions than the bound, ends the call: ``status`` has the position.
    """
    sizes = Table(step["sizes"], I64)
    counts, positions = table[sizes[0]], Table(table[sizes[1]], I64)
    length, is_bool, bound = sizes[3], sizes[4].not_equal(0), sizes[5]
    total = LocalVariable(b.constant(I64, 0))
    with b.if_(is_bool), b.loop(0, length) as loop:
        positions[total.value] = loop.index  # there is room for as many as there are counts
        total.value = total.value + b.load(b.offset(counts, loop.index, I8), I8).cast("zext", I64)
    with b.if_(~is_bool), b.loop(0, length) as loop:
        times = Table(counts, I64)[loop.index]
        with b.if_((times < 0) | (times > bound - total.value)):
            status["code"], status["op"], status["position"], status["value"] = 1, 0, loop.index, times
            b.ret()
        with b.loop(0, times) as inner:
            positions[total.value + inner.index] = loop.index
        total.value = total.value + times
    Table(table[sizes[2]], I64)[0] = total.value
