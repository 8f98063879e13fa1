"""Names from elsewhere: each is told what does the same here, and all that is told is there."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, UnknownName, WrongKind
from nervure.support import elsewhere
from tests.project.test_names import unknown

X = nv.placeholder("N=4, F=3").named("x")
TABLES = {"FUNCTIONS": elsewhere.FUNCTIONS, "TENSORS": elsewhere.TENSORS, "OPTIMISERS": elsewhere.OPTIMISERS,
          "LAYERS": elsewhere.LAYERS, "MEMBERS": elsewhere.MEMBERS, "KEYWORD_ADVICE": elsewhere.KEYWORD_ADVICE}


def names(table):
    """All names elsewhere that a table has."""
    return [name for words in table.values() for name in words.split()]


def keywords_there_are():
    """The keywords of the public functions, of layers and losses, of the optimisers, and of training."""
    functions = [thing for name in dir(nv) if inspect.isfunction(thing := getattr(nv, name))]
    functions += [getattr(nv.nn, name) for name in nv.nn.__all__]
    functions += [getattr(nv.nn.losses, name) for name in nv.nn.losses.__all__]
    functions += [getattr(nv.optim, name) for name in nv.optim.__all__]
    functions += [nv.data.Batches, nv.Trainer, nv.Trainer.fit]
    return {name for function in functions for name in inspect.signature(function).parameters}


# -- the tables -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_every_target_is_there(table):
    """P21: names of nv and attributes of tensors."""
    for advice in TABLES[table]:
        assert unknown(advice) == [] and TABLES[table][advice].split(), advice
        for attribute in re.findall(r"(?<![\w.])x\.([a-z]\w*)", advice, re.IGNORECASE):
            assert hasattr(nv.AssignableTensorOp, attribute), advice


@pytest.mark.parametrize("table", TABLES)
def test_every_name_stands_once(table):
    listed = names(TABLES[table])
    assert len(listed) == len(set(listed))


def test_what_is_here_is_not_in_the_tables():
    """A name that is there needs no advice."""
    assert set(names(elsewhere.FUNCTIONS)) & set(dir(nv)) == set()
    tensor = {*names(elsewhere.TENSORS), *elsewhere.METHODS_ELSEWHERE}
    assert [name for name in tensor if hasattr(nv.AssignableTensorOp, name)] == []
    assert elsewhere.METHODS_ELSEWHERE <= set(dir(nv))
    assert elsewhere.METHODS_ELSEWHERE & set(names(elsewhere.TENSORS)) == set()
    assert [name for name in names(elsewhere.LAYERS) if hasattr(nv.nn, name)] == []
    assert [name for name in names(elsewhere.MEMBERS) if hasattr(nv.nn.Module, name)] == []
    assert [name for name in names(elsewhere.OPTIMISERS) if hasattr(nv.optim.Adam, name)] == []


def test_every_keyword_is_one_of_a_function():
    """P22: what a keyword is called here is a keyword here."""
    assert set(elsewhere.KEYWORDS) <= keywords_there_are()


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names(elsewhere.FUNCTIONS))
def test_a_name_of_nv(name):
    """P21: an AttributeError, so that hasattr is False."""
    with pytest.raises(UnknownName) as caught:
        getattr(nv, name)
    assert caught.value.got == name and caught.value.help.removeprefix("here it is ") in elsewhere.FUNCTIONS
    assert not hasattr(nv, name)


@pytest.mark.parametrize("name", [*names(elsewhere.TENSORS), *sorted(elsewhere.METHODS_ELSEWHERE)])
def test_a_name_of_a_tensor(name):
    """P21: of expressions and places."""
    for tensor in (X, X + 1, nv.constant(1.0)):
        with pytest.raises(UnknownName) as caught:
            getattr(tensor, name)
        assert caught.value.help.removeprefix("here it is ") in {*elsewhere.TENSORS, f"nv.{name}(x)"}
        assert not hasattr(tensor, name) and caught.value.location.file == __file__


@pytest.mark.parametrize(("ask", "told"), [
    (lambda: nv.conv2d, "nv.convolution"), (lambda: nv.abs, "nv.absolute"), (lambda: nv.cat, "nv.concatenate"),
    (lambda: nv.optim.RMSprop, "nv.optim.RMSProp"), (lambda: nv.SGD, "nv.optim.SGD"),
    (lambda: nv.take_along_axis, "nv.gather_elements"),
    (lambda: nv.random.shuffle, "nv.random.permutation"), (lambda: nv.Conv2d, "nv.nn.Conv"),
    (lambda: nv.nn.Conv2d, "nv.nn.Conv"),
    (lambda: nv.nn.ReLU().state_dict(), "nv.make_state_dict(model)"),
    (lambda: nv.nn.LinearLayer(1, 1).weight, "parameters()"),
    (lambda: nv.nn.LinearLayer(1, 1).wights, "did you mean weights"),
    (lambda: nv.float, "nv.float32"),
    (lambda: X.view, "x.reshape"), (lambda: X.cpu(), "x.numpy()"), (lambda: X.retain_grad(), "x.detach()"),
    (lambda: X.gradient(), "nv.deriv"), (lambda: nv.nn.losses.mse, "nv.nn.losses.mean_squared_error"),
    (lambda: nv.nn.losses.hubert, "did you mean huber"),
    (lambda: X.zero_grad(), "nv.reset_grad(x)"),
    (lambda: nv.nn.ReLU().load_state_dict({}), "nv.load_from_state_dict(model, state)"),
    (lambda: nv.optim.Adam().step(), "model.step(optimizer, ...)"),
    (lambda: X.exp(), "nv.exp(x)"), (lambda: X.add_(1), "nv.assign"),
    (lambda: nv.optim.Adam().minimize(X), "nv.computation"), (lambda: nv.optim.Adam().zero_grad(), "anew"),
    (lambda: nv.concatenat, "did you mean concatenate"), (lambda: X.reshap, "did you mean reshape"),
    (lambda: nv.data.DataLoader, "nv.data.Batches"), (lambda: nv.data.transforms.RandomCrop, "nv.data.transforms.Crop"),
    (lambda: nv.training.EarlyStopping, "nv.training.EarlyStop"),
    (lambda: nv.nn.initialisers.he_normal_, "did you mean he_normal"),
    (lambda: nv.xyzzy, "dir()"), (lambda: nv.optim.Adagrat, "did you mean Adagrad")])
def test_what_is_told(ask, told):
    """P21: or the closest names that there are."""
    with pytest.raises(AttributeError) as caught:
        ask()
    assert told in caught.value.help


def test_what_libraries_ask_for_is_plainly_missing():
    """Protocols are asked for often."""
    for name in ("__array_struct__", "_repr_png_", "__jax_array__"):
        with pytest.raises(AttributeError) as caught:
            getattr(X, name)
        assert not isinstance(caught.value, UnknownName)
    with pytest.raises(AttributeError):
        nv.__wrapped__


# -- keywords ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "told"), [
    (lambda: nv.sum(X, dim=0), "axis="), (lambda: X.sum(dim=0), "axis="),
    (lambda: nv.mean(X, keepdim=True), "keepdims="), (lambda: nv.softmax(X, dim=1), "axis="),
    (lambda: nv.concatenate([X, X], dim=0), "axis="), (lambda: nv.variance(X, correction=1), "ddof="),
    (lambda: nv.clip(X, min=0), "low="), (lambda: nv.exp(input=X), "x="),
    (lambda: nv.optim.Adam(lr=0.1), "learning_rate="), (lambda: nv.optim.Adam(betas=(0.9, 0.99)), "beta1="),
    (lambda: nv.dropout(X, p=0.5), "rate="), (lambda: nv.uniform(shape=(2,)), "axes="),
    (lambda: nv.zeros(size=2), "axes="),
    (lambda: nv.constant(1.0, requires_grad=True), "nv.variable"), (lambda: nv.placeholder((2,), name="x"), "x.named"),
    (lambda: nv.variable((2,), init=1.0), "initial_value="), (lambda: nv.constant(1.0, device="cpu"), "transformer"),
    (lambda: nv.convolution(X, X, stride=2), "strides="), (lambda: nv.pooling(X, "max", kernel_size=2), "window="),
    (lambda: nv.jit(abs, static_argnums=0), "static="), (lambda: nv.grad(abs, argnums=0), "argument="),
    (lambda: nv.layer_norm(X, eps=1e-3), "epsilon="), (lambda: nv.sum(X, out=np.zeros(3)), "nv.assign"),
    (lambda: nv.sum(X, axs=0), "did you mean axis"), (lambda: nv.sum(X, xyzzy=0), "leave it out"),
    (lambda: nv.data.Batches(X, batch_size=2), "size="), (lambda: nv.data.Batches(X, shuffle=True), "shuffled="),
    (lambda: nv.Trainer(nv.relu, abs, abs, sample_weight=X), "weights=2"),
    (lambda: nv.seed(0, device=None), "transformer=")], ids=range(29))
def test_a_keyword_that_a_function_lacks(call, told):
    """P22: a TypeError, as Python's, that says what it is called here."""
    with pytest.raises(WrongKind) as caught:
        call()
    assert told in caught.value.help and caught.value.expected and caught.value.location.file == __file__


