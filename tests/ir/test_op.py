"""The operators of core values: strict, with numbers of Python and NumPy on either side."""

from __future__ import annotations

import operator

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import DtypeMismatch, Immutable, InvalidArgument, ShapeMismatch, WrongKind
from nervure.ir import field
from nervure.ir.op import Op

X = nv.Parameter(nv.float32, (2,))


@pytest.mark.parametrize("number", [2, 2.0, True, np.float32(2), np.float64(2), np.int64(2), ml_dtypes.bfloat16(2)])
@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
def test_a_number_becomes_a_constant_on_either_side(operation, number):
    for left, right, position in ((X, number, 1), (number, X, 0)):
        result = operation(left, right)
        assert result.type == X.type
        constant = result.op.operands[position].op
        assert type(constant) is nv.ops.Full and constant.number == float(number)


@pytest.mark.parametrize("other", [np.ones(2, np.float32), np.float32([[1, 2]]), "2", None, [1.0, 2.0]])
def test_anything_else_is_a_type_error(other):
    for left, right in ((X, other), (other, X)):
        with pytest.raises(TypeError):
            left + right


def test_nothing_is_promoted_or_broadcast():
    with pytest.raises(DtypeMismatch):
        X + nv.Parameter(nv.float64, (2,))
    with pytest.raises(ShapeMismatch):
        X * nv.Parameter(nv.float32, (1,))
    with pytest.raises(InvalidArgument):
        nv.Parameter(nv.int32, (2,)) + 0.5
    with pytest.raises(WrongKind):
        bool(X < 1)


def test_two_equal_expressions_are_two_nodes():
    first, second = X + X, X + X
    assert first is not second and first != second and len({first, second, first}) == 2
    assert (np.ones(2) == X) is False


class Ruleless(Op):
    """An op whose author has forgotten the type rule."""

    operand_names = "x"


class LastAxis(Op):
    """An op whose axis may be negative."""

    operand_names = "x"
    axis = field.integer(-1)

    def normalise(self, *types):
        return {"axis": self.axis % len(types[0].shape)}

    def infer(self, *types):
        return types[0]


class Writing(LastAxis):
    """An op whose author sets an attribute in the type rule."""

    def infer(self, *types):
        self.axis = 0
        return types[0]


class Overdoing(LastAxis):
    """An op whose normal form is none of its own attributes."""

    normal = {"operands": ()}

    def normalise(self, *types):
        return self.normal


def test_attributes_have_their_normal_form_for_the_operands_that_an_op_has():
    op = LastAxis(X)
    wider = op.with_operands([nv.Parameter(nv.float32, (2, 3, 4)).output])
    assert op.axis == LastAxis(X, axis=0).axis == 0
    assert wider.axis == 0 and LastAxis(wider).axis == 2


def test_an_op_that_is_written_in_its_type_rule_is_told_of_normalise():
    with pytest.raises(Immutable, match="axis cannot be set: nodes are immutable") as caught:
        Writing(X)
    assert caught.value.op == "Writing" and "normalise" in caught.value.help


@pytest.mark.parametrize("normal", [{"operands": ()}, {"axes": 0}, None, ["axis"]])
def test_a_normal_form_is_that_of_attributes(normal, monkeypatch):
    monkeypatch.setattr(Overdoing, "normal", normal)
    with pytest.raises(WrongKind, match="normalise gives attributes by name"):
        Overdoing(X)


class Misled(Op):
    """An op whose type rule gives something else."""

    operand_names = "x"

    def infer(self, *types):
        return types[0].shape


@pytest.mark.parametrize("op", [Ruleless, Misled])
def test_a_type_rule_that_is_wrong_is_explained(op):
    with pytest.raises(WrongKind) as caught:
        op(X)
    assert (caught.value.op, caught.value.operand) == (op.__name__, "infer")
    assert caught.value.location.file == __file__ and caught.value.help


class Matrix(np.ndarray):
    """A subclass whose operators mean something else."""

    def __mul__(self, other):
        return self @ other


@pytest.mark.parametrize("array", [np.arange(3, dtype=">f8"), np.ones((2, 2)).view(Matrix)],
                         ids=lambda array: type(array).__name__)
def test_constants_are_plain_arrays_in_this_machines_byte_order(array):
    constant = nv.ops.Constant(array)
    assert type(constant.array) is np.ndarray and constant.array.dtype.isnative
    square, = nv.transformers.make_transformer("interpreter").compile(nv.Function([constant * constant.value]))()
    np.testing.assert_array_equal(square, np.asarray(array) ** 2)


def test_constants_hold_arrays_by_reference():
    array = np.arange(3.0)
    held = nv.ops.Constant(array).array
    assert np.shares_memory(held, array) and array.flags.writeable and not held.flags.writeable
