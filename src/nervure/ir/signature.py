"""Where strings: the type rule of an op as one line of text.

``A[~ i j] B[~ j k] -> C[~ i k]`` is all that a matrix product needs: a bracket for each operand and result, a name for
each dimension. A name stands for one length wherever it occurs, a number for itself, and ``~`` for any number of
dimensions (possibly none), the same wherever it occurs; ``~at`` is another such run. Relations follow ``where``. A
division by 0 gives 0, as in all dimensions.

>>> rule = Signature.parse("A[~ i j] B[~ j k] -> C[~ i m] where m = k*2")
>>> from nervure.types.dtype import float32
>>> rule.infer(None, [BasicTensorDescription(float32, (7, 2, 3)), BasicTensorDescription(float32, (7, 3, 5))])
(f32[7, 2, 10],)

``C:bool[~]`` fixes an element type, ``C:integers[~]`` a group of types, and ``A:S[~]`` names a type variable; all
without either share the variable T. ``*A[i j]``, alone on the left, is any number of operands.

Attributes of the op take part by their names: an int or a dimension as a length, in relations, too; a shape (or an
index map, by its shape) as a run; an element type as a type. A run with the name of an int attribute has that many
dimensions: ``x[~axis n ~] index:integers[~at] -> y[~axis ~at ~]`` gathers along an axis, and ``-> y:dtype[~shape]``
fills a tensor. The text is read once, when the class is declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Unpack

from nervure.errors import DtypeMismatch, ErrorParts, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.ir.where_string import DEFAULT, Attributes, Bracket, WhereString, is_run, read, spelled
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import Dim, DimLike, equal, same_lengths, substitute, symbols
from nervure.types.dtype import DType, bool_
from nervure.types.index_map import IndexMap

if TYPE_CHECKING:
    from nervure.ir.op import Op

ASSUME = "where they are equal in every call, ops.AssumeShape says so"


class Known:
    """The names bound in one use of a signature: lengths by ``n``, runs by ``~run``, element types by ``:T``."""

    __slots__ = ("lengths", "runs", "dtypes")

    def __init__(self) -> None:
        self.lengths: dict[str, DimLike] = {}
        self.runs: dict[str | int, tuple[DimLike, ...]] = {}
        self.dtypes: dict[str, DType] = {}


Place = tuple["str | int", int, "int | None"]
"""The place of an entry in a shape: the entry, its position, and the end of a run."""


class Signature:
    """A compiled where string. ``infer`` derives the types of the results from those of the operands."""

    __slots__ = ("text", "operands", "results", "relations", "variadic", "_attributes", "_given_runs", "_made")

    def __init__(self, text: str, reading: WhereString) -> None:
        self.text = text
        self.operands, self.results, self.relations, self.variadic, attributes = reading
        prefix = {"dtype": ":", "shape": "~"}
        self._attributes = [(name, kind, prefix.get(kind, "") + name) for name, kind in attributes.items()]
        runs = {entry for pattern in self.operands + self.results for entry in pattern.entries if is_run(entry)}
        self._given_runs = [(f"~{name}", name) for name, kind in attributes.items()
                            if f"~{name}" in runs and kind in ("count", "shape")]
        self._made = [self._known_result(pattern) for pattern in self.results]

    @staticmethod
    def parse(text: str, attributes: Attributes | None = None) -> Signature:
        """Returns the signature of a where string; ``attributes`` maps attributes of the op to the kinds of things
        they stand for.

        Raises InvalidArgument for anything malformed, and for a name in a result or a relation that nothing binds.
        """
        if not isinstance(text, str):
            raise WrongKind("a signature is a string", op="signature", got=type(text).__name__, expected="str")
        return _compiled(text, tuple((attributes or {}).items()))

    @property
    def targets(self) -> tuple[int | None, ...]:
        """For each result the operand of its name, in whose memory it is written (``A[~] B[~] -> A[~]``), or None."""
        return tuple([self.operand_names.index(pattern.name) if pattern.name in self.operand_names else None
                      for pattern in self.results])

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of the operands, in order."""
        return tuple([pattern.name for pattern in self.operands])

    def infer(self, op: Op | None, types: Sequence[BasicTensorDescription]) -> tuple[BasicTensorDescription, ...]:
        """Returns the types of the results; ShapeMismatch or DtypeMismatch names every operand that does not fit.

        ``op`` supplies attributes and names the error; it may be None if neither is needed.
        """
        known = self._bound_by_attributes(op)
        arrangement = self._arrangement(op, types, known)
        if arrangement is None or (types and not _fit(arrangement[0], types, known)):
            raise self._mismatch(op, types)
        if self.relations:
            self._relate(op, known.lengths)
        return tuple([_result(made, placed, known, types) for made, placed in zip(self._made, arrangement[1])])

    def _known_result(self, pattern: Bracket) -> BasicTensorDescription | int | None:
        """Returns a result's type, which is expensive to make, or the operand that has it, as far as either is known.
        """
        if isinstance(pattern.dtype, DType) and not pattern.entries:
            return BasicTensorDescription(pattern.dtype, ())
        return next((at for at, operand in enumerate(self.operands) if operand[1:] == pattern[1:]), None)

    def infer_labels(self, op: Op | None, types: Sequence[BasicTensorDescription],
                     labels: Sequence[Labels | None]) -> tuple[Labels | None, ...]:
        """Returns the labels of the results: a name keeps the first label that one of its dimensions has, and so does
        a run.
        """
        arrangement = self._arrangement(op, types, self._bound_by_attributes(op))
        assert arrangement is not None  # the types of the results are known
        found: dict[object, str | None] = {}
        for (_, places), given in zip(arrangement[0], labels, strict=True):
            for dimension, label in zip(_dimensions(places), given or (), strict=False):
                found[dimension] = found.get(dimension) or label
        named = [tuple([None if isinstance(dimension, int) else found.get(dimension)
                        for dimension in _dimensions(places)]) for _, places in arrangement[1]]
        return tuple([entry if any(entry) else None for entry in named])

    def patterns(self, count: int) -> tuple[Bracket, ...]:
        """Returns the pattern of each of ``count`` operands."""
        return self.operands * count if self.variadic else self.operands

    def _bound_by_attributes(self, op: Op | None) -> Known:
        known = Known()
        for name, kind, key in self._attributes:
            value = getattr(op, name)
            if kind == "dtype" and isinstance(value, DType):
                known.dtypes[key] = value
            elif kind == "shape" and isinstance(value, (tuple, IndexMap)):
                known.runs[key] = value if isinstance(value, tuple) else value.shape
            elif isinstance(value, (int, Dim)):
                known.lengths[key] = value
            else:
                raise _error(op, InvalidArgument, f"attribute {name} is needed for the types", operand=name, got=value,
                             expected={"dtype": "an element type", "shape": "a shape"}.get(kind, "an int"))
        return known

    def _arrangement(self, op: Op | None, types: Sequence[BasicTensorDescription], known: Known) -> Arrangement | None:
        if len(types) != len(self.operands) and not self.variadic:
            raise _error(op, InvalidArgument, "wrong number of operands", got=len(types), expected=self.text)
        ranks = tuple([len(type.shape) for type in types])
        return _arrangement(self, ranks, self._lengths(op, known) if types and self._given_runs else ())

    def _lengths(self, op: Op | None, known: Known) -> tuple[tuple[str, int], ...]:
        """Returns the number of dimensions of the runs that attributes determine."""
        found = []
        for run, name in self._given_runs:
            count = len(known.runs[run]) if run in known.runs else known.lengths[name]
            if not isinstance(count, int) or count < 0:
                raise _error(op, InvalidArgument, f"attribute {name} counts dimensions", operand=name, got=count,
                             expected="0 or more", help="normalise(self, *types) can count an axis from the front")
            found.append((run, count))
        return tuple(found)

    def _relate(self, op: Op | None, known: dict[str, DimLike]) -> None:
        for relation in self.relations:
            right = substitute(relation.right, known)
            if relation.defines is not None:
                known[relation.defines] = right
                continue
            left = substitute(relation.left, known)
            if left != right and equal(left, right) is not True:
                names = sorted(symbols(relation.left) | symbols(relation.right))
                raise _error(op, ShapeMismatch, f"{relation} does not hold", expected=relation,
                             got=", ".join([f"{name} = {known[name]}" for name in names]),
                             help=None if equal(left, right) is False else ASSUME)

    def _mismatch(self, op: Op | None, types: Sequence[BasicTensorDescription]) -> NervureError:
        """Returns an error that lists everything that does not fit, found by binding once more without stopping."""
        patterns, known = self.patterns(len(types)), self._bound_by_attributes(op)
        lengths = dict(self._lengths(op, known))
        problems: dict[str, list[Problem]] = {}
        for position, (pattern, type) in enumerate(zip(patterns, types, strict=True)):
            found = [*dtype_problems(pattern, type, known), *shape_problems(pattern, type, known, lengths)]
            if found:
                problems[op.operand_label(position) if op is not None else f"{position + 1} ({pattern.name})"] = found
        every = [problem for found in problems.values() for problem in found]
        kind = ShapeMismatch if any(problem.is_shape for problem in every) else DtypeMismatch
        return _error(op, kind, f"the operands do not fit {self.text}", operand=", ".join(problems),
                      got=_listed(patterns, types),
                      expected=_listed(patterns, [expectation(pattern, known) for pattern in patterns]),
                      help="; ".join([problem.text for problem in every]))

    def __repr__(self) -> str:
        return f"Signature({self.text!r})"


