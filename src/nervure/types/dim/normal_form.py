"""Division, remainder, minimum and maximum of polynomials, brought into normal form.

Every rule is an identity of integers under floor division, where dividing by 0 gives 0. A rule is used only if the
ranges of the symbols prove its premises.

>>> from nervure.types.dim.polynomial import constant, symbol
>>> n, ranges = symbol("N"), Ranges({"N": (0, None)})
>>> str(floor_divide(n * 4 + 3, constant(4), ranges)), str(construct(Kind.MAXIMUM, [n, constant(0)], ranges))
('N', 'N')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from nervure.types.dim.bounds import Ranges, interval, is_nonnegative, is_nonzero
from nervure.types.dim.interval import Interval
from nervure.types.dim.polynomial import (
    ZERO,
    Atom,
    Kind,
    Monomial,
    Polynomial,
    cancel,
    constant,
    of_atom,
    product_of,
    sum_of,
)

_MAX_COMPARED = 12  # operands of min and max that are compared pair by pair
_MAX_FLATTENED = 64

Terms = tuple[tuple[Monomial, int], ...]
Construct = Callable[[Kind, Sequence[Polynomial], Ranges], Polynomial]


def construct(kind: Kind, operands: Sequence[Polynomial], ranges: Ranges) -> Polynomial:
    """Returns the polynomial for an operation ``kind`` on polynomials.

    Results are cached, since kernels ask for the same ones again and again. They depend only on the operands and on
    the ranges of the symbols in these, unless ranges are related to each other. The key includes the order of terms, so
    that a result does not depend on earlier queries.
    """
    if ranges.symbolic:
        return _construct(kind, operands, ranges)
    names = frozenset().union(*[operand.names for operand in operands])
    known = tuple([entry for entry in ranges.numeric.items() if entry[0] in names])
    return _construct_once(kind, tuple([tuple(operand.terms.items()) for operand in operands]), known)


@lru_cache(maxsize=1 << 14)
def _construct_once(kind: Kind, operands: tuple[Terms, ...], ranges: tuple[tuple[str, Interval], ...]) -> Polynomial:
    return _construct(kind, [Polynomial(dict(terms)) for terms in operands], Ranges(dict(ranges)))


def _construct(kind: Kind, operands: Sequence[Polynomial], ranges: Ranges) -> Polynomial:
    if kind is Kind.FLOOR_DIVIDE:
        return _floor_divide(operands[0], operands[1], ranges)
    if kind is Kind.REMAINDER:
        return _remainder(operands[0], operands[1], ranges)
    if kind is Kind.PRODUCT:
        return product_of(operands)
    return _extreme(kind, operands, ranges)


def floor_divide(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial:
    """Returns ``dividend // divisor``, 0 for a divisor of 0."""
    return construct(Kind.FLOOR_DIVIDE, (dividend, divisor), ranges)


