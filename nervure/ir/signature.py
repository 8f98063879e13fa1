"""Where strings: the type rule of an op as one line of text.

``A[~ i j] B[~ j k] -> C[~ i k]`` says it all for a matrix product: an operand or a result a bracket, a name a
dimension. A name stands for one length wherever it occurs, a number for itself, and ``~`` for any dimensions (also
none), the same wherever it occurs. Relations follow ``where``; in them, and in the brackets, an ``int`` attribute
of the op stands for its value. A division by 0 gives 0, as in all dimensions.

>>> rule = Signature.parse("A[~ i j] B[~ j k] -> C[~ i m] where m = k*2")
>>> from nervure.types.dtype import float32
>>> rule.infer(None, [BasicTensorDescription(float32, (7, 2, 3)), BasicTensorDescription(float32, (7, 3, 5))])
(f32[7, 2, 10],)

``C:bool[~]`` fixes an element type, ``A:S[~]`` names a type variable; all without either share the variable T.
``*A[i j]``, alone on the left, is any number of operands. The text is compiled once, when the class is declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Unpack

from nervure.errors import DtypeMismatch, InvalidArgument, NervureError, Parts, ShapeMismatch, WrongKind
from nervure.ir.where_string import Pattern, Reading, read
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import Dim, DimLike, equal, substitute, symbols
from nervure.types.dtype import DType

if TYPE_CHECKING:
    from nervure.ir.op import Op

ASSUME = "where they are equal in every call, ops.AssumeShape says so"


class Bindings:
    """What names, type variables and ``~`` stand for in one use of a signature."""

    __slots__ = ("lengths", "dtypes", "rest")

    def __init__(self, lengths: dict[str, DimLike]) -> None:
        self.lengths = lengths
        self.dtypes: dict[str, DType] = {}
        self.rest: tuple[DimLike, ...] | None = None


class Signature:
    """A compiled where string. ``infer`` gives the types of the results from those of the operands."""

    __slots__ = ("text", "operands", "results", "relations", "variadic", "attributes", "_made")

    def __init__(self, text: str, reading: Reading, attributes: frozenset[str]) -> None:
        self.text = text
        self.operands, self.results, self.relations, self.variadic = reading
        self.attributes = attributes & reading.names
        self._made = [self._known_result(pattern) for pattern in self.results]

    @staticmethod
    def parse(text: str, attributes: Iterable[str] = ()) -> Signature:
        """The signature that a where string says; ``attributes`` are the names of the op's int attributes.

        InvalidArgument for anything malformed, and for a name in a result or a relation that nothing binds.
        """
        if not isinstance(text, str):
            raise WrongKind("a signature is a string", op="signature", got=type(text).__name__, expected="str")
        return _compiled(text, frozenset(attributes))

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of the operands, in order."""
        return tuple([pattern.name for pattern in self.operands])

    def infer(self, op: Op | None, types: Sequence[BasicTensorDescription]) -> tuple[BasicTensorDescription, ...]:
        """The types of the results; ShapeMismatch or DtypeMismatch naming every operand that does not fit.

        ``op`` supplies attributes and names the error; None will do where neither is needed.
        """
        patterns = self._patterns(op, types)
        bindings = Bindings({name: _attribute(op, name) for name in self.attributes})
        for pattern, type in zip(patterns, types, strict=True):
            if not _bind(pattern, type, bindings):
                raise self._mismatch(op, patterns, types)
        if self.relations:
            self._relate(op, bindings)
        results: list[BasicTensorDescription] = []
        for pattern, made in zip(self.results, self._made, strict=True):
            results.append(types[0] if made == "as the first operand" and types[0].layout is None
                           else made if isinstance(made, BasicTensorDescription)
                           else _result(pattern, bindings, types[0].dtype if types else None))
        return tuple(results)

    def _known_result(self, pattern: Pattern) -> BasicTensorDescription | str | None:
        """What a result is, as far as that is known before any operand: types take long to make."""
        if isinstance(pattern.dtype, DType) and not pattern.entries and not pattern.has_rest:
            return BasicTensorDescription(pattern.dtype, ())
        is_first = self.operands and pattern[1:] == self.operands[0][1:] and not self.attributes
        return "as the first operand" if is_first else None

    def infer_labels(self, types: Sequence[BasicTensorDescription], labels: Sequence[Labels | None],
                     results: Sequence[BasicTensorDescription]) -> tuple[Labels | None, ...]:
        """The labels of the results: a name keeps the first label that one of its dimensions has, so does ``~``."""
        known: dict[object, str | None] = {}
        for pattern, type, given in zip(self._patterns(None, types), types, labels, strict=True):
            for key, label in zip(_keys(pattern, type.rank), given or (None,) * type.rank, strict=True):
                known[key] = known.get(key) or label
        found = [tuple([known.get(key) for key in _keys(pattern, type.rank)])
                 for pattern, type in zip(self.results, results, strict=True)]
        return tuple([entry if any(entry) else None for entry in found])

    def _patterns(self, op: Op | None, types: Sequence[BasicTensorDescription]) -> tuple[Pattern, ...]:
        patterns = self.operands * len(types) if self.variadic else self.operands
        if len(patterns) != len(types):
            raise _error(op, InvalidArgument, "wrong number of operands", got=len(types), expected=self.text)
        return patterns

    def _relate(self, op: Op | None, bindings: Bindings) -> None:
        lengths = bindings.lengths
        for relation in self.relations:
            right = substitute(relation.right, lengths)
            if relation.defines is not None:
                lengths[relation.defines] = right
                continue
            left = substitute(relation.left, lengths)
            if left != right and equal(left, right) is not True:
                known = ", ".join(f"{name} = {lengths[name]}" for name in sorted(symbols(relation.left)
                                                                                | symbols(relation.right)))
                raise _error(op, ShapeMismatch, f"{relation} does not hold", got=known, expected=relation,
                             help=None if equal(left, right) is False else ASSUME)

    def _mismatch(self, op: Op | None, patterns: Sequence[Pattern],
                  types: Sequence[BasicTensorDescription]) -> NervureError:
        """The error with everything that does not fit, found by binding once more without stopping."""
        bindings = Bindings({name: _attribute(op, name) for name in self.attributes})
        problems: dict[str, list[Problem]] = {}
        for position, (pattern, type) in enumerate(zip(patterns, types, strict=True)):
            found = [*dtype_problems(pattern, type, bindings), *shape_problems(pattern, type, bindings)]
            if found:
                problems[op.operand_label(position) if op is not None else f"{position + 1} ({pattern.name})"] = found
        every = [problem for found in problems.values() for problem in found]
        kind = ShapeMismatch if any(problem.is_shape for problem in every) else DtypeMismatch
        return _error(op, kind, f"the operands do not fit {self.text}", operand=", ".join(problems),
                      got=_listed(patterns, types),
                      expected=_listed(patterns, [expectation(pattern, bindings) for pattern in patterns]),
                      help="; ".join([problem.text for problem in every]))

    def __repr__(self) -> str:
        return f"Signature({self.text!r})"


