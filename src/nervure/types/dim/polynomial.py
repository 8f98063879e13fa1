"""Integer polynomials over atoms: the exact part of the algebra of dimensions.

A polynomial maps monomials to integer coefficients; a monomial is a sorted tuple of atoms, with repetition. An atom is
a symbol, or a quotient, remainder, minimum, maximum or unexpanded product of polynomials. *An atom is its canonical
text*: equality, hash and order of atoms are those of strings, so they are cheap, the same in every process, and never
recurse.

>>> n = symbol("N")
>>> str((n + 1) * (n - 1)), str(Atom(Kind.FLOOR_DIVIDE, (n + 1, constant(2))))
('N**2 - 1', '(N + 1)//2')

Polynomials that grow without limit are refused (``TooLarge``) or, for products, left unexpanded.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from math import gcd, prod

from nervure.errors import InvalidArgument
from nervure.types.frozen import Frozen, slot_writers

MAX_DEPTH = 32  # levels of atoms within atoms; keeps every recursive walk far from Python's limit
MAX_TEXT = 8_000  # characters of one atom; keeps shared subexpressions from printing exponentially
MAX_TERMS = 1_024  # terms of one sum
MAX_EXPANSION = 128  # terms that multiplying out may give
MAX_DEGREE = 64  # factors of one term
MAX_DIGITS = 40  # decimal digits of one coefficient
_MAX_COEFFICIENT = 10**MAX_DIGITS


class TooLarge(InvalidArgument):
    """The error for a dimension that has grown past any use."""


def _too_large(what: str, limit: int) -> TooLarge:
    return TooLarge(f"a dimension has more than {limit} {what}", op="dimension",
                    help="give the intermediate size a symbol of its own")


class Kind(enum.Enum):
    """The kinds of atoms."""

    SYMBOL = "symbol"
    FLOOR_DIVIDE = "//"
    REMAINDER = "%"
    MINIMUM = "min"
    MAXIMUM = "max"
    PRODUCT = "product"  # of sums whose expansion would pass MAX_EXPANSION

    @property
    def is_infix(self) -> bool:
        """Whether the operation is written between its operands."""
        return self in (Kind.FLOOR_DIVIDE, Kind.REMAINDER)


class Atom(str):
    """One indivisible factor of a monomial, which is its own canonical text."""

    __slots__ = ("kind", "operands", "depth", "names")
    kind: Kind
    operands: tuple[Polynomial, ...]
    depth: int
    names: frozenset[str]

    def __new__(cls, kind: Kind, operands: tuple[Polynomial, ...], name: str = "") -> Atom:
        depth = 1 + max((operand.depth for operand in operands), default=-1)
        if depth > MAX_DEPTH:
            raise _too_large("levels of operations within operations", MAX_DEPTH)
        for operand in operands:
            operand.check()
        text = name or atom_text(kind, operands)
        if len(text) > MAX_TEXT:
            raise _too_large("characters in one operation", MAX_TEXT)
        atom = super().__new__(cls, text)
        atom.kind = kind
        atom.operands = operands
        atom.depth = depth
        atom.names = frozenset((name,)) if name else frozenset().union(*(p.names for p in operands))
        return atom

    def __reduce__(self) -> tuple[object, ...]:
        return Atom, (self.kind, self.operands, str(self) if self.kind is Kind.SYMBOL else "")


Monomial = tuple[Atom, ...]


def order(monomial: Monomial) -> tuple[int, Monomial]:
    """Returns the key of the graded order of monomials, which multiplying both sides by one atom preserves."""
    return len(monomial), monomial


class Polynomial(Frozen):
    """An integer polynomial, immutable: ``terms`` maps each monomial to its coefficient, which is never 0.

    Equality is structural. ``+ - *`` take polynomials and ints.
    """

    __slots__ = ("terms", "_text", "_names", "_depth")
    _plural, _instead = "polynomials", "arithmetic makes others"
    terms: dict[Monomial, int]
    _text: str  # set when first asked for
    _names: frozenset[str]
    _depth: int

    def __init__(self, terms: dict[Monomial, int]) -> None:
        _put_terms(self, terms)

    @property
    def constant(self) -> int | None:
        """The value of a polynomial without atoms, else None."""
        terms = self.terms
        if not terms:
            return 0
        return terms.get(()) if len(terms) == 1 else None

    @property
    def atom(self) -> Atom | None:
        """The atom that this polynomial is, if it is one."""
        if len(self.terms) != 1:
            return None
        (monomial, coefficient), = self.terms.items()
        return monomial[0] if coefficient == len(monomial) == 1 else None

    @property
    def depth(self) -> int:
        """The levels of operations within operations: 0 for sums of products of symbols, -1 for a number."""
        try:
            return self._depth
        except AttributeError:
            _put_depth(self, max([atom.depth for monomial in self.terms for atom in monomial], default=-1))
            return self._depth

    @property
    def names(self) -> frozenset[str]:
        """The names of all symbols in it, at any depth."""
        try:
            return self._names
        except AttributeError:
            _put_names(self, frozenset().union(*[atom.names for monomial in self.terms for atom in monomial]))
            return self._names

    def check(self) -> None:
        """Raises TooLarge if this exceeds the limits of a dimension."""
        if len(self.terms) > MAX_TERMS:
            raise _too_large("terms", MAX_TERMS)
        for monomial, coefficient in self.terms.items():
            if not -_MAX_COEFFICIENT < coefficient < _MAX_COEFFICIENT:
                raise _too_large("digits in one coefficient", MAX_DIGITS)
            if len(monomial) > MAX_DEGREE:
                raise _too_large("factors in one term", MAX_DEGREE)

    def is_small(self) -> bool:
        """Whether this stays well within the limits of a dimension, so that it can grow further."""
        return all(len(monomial) <= MAX_DEGREE // 2 and abs(coefficient) < 10 ** (MAX_DIGITS // 2)
                   for monomial, coefficient in self.terms.items())

    def __add__(self, other: Polynomial | int) -> Polynomial:
        added: dict[Monomial, int] = other.terms if isinstance(other, Polynomial) else {(): other} if other else {}
        if not added:
            return self
        terms = dict(self.terms)
        _add(terms, added)
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        if isinstance(other, int):
            return self._times(other)
        if len(other.terms) == 1 and () in other.terms:
            return self._times(other.terms[()])
        if len(self.terms) == 1 and () in self.terms:
            return other._times(self.terms[()])
        if len(self.terms) > 1 and len(other.terms) > 1:
            if len(self.terms) * len(other.terms) > MAX_EXPANSION:
                return _unexpanded([self, other])
        elif len(self.terms) > 1 or len(other.terms) > 1:
            longer = _lengthened(other, self) if len(self.terms) > 1 else _lengthened(self, other)
            if longer is not None:
                return longer
        terms: dict[Monomial, int] = {}
        for left, left_coefficient in self.terms.items():
            for right, right_coefficient in other.terms.items():
                monomial = tuple(sorted(left + right)) if left and right else left or right
                if len(monomial) > MAX_DEGREE:
                    raise _too_large("factors in one term", MAX_DEGREE)
                terms[monomial] = terms.get(monomial, 0) + left_coefficient * right_coefficient
        return Polynomial({monomial: coefficient for monomial, coefficient in terms.items() if coefficient})

    def _times(self, size: int) -> Polynomial:
        if size == 1:
            return self
        return Polynomial({m: c * size for m, c in self.terms.items()} if size else {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            _put_text(self, sum_text(self.terms))
            return self._text

    def __repr__(self) -> str:
        return f"Polynomial({self})"

    def __reduce__(self) -> tuple[object, ...]:
        return Polynomial, (self.terms,)

    def content(self) -> int:
        """Returns the greatest common divisor of the coefficients, with the sign of the leading one (0 for 0)."""
        if not self.terms:
            return 0
        return gcd(*self.terms.values()) * (-1 if self.terms[max(self.terms, key=order)] < 0 else 1)

    def exact(self, divisor: int) -> Polynomial:
        """Divides by a divisor of all coefficients."""
        return Polynomial({m: c // divisor for m, c in self.terms.items()}) if divisor != 1 else self

    def divide(self, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Returns (quotient, remainder) with self == quotient * divisor + remainder, by long division.

        It is an identity of polynomials, whatever the values; no term of the remainder is divisible by the leading
        term of the divisor. A division that takes too long returns quotient 0.
        """
        if not divisor.terms:
            return ZERO, self
        size = divisor.constant
        if size is not None and len(self.terms) < MAX_EXPANSION:
            return (Polynomial({m: c // size for m, c in self.terms.items() if c // size}),
                    Polynomial({m: c % size for m, c in self.terms.items() if c % size}))
        lead = max(divisor.terms, key=order)
        lead_coefficient = divisor.terms[lead]
        tail = divisor - Polynomial({lead: lead_coefficient})
        work, quotient, remainder = self, ZERO, ZERO
        for _ in range(MAX_EXPANSION):
            if not work.terms:
                return quotient, remainder
            monomial = max(work.terms, key=order)
            coefficient = work.terms[monomial]
            work = work - Polynomial({monomial: coefficient})
            factor = cancel(monomial, lead)
            times, rest = divmod(coefficient, lead_coefficient) if factor is not None else (0, coefficient)
            if rest:
                remainder = remainder + Polynomial({monomial: rest})
            if times and factor is not None:
                step = Polynomial({factor: times})
                quotient = quotient + step
                work = work - step * tail
        return ZERO, self

    def split(self, atom: Atom) -> tuple[Polynomial, Polynomial] | None:
        """Returns (cofactor, rest) with self == cofactor * atom + rest and atom in neither as a factor, else None."""
        cofactor: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            if atom not in monomial:
                rest[monomial] = coefficient
                continue
            position = monomial.index(atom)
            left = monomial[:position] + monomial[position + 1:]
            if atom in left:
                return None
            cofactor[left] = coefficient
        return Polynomial(cofactor), Polynomial(rest)


_put_terms, _put_text, _put_names, _put_depth = slot_writers(Polynomial)


def cancel(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """Returns the monomial without the factors of the divisor, None if it lacks one of them."""
    if not divisor:
        return monomial
    counts = Counter(monomial)
    counts.subtract(divisor)
    if min(counts.values()) < 0:
        return None
    return tuple(sorted(counts.elements()))


def constant(value: int) -> Polynomial:
    """An integer as a polynomial."""
    return Polynomial({(): value} if value else {})


@lru_cache(maxsize=1 << 10)
def symbol(name: str) -> Polynomial:
    """A symbol as a polynomial."""
    return of_atom(Atom(Kind.SYMBOL, (), name))


def of_atom(atom: Atom) -> Polynomial:
    """An atom as a polynomial."""
    return Polynomial({(atom,): 1})


def sum_of(summands: Iterable[Polynomial]) -> Polynomial:
    """The sum."""
    terms: dict[Monomial, int] = {}
    for summand in summands:
        _add(terms, summand.terms)
    return Polynomial(terms)


def _add(terms: dict[Monomial, int], added: dict[Monomial, int]) -> None:
    for monomial, coefficient in added.items():
        total = terms.get(monomial, 0) + coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]


def product_of(factors: Sequence[Polynomial]) -> Polynomial:
    """Returns the product, multiplied out if that gives at most MAX_EXPANSION terms, else one atom for all sums."""
    sums = [factor for factor in factors if len(factor.terms) > 1]
    scale = constant(1)
    for factor in factors:
        if len(factor.terms) <= 1:
            scale = scale * factor
    if prod(len(factor.terms) for factor in sums) > MAX_EXPANSION:
        return scale * _unexpanded(sums)
    for factor in sums:
        scale = scale * factor
    return scale


def _unexpanded(factors: Sequence[Polynomial]) -> Polynomial:
    """Returns the product of sums as one atom, up to the common divisors of their coefficients."""
    primitive = sorted((factor.exact(factor.content()) for factor in factors), key=str)
    return of_atom(Atom(Kind.PRODUCT, tuple(primitive))) * prod(factor.content() for factor in factors)


def _lengthened(term: Polynomial, factor: Polynomial) -> Polynomial | None:
    """Multiplies a single term by a sum if the term has an unexpanded product that can take in the sum."""
    for monomial, coefficient in term.terms.items():
        for position, atom in enumerate(monomial):
            if atom.kind is Kind.PRODUCT:
                others = Polynomial({monomial[:position] + monomial[position + 1:]: coefficient})
                return others * _unexpanded([*atom.operands, factor])
    return None


ZERO = constant(0)


# -- text: deterministic, valid Python, few parentheses -------------------------------------------------------------


def _is_simple(atom: Atom) -> bool:
    """Whether the atom's text can be an operand of any operator without parentheses."""
    return not atom.kind.is_infix


def _grouped(operand: Polynomial) -> str:
    """The operand's text, in parentheses unless it is a number, a symbol or a call."""
    value = operand.constant
    if value is not None and value >= 0:
        return str(value)
    atom = operand.atom
    return str(atom) if atom is not None and _is_simple(atom) else f"({operand})"


def atom_text(kind: Kind, operands: tuple[Polynomial, ...]) -> str:
    """The text of an operation on polynomials: ``(N + 1)//2``, ``N % 8``, ``min(N, 4)``."""
    if kind.is_infix:
        left, right = operands
        sign = "//" if kind.value == "//" else f" {kind.value} "  # % without spaces would read as an index
        return f"{_grouped(left)}{sign}{_grouped(right)}"
    return f"{kind.value}({', '.join(map(str, operands))})"


def _term_text(monomial: Monomial, size: int, alone: bool) -> str:
    """Returns the text of one term without its sign; ``alone`` says that neither a sign nor a factor precedes it."""
    if not monomial:
        return str(size)
    bare = alone and size == 1 and len(monomial) == 1
    factors = [str(size)] if size != 1 else []
    for atom, repeats in groupby(sorted(monomial, key=lambda atom: (not _is_simple(atom), atom))):
        text = str(atom) if bare or _is_simple(atom) else f"({atom})"
        count = len(list(repeats))
        factors.append(text if count == 1 else f"{text}**{count}")
    return "*".join(factors)


def in_order(terms: dict[Monomial, int]) -> list[tuple[Monomial, int]]:
    """Returns terms of high degree first, then by name; a term with a positive sign comes first, if there is one."""
    ordered = sorted(terms.items(), key=lambda term: (-len(term[0]), term[0]))
    first = next((i for i, (_, coefficient) in enumerate(ordered) if coefficient > 0), 0)
    return [ordered[first], *ordered[:first], *ordered[first + 1:]] if ordered else []


def sum_text(terms: dict[Monomial, int]) -> str:
    """The text of a sum, its terms in order."""
    if not terms:
        return "0"
    (monomial, coefficient), *others = in_order(terms)
    parts = [_term_text(monomial, coefficient, True) if coefficient > 0
             else f"-{_term_text(monomial, -coefficient, False)}"]
    for monomial, coefficient in others:
        parts.append(f"{'+' if coefficient > 0 else '-'} {_term_text(monomial, abs(coefficient), True)}")
    return " ".join(parts)
