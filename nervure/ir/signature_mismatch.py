"""What to say where operands do not fit a signature: each problem of each operand, with what would repair it.

>>> from nervure.types.dtype import float32
>>> bindings = Bindings({"j": 3})
>>> pattern = Pattern("B", "T", ("j", "k"), (), False)
>>> for problem in shape_problems(pattern, BasicTensorDescription(float32, (5, 3)), bindings):
...     print(problem.text)
swap dimensions 0 and 1 of B (ops.Permute): it is f32[5, 3]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from nervure.ir.signature_reading import Pattern
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DType

ASSUME = "where they are equal in every call, ops.AssumeShape says so"


class Bindings:
    """What names, type variables and ``~`` stand for in one use of a signature."""

    __slots__ = ("lengths", "dtypes", "rest")

    def __init__(self, lengths: dict[str, DimLike]) -> None:
        self.lengths = lengths
        self.dtypes: dict[str, DType] = {}
        self.rest: tuple[DimLike, ...] | None = None


class Problem(NamedTuple):
    """What is wrong with an operand and what to do about it, and whether it is the shape (or the element type)."""

    text: str
    is_shape: bool


def dtype_problems(pattern: Pattern, type: BasicTensorDescription, bindings: Bindings) -> Iterator[Problem]:
    """At most one problem; binds the type variable if it is free."""
    wanted = pattern.dtype
    if isinstance(wanted, str):
        wanted = bindings.dtypes.setdefault(wanted, type.dtype)
    if wanted is not type.dtype:
        yield Problem(f"{pattern.name} has {type.dtype.name} elements, not {wanted.name}: insert ops.Convert", False)


def shape_problems(pattern: Pattern, type: BasicTensorDescription, bindings: Bindings) -> Iterator[Problem]:
    """All problems of the shape; binds what is free, so that later operands are compared with it."""
    shape, name = type.shape, pattern.name
    needed = len(pattern.entries) + (len(bindings.rest or ()) if pattern.has_rest else 0)
    is_open = pattern.has_rest and bindings.rest is None
    if len(shape) < needed:
        where = _missing_at(_wanted(pattern, bindings), shape)
        yield Problem(f"add a broadcastable axis to {name} at position {where} (ops.Reshape, ops.Broadcast): it has "
                      f"{len(shape)} dimensions, not {needed}{' or more' if is_open else ''}", True)
        return
    if len(shape) > needed and not is_open:
        yield Problem(f"{name} has {len(shape)} dimensions, not {needed}", True)
        return
    first = len(pattern.before)
    if is_open:
        bindings.rest = shape[first:first + len(shape) - needed]
    wanted = _wanted(pattern, bindings)
    swapped = _swapped(wanted, shape)
    if swapped is not None:
        yield Problem(f"swap dimensions {swapped[0]} and {swapped[1]} of {name} (ops.Permute): it is {type}", True)
        return
    rest = ["~"] * len(bindings.rest or ()) if pattern.has_rest else []
    names = [*pattern.before, *rest, *pattern.after]
    for position, (entry, length) in enumerate(zip(names, shape, strict=True)):
        known = wanted[position]
        if isinstance(entry, str) and entry != "~":
            known = bindings.lengths.setdefault(entry, length)
        relation = known is None or known == length or equal(known, length)
        if known is not None and relation is not True:
            yield Problem(_repair(f"dimension {position} of {name}", entry, length, known, relation), True)


def expectation(pattern: Pattern, bindings: Bindings) -> str:
    """The type an operand should have, as far as it is known: ``f32[3, k]``."""
    dtype = bindings.dtypes.get(pattern.dtype, pattern.dtype) if isinstance(pattern.dtype, str) else pattern.dtype
    lengths: dict[Any, Any] = bindings.lengths
    before, after = [[str(lengths.get(entry, entry)) for entry in part] for part in (pattern.before, pattern.after)]
    rest = ["~"] if bindings.rest is None else [str(length) for length in bindings.rest]
    entries = ", ".join([*before, *(rest if pattern.has_rest else []), *after])
    return f"{dtype.short if isinstance(dtype, DType) else dtype}[{entries}]"


def _wanted(pattern: Pattern, bindings: Bindings) -> list[DimLike | None]:
    """The lengths that a pattern asks for; None where any will do."""
    before, after = [[bindings.lengths.get(entry) if isinstance(entry, str) else entry for entry in part]
                     for part in (pattern.before, pattern.after)]
    return [*before, *(bindings.rest or () if pattern.has_rest else ()), *after]


def _fits(wanted: Sequence[DimLike | None], shape: Sequence[DimLike]) -> bool:
    return all([known is None or equal(known, length) is True for known, length in zip(wanted, shape, strict=True)])


def _missing_at(wanted: Sequence[DimLike | None], shape: Sequence[DimLike]) -> int:
    """Where an axis is missing: the position that makes all others fit, else the front, as NumPy aligns shapes."""
    if len(wanted) == len(shape) + 1:
        for position in range(len(wanted)):
            if _fits([*wanted[:position], *wanted[position + 1:]], shape):
                return position
    return 0


def _swapped(wanted: Sequence[DimLike | None], shape: Sequence[DimLike]) -> tuple[int, int] | None:
    """Two dimensions that make the shape fit when they are swapped, if it does not fit already."""
    if _fits(wanted, shape):
        return None
    for left, right in combinations(range(len(shape)), 2):
        changed = list(shape)
        changed[left], changed[right] = changed[right], changed[left]
        if _fits(wanted, changed):
            return left, right
    return None


def _repair(place: str, entry: str | int, length: DimLike, known: DimLike, relation: bool | None) -> str:
    meant = f" ({entry})" if isinstance(entry, str) and entry != "~" else ""
    if relation is None:
        return f"{place}{meant} is {length}, not known to be {known}: {ASSUME}"
    if length == 1:
        return f"broadcast {place}{meant} from 1 to {known} (ops.Broadcast)"
    return f"{place}{meant} is {length}, not {known}"
