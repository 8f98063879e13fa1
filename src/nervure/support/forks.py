"""Forks: a child has the memory of its parent and none of its other threads, so nothing may wait for those.

A lock that another thread holds would stay taken in the child for ever. Those that are made here are open in it, unless
the thread that has forked holds them itself:

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

What such a lock guards is whole at every moment: the child meets it as another thread has left it in the middle.

A module that another thread imports would not be there in the child, and the import would wait for that thread. So a
fork waits until no thread imports a module of ours, of what we need or of Python's own. And our threads take turns
where they import what was not needed before: where two of them wait for each other's modules, Python gives one of them
a module of which half is missing.
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
"""One import may begin another; only threads that import without an end would hold a fork for longer."""

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
    """A lock that a thread may take again, and that a child of a fork finds open if another thread holds it."""
    made = reentrant()
    _locks.add(made)
    return made


def reentrant() -> Lock:
    """A lock that a thread may take again, for those who see to forks themselves."""
    return cast(Lock, threading.RLock())  # noqa: TID251  # made here alone


_imports = lock()


@contextmanager
def importing() -> Iterator[None]:
    """Around an import that is made when it is first needed: one thread at a time is inside. One that is importing a
    module of ours already goes on as Python has it, since others may wait for that module.

    >>> with importing():
    ...     import nervure.inspection.explain
    """
    if threading.get_ident() in _under_way().values():
        yield
        return
    with _imports:
        if threading.active_count() > 1:  # another thread may fork meanwhile, and what acts before a fork and after it
            importlib.import_module("concurrent.futures.thread")  # would act after it alone; it takes in logging
        yield


def _under_way() -> dict[str, int]:
    """The threads that are in the middle of an import, by the names of the modules, which a child may need.

    Python has a lock for each module that is being imported, and no public way to see them.
    """
    locks = vars(sys.modules["_frozen_importlib"]).get("_module_locks", {})
    owners = {name: getattr(reference(), "owner", None) for name, reference in list(locks.items())
              if name.partition(".")[0] in _PACKAGES}
    return {name: owner for name, owner in owners.items() if owner is not None}


def _wait_for_imports() -> None:
    """Returns when no other thread is in the middle of an import, whether that fails or not."""
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
