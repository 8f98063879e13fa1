"""The rewrite driver: one walk to the fixed point, counted visits, fuel, and what a replacement inherits."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure import ops
from nervure.errors import InternalError, InvalidArgument
from nervure.ir.function import Function
from nervure.ir.provenance import name_scope
from nervure.passes.algebra import RULES
from nervure.passes.pattern import Patterns
from nervure.passes.pipelines import simplification
from nervure.passes.rewrite import VISITS, Local, Rewriter
from tests.ir.functions import LONG
from tests.passes.agreement import classes, twice_negated

p = Patterns()
x, y = p.any("x"), p.any("y")


def vector(count=1, dtype=nv.float32):
    return [nv.Parameter(dtype, (4,)) for _ in range(count)]


def test_a_function_that_no_row_fits_is_returned_itself():
    a, b = vector(2)
    function = Function([a + b], [a, b])
    outcome = Rewriter("none", [(p.Negative(p.Negative(x)), lambda x: x)]).outcome(function)
    assert outcome.function is function and outcome.visits == 3 and not outcome.fired


def test_none_leaves_the_op_to_the_next_row():
    a, = vector()
    rows = [(p.Negative(x), lambda x: None), (p.Negative(x), lambda x: abs(x))]
    assert classes(Rewriter("two", rows)(Function([-a.value], [a]))) == ["Absolute"]


def test_operands_of_a_row_may_be_alternatives():
    a, = vector()
    rows = [(p.Negative(p.Exp(x) | p.Log(x)), lambda x: abs(x))]
    function = Function([-op(a).output for op in (ops.Exp, ops.Log, ops.Sin)], [a])
    assert classes(Rewriter("either", rows)(function)) == ["Absolute", "Absolute", "Sin", "Negative"]


def test_a_number_stands_for_a_tensor_of_it():
    a, = vector(dtype=nv.int8)
    function = Rewriter("zero", [(p.Subtract(x, x), lambda: 0)])(Function([a - a], [a]))
    assert function.results[0].op.number == 0 and function.results[0].type == a.type


def test_what_a_row_makes_is_rewritten_too():
    a, = vector()
    rows = [(p.Sinh(x), lambda x: twice_negated(ops.Tanh(x))), (p.Negative(p.Negative(x)), lambda x: x)]
    assert classes(Rewriter("chain", rows)(Function([ops.Sinh(a)], [a]))) == ["Tanh"]


def test_users_of_rewritten_ops_see_them_rewritten():
    a, b = vector(2)
    rows = [(p.Exp(p.Log(x)), lambda x: x), (p.Add(x, p.Negative(y)), lambda x, y: x - y)]
    function = Function([a + ops.Exp(ops.Log(-b.value)).output], [a, b])
    assert classes(Rewriter("users", rows)(function)) == ["Subtract"]


def test_updates_and_effects_move_along():
    from nervure.ir.variable import Variable
    w = Variable(nv.BasicTensorDescription(nv.float32, (4,)), name="w")
    a, = vector()
    same = twice_negated(a)
    shown = ops.PrintOp(same, prefix="a")
    guard = ops.Guard(ops.IsFinite(same), "finite")
    function = Function([shown], [a], {w: same}, [shown, guard])
    after = Rewriter("negations", [(p.Negative(p.Negative(x)), lambda x: x)])(function)
    assert after.updates == ((w, a.value),)
    assert [type(op).__name__ for op in after.effects] == ["PrintOp", "Guard"]
    assert after.effects[0].operands == (a.value,) and after.results[0].op is after.effects[0]
    assert after.effects[1].operands[0].op.operands == (a.value,)


# -- counting ----------------------------------------------------------------------------------------------


def long_function(length):
    """A chain in which rules fit, and what they make lets others fit; beside it short expressions of one operand."""
    a, b = vector(2)
    value, wide = a.value, []
    for number in range(length // 12):
        value = ops.Tanh(twice_negated(value + b) * 1.0).output - -(value / 2.0)
        wide.append(twice_negated(a * float(number + 2)))
    return Function([value, *wide], [a, b])


@pytest.mark.parametrize("length", [1_000, LONG])
def test_visits_are_linear(length):
    function = long_function(length)
    count = len(function.operations)
    outcome = simplification().outcome(function)
    assert count >= 0.9 * length and sum(outcome.fired.values()) >= length / 3
    assert outcome.visits <= VISITS * count
    again = simplification().outcome(outcome.function)
    assert again.function is outcome.function and again.visits == len(outcome.function.operations)


def test_a_chain_that_collapses_is_visited_once_an_op():
    a, = vector()
    value = a.value
    for _ in range(10_000):
        value = -value
    outcome = Rewriter("negations", [(p.Negative(p.Negative(x)), lambda x: x)]).outcome(Function([value], [a]))
    assert outcome.function.results == (a.value,) and outcome.visits == 10_001


LOOPS = {
    "turns in a circle": [(p.Subtract(x, y), lambda x, y: -(y - x))],
    "grows": [(p.Negative(x), lambda x: twice_negated(-x))],
    "two undo each other": [(p.Exp(x), lambda x: ops.Exp2(x)), (p.Exp2(x), lambda x: ops.Exp(x))],
    "grows in two directions": [(p.Add(x, y), lambda x, y: (x + y) + (y + x))],
}


@pytest.mark.parametrize("rows", LOOPS.values(), ids=LOOPS)
def test_fuel_ends_and_the_rule_that_loops_is_named(rows):
    a, b = vector(2)
    function = Function([-(a - b), ops.Exp(a), a + b], [a, b])
    with pytest.raises(InternalError, match="rule (Subtract|Negative|Exp2?|Add)") as error:
        Rewriter("loop", [(p.Tanh(x), lambda x: x), *rows])(function)
    text = str(error.value)
    assert text.startswith("loop: the rewrite does not end") and __file__ in text


def test_fuel_counts_all_visits():
    """Each op becomes a few, which is no loop, but more than the fuel that was given."""
    a, = vector()
    value = a.value
    for _ in range(2_000):
        value = ops.Exp(value).output
    rows = [(p.Exp(x), lambda x: ops.Tanh(ops.Tanh(ops.Tanh(ops.Tanh(x)))))]
    function = Function([value], [a])
    assert len(Rewriter("enough", rows)(function).operations) == 8_001
    with pytest.raises(InternalError, match="rule Exp"):
        Rewriter("little", rows, visits=2)(function)


# -- checks ------------------------------------------------------------------------------------------------


def test_a_rule_that_changes_a_type_is_named():
    a, = vector()
    with pytest.raises(InternalError, match=r"rule Exp\(x\) makes f64\[4\] of f32\[4\] Exp\(Parameter\)"):
        Rewriter("types", [(p.Exp(x), lambda x: ops.Convert(x, nv.float64))])(Function([ops.Exp(a)], [a]))


def test_builders_take_what_patterns_capture():
    with pytest.raises(InvalidArgument, match="takes q") as error:
        Rewriter("wrong", [(p.Exp(x), lambda q: q)])
    assert error.value.expected == "x"
    with pytest.raises(InvalidArgument, match="starts with an op"):
        Rewriter("wrong", [(x, lambda x: x)])


def test_several_outputs_are_replaced_together():
    a, b = vector(2)
    op = ops.CustomDerivative(a + b, a - b, a, count=2, rule=lambda gradients, operands: [None])
    swap = Local("swap", [ops.CustomDerivative], lambda op: op.operands[1::-1])
    after = Rewriter("swap", [swap])(Function([*op.outputs], [a, b]))
    assert [type(value.op).__name__ for value in after.results] == ["Subtract", "Add"]


# -- inheritance -------------------------------------------------------------------------------------------

ROWS = [(p.Exp(p.Log(x)), lambda x: x), (p.Sinh(x), lambda x: ops.Tanh(x) - -x), *RULES]


def test_provenance_is_that_of_what_is_replaced():
    a, = vector()
    with name_scope("encoder"), nv.metadata(layer=3):
        op = ops.Sinh(a)
    result = Rewriter("provenance", ROWS)(Function([op], [a])).results[0].op
    assert type(result) is ops.Add
    for made in (result, result.operands[0].op):
        assert made.provenance == op.provenance and made.provenance.scope == "encoder"
        assert made.location.file == __file__


def test_a_new_node_takes_the_name_and_the_labels():
    a, = vector()
    a.value.labels = ("H",)
    op = ops.Sinh(a)
    op.name = "logits"
    result = Rewriter("names", ROWS)(Function([op], [a])).results[0]
    assert result.op.name == "logits" and result.labels == ("H",)


def test_a_node_of_the_user_is_copied_rather_than_named():
    a, b = vector(2)
    total = a + b
    same = total * 1.0
    same.op.name, same.labels = "logits", ("H",)
    function = Function([ops.Tanh(same), total], [a, b])
    after = Rewriter("names", ROWS)(function)
    named = after.results[1]
    assert named.op.name == "logits" and named.labels == ("H",) and after.results[0].op.operands == (named,)
    assert total.op.name is None and total.labels is None and function.results[1] is total


def test_a_name_of_its_own_stays():
    a, b = vector(2)
    total = a + b
    total.op.name, total.labels = "total", (None,)
    same = total * 1.0
    same.op.name, same.labels = "same", ("H",)
    after = Rewriter("names", ROWS)(Function([same], [a, b]))
    assert after.results[0].op.name == "total" and after.results[0].labels == ("H",)


def test_a_parameter_keeps_its_own_name():
    a, = vector()
    same = a * 1.0
    same.op.name = "same"
    after = Rewriter("names", ROWS)(Function([same], [a]))
    assert after.results == (a.value,) and a.name is None
