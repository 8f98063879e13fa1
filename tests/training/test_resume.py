"""Training that was interrupted goes on as if it had not been, to the bit: from every kind of checkpoint."""

from __future__ import annotations

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
from tests.training.samples import DATA, SETTINGS, STEPS, Interrupting, checkpoints, state, trainer

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


@pytest.mark.parametrize("steps", [STEPS - 1, STEPS, STEPS + 3, 2 * STEPS])
def test_from_a_checkpoint_in_mid_epoch_or_at_its_end(whole, steps, tmp_path):
    """T312: shuffle position, schedule, accumulated gradients, averages, running statistics, random numbers, means."""
    own = trainer()
    own.fit(DATA, EPOCHS, DATA, folder=tmp_path, save_every=1, keep=100, **SETTINGS)
    assert_same(own, whole)
    assert len(checkpoints(tmp_path)) == EPOCHS * STEPS
    other = trainer(seed=9)
    other.fit(DATA, EPOCHS, DATA, resume=files.path_in(str(tmp_path), steps), **SETTINGS)
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
