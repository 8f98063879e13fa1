"""Signals and forks: a call can be interrupted before it has written, and children go on or say why not."""

from __future__ import annotations

import pytest

from tests.processes import run_text

START = """
import os, signal, sys, threading, time
import numpy as np
from nervure import flags
from nervure.transformers.cpu.runtime import *
from nervure.transformers.cpu.runtime.records import ThreadPool
from nervure.transformers.cpu.runtime.runtime_library import record
from tests.processes import code_of_child
from tests.transformers.cpu.kernels import address

class Owner:
    def slow(self, *arguments): return "slow"
    def fail(self, status, arguments): raise ArithmeticError(status.code)

def spinning(extent, in_place=False, turns=None):
    "About a millisecond for each element of the variable, on any processor."
    step = ProgramStep(address("spin"), [0], [turns or TURNS], extent, nanoseconds=1_000_000 * extent, scratch=8,
                              in_place=in_place)
    return Program([step], [variable(0)])

def interrupt_soon(seconds=0.2):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)

def seconds_of_a_million_turns():
    start = time.perf_counter()
    spinning(1, turns=1_000_000).run([], [], [out])
    return time.perf_counter() - start

out = np.zeros(20_000, np.int64)
TURNS = round(1_000_000 * max(1.0, 1e-3 / min([seconds_of_a_million_turns() for _ in range(5)])))
out[:] = 0
"""


def check(body: str) -> None:
    run_text(START, body, seconds=100)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_interrupts_a_call(threads):
    check(f"""
    flags.threads = {threads}
    interrupt_soon()
    try:
        spinning(20_000).run([], [], [out])
    except KeyboardInterrupt:
        assert out.any() and not out.all()
    else:
        raise AssertionError("the call ran to its end")
    assert record(ThreadPool).lock == record(ThreadPool).calls == 0
    out[:] = 0
    assert spinning(100, turns=1).run([], [], [out]).code == StatusCode.DONE and out[:100].all()
    """)


def test_slices_in_order_are_interrupted_in_order():
    """One thread takes them, whatever the step takes: what is done when the call ends is the front of the extent."""
    check("""
    flags.threads = 2
    interrupt_soon()
    step = ProgramStep(address("spin"), [0], [1_000_000], 20_000, nanoseconds=20_000_000_000, scratch=8, ordered=True)
    try:
        Program([step], [variable(0)]).run([], [], [out])
    except KeyboardInterrupt:
        done = int(out.sum())
        assert 0 < done < 20_000 and out[:done].all() and not out[done:].any()
    else:
        raise AssertionError("the call ran to its end")
    """)


def test_what_is_written_in_place_is_written_to_the_end():
    check("""
    interrupt_soon(0.05)
    try:
        spinning(400, in_place=True).run([], [], [out])
        for _ in range(1000): pass
    except KeyboardInterrupt:
        assert out[:400].all()
    else:
        raise AssertionError("the exception was lost")
    """)


def test_short_steps_are_interrupted_too():
    check("""
    step = ProgramStep(address("spin"), [0], [300_000], 1, nanoseconds=20_000, scratch=8)
    program = Program([step] * 20_000, [variable(0)])
    interrupt_soon()
    try:
        program.run([], [], [out])
    except KeyboardInterrupt:
        assert 0 < out[0] < 20_000
    else:
        raise AssertionError("the call ran to its end")
    """)


def test_an_entry_is_interrupted_and_loses_nothing():
    check("""
    from nervure.ir.variable import Variable
    from nervure.transformers.cells import Cell
    from nervure.types.description import BasicTensorDescription
    from nervure.types.dtype import int64
    kind, owner = Array(np.dtype(np.int64), (20_000,)), Owner()
    step = ProgramStep(address("spin"), [1], [1_000_000], 20_000, nanoseconds=20_000_000_000, scratch=8)
    program = Program([step], [variable(0), result(0)], variables=[kind], results=[kind._replace(variable=0)])
    cell = Cell(Variable(BasicTensorDescription(int64, (20_000,)), initial=1))
    entry = FastEntry(owner.fail, [cell])
    entry.add(program)
    before = cell.array
    count = sys.getrefcount(program)
    interrupt_soon()
    try:
        entry.function(owner.slow)()
    except KeyboardInterrupt:
        assert cell.array is before and cell.version == 0
    else:
        raise AssertionError("the call ran to its end")
    assert sys.getrefcount(program) == count
    taken = []
    thread = threading.Thread(target=lambda: taken.append(cell.lock.rlock.acquire(blocking=False)))
    thread.start(); thread.join()
    assert taken == [True]
    """)


def test_other_threads_are_not_interrupted():
    check("""
    codes = []
    def work():
        codes.append(spinning(300).run([], [], [out]).code)
    thread = threading.Thread(target=work)
    interrupt_soon(0.05)
    try:
        thread.start()
        while not codes: time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    while not codes: time.sleep(0.01)
    signal.setitimer(signal.ITIMER_REAL, 0)  # where all was done before, no signal may meet the end of the process
    assert codes == [StatusCode.DONE] and out[:300].all()
    """)


def test_both_sides_of_a_fork_go_on():
    check("""
    flags.threads = 2
    run = lambda: spinning(50, turns=1000).run([], [], [out]).code == StatusCode.DONE
    assert run() and record(ThreadPool).started == 1
    def in_child():
        return record(ThreadPool).started == 0 and run() and record(ThreadPool).started == 1 and set(out[:50]) == {2}
    assert code_of_child(in_child) == 0
    assert run() and set(out[:50]) == {2}
    """)


def test_a_child_of_a_busy_process_says_so():
    check("""
    owner, program = Owner(), spinning(5_000)
    entry = FastEntry(owner.fail)
    entry.add(Program([], [], arguments=[Array(np.dtype(np.int64), (2,))]))
    assert entry.function(owner.slow)(np.array([1, 2])) == ()
    thread = threading.Thread(target=lambda: program.run([], [], [out]), daemon=True)
    thread.start()
    while not record(ThreadPool).calls: pass
    def in_child():
        try:
            entry.function(owner.slow)(np.array([1, 2]))
        except ValueError as error:
            return "forked while a call was running" in str(error)
    assert code_of_child(in_child) == 0
    assert entry.function(owner.slow)(np.array([1, 2])) == ()
    """)


def test_a_fork_during_a_slow_call_says_so():
    check("""
    inside, leave = threading.Event(), threading.Event()
    class Waiting(Owner):
        def slow(self, *arguments):
            inside.set()
            leave.wait()
    owner = Waiting()
    entry = FastEntry(owner.fail)
    thread = threading.Thread(target=entry.function(owner.slow))
    thread.start()
    inside.wait()
    def in_child():
        try:
            entry.function(owner.slow)()
        except ValueError as error:
            return "forked while a call was running" in str(error)
    assert code_of_child(in_child) == 0
    leave.set()
    thread.join()
    assert code_of_child(lambda: entry.function(owner.slow)() is None) == 0
    """)


def test_a_handler_that_forks_in_the_middle_of_a_call():
    check("""
    flags.threads = 2
    codes = []
    def fork(*_):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
        codes.append(pid)
    signal.signal(signal.SIGALRM, fork)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    code = spinning(1_000).run([], [], [out]).code
    if codes[0] == 0:
        os._exit(0 if code == StatusCode.FORKED else 3)
    assert code == StatusCode.DONE and out[:1000].all()
    assert os.waitstatus_to_exitcode(os.waitpid(codes[0], 0)[1]) == 0
    """)
