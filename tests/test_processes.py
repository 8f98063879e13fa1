"""Processes of a job: how they join it, what they read and compute together, and how one learns that another is gone.
Several run ``tests.joined_processes``, over loopback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import nervure as nv
from nervure import processes
from nervure.types.chosen_rows import ChosenRows
from tests.conformance.running import DEEP
from tests.processes import ROOT, run_text

VARIABLES = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")


@pytest.fixture
def environment(monkeypatch):
    """Sets the variables of a launcher, in their order."""
    def put(*values: str, **others: str) -> None:
        for name, value in {**dict(zip(VARIABLES, values)), **others}.items():
            monkeypatch.setenv(name, value)
    for name in (*VARIABLES, "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return put


def job(module: str, *options: str, count: int, seconds: int = 120) -> subprocess.CompletedProcess[str]:
    """What ``nervure launch`` does with a module of the tests."""
    return subprocess.run([sys.executable, "-m", "nervure", "launch", "-n", str(count), "--", sys.executable, "-m",
                           module, *options], cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)


def test_processes_compute_what_one_does(tmp_path):
    """J23, J25: each reads its part of the examples, and all are given the losses of one process that has them all."""
    pytest.importorskip("jax", reason="jax is not installed")
    done = job("tests.joined_processes", str(tmp_path), count=2)
    assert done.returncode == 0, done.stderr
    found = [json.loads((tmp_path / f"{index}.json").read_text()) for index in range(2)]
    run_text(f"import sys; sys.argv[1:] = [{str(tmp_path)!r}]; from tests import joined_processes",
             "from pathlib import Path; joined_processes.main(Path(sys.argv[1]))")
    alone = json.loads((tmp_path / "0.json").read_text())
    assert (alone["count"], alone["read"]) == (1, 96 + 16)
    for index, one in enumerate(found):
        assert (one["index"], one["count"]) == (index, 2)
        assert one["read"] == 96 // 2
        np.testing.assert_allclose(one["losses"], alone["losses"], rtol=1e-5)
        np.testing.assert_allclose(one["kept"], alone["kept"], rtol=1e-4)
        assert all(one[name] == alone[name] for name in ("first", "sum", "shape", "whole"))


def test_a_process_alone_is_the_only_one(environment):
    """J23"""
    environment("", "1", "0")
    nv.processes.join()
    assert (nv.processes.index(), nv.processes.count()) == (0, 1)
    assert processes.ends_here(True) and not processes.ends_here(False)


@pytest.mark.parametrize("values", [
    ("127.0.0.1:1", "2"), ("127.0.0.1:1", "2", "2"), ("127.0.0.1:1", "two", "0"), ("127.0.0.1", "2", "0"),
    ("127.0.0.1:", "2", "0"), ("", "2", "1"), ("127.0.0.1:1", "0", "0")])
def test_variables_that_cannot_be_read(environment, values):
    """J24"""
    environment(*values)
    with pytest.raises(nv.InvalidArgument, match="variables that name this process cannot be read") as caught:
        nv.processes.join()
    assert "JAX_NUM_PROCESSES=" in caught.value.got and "nervure launch" in caught.value.help


def test_no_coordinator_is_reached(environment):
    """J24: within the time, and one of an unknown launcher is not taken for a process alone."""
    pytest.importorskip("jax", reason="jax is not installed")
    environment("127.0.0.1:9", "2", "1")
    start = time.monotonic()
    with pytest.raises(nv.InvalidArgument, match="the first process is not reached") as caught:
        nv.processes.join(timeout=0.5)
    assert "127.0.0.1:9" in caught.value.got and caught.value.help and time.monotonic() - start < 20
    for timeout in (0, -1, "60", None, float("nan")):
        with pytest.raises(nv.InvalidArgument, match="no time to wait"):
            nv.processes.join(timeout)


def test_a_launcher_that_jax_does_not_know(environment, monkeypatch):
    """J24"""
    pytest.importorskip("jax", reason="jax is not installed")
    environment(OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1")
    monkeypatch.delenv("OMPI_MCA_orte_hnp_uri", raising=False)
    run_text("""
        import pytest, nervure as nv
        with pytest.raises(nv.InvalidArgument, match="no variables say where the first process listens") as caught:
            nv.processes.join()
        assert caught.value.got == "OMPI_COMM_WORLD_SIZE=2" and "JAX_COORDINATOR_ADDRESS" in caught.value.help
        """)


def test_jax_was_used_before(environment):
    """J24"""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    jax.devices()
    environment("127.0.0.1:9", "2", "0")
    with pytest.raises(nv.InvalidArgument, match="JAX was used before") as caught:
        nv.processes.join()
    assert caught.value.help == "call nv.processes.join() at the start of the program"


def test_without_jax(environment, monkeypatch):
    """J24: several processes need it, one does not."""
    monkeypatch.setitem(sys.modules, "jax", None)
    nv.processes.join()
    for values in ({}, {"SLURM_NTASKS": "4"}):
        environment(*(() if values else ("127.0.0.1:9", "2", "0")), **values)
        with pytest.raises(nv.NotSupported, match="several processes are connected by jax") as caught:
            nv.processes.join()
        assert caught.value.help == 'pip install "nervure[xla]"'


def test_the_others_do_not_come(environment):
    """J24"""
    pytest.importorskip("jax", reason="jax is not installed")
    environment("127.0.0.1:0", "2", "0", JAX_COORDINATOR_BIND_ADDRESS="127.0.0.1:0")
    run_text("""
        import pytest, nervure as nv
        with pytest.raises(nv.InvalidArgument, match="the other processes have not come") as caught:
            nv.processes.join(timeout=1)
        assert "nervure launch -n 2 -- COMMAND" in caught.value.help
        """)


@pytest.mark.skipif(not DEEP, reason="a repeat for another launcher")
def test_slurm_is_known_by_jax():
    """J23: two processes with the variables of a job of Slurm on this machine."""
    pytest.importorskip("jax", reason="jax is not installed")
    job_id = os.getpid()
    port = job_id % 2**12 + 65535 - 2**12 + 1  # as JAX computes it
    children = [subprocess.Popen(
        [sys.executable, "-c", "import nervure as nv; nv.processes.join(); print(nv.processes.index(), "
                               "nv.processes.count())"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "SLURM_JOB_ID": str(job_id), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2",
             "SLURM_PROCID": str(number), "SLURM_LOCALID": str(number),
             "JAX_COORDINATOR_BIND_ADDRESS": f"127.0.0.1:{port}"}) for number in range(2)]
    try:
        assert [child.communicate(timeout=100)[0].split() for child in children] == [["0", "2"], ["1", "2"]]
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_one_that_gives_no_sign_is_taken_for_dead():
    """J27: JAX is told for how long it waits."""
    told = {}
    library = SimpleNamespace(distributed=SimpleNamespace(initialize=lambda **given: told.update(given)))
    assert processes._initialized(library, {"num_processes": 2}, 5, "")
    assert told["heartbeat_timeout_seconds"] == 20 and told["num_processes"] == 2


def test_what_other_processes_have_caused():
    """J27"""
    found = processes.lost(ValueError("UNKNOWN: Gloo all-reduce failed: Connection closed by peer"))
    assert isinstance(found, nv.ProcessLost) and "Gloo" in found.got and found.help
    assert processes.lost(ValueError("shapes differ")) is None
    assert processes.status_after(found) == 75 and processes.status_after(ValueError()) == 1


def test_rows_stand_for_the_array_that_they_make():
    """J25"""
    rows = ChosenRows(np.arange(12.0).reshape(6, 2), np.array([4, 0, 5]))
    whole = np.array([[8.0, 9.0], [0.0, 1.0], [10.0, 11.0]])
    assert rows.tolist() == whole.tolist() and (rows == whole).all() and (2 * rows).tolist() == (2 * whole).tolist()
    assert rows[1:, 1].tolist() == [1.0, 11.0] and rows.astype("float32")[0].dtype == np.float32
    assert np.concatenate([rows, rows]).shape == (6, 2) and rows.mean() == whole.mean() and len(rows) == 3
    assert nv.evaluate(nv.tensor(rows) + 1.0).tolist() == (whole + 1).tolist()
    with pytest.raises(AttributeError):
        rows.no_such_thing
