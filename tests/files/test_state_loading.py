"""Loading of state dicts: by path, by key, and what is refused."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from tests.files.test_state_dict import Fronted, Square, Swapped, linear, no_warning, trained

__all__ = ["no_warning"]


def values(interpreter, *places):
    return [interpreter.get(place).tolist() for place in places]


def test_modules_that_changed_places_keep_their_weights(interpreter):
    """T330: the path counts, and a warning names both places."""
    state = nv.make_state_dict(Square(), transformer=interpreter)
    assert state.paths["param:linearlayer.0.bias"] == "first.bias"
    other = Swapped()
    interpreter.set(other.first.bias, [0.0] * 4)
    with pytest.warns(UserWarning, match=r"loaded by path, .*first\.bias \(by its key second\.bias\)") as caught:
        assert not nv.load_from_state_dict(other, state, interpreter)
    assert caught[0].filename == __file__ and len(caught) == 1
    assert values(interpreter, other.first.bias, other.second.bias) == [[1.0] * 4, [2.0] * 4]
    assert (interpreter.get(other.first.weights) == state.table["param:linearlayer.0.weights"]).all()


def test_a_layer_put_in_front_shifts_nothing(interpreter, no_warning):
    """T330: it alone is missing."""
    other = Fronted()
    failed = nv.load_from_state_dict(other, nv.make_state_dict(Square(), transformer=interpreter), interpreter)
    assert failed == (("param:linearlayer.0.weights", "param:linearlayer.0.bias"), (), {})
    assert values(interpreter, other.stem.bias, other.first.bias, other.second.bias) == [[n] * 4 for n in (3., 1., 2.)]


def test_slots_of_optimisers_go_by_path(interpreter, no_warning):
    """T330: each parameter gets its own moments."""
    first, other = Square(), Swapped()
    trained(first, interpreter, nv.optim.Adam())
    adam = nv.optim.Adam()
    trained(other, interpreter, adam, 0)
    state = nv.make_state_dict(first, optimizers=True, transformer=interpreter)
    assert state.paths["optimizer:linearlayer.1.bias.adam.cputensor.m"] == "second.bias.adam.m"
    assert not nv.load_from_state_dict(other, state, interpreter)
    for number, layer in enumerate([other.first, other.second]):
        moved = interpreter.get(adam.slots(layer.weights)["m"])
        assert (moved == state.table[f"optimizer:linearlayer.{number}.weights.adam.cputensor.m"]).all()


def test_computations_and_lists_have_the_paths_of_their_module(interpreter, no_warning):
    """T330: of the outermost one; where parameters are in modules that are apart there are none, and keys count."""
    network = Swapped()
    step = trained(network, interpreter, nv.optim.SGD(0.1), 0)
    state = nv.make_state_dict(Square(), transformer=interpreter)
    assert sorted(nv.make_state_dict(step).paths.values()) == sorted(state.paths.values())
    assert not nv.load_from_state_dict(step, state)
    assert values(interpreter, network.first.bias, network.second.bias) == [[1.0] * 4, [2.0] * 4]
    apart = [linear().bias, linear().bias]
    assert nv.make_state_dict(apart, transformer=interpreter).paths == {}
    lists = nv.nn.Module()
    lists.layers = []
    lists.layers.append(nv.nn.LinearLayer(2, 2))
    assert [path for path, _ in lists.named_modules()] == ["", "layers.0"]
    assert list(nv.make_state_dict([lists.layers[0].bias], transformer=interpreter).paths.values()) == [
        "layers.0.weights", "layers.0.bias"]


def test_a_module_in_another_one_later_has_another_path(interpreter):
    """T330: what no longer holds it does not count."""
    layer, first, second = linear(), nv.nn.Module(), nv.nn.Module()
    first.a = layer
    second.b = layer
    paths = lambda: set(nv.make_state_dict([layer.bias], transformer=interpreter).paths.values())  # noqa: E731
    assert paths() == {"a.weights", "a.bias"}
    first.a = None
    assert paths() == {"weights", "bias"}
    second.named_modules()
    assert paths() == {"b.weights", "b.bias"}


def test_every_path_of_a_shared_parameter_finds_it(interpreter):
    """T330: whichever module comes first in the definition."""
    def tied(*names):
        module, layer = nv.nn.Module(), nv.nn.LinearLayer(2, 2)
        for name in names:
            setattr(module, name, layer)
        return module, layer
    first, layer = tied("encoder", "decoder")
    interpreter.set(layer.bias, [5.0, 6.0])
    nv.optim.Adam().update(layer.bias, 1.0)
    state = nv.make_state_dict(first, optimizers=True, transformer=interpreter)
    assert state.paths["param:linearlayer.0.bias"] == "encoder.bias"
    other, found = tied("decoder", "encoder")
    nv.optim.Adam().update(found.bias, 1.0)
    assert not nv.load_from_state_dict(other, state, interpreter)
    assert interpreter.get(found.bias).tolist() == [5.0, 6.0]


def test_what_path_and_key_contradict_is_refused(interpreter, no_warning):
    """T331: a path that is none of the model's, or leads to another shape: both places are named."""
    state = nv.make_state_dict(Square(), transformer=interpreter)
    renamed = nv.nn.Module()
    renamed.a, renamed.b = linear(), nv.nn.LinearLayer(4, 4)
    failed = nv.load_from_state_dict(renamed, state, interpreter)
    assert failed.mismatched["param:linearlayer.1.bias"] == (
        "its path second.bias is none of the model's, its key would be that of b.bias")
    assert len(failed.missing) == 4 and not failed.unexpected
    other = Swapped()
    other.first = nv.nn.LinearLayer(4, 3, bias=7.0)
    failed = nv.load_from_state_dict(other, state, interpreter)
    assert failed.mismatched["param:linearlayer.0.bias"] == (
        "f32[4], where f32[3] is expected at first.bias; by its key it would be second.bias")
    assert values(interpreter, other.first.bias, other.second.bias) == [[7.0] * 3, [2.0] * 4]


