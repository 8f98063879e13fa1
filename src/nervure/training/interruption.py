"""Ctrl-C in a training: the current step is finished, everything is saved, and then the training ends.

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
    """Ctrl-C, raised after the current step; its text says where the training stands and how to go on.

    ``checkpoint`` is the path of the checkpoint, if one was written.

    >>> issubclass(nv.training.Interrupted, KeyboardInterrupt)
    True
    """

    def __init__(self, message: str, checkpoint: str | None) -> None:
        super().__init__(message)
        self.checkpoint = checkpoint


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether Ctrl-C has been pressed. A second press raises KeyboardInterrupt at once.

    It works in the main thread alone, and a program that handles Ctrl-C itself continues to do so.
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
