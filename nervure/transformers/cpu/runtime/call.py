"""Native code that runs a program: gives its buffers their addresses, then runs its steps in order.

The memory of a call is one block: the addresses of all buffers, the addresses that the current step sees, scratch for
each thread, and the arena in which intermediate values lie.

>>> [function.name for function in functions()]
['bind', 'run_call', 'run', 'run_steps', 'run_alone', 'poll', 'call_python']
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.shared import fetch_add
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.floats import standard_floats
from nervure.transformers.cpu.runtime.pool import borrowed
from nervure.transformers.cpu.runtime.records import Buffer, Call, Code, Kind, Program, Status, Step
from nervure.transformers.cpu.runtime.slices import SHARED_FROM
from nervure.transformers.cpu.runtime.team import team

LINE = 64
"""Bytes of a cache line: what blocks, scratch and arena are aligned to."""

ROOM = 1024
"""Bytes on the stack for the memory of a call; one that needs more takes a block of the pool."""

RELEASE_FROM = 20_000
"""Estimated nanoseconds from which a call gives the GIL away."""

SIGNALS_EVERY = 50_000_000
"""Nanoseconds between two looks at the signals."""

LOOK_EVERY = 100_000
"""Estimated nanoseconds of short steps between two looks at the clock."""


def functions() -> list[Builder]:
    """The code of calls."""
    return [bind(), run_call(), run(), run_steps(), run_alone(), poll(), call_python()]


def bind() -> Builder:
    """``bind(program, arguments, results, variables, arena, addresses)``: where each buffer lies in this call."""
    b = Builder("bind", [(name, PTR) for name in ("record", "arguments", "results", "variables", "arena", "addresses")],
                attributes="nounwind")
    record, *tables, arena, addresses = b.arguments
    program = At(Program, record)
    bases = b.allocate(PTR, len(tables))
    for place, table in enumerate(tables):
        b.store(table, b.offset(bases, place, PTR))
    buffers = At(Buffer, program["buffers"])
    with b.loop(0, program["buffer_count"]) as loop:
        buffer = buffers.element(loop.index)
        kind, number = buffer["kind"], buffer["number"]
        start = b.choose(kind < Kind.ARENA,
                         lambda: b.load(b.offset(b.load(b.offset(bases, kind, PTR), PTR), number, PTR), PTR),
                         lambda: b.where(kind.equal(Kind.ARENA), arena, number.cast("inttoptr", PTR)))
        b.store(b.offset(start, buffer["offset"], I8), b.offset(addresses, loop.index, PTR))
    b.ret()
    return b


def run_call() -> Builder:
    """``run_call(program, arguments, results, variables, status)``: a call by a thread that holds the GIL.

    It gives the GIL away where that pays. After a signal handler has raised, ``status`` says that the call was
    interrupted, and the exception is set.
    """
    b = Builder("run_call", [(name, PTR) for name in ("record", "arguments", "results", "variables", "status")],
                attributes="nounwind")
    program, record = At(Program, b.arguments[0]), team(b)
    with b.if_(program["nanoseconds"] < RELEASE_FROM):
        b.call("run", None, *b.arguments, b.constant(I64, 0))
        b.ret()
    on_main_thread = b.call("pthread_self", I64).equal(record["main"]).cast("zext", I64)
    fetch_add(b, record.place("calls"), 1)
    state = b.call("PyEval_SaveThread", PTR)
    b.call("run", None, *b.arguments, on_main_thread)
    b.call("PyEval_RestoreThread", None, state)
    fetch_add(b, record.place("calls"), -1)
    b.ret()
    return b


def run() -> Builder:
    """``run(program, arguments, results, variables, status, can_stop)``: one call, which ends when a step fails."""
    b = Builder("run", [*[(name, PTR) for name in ("program", "arguments", "results", "variables", "state")],
                        ("can_stop", I64)], attributes="nounwind")
    record, arguments, results, variables, state, can_stop = b.arguments
    program, status = At(Program, record), At(Status, state)
    threads = b.call("take_team", I64, record)
    tables_bytes = round_up((program["buffer_count"] + program["table_count"]) * 8)
    scratch_bytes = program["scratch_bytes"] * threads
    block_bytes = tables_bytes + scratch_bytes + program["arena_bytes"]
    with borrowed(b, block_bytes, ROOM) as block:
        with b.if_(block.equal(0)):
            status["code"] = Code.NO_MEMORY
            b.call("give_team", None, threads)
            b.ret()
        b.call("note_demand", None, block_bytes + program["result_bytes"])
        scratch = b.offset(block, tables_bytes, I8)
        b.call("bind", None, record, arguments, results, variables, b.offset(scratch, scratch_bytes, I8), block)
        call = At(Call, b.allocate(I64, ctypes.sizeof(Call) // 8))
        call["threads"], call["scratch"], call["scratch_bytes"] = threads, scratch, program["scratch_bytes"]
        call["can_stop"], call["unseen"] = can_stop, 0
        with b.if_(can_stop.not_equal(0)):
            call["looked"] = b.call("now", I64)
        with standard_floats(b):
            b.call("run_steps", None, record, block, call.pointer, state)
    b.call("give_team", None, threads)
    b.ret()
    return b


def run_steps() -> Builder:
    """``run_steps(program, addresses, call, status)``: all steps in order, until one fails."""
    b = Builder("run_steps", [(name, PTR) for name in ("record", "addresses", "state", "outcome")],
                attributes="nounwind")
    record, addresses, state, outcome = b.arguments
    program, call, status = At(Program, record), At(Call, state), At(Status, outcome)
    table = b.offset(addresses, program["buffer_count"], PTR)
    steps = At(Step, program["steps"])
    with b.loop(0, program["step_count"]) as loop, b.if_(status["code"].equal(Code.DONE)):
        status["step"] = loop.index
        step = steps.element(loop.index)
        with b.if_(step["in_place"].not_equal(0)):
            call["can_stop"] = 0
        _gather(b, step, addresses, table)
        count = b.call("slice_count", I64, step.pointer, call["threads"])
        is_shared = ((count > 1) & (call["threads"] > 1) & (step["nanoseconds"] >= SHARED_FROM)
                     & step["ordered"].equal(0))
        run_it = b.where(is_shared, Register(b, PTR, "@share"), Register(b, PTR, "@run_alone"))
        b.call_pointer(run_it, None, step.pointer, table, count, state, outcome)
        call["unseen"] = call["unseen"] + step["nanoseconds"]
        with b.if_(call["unseen"] > LOOK_EVERY):
            b.call("poll", I1, state, outcome)
    b.ret()
    return b


def run_alone() -> Builder:
    """``run_alone(step, table, count, call, status)``: a step in slices by the calling thread."""
    b = Builder("run_alone", [("step", PTR), ("table", PTR), ("count", I64), ("call", PTR), ("status", PTR)],
                attributes="nounwind")
    step, table, count, state, status = b.arguments
    scratch = At(Call, state)["scratch"]
    with b.loop(0, count) as loop:
        b.call("run_slice", None, step, table, loop.index, count, scratch, status)
        with b.if_(count > 1), b.if_(b.call("poll", I1, state, status)):
            b.ret()
    b.ret()
    return b


def poll() -> Builder:
    """``poll(call, status)``: lets Python handle signals now and then; whether the call has to stop."""
    b = Builder("poll", [("state", PTR), ("outcome", PTR)], result=I1, attributes="nounwind")
    call, status = At(Call, b.arguments[0]), At(Status, b.arguments[1])
    call["unseen"] = 0
    with b.if_(call["can_stop"].equal(0) | status["code"].not_equal(Code.DONE)):
        b.ret(b.constant(I1, False))
    time = b.call("now", I64)
    with b.if_(time - call["looked"] < SIGNALS_EVERY):
        b.ret(b.constant(I1, False))
    call["looked"] = time
    held = b.call("PyGILState_Ensure", I32)
    raised = b.call("PyErr_CheckSignals", I32).not_equal(0)
    b.call("PyGILState_Release", None, held)
    lost = team(b).peek("lost").not_equal(0)
    with b.if_(raised | lost):
        call["can_stop"] = 0
        status["code"] = b.where(raised, b.constant(I64, Code.INTERRUPTED), Code.FORKED)
    b.ret(raised | lost)
    return b


def call_python() -> Builder:
    """``call_python(buffers, sizes, begin, end, scratch, status)``: a kernel that is a function of Python.

    The address of the function is the first of the sizes. Whatever is raised on the way, by a signal handler before its
    first line too, ends the call as an interrupt does: the exception is set.
    """
    b = Builder("call_python", [("buffers", PTR), ("sizes", PTR), ("begin", I64), ("end", I64), ("scratch", PTR),
                                ("status", PTR)], attributes="nounwind")
    buffers, sizes, *_, outcome = b.arguments
    held = b.call("PyGILState_Ensure", I32)
    # A fork inside the function is no fork in the middle of native code: this thread goes on in the child.
    fetch_add(b, team(b).place("calls"), -1)
    given = b.allocate(PTR)
    b.store(b.call("PyLong_FromVoidPtr", PTR, buffers), given)
    answer = b.call("PyObject_Vectorcall", PTR, b.load(sizes, PTR), given, b.constant(I64, 1), b.constant(PTR, 0))
    b.call("Py_DecRef", None, b.load(given, PTR))
    fetch_add(b, team(b).place("calls"), 1)
    with b.if_(answer.equal(0)):
        At(Status, outcome)["code"] = Code.INTERRUPTED
    b.call("Py_DecRef", None, answer)
    b.call("PyGILState_Release", None, held)
    b.ret()
    return b


def round_up(size: Register) -> Register:
    """A size as a multiple of a cache line."""
    return (size + (LINE - 1)) & -LINE


def _gather(b: Builder, step: At, addresses: Register, table: Register) -> None:
    """The addresses of a step's buffers, in its own order."""
    numbers = step["buffers"]
    with b.loop(0, step["buffer_count"]) as loop:
        number = b.load(b.offset(numbers, loop.index, I64), I64)
        b.store(b.load(b.offset(addresses, number, PTR), PTR), b.offset(table, loop.index, PTR))
