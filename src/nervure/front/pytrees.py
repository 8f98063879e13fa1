"""Pytrees: nested dicts, lists, tuples, named tuples and dataclasses, flattened to leaves and put together again.

>>> leaves, pattern = flatten({"a": 1, "b": [2, (3, None)]})
>>> leaves
[1, 2, 3, None]
>>> unflatten(pattern, [10, 20, 30, None])
{'a': 10, 'b': [20, (30, None)]}
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set, ValuesView
from enum import Enum
from types import BuiltinFunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any, NamedTuple, TypeAlias, cast

from nervure.errors import InvalidArgument

Nested: TypeAlias = Any
"""A leaf, or leaves in any nesting."""

DEEPEST = 100
"""The deepest nesting allowed: far beyond any use, well inside Python's own stack."""


_NATIVE = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)


@dataclasses.dataclass(frozen=True)
class Attribute:
    """The key of what a container has under a name, beside its entries."""

    name: str


class LeafPattern(NamedTuple):
    """The place of one leaf in a pattern."""


class ContainerPattern(NamedTuple):
    """One container: its class, the keys of its entries, a pattern for each entry, and a defaultdict's factory.

    ``is_own_namespace`` says that its attributes are its entries (``self.__dict__ = self``).
    """

    kind: type[Any]
    keys: tuple[object, ...]
    entries: tuple[Pattern, ...]
    factory: Callable[[], object] | None = None
    is_own_namespace: bool = False


Pattern = LeafPattern | ContainerPattern
LEAF = LeafPattern()


def flatten(value: object, depth: int = 0) -> tuple[list[object], Pattern]:
    """The leaves in order, and the pattern (hashable, comparable) that holds everything else."""
    if depth > DEEPEST:
        raise InvalidArgument(f"values are nested more than {DEEPEST} deep", op="flatten", help="does it hold itself?",
                              got=f"{DEEPEST} levels and more", expected=f"at most {DEEPEST} levels")
    parts = parts_of(value)
    if parts is None:
        return [value], LEAF
    leaves: list[object] = []
    patterns = []
    for entry in parts[1]:
        below, pattern = flatten(entry, depth + 1)
        leaves.extend(below)
        patterns.append(pattern)
    factory = value.default_factory if isinstance(value, defaultdict) else None
    return leaves, ContainerPattern(type(value), tuple(parts[0]), tuple(patterns), factory, _is_own_namespace(value))


def flatten_as(first: Pattern, value: object) -> tuple[list[object], Pattern]:
    """Returns what ``flatten`` does, in the order of the ``first`` pattern if nothing but the order differs: entries
    are found by their keys.

    >>> flatten_as(flatten({"a": 0, "b": 0})[1], {"b": 1, "a": 2})[0]
    [2, 1]
    """
    leaves, pattern = flatten(value)
    try:
        return _in_order(first, pattern, iter(leaves)), first
    except LookupError:
        return leaves, pattern


def unflatten(pattern: Pattern, leaves: Iterable[object]) -> object:
    """Builds the nested value that has this pattern and these leaves."""
    return _build(pattern, iter(leaves))


def paths(pattern: Pattern, root: str = "") -> list[str]:
    """Returns the text for each leaf of a nested value, behind the ``root`` that names it: ``carry[0]['h']``."""
    if isinstance(pattern, LeafPattern):
        return [root]
    return [path for key, entry in zip(pattern.keys, pattern.entries, strict=True)
            for path in paths(entry, f"{root}{key_text(key)}")]


def key_text(key: object) -> str:
    """Returns the text for the way from a container to the entry with a ``key``: ``['h']``, ``.weight``."""
    return f".{key.name}" if isinstance(key, Attribute) else f"[{key!r}]"


def parts_of(value: Any) -> tuple[Iterable[object], Iterable[object]] | None:
    """Returns the keys and entries of a container, None for a leaf. What a subclass computes when it is read or made
    is left out: a container comes back as it was.
    """
    kind = type(value)
    if kind in (list, tuple):
        return range(len(value)), value
    if kind is dict:
        return value.keys(), value.values()
    if isinstance(value, Enum):
        return None  # a member is one of a kind, whatever it is made of
    if isinstance(value, dict):
        return _with_attributes(value, dict(_native(kind, "items")(value)))
    if isinstance(value, Mapping):
        return list(value), [value[key] for key in value]
    if isinstance(value, (list, tuple)):
        return _with_attributes(value, dict(enumerate(_native(kind, "__iter__")(value))))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [entry.name for entry in dataclasses.fields(value)]
        return _with_attributes(value, {Attribute(name): getattr(value, name)
                                        for name in fields if hasattr(value, name)})
    return None


