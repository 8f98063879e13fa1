"""The fast way in: calls that fit are run natively, all others reach Python as they came, nothing leaks."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from nervure.ir.ordered_locks import holding
from nervure.ir.variable import Variable
from nervure.transformers.cells import Cell
from nervure.transformers.cpu.runtime import Array, FastEntry, Gate, Program, ProgramStep, argument, result, variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import int64
from tests.threads import run_together
from tests.transformers.cpu.kernels import address

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float32)


class Owner:
    """Says which calls came the slow way, and raises what a status holds."""

    def slow(self, *arguments: Any, **keywords: Any) -> Any:
        return "slow", arguments, keywords

    def fail(self, status: Any, arguments: tuple[Any, ...]) -> None:
        found = [argument.tolist() for argument in arguments]
        raise ArithmeticError(f"code {status.code} of op {status.op} at {status.position}: {status.value} in {found}")


OWNER = Owner()


def added(size: int, number: int = 1) -> Program:
    """x -> x + number, for arrays of ``size`` elements."""
    return Program([ProgramStep(address("copy"), [0, 1], [number], size)], [argument(0), result(0)],
                   arguments=[Array(INT, (size,))], results=[Array(INT, (size,))])


def entry(*programs: Program, **more: Any) -> Any:
    fast = FastEntry(OWNER.fail, **more)
    for program in programs:
        fast.add(program)
    return fast.function(OWNER.slow)


def test_a_call_that_fits():
    step = ProgramStep(address("multiply_add"), [0, 1, 2, 3], extent=12)
    run = entry(Program([step], [argument(0), argument(1), argument(2), result(0)],
                        arguments=[Array(FLOAT, (3, 4))] * 3, results=[Array(FLOAT, (3, 4))]))
    x, y = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    first, second = run(x, y, x), run([x, y, x])
    assert type(first) is tuple and len(first) == 1
    np.testing.assert_array_equal(first[0], (x + y) * x)
    np.testing.assert_array_equal(second[0], first[0])
    np.testing.assert_array_equal(run((x, y, x))[0], first[0])
    assert first[0] is not second[0] and not np.shares_memory(first[0], second[0])
    assert first[0].flags.owndata and first[0].base is None and first[0].flags.writeable


class Sub(np.ndarray):
    """A subclass, which may mean anything."""


@pytest.mark.parametrize("value", [
    np.arange(4), np.arange(3, dtype=np.int32), np.arange(6)[::2], np.arange(3)[None], np.arange(3).view(Sub),
    np.arange(3).astype(">i8"), [1, 2, 3], (1, 2, 3), 5, None, "abc", np.int64(3), [], ()], ids=repr)
def test_what_does_not_fit_comes_as_it_is(value):
    run = entry(added(3))
    way, arguments, keywords = run(value)
    assert way == "slow" and arguments[0] is value and keywords == {}


def test_unaligned_arrays_keywords_and_counts():
    run, x = entry(added(3)), np.arange(3)
    unaligned = np.zeros(25, np.int8)[1:].view(np.int64)
    assert run(unaligned)[0] == run()[0] == run(x, x)[0] == "slow"
    way, arguments, keywords = run(x, out=x)
    assert way == "slow" and arguments[0] is x and keywords["out"] is x


def test_several_sizes_and_the_oldest_goes():
    fast = FastEntry(OWNER.fail)
    for size in range(1, 11):
        fast.add(added(size, size))
    ways = [fast.function(OWNER.slow)(np.zeros(size, np.int64))[0] for size in range(1, 11)]
    assert ways[:2] == ["slow", "slow"]
    assert [way.tolist() for way in ways[2:]] == [[size] * size for size in range(3, 11)]


class Single:
    """Has a slow way of its own."""

    def slow_single(self, *arguments: Any, **keywords: Any) -> Any:
        return "single", arguments, keywords


def test_the_one_result_itself():
    fast, single = FastEntry(OWNER.fail), Single()
    run = fast.function(single.slow_single, is_single=True)
    assert run(np.arange(3))[0] == "single"
    fast.add(added(3))
    assert run(np.arange(3)).tolist() == fast.function(OWNER.slow)(np.arange(3))[0].tolist() == [1, 2, 3]
    x = np.arange(4)
    assert run(x, key=1) == ("single", (x,), {"key": 1}) and fast.function(OWNER.slow)(x)[0] == "slow"
    counts = sys.getrefcount(run(x[:3])), sys.getrefcount(np.arange(3))
    assert counts[0] == counts[1]


def test_no_dimension_and_no_element():
    for shape in ((), (0,), (2, 0)):
        extent = int(np.prod(shape))
        run = entry(Program([ProgramStep(address("copy"), [0, 1], [7], extent)], [argument(0), result(0)],
                            arguments=[Array(INT, shape)], results=[Array(INT, shape)]))
        assert run(np.full(shape, 1))[0].tolist() == np.full(shape, 8).tolist()


def test_the_gate():
    gate = Gate()
    run = entry(added(3), gate=gate)
    gate.set(False)
    assert run(np.arange(3))[0] == "slow"
    gate.set(True)
    assert run(np.arange(3))[0].tolist() == [1, 2, 3]


def test_a_failure_raises_and_the_next_call_works():
    steps = [ProgramStep(address("check_positive"), [0], extent=3)]
    program = Program(steps, [argument(0)], arguments=[Array(INT, (3,))])
    run = entry(program)
    with pytest.raises(ArithmeticError, match=r"code 5 of op 77 at 1: -4 in \[\[1, -4, -5\]\]"):
        run(np.array([1, -4, -5]))
    assert run(np.array([1, 4, 5])) == ()


def test_no_reference_is_lost_or_kept():
    program, x = added(3), np.arange(3)
    fails = entry(Program([ProgramStep(address("check_positive"), [0], extent=3)], [argument(0), result(0)],
                          arguments=[Array(INT, (3,))], results=[Array(INT, (3,))]))
    run, minus = entry(program), np.array([-1, -1, -1])
    gc.collect()  # what other tests have left would go meanwhile
    before = [sys.getrefcount(thing) for thing in (x, minus, program, INT, OWNER)]
    for _ in range(100):
        run(x)
        run([x])
        run(x, key=x)
        with pytest.raises(ArithmeticError):
            fails(minus)
    assert [sys.getrefcount(thing) for thing in (x, minus, program, INT, OWNER)] == before


def test_dropped_means_freed_without_the_collector():
    owner = Owner()
    fast = FastEntry(owner.fail)
    program = added(3)
    fast.add(program)
    owner.fast, owner.function = fast, fast.function(owner.slow)
    assert owner.function(np.arange(3))[0].tolist() == [1, 2, 3]
    seen = [weakref.ref(thing) for thing in (owner, fast, program)]
    gc.disable()
    try:
        del owner, fast, program
        assert [ref() for ref in seen] == [None] * 3
    finally:
        gc.enable()


# -- variables -----------------------------------------------------------------------------------------------


def cell(value: int = 0) -> Cell:
    made = Cell(Variable(BasicTensorDescription(int64, (4,)), initial=0))
    made.store(np.full(4, value))
    made.stamp.value = 0
    return made


def in_place(cell: Cell) -> Any:
    step = ProgramStep(address("increase"), [0], extent=4, in_place=True)
    return entry(Program([step], [variable(0)], variables=[Array(INT, (4,), variable=0)]), cells=[cell])


def switched(cell: Cell) -> Any:
    """The variable becomes itself plus 10; what it was is returned plus 1."""
    steps = [ProgramStep(address("copy"), [0, 1], [1], 4), ProgramStep(address("copy"), [0, 2], [10], 4)]
    return entry(Program(steps, [variable(0), result(0), result(1)], variables=[Array(INT, (4,))],
                         results=[Array(INT, (4,)), Array(INT, (4,), variable=0)]), cells=[cell])


def test_a_variable_is_written_in_place():
    state = cell(5)
    run = in_place(state)
    place = state.array.ctypes.data
    assert run() == run() == ()
    assert state.array.tolist() == [7] * 4 and state.version == 2 and state.array.ctypes.data == place


def test_the_initial_value_of_a_variable_stays():
    kept = Variable(BasicTensorDescription(int64, (4,)), initial=3)
    state = Cell(kept)
    assert in_place(state)()[0] == "slow"
    assert kept.initial_value().tolist() == [3] * 4


def test_what_somebody_holds_is_not_written():
    state = cell(5)
    run, held = in_place(state), state.array
    assert run()[0] == "slow" and held.tolist() == [5] * 4 and state.version == 0
    del held
    assert run() == () and state.array.tolist() == [6] * 4


def test_a_variable_takes_a_new_array():
    state = cell(5)
    run, held = switched(state), state.array
    assert run()[0].tolist() == [6] * 4
    assert run()[0].tolist() == [16] * 4
    assert held.tolist() == [5] * 4 and state.array.tolist() == [25] * 4 and state.version == 2
    assert state.array.flags.owndata


def test_a_variable_in_use_sends_the_call_the_slow_way():
    state = cell()
    run, answers = in_place(state), []
    with state.lock.rlock:
        thread = threading.Thread(target=lambda: answers.append(run()))
        thread.start()
        thread.join()
    assert answers[0][0] == "slow" and state.version == 0
    assert run() == () and state.version == 1
    assert state.lock.rlock.acquire(blocking=False)
    state.lock.rlock.release()


def test_a_call_inside_of_one_that_uses_the_variable_goes_the_slow_way():
    state = cell()
    run = in_place(state)
    assert holding([state], run)[0] == "slow" and state.version == 0
    assert run() == () and state.version == 1


def test_a_failure_leaves_variables_as_they_were():
    state = cell(3)
    steps = [ProgramStep(address("check_positive"), [1], extent=4),
             ProgramStep(address("increase"), [0], extent=4, in_place=True)]
    run = entry(Program(steps, [variable(0), argument(0)], arguments=[Array(INT, (4,))],
                        variables=[Array(INT, (4,), variable=0)]), cells=[state])
    with pytest.raises(ArithmeticError):
        run(np.array([1, 1, -1, 1]))
    assert state.array.tolist() == [3] * 4 and state.version == 0
    assert run(np.ones(4, np.int64)) == () and state.array.tolist() == [4] * 4


def test_eight_threads_update_in_turn():
    state = cell()
    run, answers = switched(state), []

    def work() -> None:
        answers.extend([run()[0] for _ in range(200)])

    run_together(*[work] * 8)
    done = [answer[0] for answer in answers if not isinstance(answer, str)]
    assert len(answers) == 1600 and sorted(done) == list(range(1, 10 * len(done), 10))
    assert state.version == len(done) and set(state.array.tolist()) == {10 * len(done)}
