"""Ctrl-C while training: the step that runs is finished, what is to be saved is saved, then it ends.

>>> import signal
>>> with deferred() as is_pressed:
...     signal.raise_signal(signal.SIGINT)
...     is_pressed()
True
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the step that ran then; its text says where the training stands and how to go on.

    ``checkpoint`` is the path of what was saved, if anything was.

    >>> issubclass(nv.training.Interrupted, KeyboardInterrupt)
    True
    """

    def __init__(self, message: str, checkpoint: str | None) -> None:
        super().__init__(message)
        self.checkpoint = checkpoint


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C was pressed since. Pressed again, it is a KeyboardInterrupt at once.

    Only the main thread hears of it, and a program that handles Ctrl-C by itself goes on doing so.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    presses: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        presses.append(number)
        if len(presses) > 1:
            raise KeyboardInterrupt
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(presses)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
