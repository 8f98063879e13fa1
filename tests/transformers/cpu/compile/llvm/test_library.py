"""LLVM's functions: loaded once, never held by a child that was forked in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time

from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.library import Message, using_llvm

TEXT = "define <8 x float> @f(<8 x float> %x) { %y = fadd <8 x float> %x, %x ret <8 x float> %y }"


def test_a_message_is_given_back_once():
    with using_llvm() as llvm:
        with Message(llvm) as name:
            llvm.GetHostCPUName(name.place)
            assert str(name)
        assert str(name) == ""


def test_it_can_be_used_within_itself():
    with using_llvm() as outer, using_llvm() as inner:
        assert outer is inner


def test_a_fork_waits_until_nobody_is_inside():
    order: list[str] = []
    inside = threading.Event()

    def stay() -> None:
        with using_llvm():
            inside.set()
            time.sleep(0.05)
            order.append("left")

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if order == ["left"] else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_compiles_while_threads_of_its_parent_do():
    """Forks at any moment of other threads' compilations; a child that hangs is killed by its alarm."""
    expected = compile_object(TEXT)
    is_done = threading.Event()

    def work() -> None:
        while not is_done.is_set():
            compile_object(TEXT)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if compile_object(TEXT) == expected else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    is_done.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 10 and compile_object(TEXT) == expected


def test_who_is_inside_may_fork():
    with using_llvm():
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if compile_object(TEXT) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_handler_may_fork_while_a_fork_waits():
    """Each waits for the thread that is inside; the gate is open to all in the end, in the children too."""
    inside, me = threading.Event(), os.getpid()
    children: list[int] = []

    def fork(*_: object) -> None:
        children.append(os.fork())

    def stay() -> None:
        with using_llvm():
            inside.set()
            time.sleep(0.05)
            os.kill(me, signal.SIGUSR1)
            time.sleep(0.1)

    def compiles() -> bool:
        thread = threading.Thread(target=compile_object, args=(TEXT,))
        thread.start()
        thread.join(20)
        return not thread.is_alive()

    before = signal.signal(signal.SIGUSR1, fork)
    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    fork()
    if os.getpid() != me:
        signal.alarm(40)
        os._exit(0 if compiles() else 1)
    signal.signal(signal.SIGUSR1, before)
    thread.join()
    assert len(children) == 2 and compiles()
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
