"""Sizes that depend on lengths which ops find: they are computed while a call runs, in front of the step that has them.

A length that was found is an int64 in one of the call's buffers. The sizes of a step are expressions over such lengths,
with numbers in place of all symbols that the arguments determine. They are written as instructions of a small stack
machine, pairs of a code and an argument:

>>> from nervure.types.dim import dim, found
>>> sizes = FoundSizes({"?0": 7}, ((EXTENT, found(0)), (0, found(0) * dim("n") // 4)))
>>> [(Instruction(code).name, argument) for code, argument in pairs(sizes.instructions({"n": 3}))][2:5]
[('SLOT', 7), ('CONSTANT', 3), ('MULTIPLY', 0)]

Native code carries them out (:mod:`resizing`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.transformers.cpu.runtime.records import StepRecord
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


IMPOSSIBLE = (Instruction.CONSTANT, 0, Instruction.REQUIRE, 0)
"""The instructions of a step that cannot run with the sizes of a call: the call fails when it comes to it."""


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
