"""A dimension taken apart: a sum of products, for whoever makes code that computes it.

>>> from nervure.types.dim import dim, index
>>> n = dim("N")
>>> for coefficient, factors in index_terms(n * index(0) + (index(0) + n) // 4 + 2 * n + 1):
...     print(coefficient, [(factor.kind.name, factor.operands, factor.name) for factor in factors])
N [('SYMBOL', (), '%0')]
1 [('FLOOR_DIVIDE', (%0 + N, 4), '')]
2*N + 1 []
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.types.dim.expression import Dim, DimLike, made
from nervure.types.dim.polynomial import Atom, Kind, Monomial, Polynomial

__all__ = ["Factor", "Kind", "index_terms"]


class Factor(NamedTuple):
    """A domain index (with its name), or an operation on dimensions."""

    kind: Kind
    operands: tuple[DimLike, ...]
    name: str


def index_terms(x: DimLike) -> list[tuple[DimLike, tuple[Factor, ...]]]:
    """(coefficient, factors) with x == the sum of their products: the factors depend on domain indices, the
    coefficients do not. What depends on no index comes last, if there is any.
    """
    if not isinstance(x, Dim):
        return [(x, ())] if x else []
    groups: dict[Monomial, dict[Monomial, int]] = {}
    for monomial, coefficient in x._polynomial.terms.items():
        varying = tuple([atom for atom in monomial if _varies(atom)])
        fixed = tuple([atom for atom in monomial if not _varies(atom)])
        groups.setdefault(varying, {})[fixed] = coefficient
    terms = [(made(Polynomial(terms), x._declared), tuple([_factor(atom, x) for atom in varying]))
             for varying, terms in groups.items()]
    return sorted(terms, key=lambda term: not term[1])


def _varies(atom: Atom) -> bool:
    return any([name.startswith("%") for name in atom.names])


def _factor(atom: Atom, x: Dim) -> Factor:
    if atom.kind is Kind.SYMBOL:
        return Factor(atom.kind, (), str(atom))
    return Factor(atom.kind, tuple([made(operand, x._declared) for operand in atom.operands]), "")
