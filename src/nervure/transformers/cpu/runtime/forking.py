"""Forks: the child of a process has its parent's memory, but none of its threads.

Without a call under way both sides go on; the child makes threads of its own when it first needs them. If another
thread was inside a call, that call never ends in the child, and its locks are never released: the child's next call
reports that instead of waiting.

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
    """Marks Python code that works for a call, so that a fork in between is noticed: ``with CALL_UNDER_WAY:``."""

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
    """Resets a child of a fork, whose only thread is the one that forked.

    Only a call without the GIL can have been changing the memory pool; in that case, its memory is abandoned.
    """
    if pool.calls or others_run():
        pool.lost = 1
    if pool.calls:
        ctypes.memset(ctypes.addressof(memory), 0, ctypes.sizeof(memory))
    pool.started = pool.lock = pool.sleepers = 0
    pool.main = threading.get_ident()


def lost_call() -> InvalidArgument:
    """Returns the error of every call after such a fork."""
    return InvalidArgument("this process was forked while a call was running", op="call",
                           got="a fork in the middle of a call", expected="a fork with no call under way",
                           help="fork before calls start or after they end, or start processes by "
                                "multiprocessing's method 'spawn'")
