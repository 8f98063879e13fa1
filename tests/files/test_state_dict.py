"""State dicts: keys, values, what fits and what does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind


class Network(nv.nn.Module):
    """Two layers; the second class of layers has buffers, too, where it is asked for."""

    def __init__(self, dtype=nv.float32, normed=False):
        self.first = nv.nn.LinearLayer(4, 5, dtype=dtype)
        self.norm = nv.nn.BatchNorm(5, dtype=dtype) if normed else None
        self.second = nv.nn.LinearLayer(5, 3, dtype=dtype)

    def forward(self, x):
        hidden = nv.tanh(self.first(x))
        return self.second(hidden if self.norm is None else self.norm(hidden))


class Swapped(Network):
    """The same network with its attributes in another order, and all layers of one shape, as those of ``Square``."""

    def __init__(self):
        self.second, self.first = nv.nn.LinearLayer(4, 4, bias=2.0), nv.nn.LinearLayer(4, 4, bias=1.0)
        self.norm = None


class Square(Swapped):
    def __init__(self):
        self.first, self.second = nv.nn.LinearLayer(4, 4, bias=1.0), nv.nn.LinearLayer(4, 4, bias=2.0)
        self.norm = None


class Fronted(Square):
    """A layer put in front of the others."""

    def __init__(self):
        self.stem = nv.nn.LinearLayer(4, 4, bias=3.0)
        super().__init__()


def linear():
    return nv.nn.LinearLayer(4, 3)


@pytest.fixture
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def trained(layer, interpreter, optimizer, steps=2, dtype=nv.float32):
    """A step of training as a computation, called some times."""
    x = nv.placeholder((2, 4), dtype)
    step = interpreter.computation([loss := nv.sum(nv.square(layer(x)), out_axes=()), optimizer(loss)], x)
    for number in range(steps):
        step(np.full((2, 4), 0.1 * number + 0.1))
    return step


def bits(interpreter, places):
    return [interpreter.get(place).tobytes() for place in places]


# -- keys -------------------------------------------------------------------------------------------------------------


def test_the_keys_of_a_linear_layer_with_adam(interpreter):
    """T270, T272: two parameters, and seven slots for each."""
    layer = linear()
    trained(layer, interpreter, nv.optim.Adam())
    state = nv.make_state_dict(layer, optimizers=True, transformer=interpreter)
    numbers = ["float.lr", "float.eps", "float.beta1", "float.beta2", "int.n", "cputensor.m", "cputensor.v"]
    assert list(state.table) == [
        "param:linearlayer.0.weights", "param:linearlayer.0.bias",
        *[f"optimizer:linearlayer.0.{slot}.adam.{number}" for slot in ("weights", "bias") for number in numbers]]
    assert list(nv.make_state_dict(layer, transformer=interpreter).table) == list(state.table)[:2]
    assert list(nv.make_state_dict(layer, False, True, interpreter).table) == list(state.table)[2:]


def test_keys_do_not_change_by_training(interpreter):
    """T272: what is saved before the first step has the keys of what is saved after it."""
    layer, adam = linear(), nv.optim.Adam()
    step = trained(layer, interpreter, adam, 0)
    before = list(nv.make_state_dict(layer, optimizers=True, transformer=interpreter).table)
    step(np.ones((2, 4)))
    assert before == list(nv.make_state_dict(layer, optimizers=True, transformer=interpreter).table)


def test_layers_of_one_class_are_numbered(interpreter):
    """T270: in the order of modules(), depth first."""
    network = Network()
    table = nv.make_state_dict(network, transformer=interpreter).table
    assert list(table) == [f"param:linearlayer.{number}.{slot}" for number in (0, 1) for slot in ("weights", "bias")]
    assert table["param:linearlayer.1.weights"].shape == (5, 3)


def test_a_computation_and_a_list_are_models(interpreter):
    """T270: their modules count in the order in which their parameters come; a module's buffers are found, too."""
    network = Network(normed=True)
    step = trained(network, interpreter, nv.optim.SGD(0.1))
    keys = list(nv.make_state_dict(network, transformer=interpreter).table)
    assert "param:batchnorm.0.running_mean" in keys and "param:linearlayer.1.bias" in keys
    assert sorted(nv.make_state_dict(step).table) == sorted(keys)
    assert list(nv.make_state_dict(network.parameters(), transformer=interpreter).table) == keys
    assert list(nv.make_state_dict([network.first.bias], transformer=interpreter).table) == keys[:2]


