"""Native code that computes the sizes of a step from the lengths that others have found: a small stack machine.

Calls share the records of steps, so each call has a copy of the step for its own sizes, behind the table of buffers.

>>> resized.name, resized.is_hot
('resized', False)
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR
from nervure.transformers.cpu.runtime.found_sizes import DEPTH, EXTENT, Instruction
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, greatest, native
from nervure.transformers.cpu.runtime.records import Status, StepRecord


@native
def resized(b: Builder, step: At[StepRecord], place: Pointer, addresses: Table, status: At[Status]) -> Pointer:
    """Copies a ``step`` to a ``place``, with the sizes that follow from the lengths in the buffers at ``addresses``.

    Returns the copy. If a size that is required is 0, the call fails, and the copy does nothing.
    """
    b.call("memcpy", PTR, place, step.pointer, b.constant(I64, ctypes.sizeof(StepRecord)))
    copy = At(StepRecord, place)
    sizes = Table(b.offset(place, ctypes.sizeof(StepRecord), I8), I64)
    copy["sizes"] = sizes.pointer
    stack, words = Table(b.allocate(I64, DEPTH), I64), Table(step["found"], I64)
    depth = LocalVariable(b.constant(I64, 0))

    def push(value: Register) -> None:
        stack[depth.value] = value
        depth.value = depth.value + 1

    def pop() -> Register:
        depth.value = depth.value - 1
        return stack[depth.value]

    with b.loop(0, step["found_count"]) as loop:
        code, argument = words[loop.index * 2], words[loop.index * 2 + 1]
        with b.if_(code.equal(Instruction.CONSTANT)):
            push(argument)
        with b.if_(code.equal(Instruction.SLOT)):
            push(b.load(addresses[argument], I64))
        with b.if_(code.equal(Instruction.STORE)):
            value = pop()
            with b.if_(argument.equal(EXTENT)):
                copy["extent"] = greatest(b, value, 0)
            with b.if_(argument.not_equal(EXTENT)):
                sizes[argument] = value
        with b.if_(code.equal(Instruction.REQUIRE)), b.if_(pop().equal(0)):
            status["code"], status["op"] = 1, 0
        with b.if_(code >= Instruction.ADD):
            right = pop()
            left = pop()
            push(_combined(b, code, left, right))
    with b.if_(status["code"].not_equal(0)):
        copy["extent"], copy["runner"] = 0, b.constant(PTR, 0)
    return place


def _combined(b: Builder, code: Register, left: Register, right: Register) -> Register:
    """Returns what an instruction makes of two values. A division by 0 gives 0; others round down."""
    is_zero = right.equal(0)
    divisor = b.where(is_zero, 1, right)
    quotient = b.emit(I64, f"sdiv i64 {left.text}, {divisor.text}")
    rest = left - quotient * divisor
    is_below = rest.not_equal(0) & (rest < 0).not_equal(divisor < 0)
    floor = b.where(is_zero, 0, b.where(is_below, quotient - 1, quotient))
    modulo = b.where(is_zero, 0, b.where(is_below, rest + divisor, rest))
    result = b.where(left > right, left, right)
    for each, value in ((Instruction.MINIMUM, b.where(left < right, left, right)), (Instruction.REMAINDER, modulo),
                        (Instruction.FLOOR_DIVIDE, floor), (Instruction.MULTIPLY, left * right),
                        (Instruction.ADD, left + right)):
        result = b.where(code.equal(each), value, result)
    return result
