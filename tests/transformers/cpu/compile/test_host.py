"""Steps that are Python: they run in their place, what they raise reaches the caller, a call can be nested in one."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from nervure.transformers.cpu.compile.host import HostKernel
from nervure.transformers.cpu.runtime import Array, FastEntry, Program, ProgramStep, arena, argument, result, variable
from nervure.transformers.cpu.runtime.records import ThreadPool
from nervure.transformers.cpu.runtime.runtime_library import record
from tests.processes import code_of_child
from tests.transformers.cpu.kernels import address

INT = np.dtype(np.int64)


class Owner:
    def slow(self, *arguments: Any) -> Any:
        return "slow"

    def fail(self, status: Any, arguments: Any) -> None:
        raise AssertionError(status.code)


def words(place: int, count: int = 4) -> np.ndarray:
    """The memory at an address, as an array."""
    return np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(place))


def between(function: Any) -> Program:
    """out = f(x + 1) + 10, with a function of Python between two kernels."""
    steps = [ProgramStep(address("copy"), [0, 1], [1], 4),
             HostKernel(function, 2).step([1, 2]),
             ProgramStep(address("copy"), [2, 3], [10], 4)]
    kind = Array(INT, (4,))
    return Program(steps, [argument(0), arena(0), arena(64), result(0)], 128, arguments=[kind], results=[kind])


def double(source: int, target: int) -> None:
    words(target)[:] = 2 * words(source)


def entry_of(program: Program, owner: Owner) -> Any:
    entry = FastEntry(owner.fail)
    entry.add(program)
    return entry.function(owner.slow)


def test_it_runs_in_its_place():
    program, owner = between(double), Owner()
    x = np.arange(4)
    out = program.make_results()
    program.run([x], out)
    assert out[0].tolist() == entry_of(program, owner)(x)[0].tolist() == (2 * (x + 1) + 10).tolist()
    assert record(ThreadPool).calls == 0


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_what_it_raises_reaches_the_caller(error):
    raising = [True]

    def function(source: int, target: int) -> None:
        if raising[0]:
            raise error
        double(source, target)

    program, owner = between(function), Owner()
    run = entry_of(program, owner)
    with pytest.raises(type(error)) as caught:
        run(np.arange(4))
    assert caught.value is error
    with pytest.raises(type(error)):
        program.run([np.arange(4)], program.make_results())
    raising[0] = False
    assert run(np.zeros(4, np.int64))[0].tolist() == [12] * 4
    assert record(ThreadPool).calls == 0


def test_an_error_leaves_what_would_be_written_in_place():
    def function(place: int) -> None:
        raise ValueError("no")

    state = np.arange(4)
    steps = [HostKernel(function, 1).step([0]), ProgramStep(address("increase"), [0], extent=4, in_place=True)]
    with pytest.raises(ValueError, match="no"):
        Program(steps, [variable(0)]).run([], [], [state])
    assert state.tolist() == [0, 1, 2, 3]


def test_a_call_inside_a_call():
    inner = between(double)

    def function(source: int, target: int) -> None:
        out = inner.make_results()
        inner.run([words(source)], out)
        words(target)[:] = out[0]

    outer = between(function)
    out = outer.make_results()
    outer.run([np.zeros(4, np.int64)], out)
    assert out[0].tolist() == [2 * 2 + 10 + 10] * 4


def test_a_function_may_fork():
    codes = []

    def function(source: int, target: int) -> None:
        codes.append(code_of_child(lambda: not record(ThreadPool).lost))
        double(source, target)

    program = between(function)
    program.run([np.arange(4)], program.make_results())
    assert codes == [0]


def test_dropped_means_freed():
    def function(source: int, target: int) -> None:
        double(source, target)

    program = between(function)
    program.run([np.arange(4)], program.make_results())
    seen = weakref.ref(function), weakref.ref(program)
    gc.disable()
    try:
        del function, program
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()
