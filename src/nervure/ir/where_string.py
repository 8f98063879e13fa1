"""A reader of where strings: from the text of a signature to its patterns and relations.

>>> read("*A[n ~] -> B:bool[m] where m = n*2")
WhereString(operands=(A[n ~],), results=(B:bool[m],), relations=(m = 2*n,), variadic=True, attributes={})
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeGuard

from nervure.errors import InvalidArgument, did_you_mean
from nervure.types.axes_reading import split_at_commas
from nervure.types.dim import DimLike, dim, parse_dim, symbols
from nervure.types.dtype import DType, as_dtype
from nervure.types.element_groups import GROUPS, describe_types

_PATTERN = re.compile(r"\s*(?P<several>\*?)(?P<name>[A-Za-z_]\w*)(?::(?P<dtype>\w+))?\[(?P<entries>[^\]]*)\]")
_ENTRY = re.compile(r"~?[A-Za-z_]\w*|[0-9]{1,18}|~", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTIONS = ("min", "max", "product")
DEFAULT = ":T"  # the type variable of patterns that name none

Attributes = Mapping[str, str]
"""The kinds of an op's attributes: a "count" (an int), a "length" (an int or Dim), a "shape", or a "dtype"."""


class Bracket(NamedTuple):
    """One bracket: its name, its element type (or a group of them, or ``:T``, a variable), and its entries.

    An entry is a length, the name of one, or a run of dimensions: ``~``, ``~batch``.
    """

    name: str
    dtype: DType | frozenset[DType] | str
    entries: tuple[str | int, ...]

    def __repr__(self) -> str:
        dtype = "" if self.dtype == DEFAULT else f":{spelled(self.dtype)}"
        return f"{self.name}{dtype}[{' '.join(map(str, self.entries))}]"


def is_run(entry: str | int) -> TypeGuard[str]:
    """Whether an entry stands for any number of dimensions."""
    return isinstance(entry, str) and entry[0] == "~"


def spelled(dtype: DType | frozenset[DType] | str) -> str:
    """Returns an element type as a where string spells it."""
    if isinstance(dtype, DType):
        return dtype.name
    return dtype.removeprefix(":") if isinstance(dtype, str) else describe_types(dtype)


class Relation(NamedTuple):
    """``left = right``. ``defines`` is the name that it gives a value to, or None if both sides are known."""

    left: DimLike
    right: DimLike
    defines: str | None

    def __repr__(self) -> str:
        return f"{self.left} = {self.right}"


class WhereString(NamedTuple):
    """The content of a where string. ``variadic``: its only operand stands for any number of operands.

    ``attributes`` are those that it uses.
    """

    operands: tuple[Bracket, ...]
    results: tuple[Bracket, ...]
    relations: tuple[Relation, ...]
    variadic: bool
    attributes: dict[str, str]


def read(text: str, attributes: Attributes | None = None) -> WhereString:
    """Reads the parts of a where string. InvalidArgument if it is malformed, or uses a name that nothing binds."""
    attributes = attributes or {}
    sides, _, where = text.partition(" where ")
    left, arrow, right = sides.partition("->")
    if not arrow:
        raise _malformed(text, "a signature needs an arrow", got=sides, help="what it gives stands after ->")
    operands, variadic = _patterns(text, left, attributes)
    results, several = _patterns(text, right, attributes)
    if several or (variadic and len(operands) > 1):
        raise _malformed(text, "* stands before the only operand", expected="*A[...] -> ...")
    if not results:
        raise _malformed(text, "a signature needs a result", got=right.strip())
    bound = _bound(text, operands, attributes)
    relations = tuple([_relation(text, part, bound) for part in split_at_commas(where)]) if where else ()
    _check_results(text, results, bound)
    used = {name: attributes[name] for name in _NAME.findall(text) if name in attributes}
    return WhereString(operands, results, relations, variadic, used)


