"""Callbacks: when they are called, what they may do, and what of them a checkpoint keeps."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.training import Callback
from tests.training.samples import DATA, SETTINGS, STEPS, checkpoints, state, trainer


class Notes(Callback):
    """Writes down what is called, and where the training stands then."""

    def __init__(self):
        self.notes = []

    def note(self, name, trainer):
        self.notes.append((name, trainer.standing.epoch, trainer.standing.batch))

    def fit_begin(self, trainer):
        self.note("fit_begin", trainer)

    def epoch_begin(self, trainer):
        self.note("epoch_begin", trainer)

    def step_begin(self, trainer, batch):
        assert len(batch) == 2
        self.note("step_begin", trainer)

    def step_end(self, trainer, means):
        assert list(means) == ["loss", "accuracy", "learning_rate"]
        self.note("step_end", trainer)

    def epoch_end(self, trainer, entry):
        assert trainer.history[-1] is entry
        self.note("epoch_end", trainer)

    def fit_end(self, trainer):
        self.note("fit_end", trainer)


def test_when_they_are_called():
    """T374: at the beginnings and ends of the training, its epochs and its steps, in the order of the list."""
    own, notes = trainer(), Notes()
    own.fit(DATA, 2, size=25, callbacks=[notes], shows=False)
    steps = [[("step_begin", epoch, at), ("step_end", epoch, at + 1)] for epoch in range(2) for at in range(2)]
    epochs = [[("epoch_begin", epoch, 0), *steps[2 * epoch], *steps[2 * epoch + 1], ("epoch_end", epoch + 1, 0)]
              for epoch in range(2)]
    assert notes.notes == [("fit_begin", 0, 0), *epochs[0], *epochs[1], ("fit_end", 2, 0)]


class Ends(Callback):
    """Ends the training after so many steps or epochs, and notes that it ended."""

    def __init__(self, steps: int = 0, epochs: int = 0):
        self.steps, self.epochs, self.ends = steps, epochs, 0

    def step_end(self, trainer, means):
        if trainer.standing.steps == self.steps:
            trainer.stop()

    def epoch_end(self, trainer, entry):
        if entry["epoch"] == self.epochs:
            trainer.stop()

    def fit_end(self, trainer):
        self.ends += 1


@pytest.mark.parametrize("settings", [{"steps": 3}, {"steps": STEPS}, {"steps": STEPS + 1}, {"epochs": 1}])
def test_a_callback_ends_the_training_which_goes_on(settings, tmp_path):
    """T312, T374: a checkpoint is written; the rest is that of a training that was never ended."""
    whole = trainer()
    whole.fit(DATA, 2, DATA, **SETTINGS)
    own, ends = trainer(), Ends(**settings)
    assert len(own.fit(DATA, 2, folder=tmp_path, callbacks=[ends], **SETTINGS)) == own.standing.epoch < 2
    assert own.standing.steps == settings.get("steps", STEPS) and checkpoints(tmp_path) and ends.ends == 1
    other = trainer(seed=9)
    assert other.fit(DATA, 2, DATA, folder=tmp_path, resume=True, **SETTINGS)[-1] == whole.history[-1]
    assert state(other) == state(whole)
    own.fit(DATA, 2, DATA, resume=True, **SETTINGS)
    assert state(own) == state(whole)


class Plateau(Callback):
    """Makes the learning rate smaller where the loss has not become smaller; the rate and its own numbers are state."""

    def __init__(self, fails_at: int = 0):
        self.best, self.seen, self.fails_at = np.float32(np.inf), [], fails_at

    def step_end(self, trainer, means):
        self.seen.append(means["loss"])
        if means["loss"] >= self.best:
            rate = trainer.goal.optimizer.learning_rate
            trainer.transformer.set(rate, trainer.transformer.get(rate) * 0.9)
        self.best = np.float32(min(self.best, means["loss"]))
        if len(self.seen) == self.fails_at:
            raise RuntimeError("a disk is full")

    def epoch_end(self, trainer, entry):
        entry["best"] = float(self.best)

    def state(self):
        return {"best": self.best, "seen": self.seen}

    def restore(self, state):
        self.best, self.seen = np.float32(state["best"]), state["seen"]


def small() -> nv.Trainer:
    nv.seed(1)
    layer = nn.Sequential(nn.LinearLayer(6, 3), nn.Dropout(0.2))
    return nv.Trainer(layer, nv.optim.Adam(0.05), nn.losses.cross_entropy)


@pytest.mark.parametrize("stop", [3, STEPS, STEPS + 2])
def test_their_state_is_kept(stop, tmp_path):
    """T312, T374: in checkpoints, and by the trainer; what they put into an entry is in the history and its files."""
    whole, plateau = small(), Plateau()
    whole.fit(DATA, 3, callbacks=[plateau], **SETTINGS)
    assert whole.history[-1]["learning_rate"] < 0.05 and whole.history[1]["best"] <= whole.history[0]["best"]
    own = small()
    own.fit(DATA, 3, folder=tmp_path, callbacks=[Plateau(), Ends(stop)], **SETTINGS)
    for again in (small(), own):
        fresh = Plateau()
        again.fit(DATA, 3, folder=tmp_path if again is not own else None, resume=True, callbacks=[fresh], **SETTINGS)
        assert again.history == whole.history and fresh.seen == plateau.seen and fresh.best == plateau.best
        assert state(again)["optimizer:linearlayer.0.weights.adam.float.lr"] == state(whole)[
            "optimizer:linearlayer.0.weights.adam.float.lr"]
    assert "best" in (tmp_path / "history.csv").read_text().partition("\n")[0].split(",")


class Saves(Callback):
    """Saves at one of the moments of the training, in a step or an epoch of this number."""

    def __init__(self, moment: str, number: int, path):
        self.path, self.number, self.is_done = path, number, False
        setattr(self, moment, self.save)

    def save(self, trainer, *others):
        if not self.is_done and trainer.standing.steps >= self.number:
            trainer.save(self.path)
            self.is_done = True


class Counts(Callback):
    """Counts what is called."""

    def __init__(self):
        self.counts = {}
        for name in ("epoch_begin", "step_begin", "step_end", "epoch_end"):
            setattr(self, name, lambda *arguments, name=name: self.count(name))

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def state(self):
        return self.counts

    def restore(self, state):
        self.counts = dict(state)


@pytest.mark.parametrize("moment", ["fit_begin", "epoch_begin", "step_begin", "step_end", "epoch_end"])
def test_what_a_callback_saves_is_the_end_of_a_step_or_an_epoch(moment, tmp_path):
    """T312, T374: a training that goes on from it is the whole one, to the callbacks before and behind, and to stop."""
    stop = nv.training.EarlyStop(2, on="best", least=100.0, best=False)  # no epoch is better than the first

    def fit(saves, resume=False):
        own, before, behind, plateau = small(), Counts(), Counts(), Plateau()
        own.fit(DATA, 5, resume=resume, stop=stop, callbacks=[before, *saves, behind, plateau], **SETTINGS)
        assert own.standing.has_ended and len(own.history) == 3
        kept = before.counts, behind.counts, plateau.seen, plateau.best
        return own.history, own.standing.progressed, kept, state(own)
    number = {"fit_begin": 0, "epoch_begin": STEPS, "step_begin": STEPS + 2, "step_end": STEPS + 2,
              "epoch_end": STEPS}
    whole = fit([Saves(moment, number[moment], tmp_path / "saved")])
    assert fit([], tmp_path / "saved") == whole == fit([])


def test_what_is_saved_in_a_step_that_fails_is_written(tmp_path):
    """T374: as the training ends."""
    class Fails(Callback):
        def step_end(self, trainer, means):
            trainer.save(tmp_path / "saved")
            raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        small().fit(DATA, 2, callbacks=[Fails()], **SETTINGS)
    whole, own = small(), small()
    history = whole.fit(DATA, 2, **SETTINGS)
    assert own.fit(DATA, 2, resume=tmp_path / "saved", **SETTINGS) == history and state(own) == state(whole)


def test_several_of_one_class_have_states_of_their_own(tmp_path):
    """T374: by their order."""
    first, second = Plateau(), Plateau()
    second.seen = [3.0]
    own = small()
    own.fit(DATA, 1, folder=tmp_path, callbacks=[first, second], **SETTINGS)
    assert list(own.standing.callbacks) == ["Plateau", "Plateau.2"]
    third, fourth = Plateau(), Plateau()
    small().fit(DATA, 1, folder=tmp_path, resume=True, callbacks=[third, fourth], **SETTINGS)
    assert (third.seen, fourth.seen) == (first.seen, second.seen) and len(fourth.seen) == STEPS + 1


def test_what_a_callback_raises_ends_the_training_between_steps():
    """T374: the step is counted; fit_end is called; the training goes on from there as if nothing had been."""
    whole = small()
    whole.fit(DATA, 2, callbacks=[Plateau()], **SETTINGS)
    own, ends = small(), Ends()
    with pytest.raises(RuntimeError, match="a disk is full"):
        own.fit(DATA, 2, callbacks=[Plateau(fails_at=4), ends], **SETTINGS)
    assert own.standing.steps == 4 and ends.ends == 1
    own.fit(DATA, 2, resume=True, callbacks=[Plateau(), ends], **SETTINGS)
    assert own.history == whole.history and ends.ends == 2


def test_what_stands_in_the_history_is_a_number(tmp_path):
    """T374: NumPy's become Python's."""
    class Writes(Callback):
        def __init__(self, value, name="own"):
            self.value, self.name = value, name

        def epoch_end(self, trainer, entry):
            entry[self.name] = self.value
    for value in (np.float32(0.5), np.int64(3), np.eye(2)):
        entry, = small().fit(DATA, 1, folder=tmp_path, callbacks=[Writes(value)], **SETTINGS)
        assert entry["own"] == value.tolist() and type(entry["own"]) in (int, float, list)
    for value in ("good", None, [[1], [1, 2]], 1j):
        with pytest.raises(nv.WrongKind, match=r"an entry of the history has numbers\n") as caught:
            small().fit(DATA, 1, callbacks=[Writes(value)], **SETTINGS)
        assert caught.value.operand == "str 'own'"
    with pytest.raises(nv.WrongKind, match="an entry of the history has numbers by names"):
        small().fit(DATA, 1, callbacks=[Writes(1.0, 3)], **SETTINGS)


def test_an_integer_of_a_callback_may_stop_a_training_that_goes_on(tmp_path):
    """T312, T374: the best value so far is in the checkpoint, whatever kind of number it is."""
    class Misses(Callback):
        def epoch_end(self, trainer, entry):
            entry["misses"] = 9 - len(trainer.history)
    settings = {"callbacks": [Misses()], "stop": nv.training.EarlyStop(3, on="misses"), **SETTINGS}
    whole = small().fit(DATA, 3, **settings)
    small().fit(DATA, 2, folder=tmp_path, **settings)
    assert small().fit(DATA, 3, folder=tmp_path, resume=True, **settings) == whole


def test_a_state_is_what_json_holds():
    """T320, T374."""
    class Keeps(Callback):
        def state(self):
            return {"array": np.zeros(2)}
    with pytest.raises(nv.WrongKind, match="what JSON can hold") as caught:
        small().fit(DATA, 1, callbacks=[Keeps()], **SETTINGS)
    assert caught.value.operand == "Keeps"
    with pytest.raises(nv.WrongKind, match="this is no callback") as caught:
        small().fit(DATA, 1, callbacks=[Keeps], **SETTINGS)
    assert caught.value.help == "write Keeps(...)"
