"""Gradients beside parameters, hooks, and where nothing is differentiated."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.ir.provenance import is_no_grad


class Descent:
    """w - rate * gradient."""

    def __init__(self, rate=0.5):
        self.rate = rate

    def update(self, parameter, gradient):
        return nv.assign(parameter, parameter - self.rate * gradient)


def make(values):
    return nv.tensor(values, requires_grad=True)


def test_which_tensors_have_a_gradient():
    """T40, T41: parameters, from the start and always the same; None for others."""
    for w in (make([1.0, 2.0]), nv.make_tensor((2,), requires_grad=True), nv.variable((2,)), nv.randn(2,
              requires_grad=True), nv.parameter(nv.ones((2,)) * 3)):
        assert w.requires_grad and w.has_param_ancestor and (w * 2).has_param_ancestor
        assert w.grad is w.grad and w.grad.tolist() == [0.0, 0.0] and w.grad.dtype is w.dtype
        assert not (w * 2).requires_grad and (w * 2).grad is None
    for other in (nv.tensor([1.0]), nv.make_tensor((2,)), nv.placeholder((2,)), nv.constant(1.0), nv.ones((2,)),
                  nv.variable((2,), dtype=nv.int32)):
        assert not other.requires_grad and other.grad is None and not other.has_param_ancestor
    assert nv.variable("H=2, W=3").grad.axes.names == ("H", "W")


def test_a_parameter_is_a_new_tensor():
    """T40: of what is computed, of what exists, with its name; integers have none."""
    x = nv.tensor([1.0, 2.0]).named("x")
    w = nv.parameter(x)
    assert w is not x and w.name == "x" and w.tolist() == [1.0, 2.0] and not x.requires_grad
    w.set_mref(0, 5.0)
    assert x.tolist() == [1.0, 2.0]
    assert nv.parameter([1.0, 2.0]).tolist() == [1.0, 2.0] and nv.parameter(2.0).shape == ()
    for call in (lambda: nv.parameter(nv.tensor([1], dtype=nv.int32)), lambda: nv.tensor([1], dtype="int32",
                                                                                         requires_grad=True)):
        with pytest.raises(WrongKind, match="only real tensors have gradients"):
            call()


def test_backward_replaces_or_adds():
    """T42: for all parameters below, and no others."""
    w, b, other = make([1.0, 2.0]), make(3.0), make(4.0)
    (other * 2).backward()
    loss = nv.sum(w * w) * b
    kept = w.grad
    loss.backward()
    loss.backward()
    assert w.grad.tolist() == [6.0, 12.0] and b.grad.item() == 5.0 and other.grad.item() == 2.0
    loss.backward(accumulate=True)
    assert w.grad.tolist() == [12.0, 24.0] and w.grad is kept
    loss.backward()
    assert w.grad.tolist() == [6.0, 12.0]


def test_backward_needs_a_scalar():
    """T43: nothing to do without parameters; the error names what makes a scalar."""
    w = make([1.0, 2.0])
    with pytest.raises(InvalidArgument, match="only a scalar has a backward") as caught:
        (w * w).backward()
    assert "nv.sum(x, out_axes=())" in caught.value.help and w.grad.tolist() == [0.0, 0.0]
    assert nv.sum(nv.ones((2,))).backward() is None
    with nv.no_grad(), pytest.raises(InvalidArgument, match="inside of nv.no_grad"):
        nv.sum(w).backward()
    with pytest.raises(WrongKind, match="there is no argument retain_graph") as caught:
        nv.sum(w).backward(retain_graph=True)
    assert "the graph stays" in caught.value.help
    with pytest.raises(WrongKind, match="accumulate is a switch"):
        nv.sum(w).backward(accumulate="no")


def test_reset_keeps_the_object():
    """T44: and makes it zeros."""
    w = make([1.0, 2.0])
    nv.sum(w * w).backward()
    kept, memory = w.grad, w.grad.storage
    nv.reset_grad(w)
    assert w.grad is kept and kept.tolist() == [0.0, 0.0] == memory.tolist()
    with pytest.raises(WrongKind, match="no gradient"):
        nv.reset_grad(nv.tensor([1.0]))


@pytest.mark.parametrize(("name", "told"), [("grad", "nv.reset_grad(x)"), ("requires_grad", "nv.parameter(x)")])
def test_what_other_libraries_set_says_what_there_is(name, told):
    """T41: gradients are tensors of their own."""
    with pytest.raises(nv.Immutable, match=f"{name} cannot be set") as caught:
        setattr(make([1.0]), name, None)
    assert told in caught.value.help


def test_nothing_is_differentiated_inside_of_no_grad():
    """T45: what is built there counts as given; it nests and ends with an exception."""
    w = make([1.0, 2.0])
    with nv.no_grad():
        square = w * w
        with nv.no_grad():
            assert not make([1.0]).requires_grad and not nv.parameter(w).requires_grad
            assert not nv.make_tensor((2,), requires_grad=True).requires_grad and nv.variable((2,)).requires_grad
        assert is_no_grad()
    assert not is_no_grad() and square.numpy().tolist() == [1.0, 4.0]
    nv.sum(square * w).backward()
    assert w.grad.tolist() == [1.0, 4.0]
    with pytest.raises(ZeroDivisionError), nv.no_grad():
        1 / 0
    assert not is_no_grad() and make([1.0]).requires_grad


def test_no_grad_is_of_one_thread():
    """T45: other threads go on as they were."""
    found = []
    with nv.no_grad():
        thread = threading.Thread(target=lambda: found.append(is_no_grad()))
        thread.start()
        thread.join()
    assert found == [False]


def test_functions_that_are_traced_inside_of_no_grad_have_derivatives():
    """T45: they are traced for good, so what is in force at the first call is not part of them."""
    slope = nv.grad(lambda x: x * x)
    with nv.no_grad():
        assert slope(np.float32(3)) == 6
    assert slope(np.float32(3)) == 6


def test_detached_tensors_stop_derivatives():
    """T24: with the elements as they are."""
    w = make([1.0, 2.0])
    assert w.detach().tolist() == [1.0, 2.0] and (w * 2).detach().tolist() == [2.0, 4.0]
    nv.sum(w * (w * w).detach()).backward()
    assert w.grad.tolist() == [1.0, 4.0]


def test_hooks():
    """T46, T47: what is hooked makes an effect of parameter and gradient."""
    w = make([1.0, 2.0]).named("w")
    nv.hook_optimizer(w, Descent())
    nv.sum(w * w).backward()
    nv.call_optimizer(w)
    assert w.tolist() == [0.0, 0.0]
    with pytest.warns(UserWarning, match="w had Descent hooked to it"):
        nv.hook_optimizer(w, Descent(1.0))
    nv.call_optimizer(w)
    assert w.tolist() == [-2.0, -4.0]


def test_the_first_hook_is_silent():
    """T46: only a second one warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nv.hook_optimizer(make([1.0]), Descent())