def _error(op: Op | None, kind: type[NervureError], message: str, **parts: Unpack[ErrorParts]) -> NervureError:
    return kind(message, op="signature", **parts) if op is None else op.fail(kind, message, **parts)


def _listed(patterns: Sequence[Bracket], types: Iterable[object]) -> str:
    return ", ".join([f"{pattern.name}: {type}" for pattern, type in zip(patterns, types, strict=True)])


@lru_cache(maxsize=1024)
def _compiled(text: str, attributes: tuple[tuple[str, str], ...]) -> Signature:
    return Signature(text, read(text, dict(attributes)))


# -- matching: the places of entries depend on the ranks alone, and are found once -------------------------------------

Placed = tuple["DType | frozenset[DType] | str", list[Place]]
"""The element type of a pattern, and the places of its entries."""

Arrangement = tuple[list[Placed], list[Placed]]
"""The operands and the results of a signature, at certain ranks."""


@lru_cache(maxsize=4096)
def _arrangement(signature: Signature, ranks: tuple[int, ...],
                 lengths: tuple[tuple[str, int], ...]) -> Arrangement | None:
    """Returns the places of the entries in operands of these ranks, given the lengths of some runs; None if they do
    not fit.
    """
    known = dict(lengths)
    operands: list[Placed] = []
    for pattern, rank in zip(signature.patterns(len(ranks)), ranks, strict=True):
        places = _placed(pattern, rank, known)
        if places is None:
            return None
        operands.append((pattern.dtype, places))
    return operands, [(pattern.dtype, _placed(pattern, _least_rank(pattern, known), known) or [])
                      for pattern in signature.results]


