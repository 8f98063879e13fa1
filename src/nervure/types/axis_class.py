"""The class of an axis: the meaning of a dimension, whatever its length.

>>> AxisClass("H") == AxisClass("H"), AxisClass.unique("H") == AxisClass("H")
(True, False)
"""

from __future__ import annotations

import itertools

from nervure.errors import WrongKind
from nervure.types.frozen import Frozen, put

_serial_numbers = itertools.count(1)


def automatic_name() -> str:
    """Returns ``Axis_7``, with a number that no other automatic name has."""
    return f"Axis_{next(_serial_numbers)}"


class AxisClass(Frozen):
    """The meaning of dimensions, whatever their length: height, channel, time.

    ``AxisClass("H")`` is the class of the name H: all classes of one name are equal, wherever they were made. A
    *unique* class equals only itself; its name is for people. The class of a flattened axis is that of its parts.
    """

    __slots__ = ("_hash", "_key", "name")
    _plural = "classes of axes"
    _instead = "make another: nv.make_axis_class(name)"
    name: str
    _key: object
    _hash: int

    def __init__(self, name: str, key: object = None) -> None:
        put(self, "name", name)
        put(self, "_key", name if key is None else key)
        put(self, "_hash", hash(self._key))

    @classmethod
    def unique(cls, name: str) -> AxisClass:
        return cls(name, object())

    @classmethod
    def flattened(cls, name: str, classes: tuple[AxisClass, ...]) -> AxisClass:
        return cls(name, classes)

    @property
    def is_flattened(self) -> bool:
        return isinstance(self._key, tuple)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, AxisClass) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[AxisClass], tuple[str, object]]:
        return AxisClass, (self.name, self._key)  # the hash of a string differs from process to process

    def __repr__(self) -> str:
        return f"AxisClass({self.name!r})"


BATCH, RECURRENT, CHANNEL = AxisClass("N"), AxisClass("REC"), AxisClass("C")
RESERVED = {reserved.name: reserved for reserved in (BATCH, RECURRENT, CHANNEL)}


def make_axis_class(name: str | None = None) -> AxisClass:
    """Returns the class of a name, equal wherever it is made; without a name a class that equals only itself.

    >>> nv.make_axis_class("H") == nv.make_axis_class("H"), nv.make_axis_class() == nv.make_axis_class()
    (True, False)
    """
    if name is None:
        return AxisClass.unique(automatic_name())
    return AxisClass(checked_name(name, "make_axis_class"))


def checked_name(name: object, op: str) -> str:
    """Returns a name as it is; WrongKind for anything but a string."""
    if not isinstance(name, str):
        raise WrongKind("a name is a string", op=op, operand="name", got=type(name).__name__, expected="str",
                        help='nv.make_axis_class("features")')
    return name
