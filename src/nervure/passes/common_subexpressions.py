"""Common subexpression elimination: equal ops become one.

Ops are equal if their keys are (:mod:`nervure.ir.op_key`). Ops with effects are never merged. Two reads of a variable
are: both see its value at the function's entry. Random ops are functions of seed, step and stream like others.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> merged = common_subexpressions(nv.Function([(x + y) * (y + x)], [x, y]))
>>> [type(op).__name__ for op in merged.operations]
['Parameter', 'Parameter', 'Add', 'Multiply']

One walk finds the first op of each kind, without building any; if there is something to merge, a second one rebuilds
the ops above the merged ones. The first op keeps its line; it takes over names and labels that it lacks.
"""

from __future__ import annotations

from nervure.ir.function import Function, is_effect
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Value
from nervure.ir.op_key import key_of
from nervure.ir.whole_op import WholeOp
from nervure.passes.rewrite import Inheritance


def common_subexpressions(function: Function) -> Function:
    """Returns the function with equal ops merged; itself if no two are equal."""
    merged = _representatives(function)
    if not merged:
        return function
    inheritance = Inheritance(function)
    table: dict[Value, Value] = {}
    for op in function.operations:
        if op.outputs and op.outputs[0] in merged:
            for output in op.outputs:
                first = merged[output]
                table[output] = final = table.get(first, first)
                inheritance.add(output, final)
            continue
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if fresh is not op:
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    return inheritance.given_to(function.substituted(table))


def _representatives(function: Function) -> dict[Value, Value]:
    """Maps each output of an op that repeats an earlier one to that one's output."""
    merged: dict[Value, Value] = {}
    known: dict[tuple[object, ...], Op] = {}
    for op in function.operations:
        op_class = type(op)
        if op_class is Parameter or is_effect(op) and not isinstance(op, WholeOp):
            continue
        operands = [merged.get(operand, operand) for operand in op.operands] if merged else op.operands
        first = known.setdefault(key_of(op, operands), op)
        if first is not op:
            merged.update(zip(op.outputs, first.outputs, strict=True))
    return merged
