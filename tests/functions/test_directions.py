"""Functions of functions along directions: values, nesting, axes, effects, and their compositions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, NotSupported, WrongKind

RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def network(parameters, x):
    return nv.tanh(nv.matmul(x, parameters["w"]) + parameters["b"]) * 2.0


PARAMETERS, DIRECTION = [{"w": floats(3, 4), "b": floats(4)} for _ in range(2)]
X, X_DIRECTION = floats(5, 3), floats(5, 3)


def numpy_network(parameters, x):
    return np.tanh(x @ parameters["w"] + parameters["b"]) * 2.0


def moved(step: float) -> np.ndarray:
    """The network's value a step along the directions."""
    parameters = {name: PARAMETERS[name] + step * DIRECTION[name] for name in PARAMETERS}
    return numpy_network(parameters, X + step * X_DIRECTION)


def slope() -> np.ndarray:
    return (moved(1e-5) - moved(-1e-5)) / 2e-5


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_jvp_is_the_slope_along_the_tangents(transformer):
    """D1: alone and in a compiled function, on both transformers."""
    compiled = nv.jit(lambda *given: nv.jvp(network, given[:2], given[2:]),
                      transformer=nv.transformers.make_transformer(transformer))
    for value, tangent in (compiled(PARAMETERS, X, DIRECTION, X_DIRECTION),
                           nv.jvp(network, (PARAMETERS, X), [DIRECTION, X_DIRECTION])):
        np.testing.assert_allclose(value, moved(0.0), rtol=1e-12)
        np.testing.assert_allclose(tangent, slope(), rtol=1e-8, atol=1e-9)


def test_vjp_is_the_transpose_and_may_be_called_again():
    """D2: the linear functions of vjp and linearize are transposes of each other."""
    value, pull = nv.vjp(network, PARAMETERS, X)
    again, push = nv.linearize(network, PARAMETERS, X)
    np.testing.assert_allclose(value, again)
    for _ in range(2):
        weights, direction, x_direction = floats(5, 4), {"w": floats(3, 4), "b": floats(4)}, floats(5, 3)
        gradient, x_gradient = pull(weights)
        along = push(direction, x_direction)
        expected = sum((gradient[name] * direction[name]).sum() for name in direction)
        np.testing.assert_allclose((weights * along).sum(), expected + (x_gradient * x_direction).sum(), rtol=1e-10)
    np.testing.assert_allclose(push(DIRECTION, X_DIRECTION), slope(), rtol=1e-8, atol=1e-9)


def test_what_the_linear_function_needs_is_kept():
    """D2: a variable that is written afterwards changes nothing, nor does an array of the caller's."""
    w, x = nv.variable((2,), 3.0, nv.float64), np.array([1.0, 2.0])
    value, pull = nv.vjp(lambda x: x * x * w, x)
    _, push = nv.linearize(lambda x: x * x * w, x)
    nv.evaluate(nv.assign(w, 100.0))
    x[:] = 50
    assert value.tolist() == [3.0, 12.0]
    assert pull(np.ones(2))[0].tolist() == push(np.ones(2)).tolist() == [6.0, 12.0]


def test_random_numbers_are_drawn_once():
    """D2: the derivative belongs to the numbers that the value was computed from."""
    value, pull = nv.vjp(lambda x: x * nv.uniform((4,), dtype=nv.float64), np.ones(4))
    np.testing.assert_array_equal(pull(np.ones(4))[0], value)
    np.testing.assert_array_equal(pull(np.ones(4))[0], value)


def test_none_and_integers_stay():
    """D1: what does not move has the tangent None, and integers have no derivative."""
    def choose(table, rows):
        return nv.gather(table, rows, 0), rows + 1
    table, rows = floats(4, 2), np.array([2, 0])
    value, tangent = nv.jvp(choose, (table, rows), (np.ones((4, 2)), None))
    assert tangent[0].tolist() == [[1.0, 1.0]] * 2 and tangent[1].tolist() == [0, 0] and tangent[1].dtype == np.int64
    _, pull = nv.vjp(choose, table, rows)
    gradient, none = pull((np.ones((2, 2)), None))
    assert none is None and gradient.sum() == 4.0
    assert nv.jvp(choose, (table, rows), (None, None))[1][0].tolist() == [[0.0, 0.0]] * 2
    assert nv.linearize(choose, table, rows)[1](None, None)[0].tolist() == [[0.0, 0.0]] * 2


