"""What is compared by identity: a copy would be another one, so copying and pickling are errors that say so.

>>> import copy
>>> class Node(Identity):
...     pass
>>> copy.copy(Node())
Traceback (most recent call last):
    ...
nervure.errors.WrongKind: copy: a Node is compared by identity and cannot be copied
  got:      Node
  expected: a value, such as an array
  help:     use the object itself; nv.save keeps functions and the values of variables in a file
...
"""

from __future__ import annotations

from typing import Any, NoReturn

from nervure.errors import WrongKind


class Identity:
    """Refuses ``copy.copy``, ``copy.deepcopy`` and ``pickle.dumps`` with a WrongKind that names ``nv.save``."""

    __slots__ = ()

    def __copy__(self) -> NoReturn:
        raise _refused(self, "copy", "copied")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise _refused(self, "copy", "copied")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise _refused(self, "pickle", "pickled")


def _refused(thing: object, op: str, done: str) -> WrongKind:
    kind = type(thing).__name__
    article = "an" if kind[0] in "AEIOU" else "a"
    return WrongKind(f"{article} {kind} is compared by identity and cannot be {done}", op=op, got=kind,
                     expected="a value, such as an array",
                     help="use the object itself; nv.save keeps functions and the values of variables in a file")
