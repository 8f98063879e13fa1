"""Renaming of the entries of a file: a table of prefixes, or a function.

>>> rename = renaming({"module.layers.*.fc": "blocks.*.dense", "module.old": None, "module": ""}, "load_weights")
>>> [rename(name) for name in ("module.layers.3.fc.bias", "module.norm.bias", "module.old.bias", "modules.bias")]
['blocks.3.dense.bias', 'norm.bias', None, 'modules.bias']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from nervure.errors import InvalidArgument, WrongKind, shown

Rename = Mapping[str, str | None] | Callable[[str], str | None]
"""The new name of each prefix of names, in whole parts: ``*`` is any part, and None leaves the name out. The first
that fits counts. Or a function of a name.
"""


def renaming(rename: object, op: str) -> Callable[[str], str | None]:
    """Returns a function from a name to its new name, None for one that is left out; without ``rename``, names stay."""
    if rename is None:
        return lambda name: name
    if isinstance(rename, Mapping):
        rules = [_rule(before, after, op) for before, after in rename.items()]
        return lambda name: _renamed(name, rules)
    if not callable(rename):
        raise WrongKind("rename= is a table of names, or a function of one", op=op, operand="rename", got=shown(rename),
                        expected='as in {"module": "", "layers.*.fc": "blocks.*.dense"}',
                        help="a name is renamed where it begins with one of the table")
    return lambda name: _checked(cast("Callable[[str], object]", rename)(name), name, op)


_Rule = tuple[list[str], list[str] | None]


def _rule(before: object, after: object, op: str) -> _Rule:
    """Returns the parts of the prefix ``before``, and those that replace them."""
    if not isinstance(before, str) or not isinstance(after, str | None):
        raise WrongKind("rename= has strings", op=op, operand="rename", got=f"{before!r:.60}: {after!r:.60}",
                        expected="a beginning of names, and what takes its place",
                        help="None leaves out what begins so")
    parts = _parts(before)
    if after is None:
        return parts, None
    if _parts(after).count("*") > parts.count("*"):
        raise InvalidArgument("a new name has more stars than the old one", op=op, operand="rename",
                              got=f"{before!r:.60}: {after!r:.60}", expected="a star for each, in their order",
                              help="a star is one part of a name, such as a number")
    return parts, _parts(after)


def _parts(name: str) -> list[str]:
    return [part for part in name.split(".") if part]


def _renamed(name: str, rules: list[_Rule]) -> str | None:
    """Renames a name by the first rule that fits its prefix."""
    parts = name.split(".")
    for before, after in rules:
        start = parts[:len(before)]
        if len(start) == len(before) and all([own in ("*", part) for own, part in zip(before, start, strict=True)]):
            if after is None:
                return None
            free = iter([part for own, part in zip(before, start, strict=True) if own == "*"])
            return ".".join([*[next(free) if part == "*" else part for part in after], *parts[len(before):]])
    return name


def _checked(found: object, name: str, op: str) -> str | None:
    if not isinstance(found, str | None):
        raise WrongKind("rename= gives a name", op=op, operand="rename", got=f"{shown(found)} for {name!r:.60}",
                        expected="a string, or None to leave the entry out", help="return the name where it stays")
    return found
