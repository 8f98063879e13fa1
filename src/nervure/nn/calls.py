"""Calls of modules, recorded as they happen; a summary is made of them.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ModuleCall:
    """One call of a module, with its ``arguments`` and ``result``. ``depth`` counts the calls around it, ``outermost``
    is the module of the first of these, and ``names`` lead from that module to this one.
    """

    __slots__ = ("module", "arguments", "depth", "result", "outermost", "names")

    def __init__(self, module: object, arguments: tuple[object, ...], name: str, around: ModuleCall | None) -> None:
        self.module, self.arguments = module, arguments
        self.depth: int = around.depth + 1 if around else 0
        self.outermost: object = around.outermost if around else module
        self.names: tuple[str, ...] = (*around.names, name) if around else ()
        self.result: object = None


class _State(threading.local):
    def __init__(self) -> None:
        self.calls: list[ModuleCall] | None = None
        self.callers: list[ModuleCall] = []
        self.begins: Callable[[object], None] | None = None


_state = _State()


@contextmanager
def noting() -> Iterator[list[ModuleCall]]:
    """Yields the calls of modules on this thread, in the order in which they begin."""
    before, _state.calls, _state.callers = (_state.calls, _state.callers), [], []
    try:
        yield _state.calls
    finally:
        _state.calls, _state.callers = before


@contextmanager
def announcing(begins: Callable[[object], None]) -> Iterator[None]:
    """Gives ``begins`` each module on this thread before its call computes anything.

    >>> with announcing(print), noted("outer", (), "Outer"):
    ...     pass
    outer
    """
    before, _state.begins = _state.begins, begins
    try:
        yield
    finally:
        _state.begins = before


@contextmanager
def noted(module: object, arguments: tuple[object, ...], name: str) -> Iterator[ModuleCall]:
    """Makes a call of a module, by its name in the caller, and records it if ``noting`` is active."""
    call = ModuleCall(module, arguments, name, _state.callers[-1] if _state.callers else None)
    if _state.calls is not None:
        _state.calls.append(call)
    if _state.begins is not None:
        _state.begins(module)
    _state.callers.append(call)
    try:
        yield call
    finally:
        _state.callers.pop()


def caller() -> object:
    """Returns the module whose call is under way on this thread; None outside of all calls."""
    return _state.callers[-1].module if _state.callers else None
