"""Decomposition: all the way down, on behalf of the composite, but for what is supported."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, InternalError
from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.passes.decompose import decompose
from tests.passes.agreement import assert_agree, classes


class Endless(Composite):
    """Decomposes into itself."""

    operand_names = "x"

    def infer(self, *types):
        return types[0]

    def decompose(self, *operands):
        return Endless(-operands[0])


class Branching(Composite):
    """Decomposes into two of itself."""

    operand_names = "x"

    def infer(self, *types):
        return types[0]

    def decompose(self, *operands):
        return Branching(-operands[0]) + Branching(abs(operands[0]))


@pytest.fixture
def x():
    return nv.Parameter(nv.float32, (2, 3))


def test_no_composite_is_left(x):
    results = [ops.Gelu(x), ops.Softmax(x, [1]), ops.Variance(x, [0]), ops.Clip(x, x.full(0), x.full(1))]
    function = Function(results, [x])
    after = decompose(function)
    assert not any(isinstance(op, Composite) for op in after.operations)
    assert_agree(function, after, [np.float32([[1, -2, 3], [0.5, 0, -4]])])


def test_composites_of_composites(x):
    after = decompose(Function([ops.SquaredDifference(x, x * 2.0)], [x]))
    assert classes(after) == ["Full", "Multiply", "Subtract", "Multiply"]


def test_what_is_supported_is_kept(x):
    function = Function([ops.Square(ops.SquaredDifference(x, x * 2.0))], [x])
    after = decompose(function, lambda op_class: op_class is ops.Square)
    assert classes(after) == ["Full", "Multiply", "Subtract", "Square", "Square"]
    assert decompose(function, lambda op_class: True) is function


def test_several_outputs(x):
    op = ops.CustomDerivative(x + x, x * x, x, count=2, rule=lambda gradients, operands: [gradients[0]])
    after = decompose(Function([op.outputs[1], op.outputs[0]], [x]))
    assert [type(value.op).__name__ for value in after.results] == ["Multiply", "Add"]


def test_parts_stand_on_behalf_of_the_composite(x):
    with nv.name_scope("head"):
        op = ops.Square(x)
    op.name = "squared"
    part = decompose(Function([op], [x])).results[0].op
    assert part.provenance == op.provenance and part.name == "squared" and part.location.file == __file__


def test_a_chain_of_composites(x):
    value = x.value
    for _ in range(20_000):
        value = ops.Square(value).output
    after = decompose(Function([value], [x]))
    assert classes(after) == ["Multiply"] * 20_000


class Wrong(Composite):
    """Decomposes into another type than its rule says."""

    operand_names = "x"

    def infer(self, *types):
        return types[0]

    def decompose(self, *operands):
        return ops.Convert(operands[0], nv.float64)


def test_a_decomposition_of_another_type_is_the_mistake_of_who_wrote_the_op(x):
    wrong = Wrong(x)
    for use in (lambda: decompose(Function([wrong], [x])), lambda: gradients([wrong], [x], [None])):
        with pytest.raises(DtypeMismatch, match="the decomposition has another type") as error:
            use()
        assert error.value.op == "Wrong" and error.value.location == wrong.location


@pytest.mark.parametrize("kind", [Endless, Branching])
def test_an_endless_decomposition_is_named(x, kind):
    with pytest.raises(InternalError, match=f"decompose.*{kind.__name__}"):
        decompose(Function([kind(x)], [x]))
