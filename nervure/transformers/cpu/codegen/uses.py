"""Which variables statements define, and which they use.

>>> from nervure.kernel.ir import Literal
>>> from nervure.types.dtype import float32
>>> x, y = Variable(float32), Variable(float32)
>>> body = [Apply(y, "add", (x, Literal(1.0, float32)))]
>>> defined(body) == [y], used(body) == [x]
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable

from nervure.kernel.ir import (
    Apply,
    Check,
    Fold,
    For,
    Index,
    Literal,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
    walk,
)
from nervure.types.dim import index_symbols


def defined(statements: Iterable[Statement]) -> list[Variable]:
    """What the statements of a body define, those inside its loops left out."""
    found: list[Variable] = []
    for statement in statements:
        if isinstance(statement, Apply | Index | Load):
            found.append(statement.result)
        elif isinstance(statement, Reduce | Fold):
            found += statement.results
    return found


def used(statements: Iterable[Statement]) -> list[Scalar]:
    """The variables that statements use, at any depth."""
    return [x for statement in walk(tuple(statements)) for x in used_by(statement) if not isinstance(x, Literal)]


def used_by(statement: Statement) -> list[Scalar]:
    """What one statement uses, those inside it left out."""
    found: list[Scalar | None] = []
    match statement:
        case Apply():
            found += statement.operands
        case Load():
            found += [*[x for _, x in statement.address.terms], statement.valid, statement.fill]
        case Store():
            found += [*[x for _, x in statement.address.terms], statement.value, statement.valid]
        case Check():
            found += [statement.condition, statement.value]
        case Reduce():
            found += statement.values
        case Fold():
            found += [*statement.values, *statement.combined]
        case For() | Index():
            pass
    return [x for x in found if x is not None]


def mentions(statement: Apply | Index | Load, index: str) -> bool:
    """Whether a statement itself, not what it uses, depends on a loop index."""
    if isinstance(statement, Index):
        return index in index_symbols(statement.expression)
    if isinstance(statement, Load):
        return index in dict(statement.address.steps) or index in index_symbols(statement.address.base)
    return False