def classes_made_by_name():
    """The layers and optimisers whose parts all have names."""
    found = [thing for module in (nv.nn, nv.optim) for name in module.__all__ if inspect.isclass(
        thing := getattr(module, name)) and not inspect.isabstract(thing) and not issubclass(thing, tuple)]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [entry for entry in found if "self" in inspect.signature(entry.__init__).parameters and not any(
        [each.kind in kinds for each in inspect.signature(entry).parameters.values()])]


@pytest.mark.parametrize("entry", classes_made_by_name(), ids=lambda entry: entry.__name__)
def test_a_keyword_that_a_class_lacks(entry):
    """P22: the error names the class that is made, which may have inherited its arguments."""
    with pytest.raises(WrongKind, match="no argument xyzzy") as caught:
        entry(xyzzy=1)
    assert caught.value.op == entry.__name__ and caught.value.operand == "xyzzy"


def test_keywords_that_are_there_pass():
    """P22: by name as by position, with Python's own errors for the rest."""
    assert nv.sum(x=X, axis="F").axes == nv.sum(X, axis="F").axes
    with pytest.raises(TypeError, match="missing"):
        nv.sum()
    with pytest.raises(TypeError, match="multiple values"):
        nv.sum(X, x=X)


def test_functions_stay_what_they_are():
    """P22: to inspect, to pickle and to readers of their docstrings."""
    assert str(inspect.signature(nv.clip)).startswith("(x: ") and nv.clip.__name__ == nv.clip.__qualname__ == "clip"
    assert inspect.getsource(nv.clip).startswith("def clip(") and ">>> " in nv.clip.__doc__
    assert nv.clip.__globals__ is inspect.unwrap(nv.clip).__globals__  # doctest finds it in its module