def _patterns(text: str, side: str, attributes: Attributes) -> tuple[tuple[Bracket, ...], bool]:
    patterns, position, several = [], 0, False
    while side[position:].strip():
        match = _PATTERN.match(side, position)
        if match is None:
            raise _malformed(text, "this is no operand or result", got=side[position:].strip(), expected="A[~ i j]")
        position, several = match.end(), several or bool(match["several"])
        patterns.append(_pattern(text, match, attributes))
    return tuple(patterns), several


def _pattern(text: str, match: re.Match[str], attributes: Attributes) -> Bracket:
    entries = match["entries"].replace(",", " ").split()
    for entry in entries:
        if not _ENTRY.fullmatch(entry):
            raise _malformed(text, f"{match['name']} has a dimension that is no name, number or ~", got=entry)
    return Bracket(match["name"], _dtype(match["dtype"], attributes),
                   tuple([int(entry) if entry.isdigit() else entry for entry in entries]))


def _dtype(word: str | None, attributes: Attributes) -> DType | frozenset[DType] | str:
    if word is None:
        return DEFAULT
    if word[0].isupper() or attributes.get(word) == "dtype":
        return f":{word}"
    return GROUPS[word] if word in GROUPS else as_dtype(word)


def _bound(text: str, operands: Sequence[Bracket], attributes: Attributes) -> set[str]:
    """Returns the names that the operands and attributes bind: lengths, runs, type variables.

    An operand may have at most one run whose length neither an attribute nor an earlier operand determines.
    """
    prefix = {"count": "", "length": "", "shape": "~", "dtype": ":"}
    bound = {prefix[kind] + name for name, kind in attributes.items()}
    for pattern in operands:
        runs = [entry for entry in pattern.entries if is_run(entry)]
        if len([run for run in runs if run not in bound and attributes.get(run[1:]) != "count"]) > 1:
            raise _malformed(text, f"{pattern.name} has more than one ~ of unknown length", got=pattern)
        bound.update([entry for entry in (DEFAULT, pattern.dtype, *pattern.entries) if isinstance(entry, str)])
    return bound


def _relation(text: str, part: str, bound: set[str]) -> Relation:
    """Reads ``left = right``; a name that is not bound yet may stand alone on the left, and is bound from here on."""
    sides = [side.strip() for side in part.split("=")]
    if len(sides) != 2:
        raise _malformed(text, "this is no relation", got=part.strip(), expected="k = n*2")
    unbounded = {name: dim(name, min=None) for name in _NAME.findall(part) if name not in _FUNCTIONS}
    left, right = [parse_dim(side, unbounded) for side in sides]
    defines = sides[0] if sides[0] in unbounded and sides[0] not in bound else None
    for name in sorted((symbols(left) | symbols(right)) - bound):
        if name != defines or name in symbols(right):
            raise _malformed(text, f"nothing binds {name}", got=part.strip(), expected=_listed(bound),
                             help=did_you_mean(name, bound))
    if defines is not None:
        bound.add(defines)
    return Relation(left, right, defines)


def _check_results(text: str, results: Sequence[Bracket], bound: set[str]) -> None:
    for pattern in results:
        for entry in pattern.entries:
            if isinstance(entry, str) and entry not in bound:
                raise _malformed(text, f"nothing binds {'the ' if entry == '~' else ''}{entry} of {pattern.name}",
                                 got=pattern, expected=_listed(bound), help=did_you_mean(entry, bound))
        if not isinstance(pattern.dtype, DType) and pattern.dtype not in bound:
            raise _malformed(text, f"nothing binds the element type of {pattern.name}", got=pattern)


def _listed(bound: set[str]) -> str:
    return ", ".join(sorted([entry for entry in bound if entry[0] != ":"]))


def _malformed(text: str, problem: str, got: object = None, expected: str = "A[~ i j] B[~ j k] -> C[~ i k]",
               help: str | None = None) -> InvalidArgument:
    return InvalidArgument(problem, op="signature", operand=text, got=text if got is None else got, expected=expected,
                           help=help)
