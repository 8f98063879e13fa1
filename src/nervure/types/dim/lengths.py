"""Lengths of tensors: since none is negative, they bound their symbols.

A tensor with an axis of ``n - 2`` elements exists only in calls with n >= 2, and every decision about it may use that.
A call in which a length would be negative is an error of its own.

>>> from nervure.types.dim import dim, less_equal
>>> n = dim("N")
>>> less_equal(0, n - 2), less_equal(0, n - 2, of_lengths([n - 2]))
(None, True)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from nervure.types.dim.bounds import Ranges, is_nonnegative, lower_bound, upper_bound
from nervure.types.dim.evaluation import compile_dim
from nervure.types.dim.expression import Declared, Dim, DimLike, made, merged, parts
from nervure.types.dim.interval import EVERYTHING
from nervure.types.dim.normal_form import construct
from nervure.types.dim.polynomial import Atom, Kind, Monomial, Polynomial, constant, of_atom, product_of, sum_of, symbol
from nervure.types.dim.queries import RangesLike, bounds, remembered, substitute

_FAR = 1 << 61
_NAME = "length~"  # no identifier, so no symbol of the user's has this name

End = DimLike | None


def of_lengths(lengths: Iterable[DimLike]) -> RangesLike:
    """Returns ranges of symbols, for the other queries, that hold if none of these dimensions is negative.

    In a length of several symbols, one is bounded through the others.

    >>> from nervure.types.dim import dim
    >>> n, m = dim("N"), dim("M")
    >>> of_lengths([n - 2, (n - 3) // 2 - 1, m + n - 4])
    {'N': (5, None), 'M': (4 - N, None)}
    """
    found: dict[str, tuple[End, End]] = {}
    for length in lengths:
        if isinstance(length, Dim) and (implied := _implied(length)) is not None:
            name, low, high = implied
            below, above = found.get(name, (None, None))
            found[name] = _tighter(below, low, max), _tighter(above, high, min)
    return found


def _tighter(known: End, end: End, choose: Callable[[int, int], int]) -> End:
    """Returns the tighter of two bounds that are numbers, else the later one."""
    if isinstance(known, int) and isinstance(end, int):
        return choose(known, end)
    return known if end is None else end


@remembered
def _implied(length: DimLike) -> tuple[str, End, End] | None:
    """Returns a range of a symbol that follows from a length not being negative, if one is found."""
    polynomial, declared = parts(length)
    if len(polynomial.names) == 1:
        name, = polynomial.names
        if polynomial.atom == name and (least := declared[name][0]) is not None and least >= 0:
            return None
        return name, *_range_of(polynomial, name, Ranges(declared))
    for monomial in sorted(term for term in polynomial.terms if term):
        slope, atom = polynomial.terms[monomial], monomial[0]
        others = Polynomial({term: factor for term, factor in polynomial.terms.items() if term != monomial})
        if len(monomial) == 1 and atom.kind is Kind.SYMBOL and abs(slope) == 1 and atom not in others.names:
            bound = made(others * -slope, declared)
            return (atom, bound, None) if slope > 0 else (atom, None, bound)
    return None


def _range_of(polynomial: Polynomial, name: str, ranges: Ranges) -> tuple[int | None, int | None]:
    """Returns the range in which a monotonic polynomial of one symbol is not negative, found by bisection."""
    low, high = ranges.numeric.get(name, EVERYTHING)
    first, last = -_FAR if low is None else low, _FAR if high is None else high
    value = compile_dim(made(polynomial, ranges.numeric))

    def is_length(number: int) -> bool:
        return value({name: number}) >= 0

    if _rises(polynomial, ranges) and is_length(last):
        least = first + bisect_left(range(first, last), True, key=is_length)
        return (None if is_length(first) else least), None
    if _rises(-polynomial, ranges) and is_length(first):
        return None, first + bisect_left(range(first, last + 1), True, key=lambda number: not is_length(number)) - 1
    return None, None


def _rises(polynomial: Polynomial, ranges: Ranges) -> bool:
    """Whether the polynomial is known to be non-decreasing in each of its symbols."""
    return all([factor > 0 and all([_atom_rises(atom, ranges) for atom in monomial])
                and (len(monomial) == 1 or all([is_nonnegative(of_atom(atom), ranges) for atom in monomial]))
                for monomial, factor in polynomial.terms.items() if monomial])


def _atom_rises(atom: Atom, ranges: Ranges) -> bool:
    if atom.kind in (Kind.REMAINDER, Kind.PRODUCT):
        return False
    if atom.kind is Kind.FLOOR_DIVIDE:
        return (atom.operands[1].constant or 0) > 0 and _rises(atom.operands[0], ranges)
    return all([_rises(operand, ranges) for operand in atom.operands])


def as_symbol(length: DimLike) -> DimLike:
    """Returns a symbol with the bounds of a length; numbers and symbols stay as they are. ``as_length`` is the
    inverse.

    >>> from nervure.types.dim import dim
    >>> as_length(as_symbol(dim("N") - 2) // 2, dim("N") - 2)
    N//2 - 1
    """
    if not isinstance(length, Dim) or str(length) in length._declared:
        return length
    low, high = bounds(length)
    return made(symbol(_NAME), {_NAME: (max(low or 0, 0), high)})


def as_length(x: DimLike, length: DimLike) -> DimLike:
    """Returns an expression over ``as_symbol(length)`` as one over the symbols of the length."""
    return substitute(x, {_NAME: length})


def through_symbol(length: DimLike, xs: Iterable[DimLike]) -> list[DimLike]:
    """Rewrites a length that is not negative, and the xs, with one symbol in place of the sum that the length is made
    of. A statement that holds for all values of the results holds for the xs; a single symbol makes proofs easier.

    >>> from nervure.types.dim import dim, dim_max, dim_min
    >>> n, m = dim("N"), dim("M")
    >>> through_symbol(2 * n + 2 * m - 3, [dim_min(n + m, 1)])
    [2*length~ - 3, 1]
    >>> through_symbol(dim_max(n + m - 2, 0) // 2 - 1, [n + m])
    [length~ - 4, length~]
    """
    declared: Declared = {}
    polynomials = []
    for x in (length, *xs):
        polynomial, known = parts(x)
        polynomials.append(polynomial)
        declared = merged(declared, known)
    ranges = Ranges(declared)
    polynomials = _at_the_root(polynomials, ranges)
    whole = polynomials[0]
    offset = whole.terms.get((), 0)
    size = abs((whole - offset).content()) or 1
    base = (whole - offset).exact(size)
    chosen = next((monomial for monomial in sorted(base.terms) if abs(base.terms[monomial]) == 1
                   and not any([atom.kind in (Kind.MINIMUM, Kind.MAXIMUM) for atom in monomial])), None)
    if chosen is not None:
        least, low = -(offset // size), lower_bound(base, ranges)
        ends = least if low is None else max(least, low), upper_bound(base, ranges)
        ranges = Ranges({**declared, _NAME: ends})
        rest = Polynomial({term: factor for term, factor in base.terms.items() if term != chosen})
        by = (symbol(_NAME) - rest) * base.terms[chosen]
        polynomials = [_replaced(each, chosen, by, ranges) for each in polynomials]
    return [made(each, ranges.numeric) for each in polynomials]


def _at_the_root(polynomials: list[Polynomial], ranges: Ranges) -> list[Polynomial]:
    """Simplifies the first polynomial, which is not negative. A quotient becomes its dividend, which then is not
    negative, and a maximum the one operand that can be large enough.
    """
    while True:
        terms = [term for term in polynomials[0].terms if term]
        if len(terms) != 1 or len(terms[0]) != 1 or polynomials[0].terms[terms[0]] < 0:
            return polynomials
        atom, = terms[0]
        least = -(polynomials[0].terms.get((), 0) // polynomials[0].terms[terms[0]])
        reaching = _reaching(atom, least, ranges) if atom.kind is Kind.MAXIMUM else []
        if len(reaching) == 1:
            polynomials = [_replaced(each, terms[0], reaching[0], ranges) for each in polynomials]
        elif atom.kind is Kind.FLOOR_DIVIDE and (atom.operands[1].constant or 0) > 0:
            polynomials = [atom.operands[0] - atom.operands[1] * least, *polynomials[1:]]
        else:
            return polynomials


def _reaching(maximum: Atom, least: int, ranges: Ranges) -> list[Polynomial]:
    """Returns the operands of a maximum that may be ``least`` or more."""
    return [operand for operand in maximum.operands
            if (high := upper_bound(operand, ranges)) is None or high >= least]


def _replaced(polynomial: Polynomial, monomial: Monomial, by: Polynomial, ranges: Ranges) -> Polynomial:
    """Replaces a monomial by a polynomial wherever it occurs in another polynomial."""
    terms = []
    for own, factor in polynomial.terms.items():
        atoms = [of_atom(atom) if atom.kind is Kind.SYMBOL else construct(
            atom.kind, [_replaced(operand, monomial, by, ranges) for operand in atom.operands], ranges)
            for atom in own]
        terms.append((by if own == monomial else product_of([constant(1), *atoms])) * factor)
    return sum_of(terms)
