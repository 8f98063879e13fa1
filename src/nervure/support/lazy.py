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

Python 3.11's ``functools.cached_property`` has one lock for all objects of a class: what is computed for one would wait
for what another thread computes for another, and a child that is forked meanwhile would wait for ever. Here ``lazy``
holds no lock at all: threads that ask one object at the same time may each compute the attribute, and all of them get
the value that is there first. With ``once`` they take turns for that object, which is for what is dear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

from nervure.support import forks

Owner = TypeVar("Owner")
Value = TypeVar("Value", covariant=True)


class lazy(Generic[Owner, Value]):  # a decorator, as property is
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
        """The value, which from now on the object has itself: Python does not come here again."""
        value: Value = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value


class once(lazy[Owner, Value]):  # a decorator, too
    """The same, computed by one thread while others that ask the same object wait for it.

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
