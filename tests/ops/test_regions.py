"""Branches and loops as core ops: type rules, text, effects, what passes do to them."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import DtypeMismatch, InvalidArgument, NotSupported, ShapeMismatch
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.region import without_effects
from nervure.ir.structural import equal, fingerprint
from nervure.ir.variable import Variable
from nervure.ir.verify import verify
from nervure.ops.looping import Scan
from nervure.passes.dead_regions import dead_regions
from nervure.passes.pipelines import standard
from nervure.types.description import BasicTensorDescription
from nervure.types.layout import dense
from tests.conformance.running import TRANSFORMERS


def parameter(shape=(), dtype=nv.float32):
    return nv.Parameter(dtype, shape)


def sums(effect=False, saved=(0,), length=4):
    """A scan of a carry, a slice and a captured value, with a result that is stacked."""
    total, x, w = parameter(), parameter(), parameter()
    new = total + x * w
    shown = ops.PrintOp(new, "new").output if effect else new
    body = nv.Function([shown, new * 2.0], [total, x, w], name="step")
    start, xs, weight = parameter(), parameter((length,)), parameter()
    op = Scan(start, xs, weight, body=body, carries=1, slices=1, length=length, saved=saved)
    return nv.Function(op.outputs, [start, xs, weight], name="sums")


def test_a_function_with_loops_is_text_both_ways():
    function = sums(effect=True)
    verify(function)
    text = print_function(function)
    assert "body=@step, carries=1, slices=1, length=4, reverse=False, saved=(0,)" in text and "effect %" in text
    assert equal(parse_function(text), function)
    again = sums()
    assert not equal(again, function) and equal(parse_function(print_function(again)), again)
    assert fingerprint(again) == fingerprint(sums()) != fingerprint(sums(saved=()))


def test_symbols_and_assumptions_of_a_body_are_its_function_s():
    n, m = nv.dim("n"), nv.dim("m")
    x, y = parameter((n,)), parameter((m,))
    branch = nv.Function([ops.AssumeShape(x, (m,)) + y], [x, y])
    chosen = ops.If(parameter((), nv.bool_), parameter((n,)), parameter((m,)), branches=(branch, branch))
    function = nv.Function(chosen.outputs, [entry.op for entry in chosen.operands])
    assert [str(entry) for entry in function.assumptions] == ["n = m"]
    run = nv.transformers.make_transformer("interpreter").compile(function)
    with pytest.raises(ShapeMismatch, match="n = m does not hold"):
        run([True, np.ones(2, np.float32), np.ones(3, np.float32)])


def test_type_rules_of_loops():
    start, xs, w = parameter(), parameter((4,)), parameter()
    function = sums().results[0].op.body
    with pytest.raises(ShapeMismatch, match="a sliced operand has another length"):
        Scan(start, xs, w, body=function, carries=1, slices=1, length=5)
    with pytest.raises(DtypeMismatch, match="carry 0, as the body gives it"):
        Scan(parameter((), nv.float64), xs, w, body=function, carries=1, slices=1, length=4)
    with pytest.raises(InvalidArgument, match="number of parameters of step"):
        Scan(start, xs, body=function, carries=1, slices=1, length=4)
    with pytest.raises(InvalidArgument, match="saved names no carry, or one twice"):
        Scan(start, xs, w, body=function, carries=1, slices=1, length=4, saved=(1,))
    for carries in (-1, 4):
        with pytest.raises(InvalidArgument, match="attribute carries"):
            Scan(start, xs, w, body=function, carries=carries, slices=1, length=4)
    with pytest.raises(InvalidArgument, match="attribute slices"):
        Scan(start, xs, w, body=function, carries=1, slices=3, length=4)
    x = parameter()
    same = nv.Function([x], [x])
    with pytest.raises(DtypeMismatch, match="the condition of a loop is one bool"):
        ops.While(start, condition=same, body=same, carries=1)


def test_type_rules_of_branches():
    x, y, flag = parameter(), parameter((2,)), parameter((), nv.bool_)
    same, other = nv.Function([x], [x]), nv.Function([y], [y])
    with pytest.raises(DtypeMismatch, match="a predicate is a bool"):
        ops.If(x, x, branches=(same, same))
    with pytest.raises(ShapeMismatch, match="one value chooses"):
        ops.If(parameter((2,), nv.bool_), x, branches=(same, same))
    with pytest.raises(ShapeMismatch, match="parameter 0 of function"):
        ops.If(flag, x, branches=(same, other))
    with pytest.raises(InvalidArgument, match="number of branches"):
        ops.If(flag, x, branches=(same,))
    with pytest.raises(ShapeMismatch, match="result 0 of branch 1"):
        ops.If(flag, x, branches=(same, nv.Function([ops.Broadcast(x, (2,), (0,))], [x])))
    with pytest.raises(DtypeMismatch, match="the number of a branch"):
        ops.Switch(flag, x, branches=(same,))
    w = Variable(BasicTensorDescription(nv.float32, ()), name="w")
    with pytest.raises(InvalidArgument, match="do not touch variables"):
        ops.Switch(parameter((), nv.int32), x, branches=(nv.Function([ops.ReadVariable(w).output + x], [x]),))


def test_effects_in_bodies_are_kept_and_left_out_of_derivatives():
    function = standard(sums(effect=True))
    assert [type(op).__name__ for op in function.effects] == ["Scan"]
    body = function.effects[0].body
    assert [type(op).__name__ for op in body.effects] == ["PrintOp"]
    assert not without_effects(body).effects
    x = parameter()
    call = ops.HostCall(x, function=np.sin, types=[x.type], effectful=True)
    with pytest.raises(NotSupported, match="would call this function again"):
        without_effects(nv.Function(call.outputs, [x]))


def test_what_nothing_needs_is_dropped():
    function = sums()
    last, stacked, saved = function.results
    for kept, outputs in (([last], ["carry"]), ([stacked], ["carry", "stacked"]), ([saved], ["carry", "saved"])):
        lean = dead_regions(nv.Function(kept, function.parameters))
        verify(lean)
        op = lean.results[0].op
        assert len(op.outputs) == len(outputs) and len(op.body.results) == 1 + ("stacked" in outputs)
    x, y, z = (parameter() for _ in range(3))
    body = nv.Function([x + 1.0, y * z], [x, y, z])
    loop = Scan(parameter(), parameter(), parameter(), body=body, carries=2, slices=0, length=3)
    lean = dead_regions(nv.Function([loop.outputs[0]], [entry.op for entry in loop.operands])).results[0].op
    assert len(lean.operands) == 1 and len(lean.body.operations) == 3
    assert dead_regions(nv.Function(loop.outputs, [entry.op for entry in loop.operands])).results[0].op is loop


def test_what_is_stacked_twice_is_stacked_once():
    x, xs = parameter(), parameter((3,))
    sine = ops.Sin(x)
    body = nv.Function([sine, ops.Exp(x), sine], [x])
    loop = Scan(xs, body=body, carries=0, slices=1, length=3)
    function = nv.Function([*loop.outputs, ops.Add(loop.outputs[2], loop.outputs[1])], [xs])
    lean = dead_regions(function)
    verify(lean)
    assert lean.results[0] is lean.results[2] and len(lean.results[0].op.outputs) == 2
    given = [np.float32([1, 2, 3])]
    for mine, theirs in zip(*[nv.transformers.make_transformer("interpreter").compile(each)(given)
                              for each in (lean, function)], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_what_is_chosen_and_single_iterations_are_inlined():
    function = sums(length=1, saved=(0,))
    lean = standard(function)
    verify(lean)
    assert not any(isinstance(op, Scan) for op in lean.operations)
    arrays = [np.float32(2), np.float32([3]), np.float32(4)]
    found, expected = [nv.transformers.make_transformer("interpreter").compile(each)(arrays)
                       for each in (lean, function)]
    assert [(mine.tolist(), mine.shape) for mine in found] == [(each.tolist(), each.shape) for each in expected]
    x, y = parameter(), parameter()
    branches = nv.Function([x], [x, y]), nv.Function([y], [x, y])
    operands = parameter(), parameter()
    for cls, number, chosen in ((ops.If, (True, nv.bool_), 0), (ops.If, (False, nv.bool_), 1),
                                (ops.Switch, (7, nv.int32), 1), (ops.Switch, (-7, nv.int32), 0)):
        op = cls(ops.Full(*number, ()), *operands, branches=branches)
        assert standard(nv.Function(op.outputs, operands)).results[0].op is operands[chosen]
    effects = sums(effect=True, length=1)
    assert any(isinstance(op, Scan) for op in standard(effects).operations)


def test_a_dead_operand_makes_what_it_read_dead():
    inner, x = sums().results[0].op, parameter()
    unused, used = parameter(), parameter()
    branch = nv.Function([used], [unused, used])
    chosen = ops.If(parameter((), nv.bool_), inner.outputs[0], x, branches=(branch, branch))
    lean = dead_regions(nv.Function(chosen.outputs, [chosen.operands[0].op, x, *[each.op for each in inner.operands]]))
    assert not any(isinstance(op, Scan) for op in lean.operations)


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_composites_in_bodies_are_decomposed_without_other_passes(transformer):
    x = parameter((3,))
    branch = nv.Function([ops.Square(x)], [x])
    chosen = ops.If(parameter((), nv.bool_), parameter((3,)), branches=(branch, nv.Function([x], [x])))
    run = nv.transformers.make_transformer(transformer).compile(
        nv.Function(chosen.outputs, [entry.op for entry in chosen.operands]))
    data = np.float32([1, 2, 3])
    assert run([True, data])[0].tolist() == [1, 4, 9] and run([False, data])[0].tolist() == [1, 2, 3]


def test_an_operand_may_be_the_new_value_of_a_variable_of_another_order():
    """A loop reads it row-major, and the variable keeps it column-major."""
    description = BasicTensorDescription(nv.float32, (2, 3), layout=dense((2, 3), (1, 0)))
    old = Variable(description, initial=1, name="old")
    new, row = ops.ReadVariable(old).output * 3.0, nv.Parameter(nv.float32, (3,))
    carry = nv.Parameter(nv.float32, (2, 3))
    body = nv.Function([carry * 2.0, ops.Slice(carry, [(1, 1, 1), (0, 3, 1)])], [carry])
    scan = ops.Scan(new, body=body, carries=1, slices=0, length=3)
    function = nv.Function([*scan.outputs, row.output], [row], {old: new})
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = []
    for name in ("cpu", "interpreter"):
        transformer = nv.transformers.make_transformer(name)
        run = transformer.build(function)
        transformer.set(old, values)
        found.append([*run([np.zeros(3, np.float32)]), transformer.get(old)])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(found[0][-1], 3 * values)
