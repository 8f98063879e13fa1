"""Cutting: forward and backward together give the bits of the whole, from residuals that are worth their memory."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.passes.cut import cut
from nervure.passes.pipelines import standard
from tests.arrays import normal
from tests.passes.agreement import assert_same_bits, classes, run


def parameter(*shape, dtype=nv.float32):
    return nv.Parameter(dtype, shape)


def variable(*shape):
    return Variable(nv.BasicTensorDescription(nv.float32, shape), np.linspace(-1, 1, int(np.prod(shape))), "w")


def with_derivatives(y, wanted, parameters, **more):
    """A function of y and its derivatives, after the passes."""
    found = nv.autodiff.gradients([y], wanted, [y.value.full(1)])
    return standard(Function([y, *found], parameters, **more))


def kept(parts):
    """The classes of the residuals."""
    return [type(value.op).__name__ for value in parts.forward.results[len(parts.forward.results) - parts.residuals:]]


def run_parts(parts, arrays):
    """What forward gives but for residuals, and then what backward makes of these."""
    values = run(parts.forward, arrays)
    count = len(values) - parts.residuals
    return [*values[:count], *run(parts.backward, [*values[count:], *[arrays[at] for at in parts.arguments]])]


def assert_whole(function, arrays, results=1):
    parts = cut(function, results)
    for left, right in zip(run(function, arrays), run_parts(parts, arrays), strict=True):
        assert_same_bits(left, right)
    return parts


def dense(x, w, b):
    product = ops.MatMul(x, w)
    return ops.Maximum(product + ops.Broadcast(b, product.shape, [0]), product.full(0))


# -- values --------------------------------------------------------------------------------------------------------


def softmax_loss(x, w):
    return ops.Sum(ops.Square(ops.Softmax(ops.MatMul(x, w), [1])), (0, 1))


def normalised(x, w):
    y = ops.MatMul(x, w)
    mean = ops.Broadcast(ops.Mean(y, [1]), y.shape, [1])
    return (y - mean) / ops.Sqrt(ops.Broadcast(ops.Variance(y, [1]), y.shape, [1]) + 1e-3)


def two_layers(x, w):
    return ops.Tanh(ops.MatMul(ops.Sigmoid(ops.MatMul(x, w)), ops.Permute(w, (1, 0))))


@pytest.mark.parametrize("formula", [softmax_loss, normalised, two_layers])
def test_both_parts_together_give_the_bits_of_the_whole(formula):
    """T129."""
    x, w = parameter(5, 4), parameter(4, 3)
    parts = assert_whole(with_derivatives(formula(x, w), [x, w], [x, w]), [normal(5, 4), normal(4, 3)])
    assert parts.forward.name == "forward" and parts.backward.name == "backward"


def random_value(random, values):
    """A value made from earlier ones, all of shape (4, 4)."""
    x, y = [values[int(at)] for at in random.integers(len(values), size=2)]
    total = ops.Sum(x, [int(random.integers(2))])
    made = [x + y, x * y, ops.Maximum(x, y), ops.Sigmoid(x), ops.Tanh(y), ops.MatMul(x, y), ops.Permute(x, (1, 0)),
            ops.Broadcast(total, x.value.shape, [int(random.integers(2))]), ops.Where(ops.Less(x, y), x, y * 0.5)]
    return made[int(random.integers(len(made)))]


@pytest.mark.parametrize("seed", range(25))
def test_random_functions_are_cut_without_changing_a_bit(seed):
    """T129."""
    random = np.random.default_rng(seed)
    values = given = [parameter(4, 4) for _ in range(3)]
    for _ in range(int(random.integers(2, 25))):
        values = [*values, random_value(random, values)]
    y = values[-1] + values[-2]
    derivatives = nv.autodiff.gradients([y], given, [y.full(1)])
    function = standard(Function([y, *[entry for entry in derivatives if entry is not None]], given))
    assert_whole(function, [normal(4, 4) * at for at in (0.5, -0.25, 1)])


def test_a_derivative_may_be_a_value_of_the_forward_part():
    x = parameter(3)
    y = ops.Exp(x)
    parts = assert_whole(Function([y, ops.Exp(x), x, y], [x]), [normal(3)])
    assert classes(parts.backward).count("Exp") <= 1


def test_a_function_without_derivatives_has_an_empty_backward_part():
    x = parameter(3)
    parts = cut(Function([ops.Exp(x)], [x]), 1)
    assert parts.backward.results == () and parts.residuals == 0 and parts.arguments == ()


# -- choice --------------------------------------------------------------------------------------------------------


def test_a_rectified_layer_keeps_its_product_alone():
    x, w, b = parameter(8, 4), parameter(4, 6), parameter(6)
    function = with_derivatives(dense(x, w, b), [w, b], [x, w, b])
    parts = assert_whole(function, [normal(8, 4), normal(4, 6), normal(6)])
    assert len(kept(parts)) == 1 and parts.arguments == (0, 2)


def test_what_is_dear_is_kept_and_what_is_cheap_computed_again():
    """T129."""
    x = parameter(64)
    parts = assert_whole(with_derivatives(ops.Sum(ops.Square(ops.Exp(x) + 1.0), (0,)), [x], [x]), [normal(64)])
    assert kept(parts) == ["Exp"] and "Exp" not in classes(parts.backward)


def test_what_follows_from_arguments_by_few_additions_is_no_residual():
    x, y = parameter(64), parameter(64)
    parts = assert_whole(with_derivatives((x + y) * (x - y), [x, y], [x, y]), [normal(64), normal(64)[::-1].copy()])
    assert kept(parts) == [] and parts.arguments == (0, 1)


def test_a_statistic_is_kept_before_it_is_broadcast():
    x = parameter(16, 32)
    share = x / ops.Broadcast(ops.Sum(ops.Exp(x), [1]), x.shape, [1])
    parts = assert_whole(with_derivatives(share, [x], [x]), [normal(16, 32)])
    assert [value.shape for value in parts.forward.results[1:]].count((16,)) == 1


def test_positions_are_no_residuals():
    x = parameter(4, 9)
    y = ops.Exp(x * ops.Iota((4, 9), 1, nv.float32))
    parts = assert_whole(with_derivatives(y, [x], [x]), [normal(4, 9)])
    assert kept(parts) == ["Exp"] and "Iota" in classes(parts.backward)


def test_long_chains_are_not_computed_again():
    x = parameter(64)
    y = x
    for _ in range(30):
        y = ops.Multiply(y, y) + 1.0
    parts = assert_whole(with_derivatives(y, [x], [x]), [normal(64) / 10])
    assert 1 < len(kept(parts)) < 29


# -- state and effects ---------------------------------------------------------------------------------------------


def test_a_variable_is_read_again_unless_it_is_updated():
    """T130."""
    x, w = parameter(3), variable(3)
    read = ops.ReadVariable(w)
    y = ops.Exp(x * read)
    gradient, = nv.autodiff.gradients([y], [x], [y.output.full(1)])
    still = cut(Function([y, gradient], [x]), 1)
    assert still.backward.variables == (w,) and kept(still) == ["Exp"]
    moving = cut(Function([y, gradient], [x], {w: read + 1.0}), 1)
    assert moving.backward.variables == () and sorted(kept(moving)) == ["Exp", "ReadVariable"]
    assert moving.backward.updates == () and moving.forward.updates[0][0] is w


def test_a_host_call_runs_in_the_forward_part_alone():
    """T130."""
    calls = []

    def host(array):
        calls.append(len(array))
        return array * 2
    x = parameter(3)
    doubled = ops.HostCall(x, function=host, types=[x.type]).output
    parts = cut(Function([doubled * x, doubled], [x]), 1)
    values = run_parts(parts, [normal(3)])
    assert calls == [3] and "HostCall" not in classes(parts.backward)
    assert_same_bits(values[1], normal(3) * 2)


def test_later_effects_belong_to_the_backward_part(capfd):
    """T130."""
    x = parameter(2)
    first, second = ops.PrintOp(ops.Exp(x), prefix="ahead"), ops.PrintOp(ops.Exp(x) * 2.0, prefix="behind")
    parts = cut(Function([first, second], [x], (), [first, second]), 1, effects=1)
    values = run(parts.forward, [np.zeros(2, np.float32)])
    assert capfd.readouterr().out == "ahead: [1. 1.]\n"
    run(parts.backward, [*values[1:], *[np.zeros(2, np.float32) for _ in parts.arguments]])
    assert capfd.readouterr().out == "behind: [2. 2.]\n"
    assert [type(op).__name__ for op in parts.backward.effects] == ["PrintOp"]


# -- symbols -------------------------------------------------------------------------------------------------------


def test_a_length_that_no_residual_has_is_told_by_an_argument():
    n = nv.dim("n", min=1)
    x, w = parameter(n, 2), parameter(2)
    y = ops.Broadcast(w, (n, 2), [0]) + x
    parts = assert_whole(with_derivatives(y, [w], [x, w]), [normal(5, 2), normal(2)])
    assert parts.arguments == (0,) and "Parameter" not in kept(parts)


def test_symbols_within_expressions_are_told_too():
    n = nv.dim("n", min=1)
    x, w = parameter(2 * n + 1), parameter()
    parts = assert_whole(with_derivatives(ops.Broadcast(w, (2 * n + 1,), [0]) + x, [w], [x, w]),
                         [normal(7), np.float32(2)])
    assert parts.arguments == (0,)