# -- what is done otherwise -------------------------------------------------------------------------------------------


def test_elements_are_not_set():
    """P23: of no tensor; the error says how others, and variables, are."""
    k = nv.variable((2, 2))
    for tensor in (k, k + 1, nv.constant([[1.0]])):
        with pytest.raises(TypeError) as caught:
            tensor[0, 0] = 5
        assert "x.at[index].set(y)" in caught.value.help and "nv.set_item" in caught.value.help
        with pytest.raises(TypeError):
            del tensor[0]
    with pytest.raises(TypeError):
        k[0] += 1


def test_tensors_are_made_by_functions():
    """P24: the class is not called."""
    for value in ([1.0, 2.0], 3.0, X, np.zeros(2), "x", None):
        with pytest.raises(WrongKind, match="made by functions") as caught:
            nv.Tensor(value)
        assert "nv.constant" in caught.value.help


def test_a_loss_is_a_scalar():
    """P24: the error names what makes one of a loss for each sample."""
    w = nv.variable("F=3", 1.0)
    for call in (lambda: nv.optim.Adam()(nv.mean(X * w)), lambda: nv.deriv(nv.mean(X * w), w),
                 lambda: nv.grad(lambda v: v * 2)(np.ones(2))):
        with pytest.raises(InvalidArgument, match="not a scalar") as caught:
            call()
        assert "out_axes=()" in caught.value.help


def test_an_optimiser_is_called_with_the_loss():
    """P24: and made with a rate, which may be a variable."""
    w = nv.variable((), 1.0)
    for wrong in (w * w, nv.mean(X * w), [w], (w,)):
        with pytest.raises(WrongKind, match="learning rate") as caught:
            nv.optim.Adam(wrong)
        assert "nv.optim.Adam(rate)(loss)" in caught.value.help
    for wrong in ([w], 3.0, None):
        with pytest.raises(WrongKind, match="the loss is a tensor"):
            nv.optim.Adam(0.1)(wrong)
    rate = nv.variable((), 0.5)
    nv.computation(nv.optim.Adam(rate)(w * w, [w]))()
    assert abs(w.item() - 0.5) < 1e-5
