"""Copies of immutable records with other values of some fields, made faster than ``dataclasses.replace`` does.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, slots=True)
... class Loop:
...     extent: int
...     body: tuple[str, ...] = ()
>>> replace(Loop(8), body=("add",))
Loop(extent=8, body=('add',))
>>> replace(Loop(8), length=4)
Traceback (most recent call last):
    ...
TypeError: Loop has no field 'length'

A record that is checked when it is made, or that has no slots, is made by ``dataclasses.replace``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MemberDescriptorType
from typing import TypeVar

Record = TypeVar("Record")
Writers = tuple[tuple[str, Callable[[object, object], None]], ...]

_new = object.__new__
_known: dict[type, Writers | None] = {}


def replace(record: Record, **changes: object) -> Record:
    """Returns a copy of a frozen dataclass with these values of fields."""
    kind = type(record)
    try:
        writers = _known[kind]
    except KeyError:
        writers = _known[kind] = _writers_of(kind)
    if writers is None:
        return dataclasses.replace(record, **changes)  # type: ignore[type-var]  # it is a dataclass
    made = _new(kind)
    for name, put in writers:
        put(made, changes.pop(name) if name in changes else getattr(record, name))
    if changes:
        raise TypeError(f"{kind.__name__} has no field {next(iter(changes))!r}")
    return made


def _writers_of(kind: type) -> Writers | None:
    """Returns what writes each field of new instances; None if writing is not all that making one does."""
    fields = dataclasses.fields(kind)
    slots = [(field.name, getattr(kind, field.name, None)) for field in fields if field.init]
    if hasattr(kind, "__post_init__") or len(slots) < len(fields):
        return None
    if not all([isinstance(slot, MemberDescriptorType) for _, slot in slots]):
        return None
    return tuple([(name, slot.__set__) for name, slot in slots if slot is not None])
