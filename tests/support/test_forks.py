"""Forks: a child of a process whose threads compile, import or call goes on, and threads begin side by side."""

from __future__ import annotations

import importlib
import sys
import threading

import pytest

from nervure.support import forks
from tests.processes import code_of_child, run_text
from tests.shares import DEEP

# Claim Q30. Children are forked at any moment of what two threads do, from the first import of a module on.
BESIDE_THREADS = """
import threading, time
import numpy as np
import nervure as nv
from tests.processes import code_of_child
nv.flags.cache = False
errors, over = [], []

def work(number):
    try:
        for turn in range(10_000):
            if over:
                break
            x = nv.placeholder(f"N=n, F={3 + number + turn % 50}")
            y = nv.sum(nv.tanh(x) * float(turn), out_axes=())
            nv.computation([y, nv.deriv(y, x)], x, transformer=nv.transformers.make_transformer("NAME"))
    except BaseException as error:
        errors.append(error)

def first():
    x = nv.placeholder("N=n")
    step = nv.computation(nv.sum(x * 2.0, out_axes=()), x, transformer=nv.transformers.make_transformer("NAME"))
    return step(np.float32([1, 2])).item()

threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads: thread.start()
codes = []
for turn in range(TURNS):
    time.sleep(0.02 * (turn % 5))
    codes.append(code_of_child(lambda: first() == 6.0))
over.append(True)
for thread in threads: thread.join(60)
assert codes == [0] * TURNS and not errors, (codes, errors)
"""

# Each thread comes to the package by another door.
COLD = """
import sys, threading
import nervure as nv
sys.setswitchinterval(1e-5)
errors = []

def attempt(act):
    try:
        act()
    except BaseException as error:
        errors.append(error)

def compile():
    x = nv.Parameter(nv.float32, (3,))
    nv.transformers.make_transformer("cpu").build(nv.Function([nv.ops.Exp(x)], [x]))

acts = [lambda: nv.placeholder("N=n"), compile, lambda: nv.nn.LinearLayer(3, 2), lambda: nv.jit(lambda x: x + 1)(1.0),
        lambda: nv.optim.Adam(0.1), lambda: nv.evaluate(nv.constant([1.0]) * 2)]
threads = [threading.Thread(target=attempt, args=(act,)) for act in acts]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
assert not errors, errors
"""


class Holding:
    """``with Holding(lock):`` has another thread hold it."""

    def __init__(self, lock):
        self.lock, self.inside, self.leave = lock, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.hold)

    def hold(self):
        with self.lock:
            self.inside.set()
            self.leave.wait(60)

    def __enter__(self):
        self.thread.start()
        self.inside.wait(60)

    def __exit__(self, *_):
        self.leave.set()
        self.thread.join()


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_children_compute_though_threads_of_their_parent_compile(name):
    run_text(BESIDE_THREADS.replace("NAME", name).replace("TURNS", "20" if DEEP else "8"), NERVURE_CACHE="0")


def test_threads_that_begin_at_once_get_whole_modules():
    run_text(COLD, NERVURE_CACHE="0")


def test_a_lock_of_another_thread_is_open_in_a_child_alone():
    lock = forks.lock()
    with Holding(lock):
        assert code_of_child(lambda: lock.acquire(timeout=5)) == 0
        assert not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)
    lock.release()


def test_who_forks_inside_of_a_lock_still_has_it():
    lock = forks.lock()

    def held():
        found = []
        thread = threading.Thread(target=lambda: found.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
        return found == [False]
    with lock:
        assert code_of_child(held) == 0


def test_a_fork_waits_for_an_import_and_a_child_has_the_module(tmp_path, monkeypatch):
    (tmp_path / "forks_events.py").write_text("from threading import Event\ninside, leave = Event(), Event()\n")
    (tmp_path / "forks_slow.py").write_text("from forks_events import *\ninside.set()\nleave.wait(60)\nwhole = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(forks, "_PACKAGES", {"forks_slow"})
    events = importlib.import_module("forks_events")

    thread = threading.Thread(target=__import__, args=("forks_slow",))
    thread.start()
    events.inside.wait(60)
    threading.Timer(0.1, events.leave.set).start()
    assert code_of_child(lambda: sys.modules["forks_slow"].whole == 1) == 0
    thread.join()


def test_an_import_of_this_thread_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "forks_inside.py").write_text("import os\nchild = os.fork()\nif not child: os._exit(0)\n"
                                              "code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(forks, "_PACKAGES", {"forks_inside"})
    assert __import__("forks_inside").code == 0
