"""Gradients of imported models stop where PyTorch's do, and pass by what it writes without them."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402
from nervure import transformers  # noqa: E402

nn = torch.nn


def no_grad(m, x):
    with torch.no_grad():
        scale = m.w.square().sum()
    return x * m.w * scale


def nested(m, x):
    with torch.no_grad():
        first = m.w.square()
        with torch.enable_grad():
            second = first * m.w
        third = second * m.w
    return x * first + second + third * m.w


def average(m, x):
    y = x * m.w
    with torch.no_grad():
        m.mean.mul_(0.9).add_(y.mean(0) * 0.1)
    return y * m.mean


def average_of_detached(m, x):
    y = x * m.w
    m.mean.mul_(0.9).add_(y.detach().mean(0) * 0.1)
    return y - m.mean * m.w


def detached_in_place(m, x):
    scale = m.w * 2
    scale.detach_()
    return x * m.w * scale


def clipped(m, x):
    with torch.no_grad():
        m.w.copy_(m.w.clamp(max=2.5) * 2)
    return (x * m.w).square()


def clipped_detached(m, x):
    m.w.detach()[0:1].clamp_(max=2.125)
    return (x * m.w).square()


def written(m, x):
    y = x * m.w
    with torch.no_grad():
        y[0].mul_(3)
        y += 1
    return y * y.detach() + y[0]


def unchanged(m, x):
    with torch.no_grad():
        same, other, view = m.w, m.w * 2, m.w.view(2, 1)
    return x * same * other * view.sum()


FUNCTIONS = {
    "detach": lambda m, x: x * m.w * m.w.detach(), "no_grad": no_grad, "nested": nested, "average": average,
    "detach_": detached_in_place,
    "straight-through": lambda m, x: x * (m.w + (m.w.round() - m.w).detach()),
    "two losses": lambda m, x: (x - m.w.detach()).square() + 0.25 * (x.detach() - m.w).square(),
    "average of detached": average_of_detached, "clipped": clipped, "clipped detached": clipped_detached,
    "written": written, "unchanged": unchanged}


class Model(nn.Module):
    """It has a weight and a moving average."""

    def __init__(self, function):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([2.25, 3.0]))
        self.register_buffer("mean", torch.tensor([0.5, 2.0]))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("kind", ["cpu", "interpreter"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_stop_where_they_do_in_pytorch(name, kind, dynamic, monkeypatch):
    model, x = Model(FUNCTIONS[name]), torch.tensor([[1.0, 2], [3, -1], [0.5, 0.25]], requires_grad=True)
    with transformers.make_transformer(kind) as made:
        monkeypatch.setattr(transformers, "default", lambda: made)
        own, given = nv.from_torch(model, [x.detach()[:3 - dynamic]], dynamic), nv.constant(x.detach().numpy())
        y, places = own(given), dict(own.named_parameters())
        found = nv.computation([y, *nv.deriv(nv.sum(y, out_axes=()), [given, places["w"]])])()
        moved = {path: own.place_at(path).numpy() for path in model.state_dict()}
    expected = model(x)
    gradients = torch.autograd.grad(expected.sum(), [x, model.w])
    for one, other in zip(found, [expected, *gradients], strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-5, atol=1e-5)
    for path, value in model.state_dict().items():
        np.testing.assert_allclose(moved[path], value.numpy(), rtol=1e-5)


def test_the_power_iteration_of_a_spectral_norm_has_no_gradient():
    model, x = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), torch.randn(2, 3)
    own = nv.from_torch(model, [x])
    y = own(x.numpy())
    places = own.named_parameters()
    found = nv.deriv(nv.sum(y * y, out_axes=()), [place for _, place in places])
    model(x).square().sum().backward()
    named = dict(model.named_parameters())
    for (path, _), one in zip(places, found, strict=True):
        np.testing.assert_allclose(one.numpy(), named[path].grad.numpy(), rtol=1e-4, atol=1e-5)


def test_a_program_that_is_imported_stays_what_it_was():
    model, x = Model(no_grad), torch.ones(3, 2)
    program = torch.export.export(model, (x,))
    before = str(program)
    own = nv.from_torch(program)
    found = nv.deriv(nv.sum(own(x.numpy())), own.place_at("w"))
    model(x).sum().backward()
    np.testing.assert_allclose(found.numpy(), model.w.grad.numpy(), rtol=1e-6)
    assert str(program) == before


class Reversed(torch.autograd.Function):
    """What it is given; the gradient has the other sign."""

    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


def hooked(m, x):
    y = m.w * 1
    y.register_hook(lambda gradient: gradient * 5)
    return x * y


def watched(model):
    model.register_full_backward_hook(lambda m, before, after: None)
    return model


def masked(model):
    model.w.register_hook(lambda gradient: gradient * 0)
    return model


@pytest.mark.parametrize(("model", "source"), [
    (Model(lambda m, x: x * Reversed.apply(m.w)), "Reversed.backward"), (Model(hooked), "register_hook"),
    (watched(Model(no_grad)), "a hook of a module"), (masked(Model(no_grad)), "a hook of w")])
def test_gradients_of_a_models_own_are_refused_in_training(model, source):
    x = torch.ones(3, 2)
    own = nv.from_torch(model, [x])
    with pytest.raises(nv.NotSupported, match=f"torch.export drops gradients .* {source}, at ") as caught:
        own(x.numpy())
    assert f", at {__file__}:" in caught.value.message
    np.testing.assert_array_equal(own.eval()(x.numpy()).numpy(), model.eval()(x).detach().numpy())
    assert Reversed.apply(torch.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("is_reentrant", [False, True])
def test_gradients_of_pytorchs_own_functions_are_those_of_their_ops(is_reentrant, is_training):
    def function(m, x):
        with torch.no_grad():
            scale = Reversed.apply(m.w).sum()
        return torch.utils.checkpoint.checkpoint(torch.sin, x * m.w, use_reentrant=is_reentrant) * scale
    model, x = Model(function).train(is_training), torch.ones(3, 2)
    own = nv.from_torch(model, [x])
    found = nv.deriv(nv.sum(own(x.numpy())), own.place_at("w"))
    model(x).sum().backward()
    np.testing.assert_allclose(found.numpy(), model.w.grad.numpy(), rtol=1e-6)
