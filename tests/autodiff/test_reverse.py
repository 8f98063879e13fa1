"""Reverse mode on core values: what is visited, how contributions add up, what cuts a path, whose line errors name."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff import gradients
from nervure.errors import DtypeMismatch, InvalidArgument, NotSupported, ShapeMismatch, WrongKind
from nervure.ir import field
from nervure.ir.function import Function
from nervure.ir.kinds import Composite, Elementwise
from nervure.ir.op import Op
from nervure.ir.provenance import name_scope
from nervure.ir.traverse import postorder
from tests.ops.evaluation import check_derivatives, compute


def tensor(*shape: int, dtype: object = nv.float64) -> nv.Parameter:
    return nv.Parameter(dtype, shape)


def kinds(value: object) -> list[str]:
    """The names of the ops that a value needs."""
    return [type(op).__name__ for op in postorder([value])]


class Both(Op):
    """x + y and x * y: an op with two outputs."""

    operand_names = "x y"

    def infer(self, *types: object) -> tuple[object, ...]:
        return types

    def vjp(self, gradient: tuple, *operands: nv.ops.Parameter) -> tuple:
        x, y = operands
        total, product = gradient
        parts = [(total, total)] if total is not None else []
        parts += [(product * y, product * x)] if product is not None else []
        return tuple([first if len(parts) == 1 else first + parts[1][side] for side, first in enumerate(parts[0])])


class Twin(Composite):
    """A composite with two results, the first of which is an operand itself."""

    operand_names = "x y"

    def decompose(self, *operands: object) -> tuple:
        x, y = operands
        return x, x * y


class Bare(Elementwise):
    """An op without a derivative."""

    operand_names = "x"


class Wrong(Elementwise):
    """An op whose vjp gives what ``mode`` says."""

    operand_names = "x y"
    mode = field.string()

    def vjp(self, gradient: object, *operands: object) -> object:
        return {"few": (gradient,), "value": gradient, "type": (ops.Convert(gradient, nv.float32), None),
                "shape": (ops.Sum(gradient, [0]), None)}[self.mode]


class Refusing(Elementwise):
    """An op that says why it has no derivative."""

    operand_names = "x"

    def vjp(self, gradient: object, *operands: object) -> object:
        raise self.fail(NotSupported, "only in the forward direction")


def test_contributions_add_up() -> None:
    x = tensor(3)
    found, = gradients([x * x + ops.Exp(x) * x + x], [x], [None])
    values = np.array([0.5, -1, 2])
    np.testing.assert_allclose(compute([found], [x], [values])[0], 2 * values + np.exp(values) * (1 + values) + 1)


def test_only_paths_between_wanted_and_outputs_are_visited() -> None:
    x, y = tensor(3), tensor(3)
    other = ops.Exp(y)
    found, = gradients([x * other + ops.Sin(y) + Bare(y)], [x], [None])
    assert kinds(found) == ["Full", "Parameter", "Exp", "Multiply"]


def test_the_gradient_for_one_of_two_inputs_has_a_fixed_number_of_ops() -> None:
    x, y, weight = tensor(4), tensor(4), tensor(4)
    loss = ops.Sum(ops.Tanh(x * weight + y) * y, [0])
    first, second = gradients([loss], [x, y], [None])
    assert [len(kinds(entry)) for entry in (first, second)] == [14, 15]
    alone, = gradients([loss], [x], [None])
    assert len(kinds(alone)) == 14


def test_no_path_gives_none() -> None:
    x, y = tensor(3), tensor(3)
    assert gradients([ops.Exp(x)], [y, x], [None])[0] is None
    assert gradients([ops.StopGradient(x)], [x], [None]) == [None]
    assert gradients([ops.StraightThrough(x, y)], [x], [None]) == [None]
    assert gradients([ops.Convert(ops.Convert(x, nv.int32), nv.float64)], [x], [None]) == [None]
    assert gradients([ops.Convert(x, nv.int32)], [x], [None]) == [None]
    assert gradients([], [x], []) == [None]


def test_an_output_and_values_in_between_may_be_wanted() -> None:
    x = tensor(3)
    middle = ops.Exp(x)
    top = middle * middle
    seeds = [ops.Full(2.0, nv.float64, (3,))]
    of_top, of_middle, of_x = gradients([top], [top, middle, x], seeds)
    values = np.array([0.0, 1, -1])
    got = compute([of_top, of_middle, of_x], [x], [values])
    for result, expected in zip(got, [np.full(3, 2.0), 4 * np.exp(values), 4 * np.exp(2 * values)], strict=True):
        np.testing.assert_allclose(result, expected)


def test_several_outputs_and_the_same_one_twice() -> None:
    x = tensor(3)
    square, cube = x * x, x * x * x
    seed = tensor(3)
    found, = gradients([square, cube, square], [x], [seed, None, None])
    values, weights = np.array([1., 2, 3]), np.array([1., 0, -1])
    np.testing.assert_allclose(compute([found], [x, seed], [values, weights])[0],
                               2 * values * (weights + 1) + 3 * values ** 2)


@pytest.mark.parametrize("used, expected", [((0,), [1, 1]), ((1,), [5, 2]), ((0, 1), [6, 3])])
@pytest.mark.parametrize("op", [Both, Twin])
def test_ops_with_several_outputs(op: type, used: tuple[int, ...], expected: list[float]) -> None:
    x, y = tensor(), tensor()
    node = op(x, y)
    found = gradients([node.outputs[at] for at in used], [x, y], [None] * len(used))
    values = [0.0 if entry is None else float(compute([entry], [x, y], [np.array(2.), np.array(5.)])[0])
              for entry in found]
    if op is Twin and 0 in used:
        expected = [expected[0], expected[1] - 1]  # its first output is x, not x + y
    assert values == expected


def test_composites_are_differentiated_through_their_decomposition() -> None:
    x = tensor(3)
    found, = gradients([ops.Mean(ops.Gelu(x), [0])], [x], [None])
    assert not {"Mean", "Gelu"} & set(kinds(found))
    check_derivatives(lambda x: ops.Mean(ops.Square(ops.Gelu(x)), [0]), np.array([0.3, -2, 1]))


def test_derivatives_carry_the_line_and_scope_of_their_op() -> None:
    x = tensor(3)
    with name_scope("encoder"):
        inner = ops.Gelu(x)
    outer = ops.Exp(inner)
    found, = gradients([outer], [x], [None])
    fresh = [op for op in postorder([found]) if op not in set(postorder([outer]))]
    lines = {op.location.line for op in fresh if op.provenance.scope == "encoder"}
    assert lines == {inner.location.line}
    assert {op.location.line for op in fresh} >= {outer.location.line}
    assert ops.Exp(x).location.line > outer.location.line  # nothing is left in force


@pytest.mark.parametrize("op, message", [(Bare, "this op has no derivative"),
                                         (Refusing, "only in the forward direction")])
def test_ops_without_a_derivative_are_named(op: type, message: str) -> None:
    x = tensor(3)
    node = op(x)
    with pytest.raises(NotSupported, match=message) as caught:
        gradients([ops.Exp(node)], [x], [None])
    assert (caught.value.op, caught.value.location) == (op.__name__, node.location)
    assert ops.Exp(x).location.line > node.location.line  # an error leaves nothing in force either


@pytest.mark.parametrize("mode, kind", [("few", WrongKind), ("value", WrongKind), ("type", DtypeMismatch),
                                        ("shape", ShapeMismatch)])
def test_a_wrong_vjp_is_caught(mode: str, kind: type) -> None:
    x, y = tensor(3), tensor(3)
    with pytest.raises(kind) as caught:
        gradients([Wrong(x, y, mode)], [x, y], [None])
    assert caught.value.op == "Wrong" and caught.value.location.file == __file__


def test_what_may_be_asked_for() -> None:
    x, count = tensor(3), tensor(3, dtype=nv.int32)
    with pytest.raises(TypeError, match="int32") as caught:
        gradients([x], [x, count], [None])
    assert caught.value.operand == "2"
    with pytest.raises(InvalidArgument, match="one seed an output"):
        gradients([x], [x], [])
    with pytest.raises(ShapeMismatch, match="seed"):
        gradients([x * 2], [x], [tensor(4)])
    with pytest.raises(DtypeMismatch, match="seed"):
        gradients([x * 2], [x], [tensor(3, dtype=nv.float32)])


def test_a_path_goes_through_complex_numbers() -> None:
    """The magnitude of (x + ix)^2 is 2 x^2."""
    x = tensor(3, dtype=nv.float32)
    power = ops.Complex(x, x)
    found, = gradients([ops.Absolute(power * power)], [x], [None])
    result, = nv.transformers.make_transformer("interpreter").compile(Function([found], [x]))([np.float32([1, 2, 3])])
    assert np.allclose(result, [4, 8, 12])


def test_long_chains_and_many_readers() -> None:
    x = tensor()
    chain = x.value
    for _ in range(5_000):
        chain = ops.Sin(chain).output
    found, = gradients([chain], [x], [None])
    assert len(postorder([found])) == 15_001  # the chain but its end, the cosines, their products, the seed and x
    readers = ops.Concatenate(*[ops.Reshape(x, (1,)) for _ in range(2_000)], axis=0)
    found, = gradients([ops.Sum(readers, [0])], [x], [None])
    function = Function([found], [x])
    assert float(nv.transformers.make_transformer("interpreter").compile(function)([np.array(1.0)])[0]) == 2_000


def test_fourth_derivative() -> None:
    x = tensor()
    value = x * x * x * x * x
    for _ in range(4):
        value, = gradients([value], [x], [None])
    assert float(compute([value], [x], [np.array(3.0)])[0]) == 360
