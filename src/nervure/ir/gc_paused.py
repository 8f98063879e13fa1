"""Pauses of Python's garbage collector while a transformation allocates a large graph.

An op and its values refer to each other, so each full collection visits all of them. During a walk over 100,000 ops no
garbage arises, and collections would take longer than the walk.

>>> with gc_paused():
...     gc.isenabled()
False
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_pausing: set[int] = set()
"""The threads that have stopped the collector, and will start it again."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Stops cyclic collection inside. It may be nested, and overlapping threads leave the collector as it was."""
    was_enabled, thread = gc.isenabled(), threading.get_ident()
    try:
        if was_enabled:
            _pausing.add(thread)
        gc.disable()  # an interrupt after this line reaches the end below
        yield
    finally:
        if was_enabled:
            _pausing.discard(thread)
            gc.enable()


def _begin_in_child() -> None:
    """Restarts the collector in a child of a fork, where other threads will not."""
    others = _pausing - {threading.get_ident()}
    _pausing.difference_update(others)
    if others and not _pausing:
        gc.enable()


os.register_at_fork(after_in_child=_begin_in_child)
