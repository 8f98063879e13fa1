"""Pytrees: nested dicts, lists, tuples, named tuples and dataclasses, flattened to leaves and put together again.

>>> leaves, pattern = flatten({"a": 1, "b": [2, (3, None)]})
>>> leaves
[1, 2, 3, None]
>>> unflatten(pattern, [10, 20, 30, None])
{'a': 10, 'b': [20, (30, None)]}
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from nervure.errors import InvalidArgument

Nested: TypeAlias = Any
"""A leaf, or leaves in any nesting."""

DEEPEST = 100
"""The deepest nesting allowed: far beyond any use, well inside Python's own stack."""


class LeafPattern(NamedTuple):
    """The place of one leaf in a pattern."""


class ContainerPattern(NamedTuple):
    """One container: its constructor, the keys of its entries, a pattern for each entry, and a defaultdict's factory.
    """

    kind: type
    keys: tuple[object, ...]
    entries: tuple[Pattern, ...]
    factory: Callable[[], object] | None = None


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
    return leaves, ContainerPattern(type(value), tuple(parts[0]), tuple(patterns), factory)


def unflatten(pattern: Pattern, leaves: Iterable[object]) -> object:
    """Builds the nested value that has this pattern and these leaves."""
    return _build(pattern, iter(leaves))


def parts_of(value: object) -> tuple[Iterable[object], Iterable[object]] | None:
    """Returns the keys and entries of a container, None for a leaf."""
    if isinstance(value, Mapping):
        return list(value), [value[key] for key in value]
    if isinstance(value, (list, tuple)):
        return range(len(value)), value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = _attributes(value, [entry.name for entry in dataclasses.fields(value)])
        return names, [getattr(value, name) for name in names]
    return None


def _attributes(value: object, fields: Iterable[str]) -> list[str]:
    """Returns the names of a dataclass's attributes: of ``fields`` those that it has, and those set since."""
    present = [name for name in fields if hasattr(value, name)]
    return list(dict.fromkeys([*present, *getattr(value, "__dict__", ())]))


def _build(pattern: Pattern, leaves: Iterator[object]) -> object:
    if isinstance(pattern, LeafPattern):
        return next(leaves)
    entries = [_build(entry, leaves) for entry in pattern.entries]
    kind: Callable[..., object] = pattern.kind
    if issubclass(pattern.kind, tuple) and hasattr(pattern.kind, "_fields"):
        return kind(*entries)
    if issubclass(pattern.kind, (list, tuple)):
        return kind(entries)
    named = dict(zip(pattern.keys, entries, strict=True))
    if issubclass(pattern.kind, defaultdict):
        return kind(pattern.factory, named)
    if issubclass(pattern.kind, Mapping):
        return kind(named)
    made = object.__new__(pattern.kind)
    for name, entry in named.items():
        object.__setattr__(made, str(name), entry)  # as it was, frozen fields too; nothing is computed anew
    return made
