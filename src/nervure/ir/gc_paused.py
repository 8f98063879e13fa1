"""Python's garbage collector, out of the way while a transformation allocates a large graph.

An op and its values refer to each other, so each full collection visits all of them; between the many allocations of
a walk over 100,000 ops nothing dies, and collections would take longer than the walk.

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
"""The threads that have stopped the collector, and will start it."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """No cyclic collection inside. It may be nested, and threads that overlap leave the collector as it was."""
    was_enabled, thread = gc.isenabled(), threading.get_ident()
    try:
        if was_enabled:
            _pausing.add(thread)
        gc.disable()  # an interrupt behind it finds the end
        yield
    finally:
        if was_enabled:
            _pausing.discard(thread)
            gc.enable()


def _begin_in_child() -> None:
    """In a child of a fork, other threads do not come to start it."""
    others = _pausing - {threading.get_ident()}
    _pausing.difference_update(others)
    if others and not _pausing:
        gc.enable()


os.register_at_fork(after_in_child=_begin_in_child)
