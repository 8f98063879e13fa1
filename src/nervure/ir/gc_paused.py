"""Python's garbage collector, out of the way while a transformation allocates a large graph.

An op and its values refer to each other, so each full collection visits all of them; between the many allocations of
a walk over 100,000 ops nothing dies, and collections would take longer than the walk.

>>> with gc_paused():
...     gc.isenabled()
False
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No cyclic collection inside. It may be nested, and threads that overlap leave the collector as it was."""
    was_enabled = gc.isenabled()
    try:
        gc.disable()  # an interrupt behind it finds the end
        yield
    finally:
        if was_enabled:
            gc.enable()
