"""How the parallel extent of a step is cut: into slices of about equal length that start at multiples of its grain.

>>> [bounds(10, 4, index, 3) for index in range(3)]
[(0, 0), (0, 4), (4, 10)]
>>> [bounds(1000, 64, index, 2) for index in range(2)]
[(0, 448), (448, 1000)]

A kernel's results do not depend on where it is cut; only time does.
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I64, PTR
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.records import Step

MOST = 4095
"""Slices of a step; each has a number of 12 bits."""

LONGEST = 5_000_000
"""Estimated nanoseconds of a slice: short enough that a call is interrupted soon, even where the estimate is wrong."""

SHARED_FROM = 20_000
"""Estimated nanoseconds from which a step is shared with a team that is awake."""

_WORTHWHILE = 32_000        # nanoseconds of a slice: a shorter one costs more to hand out than it balances
_SLICES_PER_THREAD = 8      # enough that a thread which is late or slow costs little


def bounds(extent: int, grain: int, index: int, count: int) -> tuple[int, int]:
    """The slice ``index`` of ``count``."""
    begin = extent * index // count // grain * grain
    end = extent if index == count - 1 else extent * (index + 1) // count // grain * grain
    return begin, end


def slice_count() -> Builder:
    """``slice_count(step, threads)``: into how many slices a step is cut, at least 1."""
    b = Builder("slice_count", [("record", PTR), ("threads", I64)], result=I64, attributes="nounwind")
    step, threads = At(Step, b.arguments[0]), b.arguments[1]
    time, grain = step["nanoseconds"], step["grain"]
    most = least(b, divide(b, step["extent"] + grain - 1, grain), MOST)
    bounded = divide(b, time, b.constant(I64, LONGEST)) + 1
    each = greatest(b, least(b, divide(b, time, threads * _WORTHWHILE), _SLICES_PER_THREAD), 1)
    is_shared = (threads > 1) & (time >= SHARED_FROM) & step["ordered"].equal(0)
    count = b.where(is_shared, greatest(b, bounded, threads * each), bounded)
    b.ret(greatest(b, least(b, count, most), 1))
    return b


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


def least(b: Builder, x: Register, y: Operand) -> Register:
    """The smaller of two signed integers."""
    return b.where(x < y, x, y)


def greatest(b: Builder, x: Register, y: Operand) -> Register:
    """The greater of two signed integers."""
    return b.where(x > y, x, y)
