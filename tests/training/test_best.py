"""The best weights of a training: what it ends with, and what it goes on from."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.training import EarlyStop
from nervure.training import checkpoints as files
from tests.training.samples import checkpoints

INPUTS = np.ones((4, 1), np.float32)
DATA, VALIDATION = (INPUTS, INPUTS), (INPUTS, 0.6 * INPUTS)
"""The weight goes from 0 to 1, and is best on the way: 0.2, 0.36, 0.488, 0.5904, 0.6723, ..."""
SETTINGS = {"validation": VALIDATION, "shows": False}
BEST = 4


def trainer() -> nv.Trainer:
    model = nn.LinearLayer(1, 1, weights=0.0, bias=False)
    return nv.Trainer(model, nv.optim.SGD(0.1), nn.losses.mean_squared_error,
                      transformer=nv.transformers.make_transformer("interpreter"))


def weight(own: nv.Trainer) -> float:
    return own.transformer.get(own.module.weights).item()


def after(epochs: int) -> float:
    own = trainer()
    own.fit(DATA, epochs, shows=False)
    return weight(own)


@pytest.mark.parametrize("epochs", [6, 20])
def test_training_ends_with_the_best_weights(epochs, tmp_path):
    """T337: whether it is stopped or comes to its end; else with the last ones."""
    best, last = trainer(), trainer()
    history = best.fit(DATA, epochs, stop=EarlyStop(3), folder=tmp_path, keep=1, **SETTINGS)
    assert len(history) == min(epochs, BEST + 3) and weight(best) == after(BEST)
    losses = [entry["validation_loss"] for entry in history]
    assert min(losses) == losses[BEST - 1] == best.evaluate(VALIDATION)["loss"]
    assert checkpoints(tmp_path) == [f"checkpoint-{steps:08}.safetensors" for steps in (BEST, len(history))]
    last.fit(DATA, epochs, stop=EarlyStop(3, best=False), **SETTINGS)
    assert weight(last) == after(len(history))


def test_where_the_last_weights_are_the_best_they_stay():
    """T337."""
    own = trainer()
    own.fit(DATA, BEST, stop=EarlyStop(3), **SETTINGS)
    assert weight(own) == after(BEST)


@pytest.mark.parametrize("folder", [False, True])
def test_training_goes_on_from_the_last_weights(folder, tmp_path):
    """T337: as if it had not ended; a trainer of another process ends with the same best ones."""
    whole, own = trainer(), trainer()
    whole.fit(DATA, 9, **SETTINGS)
    settings = {**SETTINGS, "folder": tmp_path if folder else None}
    own.fit(DATA, 6, stop=EarlyStop(9), **settings)
    resumed = trainer() if folder else own
    resumed.fit(DATA, 9, stop=EarlyStop(9), resume=True, **settings)
    assert resumed.history == whole.history and weight(resumed) == after(BEST)
    again = trainer() if folder else own
    again.fit(DATA, 9, resume=True, **settings)
    assert again.history == whole.history and weight(again) == weight(whole)


def test_a_training_that_has_ended_is_given_back_with_its_best_weights(tmp_path):
    """T337: from the folder, or that of the checkpoint."""
    trainer().fit(DATA, 20, stop=EarlyStop(3), folder=tmp_path, keep=1, **SETTINGS)
    for settings in ({"folder": tmp_path, "resume": True}, {"resume": files.path_in(str(tmp_path), BEST + 3)}):
        own = trainer()
        own.fit(DATA, 20, stop=EarlyStop(3), **settings, **SETTINGS)
        assert len(own.history) == BEST + 3 and weight(own) == after(BEST)
    (tmp_path / checkpoints(tmp_path)[0]).unlink()
    own = trainer()
    with pytest.warns(RuntimeWarning, match=f"best weights, after {BEST} steps, is not there"):
        own.fit(DATA, 20, stop=EarlyStop(3), folder=tmp_path, resume=True, **SETTINGS)
    assert weight(own) == after(BEST + 3)


def test_what_is_saved_afterwards_goes_on_from_the_last_weights(tmp_path):
    """T337: while the module keeps the best ones."""
    own, other = trainer(), trainer()
    own.fit(DATA, 6, stop=EarlyStop(9), **SETTINGS)
    own.save(tmp_path / "last")
    assert weight(own) == after(BEST)
    other.fit(DATA, 7, resume=tmp_path / "last", **SETTINGS)
    assert weight(other) == after(7)


def test_weights_that_were_changed_since_stay_changed():
    """T337: going on does not bring back the last ones."""
    own = trainer()
    own.fit(DATA, 6, stop=EarlyStop(9), **SETTINGS)
    own.transformer.set(own.module.weights, [[5.0]])
    own.fit(DATA, 7, resume=True, **SETTINGS)
    assert weight(own) == pytest.approx(5.0 - 0.2 * 4.0)


def test_another_training_knows_nothing_of_the_best(tmp_path):
    """T337: it begins with the weights that are there."""
    own = trainer()
    own.fit(DATA, 6, stop=EarlyStop(9), **SETTINGS)
    own.fit(DATA, 1, shows=False)
    assert weight(own) == after(BEST + 1)


def test_it_is_said(capsys):
    """T337: where training shows itself."""
    trainer().fit(DATA, 6, stop=EarlyStop(9), validation=VALIDATION)
    assert capsys.readouterr().out.splitlines()[-1] == f"the weights are the best, those after {BEST} steps"
