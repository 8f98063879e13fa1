"""Questions about dimensions and their evaluation: what holds for all values, and what the value is.

>>> from nervure.types.dim import dim, index
>>> n = dim("N", min=1)
>>> equal(n // 2 * 2, n), less_equal(n // 2, n), bounds(n % 4), evaluate(n // 2, {"N": 7})
(None, True, (0, 3), 3)
>>> affine(n * index(0) + 3, ["%0"])
({'%0': N}, 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.types.dim import proof
from nervure.types.dim.algebra import construct, rebuild, recombined
from nervure.types.dim.bounds import Ranges, SymbolicInterval, lower_bound, upper_bound
from nervure.types.dim.expression import Declared, Dim, DimLike, integer, made, merged, parts
from nervure.types.dim.interval import EVERYTHING, Interval, intersect
from nervure.types.dim.polynomial import Kind, Polynomial, constant
from nervure.types.dim.values import ARRAYS, NUMBERS, Arithmetic, compiled

RangesLike = Mapping[str, tuple[DimLike | None, DimLike | None]]


def symbols(x: DimLike) -> frozenset[str]:
    """The names of all symbols in x, those of domain indices included."""
    return x._polynomial.names if isinstance(x, Dim) else frozenset()


def index_symbols(x: DimLike) -> frozenset[str]:
    """The names of the domain indices in x, such as ``%0``."""
    return frozenset(name for name in symbols(x) if name.startswith("%"))


def _known(declared: Declared, ranges: RangesLike | None) -> Ranges:
    """What is known where something is asked: declared bounds, narrowed, and what the ranges imply."""
    if not ranges:
        return Ranges(declared)
    numeric = dict(declared)
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


def _imply_nonempty(extent: Polynomial, numeric: dict[str, Interval]) -> None:
    """A range that has a value at all bounds the symbols of its ends: from 0 to N*M - 1 needs N, M >= 1."""
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
    """True: a == b for all values of the symbols; False: for none; None: not known, or it depends.

    ``ranges`` maps names of symbols to (low, high), both included, which narrow the symbols' own bounds; the ends
    may be dimensions. That a range is not empty is used too: it may bound other symbols.
    """
    if type(a) is int and type(b) is int:
        return a == b
    if a is b or (isinstance(a, Dim) and a == b):
        return True
    left, declared = parts(a, "equal")
    right, others = parts(b, "equal")
    return proof.is_zero(left - right, _known(merged(declared, others), ranges))


def less_equal(a: DimLike, b: DimLike, ranges: RangesLike | None = None) -> bool | None:
    """True: a <= b for all values of the symbols; False: for none; None: not known, or it depends."""
    if type(a) is int and type(b) is int:
        return a <= b
    left, declared = parts(a, "less_equal")
    right, others = parts(b, "less_equal")
    return proof.is_at_least_zero(right - left, _known(merged(declared, others), ranges))


def bounds(x: DimLike, ranges: RangesLike | None = None) -> Interval:
    """(low, high): every value of x lies between them, both included; None is no known bound."""
    if type(x) is int:
        return x, x
    polynomial, declared = parts(x, "bounds")
    known = _known(declared, ranges)
    return lower_bound(polynomial, known), upper_bound(polynomial, known)


def substitute(x: DimLike, bindings: Mapping[str, DimLike]) -> DimLike:
    """x with symbols replaced by dimensions, all at once; symbols that are not named stay."""
    if not isinstance(x, Dim):
        return x
    replaced = x._polynomial.names & bindings.keys()
    if not replaced:
        return x
    declared: Declared = {name: values for name, values in x._declared.items() if name not in replaced}
    polynomials = {}
    for name in sorted(replaced):
        polynomials[name], others = parts(bindings[name], "substitute")
        declared = merged(declared, others)
    result = rebuild(x._polynomial, Ranges(declared), polynomials, construct, frozenset(replaced))
    return made(result, declared)


def simplify(x: DimLike, ranges: RangesLike) -> DimLike:
    """x in the shortest form known where the symbols lie in ``ranges`` (as in ``equal``); equal to x there alone.

    ``(%0*4 + %1)//4`` is ``%0`` where ``0 <= %1 <= 3``, as is ``(%0*N + %1)//N`` where ``0 <= %1 <= N - 1``.
    """
    if not isinstance(x, Dim):
        return x
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
    """(coefficients, rest) with x == sum(coefficients[name] * name) + rest, None where x is not of that form.

    Every name has a coefficient, 0 where it does not occur; neither coefficients nor rest contain a name.
    """
    wanted = list(names)
    if not isinstance(x, Dim):
        return dict.fromkeys(wanted, 0), x
    chosen = frozenset(wanted)
    coefficients: dict[str, Polynomial] = {name: constant(0) for name in wanted}
    rest = constant(0)
    for monomial, coefficient in x._polynomial.terms.items():
        holders = [atom for atom in monomial if not chosen.isdisjoint(atom.names)]
        if not holders:
            rest = rest + Polynomial({monomial: coefficient})
            continue
        atom = holders[0]
        if len(holders) > 1 or atom.kind is not Kind.SYMBOL:
            return None
        others = tuple(other for other in monomial if other is not atom)
        coefficients[atom] = coefficients[atom] + Polynomial({others: coefficient})
    return {name: made(coefficients[name], x._declared) for name in wanted}, made(rest, x._declared)


def evaluate(x: DimLike, bindings: Mapping[str, int]) -> int:
    """The value of x where each symbol has the given value; dividing by 0 gives 0.

    Raises InvalidArgument that names a symbol without a value.
    """
    if not isinstance(x, Dim):
        return parts(x, "evaluate")[0].constant or 0
    numbers = {}
    for name in x._polynomial.names:
        number = integer(_binding(bindings, name))
        if number is None:
            raise WrongKind(f"the value of {name} is not an integer", op="evaluate", operand=name,
                            got=repr(bindings[name]), expected="int")
        numbers[name] = number
    return compiled(x._polynomial, NUMBERS)(numbers)


def evaluate_arrays(x: DimLike, bindings: Mapping[str, int | np.ndarray]) -> int | np.ndarray:
    """The values of x where symbols have integer arrays as values, element by element, broadcast; in int64.

    Raises InvalidArgument for a symbol without a value and for a coefficient past 64 bits.
    """
    if not isinstance(x, Dim):
        return x
    values = {}
    for name in x._polynomial.names:
        value = _binding(bindings, name)
        values[name] = value.astype(np.int64, copy=False) if isinstance(value, np.ndarray) else value
    try:
        return compiled(x._polynomial, ARRAYS)(values)
    except OverflowError:
        raise InvalidArgument("a number in this dimension does not fit 64 bits", op="evaluate_arrays",
                              got=str(x), expected="numbers below 2**63") from None


def evaluate_with(x: DimLike, values: Mapping[str, Any], floor_divide: Any, remainder: Any, minimum: Any,
                  maximum: Any) -> Any:
    """The value of x over other numbers: what the symbols stand for has ``+ * **`` of its own, the rest is given."""
    if not isinstance(x, Dim):
        return x
    return compiled(x._polynomial, Arithmetic(floor_divide, remainder, minimum, maximum))(values)


def compile_dim(x: DimLike) -> Callable[[Mapping[str, int]], int]:
    """A function from bindings to the value of x: ``evaluate`` without checks, for repeated use."""
    if not isinstance(x, Dim):
        return lambda bindings: x
    return compiled(x._polynomial, NUMBERS)


def _binding(bindings: Mapping[str, object], name: str) -> object:
    try:
        return bindings[name]
    except KeyError:
        raise InvalidArgument(f"the symbol {name} has no value", op="evaluate", operand=name,
                              got=f"values of {', '.join(sorted(bindings)) or 'no symbol'}",
                              expected=f"a value of {name}", help=did_you_mean(name, bindings)) from None
