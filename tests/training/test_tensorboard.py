"""TensorBoard's files, read back record by record."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

import nervure as nv
from nervure.training import Callback, TensorBoard
from tests.training.samples import DATA, SETTINGS, STEPS, trainer


def events(folder: Path) -> list:
    """All events of a folder, file by file: a length, its checksum, a message, its checksum."""
    from tensorboardX.proto.event_pb2 import Event
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            length, = struct.unpack_from("<Q", data, at)
            found.append(Event.FromString(data[at + 12:at + 12 + length]))
            at += 16 + length
    return found


def scalars(folder: Path) -> list[tuple[str, int, float]]:
    return [(value.tag, event.step, value.simple_value) for event in events(folder) for value in event.summary.value]


def test_the_history_is_in_the_files(tmp_path):
    """T380: numbers of epochs by steps, those of steps where they are asked for; matrices are left out."""
    own = trainer()
    history = own.fit(DATA, 2, DATA, callbacks=[TensorBoard(tmp_path, every=3)], **SETTINGS)
    found = scalars(tmp_path)
    for entry in history:
        for name in ("loss", "accuracy", "learning_rate", "validation_loss", "validation_accuracy"):
            assert (name, entry["steps"], pytest.approx(entry[name])) in found
    steps = [step for name, step, _ in found if name == "step/loss"]
    assert steps == list(range(3, 2 * STEPS + 1, 3)) and not any(name in ("epoch", "steps") for name, _, _ in found)


def test_a_training_that_goes_on_replaces_what_it_repeats(tmp_path):
    """T380: TensorBoard is told from which step on."""
    class Ends(Callback):
        def step_end(self, trainer, means):
            if trainer.standing.steps == STEPS + 2:
                trainer.stop()
    logs = tmp_path / "logs"
    trainer().fit(DATA, 2, folder=tmp_path, callbacks=[TensorBoard(logs, every=1), Ends()], **SETTINGS)
    first = len(scalars(logs))
    for path in logs.iterdir():
        path.rename(logs / "events.out.tfevents.0")  # the next one has the time of this second, too
    trainer().fit(DATA, 2, folder=tmp_path, resume=True, callbacks=[TensorBoard(logs, every=1)], **SETTINGS)
    starts = [event.step for event in events(logs) if event.HasField("session_log")]
    assert starts == [STEPS + 3]
    assert [step for name, step, _ in scalars(logs)[first:] if name == "step/loss"] == list(
        range(STEPS + 3, 2 * STEPS + 1))


def test_it_needs_a_package(monkeypatch, tmp_path):
    """T380: the error of one line says what to install, when the callback is made."""
    with pytest.raises(nv.InvalidArgument, match="every is 1 or more"):
        TensorBoard(tmp_path, every=0)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(nv.NotSupported, match="tensorboardX, which is not installed") as caught:
        TensorBoard(tmp_path)
    assert caught.value.help == "pip install 'nervure[tensorboard]'" and not list(tmp_path.iterdir())
