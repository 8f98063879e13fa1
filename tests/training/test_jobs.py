"""Trainings of several processes on this machine, over loopback: one dies, others go on, and the first one writes."""

from __future__ import annotations

import json
import math
import os
import re
import time

import numpy as np
import pytest

import nervure as nv
from nervure import processes
from nervure.data.digits import load_digits
from nervure.transformers.interpreter.transformer import Interpreter
from nervure.transformers.peers import Peers
from tests.conformance.running import DEEP
from tests.joined_training import EXAMPLES, SIZE, train
from tests.test_processes import job

STEPS = math.ceil(EXAMPLES / SIZE)
COUNT = 4 if DEEP else 3


def newest(folder: str) -> int:
    """The number of steps of the newest checkpoint."""
    return max(int(found[1]) for name in os.listdir(folder)
               if (found := re.fullmatch(r"checkpoint-(\d+)\.safetensors", name)))


def same(history: list[dict[str, float]], reference: list[dict[str, float]]) -> None:
    """Compares the numbers of epochs."""
    for mine, theirs in zip(history, reference, strict=True):
        assert mine.keys() == theirs.keys()
        np.testing.assert_allclose([*mine.values()], [*theirs.values()], rtol=1e-4)


@pytest.mark.parametrize("round", range(5 if DEEP else 1))
def test_a_job_is_killed_and_goes_on_in_fewer_processes(tmp_path, round):
    """J21, J26, J28: several processes, of which one is killed; two, which are asked to end; one; and the cpu."""
    pytest.importorskip("jax", reason="jax is not installed")
    pytest.importorskip("sklearn", reason="scikit-learn has the digits")
    folder, data = str(tmp_path / "run"), str(tmp_path / "digits.npz")
    digits = load_digits(seed=0).train
    np.savez(data, images=digits.images[:EXAMPLES].reshape(-1, 64), labels=digits.labels[:EXAMPLES])
    start = time.monotonic()
    killed = job("tests.joined_training", data, folder, "9", "2", str(STEPS + 2), "9", count=COUNT)
    assert killed.returncode == 137 and f"process 2 of {COUNT} (numbered from 0) was ended by SIGKILL" in killed.stderr
    assert newest(folder) == STEPS and killed.stdout.count("epoch 1/9: ") == 1 and time.monotonic() - start < 90
    assert sorted(name for name in os.listdir(folder) if "checkpoint" not in name) == ["history.csv", "history.json"]

    asked = job("tests.joined_training", data, folder, "90", "1", str(STEPS + 3), "15", count=2)
    assert "interrupted in epoch" in asked.stderr and "resume=True goes on from there" in asked.stderr
    steps = newest(folder)
    assert STEPS + 3 <= steps < 90 * STEPS

    epochs = steps // STEPS + 1
    if steps % STEPS:  # else it was asked at the end of an epoch
        train(data, "xla", folder, epochs, mesh=nv.Mesh({"data": 1}), shard={"N": "data"})
        assert newest(folder) == epochs * STEPS
    same(train(data, "cpu", folder, epochs + 1), train(data, "cpu", None, epochs + 1))


def test_the_first_process_writes(tmp_path, monkeypatch):
    """J26"""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    history = [{"epoch": 1, "loss": 0.5}]
    monkeypatch.setattr(processes, "index", lambda: 1)
    nv.training.plot(history, tmp_path / "second.png")
    monkeypatch.setattr(processes, "index", lambda: 0)
    nv.training.plot(history, tmp_path / "first.png")
    assert os.listdir(tmp_path) == ["first.png"]


@pytest.mark.parametrize("name", ["epochs", "data", "first batch", "weights", "random numbers"])
def test_processes_begin_alike(name):
    """J29"""
    def gather(text: bytes) -> list[bytes]:
        other = json.loads(text[1:])
        assert sorted(other) == ["data", "epochs", "first batch", "random numbers", "weights"]
        return [text, b"+" + json.dumps({**other, name: 7}).encode()]

    class OneOfTwo(Interpreter):
        peers = Peers(0, 2, gather)
    trainer = nv.Trainer(nv.nn.LinearLayer(2, 1), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error,
                         transformer=OneOfTwo())
    with pytest.raises(nv.InvalidArgument, match="the processes of a job do not begin alike") as caught:
        trainer.fit((np.ones((4, 2)), np.ones((4, 1))), 1, shows=False)
    assert caught.value.operand == name and caught.value.got.startswith("7 in process 1, ")
