"""How the parallel extent of a step is cut: into slices of about equal length that start at multiples of its grain.

>>> [bounds(10, 4, index, 3) for index in range(3)]
[(0, 0), (0, 4), (4, 10)]
>>> [bounds(1000, 64, index, 2) for index in range(2)]
[(0, 448), (448, 1000)]

A kernel's results do not depend on where it is cut; only time does.
"""

from __future__ import annotations

from nervure.transformers.cpu.llvm.builder import Builder, Register
from nervure.transformers.cpu.llvm.types import I64, PTR
from nervure.transformers.cpu.runtime.records import At, Step


def bounds(extent: int, grain: int, index: int, count: int) -> tuple[int, int]:
    """The slice ``index`` of ``count``."""
    begin = extent * index // count // grain * grain
    end = extent if index == count - 1 else extent * (index + 1) // count // grain * grain
    return begin, end


def run_slice() -> Builder:
    """``run_slice(step, table, index, count, scratch, status)``: one slice of a step by the calling thread."""
    b = Builder("run_slice", [("record", PTR), ("table", PTR), ("index", I64), ("count", I64), ("scratch", PTR),
                              ("status", PTR)], attributes="nounwind")
    record, table, index, count, scratch, status = b.arguments
    step = At(Step, record)
    extent, grain = step["extent"], step["grain"]
    begin = _cut(b, extent, grain, index, count)
    last = index.equal(count - 1)
    end = b.where(last, extent, _cut(b, extent, grain, index + 1, count))
    with b.if_(begin < end):
        b.call_pointer(step["kernel"], None, table, step["sizes"], begin, end, scratch, status)
    b.ret()
    return b


def _cut(b: Builder, extent: Register, grain: Register, index: Register, count: Register) -> Register:
    place = divide(b, extent * index, count)
    return divide(b, place, grain) * grain


def divide(b: Builder, x: Register, y: Register) -> Register:
    """x // y of integers that are not negative; y is not 0."""
    return b.emit(I64, f"udiv i64 {x.text}, {y.text}")
