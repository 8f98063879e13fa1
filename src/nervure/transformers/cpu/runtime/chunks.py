"""Chunks: the parallel extent of a step, cut into parts of about equal length that start at multiples of its alignment.

Where the extent is cut affects only the time, never the results.

>>> [bounds(10, 4, index, 3) for index in range(3)]
[(0, 0), (0, 4), (4, 10)]
>>> [bounds(1000, 64, index, 2) for index in range(2)]
[(0, 448), (448, 1000)]

Threads work on different positions at the same time. The failure with the smallest position is kept of those that
chunks report (code, op, position and value), whichever thread writes first, and the step in which it happens runs to
its end. So an error is the same for any number of threads.
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.shared import lock, unlock
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.transformers.cpu.runtime.native import At, Pointer, Word, greatest, hot, least
from nervure.transformers.cpu.runtime.records import Status, StepRecord
from nervure.transformers.cpu.runtime.thresholds import LONGEST, SHARED_FROM, SHARED_PART, WORTHWHILE

MOST = 4095
"""The most chunks of a step, whose numbers have 12 bits."""

_CHUNKS_PER_THREAD = 8  # so that a late or slow thread costs little


def bounds(extent: int, alignment: int, index: int, count: int) -> tuple[int, int]:
    """Returns the bounds of the chunk ``index`` of ``count``, which start at multiples of ``alignment``."""
    begin = extent * index // count // alignment * alignment
    end = extent if index == count - 1 else extent * (index + 1) // count // alignment * alignment
    return begin, end


@hot
def chunk_count(b: Builder, step: At[StepRecord], threads: Word) -> Word:
    """Returns the number of chunks into which a step is cut, at least 1."""
    time, alignment = step["nanoseconds"], step["alignment"]
    most = least(b, (step["extent"] + alignment - 1).quotient(alignment), MOST)
    bounded = time.quotient(LONGEST) + 1
    each = greatest(b, least(b, time.quotient(threads * WORTHWHILE), _CHUNKS_PER_THREAD), 1)
    is_shared = (threads > 1) & (time >= SHARED_FROM) & step["ordered"].equal(0)
    shares = least(b, threads, time.quotient(SHARED_PART))
    count = b.where(is_shared, greatest(b, bounded, shares * each), bounded)
    return greatest(b, least(b, count, most), 1)


@hot
def run_chunk(b: Builder, step: At[StepRecord], table: Pointer, index: Word, count: Word, scratch: Pointer,
              status: At[Status]) -> None:
    """Runs one chunk of a ``step`` on the calling thread."""
    extent, alignment = step["extent"], step["alignment"]
    begin = _cut(b, extent, alignment, index, count)
    last = index.equal(count - 1)
    end = b.where(last, extent, _cut(b, extent, alignment, index + 1, count))
    with b.if_(begin < end):
        b.call_pointer(step["kernel"], None, table, step["sizes"], begin, end, scratch, status.pointer)


def _cut(b: Builder, extent: Register, alignment: Register, index: Register, count: Register) -> Register:
    place = (extent * index).quotient(count)
    return place.quotient(alignment) * alignment


def report(b: Builder, status: Register, code: Operand, op: Operand, position: Operand, value: Operand) -> None:
    """Emits code that reports a failure; ``code`` is above 0. A chunk may report once or often, in any order."""
    record = At(Status, status)
    code, op, position, value = [x if isinstance(x, Register) else b.constant(I64, x)
                                 for x in (code, op, position, value)]
    lock(b, record.place("lock"))
    with b.if_(record["code"].equal(0) | (position < record["position"])):
        record["op"], record["position"], record["value"] = op, position, value
        record["code"] = code
    unlock(b, record.place("lock"))
