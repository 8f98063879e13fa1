"""Cache keys: the contents of a static argument, in a form that can be hashed and compared at a later call.

>>> table = np.arange(3)
>>> before = cache_key(table)
>>> cache_key(np.arange(3)) == before
True
>>> table[0] = 7
>>> cache_key(table) == before
False
>>> cache_key(-0.0) == cache_key(0.0), cache_key([1, {2}]) == cache_key([1, {2}])
(False, True)

A function that was compiled for a value is not used again once the value has changed.
"""

from __future__ import annotations

import functools
import random
from collections import deque
from collections.abc import Iterator, Mapping, Set
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.pytrees import DEEPEST, Attribute, LeafPattern, Pattern, attributes_of
from nervure.ir.identity import Uncopyable
from nervure.types.foreign import as_numpy, is_array

_UNCHANGING = (type, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc, Uncopyable)
"""Kinds compared by identity. The variables around a function are read when it is traced."""

_EXTENDED = (list, tuple, deque, dict, bytearray)
"""Containers of which subclasses may have attributes."""

_DISTINCT = (str, int, Attribute)
"""Keys that are equal to no key that differs, if they are of just these classes."""


class _Itself:
    """A value that is compared by identity, and kept alive so that no other object takes its address."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value


def cache_key(value: object, above: tuple[object, ...] = ()) -> object:
    """Returns the contents of a value, hashable: arrays by their elements, objects by their attributes, recursively.

    A class that defines ``__hash__`` is trusted with it. ``above`` are the objects that contain the value. Raises
    WrongKind for a value that changes by being used, and for one that cannot be compared.
    """
    if any([value is part for part in above]):
        return "above"
    if len(above) > DEEPEST:
        raise InvalidArgument(f"values are nested more than {DEEPEST} deep", op="jit", got=f"{len(above)} levels",
                              expected=f"at most {DEEPEST} levels", help="pass what the function needs of it")
    if isinstance(value, np.ndarray):
        return _array(value, above)
    if isinstance(value, (float, complex, np.generic)):
        return type(value), repr(value)  # 0.0 and -0.0 compare equal, but differ
    if isinstance(value, _UNCHANGING) or hasattr(value, "__wrapped__"):
        return _Itself(value)
    parts = _parts(value)
    if parts is not None:
        attributes = _attributes(value, above) if isinstance(value, _EXTENDED) else []
        return type(value), *[cache_key(part, (*above, value)) for part in parts], *attributes
    if isinstance(value, Set):
        entries = frozenset([cache_key(entry, (*above, value)) for entry in value])
        return type(value), entries, *_attributes(value, above)
    if is_array(value):
        return type(value), _array(_read(value), above)
    own_hash = type(value).__hash__
    return _object(value, above) if own_hash in (object.__hash__, None) else _hashed(value)


def nesting_key(pattern: Pattern) -> object:
    """Returns the keys of a pattern's containers as ``cache_key`` gives them, since 2 and 2.0 are equal, but differ."""
    if isinstance(pattern, LeafPattern):
        return None
    keys = [key if type(key) in _DISTINCT else cache_key(key) for key in pattern.keys]
    return tuple(keys), tuple([nesting_key(entry) for entry in pattern.entries])


def _array(value: np.ndarray, above: tuple[object, ...]) -> object:
    if value.dtype.hasobject:
        return type(value), value.shape, *[cache_key(entry, (*above, value)) for entry in value.ravel().tolist()]
    elements = np.ascontiguousarray(value)
    mask = np.ma.getmaskarray(value) if isinstance(value, np.ma.MaskedArray) else np.zeros(0, bool)
    digest = blake2b(elements.reshape(-1).view(np.uint8).data)
    return type(value), value.dtype.str, str(value.dtype), value.shape, digest.digest(), mask.tobytes()


def _parts(value: object) -> list[object] | None:
    """Returns the entries of an ordered or unordered container, None for anything else."""
    if isinstance(value, (list, tuple, deque)):
        return list(value)
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (bytearray, memoryview)):
        return [bytes(value)]
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    return None


def _object(value: object, above: tuple[object, ...]) -> object:
    """Returns the key of an object: its attributes, and its identity unless its class defines another equality."""
    if isinstance(value, (Iterator, random.Random, np.random.Generator, np.random.RandomState)):
        raise WrongKind("this changes by being used, and a function is traced once", op="jit",
                        got=shown(value), expected="a value that stays",
                        help="nv.uniform and nv.normal draw at each call; make a list of an iterator")
    state = _attributes(value, above)
    if not state and type(value).__hash__ is None:
        raise _unseen(value)
    identity = type(value) if type(value).__hash__ is None else _Itself(value)
    return identity, *state


def _attributes(value: object, above: tuple[object, ...]) -> list[object]:
    """Returns the names and the contents of an object's attributes."""
    return [(name, cache_key(part, (*above, value))) for name, part in attributes_of(value).items()]


def _hashed(value: object) -> object:
    try:
        hash(value)
    except Exception:  # a foreign object may raise anything
        raise _unseen(value) from None
    return type(value), value


def _read(value: object) -> np.ndarray:
    """An array of another library as NumPy's."""
    try:
        return as_numpy(value)
    except Exception:  # a foreign object may raise anything
        raise _unseen(value) from None


def _unseen(value: object) -> WrongKind:
    return WrongKind("changes of this value cannot be seen", op="jit", got=shown(value),
                     expected="a number, an array, a container or what has a hash",
                     help="give its class __hash__ and __eq__, or pass the arrays and numbers in it")