def test_a_built_model_has_the_keys_of_its_module(interpreter):
    """T270, T272: its step updates the parameters, so that their slots are among its keys."""
    network = Network()
    x = nv.placeholder((2, 4)).named("x")
    model = nv.build(nv.sum(nv.square(network(x))), inputs=("x",), transformer=interpreter)
    model.step(nv.optim.Adam(), np.ones((2, 4)))
    assert list(nv.make_state_dict(model).table) == list(nv.make_state_dict(network, transformer=interpreter).table)
    state = nv.make_state_dict(model, optimizers=True)
    assert len(state) == 4 + 4 * 7 and state.table["optimizer:linearlayer.1.bias.adam.int.n"] == 1


def test_the_hooked_optimiser_is_the_one_that_is_kept(interpreter):
    """T254: whatever else has updated the parameter; without a hook the last one."""
    layer = linear()
    trained(layer, interpreter, nv.optim.Adam(), 0)
    trained(layer, interpreter, nv.optim.SGD(0.1), 0)
    nv.hook_optimizer(layer.bias, nv.optim.Lion())
    keys = list(nv.make_state_dict(layer, False, True, interpreter).table)
    assert [key.split(".")[3] for key in keys] == ["sgd"] * 2 + ["lion"] * 5


def test_what_sits_in_no_module_is_said_and_kept(interpreter):
    """T271: by its own name, numbered where several have it."""
    places = [nv.variable(()).named("W.1"), nv.variable(()), nv.variable(()).named("w:1")]
    with pytest.warns(UserWarning, match="W.1, a variable, w:1 sit in no module") as caught:
        state = nv.make_state_dict(places, transformer=interpreter)
    assert list(state.table) == ["missing_param:tensor.0.w_1", "missing_param:tensor.0.value",
                                 "missing_param:tensor.1.w_1"]
    assert caught[0].filename == __file__
    nv.optim.SGD(0.1).update(places[0], 1.0)
    slots = nv.make_state_dict(places, False, True, interpreter).table
    assert list(slots) == ["missing_optimizer:tensor.0.w_1.sgd.float.lr", "missing_optimizer:tensor.0.w_1.sgd.int.n"]


def test_names_that_differ_in_case_alone_are_refused():
    """T271: keys are lower case."""
    module = nv.nn.Module()
    module.w, module.W = nv.variable(()), nv.variable(())
    with pytest.raises(InvalidArgument, match="two parameters are named"):
        nv.make_state_dict(module)


def test_keys_are_parsed():
    """T273: into their parts; what is no key is refused."""
    assert nv.parse_state_dict_key("param:linearlayer.0.bias") == ("param", "linearlayer", "0", "bias")
    assert nv.parse_state_dict_key("optimizer:linearlayer.0.weights.adam.cputensor.m") == (
        "optimizer", "linearlayer", "0", "weights", "adam", "cputensor", "m")
    for wrong in ("", "param", "param:a.b", "param:a.b.c", "parm:a.0.b", "param:a.0.b.c", "optimizer:a.0.b",
                  "param:a.0.", "param:a.0.b:c", "optimizer:a.0.b.adam.float.lr.x"):
        with pytest.raises(InvalidArgument, match="no key"):
            nv.parse_state_dict_key(wrong)
        with pytest.raises(InvalidArgument, match="no key"):
            nv.from_state_dict({wrong: np.zeros(1)})
    with pytest.raises(WrongKind):
        nv.parse_state_dict_key(3)
    for wrong, told in (("parm:a.0.b", "did you mean param?"), ("param:a.b.c", "nth is a number")):
        assert told in pytest.raises(InvalidArgument, nv.parse_state_dict_key, wrong).value.help


def test_a_state_dict_shows_its_keys_in_a_column():
    """T274: and what is under each."""
    state = nv.from_state_dict({"param:a.0.bias": np.zeros(3, np.float32), "param:a.0.weights": nv.ones((2, 3))})
    assert repr(state) == "StateDict(\n  param:a.0.bias    -> f32[3]\n  param:a.0.weights -> f32[2, 3]\n)"
    assert len(state) == 2 and type(state.table) is dict and nv.from_state_dict(state).table == state.table


@pytest.mark.parametrize("wrong", [3, "abc", None, nv.constant(1.0), [nv.constant(1.0)], [3], nv.variable(())])
def test_what_is_no_model_is_refused(wrong):
    """T270: with what would be one."""
    with pytest.raises(WrongKind) as caught:
        nv.make_state_dict(wrong)
    assert caught.value.expected and caught.value.help


def test_what_is_no_state_is_refused():
    """T274: a mapping of arrays is made into one first."""
    with pytest.raises(WrongKind, match="no state dict"):
        nv.load_from_state_dict([], {})
    for make in (nv.from_state_dict, nv.StateDict):
        with pytest.raises(WrongKind, match="mapping"):
            make([1])
    with pytest.raises(WrongKind, match="holds arrays"):
        nv.StateDict({"param:a.0.b": [1.0]})
    with pytest.raises(WrongKind):
        nv.from_state_dict({"param:a.0.b": "text"})