def test_entries_are_found_by_their_keys():
    """D3: the order of a dict means nothing; None stands for all of a container."""
    reversed_keys = dict(reversed(DIRECTION.items()))
    for tangents in ((reversed_keys, X_DIRECTION), [reversed_keys, X_DIRECTION]):
        np.testing.assert_allclose(nv.jvp(network, (PARAMETERS, X), tangents)[1], slope(), rtol=1e-8, atol=1e-9)
    zeros = {"w": np.zeros((3, 4)), "b": np.zeros(4)}
    _, alone = nv.jvp(network, (PARAMETERS, X), (None, X_DIRECTION))
    np.testing.assert_allclose(alone, nv.jvp(network, (PARAMETERS, X), (zeros, X_DIRECTION))[1])


class Pair(NamedTuple):
    first: object
    second: object


def test_results_are_nested_as_the_function_nests_them():
    """D3: values, tangents and gradients have the containers of what they belong to."""
    def f(pair):
        return {"both": Pair(pair.first * 2.0, [pair.second, None])}
    value, tangent = nv.jvp(f, (Pair(1.0, 2.0),), (Pair(10.0, 20.0),))
    assert isinstance(tangent["both"], Pair) and tangent["both"].first == 20.0 and tangent["both"].second[1] is None
    _, pull = nv.vjp(f, Pair(1.0, 2.0))
    assert pull(value)[0] == Pair(4.0, 2.0)


def test_named_axes():
    """D4: a tangent goes to its primal by names, and may have fewer axes."""
    x = nv.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], axes="H=2, W=3")
    direction = nv.constant([1.0, 10.0], axes="H=2")

    def along(x, direction):
        value, tangent = nv.jvp(lambda x: nv.sum(x * x, out_axes="W"), (x,), (direction,))
        assert value.axes.names == tangent.axes.names == ("W",)
        return tangent
    expected = (2 * x.numpy() * direction.numpy()[:, None]).sum(0)
    np.testing.assert_allclose(nv.jit(along)(x, direction), expected)
    placed = nv.placeholder("H=2, W=3")
    built = nv.computation(along(placed, direction), placed)
    np.testing.assert_allclose(built(x.numpy()), expected)


def test_hvp_is_the_derivative_of_the_gradient():
    """D5: forward over reverse, on one argument or several."""
    matrix = floats(4, 4)

    def quadratic(x):
        return nv.sum(x * nv.matmul(matrix, x))
    x, direction = floats(4), floats(4)
    np.testing.assert_allclose(nv.hvp(quadratic, (x,), (direction,)), (matrix + matrix.T) @ direction)
    first, second = nv.hvp(lambda x, y: nv.sum(x * x * y), (x, matrix[0]), (direction, matrix[1]))
    np.testing.assert_allclose(first, 2 * matrix[0] * direction + 2 * x * matrix[1])
    np.testing.assert_allclose(second, 2 * x * direction)


def loss(x):
    return nv.sum(nv.exp(nv.sin(x)) * x)


def test_both_orders_of_modes_agree():
    """D5: jvp of grad, grad of jvp, and grad of grad along a direction."""
    x, direction = floats(6), floats(6)
    found = [nv.jvp(nv.grad(loss), (x,), (direction,))[1],
             nv.grad(lambda x: nv.jvp(loss, (x,), (direction,))[1])(x),
             nv.grad(lambda x: nv.sum(nv.grad(loss)(x) * direction))(x),
             nv.vjp(nv.grad(loss), x)[1](direction)[0],
             nv.linearize(nv.grad(loss), x)[1](direction),
             nv.jit(lambda x, v: nv.hvp(loss, (x,), (v,)))(x, direction)]
    steps = [nv.grad(loss)(x + step * direction) for step in (1e-6, -1e-6)]
    for entry in found:
        np.testing.assert_allclose(entry, (steps[0] - steps[1]) / 2e-6, rtol=1e-6, atol=1e-6)


def test_derivatives_of_linear_functions():
    """D5: the linear functions of vjp and linearize are functions like others, inside of which derivatives go on."""
    def along(x):
        value, push = nv.linearize(loss, x)
        _, pull = nv.vjp(loss, x)
        return push(x) + nv.sum(pull(1.0)[0]) * value
    x = floats(3)
    expected = [(along(x + step)[()] - along(x - step)[()]) / 2e-6 for step in np.eye(3) * 1e-6]
    np.testing.assert_allclose(nv.grad(along)(x), expected, rtol=1e-6)


