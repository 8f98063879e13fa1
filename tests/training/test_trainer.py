"""A trainer takes steps, averages, stops early, writes logs and lines, and reports a loss that is not finite."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.data import Batches
from nervure.errors import NumericError
from nervure.front.record import record_of
from tests.training.samples import DATA, INPUTS, SETTINGS, STEPS, TARGETS, state, trainer

squared = nn.losses.mean_squared_error


def plain(module: object, axes: object = None, rate: float = 0.1) -> nv.Trainer:
    return nv.Trainer(module, nv.optim.SGD(rate), squared, axes=axes)


def test_a_step_is_one_call_for_any_number_of_examples(monkeypatch):
    """T310: an epoch of seven batches, the last of two examples, is seven calls of one executable."""
    own = trainer()
    own.fit(DATA, 1, **SETTINGS)  # the first call makes initial values, which may be calls themselves
    step = own.prepare(next(iter(Batches(*DATA))))
    counted, call = [], type(step.executable).__call__
    monkeypatch.setattr(type(step.executable), "__call__",
                        lambda self, *given, **named: counted.append(self) or call(self, *given, **named))
    monkeypatch.setattr(step, "_fast", None)
    monkeypatch.setattr(step, "_find_entry", lambda: None)
    own.fit(DATA, 1, **SETTINGS)
    assert counted == [step.executable] * STEPS


def test_the_update_is_the_optimiser_s():
    """T310: the same bits as a computation of loss and update."""
    one, other = [nn.LinearLayer(6, 1, weights=0.5, bias=False) for _ in range(2)]
    targets = TARGETS[:, None].astype(np.float32)
    plain(one).fit((INPUTS, targets), 1, size=50, shows=False)
    x, y = nv.placeholder((nv.dim("n"), 6)), nv.placeholder((nv.dim("n"), 1))
    order = np.random.default_rng([0, 0]).permutation(50)
    nv.computation([nv.optim.SGD(0.1)(squared(other(x), y))], x, y)(INPUTS[order], targets[order])
    assert one.weights.tolist() == other.weights.tolist()


def test_axes_have_names_and_batches_one_array():
    """T310: several inputs, placeholders among the axes, and targets that are the input."""
    class Sum(nn.Module):
        def __post_init__(self):
            self.w = nv.variable("F=2", 0.5)

        def forward(self, x, y):
            return x * self.w + y
    arrays = [np.ones((4, 2), np.float32), np.zeros((4, 2), np.float32), np.ones((4, 2), np.float32)]
    own = plain(Sum(), ("N=n, F=2", nv.placeholder("N=n, F=2"), "N=n, F=2"))
    assert own.fit(tuple(arrays), 1, shows=False)[0]["loss"] == 0.25
    assert own.predict(*arrays[:2]).shape == (4, 2)
    alone = plain(nn.LinearLayer(2, 2, weights=0.0, bias=False))
    assert alone.fit(arrays[0], 1, shows=False)[0]["loss"] == 1.0
    assert plain(lambda x: x * 2).predict(arrays[0]).tolist() == [[2.0, 2.0]] * 4


def test_modes_are_those_of_before():
    """T310: training draws, evaluation does not."""
    own = trainer()
    module = own.goal.module
    module[3].eval()
    own.fit(DATA, 1, **SETTINGS)
    assert [entry.training for entry in module] == [True, True, True, False, True]
    assert own.evaluate(DATA) == own.evaluate(DATA, size=256)
    assert np.array_equal(own.predict(INPUTS), own.predict(INPUTS))


class Beside:
    """Modules that functions call: none of them is in the module that is trained."""

    def __init__(self):
        self.norm, self.drop = nn.BatchNorm(3), nn.Dropout(0.5)
        self.both = nn.Sequential(nn.LinearLayer(3, 3), self.norm, self.drop)

    def __call__(self, x):
        return self.both(x)


class Method(nn.Module):
    """A module with a method beside ``forward``, which asks for the mode before anything is called."""

    def __post_init__(self):
        self.norm, self.drop = nn.BatchNorm(3), nn.Dropout(0.5)

    def encode(self, x):
        x = nv.dropout(x, 0.5) if self.training else x
        return self.drop(self.norm(x))


def lambda_of(own):
    return lambda x: own.drop(own.norm(x))


@pytest.mark.parametrize("made", [
    lambda own, _: own, lambda own, _: own.__call__, lambda own, _: lambda_of(own), lambda _, other: other.encode,
    lambda own, _: nn.Sequential(nn.LinearLayer(3, 3), lambda_of(own))],
    ids=["object", "method", "lambda", "module's method", "sequence"])
def test_modules_that_functions_call_are_in_evaluation_too(made):
    """T310: they learn and draw in steps alone, and are in training afterwards."""
    own, other = Beside(), Method()
    x = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)
    trained = plain(made(own, other), rate=0.0)

    def means():
        return own.norm.running_mean.tolist() + other.norm.running_mean.tolist()
    assert trained.evaluate((x, x)) == trained.evaluate((x, x))
    assert trained.predict(x).tolist() == trained.predict(x).tolist() and means() == [0.0] * 6
    assert all([entry.training for entry in (own.norm, own.drop, own.both, other, other.norm, other.drop)])
    trained.fit((x, x), 1, shows=False)
    learnt = means()
    trained.evaluate((x, x))
    assert any(learnt) and means() == learnt


class Headed(nn.Module):
    body: nn.Module
    head: nn.Module

    def forward(self, x):
        return self.head(self.body(x))


def linear(size, value):
    return nn.LinearLayer(2, size, weights=value, bias=False)


def other_weights(module):
    module.head.weights = nv.variable((2, 1), 5.0)


def other_layer(module):
    module.head = linear(1, 5.0)


@pytest.mark.parametrize("as_function", [False, True])
@pytest.mark.parametrize("change", [other_weights, other_layer])
def test_parameters_that_took_the_place_of_others_are_trained(tmp_path, change, as_function):
    """T310: each call is of what the module holds by then, also of a module that a function calls."""
    module, data = Headed(linear(2, 1.0), linear(1, 1.0)), (np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32))
    own = nv.Trainer((lambda x: module(x)) if as_function else module, nv.optim.SGD(0.01), squared)
    own.fit(data, 1, shows=False)
    before = own.prepare(data)
    assert own.evaluate(data)["loss"] < 16.0 and own.prepare(data) is before
    change(module)
    assert own.predict(data[0]).tolist() == np.asarray(module(nv.constant(data[0])).numpy()).tolist()
    assert own.evaluate(data)["loss"] > 300.0
    history = own.fit(data, 3, data, shows=False)
    assert history[-1]["validation_loss"] < history[0]["loss"] and module.head.weights.tolist() != [[5.0]] * 2
    assert own.evaluate(data)["loss"] == history[-1]["validation_loss"]
    own.save(tmp_path / "saved")
    step = own.prepare(data)
    assert step is not before and set(step.function.variables) >= {place.variable for place in module.parameters()}
    assert not any(["trainer.0.weights" in key for key in nv.make_state_dict(own).table]) or as_function


@pytest.mark.parametrize("moment", ["epoch_begin", "step_end", "epoch_end"])
@pytest.mark.parametrize("change", [other_weights, other_layer])
@pytest.mark.parametrize("evaluates", [False, True])
def test_what_a_callback_replaces_is_trained_from_the_next_epoch_on(tmp_path, change, moment, evaluates):
    """T310: and validated at once, where it changes before that; an evaluation has the steps after it follow."""
    module, data = Headed(linear(2, 1.0), linear(1, 1.0)), (np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32))

    def replace(self, trainer, *arguments):
        if trainer.standing.epoch == (2 if moment == "epoch_end" else 1) and not self.is_done:
            self.is_done = True
            change(trainer.module)
            assert not evaluates or trainer.evaluate(data)["loss"] > 300.0

    callback = type("Replacing", (nv.training.Callback,), {moment: replace, "is_done": False})()
    optimizer = nv.optim.Adam(0.01)
    own = nv.Trainer(module, optimizer, squared)
    history = own.fit(data, 5, data, size=2, folder=tmp_path, callbacks=[callback], shows=False)
    assert history[0]["validation_loss"] < 16.0 and history[1]["validation_loss"] < (16.0 if moment == "epoch_end"
                                                                                      else 500.0)
    assert 100.0 < history[3]["loss"] < history[2]["loss"] and own.evaluate(data)["loss"] == history[4][
        "validation_loss"] < history[3]["validation_loss"]
    assert module.head.weights.tolist() != [[5.0]] * 2 and record_of(module.head.weights).optimizer is optimizer
    again = nv.Trainer(Headed(linear(2, 0.0), linear(1, 0.0)), nv.optim.Adam(0.01), squared)
    again.fit(data, 5, size=2, folder=tmp_path, resume=True, shows=False)
    assert again.evaluate(data) == own.evaluate(data)


def test_a_layer_that_took_the_place_of_another_one_is_run():
    """T310: also without parameters, and once inputs alone have been predicted from."""
    module, x = nn.Sequential(Headed(nn.ReLU(), nn.ReLU())), np.float32([[-1.0], [2.0]])
    own = nv.Trainer(module, nv.optim.SGD(0.1), squared)
    assert own.predict(x).tolist() == [[0.0], [2.0]]
    module[0].body = module[0].head = nn.Sequential()
    assert own.predict(x).tolist() == x.tolist()


def test_what_a_loss_calls_is_in_evaluation_as_well():
    """T310: a step leaves the mode of such a module alone, as its user may have chosen evaluation for it."""
    teacher, student = nn.BatchNorm(3), nn.LinearLayer(3, 3)
    x = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)
    own = nv.Trainer(student, nv.optim.SGD(0.1), lambda outputs, targets: squared(outputs, teacher(targets)))
    own.evaluate((x, x))
    assert not any(teacher.running_mean.tolist())
    frozen = nv.Trainer(student, nv.optim.SGD(0.1), lambda outputs, targets: squared(outputs, teacher.eval()(targets)))
    frozen.fit((x, x), 1, shows=False)
    assert not any(teacher.running_mean.tolist()) and not teacher.training


def test_means_are_over_examples():
    """T311: not over batches, of which the last one is smaller."""
    own = nv.Trainer(lambda x: x, lambda loss: nv.doall([]), lambda x, y: nv.mean(x, out_axes=()),
                     {"largest": lambda x, y: nv.max(x, out_axes=())})
    numbers = np.float32([1, 2, 3, 4, 9])
    assert own.evaluate(Batches(numbers, numbers, size=4, shuffled=False)) == {"loss": 3.8, "largest": 5.0}
    entry, = own.fit((numbers, numbers), 1, validation=(numbers, numbers), size=4, shows=False)
    assert entry["loss"] == pytest.approx(3.8) and entry["validation_largest"] == 9.0
    assert own.history == [entry] and [entry["epoch"], entry["steps"]] == [1, 2]
    assert own.predict(numbers, size=2).tolist() == numbers.tolist()


def test_the_same_seeds_give_the_same_training():
    """T312: in one process, too, whatever it has built before."""
    one, other = trainer(), trainer()
    assert one.fit(DATA, 2, **SETTINGS) == other.fit(DATA, 2, **SETTINGS) and state(one) == state(other)


def test_learning_rates_are_in_the_history():
    """T381: that of the last step of an epoch, by rule where the optimiser has several."""
    schedule = nv.optim.warm_up(nv.optim.exponential(0.1, 0.9), steps=4)
    own = nv.Trainer(nn.LinearLayer(6, 3), nv.optim.Adam(schedule), nn.losses.cross_entropy)
    rates = [entry["learning_rate"] for entry in own.fit(DATA, 3, **SETTINGS)]
    assert rates == [schedule.at(STEPS * epoch - 1).item() for epoch in (1, 2, 3)]
    constant = plain(nn.LinearLayer(6, 1), rate=0.25)
    assert constant.fit((INPUTS, TARGETS[:, None]), 1, shows=False)[0]["learning_rate"] == 0.25
    layer = nn.LinearLayer(6, 1)
    groups = nv.optim.Groups([([layer.bias], nv.optim.Adam(0.2))], rest=nv.optim.SGD(0.1))
    entry, = nv.Trainer(layer, groups, squared).fit((INPUTS, TARGETS[:, None]), 1, shows=False)
    assert (entry["learning_rate_1"], entry["learning_rate_2"]) == (0.2, 0.1)
    shared = nv.optim.SGD(schedule)
    for epochs in (3, 1):  # each trainer's parameters have their own count
        one = nv.Trainer(nn.LinearLayer(6, 3), shared, nn.losses.cross_entropy).fit(DATA, epochs, **SETTINGS)
        assert [entry["learning_rate"] for entry in one] == rates[:epochs]
    free = nv.Trainer(layer, lambda loss: nv.optim.SGD(0.1)(loss), squared)
    assert list(free.fit((INPUTS, TARGETS[:, None]), 1, shows=False)[0]) == ["epoch", "steps", "loss"]


@pytest.mark.parametrize(("values", "stop", "epochs"), [
    ([3, 2, 2, 1.5, 2, 2, 2], nv.training.EarlyStop(2), 6), ([1, 1, 1], nv.training.EarlyStop(1), 2),
    ([1, 2, 3, 3], nv.training.EarlyStop(1, larger=True), 4), ([3, 2.5, 2.4], nv.training.EarlyStop(1, least=0.2), 3),
    ([np.nan, 1, np.nan, 0.5, np.nan, 0.5], nv.training.EarlyStop(2), 6)])
def test_early_stop(values, stop, epochs, monkeypatch):
    """T316: no better for so many epochs; NaN is no better."""
    own, given = trainer(), iter([*values, *[0.0] * 9])
    monkeypatch.setattr(own, "means", lambda data, pause: {"loss": float(next(given))})
    assert len(own.fit(DATA, 9, DATA, stop=stop, **SETTINGS)) == epochs


def test_early_stop_is_resumed(tmp_path, monkeypatch):
    """T312, T316: with what it has waited; without the stop training goes on."""
    given = iter([1.0, 2.0, 3.0])

    def new() -> nv.Trainer:
        own = trainer()
        monkeypatch.setattr(own, "means", lambda data, pause: {"loss": next(given)})
        return own
    settings = {**SETTINGS, "folder": tmp_path}
    stop = nv.training.EarlyStop(2)
    assert len(new().fit(DATA, 2, DATA, stop=stop, **settings)) == 2
    assert len(new().fit(DATA, 9, DATA, stop=stop, resume=True, **settings)) == 3
    assert len(new().fit(DATA, 9, DATA, stop=stop, resume=True, **settings)) == 3
    assert len(new().fit(DATA, 4, resume=True, **settings)) == 4


def test_logs(tmp_path, capsys):
    """T317: of all epochs, also those before the training was resumed; no time stands in them."""
    trainer().fit(DATA, 1, DATA, folder=tmp_path, **SETTINGS)
    history = trainer().fit(DATA, 2, DATA, folder=tmp_path, resume=True, **SETTINGS)
    assert json.loads((tmp_path / "history.json").read_text()) == history
    with (tmp_path / "history.csv").open(newline="") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    assert rows == history
    assert list(rows[0]) == ["epoch", "steps", "loss", "accuracy", "learning_rate", "validation_loss",
                             "validation_accuracy"]
    nv.training.plot(history, tmp_path / "history.png", "a title")
    assert (tmp_path / "history.png").read_bytes()[:4] == b"\x89PNG"
    assert capsys.readouterr() == ("", "")


def test_a_plot_needs_matplotlib(monkeypatch, tmp_path):
    """T317: and a history."""
    with pytest.raises(nv.InvalidArgument, match="nothing to plot"):
        nv.training.plot([], tmp_path / "history.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(nv.NotSupported, match="which is not installed"):
        nv.training.plot([{"epoch": 1, "loss": 0.5}], tmp_path / "history.png")


def test_lines_where_nobody_looks(capsys):
    """T318: one an epoch, with the time that is left."""
    trainer().fit(DATA, 2, DATA, size=8, seed=3)
    out, err = capsys.readouterr()
    number = r"\d\.\d{4}"
    means = f"loss {number}, accuracy {number}, validation loss {number}, validation accuracy {number}"
    assert re.fullmatch(f"epoch 1/2: {means}; 0:\\d\\d left\nepoch 2/2: {means}; 0:00 left\n", out) and err == ""


def test_a_bar_on_a_terminal(monkeypatch, capsys):
    """T318: with the means and tqdm's time left; below it the lines stay."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("nervure.training.progress.OFTEN", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    trainer().fit(DATA, 2, size=8)
    text = terminal.getvalue()
    assert "epoch 2/2" in text and "accuracy=" not in text and "loss " in text and "/14 [" in text and "\r" in text
    assert capsys.readouterr().out.count("\n") == 2


