"""Forks: the child of a process has the memory of its parent, but none of its threads.

With no call under way both sides go on; the child makes threads of its own when it first needs them. If another thread
was inside a call, that call never ends in the child, and what it holds is never given back: the child's next call says
so instead of waiting.

>>> with CALL_UNDER_WAY:
...     others_run(), list(_running.values())
(False, [1])
"""

from __future__ import annotations

import ctypes
import threading

from nervure.errors import InvalidArgument
from nervure.transformers.cpu.runtime.records import MemoryPool, ThreadPool

_running: dict[int, int] = {}


class CallUnderWay:
    """Around what Python does for a call, so that a fork in between is noticed: ``with CALL_UNDER_WAY:``."""

    def __enter__(self) -> None:
        thread = threading.get_ident()
        _running[thread] = _running.get(thread, 0) + 1

    def __exit__(self, *exception: object) -> None:
        thread = threading.get_ident()
        count = _running.pop(thread) - 1
        if count:
            _running[thread] = count


CALL_UNDER_WAY = CallUnderWay()


def others_run() -> bool:
    """Whether another thread is inside a call."""
    return any([thread != threading.get_ident() for thread in list(_running)])


def start_anew(pool: ThreadPool, memory: MemoryPool) -> None:
    """In a child: its only thread is the one that has forked.

    Only a call without the GIL can have been changing the memory pool; then what that keeps is left alone for good.
    """
    if pool.calls or others_run():
        pool.lost = 1
    if pool.calls:
        ctypes.memset(ctypes.addressof(memory), 0, ctypes.sizeof(memory))
    pool.started = pool.lock = pool.sleepers = pool.ticket = 0
    pool.main = threading.get_ident()


def lost_call() -> InvalidArgument:
    """The error of every call after such a fork."""
    return InvalidArgument("this process was forked while a call was running", op="call",
                           got="a fork in the middle of a call", expected="a fork with no call under way",
                           help="fork before calls start or after they end, or start processes by "
                                "multiprocessing's method 'spawn'")
