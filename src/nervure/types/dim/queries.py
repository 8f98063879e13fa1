"""Queries on symbolic dimensions: facts that hold for all values of the symbols, and the parts of an expression.

>>> from nervure.types.dim import dim, index
>>> n = dim("N", min=1)
>>> equal(n // 2 * 2, n), less_equal(n // 2, n), bounds(n % 4)
(None, True, (0, 3))
>>> affine(n * index(0) + 3, ["%0"])
({'%0': N}, 3)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from nervure.types.dim import proof
from nervure.types.dim.bounds import Ranges, SymbolicInterval, lower_bound, upper_bound
from nervure.types.dim.expression import Declared, Dim, DimLike, made, merged, part, parts
from nervure.types.dim.interval import EVERYTHING, Interval, intersect
from nervure.types.dim.normal_form import construct, rebuild, recombined
from nervure.types.dim.polynomial import Atom, Kind, Monomial, Polynomial, constant, in_order

RangesLike = Mapping[str, tuple[DimLike | None, DimLike | None]]

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")

_MOST_ANSWERS = 1 << 12  # cached answers of each query


def remembered(query: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """Caches the answers of a query: kernels of like structure ask the same questions again and again."""
    answers: dict[Hashable, tuple[_Answer]] = {}  # None is an answer too

    @wraps(query)
    def asked(*arguments: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        key = _exactly(arguments), _exactly(named) if named else None
        kept = answers.get(key)
        if kept is None:
            if len(answers) >= _MOST_ANSWERS:
                answers.clear()
            kept = answers[key] = (query(*arguments, **named),)
        return kept[0]

    return asked


def _exactly(x: object) -> Hashable:
    """Returns everything that an answer depends on: the terms of equal dimensions may differ in order, and the known
    bounds of a symbol may differ.
    """
    if x is None or type(x) is int:
        return x
    if isinstance(x, Dim):
        return tuple(x._polynomial.terms.items()), tuple(x._declared.items())
    if isinstance(x, Polynomial):
        return tuple(x.terms.items())
    if isinstance(x, tuple):
        return tuple(map(_exactly, x))
    return tuple([(name, _exactly(entry)) for name, entry in x.items()]) if isinstance(x, Mapping) else x


def symbols(x: DimLike) -> frozenset[str]:
    """Returns the names of all symbols in x, those of domain indices included."""
    return x._polynomial.names if isinstance(x, Dim) else frozenset()


def index_symbols(x: DimLike) -> frozenset[str]:
    """Returns the names of the domain indices in x, such as ``%0``."""
    return frozenset(name for name in symbols(x) if name.startswith("%"))


def found_symbols(x: DimLike) -> frozenset[str]:
    """Returns the names of the lengths in x that ops find, such as ``?0``."""
    return frozenset(name for name in symbols(x) if name.startswith("?"))


def _known(declared: Declared, ranges: RangesLike | None) -> Ranges:
    """Returns the ranges known for a query: declared bounds, narrowed, with the consequences of ``ranges``."""
    if not ranges:
        return Ranges(declared)
    numeric = dict(declared)
    fixed = {name: (low, high) for name, (low, high) in ranges.items() if type(low) is int and type(high) is int}
    if len(fixed) == len(ranges):
        numeric.update({name: intersect(numeric.get(name, EVERYTHING), pair) for name, pair in fixed.items()})
        return Ranges(numeric)
    symbolic: dict[str, SymbolicInterval] = {}
    ends: dict[str, SymbolicInterval] = {}
    for name, pair in ranges.items():
        (low, below), (high, above) = ((None, {}) if end is None else parts(end, "ranges") for end in pair)
        ends[name] = low, high
        numeric = dict(merged(merged(numeric, below), above))
    for low, high in ends.values():
        if low is not None and high is not None:
            _imply_nonempty(high - low, numeric)
    for name, (low, high) in ends.items():
        outer = Ranges(numeric)
        numbers = (None if low is None else lower_bound(low, outer),
                   None if high is None else upper_bound(high, outer))
        numeric[name] = intersect(numeric.get(name, EVERYTHING), numbers)
        if (low is not None and low.constant is None) or (high is not None and high.constant is None):
            symbolic[name] = low, high
    return Ranges(numeric, symbolic)


def _relevant(ranges: RangesLike | None, polynomial: Polynomial) -> RangesLike | None:
    """Returns the ranges that a query about a polynomial depends on: those of its symbols, where all are numbers."""
    if not ranges or any([isinstance(end, Dim) for pair in ranges.values() for end in pair]):
        return ranges
    names = polynomial.names
    return {name: pair for name, pair in ranges.items() if name in names}


def _imply_nonempty(extent: Polynomial, numeric: dict[str, Interval]) -> None:
    """Bounds the symbols in the ends of a range by its having a value: from 0 to N*M - 1 needs N, M >= 1."""
    atoms = [monomial for monomial in extent.terms if monomial]
    if len(atoms) != 1 or any(atom.kind is not Kind.SYMBOL for atom in atoms[0]):
        return
    slope, offset = extent.terms[atoms[0]], extent.terms.get((), 0)
    least = -(offset // slope) if slope > 0 else None
    for atom in atoms[0]:
        known = numeric.get(atom, EVERYTHING)
        if least is not None and len(atoms[0]) == 1:
            numeric[atom] = intersect(known, (least, None))
        elif least is not None and least >= 1 and known[0] == 0:
            numeric[atom] = intersect(known, (1, None))


def equal(a: DimLike, b: DimLike, ranges: RangesLike | None = None) -> bool | None:
    """Returns True if a == b for all values of the symbols, False if for none, None if it is not known, or depends.

    ``ranges`` maps names of symbols to (low, high), both included, which narrow the symbols' own bounds; the ends may
    be dimensions. The fact that a range is not empty is used, too: it may bound other symbols.
    """
    if type(a) is int and type(b) is int:
        return a == b
    if a is b or (isinstance(a, Dim) and a == b):
        return True
    left, declared = parts(a, "equal")
    right, others = parts(b, "equal")
    difference = left - right
    return _is_zero(difference, merged(declared, others), _relevant(ranges, difference))


def known_lengths(shape: Iterable[DimLike]) -> tuple[int, ...] | None:
    """Returns the lengths of a shape if all are numbers, else None.

    >>> from nervure.types.dim import dim
    >>> known_lengths((2, 3)), known_lengths((dim("N"), 3))
    ((2, 3), None)
    """
    lengths = list(shape)
    numbers = tuple([length for length in lengths if isinstance(length, int)])
    return numbers if len(numbers) == len(lengths) else None


def same_lengths(left: Sequence[DimLike], right: Sequence[DimLike]) -> bool:
    """Whether two shapes are equal for all values of the symbols; False also where that is not known.

    >>> from nervure.types.dim import dim
    >>> n = dim("N")
    >>> same_lengths((n + n, 3), (2 * n, 3)), same_lengths((n, 3), (3, 3)), same_lengths((3,), (3, 1))
    (True, False, False)
    """
    return len(left) == len(right) and all([equal(a, b) is True for a, b in zip(left, right, strict=True)])


def less_equal(a: DimLike, b: DimLike, ranges: RangesLike | None = None) -> bool | None:
    """Returns True if a <= b for all values of the symbols, False if for none, None if it is not known, or depends."""
    if type(a) is int and type(b) is int:
        return a <= b
    left, declared = parts(a, "less_equal")
    right, others = parts(b, "less_equal")
    difference = right - left
    return _is_at_least_zero(difference, merged(declared, others), _relevant(ranges, difference))


@remembered
def _is_zero(difference: Polynomial, declared: Declared, ranges: RangesLike | None) -> bool | None:
    return proof.is_zero(difference, _known(declared, ranges))


@remembered
def _is_at_least_zero(difference: Polynomial, declared: Declared, ranges: RangesLike | None) -> bool | None:
    return proof.is_at_least_zero(difference, _known(declared, ranges))


def bounds(x: DimLike, ranges: RangesLike | None = None) -> Interval:
    """Returns (low, high): every value of x lies between them, both included; None is no known bound."""
    return lowest(x, ranges), highest(x, ranges)


def lowest(x: DimLike, ranges: RangesLike | None = None) -> int | None:
    """Returns a number that no value of x is below; None if none is known."""
    if type(x) is int:
        return x
    polynomial, declared = parts(x, "lowest")
    return _lowest(polynomial, declared, _relevant(ranges, polynomial))


def highest(x: DimLike, ranges: RangesLike | None = None) -> int | None:
    """Returns a number that no value of x is above; None if none is known."""
    if type(x) is int:
        return x
    polynomial, declared = parts(x, "highest")
    return _highest(polynomial, declared, _relevant(ranges, polynomial))


@remembered
def _lowest(polynomial: Polynomial, declared: Declared, ranges: RangesLike | None) -> int | None:
    return lower_bound(polynomial, _known(declared, ranges))


@remembered
def _highest(polynomial: Polynomial, declared: Declared, ranges: RangesLike | None) -> int | None:
    return upper_bound(polynomial, _known(declared, ranges))


def substitute(x: DimLike, bindings: Mapping[str, DimLike]) -> DimLike:
    """Replaces symbols in x by dimensions, all at once; symbols not in ``bindings`` stay."""
    if not isinstance(x, Dim):
        return x
    replaced = x._polynomial.names & bindings.keys()
    return _substituted(x, {name: bindings[name] for name in sorted(replaced)}) if replaced else x


@remembered
def _substituted(x: Dim, bindings: Mapping[str, DimLike]) -> DimLike:
    declared: Declared = {name: values for name, values in x._declared.items() if name not in bindings}
    polynomials = {}
    for name, value in bindings.items():
        polynomials[name], others = parts(value, "substitute")
        declared = merged(declared, others)
    result = rebuild(x._polynomial, Ranges(declared), polynomials, construct, frozenset(bindings))
    return made(result, declared)


def simplify(x: DimLike, ranges: RangesLike) -> DimLike:
    """Returns x in the shortest form known for symbols within ``ranges`` (as in ``equal``); it equals x there alone.

    ``(%0*4 + %1)//4`` is ``%0`` if ``0 <= %1 <= 3``, as is ``(%0*N + %1)//N`` if ``0 <= %1 <= N - 1``.
    """
    return _simplest(x, _relevant(ranges, x._polynomial) or {}) if isinstance(x, Dim) else x


@remembered
def _simplest(x: Dim, ranges: RangesLike) -> DimLike:
    declared = x._declared
    for ends in ranges.values():
        for end in ends:
            if isinstance(end, Dim):
                declared = merged(declared, end._declared)
    known = _known(x._declared, ranges)
    fixed = {name: constant(low) for name, (low, high) in known.numeric.items()
             if name in ranges and low == high and low is not None}
    return made(recombined(rebuild(x._polynomial, known, fixed, _simplified), known), declared)


def _simplified(kind: Kind, operands: Sequence[Polynomial], ranges: Ranges) -> Polynomial:
    return construct(kind, [recombined(operand, ranges) for operand in operands], ranges)


def affine(x: DimLike, names: Iterable[str]) -> tuple[dict[str, DimLike], DimLike] | None:
    """Returns (coefficients, rest) with x == sum(coefficients[name] * name) + rest, None if x is not of that form.

    Every name has a coefficient, 0 where it does not occur; neither coefficients nor rest contain a name.
    """
    wanted = list(names)
    if not isinstance(x, Dim):
        return dict.fromkeys(wanted, 0), x
    chosen = frozenset(wanted)
    coefficients: dict[str, dict[Monomial, int]] = {name: {} for name in wanted}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in x._polynomial.terms.items():
        holders = [atom for atom in monomial if not chosen.isdisjoint(atom.names)]
        if not holders:
            rest[monomial] = coefficient
            continue
        atom = holders[0]
        if len(holders) > 1 or atom.kind is not Kind.SYMBOL:
            return None
        coefficients[atom][tuple([other for other in monomial if other is not atom])] = coefficient
    found = {name: part(Polynomial(coefficients[name]), x._declared) if coefficients[name] else 0 for name in wanted}
    return found, part(Polynomial(rest), x._declared)


def terms(x: DimLike) -> list[tuple[int, DimLike]]:
    """Returns (coefficient, factor) pairs whose products sum to x, in the order of x's text; a number has the factor
    1.

    >>> from nervure.types.dim import dim
    >>> n = dim("N")
    >>> terms(2 * n * n - 3 * n + 1), terms(0)
    ([(2, N**2), (-3, N), (1, 1)], [])
    """
    if not isinstance(x, Dim):
        return [(x, 1)] if x else []
    return [(coefficient, part(Polynomial({monomial: 1}), x._declared))
            for monomial, coefficient in in_order(x._polynomial.terms)]


def least_operands(x: DimLike) -> tuple[DimLike, ...]:
    """Returns the dimensions of which x is the smallest: x itself if it is no minimum.

    >>> from nervure.types.dim import dim, dim_min
    >>> least_operands(dim_min(dim("N"), 8)), least_operands(dim("N") + 1)
    ((N, 8), (N + 1,))
    """
    if isinstance(x, Dim) and len(x._polynomial.terms) == 1:
        ((monomial, coefficient),) = x._polynomial.terms.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0].kind is Kind.MINIMUM:
            return tuple([part(operand, x._declared) for operand in monomial[0].operands])
    return (x,)


class Factor(NamedTuple):
    """A domain index (with its name), or an operation on dimensions."""

    kind: Kind
    operands: tuple[DimLike, ...]
    name: str


def index_terms(x: DimLike) -> list[tuple[DimLike, tuple[Factor, ...]]]:
    """Returns (coefficient, factors) pairs whose products sum to x: factors depend on domain indices, coefficients do
    not. The part that depends on no index comes last, if there is any.

    >>> from nervure.types.dim import dim, index
    >>> n = dim("N")
    >>> for coefficient, factors in index_terms(n * index(0) + (index(0) + n) // 4 + 2 * n + 1):
    ...     print(coefficient, [(factor.kind.name, factor.operands, factor.name) for factor in factors])
    N [('SYMBOL', (), '%0')]
    1 [('FLOOR_DIVIDE', (%0 + N, 4), '')]
    2*N + 1 []
    """
    if not isinstance(x, Dim):
        return [(x, ())] if x else []
    groups: dict[Monomial, dict[Monomial, int]] = {}
    for monomial, coefficient in x._polynomial.terms.items():
        varying = tuple([atom for atom in monomial if _varies(atom)])
        fixed = tuple([atom for atom in monomial if not _varies(atom)])
        groups.setdefault(varying, {})[fixed] = coefficient
    terms = [(part(Polynomial(terms), x._declared), tuple([_factor(atom, x) for atom in varying]))
             for varying, terms in groups.items()]
    return sorted(terms, key=lambda term: not term[1])


def _varies(atom: Atom) -> bool:
    return any([name.startswith("%") for name in atom.names])


def _factor(atom: Atom, x: Dim) -> Factor:
    if atom.kind is Kind.SYMBOL:
        return Factor(atom.kind, (), str(atom))
    return Factor(atom.kind, tuple([part(operand, x._declared) for operand in atom.operands]), "")
