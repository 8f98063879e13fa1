"""Branches and loops at run time: programs within a call, whose arguments and results move from iteration to iteration.

The step of a region has a runner in place of a kernel, and a RegionRecord. The runner takes one block of memory for all
iterations, points the tables of arguments and results at what the next iteration reads and writes, and runs the steps
of its program; no Python runs in between. Nothing is copied: a slice is read, and what is stacked is written, where it
lies, and a carry is written where the next iteration finds it. A carry that the body updates in place lies in the
result from the start, so that an iteration touches only what it changes.

>>> [each.name for each in (run_branch, run_scan, run_while, run_scalar_while)]
['run_branch', 'run_scan', 'run_while', 'run_scalar_while']

A failure, or an interrupt, ends the loop with the call. Signals are looked for as between any steps of a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR
from nervure.transformers.cpu.runtime.call import LINE, ROOM, bind, run_steps
from nervure.transformers.cpu.runtime.memory_pool import borrowed, fail_without_memory
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Table, Word, greatest, least, native
from nervure.transformers.cpu.runtime.records import (
    CallRecord,
    ProgramRecord,
    RegionRecord,
    Status,
    StatusCode,
    StepRecord,
)
from nervure.transformers.cpu.runtime.thread_pool import poll
from nervure.transformers.cpu.runtime.thresholds import LOOK_EVERY

ITERATION = 50
"""The nanoseconds of an iteration, besides its steps, by which a loop of short ones looks at the clock in time."""


class _Memory(NamedTuple):
    """The memory of one run of a region.

    It has tables for arguments, results and current carries, and one for the addresses of buffers; ``spare`` is for
    carries between iterations, ``counter`` for the number of a scan's position. The rest are the sizes of the step.
    """

    region: At[RegionRecord]
    arguments: Table
    results: Table
    current: Table
    addresses: Table
    spare: Register
    arena: Register
    counter: Table
    trips: Register
    carry_bytes: Table
    argument_strides: Table
    result_strides: Table

    def updated(self, carry: Register) -> Register:
        """Returns 1 for a carry that the body updates in place, else 0."""
        return Table(self.region["updated"], I64)[carry]


@contextmanager
def _opened(b: Builder, step: At[StepRecord], status: At[Status]) -> Iterator[_Memory]:
    """Yields the memory of a region for the code built inside. If there is none, the call fails.

    The step that is running stays the region's for the call outside.
    """
    region, outside = At(RegionRecord, step["kernel"]), status["step"]
    arguments, results, carries = region["argument_count"], region["result_count"], region["carries"]
    words = arguments + results + carries + region["buffer_count"]
    spare_at = (words * 8 + (LINE - 1)) & -LINE
    arena_at = spare_at + region["spare_bytes"]
    counter = Table(b.allocate(I64), I64)
    with borrowed(b, arena_at + region["arena_bytes"], ROOM) as block:
        fail_without_memory(b, block, status)
        table, sizes = Table(block), Table(step["sizes"], I64)
        yield _Memory(region, table, table.after(arguments), table.after(arguments + results),
                      table.after(arguments + results + carries), b.offset(block, spare_at, I8),
                      b.offset(block, arena_at, I8), counter, sizes[0], sizes.after(1), sizes.after(carries + 1),
                      sizes.after(carries + arguments + 1))
    status["step"] = outside


def _run(b: Builder, memory: _Memory, number: Operand, call: At[CallRecord], status: At[Status],
         place: Operand = 0) -> None:
    """Emits code that runs one of a region's programs on the arguments and results that the tables have.

    The program is the one of this ``number``; its own values lie from a ``place`` in the arena on. It is part of a
    ``call``, whose ``status`` it changes.
    """
    program = At(ProgramRecord, Table(memory.region["programs"])[number])
    nothing, arena = b.constant(PTR, 0), b.offset(memory.arena, place, I8)
    bind(b, program, memory.arguments.pointer, memory.results.pointer, nothing, arena, memory.addresses)
    run_steps(b, program, memory.addresses, call, status)


def _look(b: Builder, call: At[CallRecord], status: At[Status]) -> None:
    """Emits code that counts the time of an iteration, and looks for signals now and then."""
    call["unseen"] = call["unseen"] + ITERATION
    with b.if_(call["unseen"] > LOOK_EVERY):
        poll(b, call, status)


def _point_at_wholes(b: Builder, memory: _Memory, table: Table) -> None:
    """Emits code that points all arguments and results at the first byte of their buffers."""
    for target, kind in ((memory.arguments, "argument"), (memory.results, "result")):
        with b.loop(0, memory.region[f"{kind}_count"]) as loop:
            target[loop.index] = _place(b, memory, table, f"{kind}s", loop.index)


def _place(b: Builder, memory: _Memory, table: Table, field: str, number: Register) -> Register:
    """Returns the address of a buffer of the step, by its number among the places of a field; of the counter at -1."""
    place = Table(memory.region[field], I64)[number]
    return b.where(place < 0, memory.counter.pointer, table[greatest(b, place, 0)])


def _first_carry(b: Builder, memory: _Memory, table: Table, carry: Register) -> Register:
    """Returns the address of a carry before the first iteration: of its result, if it is updated there."""
    first = LocalVariable(_place(b, memory, table, "arguments", carry))
    with b.if_(memory.updated(carry).not_equal(0)):
        result = _place(b, memory, table, "results", carry)
        _copy(b, result, first.value, memory.carry_bytes[carry])
        first.value = result
    return first.value


def _is_done(status: At[Status]) -> Register:
    return status["code"].equal(StatusCode.DONE)


def _copy(b: Builder, target: Register, source: Register, size: Register) -> None:
    b.call("memcpy", PTR, target, source, size)


# -- branches --------------------------------------------------------------------------------------------------------


@native
def run_branch(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
               status: At[Status]) -> None:
    """Runs the branch that a value in the ``table`` of buffers chooses, as part of a ``call``."""
    with _opened(b, step, status) as memory:
        region = memory.region
        _point_at_wholes(b, memory, table)
        value = table[region["choice"]]
        number = b.choose(region["is_bool"].equal(1), lambda: 1 - b.load(value, I8).cast("zext", I64),
                          lambda: b.load(value, I64))
        _run(b, memory, least(b, greatest(b, number, 0), region["program_count"] - 1), call, status)


# -- loops -----------------------------------------------------------------------------------------------------------


@native
def run_scan(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
             status: At[Status]) -> None:
    """Runs a body once for each slice in the ``table`` of buffers, as part of a ``call``."""
    with _opened(b, step, status) as memory:
        region, trips = memory.region, memory.trips
        with b.if_(region["preheader"].not_equal(0) & (trips > 0)):
            _point_at_wholes(b, memory, table)
            _run(b, memory, 1, call, status)
        _start(b, memory, table)
        done = LocalVariable(b.constant(I64, 0))
        with b.while_(lambda: (done.value < trips) & _is_done(status)):
            number = done.value
            position = _position(b, memory, number)
            memory.counter[0] = position
            _point_at_slices(b, memory, table, position)
            _point_at_carries(b, memory, table, number)
            _run(b, memory, 0, call, status)
            done.value = number + 1
            _look(b, call, status)
        with b.if_(trips.equal(0)):
            _finish(b, memory, table)


def _position(b: Builder, memory: _Memory, number: Register) -> Register:
    """Returns the number of the slice that an iteration has."""
    return b.where(memory.region["reverse"].equal(0), number, memory.trips - 1 - number)


def _start(b: Builder, memory: _Memory, table: Table) -> None:
    """Emits code that sets the current carries to the first ones, which are copied to where they are kept, if any."""
    region = memory.region
    with b.loop(0, region["carries"]) as loop:
        first = LocalVariable(_first_carry(b, memory, table, loop.index))
        saved, size = Table(region["saved"], I64)[loop.index], memory.carry_bytes[loop.index]
        with b.if_((saved >= 0) & (memory.trips > 0)):
            kept = b.offset(table[saved], _position(b, memory, b.constant(I64, 0)) * size, I8)
            _copy(b, kept, first.value, size)
            first.value = kept
        memory.current[loop.index] = first.value


def _point_at_slices(b: Builder, memory: _Memory, table: Table, position: Register) -> None:
    """Emits code that points arguments and results behind the carries at their slices."""
    region = memory.region
    for target, kind, strides in ((memory.arguments, "argument", memory.argument_strides),
                                  (memory.results, "result", memory.result_strides)):
        total = region[f"{kind}_count"]
        with b.loop(region["carries"], total) as loop:
            whole = _place(b, memory, table, f"{kind}s", loop.index)
            target[loop.index] = b.offset(whole, position * strides[loop.index], I8)


def _point_at_carries(b: Builder, memory: _Memory, table: Table, number: Register) -> None:
    """Emits code that points at the current carries, and at the places of the next ones.

    These are where carries are kept, else by turns spare memory and the result, which the last iteration writes. A
    carry that is updated in place stays where it is.
    """
    region, left = memory.region, memory.trips - 1 - number
    spare = LocalVariable(memory.spare)
    with b.loop(0, region["carries"]) as loop:
        size, saved = memory.carry_bytes[loop.index], Table(region["saved"], I64)[loop.index]
        result = _place(b, memory, table, "results", loop.index)
        following = LocalVariable(b.where((left & 1).equal(0), result, spare.value))
        with b.if_((saved >= 0) & (left > 0)):
            following.value = b.offset(table[saved], _position(b, memory, number + 1) * size, I8)
        with b.if_((saved >= 0) & left.equal(0)):
            following.value = result
        room = LocalVariable((size + (LINE - 1)) & -LINE)
        with b.if_(memory.updated(loop.index).not_equal(0)):
            following.value, room.value = result, b.constant(I64, 0)
        memory.arguments[loop.index] = memory.current[loop.index]
        memory.results[loop.index] = following.value
        memory.current[loop.index] = following.value
        spare.value = b.offset(spare.value, room.value, I8)


def _finish(b: Builder, memory: _Memory, table: Table) -> None:
    """Emits code that copies the current carries to the results, unless they lie there."""
    with b.loop(0, memory.region["carries"]) as loop, b.if_(memory.updated(loop.index).equal(0)):
        size = memory.carry_bytes[loop.index]
        _copy(b, _place(b, memory, table, "results", loop.index), memory.current[loop.index], size)


@native
def run_while(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
              status: At[Status]) -> None:
    """Runs a condition, and a body as long as it holds, on buffers of the ``table``, as part of a ``call``."""
    with _opened(b, step, status) as memory:
        region, flag = memory.region, b.allocate(I64)
        with b.loop(0, region["argument_count"]) as loop:
            memory.arguments[loop.index] = _place(b, memory, table, "arguments", loop.index)
        with b.loop(0, region["carries"]) as loop:
            memory.arguments[loop.index] = _first_carry(b, memory, table, loop.index)
        number, goes_on = LocalVariable(b.constant(I64, 0)), LocalVariable(b.constant(I64, 1))
        with b.while_(lambda: goes_on.value.not_equal(0)):
            memory.results[0] = flag
            _run(b, memory, 0, call, status, region["condition_at"])
            holds = b.load(flag, I8).not_equal(0)
            goes_on.value = (holds & _is_done(status)).cast("zext", I64)
            with b.if_(goes_on.value.not_equal(0)):
                _point_at_turns(b, memory, number.value & 1)
                with b.if_(region["preheader"].not_equal(0) & number.value.equal(0)):
                    _run(b, memory, 2, call, status)
                _run(b, memory, 1, call, status)
                number.value = number.value + 1
                with b.loop(0, region["carries"]) as loop:
                    memory.arguments[loop.index] = memory.results[loop.index]
                _look(b, call, status)
                goes_on.value = _is_done(status).cast("zext", I64)
        with b.if_(_is_done(status)), b.loop(0, region["carries"]) as loop, b.if_(memory.updated(loop.index).equal(0)):
            size = memory.carry_bytes[loop.index]
            _copy(b, _place(b, memory, table, "results", loop.index), memory.arguments[loop.index], size)


@native
def run_scalar_while(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
                     status: At[Status]) -> None:
    """Runs a kernel that is a whole loop over single numbers, on buffers of the ``table``, as part of a ``call``.

    The kernel returns now and then. In between the carries lie where the results do.
    """
    with _opened(b, step, status) as memory:
        region, flag = memory.region, b.allocate(I64)
        with b.loop(0, region["argument_count"]) as loop:
            memory.arguments[loop.index] = _place(b, memory, table, "arguments", loop.index)
        with b.loop(0, region["carries"]) as loop:
            target = _place(b, memory, table, "results", loop.index)
            size = memory.carry_bytes[loop.index]
            _copy(b, target, memory.arguments[loop.index], size)
            memory.arguments[loop.index] = target
        memory.results[0] = flag
        goes_on = LocalVariable(b.constant(I64, 1))
        with b.while_(lambda: goes_on.value.not_equal(0)):
            _run(b, memory, 0, call, status)
            goes_on.value = (b.load(flag, I8).not_equal(0) & _is_done(status)).cast("zext", I64)


def _point_at_turns(b: Builder, memory: _Memory, turn: Register) -> None:
    """Emits code that points results at the spare memory, of which each carry has two places by turns.

    A carry that is updated in place stays where it is.
    """
    spare = LocalVariable(memory.spare)
    with b.loop(0, memory.region["carries"]) as loop:
        size = LocalVariable((memory.carry_bytes[loop.index] + (LINE - 1)) & -LINE)
        following = LocalVariable(b.offset(spare.value, turn * size.value, I8))
        with b.if_(memory.updated(loop.index).not_equal(0)):
            following.value, size.value = memory.arguments[loop.index], b.constant(I64, 0)
        memory.results[loop.index] = following.value
        spare.value = b.offset(spare.value, size.value + size.value, I8)