def _least_rank(pattern: Bracket, lengths: dict[str, int]) -> int:
    """Returns the number of dimensions without runs of unknown length."""
    return sum([lengths.get(entry, 0) if is_run(entry) else 1 for entry in pattern.entries])


def _placed(pattern: Bracket, rank: int, lengths: dict[str, int]) -> list[Place] | None:
    """Returns the places of the entries of a pattern; a run of unknown length takes the dimensions that the others
    leave.
    """
    rest = rank - _least_rank(pattern, lengths)
    if rest < 0 or (rest and not _is_open(pattern, lengths)):
        return None
    places: list[Place] = []
    start = 0
    for entry in pattern.entries:
        stop = start + (lengths.setdefault(entry, rest) if is_run(entry) else 1)
        places.append((entry, start, stop if is_run(entry) else None))
        start = stop
    return places


def _is_open(pattern: Bracket, lengths: dict[str, int]) -> bool:
    """Whether a run may have any length."""
    return any([is_run(entry) and entry not in lengths for entry in pattern.entries])


def _dimensions(places: Iterable[Place]) -> Iterator[object]:
    """Yields the meaning of each dimension: a name, a number, or a run and a position in it."""
    for entry, start, stop in places:
        yield from [entry] if stop is None else [(entry, k) for k in range(stop - start)]