def remainder(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial:
    """Returns ``dividend % divisor`` with the sign of the divisor, 0 for a divisor of 0."""
    return construct(Kind.REMAINDER, (dividend, divisor), ranges)


def _floor_divide(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial:
    size = divisor.constant
    if size is not None:
        return _divide_by_constant(dividend, size, ranges)
    dividend, divisor, _ = _reduced(dividend, divisor)
    if not dividend.terms:
        return ZERO
    if is_nonzero(divisor, ranges):
        quotient, rest = dividend.divide(divisor)
        if quotient.terms and len(rest.terms) < len(dividend.terms):
            return quotient + floor_divide(rest, divisor, ranges)
    common = tuple(atom for atom in _common_factors(dividend, divisor) if is_nonzero(of_atom(atom), ranges))
    if common:
        return floor_divide(_without(dividend, common), _without(divisor, common), ranges)
    if divisor.content() < 0:
        dividend, divisor = -dividend, -divisor
    small = _small_quotient(dividend, divisor, ranges)
    if small is not None:
        return constant(small)
    split = _without_low_digits(dividend, divisor, ranges)
    if split is not None:
        return floor_divide(split.high, split.times, ranges)
    return _joined_quotient(dividend, divisor, ranges)


def _divide_by_constant(dividend: Polynomial, size: int, ranges: Ranges) -> Polynomial:
    if size == 0:
        return ZERO
    if size < 0:
        dividend, size = -dividend, -size
    whole = Polynomial({m: c // size for m, c in dividend.terms.items() if c // size})
    part = Polynomial({m: c % size for m, c in dividend.terms.items() if c % size})
    low, high = interval(part, ranges)
    if low is not None and high is not None and low // size == high // size:
        return whole + low // size
    common = gcd(size, *(c for m, c in part.terms.items() if m))
    if common > 1:  # (g*p + c) // (g*k) == (p + c//g) // k
        part = Polynomial({m: c // common for m, c in part.terms.items() if c // common})
        return whole + _divide_by_constant(part, size // common, ranges)
    split = _without_low_digits(part, constant(size), ranges)
    if split is not None:
        return whole + floor_divide(split.high, split.times, ranges)
    return whole + _joined_quotient(part, constant(size), ranges)


class _Digits(NamedTuple):
    """``high * unit + low`` by ``times * unit``, where ``0 <= low < unit``: the quotient is ``high // times``."""

    high: Polynomial
    low: Polynomial
    unit: Polynomial
    times: Polynomial


def _without_low_digits(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> _Digits | None:
    """Reduces a division to one of fewer digits: ``(4*i + j) // 12`` is ``i // 3`` if 0 <= j < 4.

    So is ``(4*i + 3 - j) // 12``, and likewise ``(n*i + j) // (3*n)`` if 0 <= j < n.
    """
    size = divisor.content()
    if size < 0:
        return None
    units = [divisor.exact(size)]
    if len(divisor.terms) == 1:
        units += [constant(size), *[of_atom(atom) for monomial in divisor.terms for atom in monomial]]
    if divisor.constant is not None:
        sizes = {size, *[gcd(size, c) for m, c in dividend.terms.items() if m]}
        units = [constant(unit) for unit in sorted(sizes, reverse=True)]
    for unit in units:
        times = divisor.divide(unit)[0]
        if unit.constant == 1 or not is_nonnegative(times - 1, ranges):
            continue
        for high in _high_parts(dividend, unit):
            low = dividend - high * unit
            if high.terms and _small_quotient(low, unit, ranges) == 0:
                return _Digits(high, low, unit, times)
    return None


def _high_parts(dividend: Polynomial, unit: Polynomial) -> Iterator[Polynomial]:
    """Yields what may be the quotient by a unit: that of the terms that it divides, and one with the nearest numbers.

    Of ``23*i + 11`` by 12 the second one is ``2*i``, which leaves ``11 - i``.
    """
    size = unit.constant
    if size is None:
        yield dividend.divide(unit)[0]
        return
    whole = {m: c // size for m, c in dividend.terms.items() if (c // size if not m else c % size == 0)}
    yield Polynomial(whole)
    nearest = {m: (c // size if not m else (2 * c + size) // (2 * size)) for m, c in dividend.terms.items()}
    nearest = {m: c for m, c in nearest.items() if c}
    if nearest != whole:
        yield Polynomial(nearest)


def _joined_quotient(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial:
    """Returns the quotient as an atom; divisions are joined: ``(p//q + r) // k == (p + q*r) // (q*k)``.

    That holds for q >= 1 and k >= 0, and also for q == 0 if r is 0. Sums as divisors stay nested: their products would
    grow.
    """
    whole = _quotient_of_remainder(dividend, divisor, ranges)
    if whole is not None:
        return whole
    inner = [monomial[0] for monomial, coefficient in dividend.terms.items()
             if coefficient == len(monomial) == 1 and monomial[0].kind is Kind.FLOOR_DIVIDE]
    if inner and is_nonnegative(divisor, ranges):
        for atom in sorted(inner):
            numerator, denominator = atom.operands
            rest = dividend - of_atom(atom)
            joined = denominator * divisor
            if len(joined.terms) == 1 and joined.is_small() and is_nonnegative(
                    denominator - (1 if rest.terms else 0), ranges):
                return floor_divide(numerator + denominator * rest, joined, ranges)
    return of_atom(Atom(Kind.FLOOR_DIVIDE, (dividend, divisor)))


def _quotient_of_remainder(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial | None:
    """Returns ``(p % (k*m)) // k`` as ``(p // k) % m``, which holds for k, m >= 0; None for other quotients."""
    atom = dividend.atom
    if atom is None or atom.kind is not Kind.REMAINDER:
        return None
    inner, modulus = atom.operands
    times, rest = modulus.divide(divisor)
    if rest.terms or not is_nonnegative(divisor, ranges) or not is_nonnegative(times, ranges):
        return None
    return remainder(floor_divide(inner, divisor, ranges), times, ranges)


def _remainder(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial:
    size = divisor.constant
    if size is not None:
        return _remainder_by_constant(dividend, size, ranges)
    dividend = _without_remainders(dividend, divisor, ranges)
    quotient, rest = dividend.divide(divisor)
    if quotient.terms and len(rest.terms) < len(dividend.terms):
        return remainder(rest, divisor, ranges)
    dividend, divisor, scale = _reduced(dividend, divisor)
    if not dividend.terms:
        return ZERO
    common = _common_factors(dividend, divisor)
    if common:  # (m*p) % (m*q) == m * (p % q), also where m is 0 or negative
        factor = Polynomial({common: scale})
        return factor * remainder(_without(dividend, common), _without(divisor, common), ranges)
    small = _small_quotient(dividend, divisor, ranges)
    if small is not None:
        return (dividend - divisor * small) * scale
    split = _without_low_digits(dividend, divisor, ranges)
    if split is not None:
        return (remainder(split.high, split.times, ranges) * split.unit + split.low) * scale
    return of_atom(Atom(Kind.REMAINDER, (dividend, divisor))) * scale


def _remainder_by_constant(dividend: Polynomial, size: int, ranges: Ranges) -> Polynomial:
    if size == 0:
        return ZERO
    if size < 0:
        return -_remainder_by_constant(-dividend, -size, ranges)
    part = Polynomial({m: c % size for m, c in dividend.terms.items() if c % size})
    whole = _without_remainders(part, constant(size), ranges)
    if whole != part:
        return _remainder_by_constant(whole, size, ranges)
    low, high = interval(part, ranges)
    if low is not None and high is not None and low // size == high // size:
        return part - low // size * size
    common = gcd(size, *(c for m, c in part.terms.items() if m))
    if common > 1:  # (g*p + c) % (g*k) == g*((p + c//g) % k) + c % g
        offset = part.terms.get((), 0) % common
        part = Polynomial({m: c // common for m, c in part.terms.items() if c // common})
        return _remainder_by_constant(part, size // common, ranges) * common + offset
    split = _without_low_digits(part, constant(size), ranges)
    if split is not None:
        return remainder(split.high, split.times, ranges) * split.unit + split.low
    return of_atom(Atom(Kind.REMAINDER, (part, constant(size))))


def _without_remainders(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> Polynomial:
    """Replaces ``c * (p % q)`` in the dividend by ``c * p`` if the divisor divides c*q: the remainder is the same.

    As ``p % 0`` is 0, that requires a q that is never 0, or is 0 only if the divisor is.
    """
    for monomial, coefficient in dividend.terms.items():
        for position, atom in enumerate(monomial):
            if atom.kind is not Kind.REMAINDER:
                continue
            inner, modulus = atom.operands
            if (modulus * coefficient).divide(divisor)[1].terms:
                continue
            if modulus != divisor and not is_nonzero(modulus, ranges):
                continue
            others = Polynomial({monomial[:position] + monomial[position + 1:]: coefficient})
            rest = dividend - Polynomial({monomial: coefficient})
            return _without_remainders(rest + others * inner, divisor, ranges)
    return dividend


def _reduced(dividend: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial, int]:
    """Returns both without their greatest common integer factor, and that factor."""
    common = gcd(dividend.content(), divisor.content()) or 1
    return dividend.exact(common), divisor.exact(common), common


def _common_factors(left: Polynomial, right: Polynomial) -> tuple[Atom, ...]:
    """Returns the atoms, with repetition, that are factors of every term of both."""
    monomials = [*left.terms, *right.terms]
    common = Counter(monomials[0])
    for monomial in monomials[1:]:
        if not common:
            break
        common &= Counter(monomial)
    return tuple(sorted(common.elements()))


def _without(polynomial: Polynomial, factors: tuple[Atom, ...]) -> Polynomial:
    terms = {}
    for monomial, coefficient in polynomial.terms.items():
        left = cancel(monomial, factors)
        assert left is not None
        terms[left] = coefficient
    return Polynomial(terms)


def _small_quotient(dividend: Polynomial, divisor: Polynomial, ranges: Ranges) -> int | None:
    """Returns 0 if 0 <= dividend < divisor is known, -1 if -divisor <= dividend < 0 is; either implies divisor > 0."""
    if is_nonnegative(dividend, ranges):
        return 0 if is_nonnegative(divisor - dividend - 1, ranges) else None
    if is_nonnegative(-dividend - 1, ranges):
        return -1 if is_nonnegative(dividend + divisor, ranges) else None
    return None


def _extreme(kind: Kind, operands: Sequence[Polynomial], ranges: Ranges) -> Polynomial:
    """Returns the minimum or maximum of polynomials: flat, without repetition, without operands that never decide."""
    candidates = list(dict.fromkeys(_flattened(kind, operands)))
    best = min if kind is Kind.MINIMUM else max
    values = [value for value in (operand.constant for operand in candidates) if value is not None]
    if values:
        candidates = [operand for operand in candidates if operand.constant is None]
        candidates.append(constant(best(values)))
    if 1 < len(candidates) <= _MAX_COMPARED:
        candidates = _undominated(kind, candidates, ranges)
    if len(candidates) == 1:
        return candidates[0]
    candidates.sort(key=lambda operand: (operand.constant is not None, str(operand)))
    return of_atom(Atom(kind, tuple(candidates)))


def _flattened(kind: Kind, operands: Sequence[Polynomial]) -> list[Polynomial]:
    """Returns ``max(max(a, b) + r, c)`` as a + r, b + r, c; a negated ``min`` within a ``max`` likewise."""
    opposite = Kind.MAXIMUM if kind is Kind.MINIMUM else Kind.MINIMUM
    pending = list(reversed(operands))
    flat: list[Polynomial] = []
    while pending:
        operand = pending.pop()
        inner = next(((m[0], c) for m, c in operand.terms.items() if len(m) == 1
                      and ((c == 1 and m[0].kind is kind) or (c == -1 and m[0].kind is opposite))), None)
        if inner is None or len(pending) + len(flat) + len(inner[0].operands) > _MAX_FLATTENED:
            flat.append(operand)
            continue
        atom, sign = inner
        rest = operand - of_atom(atom) * sign
        pending.extend(rest + choice * sign for choice in reversed(atom.operands))
    return flat


def _undominated(kind: Kind, candidates: list[Polynomial], ranges: Ranges) -> list[Polynomial]:
    sign = 1 if kind is Kind.MAXIMUM else -1
    kept: list[Polynomial] = []
    for candidate in candidates:
        if any(is_nonnegative((other - candidate) * sign, ranges) for other in kept):
            continue
        kept = [other for other in kept if not is_nonnegative((candidate - other) * sign, ranges)]
        kept.append(candidate)
    return kept


def recombined(polynomial: Polynomial, ranges: Ranges) -> Polynomial:
    """Replaces ``q*(p//q) + p % q`` by ``p`` and ``q*((p//q) % m) + p % q`` by ``p % (q*m)``, for q, m >= 1."""
    for monomial, coefficient in polynomial.terms.items():
        for position, atom in enumerate(monomial):
            if atom.kind is not Kind.REMAINDER or not is_nonnegative(atom.operands[1] - 1, ranges):
                continue
            scale = Polynomial({monomial[:position] + monomial[position + 1:]: coefficient})
            rest = polynomial - scale * of_atom(atom)
            joined = _joined_remainder(atom, scale, rest, ranges)
            if joined is not None:
                return recombined(joined, ranges)
    return polynomial


def _joined_remainder(atom: Atom, scale: Polynomial, rest: Polynomial, ranges: Ranges) -> Polynomial | None:
    """Returns ``scale * atom + rest`` joined if the rest has the quotient that belongs to the remainder, else None."""
    inner, divisor = atom.operands
    quotient = floor_divide(inner, divisor, ranges).atom
    if quotient is None:
        return None
    cofactor = scale * divisor
    for monomial in rest.terms:
        for other in monomial:
            is_remainder = other.kind is Kind.REMAINDER and other.operands[0].atom == quotient
            if other != quotient and not (is_remainder and is_nonnegative(other.operands[1] - 1, ranges)):
                continue
            left = rest - cofactor * of_atom(other)
            if len(left.terms) != len(rest.terms) - len(cofactor.terms):
                continue
            return left + scale * (remainder(inner, divisor * other.operands[1], ranges) if is_remainder else inner)
    return None


def rebuild(polynomial: Polynomial, ranges: Ranges, bindings: Mapping[str, Polynomial],
            construct: Construct = construct, only: frozenset[str] | None = None,
            done: dict[Atom, Polynomial] | None = None) -> Polynomial:
    """Rebuilds the polynomial from its atoms under other ranges, with the atoms in ``bindings`` replaced.

    ``only`` leaves atoms without any of these symbols as they are.
    """
    names = polynomial.names
    if (polynomial.depth < 1 and names.isdisjoint(bindings)) or (only is not None and only.isdisjoint(names)):
        return polynomial
    done = {} if done is None else done
    terms = []
    for monomial, coefficient in polynomial.terms.items():
        term = constant(coefficient)
        for atom in monomial:
            made = done.get(atom)
            if made is None:
                made = done[atom] = _rebuilt(atom, ranges, bindings, construct, only, done)
            term = term * made
        terms.append(term)
    return sum_of(terms)


def _rebuilt(atom: Atom, ranges: Ranges, bindings: Mapping[str, Polynomial], construct: Construct,
             only: frozenset[str] | None, done: dict[Atom, Polynomial]) -> Polynomial:
    bound = bindings.get(atom)
    if bound is not None:
        return bound
    if not atom.operands or (only is not None and only.isdisjoint(atom.names)):
        return of_atom(atom)
    operands = [rebuild(operand, ranges, bindings, construct, only, done) for operand in atom.operands]
    return construct(atom.kind, operands, ranges)
