"""Functions of machine code written as functions of Python: they call each other, and read and write records."""

from __future__ import annotations

import ctypes

import pytest

from nervure.errors import InternalError
from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.runtime import native as module
from nervure.transformers.cpu.runtime.code import PARTS, functions
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Word, functions_of, hot, native
from nervure.transformers.cpu.runtime.records import RUNNING, StepRecord


@hot
def clamp(b: Builder, x: Word, most: Word) -> Word:
    """x, or ``most`` if that is less."""
    with b.if_(x > most):
        b.ret(most)
    return x


@native
def total(b: Builder, steps: At[StepRecord], count: Word) -> Word:
    """The extents of several steps together, at most 100."""
    found = LocalVariable(b.constant(module.I64, 0))
    with b.loop(0, count) as loop:
        found.value = found.value + steps.element(loop.index)["extent"]
    return clamp(b, found.value, 100)


@native
def clear(b: Builder, step: At[StepRecord]) -> None:
    """Sets its extent to 0."""
    step["extent"] = 0


@native
def clear_first(b: Builder, steps: Pointer) -> None:
    """The same for the first of several."""
    clear(b, At(StepRecord, steps))


def test_they_run():
    library = load(compile_object(assemble([each.build() for each in (clamp, total, clear, clear_first)])))
    steps = (StepRecord * 3)(*[StepRecord(extent=extent) for extent in (30, 40, 50)])
    sum_up = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(library.address("total"))
    assert [sum_up(ctypes.addressof(steps), count) for count in range(4)] == [0, 30, 70, 100]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("clear_first"))(ctypes.addressof(steps))
    assert [step.extent for step in steps] == [0, 40, 50]


def test_a_call_has_the_arguments_of_its_function():
    b = Builder("calls", [("x", module.I64), ("step", module.PTR)])
    with pytest.raises(ValueError, match="argument"):
        clamp(b, b.arguments[0])
    with pytest.raises(InternalError, match="i64 is due"):
        clamp(b, *b.arguments)


def test_the_functions_of_a_module_are_its_own():
    names = [function.name for part in (*PARTS, *RUNNING) for function in functions(part)]
    assert len(set(names)) == len(names) > 40 and {"run_chunk", "share", "entry"} < set(names)
    assert functions_of(module) == []
