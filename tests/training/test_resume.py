"""Training that was interrupted goes on as if it had not been, to the bit: from every kind of checkpoint."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.training import checkpoints as files
from tests.training.samples import DATA, INPUTS, SETTINGS, STEPS, TARGETS, Interrupting, checkpoints, state, trainer

EPOCHS = 3
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole() -> nv.Trainer:
    """A training that nothing has interrupted."""
    own = trainer()
    own.fit(DATA, EPOCHS, DATA, **SETTINGS)
    return own


def assert_same(resumed: nv.Trainer, whole: nv.Trainer) -> None:
    assert resumed.history == whole.history and len(resumed.history) == EPOCHS
    assert state(resumed) == state(whole)


@pytest.fixture(scope="module")
def every_step(whole, tmp_path_factory) -> Path:
    """A folder with a checkpoint after each step, which do not change the training."""
    own, folder = trainer(), tmp_path_factory.mktemp("steps")
    own.fit(DATA, EPOCHS, DATA, folder=folder, save_every=1, keep=100, **SETTINGS)
    assert_same(own, whole)
    assert len(checkpoints(folder)) == EPOCHS * STEPS
    return folder


@pytest.mark.parametrize("steps", [STEPS - 1, STEPS, STEPS + 3, 2 * STEPS])
def test_from_a_checkpoint_in_mid_epoch_or_at_its_end(whole, every_step, steps):
    """T312: shuffle position, schedule, accumulated gradients, averages, running statistics, random numbers, means."""
    other = trainer(seed=9)
    other.fit(DATA, EPOCHS, DATA, resume=files.path_in(str(every_step), steps), **SETTINGS)
    assert_same(other, whole)


def test_from_the_newest_of_a_folder(whole, tmp_path):
    """T312: ``epochs`` counts those of before; a finished training is given back as it is."""
    trainer().fit(DATA, 1, DATA, folder=tmp_path, **SETTINGS)
    other = trainer(seed=9)
    other.fit(DATA, EPOCHS, DATA, folder=tmp_path, resume=True, **SETTINGS)
    assert_same(other, whole)
    third = trainer(seed=8)
    third.fit(DATA, EPOCHS, DATA, folder=tmp_path, resume=True, **SETTINGS)
    assert_same(third, whole)


@pytest.mark.parametrize("after", [1, 3, STEPS, STEPS + 1])
def test_after_control_c(whole, after, tmp_path):
    """T314: the step that runs is finished, a checkpoint is written, and the message says how to go on."""
    data = nv.data.Batches(*DATA, size=8, seed=3)
    own = trainer()
    with pytest.raises(nv.training.Interrupted) as caught:
        own.fit(Interrupting(data, after, lambda: signal.raise_signal(signal.SIGINT)), EPOCHS, DATA, folder=tmp_path,
                shows=False)
    assert caught.value.checkpoint == files.path_in(str(tmp_path), after)
    assert str(caught.value).endswith(f"saved as {caught.value.checkpoint}; resume=True goes on from there")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    other = trainer(seed=9)
    other.fit(data, EPOCHS, DATA, folder=tmp_path, resume=True, shows=False)
    assert_same(other, whole)
    own.fit(data, EPOCHS, DATA, resume=True, shows=False)  # without a folder it goes on where it stands
    assert_same(own, whole)


def test_where_a_trainer_stands_are_its_random_numbers(whole):
    """T312: others may have drawn from those of the transformer in between."""
    own = trainer()
    own.fit(DATA, 1, DATA, **SETTINGS)
    own.transformer.computation(nv.uniform((3,)))()
    nv.seed(7, own.transformer)
    own.fit(DATA, EPOCHS, DATA, resume=True, **SETTINGS)
    assert_same(own, whole)


def test_control_c_while_validating(whole, tmp_path):
    """T314: validation is done again."""
    validation = nv.data.Batches(*DATA, size=10, shuffled=False)
    own = trainer()
    with pytest.raises(nv.training.Interrupted, match="in epoch 1, after 7 steps"):
        own.fit(DATA, EPOCHS, Interrupting(validation, 1, lambda: signal.raise_signal(signal.SIGINT)), folder=tmp_path,
                **SETTINGS)
    other = trainer(seed=9)
    other.fit(DATA, EPOCHS, DATA, folder=tmp_path, resume=True, **SETTINGS)
    assert_same(other, whole)


def test_control_c_twice_ends_at_once():
    """T314: also where a step, or the data, take their time."""
    def press() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        trainer().fit(Interrupting(nv.data.Batches(*DATA), 1, press), 1, shows=False)
    assert not isinstance(caught.value, nv.training.Interrupted)


def test_a_program_s_own_handler_stays():
    """T314: who handles Ctrl-C goes on doing so."""
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    try:
        trainer().fit(Interrupting(nv.data.Batches(*DATA), 1, lambda: signal.raise_signal(signal.SIGINT)), 1,
                      shows=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(pressed) == 1


PROGRAM = """
import sys, time
from tests.training.samples import *
class Slow(nv.data.Batches):
    def epoch(self, number, start=0):
        for batch in super().epoch(number, start):
            print("batch", flush=True)
            time.sleep(0.05)
            yield batch
