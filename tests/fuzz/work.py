"""Compares the work of kernels with the work that the function needs: the two invariants of clustering.

Work is counted in additions, of which a function such as exp is worth 16: a chain of cheap ops may be computed three
times where that is faster than memory, but costly ops never are. A value that is the same in all turns of a loop is
computed before it.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4, 6))
>>> function = nv.Function([nv.ops.Exp(x + x)], [x])
>>> needed(function, {}), done(make_plan(function), {})
(408, 408)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise, Structured
from nervure.ir.op import Op
from nervure.kernel.ir import Apply, Body, Definition, Fold, For, Load, Reduce, Scalar, Statement, Store, Variable, walk
from nervure.kernel.loop_index import Indices
from nervure.kernel.lower.scalars import KernelScalars, Statements
from nervure.kernel.plan import KernelStep, Plan, make_plan
from nervure.passes.lower_convolutions import lower_convolutions
from nervure.passes.pipelines import standard
from nervure.types.dim import evaluate, index, symbols
from nervure.types.shape import Shape
from tests.conformance.tolerance import ROUNDED
from tests.fuzz.graphs import Case

MOST_STATEMENTS = 40
"""Statements of kernels, for each op and scalar function that a function has."""


@lru_cache(maxsize=2)
def optimised(function: Function) -> Function:
    """The function after the usual passes."""
    return standard(function)


def check_work(case: Case) -> None:
    """Kernels compute at most twice what is needed, and their text grows with the function."""
    function = lower_convolutions(optimised(case.function))
    plan = make_plan(function)
    for binding in case.bindings:
        wanted, got = needed(function, binding), done(plan, binding)
        assert got <= 2 * wanted + 64, f"{got} scalar operations for {wanted} with {binding}"
    lines = sum([sum([1 for _ in walk(step.lowered.kernel.body)]) for step in _kernels(plan)])
    size = len(function.operations) + sum([len(_applied_by(op)) for op in function.operations])
    assert lines <= MOST_STATEMENTS * size, f"{lines} statements for {size} ops and functions"


def _kernels(plan: Plan) -> Iterable[KernelStep]:
    return [step for step in plan.steps if isinstance(step, KernelStep)]


def needed(function: Function, binding: Mapping[str, int]) -> int:
    """What it costs to apply each op once at each of its points; combining two points counts as an addition."""
    total = 0
    for op in function.operations:
        points = math.prod([max(evaluate(entry, binding), 0) for entry in _domain(op)])
        total += points * (sum(map(_cost, _applied_by(op))) + isinstance(op, Structured))
    return total


def _domain(op: Op) -> Shape:
    if isinstance(op, Structured):
        return op.structure(*[operand.type for operand in op.operands]).domain
    return op.outputs[0].shape if op.outputs else ()


def _applied_by(op: Any) -> list[Apply]:
    """What an op applies at a point."""
    statements = Statements()
    if isinstance(op, Elementwise):
        op.evaluate(KernelScalars(statements), *[Variable(operand.dtype) for operand in op.operands])
    elif isinstance(op, Structured):
        structure = op.structure(*[operand.type for operand in op.operands])
        read = [Variable(operand.dtype) for operand, access in zip(op.operands, structure.reads, strict=True)
                if access is not None]
        structure.body(KernelScalars(statements, lambda expression: statements.index(index(0))), *read)
    return [entry for entry in statements.list if isinstance(entry, Apply)]


def _cost(statement: Apply) -> int:
    """What a statement costs, in additions: conversions, choices and indices are no work."""
    dtypes = [operand.dtype for operand in statement.operands]
    is_float = all([dtype.is_float or dtype.is_complex for dtype in dtypes])
    if not is_float or statement.function in ("convert", "where", "bitcast", "complex"):
        return 0
    return 16 if statement.function in ROUNDED else 5 if statement.function in ("divide", "sqrt") else 1


def done(plan: Plan, binding: Mapping[str, int]) -> int:
    """What it costs to run the kernels."""
    return sum([_applied(step.lowered.kernel.body, binding) for step in _kernels(plan)])


def _applied(statements: tuple[Statement, ...], binding: Mapping[str, int]) -> int:
    total = 0
    for statement in statements:
        if isinstance(statement, Apply):
            total += _cost(statement)
        elif isinstance(statement, For):
            total += _in_loop(statement.body, statement.indices, binding)
        elif isinstance(statement, (Reduce, Fold)):
            total += _in_loop(statement.body, statement.indices, binding)
    return total


def _in_loop(body: Body, indices: Indices, binding: Mapping[str, int]) -> int:
    """What the turns of a loop cost, in front of which everything is computed that is the same in all of them."""
    stored = {entry.buffer for entry in walk(body) if isinstance(entry, Store)}
    varying: set[Scalar] = set()
    for entry in body:
        if isinstance(entry, Definition):
            is_changed = isinstance(entry, Load) and entry.buffer in stored
            is_moved = any([entry.mentions(name) for name, _ in indices])
            if is_changed or is_moved or not varying.isdisjoint(entry.operands):
                varying.add(entry.result)
        else:
            varying.update(getattr(entry, "results", ()))
    once = tuple([entry for entry in body if isinstance(entry, Apply) and entry.result not in varying])
    often = tuple([entry for entry in body if entry not in once])
    extents = {name.name: max(evaluate(extent, binding), 0) for name, extent in indices}
    deciding = [name for name in extents if name in _deciding(often)]
    turns = math.prod([extent for name, extent in extents.items() if name not in deciding])
    each = [_applied(often, {**binding, **dict(zip(deciding, at, strict=True))})
            for at in itertools.product(*[range(extents[name]) for name in deciding])]
    return min(turns * len(each), 1) * _applied(once, binding) + turns * sum(each)


def _deciding(body: Body) -> frozenset[str]:
    """What the lengths of the loops inside depend on."""
    loops = [entry for entry in walk(body) if isinstance(entry, (For, Reduce, Fold))]
    return frozenset().union(*[symbols(extent) for loop in loops for _, extent in loop.indices])
