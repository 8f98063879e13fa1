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

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from nervure.errors import DtypeMismatch, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.ir.signature_mismatch import (
    ASSUME,
    Bindings,
    Problem,
    dtype_problems,
    expectation,
    shape_problems,
)
from nervure.ir.signature_reading import Pattern, Reading, read
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import Dim, DimLike, equal, substitute, symbols
from nervure.types.dtype import DType


class Signature:
    """A compiled where string. ``infer`` gives the types of the results from those of the operands."""

    __slots__ = ("text", "operands", "results", "relations", "variadic", "attributes")

    def __init__(self, text: str, reading: Reading, attributes: frozenset[str]) -> None:
        self.text = text
        self.operands, self.results, self.relations, self.variadic = reading
        self.attributes = attributes & reading.names

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

    def infer(self, op: Any, types: Sequence[BasicTensorDescription]) -> tuple[BasicTensorDescription, ...]:
        """The types of the results; ShapeMismatch or DtypeMismatch naming every operand that does not fit.

        ``op`` supplies attributes and names the error; None will do where neither is needed.
        """
        patterns = self._patterns(op, types)
        bindings = Bindings({name: _attribute(op, name) for name in self.attributes})
        for pattern, type in zip(patterns, types, strict=True):
            if not _bind(pattern, type, bindings):
                raise self._mismatch(op, patterns, types)
        self._relate(op, bindings)
        first = types[0].dtype if types else None
        return tuple([_result(pattern, bindings, first) for pattern in self.results])

    def infer_labels(self, types: Sequence[BasicTensorDescription], labels: Sequence[Labels | None],
                     results: Sequence[BasicTensorDescription]) -> tuple[Labels | None, ...]:
        """The labels of the results: a name keeps the first label that one of its dimensions has, so does ``~``."""
        known: dict[Any, str | None] = {}
        for pattern, type, given in zip(self._patterns(None, types), types, labels, strict=True):
            for key, label in zip(_keys(pattern, type.rank), given or (None,) * type.rank, strict=True):
                known[key] = known.get(key) or label
        found = [tuple([known.get(key) for key in _keys(pattern, type.rank)])
                 for pattern, type in zip(self.results, results, strict=True)]
        return tuple([entry if any(entry) else None for entry in found])

    def _patterns(self, op: Any, types: Sequence[BasicTensorDescription]) -> tuple[Pattern, ...]:
        patterns = self.operands * len(types) if self.variadic else self.operands
        if len(patterns) != len(types):
            raise _error(op, InvalidArgument, "wrong number of operands", got=len(types), expected=self.text)
        return patterns

    def _relate(self, op: Any, bindings: Bindings) -> None:
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

    def _mismatch(self, op: Any, patterns: Sequence[Pattern], types: Sequence[BasicTensorDescription]) -> NervureError:
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


def _error(op: Any, kind: type[NervureError], message: str, **parts: Any) -> NervureError:
    return kind(message, op="signature", **parts) if op is None else op.fail(kind, message, **parts)


def _attribute(op: Any, name: str) -> DimLike:
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
    extra = len(shape) - first - last
    if extra < 0 or (extra and not pattern.has_rest):
        return False
    if pattern.has_rest:
        rest = shape[first:first + extra]
        if bindings.rest is None:
            bindings.rest = rest
        elif bindings.rest != rest and not _all_equal(bindings.rest, rest):
            return False
        shape = shape[:first] + shape[first + extra:]
    lengths = bindings.lengths
    for entry, length in zip(pattern.entries, shape, strict=True):
        known = lengths.setdefault(entry, length) if isinstance(entry, str) else entry
        if known is not length and known != length and equal(known, length) is not True:
            return False
    return True


def _all_equal(left: Sequence[DimLike], right: Sequence[DimLike]) -> bool:
    return len(left) == len(right) and all([equal(a, b) is True for a, b in zip(left, right, strict=True)])


def _result(pattern: Pattern, bindings: Bindings, first: DType | None) -> BasicTensorDescription:
    dtype = bindings.dtypes.get(pattern.dtype, first) if isinstance(pattern.dtype, str) else pattern.dtype
    before, after = [[bindings.lengths[entry] if isinstance(entry, str) else entry for entry in part]
                     for part in (pattern.before, pattern.after)]
    rest = bindings.rest or () if pattern.has_rest else ()
    return BasicTensorDescription(dtype, (*before, *rest, *after))


def _keys(pattern: Pattern, rank: int) -> list[Any]:
    """What stands for each dimension: a name, a position within ``~``, or nothing that could carry a label."""
    rest = [("~", position) for position in range(rank - len(pattern.entries))]
    before, after = [[entry if isinstance(entry, str) else object() for entry in part]
                     for part in (pattern.before, pattern.after)]
    return [*before, *rest, *after]


def _listed(patterns: Sequence[Pattern], types: Iterable[Any]) -> str:
    return ", ".join([f"{pattern.name}: {type}" for pattern, type in zip(patterns, types, strict=True)])


@lru_cache(maxsize=1024)
def _compiled(text: str, attributes: frozenset[str]) -> Signature:
    return Signature(text, read(text, attributes), attributes)