def test_without_an_error_stream_there_is_no_bar(monkeypatch, capsys):
    """T318: as of a program that was started with a closed one."""
    monkeypatch.setattr(sys, "stderr", None)
    trainer().fit(DATA, 2, size=8)
    assert re.fullmatch("epoch 1/2: .*\nepoch 2/2: .*\n", capsys.readouterr().out)


def test_data_of_unknown_length_show_themselves(monkeypatch, capsys):
    """T318, T378: the time that is left follows from the epochs so far."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("nervure.training.progress.OFTEN", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    trainer().fit(lambda number: Batches(*DATA, size=8).epoch(number), 2)
    assert "epoch 2/2" in terminal.getvalue() and "14step" in terminal.getvalue()
    assert re.fullmatch("epoch 1/2: .*; 0:\\d\\d left\nepoch 2/2: .*; 0:00 left\n", capsys.readouterr().out)


class Logarithms(nn.Module):
    """A model whose result is not finite for some inputs."""

    def __post_init__(self):
        self.w = nv.variable((), 1.0)

    def forward(self, x):
        return nv.log(x * self.w) * 2.0  # here


def test_a_loss_that_is_not_finite_changes_nothing():
    """T315: and names the op, its module and the line."""
    good, bad = np.ones((3, 1), np.float32), np.float32([[1], [0], [1]])
    own = nv.Trainer(Logarithms(), nv.optim.Adam(0.1), squared, axes=("N=n, F=1", "N=n, F=1"))
    own.fit((good, 2 * good), 2, shows=False)
    before, n = state(own), own.goal.optimizer.n.item()
    with pytest.raises(NumericError) as caught:
        own.fit((bad, good), 1, shows=False)
    error = caught.value
    line = next(at for at, text in enumerate(open(__file__), 1) if text.endswith("# here\n"))
    assert (error.op, error.got, error.operand) == ("Log", "-inf in 1 of 3 elements", "in Logarithms")
    assert error.location.file == __file__ and error.location.line == line
    assert error.help.startswith("epoch 1, batch 1: nothing was changed by this step")
    assert state(own) == before and own.goal.optimizer.n.item() == n


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_data_that_are_not_finite(number):
    """T315: the array and the batch are named."""
    inputs = np.ones((40, 6), np.float32)
    inputs[39, 2] = number
    own = plain(nn.LinearLayer(6, 1))
    with pytest.raises(NumericError, match="the data are not finite") as caught:
        own.fit(Batches(inputs, np.ones((40, 1)), size=8, shuffled=False), 1, shows=False)
    assert (caught.value.operand, caught.value.got) == ("batch_0", f"{number} in 1 of 48 elements")
    assert caught.value.help == "epoch 1, batch 5: look at this batch"
    assert own.standing.steps == 4


def test_a_variable_that_is_not_finite():
    """T315: it has been so since a step before."""
    own = plain(nn.LinearLayer(6, 1, weights=np.full((6, 1), np.nan)))
    with pytest.raises(NumericError, match="a variable is not finite") as caught:
        own.fit((INPUTS, TARGETS[:, None]), 1, shows=False)
    assert caught.value.operand == "weights"


def test_a_gradient_that_is_not_finite_is_found_a_step_later():
    """Q24, T315: the loss was finite; the variable is named then."""
    class Root(nn.Module):
        def __post_init__(self):
            self.w = nv.variable((), 0.0).named("w")

        def forward(self, x):
            return nv.sqrt(self.w * x)
    model, batch = Root(), (np.ones((2, 1)), np.ones((2, 1)))
    own = plain(model)
    own.fit(batch, 1, shows=False)
    assert own.standing.steps == 1 and not np.isfinite(model.w.numpy())
    with pytest.raises(NumericError, match="a variable is not finite") as caught:
        own.fit(batch, 1, shows=False)
    assert caught.value.operand == "w" and own.standing.steps == 0  # of this fit


def test_what_is_infinite_beside_the_way_is_not_blamed():
    """T315: only what the loss follows from through numbers that are not finite."""
    class Masked(nn.Module):
        def __post_init__(self):
            self.w = nv.variable((), 1.0)

        def forward(self, x):
            masked = nv.where(x > 0, nv.log(x), 0.0)  # minus infinity where x is 0, which nobody reads
            return masked + nv.exp(100.0 * self.w)
    with pytest.raises(NumericError) as caught:
        plain(Masked()).fit((np.zeros((2, 1)), np.zeros((2, 1))), 1, shows=False)
    assert (caught.value.op, caught.value.got) == ("Exp", "inf in 1 of 1 elements")


def test_random_numbers_are_those_of_the_step(monkeypatch):
    """T315: what a dropout has made infinite is found again."""
    class Drop(nn.Module):
        def __post_init__(self):
            self.w = nv.variable((), 1.0)

        def forward(self, x):
            return 1.0 / nv.dropout(x, 0.5) * self.w
    nv.seed(2)
    with pytest.raises(NumericError) as caught:
        plain(Drop()).fit((np.ones((64, 1)), np.zeros((64, 1))), 1, size=64, shows=False)
    assert (caught.value.op, caught.value.got.partition(" ")[0]) == ("Divide", "inf")


@pytest.mark.parametrize("dtype", [nv.float64, nv.float32, nv.bfloat16], ids=str)
@pytest.mark.parametrize("given", [np.float64, np.float32])
def test_data_take_the_type_of_the_parameters(dtype, given):
    """A285: inputs of real numbers as when the module is called; of other arrays those of float64."""
    data = INPUTS.astype(given), TARGETS[:, None].astype(given)
    own = plain(nn.LinearLayer(6, 1, weights=0.25, dtype=dtype))
    own.fit(data, 2, size=10, shows=False)
    predicted = own.predict(data[0])
    assert predicted.dtype == dtype.numpy and np.array_equal(predicted, own.goal.module(data[0]).numpy())
    step = own.prepare(tuple([array[:10] for array in data]))
    kept = dtype if given is np.float64 else nv.float32
    assert [place.value.dtype for place in step.function.parameters] == [dtype, kept]