@pytest.mark.parametrize(("call", "kind", "told"), [
    (lambda: nv.call_optimizer(make([1.0])), InvalidArgument, "nv.hook_optimizer"),
    (lambda: nv.call_optimizer(nv.tensor([1.0])), WrongKind, "nv.parameter"),
    (lambda: nv.hook_optimizer(nv.ones((2,)), Descent()), WrongKind, "nv.parameter"),
    (lambda: nv.hook_optimizer(3, Descent()), WrongKind, "nv.parameter"),
    (lambda: nv.hook_optimizer(make([1.0]), 3), WrongKind, "nv.assign")], ids=range(5))
def test_what_hooks_refuse(call, kind, told):
    """T46, T47: the error names what is missing."""
    with pytest.raises(kind) as caught:
        call()
    assert told in caught.value.help and caught.value.location.file == __file__


def test_an_update_that_is_no_effect():
    """T46: the error says what one is."""
    class Wrong:
        def update(self, parameter, gradient):
            return parameter - gradient
    w = make([1.0])
    nv.hook_optimizer(w, Wrong())
    with pytest.raises(WrongKind, match="the optimiser gives no effect"):
        nv.call_optimizer(w)
    assert w.tolist() == [1.0]


def test_memory_that_is_used_again_keeps_what_a_derivative_needs():
    """T48: ``a`` is read by the derivative after its memory could have been taken."""
    p, q, c = (make(np.float32(values)) for values in ([1, 2], [3, 4], [5, 6]))
    second = nv.tensor([7.0, 8.0])
    for _ in range(2):
        a = p * q
        out = (a * c) + (second + a)
        assert out.tolist() == [3 * 5 + 7 + 3, 8 * 6 + 8 + 8]
        nv.sum(out).backward()
        assert c.grad.tolist() == [3.0, 8.0] and p.grad.tolist() == [18.0, 28.0] and a.tolist() == [3.0, 8.0]


def test_a_rule_gives_gradients_to_operands_alone():
    """D6: what the function reads besides has none through it, as everywhere in the rule."""
    w = nv.variable((2,), 3.0)
    scaled = nv.custom_vjp(lambda x: x * w, lambda gradient, x: gradient * w)
    x = nv.variable((2,), 1.0)
    loss = nv.sum(scaled(x), out_axes=())
    assert nv.deriv(loss, x).tolist() == [3.0, 3.0] and nv.deriv(loss, w).tolist() == [0.0, 0.0]
    given = nv.custom_vjp(lambda x, w: x * w, lambda gradient, x, w: (gradient * w, gradient * x))
    assert nv.deriv(nv.sum(given(x, w), out_axes=()), w).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("op", "operand", "call"), [
    ("grad", "function", lambda: nv.grad(nv.constant(1.0))),
    ("value_and_grad", "function", lambda: nv.value_and_grad(3)),
    ("custom_vjp", "function", lambda: nv.custom_vjp(3)), ("custom_vjp", "backward", lambda: nv.custom_vjp(nv.exp, 3)),
    ("defvjp", "backward", lambda: nv.custom_vjp(nv.exp).defvjp(3))])
def test_what_takes_a_function_refuses_anything_else_at_once(op, operand, call):
    with pytest.raises(WrongKind, match=f"{op} takes a function") as caught:
        call()
    assert (caught.value.op, caught.value.operand) == (op, operand)


def test_an_argument_is_given_by_any_integer_but_by_no_truth_value():
    assert nv.grad(lambda x, y: x * y, np.int64(1))(2.0, 3.0).item() == 2.0
    with pytest.raises(InvalidArgument, match="no argument True"):
        nv.grad(lambda x, y: x * y, True)