def attributes_of(value: object) -> dict[str, object]:
    """Returns what an object has in slots and in its ``__dict__``, by the names with which it is set."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **getattr(value, "__dict__", {})}


def held_in(leaf: object, kinds: tuple[type, ...]) -> Iterator[object]:
    """Yields the objects of some kinds in what a leaf holds: elements of sets, deques and views of dicts, attributes.

    They are not searched themselves.
    """
    remaining, seen = [leaf], dict[int, object]()
    while remaining:
        value = remaining.pop()
        if isinstance(value, kinds):
            yield value
        elif id(value) not in seen and not isinstance(value, (type, ModuleType, *_NATIVE)):
            seen[id(value)] = value
            parts = parts_of(value)
            elements = value if isinstance(value, (Set, ValuesView, deque)) else () if parts is None else parts[1]
            remaining += [*attributes_of(value).values(), *elements]


def _slots(kind: type) -> list[str]:
    """Returns the names of a class's own slots; Python puts the class in front of private ones."""
    listed = getattr(kind, "__slots__", ())
    owner = kind.__name__.lstrip("_")
    return [f"_{owner}{name}" if owner and name.startswith("__") and not name.endswith("__") else name
            for name in ([listed] if isinstance(listed, str) else listed) if name not in ("__dict__", "__weakref__")]


def _with_attributes(value: object, entries: dict[object, object]) -> tuple[Iterable[object], Iterable[object]]:
    """Returns the keys and entries of a container, its attributes among them."""
    if type(value) is not OrderedDict and not _is_own_namespace(value):  # PyTorch keeps versions beside the entries
        entries |= {Attribute(name): entry for name, entry in attributes_of(value).items()}
    return entries.keys(), entries.values()


def _is_own_namespace(value: object) -> bool:
    return isinstance(value, dict) and getattr(value, "__dict__", None) is value


def _in_order(first: Pattern, pattern: Pattern, leaves: Iterator[object]) -> list[object]:
    """Returns the leaves of a pattern in the order of the ``first``; LookupError if more than the order differs."""
    if isinstance(first, LeafPattern) or isinstance(pattern, LeafPattern):
        if first != pattern:
            raise LookupError
        return [next(leaves)]
    entries = dict(zip(first.keys, first.entries, strict=True))
    kinds = [each._replace(keys=(), entries=()) for each in (first, pattern)]
    if kinds[0] != kinds[1] or entries.keys() != set(pattern.keys):
        raise LookupError
    found = {key: _in_order(entries[key], entry, leaves)
             for key, entry in zip(pattern.keys, pattern.entries, strict=True)}
    return [leaf for key in first.keys for leaf in found[key]]


def _build(pattern: Pattern, leaves: Iterator[object]) -> object:
    if isinstance(pattern, LeafPattern):
        return next(leaves)
    built = [(key, _build(entry, leaves)) for key, entry in zip(pattern.keys, pattern.entries, strict=True)]
    made = _made(pattern, [(key, entry) for key, entry in built if not isinstance(key, Attribute)])
    for key, entry in built:
        if isinstance(key, Attribute):
            object.__setattr__(made, key.name, entry)  # as it was, frozen fields too; nothing is computed anew
    if pattern.is_own_namespace:
        object.__setattr__(made, "__dict__", made)
    return made


def _made(pattern: ContainerPattern, entries: list[tuple[object, object]]) -> object:
    """Returns a container with these entries, without attributes."""
    kind = pattern.kind
    if issubclass(kind, tuple):
        return _native(kind, "__new__")(kind, [entry for _, entry in entries])
    if issubclass(kind, (list, dict)):
        made = _native(kind, "__new__")(kind)
        if isinstance(made, list):
            _native(kind, "extend")(made, [entry for _, entry in entries])
            return made
        if isinstance(made, defaultdict):
            defaultdict.__init__(made, pattern.factory)
        for key, entry in entries:
            _native(kind, "__setitem__")(made, key, entry)
        return made
    constructor: Callable[..., object] = kind
    return constructor(dict(entries)) if issubclass(kind, Mapping) else object.__new__(kind)


def _native(kind: type, name: str) -> Callable[..., Any]:
    """Returns the innermost method of a class that is not written in Python: it does that alone which it is for."""
    found = [vars(base)[name] for base in kind.__mro__ if isinstance(vars(base).get(name), _NATIVE)]
    return cast("Callable[..., Any]", found[0])
