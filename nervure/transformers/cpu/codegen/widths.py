"""How many turns of a vector loop run at once.

Short bodies run in several registers at once, which hides the latency of their instructions and the cost of the loop;
long ones, and those that need many registers, in one. A reduction inside a vector loop takes whole cache lines of each
row.
"""

from __future__ import annotations

from nervure.kernel.ir import (
    Address,
    Apply,
    Fold,
    For,
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

_ROW = 64       # lanes of a loop around a reduction
_LIVE = 12      # registers that may be in use at once
_LONGEST = 48   # statements of a body that runs in several registers at once
_CHEAP = frozenset((
    "add", "subtract", "multiply", "divide", "negative", "absolute", "maximum", "minimum", "fma", "sqrt",
    "where", "equal", "not_equal", "less", "less_equal", "is_nan", "is_inf", "is_finite",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right",
    "convert", "wrap", "bitcast", "real", "imaginary", "complex", "conjugate", "floor", "ceil", "round", "truncate"))


def vector_widths(loop: For, lanes: int) -> tuple[int, ...]:
    """The turns at once, of the wide loop and of the one after it, which may be one and the same."""
    statements = tuple(walk(loop.body))
    if any([isinstance(entry, Reduce) for entry in statements]):
        return (max(_ROW, lanes),) if is_light(loop.body, loop.index) else (lanes,)
    is_short = len(statements) <= _LONGEST and not any([isinstance(entry, For | Fold) for entry in statements])
    if not is_short or not is_light(loop.body, loop.index):
        return (lanes,)
    several = next((factor for factor in (4, 2) if factor * most_live(loop.body) <= _LIVE), 1)
    return (several * lanes, lanes) if several > 1 else (lanes,)


def is_light(body: tuple[Statement, ...], index: str) -> bool:
    """Whether each function in it is a few instructions, and lanes that run along an index meet in rows of memory."""
    for statement in walk(body):
        if isinstance(statement, Apply) and statement.function not in _CHEAP:
            return False
        if isinstance(statement, Load | Store) and not _is_row(statement.address, index):
            return False
    return True


def _is_row(address: Address, index: str) -> bool:
    step = dict(address.steps).get(index, 0)
    if any([isinstance(x, Variable) for _, x in address.terms]) or index in index_symbols(address.base):
        return False
    return isinstance(step, int) and abs(step) <= 1


def most_live(body: tuple[Statement, ...]) -> int:
    """The most variables that are in use at once."""
    last = {}
    for number, statement in enumerate(body):
        for x in _used(statement):
            last[x] = number
    live, most = 0, 0
    for number, statement in enumerate(body):
        live += len(_defined(statement))
        most = max(most, live)
        live -= len([x for x in {*_used(statement), *_defined(statement)} if last.get(x, number) == number])
    return max(most, 1)


def _used(statement: Statement) -> list[Scalar]:
    entries: tuple[Scalar | None, ...] = ()
    if isinstance(statement, Apply):
        entries = statement.operands
    elif isinstance(statement, Load):
        entries = (statement.valid, statement.fill)
    elif isinstance(statement, Store):
        entries = (statement.value, statement.valid)
    return [x for x in entries if x is not None and not isinstance(x, Literal)]


def _defined(statement: Statement) -> list[Variable]:
    return [statement.result] if isinstance(statement, Apply | Load) else []