def _fit(operands: Sequence[Placed], types: Sequence[BasicTensorDescription], known: Known) -> bool:
    """Binds the names of the operands; returns whether their types certainly fit. It stops at the first difference."""
    lengths, runs = known.lengths, known.runs
    for (dtype, places), type in zip(operands, types, strict=True):
        if isinstance(dtype, str):
            dtype = known.dtypes.setdefault(dtype, type.dtype)
        if dtype is not type.dtype and not _is_one_of(type.dtype, dtype):
            return False
        shape = type.shape
        for entry, start, stop in places:
            if stop is None:
                length = shape[start]
                own = entry if isinstance(entry, int) else lengths.setdefault(entry, length)
                if own is not length and own != length and equal(own, length) is not True:
                    return False
            else:
                run = shape[start:stop]
                known_run = runs.setdefault(entry, run)
                if known_run != run and not same_lengths(known_run, run):
                    return False
    known.dtypes.setdefault(DEFAULT, types[0].dtype)
    return True


def _is_one_of(dtype: DType, group: DType | frozenset[DType] | str) -> bool:
    return isinstance(group, frozenset) and dtype in group


def _result(made: BasicTensorDescription | int | None, placed: Placed, known: Known,
            types: Sequence[BasicTensorDescription]) -> BasicTensorDescription:
    if isinstance(made, int):
        return types[made] if types[made].layout is None else types[made].with_(layout=None)
    if made is not None:
        return made
    dtype, places = placed
    shape: list[DimLike] = []
    for entry, _, stop in places:
        if stop is not None:
            shape += known.runs[entry]
        else:
            shape.append(entry if isinstance(entry, int) else known.lengths[entry])
    return BasicTensorDescription(known.dtypes[dtype] if isinstance(dtype, str) else dtype, shape)


# -- errors for operands that do not fit: each problem of each operand, with a repair ----------------------------------


class Problem(NamedTuple):
    """A problem of an operand with its repair, and whether it concerns the shape (or the element type)."""

    text: str
    is_shape: bool


def dtype_problems(pattern: Bracket, type: BasicTensorDescription, known: Known) -> Iterator[Problem]:
    """Yields at most one problem; binds the type variable if it is free."""
    wanted = pattern.dtype
    if isinstance(wanted, str):
        wanted = known.dtypes.setdefault(wanted, type.dtype)
    if wanted is type.dtype or _is_one_of(type.dtype, wanted):
        return
    name = pattern.name
    repair = f"compare it, as in ops.NotEqual({name}, {name}.full(0))" if wanted is bool_ else "insert ops.Convert"
    yield Problem(f"{name} has {type.dtype.name} elements, not {spelled(wanted)}: {repair}", False)


def shape_problems(pattern: Bracket, type: BasicTensorDescription, known: Known,
                   lengths: dict[str, int]) -> Iterator[Problem]:
    """Yields all problems of the shape of ``type``; binds free names, so that later operands are compared with it."""
    shape, name, needed = type.shape, pattern.name, _least_rank(pattern, lengths)
    more = " or more" if _is_open(pattern, lengths) else ""
    places = _placed(pattern, len(shape), lengths)
    if places is None and len(shape) < needed:
        at = _missing_at(_wanted(_placed(pattern, needed, dict(lengths)) or (), known), shape)
        flexible = f"nv.flexible({name}, {at}), or " if _is_in_run(at, pattern, lengths) else ""
        yield Problem(f"add a broadcastable axis to {name} at position {at} ({flexible}ops.Reshape, ops.Broadcast): "
                      f"it has {len(shape)} dimensions, not {needed}{more}", True)
    elif places is None:
        others = ": nv.flexible(x, at) of the operands before it lets them have more for ~"
        repair = others if "~" in pattern.entries else ""
        yield Problem(f"{name} has {len(shape)} dimensions, not {needed}{repair}", True)
    else:
        yield from _length_problems(places, type, name, known)


