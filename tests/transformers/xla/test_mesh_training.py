"""Trainings on meshes: on 8 virtual devices, in two processes, and from the command line."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import numpy as np
import pytest

from nervure.tools.cli import main
from tests.transformers.xla.test_meshes import lines_of

pytest.importorskip("jax", reason="jax is not installed")


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return {row["fact"]: row["value"] for row in lines_of("tests.mesh_training", tmp_path_factory.mktemp("run"))}


def test_a_training_on_a_mesh_is_that_on_one_device(facts):
    """J6: loss, metrics and predictions, with a last batch that the devices do not divide."""
    for mine, theirs in zip(facts["on a mesh"], facts["on one device"], strict=True):
        assert mine.keys() == theirs.keys() and np.allclose(list(mine.values()), list(theirs.values()), atol=1e-5)
    assert facts["difference"] < 1e-4
    assert facts["on a mesh"][0]["loss"] != facts["on a mesh"][2]["loss"]


def test_a_last_batch_lies_whole_where_shard_as_would_split_it(facts):
    """J3, J6"""
    mine, theirs = facts["pinned"]
    assert len(mine) == 3 and np.allclose(mine, theirs, atol=1e-5)


def test_a_training_goes_on_from_parts(facts):
    """J6, J7: on the same mesh as without the interruption, and from the same bits on another one and on the cpu."""
    assert facts["goes on"] and facts["bits on cpu"] and facts["bits on another mesh"] and facts["weights"]
    steps = ("00000008", "00000012")
    assert facts["files"] == [f"checkpoint-{step}.safetensors{end}" for step in steps for end in ("", ".part")]


def test_what_a_trainer_refuses_of_a_mesh(facts):
    """J6"""
    assert facts["undivided"].startswith("fit: a length of 16 is not split over 3 devices")
    assert "size=" in facts["undivided"]
    for name in ("unknown", "unknown in evaluation"):
        assert "no argument, variable or result has an axis M" in facts[name] and "axes=" in facts[name]


def test_two_processes_write_what_each_has(tmp_path):
    """J5, J7: and everything is read by one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = [subprocess.Popen([sys.executable, "-m", "tests.mesh_processes", str(index), "2", port, tmp_path],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for index in range(2)]
    told = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0, 0], [errors[-2000:] for _, errors in told]
    facts = {row["fact"]: row["value"] for text, _ in told for row in map(
        json.loads, [line for line in text.splitlines() if line.startswith("{")])}
    assert facts.pop("files") == 4  # of a checkpoint and of weights
    assert facts.pop("loss") > 0
    assert all(facts.values()) and {"bits", "weights", "weights.npz", "run", "a mesh of one process",
                                         "one device of process 1"} < facts.keys()


@pytest.mark.parametrize(("options", "text"), [
    (["--mesh", "data:4"], "'data:4' has no such form as data=4,model=2"),
    (["--mesh", "data=x"], "has a number of devices, as in data=4, not 'x'"),
    (["--mesh", "data=0"], "the axis data of a mesh has no such length"),
    (["--mesh", "data=1,data=1"], "names an axis twice"), (["--mesh", ""], "has no such form"),
    (["--mesh", "data=1", "--shard", "N"], "'N' has no such form as N=data,H=model"),
    (["--mesh", "data=1", "--shard", "N=dat"], "Trainer: the mesh has no axis dat"),
    (["--mesh", "data=1", "--shard", "N=data,H=data+dat"], "Trainer: the mesh has no axis dat"),
    (["--mesh", "data=1", "--shard-parameters", "model"], "Trainer: the mesh has no axis model"),
    (["--mesh", "data=1024", "--shard", "N=data"], "the mesh is larger than the number of devices"),
    (["--shard", "N=data"], "shard splits tensors over a mesh, and there is none"),
    (["--mesh", "data=1", "--shard", "Q=data"], "no argument, variable or result has an axis Q"),
    (["--mesh", "data=1", "--transformer", "cpu"], "the transformer cpu runs on one device")])
def test_what_the_command_refuses_of_a_mesh(options, text, tmp_path, capsys):
    """J6"""
    pytest.importorskip("sklearn")
    assert main(["train", "digits", "--out", str(tmp_path), *options]) in (1, 2)
    assert text in capsys.readouterr().err


def test_the_command_trains_on_a_mesh_and_goes_on_without(tmp_path, capsys):
    """J6, J7: the transformer is xla where none is named."""
    pytest.importorskip("sklearn")
    run = ["train", "digits", "--out", str(tmp_path)]
    mesh = ["--mesh", "data=1,model=1", "--shard", "N=data", "--shard", "K=model", "--shard-parameters", "data"]
    assert main([*run, "--epochs", "1", *mesh]) == 0
    assert "steps per second on xla" in capsys.readouterr().out
    assert main([*run, "--epochs", "2", "--resume", "--transformer", "cpu"]) == 0
    assert "epoch 2/2" in capsys.readouterr().out
