"""A Function is checked when it is built: its lists, its parameters, its updates and its effects."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.errors import InternalError, InvalidArgument, WrongKind
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.passes.manager import run

ops = nv.ops


def parameter():
    return nv.Parameter(nv.float32, (2,))


def test_parameters_are_listed_once():
    x, y = parameter(), parameter()
    with pytest.raises(InvalidArgument, match="listed twice") as caught:
        Function([x + y], [x, y, x])
    assert caught.value.operand == "3" and caught.value.location.file == __file__
    with pytest.raises(InvalidArgument, match="needed by the results but not listed"):
        Function([x + y], [x])
    with pytest.raises(InvalidArgument, match="needed by the results but not listed"):
        Function([x], [x], {Variable(y.type): y})
    with pytest.raises(InvalidArgument, match="needed by the results but not listed"):
        Function([x], [x], effects=[ops.PrintOp(y)])
    assert len(Function([x], [x, y]).parameters) == 2  # one that nothing needs is one all the same


@pytest.mark.parametrize(("part", "value"), [
    ("results", 3), ("results", None), ("results", [3]), ("results", [None]), ("parameters", 3), ("parameters", [3]),
    ("updates", 3), ("updates", {"w": 1}), ("updates", [3]), ("effects", 3), ("effects", [3]), ("assumptions", 3),
])
def test_what_is_no_list_of_such_things(part, value):
    x = parameter()
    parts = {"results": [x], "parameters": [x], part: value}
    with pytest.raises(WrongKind) as caught:
        Function(**parts)
    assert caught.value.location.file == __file__


def test_one_value_is_no_list():
    x = parameter()
    for arguments in ((x, [x]), ([x], x), (x + x, [x])):
        with pytest.raises(WrongKind, match="are lists"):
            Function(*arguments)


def test_effects_have_an_effect():
    x = parameter()
    for op in (ops.Add(x, x), x, ops.HostCall(x, function=lambda array: array, types=[x.type], effectful=False)):
        with pytest.raises(InvalidArgument, match="has none"):
            Function([x], [x], effects=[op])
    shown = ops.PrintOp(x)
    assert Function([shown + x], [x]).effects == (shown,)


def test_a_rewrite_that_loses_an_effect_is_a_mistake_of_ours():
    x = parameter()
    shown = ops.PrintOp(x)

    def forgets(function):
        return function.substituted({shown.output: (x + x)})

    with pytest.raises(InternalError, match=r"^pass forgets.*an effect has been replaced"):
        run(Function([shown], [x]), [forgets])


def test_a_variable_is_updated_once_with_its_own_type():
    x, w = parameter(), Variable(nv.BasicTensorDescription(nv.float32, (2,)), name="w")
    with pytest.raises(InvalidArgument, match="updated twice"):
        Function([], [x], [(w, x), (w, x + x)])
    with pytest.raises(InvalidArgument, match="variable's type"):
        Function([], [x], {w: ops.Convert(x, nv.float64)})
    assert dict(Function([], [x], {w: x}).updates)[w] is x.output
