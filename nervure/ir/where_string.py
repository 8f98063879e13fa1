"""Reading where strings: the text of a signature to its patterns and relations.

>>> read("*A[n ~] -> B:bool[m] where m = n*2")
Reading(operands=(A[n ~],), results=(B:bool[m],), relations=(m = 2*n,), variadic=True)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nervure.errors import InvalidArgument, did_you_mean
from nervure.types.axes_reading import split_at_commas
from nervure.types.dim import DimLike, dim, parse_dim, symbols
from nervure.types.dtype import DType, as_dtype

_PATTERN = re.compile(r"\s*(?P<several>\*?)(?P<name>[A-Za-z_]\w*)(?::(?P<dtype>\w+))?\[(?P<entries>[^\]]*)\]")
_ENTRY = re.compile(r"[A-Za-z_]\w*|[0-9]{1,18}|~", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTIONS = ("min", "max", "product")
DEFAULT = "T"  # the type variable of whatever names none


class Pattern(NamedTuple):
    """One bracket: its name, its element type (or type variable), the entries before ``~`` and those after it."""

    name: str
    dtype: DType | str
    before: tuple[str | int, ...]
    after: tuple[str | int, ...]
    has_rest: bool

    @property
    def entries(self) -> tuple[str | int, ...]:
        """The entries without ``~``."""
        return self.before + self.after

    def __repr__(self) -> str:
        dtype = self.dtype.name if isinstance(self.dtype, DType) else self.dtype
        entries = [*map(str, self.before), *(["~"] if self.has_rest else []), *map(str, self.after)]
        return f"{self.name}{'' if dtype == DEFAULT else f':{dtype}'}[{' '.join(entries)}]"


class Relation(NamedTuple):
    """``left = right``. ``defines`` is the name that it gives a value to, or None where both sides are known."""

    left: DimLike
    right: DimLike
    defines: str | None

    def __repr__(self) -> str:
        return f"{self.left} = {self.right}"


class Reading(NamedTuple):
    """What a where string says. ``variadic``: its only operand stands for any number of them."""

    operands: tuple[Pattern, ...]
    results: tuple[Pattern, ...]
    relations: tuple[Relation, ...]
    variadic: bool

    @property
    def names(self) -> frozenset[str]:
        """All names of dimensions that occur."""
        names = {entry for pattern in (*self.operands, *self.results) for entry in pattern.entries}
        sides = [side for relation in self.relations for side in (relation.left, relation.right)]
        return frozenset(entry for entry in names if isinstance(entry, str)).union(*map(symbols, sides))


def read(text: str, attributes: frozenset[str] = frozenset()) -> Reading:
    """The parts of a where string. InvalidArgument if it is malformed, or uses a name that nothing binds."""
    sides, _, where = text.partition(" where ")
    left, arrow, right = sides.partition("->")
    if not arrow:
        raise _malformed(text, "a signature needs an arrow", got=sides)
    operands, variadic = _patterns(text, left)
    results, several = _patterns(text, right)
    if several or (variadic and len(operands) > 1):
        raise _malformed(text, "* stands before the only operand", expected="*A[...] -> ...")
    if not results:
        raise _malformed(text, "a signature needs a result", got=right.strip())
    bound = {entry for pattern in operands for entry in pattern.entries if isinstance(entry, str)} | attributes
    relations = tuple([_relation(text, part, bound) for part in split_at_commas(where)]) if where else ()
    _check_results(text, operands, results, bound)
    return Reading(operands, results, relations, variadic)


def _patterns(text: str, side: str) -> tuple[tuple[Pattern, ...], bool]:
    patterns, position, several = [], 0, False
    while side[position:].strip():
        match = _PATTERN.match(side, position)
        if match is None:
            raise _malformed(text, "this is no operand or result", got=side[position:].strip(), expected="A[~ i j]")
        position, several = match.end(), several or bool(match["several"])
        patterns.append(_pattern(text, match))
    return tuple(patterns), several


def _pattern(text: str, match: re.Match[str]) -> Pattern:
    entries = match["entries"].replace(",", " ").split()
    for entry in entries:
        if not _ENTRY.fullmatch(entry):
            raise _malformed(text, f"{match['name']} has a dimension that is no name, number or ~", got=entry)
    if entries.count("~") > 1:
        raise _malformed(text, f"{match['name']} has more than one ~", got=match[0].strip())
    at = entries.index("~") if "~" in entries else len(entries)
    before, after = [tuple([int(entry) if entry.isdigit() else entry for entry in part])
                     for part in (entries[:at], entries[at + 1:])]
    dtype = match["dtype"] or DEFAULT
    return Pattern(match["name"], dtype if dtype[0].isupper() else as_dtype(dtype), before, after, "~" in entries)


def _relation(text: str, part: str, bound: set[str]) -> Relation:
    """``left = right``; a name that is not bound yet may stand alone on the left, and is bound from here on."""
    sides = [side.strip() for side in part.split("=")]
    if len(sides) != 2:
        raise _malformed(text, "this is no relation", got=part.strip(), expected="k = n*2")
    unbounded = {name: dim(name, min=None) for name in _NAME.findall(part) if name not in _FUNCTIONS}
    left, right = [parse_dim(side, unbounded) for side in sides]
    defines = sides[0] if sides[0] in unbounded and sides[0] not in bound else None
    for name in sorted((symbols(left) | symbols(right)) - bound):
        if name != defines or name in symbols(right):
            raise _malformed(text, f"nothing binds {name}", got=part.strip(), expected=", ".join(sorted(bound)),
                             help=did_you_mean(name, bound))
    if defines is not None:
        bound.add(defines)
    return Relation(left, right, defines)


def _check_results(text: str, operands: Sequence[Pattern], results: Sequence[Pattern], bound: set[str]) -> None:
    dtypes = {pattern.dtype for pattern in operands} | ({DEFAULT} if operands else set())
    for pattern in results:
        for entry in pattern.entries:
            if isinstance(entry, str) and entry not in bound:
                raise _malformed(text, f"nothing binds {entry} of {pattern.name}", got=pattern,
                                 expected=", ".join(sorted(bound)), help=did_you_mean(entry, bound))
        if pattern.has_rest and not any(operand.has_rest for operand in operands):
            raise _malformed(text, f"nothing binds the ~ of {pattern.name}", got=pattern)
        if isinstance(pattern.dtype, str) and pattern.dtype not in dtypes:
            raise _malformed(text, f"nothing binds the element type of {pattern.name}", got=pattern)


def _malformed(text: str, problem: str, got: object = None, expected: str = "A[~ i j] B[~ j k] -> C[~ i k]",
               help: str | None = None) -> InvalidArgument:
    return InvalidArgument(problem, op="signature", operand=text, got=text if got is None else got, expected=expected,
                           help=help)
