"""Immutable objects: setting a part of one is an error that names the alternative.

Only a constructor writes parts, with ``put``. A class sets ``_plural`` and ``_instead``, the error's name for its
instances, and its advice.

>>> class Point(Frozen):
...     __slots__ = ("x",)
...     _plural, _instead = "points", "make another: Point(x)"
...     def __init__(self, x):
...         put(self, "x", x)
>>> Point(1).x = 2                                                           # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.Immutable: Point: x cannot be set: points are immutable
  operand:  x
  got:      2
  help:     make another: Point(x)
...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeVar, dataclass_transform

from nervure.errors import Immutable

put = object.__setattr__
"""Writes a part of an object under construction: ``put(self, "x", x)``."""

Class = TypeVar("Class", bound=type)


def slot_writers(cls: type) -> list[Callable[[object, object], None]]:
    """Returns a ``put`` for each slot of a class, in their order: faster, for constructors that run millions of times.
    """
    return [vars(cls)[name].__set__ for name in vars(cls)["__slots__"] if name != "__weakref__"]


def refuse_setting(thing: object, name: str, value: object) -> NoReturn:
    """Refuses to set ``name`` to ``value``: the ``__setattr__`` of immutable objects."""
    raise _refusal(thing, name, "set", f"{value!r:.60}")


def refuse_deleting(thing: object, name: str) -> NoReturn:
    """Refuses to delete ``name``: the ``__delattr__`` of immutable objects."""
    raise _refusal(thing, name, "deleted", None)


def _refusal(thing: object, name: str, done: str, got: str | None) -> Immutable:
    plural, instead = getattr(thing, "_plural", "such objects"), getattr(thing, "_instead", "make another one")
    return Immutable(f"{name} cannot be {done}: {plural} are immutable", op=type(thing).__name__, operand=name,
                     got=got, help=instead)


class Frozen:
    """A base class of immutable instances, each of which is its own copy. A class that lets some parts be set
    overrides ``__setattr__``.
    """

    __slots__ = ()
    _plural: str
    _instead: Any

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)

    def __delattr__(self, name: str) -> None:
        refuse_deleting(self, name)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __setstate__(self, state: tuple[None, dict[str, object]]) -> None:
        for name, value in state[1].items():  # attributes read from a pickle
            put(self, name, value)


@dataclass_transform(frozen_default=True)
def frozen_dataclass(**options: bool) -> Callable[[Class], Class]:
    """Declares a frozen dataclass with these errors."""
    def made(cls: Class) -> Class:
        fresh: Any = dataclass(frozen=True, **options)(cls)
        fresh.__setattr__, fresh.__delattr__ = refuse_setting, refuse_deleting
        return fresh
    return made
