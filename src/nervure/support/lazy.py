"""Lazy attributes: computed when they are first asked for, then kept as plain attributes.

>>> class Circle:
...     def __init__(self, radius):
...         self.radius = radius
...     @lazy
...     def area(self):
...         print("computing")
...         return 3 * self.radius ** 2
>>> circle = Circle(2)
>>> circle.area, circle.area
computing
(12, 12)

Python 3.11's ``functools.cached_property`` has one lock for all objects of a class: one object's attribute would wait
for another thread that computes another object's, and a child forked meanwhile would wait for ever. Here ``lazy``
holds no lock at all: threads that ask one object at the same time may each compute the attribute, and all of them get
the value that is there first. With ``once`` they take turns for that object, which suits expensive attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

from nervure.support import forks

Owner = TypeVar("Owner")
Value = TypeVar("Value", covariant=True)


class lazy(Generic[Owner, Value]):  # lower case, as it is used as a decorator
    """Makes a method without arguments, ``compute``, a lazy attribute."""

    def __init__(self, compute: Callable[[Owner], Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: Owner, owner: type | None = None) -> Value: ...

    def __get__(self, instance: Owner | None, owner: type | None = None) -> Value | Self:
        return self if instance is None else self._kept(instance)

    def _kept(self, instance: Owner) -> Value:
        """Stores the value in the object itself: Python does not call the descriptor again."""
        value: Value = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value


class once(lazy[Owner, Value]):  # lower case, as it is used as a decorator
    """A lazy attribute that one thread computes while others that ask the same object wait.

    >>> class Answer:
    ...     @once
    ...     def value(self):
    ...         return 42
    >>> Answer().value
    42
    """

    def _kept(self, instance: Owner) -> Value:
        kept = instance.__dict__
        with kept.setdefault(f"{self._name} is computed", forks.lock()):
            if self._name not in kept:
                kept[self._name] = self._compute(instance)
            value: Value = kept[self._name]
            return value
