"""Ordered locks, to prevent deadlock: one call at a time uses a shared object, and no two calls wait for each other.

Calls take locks in one order, so that two of them cannot wait for each other. But a call may be running a function of
the user's (a host call, a print, a signal handler), which may do anything:

* It may use a variable of the call that it stands in. It reads the value from before that call; a change would undo, or
  be undone by, what the call itself does, and is InUse at once.
* It may wait for another thread that needs such a variable. Then neither can go on: that thread gives up after
  ``flags.wait_limit`` seconds, with InUse.
* It, or another thread, may fork. In the child the calls of other threads never end: what they only read is free
  there, and what they may have changed in part is InUse for good.

>>> class Place:
...     name, lock = "w", OrderedLock()
>>> holding([Place], lambda: holding([Place], lambda: "read inside"))
'read inside'
>>> holding([Place], lambda: holding([Place], lambda: "changed inside", changed=[Place]))    # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.InUse: call: w is in use by a call that has not ended
...
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from operator import methodcaller
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from nervure import flags
from nervure.errors import InUse
from nervure.support import forks

LOOK_EVERY = 0.1
"""Seconds between two looks at the state of a lock's holder."""

_serials = itertools.count()
_acquire, _release = methodcaller("acquire", True, LOOK_EVERY), methodcaller("release")
Answer = TypeVar("Answer")


class OrderedLock:
    """A lock with a position in the one order in which locks are taken.

    A thread that holds it may take it again. ``holder`` is the thread that has it, for others to look at. It may be
    out of date, since native code writes it, too; only the lock itself knows for certain whether this thread holds it.
    ``only_reads`` says that the holder changes nothing, ``is_lost`` that it was left behind by a fork.
    """

    __slots__ = ("rlock", "serial", "holder", "only_reads", "is_lost", "__weakref__")

    def __init__(self) -> None:
        self.rlock, self.serial, self.holder = forks.reentrant(), next(_serials), ctypes.c_int64(0)
        self.only_reads = self.is_lost = False
        _all.add(self)

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds it."""
        return self.rlock._is_owned()

    def begin_in_child(self) -> None:
        """Opens it in a child of a fork if its holder is a thread that does not exist there. It stays taken if that
        thread may have changed something.
        """
        if self.is_mine:
            return
        if self.holder.value and not self.only_reads:
            self.is_lost = True
        if not self.is_lost:
            self.rlock._at_fork_reinit()
            self.holder.value = 0


_all: WeakSet[OrderedLock] = WeakSet()


class Shared(Protocol):
    """An object that one call at a time uses."""

    name: str | None
    lock: OrderedLock


class Visit(NamedTuple):
    """A function of the user's that is running now: its name in errors, and its location."""

    name: str
    location: object

    def __str__(self) -> str:
        return f"{self.name} at {self.location}" if self.location else self.name


_visits: dict[int, tuple[Visit, ...]] = {}
"""The functions that run inside of calls, by thread, the innermost last."""


def visiting(visit: Visit, function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Calls a user's ``function`` and returns its result; while it runs, other threads can see that."""
    thread = threading.get_ident()
    before = _visits.get(thread, ())
    try:
        _visits[thread] = (*before, visit)
        return function(*arguments)
    finally:
        if before:
            _visits[thread] = before
        else:
            _visits.pop(thread, None)


def holding(things: Sequence[Shared], act: Callable[[], Answer], changed: Sequence[Shared] = (),
            op: str = "call") -> Answer:
    """Returns the result of ``act()``, run with the locks of ``things`` held; it changes those in ``changed``.

    Raises InUse if this thread is inside of a call that uses a thing in ``changed``. It raises InUse, too, if a lock
    stays taken because its holder is inside of a function of the user's for too long. Then nothing is held, or
    changed.

    Signal handlers may raise anywhere in Python's code, but not inside of a loop that is written in C. So such loops
    take and release the locks, and none stays taken.
    """
    for thing in changed:
        if thing.lock.is_mine:
            raise _change_refused(thing, op)
    ordered = sorted(things, key=lambda thing: thing.lock.serial)
    locks = [thing.lock.rlock for thing in ordered]
    patience = _Patience(op)
    while True:
        taken: list[bool] = []
        fresh = [thing.lock for thing in ordered if not thing.lock.is_mine]
        give_back = map(_release, itertools.compress(locks, taken))
        try:
            taken.extend(itertools.takewhile(bool, map(_acquire, locks)))
            if len(taken) == len(locks):
                return _marked(fresh, act, {thing.lock for thing in changed})
        finally:
            deque(give_back, maxlen=0)
        patience.look(ordered[len(taken)])


def _marked(locks: Sequence[OrderedLock], act: Callable[[], Answer], changing: Set[OrderedLock]) -> Answer:
    """Returns the result of ``act()``; meanwhile the locks say which thread holds them, and whether it changes
    something.
    """
    thread = threading.get_ident()
    try:
        for lock in locks:
            lock.only_reads, lock.holder.value = lock not in changing, thread
        return act()
    finally:
        for lock in locks:
            lock.only_reads, lock.holder.value = False, 0


class _Patience:
    """The time that one call has waited for another call that stays inside of a function of the user's."""

    def __init__(self, op: str) -> None:
        self._op = op
        self._visit: Visit | None = None
        self._since = 0.0

    def look(self, thing: Shared) -> None:
        """Raises InUse if the holder of a thing's lock has been inside of one and the same function for too long."""
        if thing.lock.is_lost:
            raise InUse(f"{_name(thing)} was in use by a call when this process was forked", op=self._op,
                        operand=thing.name, got="a fork in the middle of a call",
                        expected="a fork with no call under way", help="fork before calls start or after they end, or "
                        "start processes by multiprocessing's method 'spawn'")
        visit = _visits.get(thing.lock.holder.value, (None,))[-1]
        if visit is not self._visit:
            self._visit, self._since = visit, time.monotonic()
        elif visit is not None and time.monotonic() - self._since >= flags.wait_limit:
            raise InUse(f"{_name(thing)} is in use by a call that may be waiting for this thread", op=self._op,
                        operand=thing.name, got=f"a call that is inside of {visit}", expected="its end",
                        help=f"do not wait for another thread there; flags.wait_limit ({flags.wait_limit} seconds) "
                             f"is how long a call waits")


def _change_refused(thing: Shared, op: str) -> InUse:
    visits = _visits.get(threading.get_ident())
    return InUse(f"{_name(thing)} is in use by a call that has not ended", op=op, operand=thing.name,
                 got=f"a change inside of {visits[-1] if visits else 'that call'}",
                 expected="changes before that call or after it",
                 help="return the new value from the function and assign it in the computation that calls it")


def _name(thing: Shared) -> str:
    return thing.name or "a variable"


def _begin_in_child() -> None:
    """Prepares a child of a fork: the calls of the parent's other threads have ended there, or are lost."""
    for lock in list(_all):
        lock.begin_in_child()
    for thread in [thread for thread in _visits if thread != threading.get_ident()]:
        del _visits[thread]


os.register_at_fork(after_in_child=_begin_in_child)
