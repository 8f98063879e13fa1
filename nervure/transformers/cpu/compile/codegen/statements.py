"""Statements become code: a builder for each kind.

>>> sorted([kind.__name__ for kind in _BUILDERS])
['Apply', 'Check', 'Fold', 'For', 'Index', 'Load', 'Prefetch', 'Reduce', 'Store', 'StorePair']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nervure.kernel.ir import (
    Apply,
    Check,
    Definition,
    Fold,
    For,
    Index,
    Load,
    Prefetch,
    Reduce,
    Statement,
    Store,
    StorePair,
)
from nervure.transformers.cpu.compile.codegen.checks import build_check
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.folds import build_fold
from nervure.transformers.cpu.compile.codegen.for_loops import build_for
from nervure.transformers.cpu.compile.codegen.frame import Frame, Value
from nervure.transformers.cpu.compile.codegen.memory import load, prefetch, store, store_pair
from nervure.transformers.cpu.compile.codegen.reductions import build_reduce
from nervure.transformers.cpu.compile.codegen.scalars import apply


def build(frame: Frame, statements: Sequence[Statement]) -> None:
    """Builds statements in order; those whose variable is known outside already are passed over."""
    for statement in statements:
        if not _is_known(frame, statement):
            _BUILDERS[type(statement)](frame, statement)


def _is_known(frame: Frame, statement: Statement) -> bool:
    return isinstance(statement, Definition) and frame.find(statement.result) is not None


def _apply(frame: Frame, statement: Apply) -> None:
    operands = [frame.scalar(x) for x in statement.operands]
    width, level = max([x.lanes for x in operands]), max([x.level for x in operands])
    elements = [frame.spread(x, width).element for x in operands]
    with frame.at(level):
        result = apply(statement.function, elements, statement.result.dtype)
    frame.keep(statement.result, Value(result, level))


def _index(frame: Frame, statement: Index) -> None:
    frame.keep(statement.result, dimension(frame, statement.expression))


def _load(frame: Frame, statement: Load) -> None:
    frame.keep(statement.result, load(frame, statement))


_BUILDERS: dict[type, Callable[[Frame, Any], None]] = {
    Apply: _apply, Index: _index, Load: _load, Store: store, StorePair: store_pair, Prefetch: prefetch,
    Check: build_check, For: build_for, Reduce: build_reduce, Fold: build_fold}
