"""The collector is as it was behind the last pause, in children of a fork too."""

from __future__ import annotations

import gc
import threading

from nervure.ir.gc_paused import gc_paused
from tests.processes import code_of_child


def enabled_in_child():
    """Whether the collector runs in a child."""
    return code_of_child(gc.isenabled) == 0


def test_it_may_be_nested():
    with gc_paused():
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_is_stopped_already_stays_so():
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled() and not enabled_in_child()
    finally:
        gc.enable()


def test_the_pause_of_another_thread_ends_in_a_child():
    inside, leave = threading.Event(), threading.Event()

    def pause():
        with gc_paused():
            inside.set()
            leave.wait(60)
    thread = threading.Thread(target=pause)
    thread.start()
    inside.wait(60)
    assert not gc.isenabled() and enabled_in_child()
    leave.set()
    thread.join()
    with gc_paused():
        assert not enabled_in_child()
    assert gc.isenabled()
