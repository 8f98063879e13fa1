"""Calls of modules, noted while they happen: what a summary is made of.

>>> with noting() as calls:
...     with noted("outer", (), "Outer") as note:
...         with noted("inner", (), "blocks.1") as inside:
...             inside.result = 1
...         note.result = 2
>>> [(call.module, call.depth, call.names, call.result) for call in calls]
[('outer', 0, (), 2), ('inner', 1, ('blocks.1',), 1)]
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Call:
    """A call of a module: what it was given and gave, inside of how many others it happened, the ``outermost`` module
    of those, and the ``names`` on the way from that one.
    """

    __slots__ = ("module", "arguments", "depth", "result", "outermost", "names")

    def __init__(self, module: object, arguments: tuple[object, ...], name: str, around: Call | None) -> None:
        self.module, self.arguments = module, arguments
        self.depth: int = around.depth + 1 if around else 0
        self.outermost: object = around.outermost if around else module
        self.names: tuple[str, ...] = (*around.names, name) if around else ()
        self.result: object = None


class _State(threading.local):
    def __init__(self) -> None:
        self.calls: list[Call] | None = None
        self.callers: list[Call] = []


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
def noted(module: object, arguments: tuple[object, ...], name: str) -> Iterator[Call]:
    """One call of a module by its name in the caller, which is kept where somebody is noting them."""
    call = Call(module, arguments, name, _state.callers[-1] if _state.callers else None)
    if _state.calls is not None:
        _state.calls.append(call)
    _state.callers.append(call)
    try:
        yield call
    finally:
        _state.callers.pop()


def caller() -> object:
    """The module whose call is under way on this thread; None outside of all calls."""
    return _state.callers[-1].module if _state.callers else None
