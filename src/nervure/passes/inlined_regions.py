"""Branches that are chosen already, and loops of one iteration, become the ops of their functions.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> double, same = nv.Function([x * 2.0], [x]), nv.Function([x], [x])
>>> given = nv.Parameter(nv.float32, (3,))
>>> choice = nv.ops.If(nv.ops.Full(True, nv.bool_, ()), given, branches=(double, same))
>>> inlined_regions(nv.Function(choice.outputs, [given])).results
(f32[3] Multiply(Parameter, Full),)

A region with effects stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function
from nervure.ir.leaves import Full
from nervure.ir.op import Op, Value
from nervure.ir.provenance import set_override
from nervure.ir.region import RegionOp
from nervure.ops.branching import Branches
from nervure.ops.looping import Scan
from nervure.ops.views import Reshape


def inlined_regions(function: Function) -> Function:
    """Returns the function without regions that a choice or a loop of several iterations does not need."""
    if not any([isinstance(op, RegionOp) for op in function.operations]):
        return function
    table: dict[Value, Value] = {}
    moved: dict[Op, Op] = {}
    for op in function.operations:
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        results = _inlined(fresh) if isinstance(fresh, RegionOp) and not fresh.effectful else None
        if results is not None:
            table.update(zip(op.outputs, results, strict=True))
        elif fresh is not op:
            moved[op] = fresh
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    if not table and not moved:
        return function
    return Function([table.get(value, value) for value in function.results], function.parameters,
                    [(variable, table.get(value, value)) for variable, value in function.updates],
                    [moved.get(op, op) for op in function.effects], function.assumptions, function.name)


def _inlined(op: RegionOp) -> Sequence[Value] | None:
    """Returns the results of a region as other ops; None if its functions are needed."""
    before = set_override(op.provenance)
    try:
        if isinstance(op, Branches):
            chooser = op.operands[0].op
            return op.branches[op.chosen(int(chooser.number.real))](*op.operands[1:]) \
                if isinstance(chooser, Full) else None
        return _only_iteration(op) if isinstance(op, Scan) and op.length == 1 else None
    finally:
        set_override(before)


def _only_iteration(op: Scan) -> list[Value]:
    first = op.carries + op.slices
    slices = [Reshape(value, value.shape[1:]).output for value in op.operands[op.carries:first]]
    results = op.body(*op.operands[:op.carries], *slices, *op.operands[first:])
    stacked = [*results[op.carries:], *[op.operands[number] for number in op.saved]]
    return [*results[:op.carries], *[Reshape(value, (1, *value.shape)).output for value in stacked]]
