"""Decisions whether a polynomial is zero, or not negative, for all values of its symbols, or for none.

Three steps, each sound: look at the bounds; write remainders, minima and maxima through fewer operations
(``p % q == p - q*(p//q)``, ``max(a, b) == a + max(0, b - a)``); split the values into cases (N is 2t or
2t + 1; a >= b or a < b; M is 0 or at least 1) and decide each. All cases must agree; else the answer is None.

>>> from nervure.types.dim.polynomial import symbol
>>> n, ranges = symbol("N"), Ranges({"N": (0, None)})
>>> half, other_half = (floor_divide(n + extra, constant(2), ranges) for extra in (0, 1))
>>> is_zero(half + other_half - n, ranges), is_zero(half * 2 - n, ranges), is_zero(half * 2 - n - 1, ranges)
(True, None, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import gcd

from nervure.types.dim.bounds import Ranges, is_nonzero, is_over_symbols, lower_bound, upper_bound
from nervure.types.dim.interval import EVERYTHING
from nervure.types.dim.normal_form import construct, floor_divide, rebuild
from nervure.types.dim.polynomial import ZERO, Atom, Kind, Polynomial, TooLarge, constant, symbol

Verdict = bool | None
Test = Callable[[Polynomial, Ranges], Verdict]
Case = tuple[Polynomial, Ranges]

_EFFORT = 4_000  # characters of all cases together that one question may visit
_MAX_EXPANDED_DEPTH = 5  # depth of operations that are rewritten through others: their operands are duplicated
_MAX_EXPANDED_TERMS = 16
_MAX_RESIDUES = 64  # cases of one symbol by its remainder
_MAX_VALUES = 16  # cases of one symbol by its value


def is_zero(polynomial: Polynomial, ranges: Ranges) -> Verdict:
    """Returns True for 0 at all values of the symbols, False for 0 at none, None if it is not known, or depends."""
    return _decide(polynomial, ranges, _test_zero)


def is_at_least_zero(polynomial: Polynomial, ranges: Ranges) -> Verdict:
    """Returns True for never negative, False for always negative, None if it is not known, or depends."""
    if is_over_symbols(polynomial, ranges) and all([len(monomial) < 2 for monomial in polynomial.terms]):
        return _test_nonnegative(polynomial, ranges)  # each symbol reaches its bounds: there are no cases to look at
    return _decide(polynomial, ranges, _test_nonnegative)


def _test_zero(polynomial: Polynomial, ranges: Ranges) -> Verdict:
    value = polynomial.constant
    if value is not None:
        return value == 0
    step = gcd(*(c for m, c in polynomial.terms.items() if m))
    if polynomial.terms.get((), 0) % step:
        return False  # a multiple of step cannot be the difference
    low = lower_bound(polynomial, ranges, enough=1)
    if low is not None and low > 0:
        return False
    high = upper_bound(polynomial, ranges, enough=-1)
    if high is not None and high < 0:
        return False
    return True if low == high == 0 else None


def _test_nonnegative(polynomial: Polynomial, ranges: Ranges) -> Verdict:
    low = lower_bound(polynomial, ranges, enough=0)
    if low is not None and low >= 0:
        return True
    high = upper_bound(polynomial, ranges, enough=-1)
    return False if high is not None and high < 0 else None


def _decide(polynomial: Polynomial, ranges: Ranges, test: Test) -> Verdict:
    verdict = test(polynomial, ranges)
    if verdict is not None or polynomial.depth < 0:
        return verdict
    try:
        return _decide_by_cases(polynomial, ranges, test)
    except TooLarge:
        return None


def _decide_by_cases(polynomial: Polynomial, ranges: Ranges, test: Test) -> Verdict:
    """Decides the cases depth first, each made when needed; the first undecided or dissenting one ends it."""
    answer: Verdict = None
    effort = _EFFORT
    pending = [_case(polynomial, ranges, {})]
    while pending:
        case = next(pending[-1], None)
        if case is None:
            pending.pop()
            continue
        effort -= len(str(case[0])) + 10
        verdict = test(*case)
        if verdict is None:
            cases = _cases(*case)
            if cases is None or effort < 0:
                return None
            pending.append(cases)
        elif answer is None:
            answer = verdict
        elif answer is not verdict:
            return None
    return answer


def _expanded(kind: Kind, operands: Sequence[Polynomial], ranges: Ranges) -> Polynomial:
    """Expresses an operation by quotients and maxima of 0 and a single polynomial, if that is possible."""
    made = construct(kind, operands, ranges)
    if len(made.terms) != 1:
        return made
    (monomial, scale), = made.terms.items()
    if len(monomial) != 1 or monomial[0].kind is not kind:
        return made
    first, *others = monomial[0].operands
    if monomial[0].depth > _MAX_EXPANDED_DEPTH or sum(len(p.terms) for p in (first, *others)) > _MAX_EXPANDED_TERMS:
        return made
    if kind is Kind.REMAINDER and is_nonzero(others[0], ranges):
        return (first - others[0] * floor_divide(first, others[0], ranges)) * scale
    if kind is Kind.MAXIMUM:
        return (first + _positive_part([other - first for other in others], ranges)) * scale
    if kind is Kind.MINIMUM:
        return (first - _positive_part([first - other for other in others], ranges)) * scale
    return made


def _positive_part(polynomials: list[Polynomial], ranges: Ranges) -> Polynomial:
    """Returns ``max(0, p, ...)``; a single p gets content 1 and leading sign +, by ``max(0, p) == p + max(0, -p)``."""
    if len(polynomials) > 1:
        return construct(Kind.MAXIMUM, [ZERO, *polynomials], ranges)
    polynomial, = polynomials
    content = polynomial.content() or 1
    part = construct(Kind.MAXIMUM, [ZERO, polynomial.exact(content)], ranges)
    return part * content if content > 0 else polynomial + part * -content


def _case(polynomial: Polynomial, ranges: Ranges | None, bindings: Mapping[str, Polynomial]) -> Iterator[Case]:
    """Yields the question under other ranges; nothing if they are None."""
    if ranges is not None:
        yield rebuild(polynomial, ranges, bindings, _expanded), ranges


def _cases(polynomial: Polynomial, ranges: Ranges) -> Iterator[Case] | None:
    """Returns smaller questions that together cover this one; None if nothing can be split."""
    for atom in sorted(_atoms(polynomial), key=lambda atom: (atom.depth, atom)):
        if atom.kind in (Kind.MINIMUM, Kind.MAXIMUM):
            return _cases_of_extreme(polynomial, atom, ranges)
        if atom.kind not in (Kind.FLOOR_DIVIDE, Kind.REMAINDER):
            continue
        dividend, divisor = atom.operands
        size = divisor.constant
        if size is None:
            cases = _cases_by_sign(polynomial, divisor.names, ranges)
            if cases is not None:
                return cases
        elif atom.depth == 1 and 1 < size <= _MAX_RESIDUES:
            return _cases_of_residue(polynomial, min(dividend.names), size, ranges)
    in_products = {atom for monomial in polynomial.terms if len(monomial) > 1 for atom in monomial}
    return _cases_by_sign(polynomial, in_products, ranges) or _cases_of_value(polynomial, ranges)


def _atoms(polynomial: Polynomial) -> set[Atom]:
    found: set[Atom] = set()
    pending = [polynomial]
    while pending:
        for monomial in pending.pop().terms:
            for atom in monomial:
                if atom not in found:
                    found.add(atom)
                    pending.extend(atom.operands)
    return found


def _cases_of_extreme(polynomial: Polynomial, atom: Atom, ranges: Ranges) -> Iterator[Case]:
    """Yields one case for each operand that may be the extreme one."""
    for position, operand in enumerate(atom.operands):
        known: Ranges | None = ranges
        if len(atom.operands) == 2:
            ahead = operand - atom.operands[1 - position]
            known = _where_nonnegative(ahead if atom.kind is Kind.MAXIMUM else -ahead, ranges)
        yield from _case(polynomial, known, {atom: operand})


def _where_nonnegative(polynomial: Polynomial, ranges: Ranges) -> Ranges | None:
    """Returns the ranges of the case that it is not negative, as far as one symbol can express it; None if the case is
    impossible.
    """
    atoms = [monomial for monomial in polynomial.terms if monomial]
    if len(atoms) != 1 or len(atoms[0]) != 1 or atoms[0][0].kind is not Kind.SYMBOL:
        return ranges
    slope, offset = polynomial.terms[atoms[0]], polynomial.terms.get((), 0)
    if slope > 0:
        return ranges.within(atoms[0][0], -(offset // slope), None)
    return ranges.within(atoms[0][0], None, offset // -slope)


def _cases_of_residue(polynomial: Polynomial, name: str, size: int, ranges: Ranges) -> Iterator[Case]:
    """Yields ``name`` as ``size * t + r`` for each r, with a fresh symbol t."""
    fresh = name + "~"
    low, high = ranges.numeric.get(name, EVERYTHING)
    bottom, top = ranges.symbolic.get(name, (None, None))
    others = {other: ends for other, ends in ranges.symbolic.items()
              if other != name and not any(end is not None and name in end.names for end in ends)}
    for residue in range(size):
        known = Ranges(ranges.numeric).within(fresh, None if low is None else -((residue - low) // size),
                                              None if high is None else (high - residue) // size)
        if known is None:
            continue
        ends = (None if bottom is None else -floor_divide(-bottom + residue, constant(size), ranges),
                None if top is None else floor_divide(top - residue, constant(size), ranges))
        known = Ranges(known.numeric, others if ends == (None, None) else {**others, fresh: ends})
        yield from _case(polynomial, known, {name: symbol(fresh) * size + residue})


def _cases_by_sign(polynomial: Polynomial, names: Iterable[str], ranges: Ranges) -> Iterator[Case] | None:
    """Splits a symbol that may be 0 and something else, if there is one, into below 0, 0, and above 0."""
    for name in sorted(names):
        low, high = ranges.numeric.get(name, (0, 0))
        if (low is None or low <= 0) and (high is None or high >= 0) and (low, high) != (0, 0):
            return chain(_case(polynomial, ranges.within(name, None, -1), {}),
                         _case_of_value(polynomial, name, 0, ranges),
                         _case(polynomial, ranges.within(name, 1, None), {}))
    return None


def _cases_of_value(polynomial: Polynomial, ranges: Ranges) -> Iterator[Case] | None:
    """Returns one case for each value of the symbol with the fewest values."""
    sizes = [(high - low + 1, name) for name in polynomial.names
             for low, high in [ranges.numeric.get(name, EVERYTHING)] if low is not None and high is not None]
    size, name = min(sizes, default=(0, ""))
    if not 0 < size <= _MAX_VALUES:
        return None
    low = ranges.numeric[name][0] or 0
    return chain.from_iterable(_case_of_value(polynomial, name, low + offset, ranges) for offset in range(size))


def _case_of_value(polynomial: Polynomial, name: str, value: int, ranges: Ranges) -> Iterator[Case]:
    return _case(polynomial, ranges.within(name, value, value), {name: constant(value)})
