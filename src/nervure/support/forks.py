"""Locks and imports that survive forks: a child has its parent's memory but none of its other threads.

A lock that another thread holds would stay taken in the child for ever. Locks made here are open in the child, unless
the forking thread holds them itself:

>>> import os, threading
>>> gate, inside, leave = lock(), threading.Event(), threading.Event()
>>> def stay():
...     with gate:
...         inside.set()
...         leave.wait()
>>> threading.Thread(target=stay).start()
>>> _ = inside.wait()
>>> child = os.fork()
>>> if child == 0:
...     os._exit(0 if gate.acquire(timeout=1) else 1)
>>> leave.set()
>>> os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
0

The data under such a lock must be consistent at every moment: the child finds them as another thread has left them in
the middle of its work.

A module that another thread is importing would never be complete in the child, and the import would wait for that
thread. So a fork waits until no thread is importing a module of nervure, of its dependencies or of Python itself. And
our threads take turns with imports on first use: when two threads wait for each other's modules, Python gives one of
them an incomplete module.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Protocol, cast
from weakref import WeakSet

_PASSES = 100
"""The most nested imports that a fork waits for: only threads that import without an end exceed it."""

_PACKAGES = {"nervure", "numpy", "ml_dtypes", "llvmlite", "tqdm", *sys.stdlib_module_names}


class Lock(Protocol):
    """Python's lock that a thread may take again, with two parts that Python's own modules use."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None: ...
    def _is_owned(self) -> bool: ...
    def _at_fork_reinit(self) -> None: ...


_locks: WeakSet[Lock] = WeakSet()


def lock() -> Lock:
    """Returns a lock that a thread may take again, and that a child of a fork finds open if another thread holds it."""
    made = reentrant()
    _locks.add(made)
    return made


def reentrant() -> Lock:
    """Returns a lock that a thread may take again, for callers that handle forks themselves."""
    return cast(Lock, threading.RLock())  # noqa: TID251  # made here alone


_imports = lock()


@contextmanager
def importing() -> Iterator[None]:
    """Guards an import on first use: one thread at a time is inside. A thread that is already importing a module of
    ours continues as in plain Python, since others may wait for that module.

    >>> with importing():
    ...     import nervure.inspection.explain
    """
    if threading.get_ident() in _under_way().values():
        yield
        return
    with _imports:
        # Another thread may fork meanwhile. This module acts before and after a fork, and if it were imported in
        # between, after it alone. It imports logging, which does the same.
        if threading.active_count() > 1:
            importlib.import_module("concurrent.futures.thread")
        yield


def _under_way() -> dict[str, int]:
    """Returns the threads that are in the middle of an import, by the names of the modules, which a child may need.

    Python has a lock for each module that is being imported, and no public way to see them.
    """
    locks = vars(sys.modules["_frozen_importlib"]).get("_module_locks", {})
    owners = {name: getattr(reference(), "owner", None) for name, reference in list(locks.items())
              if name.partition(".")[0] in _PACKAGES}
    return {name: owner for name, owner in owners.items() if owner is not None}


def _wait_for_imports() -> None:
    """Waits until no other thread is in the middle of an import, whether that fails or not."""
    for _ in range(_PASSES):
        names = [name for name, thread in _under_way().items() if thread != threading.get_ident()]
        for name in names:
            with suppress(Exception):
                importlib.import_module(name)
        if not names:
            break


def _open_locks() -> None:
    for each in list(_locks):
        if not each._is_owned():
            each._at_fork_reinit()


os.register_at_fork(before=_wait_for_imports, after_in_child=_open_locks)
