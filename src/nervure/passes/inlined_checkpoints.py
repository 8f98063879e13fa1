"""Checkpoints become the ops of their functions: once derivatives have been taken, nothing else tells them apart.

>>> import nervure as nv
>>> x, given = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> op = nv.ops.Checkpoint(given, body=nv.Function([x * x], [x]))
>>> inlined_checkpoints(nv.Function([op], [given])).results
(f32[3] Multiply(Parameter, Parameter),)

Their effects take their place among those of the function. What a derivative makes again stays apart, behind ``After``.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function, moved
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Value
from nervure.ir.traverse import rebuild
from nervure.ops.rematerialising import Checkpoint


def inlined_checkpoints(function: Function) -> Function:
    """Returns the function without checkpoints of its own; itself if there are none."""
    if not any([isinstance(op, Checkpoint) for op in function.operations]):
        return function
    table: dict[Value, Value] = {}
    effects: dict[Op, Sequence[Op]] = {}
    for op in function.operations:
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if isinstance(fresh, Checkpoint):
            results, effects[op] = _inside(fresh)
            table.update(zip(op.outputs, results, strict=True))
        elif fresh is not op:
            effects[op] = [fresh]
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    return Function([table.get(value, value) for value in function.results], function.parameters,
                    [(variable, table.get(value, value)) for variable, value in function.updates],
                    [each for op in function.effects for each in effects.get(op, [op])],
                    function.assumptions, function.name)


def _inside(op: Checkpoint) -> tuple[Sequence[Value], Sequence[Op]]:
    """Returns the results and the effects of a checkpoint as other ops."""
    inner = inlined_checkpoints(op.body)
    table = {parameter.output: operand for parameter, operand in zip(inner.parameters, op.operands, strict=True)}
    rebuild([each for each in inner.operations if type(each) is not Parameter], table)
    return [table.get(value, value) for value in inner.results], [moved(each, table) for each in inner.effects]