def test_third_derivatives():
    """D5: to any order."""
    def nested(function, order):
        return function if order == 0 else nested(lambda x: nv.jvp(function, (x,), (1.0,))[1], order - 1)
    assert nested(lambda x: x ** 5, 3)(2.0).item() == 60 * 4.0


def test_derivatives_of_the_user():
    """D6: a rule for gradients that is linear in them gives tangents too; another one says so."""
    doubled = nv.custom_vjp(lambda x: nv.sin(x), lambda gradient, x: gradient * 100.0)
    assert nv.jvp(doubled, (3.0,), (2.0,))[1].item() == 200.0
    clipped = nv.custom_vjp(lambda x: x, lambda gradient, x: nv.clip(gradient, -1, 1))
    with pytest.raises(NotSupported, match="no linear function of the gradient") as caught:
        nv.jvp(clipped, (3.0,), (1.0,))
    assert caught.value.op == "CustomDerivative" and "reverse" in caught.value.help


@pytest.mark.parametrize("rule", [
    lambda g, x: g + x, lambda g, x: nv.where(x > 1, g, 1.0), lambda g, x: nv.sign(g) * 3.0, lambda g, x: x * 2.0,
    lambda g, x: nv.stop_gradient(g), lambda g, x: nv.concatenate([g[:1], nv.ones(1)], 0) * 2.0,
    lambda g, x: nv.sin(x) - (g * 2.0 + 1.0)], ids=range(7))
def test_rules_that_add_to_the_gradient_or_take_steps_have_no_tangents(rule):
    """D6: they are no linear functions of the gradient, whether their derivative reads it or not."""
    f = nv.custom_vjp(lambda x: x * 1.0, rule)
    with pytest.raises(NotSupported, match="no linear function of the gradient"):
        nv.jvp(f, (np.array([0.5, 2.0]),), (np.ones(2),))
    assert nv.vjp(f, np.array([0.5, 2.0]))[1](np.ones(2))[0].shape == (2,)


@pytest.mark.parametrize("rule", [
    lambda g, x, y: (g * y, nv.sign(g)), lambda g, x, y: (nv.round(g), g * x), lambda g, x, y: (g * y + nv.floor(g), g),
    lambda g, x, y: (g, nv.where(g > 0, x, 0.0)), lambda g, x, y: (g * y, nv.stop_gradient(g) * x),
    lambda g, x, y: (g * y, nv.one_hot(nv.argmax(g, 0), 2) * x)], ids=range(6))
def test_a_step_beside_a_slope_has_no_tangents(rule):
    """D6: in one operand or in two, whichever of them moves; a rule that is asked for its slope alone gives it."""
    f = nv.custom_vjp(lambda x, y: x * y, rule)
    pair, ones = (np.array([0.5, 2.0]), np.array([3.0, -1.0])), np.ones(2)
    with pytest.raises(NotSupported, match="no linear function of the gradient"):
        nv.jvp(f, pair, (ones, ones))
    assert [part.shape for part in nv.vjp(f, *pair)[1](ones)] == [(2,), (2,)]


def test_checks_of_a_gradient_leave_a_rule_linear():
    """D6: a value that exists after others does not follow from these."""
    checked = nv.custom_vjp(lambda x: x * 1.0, lambda g, x: nv.Tensor(nv.ops.After(g.value, nv.isfinite(g).value)) * x)
    assert nv.jvp(checked, (2.0,), (3.0,))[1].item() == 6.0


@pytest.mark.parametrize("rule", [
    lambda g, x: nv.where(x > 1, g, 0.0), lambda g, x: g - nv.zeros(2), lambda g, x: nv.stack([g[0] * 2, g[1] * 0.0]),
    lambda g, x: g * nv.sign(x) + g, lambda g, x: nv.zeros_like(g)], ids=range(5))
def test_rules_with_zeros_are_linear(rule):
    """D6: where both modes give the same."""
    f = nv.custom_vjp(lambda x: x * 1.0, rule)
    x, direction = np.array([0.5, 2.0]), np.array([3.0, 5.0])
    np.testing.assert_array_equal(nv.jvp(f, (x,), (direction,))[1], nv.vjp(f, x)[1](direction)[0])


def test_an_op_of_the_users_may_state_its_rule():
    """D6: ``jvp`` of a node, for what does not follow from ``vjp``."""
    @nv.defnode("x[~] -> y[~]")
    class Sine:
        def decompose(self, x):
            return nv.sin(x)

        def jvp(self, tangents, x):
            return (tangents[0] * 1000.0,)
    assert nv.jvp(Sine, (0.0,), (1.0,))[1].item() == 1000.0
    assert nv.grad(lambda x: Sine(x))(0.0).item() == 1.0


