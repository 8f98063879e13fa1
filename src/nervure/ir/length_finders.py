"""The ops that find lengths: an op that uses a length keeps the one that finds it alive.

So ``nv.ones(x[x > 0].shape)`` has a value, though nothing else refers to the positions any more.

>>> import nervure as nv
>>> from nervure.ir.whole_op import fresh_length
>>> finder = nv.ops.FindPositions(nv.Parameter(nv.bool_, (8,)), length=fresh_length(8))
>>> remember(str(finder.length), finder)
>>> finder_of(str(finder.length)) is finder, has_finders()
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary, ref

from nervure.types.dim import DimLike, found_symbols

_finders: dict[str, ref[object]] = {}  # the op for each length, while it lives
_kept: WeakKeyDictionary[object, tuple[object, ...]] = WeakKeyDictionary()  # those that an op keeps alive


def remember(name: str, finder: object) -> None:
    """Has ``finder_of`` know the op that finds the length of a name, as long as the op lives."""
    _finders[name] = ref(finder, lambda _: _finders.pop(name, None))


def finder_of(name: str) -> object | None:
    """Returns the op that finds the length of a name; None if it is not known."""
    known = _finders.get(name)
    return None if known is None else known()


def has_finders() -> bool:
    """Whether any are known."""
    return bool(_finders)


def keep_finders(op: object, dimensions: Iterable[DimLike]) -> None:
    """Has an op keep those that find the lengths in its ``dimensions``."""
    names = dict.fromkeys([name for length in dimensions for name in sorted(found_symbols(length))])
    found = tuple([finder for name in names if (finder := finder_of(name)) is not None and finder is not op])
    if found:
        _kept[op] = found