def _error(op: Op | None, kind: type[NervureError], message: str, **parts: Unpack[Parts]) -> NervureError:
    return kind(message, op="signature", **parts) if op is None else op.fail(kind, message, **parts)


def _attribute(op: Op | None, name: str) -> DimLike:
    value = getattr(op, name)
    if not isinstance(value, (int, Dim)):
        raise _error(op, InvalidArgument, f"attribute {name} is needed for the shapes", operand=name, got=value,
                     expected="an int")
    return value


def _bind(pattern: Pattern, type: BasicTensorDescription, bindings: Bindings) -> bool:
    """Binds what the pattern names; whether the type fits for certain. It stops at the first difference."""
    dtype = pattern.dtype
    if isinstance(dtype, str):
        dtype = bindings.dtypes.setdefault(dtype, type.dtype)
    if dtype is not type.dtype:
        return False
    shape, first, last = type.shape, len(pattern.before), len(pattern.after)
    if not (shape or first or last):
        return not pattern.has_rest or _is_bound(bindings, ())
    extra = len(shape) - first - last
    if extra < 0 or (extra and not pattern.has_rest):
        return False
    if pattern.has_rest:
        if not _is_bound(bindings, shape[first:first + extra]):
            return False
        shape = shape[:first] + shape[first + extra:]
    lengths = bindings.lengths
    for entry, length in zip(pattern.before + pattern.after, shape, strict=True):
        known = lengths.setdefault(entry, length) if isinstance(entry, str) else entry
        if known is not length and known != length and equal(known, length) is not True:
            return False
    return True


def _is_bound(bindings: Bindings, rest: tuple[DimLike, ...]) -> bool:
    """Whether ``~`` is these dimensions; binds it if it is free."""
    if bindings.rest is None:
        bindings.rest = rest
    return bindings.rest is rest or bindings.rest == rest or _all_equal(bindings.rest, rest)


def _all_equal(left: Sequence[DimLike], right: Sequence[DimLike]) -> bool:
    return len(left) == len(right) and all([equal(a, b) is True for a, b in zip(left, right, strict=True)])


def _result(pattern: Pattern, bindings: Bindings, first: DType | None) -> BasicTensorDescription:
    dtype = bindings.dtypes.get(pattern.dtype, first) if isinstance(pattern.dtype, str) else pattern.dtype
    before, after = [[bindings.lengths[entry] if isinstance(entry, str) else entry for entry in part]
                     for part in (pattern.before, pattern.after)]
    rest = bindings.rest or () if pattern.has_rest else ()
    return BasicTensorDescription(dtype, (*before, *rest, *after))


def _keys(pattern: Pattern, rank: int) -> list[object]:
    """What stands for each dimension: a name, a position within ``~``, or nothing that could carry a label."""
    rest = [("~", position) for position in range(rank - len(pattern.entries))]
    before, after = [[entry if isinstance(entry, str) else object() for entry in part]
                     for part in (pattern.before, pattern.after)]
    return [*before, *rest, *after]


def _listed(patterns: Sequence[Pattern], types: Iterable[object]) -> str:
    return ", ".join([f"{pattern.name}: {type}" for pattern, type in zip(patterns, types, strict=True)])


@lru_cache(maxsize=1024)
def _compiled(text: str, attributes: frozenset[str]) -> Signature:
    return Signature(text, read(text, attributes), attributes)


# -- what to say where operands do not fit: each problem of each operand, with what would repair it ------------------


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
    before, after = [[str(entry if isinstance(entry, int) else bindings.lengths.get(entry, entry)) for entry in part]
                     for part in (pattern.before, pattern.after)]
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
