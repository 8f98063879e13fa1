"""Calls of a library's loops: those of NumPy's generalised functions, which need no Python.

A loop gets the addresses of its arguments, the lengths of the batch and of a problem's dimensions, the steps in bytes
from problem to problem and from element to element, and data of its own.

>>> run_library.name, LibrarySize.OPERANDS.value
('run_library', 13)
"""

from __future__ import annotations

from enum import IntEnum

from nervure.transformers.cpu.compile.llvm.builder import Builder
from nervure.transformers.cpu.compile.llvm.types import I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Word, native
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StepRecord

MOST_ARGUMENTS = 8
"""The most arguments of a library's loop."""


class LibrarySize(IntEnum):
    """The sizes of a step that calls a library's loop. Behind them lie the places of its arguments, three numbers for
    each operand that is checked (place, bytes and numbers of a problem), and what the loop reads: the lengths, from the
    number of problems on, and the steps in bytes. A negative place is minus the position of a number among the sizes.
    """

    LOOP = 0          # its address
    DATA = 1          # and that of its data
    ARGUMENTS = 2
    LENGTHS = 3       # where the lengths begin
    STEPS = 4         # where the steps begin
    COPIED_BYTES = 5  # of an operand that the loop overwrites, copied to the first result; or 0
    SOURCE = 6
    TARGET = 7
    PROBLEMS = 8
    WIDTH = 9         # the bytes of a number that is checked, or 0
    INFINITY = 10     # its bits
    SIGN = 11         # the bits without the sign
    RESULT_BYTES = 12
    OPERANDS = 13


@native
def run_library(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
                status: At[Status]) -> None:
    """Calls a loop of a library on a batch of problems. The first result that is NaN though its operands are finite
    ends the call: ``status`` has the number of the problem.
    """
    sizes, pointers = Table(step["sizes"], I64), Table(step["sizes"])
    with b.if_(sizes[LibrarySize.COPIED_BYTES].not_equal(0)):
        b.call("memcpy", PTR, table[sizes[LibrarySize.TARGET]], table[sizes[LibrarySize.SOURCE]],
               sizes[LibrarySize.COPIED_BYTES])
    given, arguments = sizes.after(len(LibrarySize)), Table(b.allocate(PTR, MOST_ARGUMENTS))
    with b.loop(0, sizes[LibrarySize.ARGUMENTS]) as loop:
        place = given[loop.index]
        with b.if_(place >= 0):
            arguments[loop.index] = table[place]
        with b.if_(place < 0):
            arguments[loop.index] = sizes.place(0 - place)
    b.call_pointer(pointers[LibrarySize.LOOP], None, arguments.pointer, sizes.place(sizes[LibrarySize.LENGTHS]),
                   sizes.place(sizes[LibrarySize.STEPS]), pointers[LibrarySize.DATA])
    width, checked = sizes[LibrarySize.WIDTH], given.after(sizes[LibrarySize.ARGUMENTS])
    infinity, sign = sizes[LibrarySize.INFINITY], sizes[LibrarySize.SIGN]
    is_checked = width.not_equal(0) & sizes[LibrarySize.RESULT_BYTES].not_equal(0)  # nothing is in an empty result
    with b.if_(is_checked), b.loop(0, sizes[LibrarySize.PROBLEMS]) as problems:
        place = b.offset(table[sizes[LibrarySize.TARGET]], problems.index * sizes[LibrarySize.RESULT_BYTES], I8)
        with b.if_((number_bits(b, place, b.constant(I64, 0), width) & sign) > infinity):
            is_finite = LocalVariable(b.constant(I64, 1))
            with b.loop(0, sizes[LibrarySize.OPERANDS]) as operands:
                operand = checked.after(operands.index * 3)
                matrix = b.offset(table[operand[0]], problems.index * operand[1], I8)
                with b.loop(0, operand[2]) as numbers:
                    with b.if_((number_bits(b, matrix, numbers.index, width) & sign) >= infinity):
                        is_finite.value = b.constant(I64, 0)
            with b.if_(is_finite.value.not_equal(0)):
                status["code"], status["op"], status["position"], status["value"] = 1, 0, problems.index, 0
                b.ret()


@native
def number_bits(b: Builder, memory: Pointer, number: Word, width: Word) -> Word:
    """Returns the bits of a float of ``width`` bytes, 4 or 8."""
    with b.if_(width.equal(4)):
        b.ret(b.load(b.offset(memory, number, I32), I32).cast("zext", I64))
    return b.load(b.offset(memory, number, I64), I64)
