"""A codec of plain data as JSON, by types: tuples and dataclasses of numbers, text, bytes, dimensions, element types.

>>> from dataclasses import dataclass
>>> from nervure.types.dim import dim
>>> @dataclass(frozen=True)
... class Loop:
...     extent: DimLike
...     steps: tuple[int, ...]
>>> encode(Loop(dim("N") + 1, (8, 1)))
['N + 1', [8, 1]]
>>> decode(Loop, ['N + 1', [8, 1]]) == Loop(dim("N") + 1, (8, 1))
True

The types of the fields direct the reading, so a new field is a line of its class. Data are not trusted: a value of
another kind than its field is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import TypeVar, get_args, get_origin, get_type_hints

from nervure.errors import NervureError
from nervure.types.dim import Dim, DimLike, parse_dim
from nervure.types.dtype import DType, as_dtype

_Read = TypeVar("_Read")


def encode(value: object) -> object:
    """Returns a value in its JSON form."""
    if isinstance(value, tuple):
        return [entry if type(entry) is int else encode(entry) for entry in value]  # most are numbers
    names = _names(type(value))
    if names:
        return [encode(getattr(value, name)) for name in names]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, DType):
        return value.name
    return str(value) if isinstance(value, Dim) else value


def decode(kind: type[_Read], data: object) -> _Read:
    """Reads a value of this type from its JSON form. ValueError if it is none."""
    try:
        return _plain(kind, _reader(kind)(data))  # type: ignore[arg-type]  # types are hashable
    except (TypeError, NervureError) as error:
        raise ValueError(str(error)) from None


def dims_in(value: object) -> Iterator[Dim]:
    """Yields the symbolic dimensions in a value, at any depth."""
    waiting = [value]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, Dim):
            yield entry
        elif isinstance(entry, tuple):
            waiting.extend([part for part in entry if type(part) is not int])
        else:
            waiting.extend([getattr(entry, name) for name in _names(type(entry))])


_known_names: dict[type, tuple[str, ...]] = {}


def _names(kind: type) -> tuple[str, ...]:
    """Returns the names of the fields of a dataclass; none of another type."""
    names = _known_names.get(kind)
    if names is None:
        names = _known_names[kind] = tuple([field.name for field in fields(kind)]) if is_dataclass(kind) else ()
    return names


@cache
def _reader(kind: Hashable) -> Callable[[object], object]:
    """Returns the function that reads values of a type."""
    if kind == DimLike:
        return _dim
    if get_origin(kind) is UnionType:
        some, = [part for part in get_args(kind) if part is not NoneType]
        return lambda data: None if data is None else _reader(some)(data)
    if get_origin(kind) is tuple:
        return _tuple_reader(*get_args(kind))
    assert isinstance(kind, type)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        read = _tuple_reader(*[hints[field.name] for field in fields(kind)])
        return lambda data: kind(*read(data))
    if issubclass(kind, Enum):
        return kind
    readers: dict[type, Callable[[object], object]] = {
        DType: as_dtype, bytes: lambda data: bytes.fromhex(_plain(str, data))}
    return readers.get(kind) or (lambda data: _plain(kind, data))


def _tuple_reader(*parts: Hashable) -> Callable[[object], tuple[object, ...]]:
    """Returns the function that reads tuples of these parts; a last part of ``...`` stands for any number of the part
    before.
    """
    if parts[-1:] == (...,):
        return partial(_read_all, _reader(parts[0]), parts[0] in (int, DimLike))
    readers = [_reader(part) for part in parts]
    return lambda data: tuple([read(entry) for read, entry in zip(readers, _plain(list, data), strict=True)])


def _read_all(read: Callable[[object], object], are_numbers: bool, data: object) -> tuple[object, ...]:
    listed = _plain(list, data)
    if are_numbers and all([type(entry) is int for entry in listed]):  # as most are
        return tuple(listed)
    return tuple([read(entry) for entry in listed])


def _dim(data: object) -> DimLike:
    return data if type(data) is int else _plain(Dim, parse_dim(_plain(str, data)))


def _plain(kind: type[_Read], data: object) -> _Read:
    if not isinstance(data, kind) or (type(data) is bool) is not (kind is bool):
        raise ValueError(f"{kind.__name__} is due, not {data!r}")
    return data