# -- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [nv.float32, nv.bfloat16, nv.float64])
def test_loading_resumes_training_to_the_bit(dtype):
    """T275: in another model, on another transformer, with optimisers in wrappers."""
    def optimizer():
        rate = nv.optim.warm_up(nv.optim.cosine(0.1, steps=20), steps=3)
        return nv.optim.MovingAverage(nv.optim.Accumulated(nv.optim.AdamW(rate), calls=2), decay=0.9)

    with nv.transformers.make_transformer() as first, nv.transformers.make_transformer() as second:
        network, other = Network(dtype), Network(dtype)
        step = trained(network, first, optimizer(), 5, dtype)
        resumed = trained(other, second, optimizer(), 1, dtype)
        state = nv.make_state_dict(network, optimizers=True, transformer=first)
        assert not nv.load_from_state_dict(other, state, second)
        for number in range(4):
            batch = np.full((2, 4), 0.3 * number)
            assert step(batch)[0].tobytes() == resumed(batch)[0].tobytes()
        assert bits(first, network.state_names()) == bits(second, other.state_names())


def test_the_type_in_a_key_does_not_matter(interpreter):
    """T276: so that files go from one device to another."""
    layer = linear()
    trained(layer, interpreter, nv.optim.Adam())
    table = nv.make_state_dict(layer, optimizers=True, transformer=interpreter).table
    moved = nv.from_state_dict({key.replace(".cputensor.", ".mytensor."): array + 1 for key, array in table.items()})
    assert not nv.load_from_state_dict(layer, moved, interpreter)
    assert interpreter.get(layer.bias).tolist() == (table["param:linearlayer.0.bias"] + 1).tolist()


def test_what_could_not_be_loaded_is_named(interpreter):
    """T277: the rest is loaded, at one moment."""
    network = Network()
    table = dict(nv.make_state_dict(network, transformer=interpreter).table)
    table["param:linearlayer.0.bias"] = np.zeros(4, np.float32)
    table["param:linearlayer.1.weights"] = np.zeros((5, 3))
    table["param:embedding.0.weights"] = np.zeros(3, np.float32)
    table["optimizer:linearlayer.0.bias.adam.int.n"] = np.int64(3)
    del table["param:linearlayer.0.weights"]
    table["param:linearlayer.1.bias"] = np.full(3, 7, np.float32)
    failed = nv.load_from_state_dict(network, nv.from_state_dict(table), interpreter)
    assert failed and failed.missing == ("param:linearlayer.0.weights",)
    assert failed.unexpected == ("param:embedding.0.weights", "optimizer:linearlayer.0.bias.adam.int.n")
    assert failed.mismatched == {"param:linearlayer.0.bias": "f32[4], where f32[5] is expected",
                                 "param:linearlayer.1.weights": "f64[5, 3], where f32[5, 3] is expected"}
    assert interpreter.get(network.second.bias).tolist() == [7.0] * 3


def test_a_number_that_several_share_has_one_value(interpreter):
    """T277: a state that gives it two is refused for it."""
    layer = linear()
    trained(layer, interpreter, nv.optim.SGD(0.5))
    table = dict(nv.make_state_dict(layer, optimizers=True, transformer=interpreter).table)
    table["optimizer:linearlayer.0.bias.sgd.float.lr"] = np.array(0.25)
    failed = nv.load_from_state_dict(layer, nv.from_state_dict(table), interpreter)
    assert list(failed.mismatched) == ["optimizer:linearlayer.0.bias.sgd.float.lr"]


def test_values_are_of_one_moment_and_of_their_own(interpreter):
    """T274: later steps do not change a state that was made."""
    layer = linear()
    step = trained(layer, interpreter, nv.optim.SGD(0.1))
    state = nv.make_state_dict(layer, transformer=interpreter)
    before = {key: array.copy() for key, array in state.table.items()}
    step(np.ones((2, 4)))
    assert all([(state.table[key] == before[key]).all() for key in before])


def test_restoring_is_of_all_or_of_none(interpreter):
    """T277: a value of another kind changes nothing."""
    v, w = nv.variable((2,)), nv.variable((3,))
    for wrong in (np.zeros(4, np.float32), np.zeros(3)):
        with pytest.raises(ValueError, match="another kind"):
            interpreter.restore({v.variable: np.ones(2, np.float32), w.variable: wrong})
    assert interpreter.get(v).tolist() == [0.0, 0.0]
