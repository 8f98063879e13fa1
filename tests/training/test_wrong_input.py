"""Input that a trainer refuses, and the errors it raises."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import FormatError, InvalidArgument, ShapeMismatch, WrongKind
from nervure.files.tensor_file import read_tensors, write_tensors
from tests.training.samples import DATA, INPUTS, SETTINGS, TARGETS, network, optimizer, state, trainer

entropy = nn.losses.cross_entropy


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: nv.Trainer(3, optimizer(), entropy), WrongKind, "neither a module nor a function"),
    (lambda: nv.Trainer(network(), 0.1, entropy), WrongKind, "optimizer is called to train"),
    (lambda: nv.Trainer(network(), nv.optim.Adam, entropy), WrongKind, "optimizer is called to train"),
    (lambda: nv.Trainer(network(), optimizer(), "mse"), WrongKind, "loss is called to train"),
    (lambda: nv.Trainer(network(), optimizer(), entropy, ["accuracy"]), WrongKind, "'accuracy' is called to train"),
    (lambda: nv.Trainer(network(), optimizer(), entropy, {"loss": entropy}), InvalidArgument, "can be named loss"),
    (lambda: nv.Trainer(network(), optimizer(), entropy, [entropy, entropy]), InvalidArgument, "can be named cross"),
    (lambda: nv.training.EarlyStop(0), InvalidArgument, "patience is 1 or more"),
    (lambda: nv.training.EarlyStop(1, least=-1), InvalidArgument, "least is too small"),
    (lambda: nv.training.EarlyStop(1, larger="no"), WrongKind, "larger is a switch"),
    (lambda: nv.data.Batches(), InvalidArgument, "nothing to take batches of"),
    (lambda: nv.data.Batches(INPUTS, TARGETS[1:]), ShapeMismatch, "different numbers of examples"),
    (lambda: nv.data.Batches(INPUTS[:0]), InvalidArgument, "there are no examples"),
    (lambda: nv.data.Batches(3.0), ShapeMismatch, "a number has no axis of examples"),
    (lambda: nv.data.Batches(["a", "b"]), WrongKind, "the elements are not numbers"),
    (lambda: nv.data.Batches(INPUTS, size=0), InvalidArgument, "size is 1 or more"),
    (lambda: nv.data.Batches(INPUTS, seed=-1), InvalidArgument, "seed is 0 or more"),
])
def test_what_cannot_be_made(make, kind, message):
    """T320: before anything is built."""
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize(("settings", "kind", "message"), [
    ({"epochs": 0}, InvalidArgument, "epochs is 1 or more"), ({"epochs": 1.5}, WrongKind, "epochs is an integer"),
    ({"save_every": 0}, InvalidArgument, "save_every is 1 or more"),
    ({"keep": 0}, InvalidArgument, "keep is 1 or more"),
    ({"stop": 3}, WrongKind, "stop says when to end"), ({"data": 3}, WrongKind, "this is no data"),
    ({"data": []}, InvalidArgument, "nothing to take batches of"), ({"folder": 3}, WrongKind, "a file is named by"),
    ({"validation": 3}, WrongKind, "this is no data"), ({"size": 0}, InvalidArgument, "size is 1 or more"),
    ({"data": {}}, InvalidArgument, "nothing to take batches of"), ({"data": iter(())}, InvalidArgument, "no batches"),
    ({"steps": 0}, InvalidArgument, "steps is 1 or more"), ({"steps": 3}, InvalidArgument, "fewer batches"),
    ({"data": lambda number: 3}, WrongKind, "gives no batches"), ({"validation": iter([DATA])}, WrongKind, "gone thr"),
    ({"callbacks": [3]}, WrongKind, "this is no callback"),
    ({"data": iter([DATA]), "epochs": 2}, InvalidArgument, "gives its batches once"),
    ({"stop": nv.training.EarlyStop(1, on="los")}, InvalidArgument, "the history has no los"),
    ({"resume": None}, WrongKind, "a file is named by"), ({"resume": 0.5}, WrongKind, "a file is named by")])
def test_settings_that_make_no_sense(settings, kind, message):
    """T320."""
    with pytest.raises(kind, match=message) as caught:
        trainer().fit(**{"data": DATA, "epochs": 1, "shows": False, **settings})
    if "a file" in message:
        assert [caught.value.operand] == list(settings) and f"{caught.value.operand}=" in caught.value.help


@pytest.mark.parametrize(("parts", "message"), [
    ({"loss": lambda x, y: x}, "loss is one number of a batch"),
    ({"loss": lambda x, y: 3.0}, "loss is one number of a batch"),
    ({"metrics": {"right": lambda x, y: nv.argmax(x)}}, "right is one number of a batch"),
    ({"optimizer": lambda loss: None}, "the optimiser gives no effect")])
def test_measures_are_numbers(parts, message):
    """T320: of a float type, without axes."""
    own = nv.Trainer(**{"module": network(), "optimizer": optimizer(), "loss": entropy, **parts})
    with pytest.raises(WrongKind, match=message):
        own.fit(DATA, 1, shows=False)


@pytest.mark.parametrize(("axes", "message"), [
    (["N=n, F=6"], "each array of a batch has axes"),
    (["N=50, F=6", "N=50"], "the first axis is that of the examples")])
def test_axes_fit_the_batches(axes, message):
    """T320: each array has some, with any number of examples."""
    with pytest.raises(InvalidArgument, match=message):
        nv.Trainer(network(), optimizer(), entropy, axes=axes).fit(DATA, 1, shows=False)


def test_a_prediction_is_made_of_tensors():
    """T320, T375: and of several batches only where each has the examples along one axis."""
    with pytest.raises(WrongKind, match="a prediction is made of tensors"):
        nv.Trainer(lambda x: (x, 3.0), optimizer(), entropy).predict(INPUTS)
    whole = nv.Trainer(lambda x: (x, nv.sum(x, out_axes=())), optimizer(), entropy)
    assert whole.predict(INPUTS)[1].shape == ()
    with pytest.raises(WrongKind, match="an element for each example"):
        whole.predict(INPUTS, size=8)
    with pytest.raises(InvalidArgument, match="nothing to predict from"):
        whole.predict()
    with pytest.raises(InvalidArgument, match="there is no training to save"):
        nv.Trainer(network(), optimizer(), entropy).save("nowhere")


def test_a_checkpoint_of_another_training_changes_nothing(tmp_path):
    """T320: another model, other data, another order."""
    trainer().fit(DATA, 1, folder=tmp_path, **SETTINGS)
    settings = {**SETTINGS, "folder": tmp_path, "resume": True}
    for changed in ({"seed": 4}, {"size": 9}):
        with pytest.raises(InvalidArgument, match="on other data, or in another order"):
            trainer().fit(DATA, 2, **{**settings, **changed})
    other = nv.Trainer(nn.LinearLayer(6, 3), optimizer(), entropy)
    other.prepare(next(iter(nv.data.Batches(*DATA))))
    before = state(other)
    with pytest.raises(InvalidArgument, match="of another model or optimiser") as caught:
        other.fit(DATA, 2, **settings)
    assert "param:batchnorm.0.scale (1.scale)" in caught.value.got and state(other) == before


def test_damaged_files_are_refused(tmp_path):
    """T320: what is no checkpoint, and one whose texts are not what was written."""
    own = trainer()
    own.fit(DATA, 1, **SETTINGS)
    path = tmp_path / "last"
    own.save(path)
    table, strings = read_tensors(path)
    standing = json.loads(strings["nervure.training"])
    changed = [{**standing, "epoch": -1}, {**standing, "history": [3]}, {**standing, "sums": {"loss": "x"}}, [],
               {**standing, "progressed": {"best": "x", "waited": 0}}, {**standing, "more": 1}, {}]
    texts = [("nervure.training", json.dumps(entry)) for entry in changed] + [
        ("nervure.training", "["), ("nervure.random", "[1, 2]"), ("nervure.random", "[1, 2, -3]")]
    for name, text in texts:
        write_tensors(path, table, {**strings, name: text})
        with pytest.raises(FormatError, match="damaged"):
            own.fit(DATA, 2, resume=path, **SETTINGS)
    nv.save_weights(network(), path)
    with pytest.raises(FormatError, match="no training to go on with"):
        own.fit(DATA, 2, resume=path, **SETTINGS)
    with pytest.raises(OSError):
        own.fit(DATA, 2, resume=tmp_path / "absent", **SETTINGS)
    assert np.isfinite(own.evaluate(DATA)["loss"])
