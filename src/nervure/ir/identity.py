"""Objects known by their identity: a copy would be a different one, so copying and pickling are errors that say so.

>>> import copy
>>> class Node(Uncopyable):
...     pass
>>> copy.copy(Node())
Traceback (most recent call last):
    ...
nervure.errors.WrongKind: copy: a Node is known by its identity and cannot be copied
  got:      Node
  expected: a value, such as an array
  help:     use the object itself; nv.save keeps functions and the values of variables in a file
...
"""

from __future__ import annotations

import sys
from typing import Self

from nervure.errors import WrongKind


class Uncopyable:
    """Refuses ``copy.copy``, ``copy.deepcopy`` and ``pickle.dumps`` with a WrongKind that names ``nv.save``."""

    __slots__ = ()

    def __copy__(self) -> Self:
        raise _refused(self, "copy", "copied")

    def __deepcopy__(self, memo: object) -> Self:
        raise _refused(self, "copy", "copied")

    def __reduce_ex__(self, protocol: object) -> str | tuple[object, ...]:
        raise _refused(self, "pickle", "pickled")


def is_found_by_name(function: object) -> bool:
    """Whether a module has this function under its name; the main program, which cannot be imported elsewhere, does
    not count.

    >>> is_found_by_name(is_found_by_name), is_found_by_name(lambda: None)
    (True, False)
    """
    module = getattr(function, "__module__", None)
    found: object = None if module == "__main__" else sys.modules.get(module or "")
    for part in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is function


def _refused(thing: object, op: str, done: str) -> WrongKind:
    kind = type(thing).__name__
    article = "an" if kind[0] in "AEIOU" else "a"
    return WrongKind(f"{article} {kind} is known by its identity and cannot be {done}", op=op, got=kind,
                     expected="a value, such as an array",
                     help="use the object itself; nv.save keeps functions and the values of variables in a file")
