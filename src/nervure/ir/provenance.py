"""Provenance of nodes: the user's line, the name scope and the metadata in force when each was built.

Scopes nest with ``/`` and count the ops built inside them, so that names and random streams do not depend on other
code in the process:

>>> with name_scope("encoder"), name_scope("dense"):
...     current_scope().path
'encoder/dense'

A pass or a derivative builds nodes on behalf of others; inside ``on_behalf_of(op)`` they inherit its provenance.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from nervure.errors import InvalidArgument, Location, user_location
from nervure.types.frozen import refuse_setting

_new = tuple.__new__  # half the time of calling the class, for every node
_NOTHING: Mapping[str, object] = MappingProxyType({})
NO_GRAD = "no_grad"
"""The metadata entry of an op that no derivative passes through."""
INSIDE = "inside"
"""The metadata entry of a parameter that has a value only while a traced function runs: what that function is."""


class Provenance(NamedTuple):
    """Location in the user's source, path of the name scope, metadata, and whether the node belongs to a derivative of
    that code.
    """

    location: Location | None
    scope: str
    metadata: Mapping[str, object]
    is_derivative: bool = False

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)


class Scope:
    """A name scope: a path, its children by name, and counters of the things built in it. ``root`` holds them all."""

    __slots__ = ("path", "root", "children", "counters")

    def __init__(self, path: str, root: Scope | None = None) -> None:
        self.path = path
        self.root = self if root is None else root
        self.children: dict[str, Scope] = {}
        self.counters: dict[str, int] = {}

    def child(self, name: str) -> Scope:
        """Returns the scope of that name inside this one, made at its first use."""
        if name not in self.children:
            self.children[name] = Scope(f"{self.path}/{name}" if self.path else name, self.root)
        return self.children[name]

    def count(self, what: str) -> int:
        """Counts 0, 1, 2, ... for one kind of thing."""
        number = self.counters.get(what, 0)
        self.counters[what] = number + 1
        return number

    def restart(self, what: str) -> None:
        """Counts one kind of thing from 0 again, here and in all scopes inside."""
        scopes = [self]
        for scope in scopes:  # the list grows by the scopes inside each
            scope.counters.pop(what, None)
            scopes.extend(scope.children.values())


class _Context(threading.local):
    """The provenance settings in force on this thread."""

    def __init__(self) -> None:
        self.override: Provenance | None = None
        self.scope = Scope("")
        self.metadata = _NOTHING


_context = _Context()


def current_provenance() -> Provenance:
    """Returns the provenance of a node that is built now."""
    override = _context.override
    if override is not None:
        return override
    return _new(Provenance, (user_location(), _context.scope.path, _context.metadata, False))


def current_metadata() -> Mapping[str, object]:
    """Returns the metadata of a node that is built now."""
    override = _context.override
    return _context.metadata if override is None else override.metadata


def of_derivative(provenance: Provenance) -> Provenance:
    """Returns the provenance of the nodes that a derivative builds for a node."""
    return provenance if provenance.is_derivative else _new(Provenance, (*provenance[:3], True))


def is_on_behalf() -> bool:
    """Whether nodes are now built on behalf of others: by a pass, a derivative or a parser, not by a user's own call.
    """
    return _context.override is not None


def is_no_grad() -> bool:
    """Whether nodes built now are left out of derivatives."""
    return NO_GRAD in _context.metadata


def current_scope() -> Scope:
    """Returns the innermost name scope of this thread."""
    return _context.scope


@contextmanager
def on_behalf_of(provenance: Provenance) -> Iterator[None]:
    """Gives nodes built inside that provenance: the line a user wrote, not the line of the pass."""
    before, _context.override = _context.override, provenance
    try:
        yield
    finally:
        _context.override = before


def set_override(provenance: Provenance | None) -> Provenance | None:
    """The plain form of ``on_behalf_of`` for inner loops: sets the override, returns the one before."""
    before, _context.override = _context.override, provenance
    return before


@contextmanager
def fresh_scope() -> Iterator[Scope]:
    """Opens a scope with fresh counters: names built inside do not depend on anything built before."""
    before, _context.scope = _context.scope, Scope("")
    try:
        yield _context.scope
    finally:
        _context.scope = before


@contextmanager
def name_scope(name: str) -> Iterator[Scope]:
    """Names the ops built inside: ``with nv.name_scope("encoder"): ...``; scopes nest with ``/``.

    >>> with nv.name_scope("encoder"), nv.name_scope("first"):
    ...     x = nv.exp(1.0)
    >>> x.value.op.provenance.scope
    'encoder/first'
    """
    if not isinstance(name, str) or not name or name.strip("/") != name:
        raise InvalidArgument("a name scope needs a name that neither starts nor ends with /", op="name_scope",
                              got=repr(name), expected="a non-empty string",
                              help='with nv.name_scope("encoder/dense"): ...')
    before = _context.scope
    for part in name.split("/"):
        _context.scope = _context.scope.child(part)
    try:
        yield _context.scope
    finally:
        _context.scope = before


@contextmanager
def metadata(**entries: object) -> Iterator[None]:
    """Attaches facts to the ops built inside: ``with nv.metadata(layer="dense"): ...``; inner entries win.

    >>> with nv.metadata(layer="dense"):
    ...     x = nv.exp(1.0)
    >>> dict(x.value.op.provenance.metadata)
    {'layer': 'dense'}
    """
    with _in_force({**_context.metadata, **entries}):
        yield


@contextmanager
def no_grad() -> Iterator[None]:
    """Excludes everything built inside from differentiation; no tensor made inside has a gradient. It nests.

    >>> w = nv.variable((), 3.0)
    >>> with nv.no_grad():
    ...     square = w * w
    >>> nv.deriv(square * w, w).item()
    9.0
    """
    with metadata(**{NO_GRAD: True}):
        yield


@contextmanager
def with_gradients() -> Iterator[None]:
    """Makes the ops built inside differentiable, whatever is in force outside, for a function that is traced once and
    kept.
    """
    with _in_force({name: entry for name, entry in _context.metadata.items() if name != NO_GRAD}):
        yield


@contextmanager
def _in_force(entries: dict[str, object]) -> Iterator[None]:
    """Attaches these facts, and no others, to the ops built inside."""
    before, _context.metadata = _context.metadata, MappingProxyType(entries)
    try:
        yield
    finally:
        _context.metadata = before
