"""Bounds of polynomials: interval analysis, sharpened by eliminating one atom after another.

``interval`` treats the atoms of a polynomial as independent. ``lower_bound`` also uses how they depend on each other:
it replaces an atom by a polynomial below (or above) it, such as ``N//2`` by ``N/2``, and keeps the best interval met
on the way. Both are sound: every value lies in the interval.

>>> from nervure.types.dim.polynomial import Atom, Kind, constant, of_atom, symbol
>>> n, half = symbol("N"), of_atom(Atom(Kind.FLOOR_DIVIDE, (symbol("N"), constant(2))))
>>> ranges = Ranges({"N": (0, None)})
>>> interval(n - half * 2, ranges), lower_bound(n - half * 2, ranges)
((None, None), 0)
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from itertools import groupby
from math import prod

from nervure.types.dim import interval as of_intervals
from nervure.types.dim.interval import EVERYTHING, Interval, intersect, is_empty, multiply, negate, scale, widen
from nervure.types.dim.polynomial import ZERO, Atom, Kind, Monomial, Polynomial, constant, of_atom

SymbolicInterval = tuple[Polynomial | None, Polynomial | None]

_EFFORT = 400  # terms and factors that one lower_bound may visit
_MAX_SHIFT_DEGREE = 4  # of polynomials that are rewritten around their lower corner
_MAX_SHIFT_TERMS = 32


class Ranges:
    """The known ranges of symbols: numbers for all, and polynomials over other symbols for some."""

    __slots__ = ("numeric", "symbolic", "_known")

    def __init__(self, numeric: Mapping[str, Interval],
                 symbolic: Mapping[str, SymbolicInterval] | None = None) -> None:
        self.numeric = numeric
        self.symbolic = symbolic or {}
        self._known: dict[Atom, Interval] = {}

    def of(self, atom: Atom) -> Interval:
        """Returns the interval of an atom, computed once."""
        if atom.kind is Kind.SYMBOL:
            return self.numeric.get(atom, EVERYTHING)
        known = self._known.get(atom)
        if known is None:
            known = self._known[atom] = widen(_atom_interval(atom, self))
        return known

    def within(self, name: str, low: int | None, high: int | None) -> Ranges | None:
        """Returns these ranges with the symbol ``name`` bounded further; None if no value is left."""
        bounded = intersect(self.numeric.get(name, EVERYTHING), (low, high))
        if is_empty(bounded):
            return None
        return Ranges({**self.numeric, name: bounded}, self.symbolic)


def _monomial_interval(monomial: Monomial, ranges: Ranges) -> Interval:
    if len(monomial) == 1:
        return ranges.of(monomial[0])
    factors = [ranges.of(atom) for atom in monomial]
    if all(low is not None and low >= 0 for low, _ in factors):
        if any(high is None for _, high in factors) and all(high != 0 for _, high in factors):
            return prod(low or 0 for low, _ in factors), None
        return prod(low or 0 for low, _ in factors), prod(high or 0 for _, high in factors)
    result: Interval = (1, 1)
    for atom, repeats in groupby(monomial):
        result = multiply(result, of_intervals.power(ranges.of(atom), len(list(repeats))))
    return result


def interval(polynomial: Polynomial, ranges: Ranges) -> Interval:
    """Returns an interval of the values of a polynomial, with its atoms taken as independent."""
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in polynomial.terms.items():
        if not monomial:
            below: int | None = coefficient
            above: int | None = coefficient
        else:
            below, above = scale(_monomial_interval(monomial, ranges), coefficient)
        low = None if low is None or below is None else low + below
        high = None if high is None or above is None else high + above
    if not _is_shiftable(polynomial, ranges):
        return low, high
    shifted = (_shifted_low(polynomial, ranges), negate((_shifted_low(-polynomial, ranges), None))[1])
    return intersect((low, high), shifted)


def _is_shiftable(polynomial: Polynomial, ranges: Ranges) -> bool:
    """Whether rewriting around the lower corner may help: a product has a factor whose range does not start at 0."""
    terms = polynomial.terms
    if not 1 < len(terms) <= _MAX_SHIFT_TERMS or not 1 < max(map(len, terms)) <= _MAX_SHIFT_DEGREE:
        return False
    return any(ranges.of(atom)[0] != 0 for monomial in terms if len(monomial) > 1 for atom in monomial)


def _shifted_low(polynomial: Polynomial, ranges: Ranges) -> int | None:
    """Returns a lower bound, found by writing each atom as its own lower bound plus a term that is not negative.

    ``N*M - N`` with M >= 1 becomes ``N*m`` with m = M - 1: now no term is negative. An atom with an upper bound alone
    is that bound less a term that is not negative.
    """
    shifted = ZERO
    for monomial, coefficient in polynomial.terms.items():
        term = constant(coefficient)
        for atom in monomial:
            bottom, top = ranges.of(atom)
            if bottom is not None:
                term = term * (of_atom(atom) + bottom)
            elif top is not None:
                term = term * (constant(top) - of_atom(atom))
            else:
                return None
        shifted = shifted + term
    low = 0
    for monomial, coefficient in shifted.terms.items():
        if coefficient > 0 and monomial:
            continue
        size = 1
        for atom in monomial:
            bottom, top = ranges.of(atom)
            if top is None or bottom is None:
                return None
            size *= top - bottom
        low += coefficient * size
    return low


def _atom_interval(atom: Atom, ranges: Ranges) -> Interval:
    operands = [interval(operand, ranges) for operand in atom.operands]
    if atom.kind is Kind.FLOOR_DIVIDE:
        return of_intervals.floor_divide(operands[0], operands[1])
    if atom.kind is Kind.REMAINDER:
        return of_intervals.remainder(operands[0], operands[1])
    if atom.kind is Kind.PRODUCT:
        return functools.reduce(multiply, operands)
    return of_intervals.minimum(operands) if atom.kind is Kind.MINIMUM else of_intervals.maximum(operands)


def lower_bound(polynomial: Polynomial, ranges: Ranges, enough: int | None = None) -> int | None:
    """Returns a lower bound of the polynomial's values, or None; stops early at ``enough``."""
    best, high = interval(polynomial, ranges)
    if is_over_symbols(polynomial, ranges):
        return best  # there is nothing to eliminate
    stack = [(polynomial, 1)]  # (numerator, denominator) pairs, each nowhere above the polynomial
    effort = _EFFORT
    while stack and effort > 0 and not (enough is not None and best is not None and best >= enough):
        numerator, denominator = stack.pop()
        effort -= 1 + sum([len(monomial) + 1 for monomial in numerator.terms])
        if numerator is not polynomial:
            low, high = interval(numerator, ranges)
            if low is not None:
                rounded_up = -(-low // denominator)
                best = rounded_up if best is None else max(best, rounded_up)
        least = best if enough is None else enough - 1
        if high is None or least is None or -(-high // denominator) > least:  # else all below it is no better
            stack.extend(_eliminations(numerator, denominator, ranges))
    return best


def is_over_symbols(polynomial: Polynomial, ranges: Ranges) -> bool:
    """Whether its atoms are symbols, none of which has a range that depends on others."""
    return polynomial.depth < 1 and not ranges.symbolic


def upper_bound(polynomial: Polynomial, ranges: Ranges, enough: int | None = None) -> int | None:
    """Returns an upper bound of the polynomial's values, or None; stops early at ``enough``."""
    bound = lower_bound(-polynomial, ranges, None if enough is None else -enough)
    return None if bound is None else -bound


def is_nonnegative(polynomial: Polynomial, ranges: Ranges) -> bool:
    """Whether the polynomial is known to be at least 0 everywhere."""
    bound = lower_bound(polynomial, ranges, enough=0)
    return bound is not None and bound >= 0


def is_nonzero(polynomial: Polynomial, ranges: Ranges) -> bool:
    """Whether the polynomial is known to be 0 nowhere."""
    low, high = interval(polynomial, ranges)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return True
    return is_nonnegative(polynomial - 1, ranges)


def _eliminations(numerator: Polynomial, denominator: int, ranges: Ranges) -> list[tuple[Polynomial, int]]:
    """Lists fractions below this one without its deepest atom of known effect."""
    atoms = {atom for monomial in numerator.terms for atom in monomial
             if atom.kind is not Kind.SYMBOL or atom in ranges.symbolic}
    for atom in sorted(atoms, key=lambda atom: (-atom.depth, atom)):
        parts = numerator.split(atom)
        if parts is None:
            continue
        cofactor, rest = parts
        low, high = interval(cofactor, ranges)
        if low is not None and low >= 0:
            rising = True
        elif high is not None and high <= 0:
            rising = False
        else:
            continue
        found = [((cofactor * bound) + rest, denominator) for bound in _bounding(atom, rising, ranges)]
        if atom.kind is Kind.FLOOR_DIVIDE:
            found += _undivided(atom, cofactor, rest, denominator, rising, ranges)
        if found:
            return found
    return []


def _bounding(atom: Atom, below: bool, ranges: Ranges) -> Iterator[Polynomial]:
    """Yields polynomials nowhere above the atom (``below``), or nowhere below it."""
    number = ranges.of(atom)[0 if below else 1]
    if number is not None:
        yield constant(number)
    if atom.kind is Kind.SYMBOL:
        bound = ranges.symbolic[atom][0 if below else 1]
        if bound is not None:
            yield bound
    elif (atom.kind is Kind.MAXIMUM) is below and atom.kind in (Kind.MINIMUM, Kind.MAXIMUM):
        yield from atom.operands
    elif not below and atom.kind in (Kind.FLOOR_DIVIDE, Kind.REMAINDER):
        dividend, divisor = atom.operands
        least = interval(divisor, ranges)[0]
        dividend_low = interval(dividend, ranges)[0]
        if dividend_low is not None and dividend_low >= 0 and least is not None and least >= 0:
            yield dividend
        if atom.kind is Kind.REMAINDER and least is not None and least >= 1:
            yield divisor - 1


def _undivided(atom: Atom, cofactor: Polynomial, rest: Polynomial, denominator: int, rising: bool,
               ranges: Ranges) -> Iterator[tuple[Polynomial, int]]:
    """Replaces a quotient p//q by p - q + 1 <= q * (p//q) <= p, for q >= 1."""
    dividend, divisor = atom.operands
    edge = dividend - divisor + 1 if rising else dividend
    size = divisor.constant
    if size is not None:
        if size >= 1:
            yield cofactor * edge + rest * size, denominator * size
        return
    least = interval(divisor, ranges)[0]
    if least is None or least < 1:
        return
    quotient, remainder = cofactor.divide(divisor)
    if not remainder.terms:
        yield quotient * edge + rest, denominator
