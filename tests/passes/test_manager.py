"""The manager: what it checks after each pass, whom it blames, what it records and prints."""

from __future__ import annotations

import gc

import pytest

import nervure as nv
from nervure import flags, ops
from nervure.errors import InternalError
from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.ir.variable import Variable
from nervure.passes.algebra import algebra
from nervure.passes.decompose import decompose
from nervure.passes.manager import Pass, Record, run
from nervure.types.frozen import put
from tests.passes.agreement import twice_negated


@pytest.fixture
def function():
    a, b = nv.Parameter(nv.float32, (4,)), nv.Parameter(nv.float32, (4,))
    w = Variable(a.type, name="w")
    n = nv.Parameter(nv.float32, (nv.dim("N"),))
    assumed = ops.AssumeShape(n, (4,))
    shown = ops.PrintOp(a + b)
    return Function([shown, a * b, assumed], [a, b, n], {w: a - b}, name="step")


def with_results(function, results, **changes):
    parts = {"parameters": function.parameters, "updates": function.updates, "effects": function.effects,
             "assumptions": function.assumptions, "name": function.name, **changes}
    return Function(results, **parts)


def loses_a_result(function):
    return with_results(function, function.results[:-1])


def changes_a_type(function):
    return with_results(function, [*function.results[:-1], ops.Convert(function.results[-1], nv.float64)])


def loses_an_effect(function):
    replaced = {function.effects[0].output: function.effects[0].operands[0]}
    return with_results(function, [replaced.get(value, value) for value in function.results], effects=[])


def loses_an_assumption(function):
    changed = with_results(function, [*function.results[:2], function.results[1]])
    put(changed, "assumptions", ())
    return changed


def updates_more(function):
    variable = Variable(function.results[0].type, name="other")
    return with_results(function, function.results, updates=[*function.updates, (variable, function.results[0])])


def loses_an_update(function):
    return with_results(function, function.results, updates=[])


def swaps_parameters(function):
    first, second, *rest = function.parameters
    return with_results(function, function.results, parameters=[second, first, *rest])


def orders_wrongly(function):
    changed = with_results(function, [twice_negated(function.results[0]), *function.results[1:]])
    put(changed, "operations", changed.operations[::-1])
    return changed


def types_wrongly(function):
    wrong = twice_negated(function.results[0])
    put(wrong.op.operands[0], "_type", wrong.type.with_(shape=(3,)))
    return with_results(function, [wrong, *function.results[1:]])


def gives_nothing(function):
    return None


WRONG = {loses_a_result: "the results were", changes_a_type: "the results were", loses_an_effect: "the effects were",
         loses_an_assumption: "the assumption N = 4 is lost", updates_more: "it updates Variable",
         loses_an_update: "the update of Variable(w: f32[4]) is lost",
         swaps_parameters: "the parameters were", orders_wrongly: "before that is computed",
         types_wrongly: "its type rule gives", gives_nothing: "it gave NoneType, no Function"}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_a_planted_wrong_pass_is_named(function, wrong):
    with pytest.raises(InternalError) as error:
        run(function, [algebra, Pass(wrong.__name__, wrong), decompose])
    text = str(error.value)
    assert text.startswith(f"pass {wrong.__name__}, on function step: ") and WRONG[wrong] in text


def test_a_pass_that_raises_is_named(function):
    def stumbles(function):
        return function.nothing

    with pytest.raises(InternalError, match="pass stumbles, on function step: AttributeError: .*nothing") as error:
        run(function, [stumbles])
    assert isinstance(error.value.__cause__, AttributeError)


def test_what_a_user_can_fix_keeps_its_type():
    class BrokenComposite(Composite):
        """A composite whose author forgot that the core does not broadcast."""

        operand_names = "x y"

        def infer(self, *types):
            return types[0]

        def decompose(self, *operands):
            return operands[0] + operands[1]

    a, b = nv.Parameter(nv.float32, (4,)), nv.Parameter(nv.float32, (3,))
    with pytest.raises(nv.ShapeMismatch) as error:
        run(Function([BrokenComposite(a, b)], [a, b], name="broken"), [decompose])
    assert error.value.__notes__ == ["in pass decompose, on function broken"]
    assert error.value.location.file == __file__


def test_the_collector_is_as_it_was(function):
    def sees_it_paused(function):
        assert not gc.isenabled()
        return function

    run(function, [sees_it_paused])
    assert gc.isenabled()
    gc.disable()
    try:
        run(function, [sees_it_paused])
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_records(function):
    records: list[Record] = []
    after = run(function, [algebra, Pass("again", decompose)], records)
    assert [record.name for record in records] == ["algebra", "again"]
    assert records[0].before == records[1].after == len(after.operations)
    assert all(record.seconds > 0 and record.check_seconds >= 0 for record in records)
    assert str(records[0]).startswith("algebra ")


def test_the_debug_switch_prints_before_and_after(capsys):
    a = nv.Parameter(nv.float32, (4,))
    function = Function([ops.Square(a)], [a], name="step")
    with flags.overriding(debug="decompose"):
        run(function, [algebra, decompose])
    text = capsys.readouterr().err
    marks = [line for line in text.splitlines() if line.startswith("--")]
    assert marks == ["-- before decompose", "-- after decompose"]
    assert "Square(%0)" in text and "Multiply(%0, %0)" in text
    with flags.overriding(debug="passes"):
        run(function, [algebra, decompose])
    assert capsys.readouterr().err.count("-- before") == 2
    run(function, [algebra, decompose])
    assert capsys.readouterr().err == ""
