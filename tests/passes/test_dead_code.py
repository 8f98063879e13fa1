"""Dead code: updates that change nothing go, effects stay."""

from __future__ import annotations

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.passes.dead_code import dead_code
from tests.passes.agreement import classes


def variable(name):
    return Variable(nv.BasicTensorDescription(nv.float32, (4,)), name=name)


def test_an_update_with_the_own_value_is_dropped():
    w, v = variable("w"), variable("v")
    read = ops.ReadVariable(w)
    function = Function([], [], {w: read, v: read})
    after = dead_code(function)
    assert after.updates == ((v, read.value),) and after.variables == (w, v)
    assert dead_code(after) is after


def test_what_only_a_dropped_update_needed_is_gone():
    w = variable("w")
    assert classes(dead_code(Function([], [], {w: ops.ReadVariable(w)}))) == []


def test_effects_are_kept():
    a = nv.Parameter(nv.float32, (4,))
    w = variable("w")
    read = ops.ReadVariable(w)
    call = ops.HostCall(a, function=print, types=[])
    shown, guard = ops.PrintOp(read), ops.Guard(ops.IsFinite(a), "finite")
    function = Function([], [a], {w: read}, [guard, shown, call], name="step")
    after = dead_code(function)
    assert after.effects == (guard, shown, call) and not after.updates and after.name == "step"
