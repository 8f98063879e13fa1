"""The verifier finds each way in which a function can be broken, and names the op.

Nodes are immutable; ``put`` breaks them as only a mistake of ours could.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from nervure import ops
from nervure.errors import InternalError
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.variable import Variable
from nervure.ir.verify import verify
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import dim
from nervure.types.dtype import float32, int32
from nervure.types.frozen import put
from tests.ir.functions import EXAMPLES, LONG, Apply, chain, functions


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_whole_passes(name):
    verify(EXAMPLES[name]())


@given(functions())
def test_random_functions_pass(function):
    verify(function)


def test_long_chains_pass():
    verify(chain(LONG))


def function_of_sum():
    x = ops.Parameter(float32, (dim("N"), 3))
    w = Variable(BasicTensorDescription(float32, ()), name="w")
    total = ops.Sum(x * x, axes=(0, 1))
    guard = ops.Guard(ops.IsNan(total), message="finite")
    return Function([total], [x], {w: total}, [guard])


def replace(function, op_class, **parts):
    op = next(op for op in function.operations if type(op).__name__ == op_class)
    for name, value in parts.items():
        put(op, name, value)
    return op


def reversed_order(function):
    put(function, "operations", function.operations[::-1])


def twice(function):
    put(function, "operations", (*function.operations, function.operations[-1]))


def missing(function):
    put(function, "operations", function.operations[1:])


def unneeded(function):
    put(function, "operations", (*function.operations, ops.Full(1.0, float32, ())))


def wrong_result(function):
    put(function, "results", (ops.Full(1.0, float32, ()).output,))


def foreign_parameter(function):
    put(function, "parameters", ())


def repeated_parameter(function):
    put(function, "parameters", function.parameters * 2)


def wrong_type(function):
    put(replace(function, "Sum").outputs[0], "_type", BasicTensorDescription(int32, ()))


def wrong_attribute(function):
    replace(function, "Sum", axes=[0, 1])


def impossible_attribute(function):
    replace(function, "Sum", axes=(0, 7))


def foreign_output(function):
    op = replace(function, "Multiply")
    put(op, "outputs", (Value(op, 0, op.outputs[0].type),))


def wrong_labels(function):
    put(replace(function, "Multiply").outputs[0], "labels", ("N",))


def wrong_update(function):
    put(function, "updates", ((function.updates[0][0], function.parameters[0].output),))


def repeated_update(function):
    put(function, "updates", function.updates * 2)


def unlisted_effect(function):
    put(function, "effects", ())
    put(function, "operations", tuple(op for op in function.operations))


def no_effect(function):
    put(function, "effects", (*function.effects, replace(function, "Sum")))


def repeated_effect(function):
    put(function, "effects", function.effects * 2)


def too_few_operands(function):
    replace(function, "Multiply", operands=function.operations[0].outputs)


def no_tuple_of_operands(function):
    op = replace(function, "Multiply")
    put(op, "operands", list(op.operands))


def an_op_as_operand(function):
    op = replace(function, "Multiply")
    put(op, "operands", (function.parameters[0], op.operands[1]))


def no_attribute(function):
    object.__delattr__(replace(function, "Sum"), "axes")


def attribute_in_another_form(function):
    replace(function, "Sum", axes=(-2, -1))


def label_of_another_kind(function):
    put(replace(function, "Multiply").outputs[0], "labels", (5, None))


def name_of_another_kind(function):
    replace(function, "Sum", name=5)


def another_op_as_parameter(function):
    put(function, "parameters", (*function.parameters, replace(function, "Multiply")))


@pytest.mark.parametrize(("damage", "problem"), [
    (too_few_operands, "it has 1 operands, not 2"), (no_tuple_of_operands, "not a tuple of values"),
    (an_op_as_operand, "not a tuple of values"), (no_attribute, "its attribute axes is"),
    (attribute_in_another_form, r"is \(-2, -1\), and should be \(0, 1\)"),
    (label_of_another_kind, r"its output 0 has the labels \(5, None\)"), (name_of_another_kind, "its name"),
    (another_op_as_parameter, "it is listed as a parameter"),
    (reversed_order, "before that is computed"), (twice, "it stands twice"), (missing, "before that is computed"),
    (unneeded, "nothing needs it"), (wrong_result, "does not compute it"),
    (foreign_parameter, "it is no parameter of this function"), (repeated_parameter, "a parameter is listed twice"),
    (wrong_type, "Sum.*its type rule gives f32"), (wrong_attribute, "its attribute axes is"),
    (impossible_attribute, "its type rule fails"), (foreign_output, "is no output of it"),
    (wrong_labels, "its output 0 has 1 labels for 2 dimensions"), (wrong_update, "it updates Variable"),
    (repeated_update, "updated twice"), (unlisted_effect, "nothing needs it|its effect is not listed"),
    (no_effect, "but has none"), (repeated_effect, "an effect is listed twice"),
])
def test_damage_is_found(damage, problem):
    function = function_of_sum()
    verify(function)
    damage(function)
    with pytest.raises(InternalError, match=problem) as caught:
        verify(function)
    assert __file__ in str(caught.value) and str(caught.value).startswith("function: ")


@pytest.mark.parametrize(("part", "value"), [("effects", (5,)), ("results", (3,)), ("operations", (None,))])
def test_what_is_no_part_of_a_function_is_named(part, value):
    function = function_of_sum()
    put(function, part, value)
    with pytest.raises(InternalError, match="^function: "):
        verify(function)


def test_a_lost_assumption_is_found():
    x = ops.Parameter(float32, (dim("N"),))
    function = Function([ops.AssumeShape(x, (7,))], [x])
    verify(function)
    put(function, "assumptions", ())
    with pytest.raises(InternalError, match="AssumeShape.*its assumption N = 7 is lost"):
        verify(function)


def test_damage_inside_a_held_function_is_found():
    inner = function_of_sum()
    x = ops.Parameter(float32, (dim("N"), 3))
    outer = Function([Apply(x, body=inner)], [x], name="outer")
    verify(outer)
    wrong_type(inner)
    with pytest.raises(InternalError, match="its type rule gives f32"):
        verify(outer)


def test_an_array_that_can_be_written_is_not_normal():
    constant = ops.Constant(np.zeros(3))
    put(constant, "array", np.zeros(3))
    with pytest.raises(InternalError, match="its attribute array"):
        verify(Function([constant]))
