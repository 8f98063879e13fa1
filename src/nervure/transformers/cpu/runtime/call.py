"""A running call: native code gives the buffers of a program their addresses, then runs its steps in order.

The memory of a call is one block: the addresses of all buffers, the addresses that the current step sees, scratch for
each thread, and the arena in which intermediate values lie.

>>> run_call.name, run_call.is_hot
('run_call', False)
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.shared import fetch_add
from nervure.transformers.cpu.compile.llvm.types import I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.chunks import chunk_count, run_chunk
from nervure.transformers.cpu.runtime.memory_pool import borrowed, note_peak
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Word, hot, native
from nervure.transformers.cpu.runtime.records import (
    FLOATS,
    BufferKind,
    BufferRecord,
    CallRecord,
    PanelRecord,
    ProgramRecord,
    Status,
    StatusCode,
    StepRecord,
)
from nervure.transformers.cpu.runtime.resizing import resized
from nervure.transformers.cpu.runtime.thread_pool import (
    floats_in,
    give_threads,
    now,
    poll,
    share,
    take_threads,
    thread_pool,
)
from nervure.transformers.cpu.runtime.thresholds import LOOK_EVERY, RELEASE_FROM, SHARED_FROM

LINE = 64
"""The bytes of a cache line, to which blocks, scratch and arena are aligned."""

ROOM = 1024
"""The bytes on the stack for the memory of a call; a call that needs more takes a block of the pool."""


@hot
def bind(b: Builder, program: At[ProgramRecord], arguments: Pointer, results: Pointer, variables: Pointer,
         arena: Pointer,
         addresses: Table) -> None:
    """Finds the address of each buffer of ``program`` in this call, and writes it to ``addresses``."""
    tables = (arguments, results, variables)
    bases = Table(b.allocate(PTR, len(tables)))
    for place, table in enumerate(tables):
        bases[place] = table
    buffers = At(BufferRecord, program["buffers"])
    with b.loop(0, program["buffer_count"]) as loop:
        buffer = buffers.element(loop.index)
        kind, number = buffer["kind"], buffer["number"]
        start = b.choose(kind < BufferKind.ARENA,
                         lambda: Table(bases[kind])[number],
                         lambda: b.where(kind.equal(BufferKind.ARENA), arena, number.cast("inttoptr", PTR)))
        addresses[loop.index] = b.offset(start, buffer["offset"], I8)


@native
def run_call(b: Builder, program: At[ProgramRecord], arguments: Pointer, results: Pointer, variables: Pointer,
             status: At[Status]) -> None:
    """Runs a call of ``program`` by a thread that holds the GIL, and releases it if that is worth while.

    If a signal handler has raised, ``status`` says that the call was interrupted, and the exception is set.
    """
    pool, given = thread_pool(b), (program, arguments, results, variables, status)
    with b.if_(program["nanoseconds"] < RELEASE_FROM):
        run(b, *given, 0)
        b.ret()
    on_main_thread = b.call("pthread_self", I64).equal(pool["main"]).cast("zext", I64)
    fetch_add(b, pool.place("calls"), 1)
    state = b.call("PyEval_SaveThread", PTR)
    run(b, *given, on_main_thread)
    b.call("PyEval_RestoreThread", None, state)
    fetch_add(b, pool.place("calls"), -1)


@hot
def run(b: Builder, program: At[ProgramRecord], arguments: Pointer, results: Pointer, variables: Pointer,
        status: At[Status], can_stop: Word) -> None:
    """Runs one call of ``program``, which ends early when a step fails."""
    threads = take_threads(b, program)
    tables_bytes = _round_up((program["buffer_count"] + program["table_count"]) * 8)
    scratch_bytes = program["scratch_bytes"] * threads
    block_bytes = tables_bytes + scratch_bytes + program["arena_bytes"]
    with borrowed(b, block_bytes, ROOM) as block:
        with b.if_(block.equal(0)):
            status["code"] = StatusCode.NO_MEMORY
            give_threads(b, program, threads)
            b.ret()
        note_peak(b, block_bytes + program["result_bytes"])
        scratch = b.offset(block, tables_bytes, I8)
        bind(b, program, arguments, results, variables, b.offset(scratch, scratch_bytes, I8), block)
        call = At(CallRecord, b.allocate(I64, ctypes.sizeof(CallRecord) // 8))
        call["threads"], call["scratch"], call["scratch_bytes"] = threads, scratch, program["scratch_bytes"]
        call["can_stop"], call["unseen"], call["floats"] = can_stop, 0, thread_pool(b).peek("floats")
        with b.if_(can_stop.not_equal(0)):
            call["looked"] = now(b)
        with floats_in(b, call["floats"]):
            run_steps(b, program, block, call, status)
    give_threads(b, program, threads)


@hot
def run_steps(b: Builder, program: At[ProgramRecord], addresses: Table, call: At[CallRecord],
              status: At[Status]) -> None:
    """Runs all steps in order, until one fails, which ``status`` records."""
    table = addresses.after(program["buffer_count"])
    steps = At(StepRecord, program["steps"])
    with b.loop(0, program["step_count"]) as loop, b.if_(status["code"].equal(StatusCode.DONE)):
        step = steps.element(loop.index)
        panel = At(PanelRecord, step["panel"])
        version = b.choose(panel.pointer.equal(0), lambda: b.constant(I64, 0), lambda: _version(b, panel, call))
        made_from = b.choose(panel.pointer.equal(0), lambda: b.constant(I64, -1), lambda: panel["made_from"])
        with b.if_(version.not_equal(made_from)):
            status["step"] = loop.index
            _run_step(b, step, addresses, table, call, status)
            with b.if_(panel.pointer.not_equal(0) & status["code"].equal(StatusCode.DONE)):
                panel["made_from"], panel["runs"] = version, panel["runs"] + 1


def _version(b: Builder, panel: At[PanelRecord], call: At[CallRecord]) -> Register:
    """Returns the source version of a panel: the version of its variable, and the mode of floats in the upper half."""
    return b.load(panel["stamp"], I64) + (call["floats"] - FLOATS["keep"]).shift_left(32)


def _run_step(b: Builder, step: At[StepRecord], addresses: Table, table: Table, call: At[CallRecord],
              status: At[Status]) -> None:
    """Emits code that runs a step; the ``table`` is for the addresses of its buffers.

    Behind them is room for the step itself, if its sizes depend on lengths that steps have found.
    """
    given = step
    step = At(StepRecord, b.choose(given["found"].equal(0), lambda: given.pointer, lambda: resized(
        b, given, table.place(given["buffer_count"]), addresses, status)))
    with b.if_(step["in_place"].not_equal(0)):
        call["can_stop"] = 0
    _gather(b, step, addresses, table)
    count = chunk_count(b, step, call["threads"])
    is_shared = ((count > 1) & (call["threads"] > 1) & (step["nanoseconds"] >= SHARED_FROM)
                 & step["ordered"].equal(0))
    run_it = b.where(is_shared, share.address(b), run_alone.address(b))
    run_it = b.where(step["runner"].equal(0), run_it, step["runner"])
    b.call_pointer(run_it, None, step.pointer, table.pointer, count, call.pointer, status.pointer)
    call["unseen"] = call["unseen"] + step["nanoseconds"]
    with b.if_(call["unseen"] > LOOK_EVERY):
        poll(b, call, status)


@native
def run_alone(b: Builder, step: At[StepRecord], table: Pointer, count: Word, call: At[CallRecord],
              status: At[Status]) -> None:
    """Runs a step in chunks on the calling thread."""
    scratch = call["scratch"]
    with b.loop(0, count) as loop:
        run_chunk(b, step, table, loop.index, count, scratch, status)
        with b.if_(count > 1), b.if_(poll(b, call, status)):
            b.ret()


@native
def run_in_chunks(b: Builder, step: At[StepRecord], kernel: Pointer, extent: Word, sizes: Table, table: Pointer,
                  call: At[CallRecord], status: At[Status]) -> None:
    """Runs a ``kernel`` as a part of a ``step`` that has a runner, shared by the threads of the call if that pays."""
    part = At(StepRecord, b.allocate(I64, ctypes.sizeof(StepRecord) // 8))
    b.call("memcpy", PTR, part.pointer, step.pointer, b.constant(I64, ctypes.sizeof(StepRecord)))
    part["kernel"], part["extent"], part["sizes"], part["alignment"] = kernel, extent, sizes.pointer, 1
    count = chunk_count(b, part, call["threads"])
    run_it = b.where((count > 1) & (call["threads"] > 1), share.address(b), run_alone.address(b))
    b.call_pointer(run_it, None, part.pointer, table, count, call.pointer, status.pointer)


@native
def call_python(b: Builder, buffers: Pointer, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                status: At[Status]) -> None:
    """Runs a kernel that is a function of Python.

    The address of the function is the first of the ``sizes``. Anything raised on the way, even by a signal handler
    before its first line, ends the call as an interrupt does: the exception is set.
    """
    held = b.call("PyGILState_Ensure", I32)
    # A fork inside the function is not a fork in the middle of native code: this thread continues in the child.
    fetch_add(b, thread_pool(b).place("calls"), -1)
    given = b.allocate(PTR)
    b.store(b.call("PyLong_FromVoidPtr", PTR, buffers), given)
    result = LocalVariable(b.constant(PTR, 0))
    with floats_in(b):
        result.value = b.call("PyObject_Vectorcall", PTR, b.load(sizes, PTR), given, b.constant(I64, 1),
                              b.constant(PTR, 0))
    answer = result.value
    b.call("Py_DecRef", None, b.load(given, PTR))
    fetch_add(b, thread_pool(b).place("calls"), 1)
    with b.if_(answer.equal(0)):
        status["code"] = StatusCode.INTERRUPTED
    b.call("Py_DecRef", None, answer)
    b.call("PyGILState_Release", None, held)


def _round_up(size: Register) -> Register:
    """Rounds a size up to a multiple of a cache line."""
    return (size + (LINE - 1)) & -LINE


def _gather(b: Builder, step: At[StepRecord], addresses: Table, table: Table) -> None:
    """Collects the addresses of a step's buffers, in its own order."""
    numbers = Table(step["buffers"], I64)
    with b.loop(0, step["buffer_count"]) as loop:
        table[loop.index] = addresses[numbers[loop.index]]
