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
        self.depth = 0


_state = _State()


@contextmanager
def noting() -> Iterator[list[Call]]:
    """The calls of modules on this thread, in the order in which they begin."""
    before, _state.calls, _state.depth = (_state.calls, _state.depth), [], 0
    try:
        yield _state.calls
    finally:
        _state.calls, _state.depth = before


@contextmanager
def noted(module: object, arguments: tuple[object, ...]) -> Iterator[Call]:
    """One call, which is kept where somebody is noting them."""
    call = Call(module, arguments, _state.depth)
    if _state.calls is not None:
        _state.calls.append(call)
    _state.depth += 1
    try:
        yield call
    finally:
        _state.depth -= 1
