"""Sizes that depend on lengths which ops find: they are computed while a call runs, in front of the step that has them.

A length that was found is an int64 in one of the call's buffers. The sizes of a step are expressions over such lengths,
with numbers in place of all symbols that the arguments determine. They are written as instructions of a small stack
machine, pairs of a code and an argument:

>>> from nervure.types.dim import dim, found
>>> sizes = FoundSizes({"?0": 7}, ((EXTENT, found(0)), (0, found(0) * dim("n") // 4)))
>>> [(Instruction(code).name, argument) for code, argument in pairs(sizes.instructions({"n": 3}))][2:]
[('SLOT', 7), ('CONSTANT', 3), ('MULTIPLY', 0), ('CONSTANT', 4), ('FLOOR_DIVIDE', 0), ('STORE', 0)]

Calls share the records of steps, so each call has a copy of the step for its own sizes, behind the table of buffers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, greatest, native
from nervure.transformers.cpu.runtime.records import Status, StepRecord
from nervure.types.dim import DimLike, evaluate_with, substitute

EXTENT = -1
"""The target of a step's extent; others are numbers in its table of sizes."""

DEPTH = 64
"""The most values that wait on the stack."""


class Instruction(IntEnum):
    """The instructions, each with what its argument means in parentheses."""

    CONSTANT = 0      # pushes a number (the number)
    SLOT = 1          # pushes a length (the buffer in which it is)
    STORE = 2         # takes a value: a size (its number), or the extent
    REQUIRE = 3       # takes a value, which must not be 0, or the call fails
    ADD = 4           # these take two values and push one
    MULTIPLY = 5
    FLOOR_DIVIDE = 6
    REMAINDER = 7
    MINIMUM = 8
    MAXIMUM = 9


class FoundSizes(NamedTuple):
    """Sizes of a step, by their targets, over lengths in the buffers ``slots``; those ``required`` must not be 0."""

    slots: Mapping[str, int]
    sizes: tuple[tuple[int, DimLike], ...]
    required: tuple[DimLike, ...] = ()

    def instructions(self, bindings: Mapping[str, int]) -> tuple[int, ...]:
        """Returns the instructions that compute the sizes, for these values of the other symbols."""
        known = {name: value for name, value in bindings.items() if name not in self.slots}
        words: list[int] = []
        for target, size in self.sizes:
            words += [*self._pushed(substitute(size, known)), Instruction.STORE, target]
        for size in self.required:
            words += [*self._pushed(substitute(size, known)), Instruction.REQUIRE, 0]
        return tuple(words)

    def _pushed(self, size: DimLike) -> tuple[int, ...]:
        names = {name: _Words((Instruction.SLOT, buffer)) for name, buffer in self.slots.items()}
        found = evaluate_with(size, names, *[_of_two(code) for code in (
            Instruction.FLOOR_DIVIDE, Instruction.REMAINDER, Instruction.MINIMUM, Instruction.MAXIMUM)])
        words = _words(found)
        if len(words) > 2 * DEPTH:  # each instruction pushes one value at most
            raise InternalError(f"a size is too long to be computed while a call runs: {size}")
        return words.words


class _Words:
    """The instructions that push a number, with the arithmetic of numbers."""

    def __init__(self, words: tuple[int, ...]) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    def __add__(self, other: _Words | int) -> _Words:
        return _both(self, other, Instruction.ADD)

    def __radd__(self, other: int) -> _Words:
        return _both(self, other, Instruction.ADD)

    def __mul__(self, other: _Words | int) -> _Words:
        return _both(self, other, Instruction.MULTIPLY)

    def __rmul__(self, other: int) -> _Words:
        return _both(self, other, Instruction.MULTIPLY)

    def __pow__(self, exponent: int) -> _Words:
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result


def _words(value: _Words | int) -> _Words:
    return value if isinstance(value, _Words) else _Words((Instruction.CONSTANT, value))


def _both(left: _Words | int, right: _Words | int, code: Instruction) -> _Words:
    return _Words((*_words(left).words, *_words(right).words, code, 0))


def _of_two(code: Instruction) -> Callable[[_Words | int, _Words | int], _Words]:
    return lambda left, right: _both(left, right, code)


def pairs(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields the instructions."""
    return zip(words[::2], words[1::2], strict=True)


def room(sizes: int) -> int:
    """Returns the words that the copy of a step takes, with its table of ``sizes``."""
    return ctypes.sizeof(StepRecord) // 8 + sizes


# -- native code ----------------------------------------------------------------------------------------------


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