def test_no_grad_cuts_paths():
    """D1: as in reverse mode."""
    def f(x):
        with nv.no_grad():
            fixed = x * x
        return fixed * x
    assert nv.jvp(f, (3.0,), (1.0,))[1].item() == 9.0
    assert nv.jvp(lambda x: nv.stop_gradient(x) * x, (3.0,), (1.0,))[1].item() == 3.0


def test_a_value_is_read_where_the_function_stands():
    """D2: a derivative reads the variables that its function reads, in a sequence too."""
    w = nv.variable((), 2.0)

    def f(x):
        return nv.sequential([nv.assign(w, 5.0), x * x * w])
    value, tangent = nv.jit(lambda x: nv.jvp(f, (x,), (1.0,)))(3.0)
    assert (value.item(), tangent.item()) == (45.0, 30.0)


@pytest.mark.parametrize("call, kind, words", [
    (lambda: nv.jvp(3, (1.0,), (1.0,)), WrongKind, "jvp takes a function"),
    (lambda: nv.jvp(loss, np.ones(2), np.ones(2)), WrongKind, "primals are a tuple"),
    (lambda: nv.jvp(loss, (np.ones(2),), 1.0), WrongKind, "tangents are a tuple"),
    (lambda: nv.jvp(loss, ({"x": 1.0},), (1.0,)), InvalidArgument, "must be nested as the primals"),
    (lambda: nv.jvp(loss, (1.0,), (1.0, 2.0)), InvalidArgument, "must be nested as the primals"),
    (lambda: nv.jvp(loss, (np.arange(2),), (np.ones(2),)), WrongKind, "only arguments of floats"),
    (lambda: nv.jvp(loss, (np.ones(2),), (np.ones(3),)), Exception, "3"),
    (lambda: nv.jvp(loss, (np.ones(()),), (np.ones(3),)), InvalidArgument, "must have the axes of its primal"),
    (lambda: nv.jvp(lambda x: "text", (1.0,), (1.0,)), WrongKind, "must give tensors"),
    (lambda: nv.jvp(lambda x: nv.assign(nv.variable(()), x), (1.0,), (1.0,)), WrongKind, "must give tensors"),
    (lambda: nv.vjp(loss, np.ones(2))[1]((1.0, 2.0)), InvalidArgument, "must be nested as the value"),
    (lambda: nv.linearize(loss, np.ones(2))[1](1.0, 2.0), InvalidArgument, "must be nested as the primals"),
    (lambda: nv.vjp(lambda x: (x, x > 0), 1.0)[1]((1.0, 1.0)), InvalidArgument, "is no float"),
    (lambda: nv.hvp(lambda x: x * x, (np.ones(2),), (np.ones(2),)), InvalidArgument, "not a scalar"),
    (lambda: nv.hvp(loss, (np.arange(2),), (np.ones(2),)), WrongKind, "only arguments of floats"),
    (lambda: nv.vjp(), Exception, "fun"),
])
def test_wrong_input(call, kind, words):
    """D7: errors name the argument, and what to do."""
    with pytest.raises(kind, match=words) as caught:
        call()
    if isinstance(caught.value, nv.NervureError):
        assert caught.value.help and caught.value.op


@pytest.mark.parametrize("function", [
    nv.checkpoint(lambda x: nv.sin(x) * nv.exp(x)),
    lambda x: nv.scan(lambda c, row: (nv.sin(c) * row, c), x, nv.constant([1.0, 2.0, 3.0]), checkpoint=2)[0],
    lambda x: nv.scan(lambda c, row: (nv.checkpoint(nv.sin)(c) * row, c), x, nv.constant([1.0, 2.0, 3.0]))[0]],
    ids=["checkpoint", "scan", "inside"])
def test_a_derivative_of_the_users_that_makes_values_again_has_directions(function):
    """D6: tangents make nothing again, so that they need no gradient to come after."""
    own = nv.custom_vjp(function, lambda gradient, x: nv.vjp(function, x)[1](gradient)[0] * 2.0)
    x, direction = nv.constant([0.5, -1.0]), nv.constant([1.0, 3.0])
    expected = 2 * np.asarray(nv.jvp(function, (x,), (direction,))[1])
    np.testing.assert_allclose(np.asarray(nv.jvp(own, (x,), (direction,))[1]), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(nv.linearize(own, x)[1](direction)), expected, rtol=1e-6)
