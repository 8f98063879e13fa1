"""Gradients of functions whose arguments hold what has no derivative, and errors of all functions that take one."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind

X = np.float32([1, 2, 3])
LAYER = {"w": X, "bias": None}


def loss(layer):
    assert layer["bias"] is None
    return nv.sum(layer["w"] ** 3)


def along(function):
    """The product of the Hessian of a function of one argument with ones, as a function of that argument."""
    def product(x):
        return nv.hvp(function, (x,), ({"w": nv.ones((3,)), "bias": None} if isinstance(x, dict) else x,))
    return product


GRADIENT = {"w": 3 * X ** 2, "bias": None}
HESSIAN = {"w": {"w": np.diag(6 * X), "bias": None}, "bias": None}
FOUND = [(nv.grad(loss), GRADIENT), (lambda x: nv.value_and_grad(loss)(x)[1], GRADIENT),
         (nv.jacobian(loss), GRADIENT), (nv.jacobian(loss, mode="forward"), GRADIENT), (nv.hessian(loss), HESSIAN),
         (along(loss), {"w": 6 * X, "bias": None}), (lambda x: nv.vjp(loss, x)[1](1.0)[0], GRADIENT)]


def alike(found, expected):
    """Whether two nested values have the same entries."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all([alike(found[key], expected[key]) for key in expected])
    return found is None if expected is None else np.allclose(found, expected)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("call, expected", FOUND)
def test_nothing_has_no_gradient(call, expected, transformer):
    """D3: where an argument has None, there is None."""
    assert alike(call(LAYER), expected)
    assert alike(nv.jit(call, transformer=nv.transformers.make_transformer(transformer))(LAYER), expected)
    many = nv.vmap(call)({"w": np.stack([X, X]), "bias": None})
    assert alike(many, expected)  # both examples are the same


def test_an_argument_may_be_nothing():
    """D3: also where all of an argument is None."""
    def squares(x, bias):
        return nv.sum(x * x)
    for function, first in ((nv.grad, 2 * X), (nv.jacobian, 2 * X)):
        found = function(squares, (0, 1))(X, None)
        np.testing.assert_allclose(found[0], first)
        assert found[1] is None and function(squares, "bias")(X, None) is None
    found = nv.hessian(squares, (0, 1))(X, None)
    np.testing.assert_allclose(found[0][0], 2 * np.eye(3))
    assert found[0][1] is None and found[1] is None


@pytest.mark.parametrize("wrong, words", [(3, "only arguments of floats"), ("text", "cannot be an operand")])
@pytest.mark.parametrize("op, call, path", [
    ("grad", nv.grad(loss), "layer['bias']"), ("value_and_grad", nv.value_and_grad(loss), "layer['bias']"),
    ("jacobian", nv.jacobian(loss), "layer['bias']"), ("hessian", nv.hessian(loss), "layer['bias']"),
    ("hvp", lambda x: nv.hvp(loss, (x,), (x,)), "primals[0]['bias']"),
    ("hvp", along(loss), "primals[0]['bias']"),
    ("jvp", lambda x: nv.jvp(loss, (x,), (x,)), "primals[0]['bias']"),
])
def test_errors_name_the_function_and_the_path(op, call, path, wrong, words):
    """D7."""
    with pytest.raises(WrongKind, match=words) as caught:
        call({"w": X, "bias": wrong})
    assert (caught.value.op, caught.value.operand) == (op, path) and caught.value.help


@pytest.mark.parametrize("op, call", [
    ("grad", nv.grad), ("value_and_grad", nv.value_and_grad), ("hvp", along)])
def test_errors_about_the_result_name_the_function(op, call):
    """D7: a function that must be scalar is none, or gives several."""
    with pytest.raises(InvalidArgument, match="not a scalar") as caught:
        call(lambda x: x * x)(X)
    assert (caught.value.op, caught.value.operand) == (op, "result") and "error=" not in caught.value.help
    with pytest.raises(WrongKind, match="must give one tensor") as caught:
        call(lambda x: (x, x))(X)
    assert caught.value.op == op
    with pytest.raises(WrongKind, match="real values") as caught:
        call(lambda x: nv.sum(x).astype(nv.int32))(X)
    assert caught.value.op == op
