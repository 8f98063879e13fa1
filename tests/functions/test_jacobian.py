"""Jacobians and Hessians: both modes against differences, nesting, axes, compositions."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind

RNG = np.random.default_rng(9)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


WEIGHTS = floats(4, 3)


def differences(function, x, step=1e-6):
    """The Jacobian of a function of one array, with the axes of the result first."""
    x = np.asarray(x, np.float64)
    columns = []
    for at in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[at] = step
        columns.append((np.asarray(function(x + moved)) - np.asarray(function(x - moved))) / (2 * step))
    return np.moveaxis(np.reshape(columns, (*x.shape, *columns[0].shape)), range(x.ndim), range(-x.ndim, 0))


def layer(x):
    return nv.tanh(nv.matmul(WEIGHTS, x)) * nv.sum(x)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_both_modes_are_differences(mode, transformer):
    """D9: the axes of the result come first, whichever mode computes it."""
    x = floats(3, 2)
    compiled = nv.jit(nv.jacobian(layer, mode=mode), transformer=nv.transformers.make_transformer(transformer))
    expected = differences(nv.jit(layer), x)
    assert expected.shape == (4, 2, 3, 2)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(nv.jacobian(layer, mode=mode)(x), expected, rtol=1e-6, atol=1e-6)


def test_nested_arguments_and_results():
    """D9: for each leaf of the result, the nesting of the argument; several arguments give a tuple."""
    def f(parameters, x):
        return {"out": x * parameters["w"], "sum": nv.sum(parameters["b"]), "none": None}
    parameters, x = {"w": floats(3), "b": floats(2)}, floats(3)
    for mode in ("forward", "reverse"):
        found = nv.jacobian(f, (0, "x"), mode)(parameters, x)
        own, other = found["out"]
        np.testing.assert_allclose(own["w"], np.diag(x))
        assert own["b"].shape == (3, 2) and not own["b"].any() and found["none"] is None
        np.testing.assert_allclose(other, np.diag(parameters["w"]))
        assert found["sum"][0]["b"].tolist() == [1.0, 1.0] and found["sum"][1].tolist() == [0.0] * 3
    alone = nv.jacobian(f, "parameters")(parameters, x)
    np.testing.assert_allclose(alone["out"]["w"], np.diag(x))


def test_scalars_and_empty_axes():
    assert nv.jacobian(lambda x: x ** 3)(2.0).item() == 12.0
    assert nv.hessian(lambda x: x ** 3)(2.0).item() == 12.0
    assert nv.jacobian(lambda x: x * 2)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
    assert nv.jacobian(lambda x: nv.constant([1.0, 2.0]))(floats(3)).tolist() == [[0.0] * 3] * 2


def test_names():
    """D9: named axes of the result, then those of the argument, one level up where both have one."""
    x, w = nv.placeholder("F=3"), nv.placeholder("F=3, K=2")
    one = nv.jacobian(lambda x: nv.dot(x, w))(x)
    assert one.axes.names == ("K", "F") and one.shape == (2, 3)
    two = nv.hessian(lambda x: nv.sum(nv.exp(x)))(x)
    assert [axis.label for axis in two.axes] == ["F", "F+1"]
    three = nv.jacobian(nv.hessian(lambda x: nv.sum(nv.exp(x))))(x)
    assert [axis.label for axis in three.axes] == ["F", "F+1", "F+2"]
    numbers = np.float32(floats(3))
    np.testing.assert_allclose(nv.computation(two, x)(numbers), np.diag(np.exp(numbers)), rtol=1e-6)


def test_symbolic_lengths():
    """D9: sizes may be symbols."""
    x = nv.placeholder((nv.dim("n"),))
    run = nv.computation([nv.jacobian(nv.sin)(x), nv.hessian(lambda x: nv.sum(x ** 3))(x)], x)
    for length in (0, 1, 4):
        numbers = np.float32(floats(length))
        jacobian, hessian = run(numbers)
        np.testing.assert_allclose(jacobian, np.diag(np.cos(numbers)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(hessian, np.diag(6 * numbers), rtol=1e-5, atol=1e-6)


def test_the_hessian_of_a_quadratic():
    """D10: exact, by both orders of modes."""
    matrix, x = floats(5, 5), floats(5)

    def quadratic(x):
        return nv.sum(x * nv.matmul(matrix, x)) * 0.5
    expected = (matrix + matrix.T) / 2
    np.testing.assert_allclose(nv.hessian(quadratic)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(nv.jacobian(nv.grad(quadratic), mode="reverse")(x), expected, rtol=1e-12)
    np.testing.assert_allclose(nv.jit(nv.hessian(quadratic))(x), expected, rtol=1e-12)


def test_the_hessian_of_a_network():
    """D10: of a small network, against differences of its gradient; for nested parameters blocks of blocks."""
    data, labels = floats(6, 3), RNG.integers(0, 4, 6)

    def loss(w, v):
        return nv.nn.losses.cross_entropy(nv.matmul(nv.tanh(nv.matmul(data, w)), v), labels)
    w, v, gradient = floats(3, 5), floats(5, 4), nv.jit(nv.grad(loss))
    np.testing.assert_allclose(nv.hessian(loss)(w, v), differences(lambda w: gradient(w, v), w), rtol=1e-5, atol=1e-7)
    blocks = nv.hessian(loss, (0, 1))(w, v)
    np.testing.assert_allclose(blocks[0][1], differences(lambda v: gradient(w, v), v), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(blocks[0][1], np.moveaxis(blocks[1][0], (2, 3), (0, 1)), rtol=1e-10)


def test_a_product_with_the_hessian_is_that_of_hvp():
    """D10: a direction costs no matrix, and gives the same."""
    x, direction = floats(3), floats(3)
    def loss(x):
        return nv.sum(layer(x) ** 2)
    np.testing.assert_allclose(nv.hessian(loss)(x) @ direction, nv.hvp(loss, (x,), (direction,)), rtol=1e-10)


def test_of_many_examples():
    """D24: a Jacobian for each example."""
    x = floats(4, 3)
    rows = nv.vmap(nv.jacobian(lambda x: nv.sin(nv.matmul(WEIGHTS, x))))(x)
    np.testing.assert_allclose(rows, np.cos(x @ WEIGHTS.T)[:, :, None] * WEIGHTS)


def test_a_rule_that_is_not_linear_has_reverse_mode():
    """D6: what forward mode refuses."""
    clipped = nv.custom_vjp(lambda x: x, lambda gradient, x: nv.clip(gradient, -1, 1))
    assert nv.jacobian(clipped, mode="reverse")(floats(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("call, kind, words", [
    (lambda: nv.jacobian(3), WrongKind, "jacobian takes a function"),
    (lambda: nv.jacobian(nv.sin, mode="sideways"), InvalidArgument, "no such mode"),
    (lambda: nv.jacobian(nv.sin, argnums=4), InvalidArgument, "has no argument 4"),
    (lambda: nv.jacobian(lambda x: x)(np.arange(3)), WrongKind, "only arguments of floats"),
    (lambda: nv.jacobian(lambda x: x > 0)(floats(3)), WrongKind, "only floats have derivatives"),
    (lambda: nv.hessian(lambda x: "text")(floats(3)), WrongKind, "must give tensors"),
])
def test_wrong_input(call, kind, words):
    """D7: errors name the argument, and what to do."""
    with pytest.raises(kind, match=words) as caught:
        call()
    assert caught.value.help and caught.value.op