own = trainer()
own.fit(Slow(*DATA, size=8, seed=3), 3, DATA, folder=sys.argv[1], save_every=1, keep=3, shows=False)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_interrupted_or_killed(whole, number, tmp_path):
    """T313, T314: what had its name is complete; a process of its own goes on from it."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    for _ in range(11):
        assert process.stdout.readline() == "batch\n"
    process.send_signal(number)
    _, error = process.communicate(timeout=120)
    assert process.returncode != 0 and (number == signal.SIGKILL or "Interrupted: interrupted in epoch 2" in error)
    assert 1 <= len(checkpoints(tmp_path)) <= 4
    other = trainer(seed=9)
    other.fit(DATA, EPOCHS, DATA, folder=tmp_path, resume=True, **SETTINGS)
    assert_same(other, whole)


def test_a_damaged_checkpoint_is_passed_over(whole, tmp_path):
    """T313: with a notice; an older one is taken, where there is none training starts anew."""
    trainer().fit(DATA, 2, DATA, folder=tmp_path, **SETTINGS)
    newest = tmp_path / checkpoints(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    other = trainer(seed=9)
    with pytest.warns(RuntimeWarning, match="is damaged .*: an older checkpoint is taken"):
        other.fit(DATA, EPOCHS, DATA, folder=tmp_path, resume=True, **SETTINGS)
    assert_same(other, whole)
    third = trainer()
    third.fit(DATA, EPOCHS, DATA, folder=tmp_path / "new", resume=True, **SETTINGS)
    assert_same(third, whole)


def test_the_newest_stay_and_a_new_training_begins_alone(tmp_path):
    """T313: a training that does not resume takes the place of the one before at its first checkpoint."""
    trainer().fit(DATA, 4, folder=tmp_path, **SETTINGS)
    assert checkpoints(tmp_path) == [f"checkpoint-{steps:08}.safetensors" for steps in (3 * STEPS, 4 * STEPS)]
    trainer().fit(DATA, 1, folder=tmp_path, keep=1, **SETTINGS)
    assert checkpoints(tmp_path) == [f"checkpoint-{STEPS:08}.safetensors"]


def test_a_checkpoint_has_the_weights_for_others(tmp_path):
    """T311: its keys are those of a state dict."""
    own = trainer()
    own.fit(DATA, 1, **SETTINGS)
    own.save(tmp_path / "last")
    module = trainer(seed=9).goal.module
    nv.load_weights(module, tmp_path / "last")
    mine = nv.make_state_dict(own).table
    assert all(np.array_equal(array, mine[key]) for key, array in nv.make_state_dict(module).table.items())


class Pair(nn.Module):
    """Two layers of one shape, in the order of their definition or the other way round."""

    def __init__(self, swapped: bool) -> None:
        layers = {"first": nn.LinearLayer(6, 6), "second": nn.LinearLayer(6, 6)}
        for name in sorted(layers, reverse=swapped):
            setattr(self, name, layers[name])

    def forward(self, x: nv.Tensor) -> nv.Tensor:
        return self.second(nv.tanh(self.first(x)))


@pytest.mark.parametrize("is_function", [False, True])
def test_attributes_that_changed_places(is_function, tmp_path):
    """T330: weights and moments go by path, also those of modules that a function uses."""
    def made(swapped: bool) -> nv.Trainer:
        module = Pair(swapped)
        return nv.Trainer((lambda x: module(x)) if is_function else module, nv.optim.Adam(0.1),
                          nn.losses.cross_entropy, transformer=nv.transformers.make_transformer("interpreter"))
    settings = {**SETTINGS, "size": 25, "folder": tmp_path}
    first = made(False)
    first.fit(DATA, 1, **settings)
    longer, changed = made(False), made(True)
    longer.fit(DATA, 2, **{**settings, "folder": None}, resume=files.path_in(str(tmp_path), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed.fit(DATA, 2, **settings, resume=True)
    assert [entry["loss"] for entry in changed.history] == [entry["loss"] for entry in longer.history]


def test_a_shared_layer_in_a_function_is_found_at_each_of_its_paths(tmp_path):
    """T330: whichever of its names is the first."""
    def made(*names: str) -> nv.Trainer:
        module, layer = Pair(False), nn.LinearLayer(6, 6)
        for name in ("first", "second"):
            delattr(module, name)
        for name in names:
            setattr(module, name, layer)
        return nv.Trainer(lambda x: module(x), nv.optim.Adam(0.1), nn.losses.cross_entropy,
                          transformer=nv.transformers.make_transformer("interpreter"))
    settings = {**SETTINGS, "size": 25, "folder": tmp_path}
    first = made("first", "second")
    first.fit(DATA, 1, **settings)
    other = made("second", "first")
    other.fit(DATA, 1, **settings, resume=True)
    assert other.evaluate(DATA) == first.evaluate(DATA)


def test_in_another_thread():
    """T314: outside of the main thread nothing listens for Ctrl-C, and training goes on."""
    own, found = trainer(), []
    thread = threading.Thread(target=lambda: found.append(own.fit(DATA, 1, **SETTINGS)))
    thread.start()
    thread.join(120)
    assert len(found[0]) == 1


def measured(seed: int = 1) -> nv.Trainer:
    """A trainer with all that is kept of an epoch: means, sums and what is gathered; weights; a schedule."""
    nv.seed(seed)
    binary = nn.Sequential(nn.LinearLayer(6, 4), nv.tanh, nn.Dropout(0.2), nn.LinearLayer(4, 2))
    return nv.Trainer(binary, nv.optim.Adam(nv.optim.cosine(0.05, steps=20)), nn.losses.cross_entropy,
                      [nv.training.accuracy, nv.training.AUC(), nv.training.Confusion(), nv.training.Perplexity()],
                      weights=2)


WEIGHED = (INPUTS, (TARGETS > 0).astype(np.int64), np.linspace(0, 2, 50, dtype=np.float32))


@pytest.mark.parametrize("steps", [3, STEPS, STEPS + 5])
def test_metrics_of_whole_epochs_go_on(steps, tmp_path):
    """T312, T376: sums and what was gathered are in the checkpoint, which is a file of weights nevertheless."""
    whole = measured()
    whole.fit(WEIGHED, 2, WEIGHED, **SETTINGS)
    assert list(whole.history[0])[2:8] == ["loss", "accuracy", "auc", "confusion", "perplexity", "learning_rate"]
    measured().fit(WEIGHED, 2, WEIGHED, folder=tmp_path, save_every=1, keep=100, **SETTINGS)
    path = files.path_in(str(tmp_path), steps)
    other = measured(seed=7)
    nv.load_weights(other.module, path)
    other.fit(WEIGHED, 2, WEIGHED, resume=path, **SETTINGS)
    assert other.history == whole.history and state(other) == state(whole)
    json.loads((tmp_path / "history.json").read_text())
    changed = nv.Trainer(measured().module, nv.optim.Adam(nv.optim.cosine(0.05, steps=20)), nn.losses.cross_entropy,
                         {"confusion": nv.training.Perplexity()}, weights=2)
    if steps % STEPS:
        with pytest.raises(nv.InvalidArgument, match="is of another metric"):
            changed.fit(WEIGHED, 2, resume=path, **SETTINGS)


def endless():
    """Batches without end, from a generator of their own."""
    drawn = np.random.default_rng(4)
    while True:
        inputs = drawn.standard_normal((8, 6)).astype(np.float32)
        yield inputs, inputs[:, :3].argmax(axis=1)


@pytest.mark.parametrize("after", [2, 5, 7])
def test_generators_go_on(after, tmp_path):
    """T312, T378: a new one is read from its start, the same one from where it stands."""
    class Ends(nv.training.Callback):
        def step_end(self, trainer, means):
            if trainer.standing.steps == after:
                trainer.stop()
    whole = trainer()
    whole.fit(endless(), 2, steps=5, shows=False)
    assert [entry["steps"] for entry in whole.history] == [5, 10]
    own, batches = trainer(), endless()
    own.fit(batches, 2, steps=5, folder=tmp_path, callbacks=[Ends()], shows=False)
    other = trainer(seed=9)
    other.fit(endless(), 2, steps=5, folder=tmp_path, resume=True, shows=False)
    own.fit(batches, 2, steps=5, resume=True, shows=False)
    for again in (own, other):
        assert again.history == whole.history and state(again) == state(whole)


def test_a_generator_that_is_used_up():
    """T312, T378: a training that is done goes on with it for no step; another one finds nothing."""
    own, batches = trainer(), itertools.islice(endless(), 10)
    whole = own.fit(batches, 2, steps=5, shows=False)
    before = state(own)
    for resume in (True, np.True_):
        assert own.fit(batches, 2, steps=5, resume=resume, shows=False) == whole and state(own) == before
    for epochs, resume, message in ((3, True, "fewer batches than an epoch"), (2, False, "these batches before")):
        with pytest.raises(nv.InvalidArgument, match=message):
            own.fit(batches, epochs, steps=5, resume=resume, shows=False)
    assert state(own) == before


def test_a_generator_that_is_used_up_begins_no_training(tmp_path):
    """T378: neither where there is no checkpoint."""
    for steps, message in ((None, "no batches"), (5, "fewer batches")):
        own, batches = trainer(), itertools.islice(endless(), 5)
        whole = own.fit(batches, 1, steps=steps, shows=False)
        assert own.fit(batches, 1, steps=steps, resume=True, shows=False) == whole
        with pytest.raises(nv.InvalidArgument, match=message):
            own.fit(batches, 1, steps=steps, folder=tmp_path, resume=True, shows=False)


def test_a_history_stays_as_it_was():
    """T312: a training that goes on makes a longer one."""
    own = trainer()
    first = own.fit(DATA, 1, **SETTINGS)
    read = own.history
    second = own.fit(DATA, 3, resume=True, **SETTINGS)
    assert [len(history) for history in (first, read, second, own.history)] == [1, 1, 3, 3] and second[:1] == first


def test_a_step_that_fails_has_not_used_its_batch():
    """T315, T378: neither is it lost, nor does it count."""
    good = [np.ones((2, 1), np.float32) * at for at in (1, 2, 3)]
    own = nv.Trainer(nn.LinearLayer(1, 1, weights=1.0), nv.optim.SGD(0.1), nn.losses.mean_squared_error)
    bad = np.full((2, 1), np.inf, np.float32)
    batches = iter([good[0], bad, good[1], good[2]])
    for _ in range(2):
        with pytest.raises(nv.NumericError, match="the data are not finite") as caught:
            own.fit(batches, 1, steps=4, resume=True, shows=False)
        assert caught.value.help.startswith("epoch 1, batch 2") and own.standing.steps == 1


class Drifting:
    """Data that are another's each time they are made."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    def epoch(self, number: int, start: int = 0):
        for i in range(start, 4):
            drawn = np.random.default_rng([self.made, number, i])
            yield drawn.standard_normal((8, 6)).astype(np.float32), drawn.integers(3, size=8)


def test_other_data_are_found_out(tmp_path):
    """T320, T377: where they promise the batches of before, that is an error; else a warning, and training goes on."""
    trainer().fit(Drifting(), 2, folder=tmp_path, save_every=1, keep=9, shows=False)
    path = files.path_in(str(tmp_path), 6)
    other = trainer()
    with pytest.raises(nv.InvalidArgument, match="batch 2 of epoch 2 is another one than before") as caught:
        other.fit(Drifting(), 2, resume=path, shows=False)
    assert "nv.data.check(data)" in caught.value.help and other.standing.steps == 6
    listed = list(Drifting().epoch(1))
    trainer().fit(listed, 2, folder=tmp_path, save_every=1, keep=9, shows=False)
    shuffled = trainer()
    with pytest.warns(UserWarning, match="batch 2 of epoch 2 is another one"):
        shuffled.fit(listed[::-1], 2, resume=path, shows=False)
    assert len(shuffled.history) == 2