def _is_in_run(position: int, pattern: Bracket, lengths: dict[str, int]) -> bool:
    """Whether a dimension is one of those that ``~`` stands for."""
    if "~" not in pattern.entries:
        return False
    start = pattern.entries.index("~")
    return start <= position < start + lengths.get("~", 0)


def _length_problems(places: list[Place], type: BasicTensorDescription, name: str, known: Known) -> Iterator[Problem]:
    """Yields all problems of a shape that has the right number of dimensions."""
    shape = type.shape
    for entry, start, stop in places:
        if stop is not None:
            known.runs.setdefault(entry, shape[start:stop])
    wanted = _wanted(places, known)
    swapped = _swapped(wanted, shape)
    if swapped is not None:
        yield Problem(f"swap dimensions {swapped[0]} and {swapped[1]} of {name} (ops.Permute): it is {type}", True)
        return
    for position, (meant, length, own) in enumerate(zip(_dimensions(places), shape, wanted, strict=True)):
        if isinstance(meant, str):
            own = known.lengths.setdefault(meant, length)
        relation = own is None or own == length or equal(own, length)
        if own is not None and relation is not True:
            yield Problem(_repair(f"dimension {position} of {name}", meant, length, own, relation), True)


def expectation(pattern: Bracket, known: Known) -> str:
    """Returns the type an operand should have, as far as it is known: ``f32[3, k]``."""
    dtype = known.dtypes.get(pattern.dtype, pattern.dtype) if isinstance(pattern.dtype, str) else pattern.dtype
    entries: list[object] = []
    for entry in pattern.entries:
        entries += known.runs.get(entry, [entry]) if is_run(entry) else [known.lengths.get(str(entry), entry)]
    return f"{dtype.short if isinstance(dtype, DType) else spelled(dtype)}[{', '.join(map(str, entries))}]"


def _wanted(places: Iterable[Place], known: Known) -> list[DimLike | None]:
    """Returns the lengths that a pattern asks for; None if any will do."""
    wanted: list[DimLike | None] = []
    for entry, start, stop in places:
        if stop is not None:
            wanted.extend(known.runs.get(entry) or [None] * (stop - start))
        else:
            wanted.append(entry if isinstance(entry, int) else known.lengths.get(entry))
    return wanted


def _agree(wanted: Sequence[DimLike | None], shape: Sequence[DimLike]) -> bool:
    return all([known is None or equal(known, length) is True for known, length in zip(wanted, shape, strict=True)])


def _missing_at(wanted: Sequence[DimLike | None], shape: Sequence[DimLike]) -> int:
    """Returns the position of a missing axis: the one that makes all others fit, else the front, as NumPy aligns
    shapes.
    """
    if len(wanted) == len(shape) + 1:
        for position in range(len(wanted)):
            if _agree([*wanted[:position], *wanted[position + 1:]], shape):
                return position
    return 0


def _swapped(wanted: Sequence[DimLike | None], shape: Sequence[DimLike]) -> tuple[int, int] | None:
    """Returns two dimensions that make the shape fit when they are swapped, if it does not fit already."""
    if _agree(wanted, shape):
        return None
    for left, right in combinations(range(len(shape)), 2):
        changed = list(shape)
        changed[left], changed[right] = changed[right], changed[left]
        if _agree(wanted, changed):
            return left, right
    return None


def _repair(place: str, entry: object, length: DimLike, known: DimLike, relation: bool | None) -> str:
    meant = f" ({entry})" if isinstance(entry, str) else ""
    if relation is None:
        return f"{place}{meant} is {length}, not known to be {known}: {ASSUME}"
    if length == 1:
        return f"broadcast {place}{meant} from 1 to {known} (ops.Broadcast)"
    return f"{place}{meant} is {length}, not {known}"
