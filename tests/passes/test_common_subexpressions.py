"""Common subexpressions: what is merged, what must not be, and whose name it has."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.types.dim import index
from nervure.types.index_map import IndexMap
from tests.passes.agreement import assert_agree, classes
from tests.passes.midpoint import Midpoint


@pytest.fixture
def inputs():
    return [nv.Parameter(nv.float32, (4,)) for _ in range(2)]


def merged(results, inputs=(), **parts):
    return common_subexpressions(Function(results, inputs, **parts))


def count(results, inputs=(), **parts):
    """How many ops, without parameters, are left."""
    return len(classes(merged(results, inputs, **parts)))


def test_equal_chains_are_one(inputs):
    a, b = inputs
    after = merged([ops.Exp(a + b), ops.Exp(a + b)], inputs)
    assert classes(after) == ["Add", "Exp"] and after.results[0] is after.results[1]
    function = Function([a + b, a - b], inputs)
    assert common_subexpressions(function) is function


def test_commutative_operands_stand_in_either_order(inputs):
    a, b = inputs
    assert count([a + b, b + a], inputs) == 1
    assert count([a - b, b - a], inputs) == 2
    assert count([ops.Maximum(a, b), ops.Maximum(b, a)], inputs) == 2


def test_a_user_s_commutative_op_is_merged_with_its_swapped_self(inputs):
    a, b = inputs
    before = Function([Midpoint(a, b), Midpoint(b, a)], inputs)
    after = common_subexpressions(before)
    assert classes(after) == ["Midpoint"]
    assert_agree(before, after, [np.float32([1, 2, -3, 0]), np.float32([5, 0, 4, -0.0])])


def test_attributes_tell_ops_apart(inputs):
    a, _ = inputs
    x = ops.Reshape(a, (2, 2))
    assert count([ops.Sum(x, [0]), ops.Sum(x, [1]), ops.Sum(x, [0]), ops.Max(x, [0])], inputs) == 4
    maps = [IndexMap((3,), (index(0),)), IndexMap((3,), (index(0),)), IndexMap((3,), (index(0) + 1,))]
    assert count([ops.IndexView(a, map) for map in maps], inputs) == 2


def test_numbers_are_equal_by_bits():
    full = [ops.Full(number, nv.float32, (2,)) for number in (0.0, -0.0, 0.0, float("nan"), float("nan"), 1.0)]
    assert count(full) == 4
    assert count([ops.Full(1, nv.int8, (2,)), ops.Full(True, nv.bool_, (2,)), ops.Full(1, nv.int8, (3,))]) == 3


def test_arrays_are_equal_by_bits():
    arrays = [np.arange(100.0), np.arange(100.0), np.arange(100.0, dtype=np.float32), np.arange(100.0).reshape(10, 10)]
    last = np.arange(100.0)
    last[-1] = -1  # differs where the hash does not look
    signed = np.array([0.0, -0.0]), np.array([0.0, 0.0]), np.array([0.0, np.nan]), np.array([0.0, np.nan])
    assert count([ops.Constant(array) for array in (*arrays, last, *signed)]) == 7
    strided = np.arange(200.0)[::2], np.arange(0.0, 200.0, 2.0)
    assert count([ops.Constant(array) for array in strided]) == 1


def test_several_outputs(inputs):
    def call(rule):
        return ops.CustomDerivative(*inputs, inputs[0], count=2, rule=rule)

    def zero(gradients, operands):
        return [None]

    first, second, other = call(zero), call(zero), call(lambda gradients, operands: [None])
    after = merged([*first.outputs, *second.outputs, *other.outputs], inputs)
    assert classes(after) == ["CustomDerivative"] * 2
    assert after.results[:2] == after.results[2:4] != after.results[4:]


def test_reads_of_one_variable_are_one():
    w, v = (Variable(nv.BasicTensorDescription(nv.float32, (2,)), name="w") for _ in range(2))
    assert count([ops.ReadVariable(w), ops.ReadVariable(w), ops.ReadVariable(v)]) == 2


def test_effects_are_never_merged(inputs):
    a, b = inputs
    shown = [ops.PrintOp(a + b) for _ in range(2)]
    after = merged(shown, inputs)
    assert classes(after) == ["Add", "PrintOp", "PrintOp"] and len(after.effects) == 2
    calls = [ops.HostCall(a, function=np.sin, types=[a.type], effectful=effectful)
             for effectful in (True, True, False, False)]
    assert classes(merged(calls, inputs)) == ["HostCall"] * 3


def test_effects_keep_their_order(inputs):
    a, b = inputs
    second, first = ops.PrintOp(a + b, prefix="second"), ops.PrintOp(b + a, prefix="first")
    after = merged([a + b], inputs, effects=[first, second])
    assert [op.prefix for op in after.effects] == ["first", "second"] and classes(after).count("Add") == 1


def test_random_ops_differ_by_their_stream():
    seed, step = ops.Full(1, nv.uint32, (2,)), ops.Full(0, nv.uint64, ())
    drawn = [ops.RandomUniform(seed, step, stream=stream, shape=(3,)) for stream in (1, 1, 2)]
    assert classes(merged(drawn)).count("RandomUniform") == 2


def test_names_and_labels_are_merged(inputs):
    a, b = inputs
    first, second = a + b, b + a
    second.op.name, second.labels = "total", ("H",)
    function = Function([ops.Exp(first), second], inputs)
    after = common_subexpressions(function)
    total = after.results[1]
    assert total.op.name == "total" and total.labels == ("H",) and total.op.operands == first.op.operands
    assert after.results[0].op.operands == (total,)
    assert first.op.name is None and first.labels is None
    assert total.op.provenance == first.op.provenance


def test_updates_read_what_is_merged(inputs):
    a, b = inputs
    w = Variable(a.type, name="w")
    after = merged([a + b], inputs, updates={w: b + a})
    assert after.updates == ((w, after.results[0]),)


def test_twins_all_the_way_up():
    """A tree that is built twice as often at each level is a chain."""
    a = nv.Parameter(nv.float32, (4,))
    leaves = [ops.Exp(a).output for _ in range(1 << 12)]
    while len(leaves) > 1:
        leaves = [left + right for left, right in zip(leaves[::2], leaves[1::2])]
    function = Function(leaves, [a])
    after = common_subexpressions(function)
    assert classes(after) == ["Exp"] + ["Add"] * 12
    assert_agree(function, after, [np.float32([0, 1, -1, 2])])