def test_without_paths_keys_count(interpreter):
    """T332: in states that say none, as those of files from before."""
    table = nv.make_state_dict(Square(), transformer=interpreter).table
    other = Swapped()
    assert not nv.load_from_state_dict(other, nv.from_state_dict(table), interpreter)
    assert values(interpreter, other.first.bias, other.second.bias) == [[2.0] * 4, [1.0] * 4]
    some = nv.from_state_dict(table, {"param:linearlayer.0.bias": "second.bias"})
    assert some.paths == {"param:linearlayer.0.bias": "second.bias"} == nv.from_state_dict(some).paths


@pytest.mark.parametrize(("paths", "kind"), [
    ({"param:linearlayer.0.bias": 3}, WrongKind), (3, WrongKind), ({"param:a.0.b": "b"}, InvalidArgument)])
def test_paths_are_those_of_entries(paths, kind):
    """T332: anything else is refused."""
    with pytest.raises(kind, match="path"):
        nv.from_state_dict({"param:linearlayer.0.bias": np.zeros(3)}, paths)


def test_two_places_of_one_path_are_refused(interpreter):
    """T332: a field whose name has a dot may be there."""
    module = nv.nn.Module()
    module.a = linear()
    setattr(module, "a.bias", nv.variable(()))
    with pytest.raises(InvalidArgument, match=r"two places are named a\.bias"):
        nv.make_state_dict(module, transformer=interpreter)


KINDS = (lambda: nv.nn.LinearLayer(2, 2), lambda: nv.nn.BatchNorm(2), lambda: nv.nn.Conv(2, 2, 1), nv.nn.Module)


def tree(plan: random.Random, depth: int = 3) -> dict:
    """Names with what is in them: a kind of layer, or more names, in a module, a list or a dict of Python."""
    return {f"{plan.choice('abc')}{number}": tree(plan, depth - 1) if depth and plan.random() < 0.4 else
            plan.randrange(len(KINDS)) for number in range(plan.randint(1, 4))}


def made(names: dict, order: random.Random, extra: bool) -> nv.nn.Module:
    """A module with such attributes, defined in any order, with others in between."""
    module = nv.nn.Module()
    for name in order.sample(sorted(names), len(names)):
        if extra and order.random() < 0.3:
            setattr(module, f"extra_{name}", nv.nn.LinearLayer(2, 2))
        inner = names[name]
        setattr(module, name, made(inner, order, extra) if isinstance(inner, dict) else KINDS[inner]())
        if extra and order.random() < 0.2:
            setattr(module, f"again_{name}", getattr(module, name))
    return module


@pytest.mark.parametrize("seed", range(40))
def test_any_order_of_definition_gives_each_path_its_own(interpreter, seed):
    """T330: in networks of layers that all have parameters of one shape; slots of optimisers, too."""
    plan = random.Random(seed)
    names = tree(plan)
    first, other = made(names, plan, False), made(names, plan, seed % 2 == 1)
    adams = [nv.optim.Adam(), nv.optim.Adam()]
    for adam, module in zip(adams, (first, other), strict=True):
        for place in module.parameters():
            adam.slots(place)
            adam.update(place, 1.0)
    for place in first.state_paths():
        interpreter.set(place, np.full(place.shape, plan.random(), np.float32))
        if place.is_trainable:
            interpreter.set(adams[0].slots(place)["m"], np.full(place.shape, plan.random(), np.float32))
    state = nv.make_state_dict(first, optimizers=True, transformer=interpreter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = nv.load_from_state_dict(other, state, interpreter)
    assert not failed.unexpected and not failed.mismatched
    for place, path in first.state_paths().items():
        twin = other.place_at(path)
        assert (interpreter.get(twin) == interpreter.get(place)).all()
        if place.is_trainable:
            moments = [interpreter.get(adam.slots(own)["m"]) for adam, own in zip(adams, (place, twin), strict=True)]
            assert (moments[0] == moments[1]).all()
