"""Typed fields: the attributes that the annotations of a class declare.

>>> class Block:
...     width: int
...     rate: float = 0.5
>>> fields_of(Block)
{'width': <class 'int'>, 'rate': <class 'float'>}
>>> bound(Block, (8,), {})
{'width': 8, 'rate': 0.5}
>>> check(Block, "width", 8)
>>> check(Block, "width", "wide")
Traceback (most recent call last):
    ...
nervure.errors.WrongKind: Block: the field width has another type
  operand:  width
  got:      str 'wide'
  expected: int
  help:     the class Block declares it with width: int
...

Annotations that cannot be resolved, such as names that only type checkers import, are fields that hold anything.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Mapping, Sequence

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.support.elsewhere import unknown_keyword

_WIDER = {float: (float, int), complex: (complex, float, int)}
"""The types whose annotations admit values of other types, too, by Python's own rule."""


def fields_of(owner: type) -> dict[str, object]:
    """Maps the names of the fields of a class to their annotations, those of its bases first."""
    known: dict[str, object] | None = vars(owner).get("_fields")
    if known is None:
        hints = {name: hint for base in reversed(owner.__mro__) for name, hint in _hints(base).items()}
        known = {name: object if isinstance(hint, str) else hint for name, hint in hints.items()
                 if not (name.startswith("_") or _is_of_class(hint))}
        type.__setattr__(owner, "_fields", known)
    return known


def _hints(owner: type) -> dict[str, object]:
    """Returns the annotations of one class; those that cannot be resolved stay as they are written."""
    try:
        return inspect.get_annotations(owner, eval_str=True)
    except Exception:  # an annotation may be anything: it is for type checkers first
        return _as_written(owner)


if sys.version_info >= (3, 14):  # it evaluates annotations on request unless told not to
    _UNRESOLVED = 3  # annotationlib.Format.FORWARDREF

    def _as_written(owner: type) -> dict[str, object]:
        return inspect.get_annotations(owner, format=_UNRESOLVED)
else:
    def _as_written(owner: type) -> dict[str, object]:
        return inspect.get_annotations(owner)


def _is_of_class(hint: object) -> bool:
    """Whether an annotation says that an attribute belongs to the class."""
    return "ClassVar" in hint.partition("[")[0] if isinstance(hint, str) else typing.get_origin(hint) is typing.ClassVar


def check(owner: type, name: str, value: object) -> None:
    """Raises WrongKind if a value is not of the type that its field is declared with."""
    hint = fields_of(owner).get(name, object)
    if not admits(hint, value):
        raise WrongKind(f"the field {name} has another type", op=owner.__name__, operand=name,
                        got=shown(value), expected=_text(hint),
                        help=f"the class {owner.__name__} declares it with {name}: {_text(hint)}")


def admits(hint: object, value: object) -> bool:
    """Whether a value is of the type that an annotation names; a type that cannot be checked admits everything.

    >>> admits(int | None, None), admits(float, 1), admits(list[str], ()), admits(typing.Any, ())
    (True, True, False, True)
    """
    if hint is None or hint is types.NoneType:
        return value is None
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any([admits(part, value) for part in typing.get_args(hint)])
    kind = hint if origin is None else origin
    if not isinstance(kind, type) or kind is object:
        return True
    try:
        return isinstance(value, _WIDER.get(kind, kind))
    except TypeError:  # a protocol that isinstance cannot check
        return True


def bound(owner: type, values: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
    """Returns the value of each field of ``owner``: given in order or by name, else the default in the class."""
    names = list(fields_of(owner))
    if len(values) > len(names):
        raise WrongKind(f"there are {len(names)} fields", op=owner.__name__, got=f"{len(values)} values",
                        expected=", ".join(names) or "no values", help="leave out the rest")
    found = dict(zip(names, values, strict=False))
    for name, value in named.items():
        if name not in names:
            raise unknown_keyword(owner.__name__, {name: value}, tuple(names))
        if name in found:
            raise WrongKind(f"the field {name} is given twice", op=owner.__name__, operand=name,
                            got=f"{name}={value!r:.60}", expected="each field once", help="leave one of them out")
        found[name] = value
    missing = [name for name in names if name not in found and not hasattr(owner, name)]
    if missing:
        raise InvalidArgument(f"the field {missing[0]} has no value", op=owner.__name__, operand=missing[0],
                              got=", ".join(found) or "no values", expected=", ".join(names),
                              help=f"write {owner.__name__}({missing[0]}=...)")
    return {name: found[name] if name in found else getattr(owner, name) for name in names}


def _text(hint: object) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
