"""Copies of modules: of the same form, with variables of their own."""

from __future__ import annotations

import copy
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import nervure as nv
from nervure import nn

INPUTS = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


class Tied(nn.Module):
    """Modules in a list and a dict, a parameter that two have, a constant, a function and a number."""

    rate: float = 0.5

    def __post_init__(self):
        self.blocks = [nn.LinearLayer(4, 4), nn.BatchNorm(4)]
        self.named = {"head": nn.LinearLayer(4, 4), "last": nn.Dropout(0.5)}
        self.named["head"].weights = self.blocks[0].weights
        self.offset, self.activation = nv.constant([1.0, 2.0, 3.0, 4.0]), nv.tanh

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.named["last"](self.activation(self.named["head"](x)) + self.offset) * self.rate


def values(module: nn.Module) -> list[np.ndarray]:
    return [place.numpy() for place in [*module.parameters(), *module.buffers()]]


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(values(one), values(other), strict=True))


def test_a_copy_has_its_own_variables_with_the_values_of_now():
    """T370: training one leaves the other as it is; what is shared inside stays so."""
    model = Tied()
    data = (INPUTS, INPUTS)
    nv.Trainer(model, nv.optim.SGD(0.1), nn.losses.mean_squared_error).fit(data, 1, shows=False)
    other = copy.deepcopy(model.eval())
    assert type(other) is Tied and not other.training and repr(other) == repr(model)
    assert [path for path, _ in other.named_parameters()] == [path for path, _ in model.named_parameters()]
    assert list(other.state_names().values()) == list(model.state_names().values())
    assert other.named["head"].weights is other.blocks[0].weights
    assert not set(other.parameters()) & set(model.parameters()) and same(model, other)
    assert np.array_equal(model(nv.constant(INPUTS)).numpy(), other(nv.constant(INPUTS)).numpy())
    before = values(model)
    nv.Trainer(other, nv.optim.SGD(0.1), nn.losses.mean_squared_error).fit(data, 1, shows=False)
    assert all(np.array_equal(mine, old) for mine, old in zip(values(model), before)) and not same(model, other)


def test_a_copy_is_saved_and_loaded_as_the_original(tmp_path):
    """T370: under the same keys."""
    model = Tied()
    other = copy.deepcopy(model)
    nv.transformers.default().set(model.parameters()[0], np.full((4, 4), 7.0))
    nv.save_weights(model, tmp_path / "weights")
    nv.load_weights(other, tmp_path / "weights")
    assert same(model, other)


def test_each_transformer_has_its_value():
    """T370: what was trained on another transformer is copied there, without a warning."""
    layer = nn.LinearLayer(2, 1, weights=1.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        transformer.set(layer.weights, [[3.0], [4.0]])
        other = copy.deepcopy(layer)
        transformer.set(layer.weights, [[0.0], [0.0]])
        assert transformer.get(other.weights).tolist() == [[3.0], [4.0]]
        third = copy.deepcopy(nn.LinearLayer(2, 1, weights=2.0))
        assert transformer.get(third.weights).tolist() == third.weights.tolist() == [[2.0], [2.0]]


def test_values_that_somebody_holds_are_copied():
    """T370: storage that is written directly, too; drawn initial values are the same ones."""
    layer = nn.LinearLayer(3, 2)
    twin = copy.deepcopy(layer)
    assert twin.weights.tolist() == layer.weights.tolist()
    layer.weights.storage[...] = 5.0
    assert copy.deepcopy(layer).weights.tolist() == [[5.0, 5.0]] * 3 != twin.weights.tolist()


@pytest.mark.parametrize("module", [
    nn.Conv(1, 2, (3, 3)), nn.BatchNorm(3), nn.LayerNorm("F=3"), nn.Embedding(3, 2), nn.Sequential(nv.relu, nn.PReLU()),
    nn.Residual(nn.LinearLayer(2, 2)), nn.Dropout(0.2), nn.MaxPool(2)], ids=lambda module: type(module).__name__)
def test_every_kind_of_layer(module):
    """T370."""
    other = copy.deepcopy(module)
    assert repr(other) == repr(module) and same(module, other)
    assert not set(other.parameters()) & set(module.parameters())


class Holding(nn.Module):
    """A parameter, and a field made from it, or from what is computed from it."""

    def __init__(self, make):
        self.w, self.held = nv.variable((), 2.0).named("w"), None
        self.held = make(self.w)


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor

    def times(self, x):
        return x * self.factor


HOLDERS = [lambda x: x, lambda x: {x}, lambda x: {x: 1}, lambda x: [({"a": x},)], lambda x: SimpleNamespace(factor=x),
           Slotted, lambda x: partial(nv.add, x), lambda x: Slotted(SimpleNamespace(factor=[x])).times,
           lambda x: nn.Sequential(nn.Residual(Holding(lambda _: x))),
           lambda x: SimpleNamespace(inner=Holding(lambda _: [x]))]


@pytest.mark.parametrize("make", HOLDERS)
def test_fields_of_any_kind_that_are_computed_from_a_parameter_are_refused(make):
    """T370: in modules inside, of parameters around them, and in all objects that are copied part by part."""
    with pytest.raises(nv.InvalidArgument, match="held is computed from a parameter") as caught:
        copy.deepcopy(Holding(lambda w: make(w * 3.0)))
    assert caught.value.operand == "held" and caught.value.got.endswith("which reads w")
    other = nv.variable((), 4.0)
    copy.deepcopy(Holding(lambda _: make(other * 3.0)))


def test_parameters_that_objects_in_fields_hold_are_those_of_the_copy():
    """T370: what is shared inside stays so, whatever holds it."""
    found = copy.deepcopy(Holding(lambda w: Slotted([SimpleNamespace(factor=w)])))
    assert found.held.factor[0].factor is found.w


def test_what_is_computed_from_a_parameter_is_no_field_of_a_copy():
    """T370: it would follow the original's parameter, silently. A shallow copy shares all."""
    layer = nn.LinearLayer(2, 1)
    layer.doubled = [layer.weights * 2]
    with pytest.raises(nv.InvalidArgument, match="doubled is computed from a parameter") as caught:
        copy.deepcopy(layer)
    assert caught.value.got.endswith("which reads weights")
    assert copy.copy(layer).weights is layer.weights
    with pytest.raises(nv.WrongKind, match="cannot be copied"):
        copy.deepcopy(layer.weights)
