"""Calls of modules, noted while they happen: what a summary is made of.

>>> with noting() as calls:
...     with noted("outer", ()) as note:
...         with noted("inner", ()) as inside:
...             inside.result = 1
...         note.result = 2
>>> [(call.module, call.depth, call.result) for call in calls]
[('outer', 0, 2), ('inner', 1, 1)]
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Call:
    """A call of a module: what it was given and gave, and inside of how many others it happened."""

    __slots__ = ("module", "arguments", "depth", "result")

    def __init__(self, module: object, arguments: tuple[object, ...], depth: int) -> None:
        self.module, self.arguments, self.depth = module, arguments, depth
        self.result: object = None


class _State(threading.local):
    def __init__(self) -> None:
        self.calls: list[Call] | None = None
        self.callers: list[object] = []


_state = _State()


@contextmanager
def noting() -> Iterator[list[Call]]:
    """The calls of modules on this thread, in the order in which they begin."""
    before, _state.calls, _state.callers = (_state.calls, _state.callers), [], []
    try:
        yield _state.calls
    finally:
        _state.calls, _state.callers = before


@contextmanager
def noted(module: object, arguments: tuple[object, ...]) -> Iterator[Call]:
    """One call, which is kept where somebody is noting them."""
    call = Call(module, arguments, len(_state.callers))
    if _state.calls is not None:
        _state.calls.append(call)
    _state.callers.append(module)
    try:
        yield call
    finally:
        _state.callers.pop()


def caller() -> object:
    """The module whose call is under way on this thread; None outside of all calls."""
    return _state.callers[-1] if _state.callers else None
