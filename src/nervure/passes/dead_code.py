"""Dead code elimination: updates that store a variable's own value are dropped.

Ops that no result, update or effect needs vanish as soon as a Function is built, since it holds only reachable ones.

>>> import nervure as nv
>>> from nervure.ir.variable import Variable
>>> from nervure.types.description import BasicTensorDescription
>>> w = Variable(BasicTensorDescription(nv.float32, (3,)), name="w")
>>> read = nv.ops.ReadVariable(w)
>>> dead_code(nv.Function([read * 2.0], [], {w: read})).updates
()

Effects are kept, all of them and in their order.
"""

from __future__ import annotations

from nervure.ir.function import Function
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Value
from nervure.ir.variable import Variable


def dead_code(function: Function) -> Function:
    """Returns the function without updates that change nothing; itself if there are none."""
    updates = [(variable, value) for variable, value in function.updates if not is_own_value(variable, value)]
    if len(updates) == len(function.updates):
        return function
    return Function(function.results, function.parameters, updates, function.effects, function.assumptions,
                    function.name)


def is_own_value(variable: Variable, value: Value) -> bool:
    """Whether the new value of a variable is its old one."""
    return type(value.op) is ReadVariable and value.op.variable is variable
