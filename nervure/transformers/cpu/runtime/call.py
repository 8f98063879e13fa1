"""Native code that runs a program: gives its buffers their addresses, then runs its steps in order.

The memory of a call is one block: the addresses of all buffers, the addresses that the current step sees, scratch for
each thread, and the arena in which intermediate values lie.

>>> from nervure.transformers.cpu.llvm.builder import assemble
>>> text = assemble([bind(), run()])
>>> "define void @run(ptr %program" in text
True
"""

from __future__ import annotations

from nervure.transformers.cpu.llvm.builder import Builder, Register
from nervure.transformers.cpu.llvm.types import I8, I64, PTR
from nervure.transformers.cpu.runtime.records import At, Buffer, Code, Kind, Program, Status, Step

LINE = 64
"""Bytes of a cache line: what blocks, scratch and arena are aligned to."""


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


def run() -> Builder:
    """``run(program, arguments, results, variables, status)``: one call, which ends early when a step fails."""
    b = Builder("run", [(name, PTR) for name in ("program", "arguments", "results", "variables", "state")],
                attributes="nounwind")
    record, arguments, results, variables, state = b.arguments
    program, status = At(Program, record), At(Status, state)
    tables_bytes = round_up((program["buffer_count"] + program["table_count"]) * 8)
    scratch_bytes = program["scratch_bytes"]
    block = b.call("aligned_alloc", PTR, b.constant(I64, LINE),
                   round_up(tables_bytes + scratch_bytes + program["arena_bytes"]))
    with b.if_(block.equal(0)):
        status["code"] = Code.NO_MEMORY
        b.ret()
    scratch = b.offset(block, tables_bytes, I8)
    arena = b.offset(scratch, scratch_bytes, I8)
    b.call("bind", None, record, arguments, results, variables, arena, block)
    table = b.offset(block, program["buffer_count"], PTR)
    steps = At(Step, program["steps"])
    with b.loop(0, program["step_count"]) as loop, b.if_(status["code"].equal(Code.DONE)):
        status["step"] = loop.index
        step = steps.element(loop.index)
        _gather(b, step, block, table)
        b.call("run_slice", None, step.pointer, table, b.constant(I64, 0), b.constant(I64, 1), scratch, state)
    b.call("free", None, block)
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
