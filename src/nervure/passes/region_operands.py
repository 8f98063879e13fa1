"""Operands of branches, loops and whole ops lie in memory, row-major: where one is a view, one number, or another
order, it is copied before.

Native code reads slices and captured values where they lie; ``Contiguous`` is the copy. What chooses a branch becomes
an int64.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3))
>>> y = nv.Parameter(nv.float32, (3, 2))
>>> same = nv.Function([y], [y])
>>> choice = nv.ops.If(nv.Parameter(nv.bool_, ()), nv.ops.Permute(x, (1, 0)), branches=(same, same))
>>> region_operands(nv.Function(choice.outputs, [choice.operands[0], x])).results
(f32[3, 2] If(Parameter, Contiguous),)
"""

from __future__ import annotations

from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Full, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.provenance import on_behalf_of
from nervure.ir.region import RegionOp
from nervure.ir.whole_op import WholeOp
from nervure.ops.branching import Switch
from nervure.ops.conversion import converted
from nervure.ops.views import Contiguous
from nervure.types.dtype import int64
from nervure.types.view import SimpleView

_IN_ORDER = (RegionOp, WholeOp)
"""Ops whose operands and results lie in memory in row-major order."""


def region_operands(function: Function) -> Function:
    """Returns the function with copies in front of its regions and whole ops.

    Their operands and results do not lie in another order: a variable of one takes a copy as its new value.
    """
    if not any([isinstance(op, _IN_ORDER) for op in function.operations]):
        return function
    table: dict[Value, Value] = {}
    moved: dict[Op, Op] = {}
    for op in function.operations:
        operands = [table.get(operand, operand) for operand in op.operands]
        if isinstance(op, _IN_ORDER):
            with on_behalf_of(op.provenance):
                if isinstance(op, Switch):
                    operands[0] = converted(operands[0], int64)
                operands = [operand if _is_in_memory(operand) else Contiguous(operand).output for operand in operands]
        fresh = op.with_operands(operands)
        if fresh is not op:
            moved[op] = fresh
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    read = {_stored(operand) for op in function.operations if isinstance(op, _IN_ORDER)
            for operand in moved.get(op, op).operands}
    updates = []
    for variable, value in function.updates:
        new = table.get(value, value)
        stored = _stored(new)
        is_turned = variable.type.order is not None and (isinstance(stored.op, _IN_ORDER) or stored in read)
        updates.append((variable, Contiguous(new).output if is_turned else new))
    return Function([table.get(value, value) for value in function.results], function.parameters, updates,
                    [moved.get(op, op) for op in function.effects], function.assumptions, function.name)


def _is_in_memory(value: Value) -> bool:
    """Whether a value lies in memory as it is, once its op has run."""
    op = _stored(value).op
    if isinstance(op, ReadVariable):
        return op.variable.type.order is None
    return not isinstance(op, Full) and not (isinstance(op, View) and isinstance(op.view, SimpleView))


def _stored(value: Value) -> Value:
    """Returns the value whose memory a chain of views shows as it lies."""
    while isinstance(value.op, View) and isinstance(view := value.op.view, SimpleView) and view.keeps_order():
        value = value.op.operands[0]
    return value
