"""The text of polynomials and atoms: deterministic, as Python would read it, sparing with parentheses.

>>> from nervure.types.dim.polynomial import symbol
>>> n, m = symbol("N"), symbol("M")
>>> sum_text((m - n * n * m * 2 + 3).terms)
'M - 2*M*N**2 + 3'
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nervure.types.dim.polynomial import Atom, Kind, Monomial, Polynomial


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
    """One term without its sign; ``alone`` says that neither a sign nor a factor stands before it."""
    if not monomial:
        return str(size)
    bare = alone and size == 1 and len(monomial) == 1
    factors = [str(size)] if size != 1 else []
    for atom, repeats in groupby(sorted(monomial, key=lambda atom: (not _is_simple(atom), atom))):
        text = str(atom) if bare or _is_simple(atom) else f"({atom})"
        count = len(list(repeats))
        factors.append(text if count == 1 else f"{text}**{count}")
    return "*".join(factors)


def sum_text(terms: dict[Monomial, int]) -> str:
    """Terms of high degree first, then by name; the first is one that is added, if there is one."""
    if not terms:
        return "0"
    ordered = sorted(terms.items(), key=lambda term: (-len(term[0]), term[0]))
    first = next((i for i, (_, coefficient) in enumerate(ordered) if coefficient > 0), 0)
    ordered.insert(0, ordered.pop(first))
    (monomial, coefficient), *others = ordered
    parts = [_term_text(monomial, coefficient, True) if coefficient > 0
             else f"-{_term_text(monomial, -coefficient, False)}"]
    for monomial, coefficient in others:
        parts.append(f"{'+' if coefficient > 0 else '-'} {_term_text(monomial, abs(coefficient), True)}")
    return " ".join(parts)
