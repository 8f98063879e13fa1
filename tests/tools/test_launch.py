"""The launcher: what its processes find, how they end, and what it says of one that dies. The processes are small
programs of Python that know nothing of JAX; ``tests/test_processes.py`` has those that compute together.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nervure import processes
from nervure.tools.cli import main
from nervure.tools.train import _tell

TELL = ("import os; "
        "print(*[os.environ[f'JAX_{name}'] for name in ('COORDINATOR_ADDRESS', 'NUM_PROCESSES', 'PROCESS_ID')])")
WAIT = "import os, sys, time; number = int(os.environ['JAX_PROCESS_ID']); "


def launched(text: str, *options: str, count: int = 3) -> subprocess.CompletedProcess[str]:
    """What ``nervure launch`` does with a program of Python."""
    return subprocess.run([sys.executable, "-m", "nervure", "launch", "-n", str(count), *options, "--", sys.executable,
                           "-c", text], capture_output=True, text=True, timeout=60, check=False)


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_each_process_finds_the_others(tmp_path):
    """J20"""
    done = launched(TELL, "--logs", str(tmp_path / "logs"))
    address, total, own = done.stdout.split()
    assert (done.returncode, done.stderr, total, own) == (0, "", "3", "0") and address.startswith("127.0.0.1:")
    assert [(tmp_path / "logs" / f"process-{number}.log").read_text().split() for number in (1, 2)] == [
        [address, "3", "1"], [address, "3", "2"]]


@pytest.mark.parametrize(("act", "how", "status"), [
    ("os.kill(os.getpid(), 9)", "was ended by SIGKILL", 137), ("sys.exit(3)", "ended with exit status 3", 3)])
def test_one_that_dies_ends_the_job(act, how, status):
    """J21: the others sleep for longer than the test may take, or have noticed the death before."""
    act = f"(print('the end is near', flush=True), time.sleep(0.5), {act})"
    done = launched(WAIT + f"{act} if number == 1 else sys.exit(75) if number == 2 else time.sleep(500)")
    assert done.returncode == status
    assert f"nervure launch: process 1 of 3 (numbered from 0) {how}; the job is over" in done.stderr
    assert "process-1.log:\n  the end is near\n" in done.stderr and "--resume" in done.stderr


def test_the_first_process_may_die():
    """J21: its lines were shown."""
    done = launched(WAIT + "sys.exit('no data') if number == 0 else time.sleep(500)", count=2)
    assert done.returncode == 1 and done.stderr.startswith("no data\nnervure launch: process 0 of 2 ")
    assert "last lines" not in done.stderr


def test_a_lost_connection_is_the_status_where_nothing_else_is():
    """J21"""
    done = launched("raise SystemExit(75)", count=1)
    assert done.returncode == 75 and "ended with exit status 75" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_process_is_left(number, status, tmp_path):
    """J22: after Ctrl-C, and after the death of the launcher itself."""
    text = f"import os, time; open(f'{tmp_path}/{{os.getpid()}}', 'w').close(); time.sleep(500)"
    launcher = subprocess.Popen([sys.executable, "-m", "nervure", "launch", "-n", "2", "--", sys.executable, "-c",
                                 text], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    launcher.send_signal(number)
    _, said = launcher.communicate(timeout=60)
    assert launcher.returncode == status and ("interrupted" in said) is (number == signal.SIGINT)
    while any(map(is_alive, map(int, os.listdir(tmp_path)))) and time.monotonic() < end:
        time.sleep(0.02)
    assert len(os.listdir(tmp_path)) == 2 and not any(map(is_alive, map(int, os.listdir(tmp_path))))


@pytest.mark.parametrize(("arguments", "status", "message"), [
    (["-n", "2", "--", "no-such-program"], 1, "launch: there is no such command"),
    (["-n", "0", "--", "true"], 2, "0 is not at least 1"), (["--", "true"], 2, "required: -n"),
    (["-n", "2"], 2, "required: COMMAND")])
def test_what_is_refused(arguments, status, message, capsys):
    """J20"""
    assert main(["launch", *arguments]) == status
    assert message in capsys.readouterr().err


def test_a_recipe_on_a_mesh_joins_its_job(monkeypatch, capsys):
    """J26: before anything of it uses JAX; and its lines are those of the first process."""
    called = []
    monkeypatch.setattr(processes, "join", lambda: called.append("join"))
    monkeypatch.setattr("nervure.tools.train.train", lambda *given: called.append("train"))
    monkeypatch.setattr("nervure.tools.recipes.RECIPES", dict.fromkeys(["digits"], NoData()))
    assert main(["train", "digits"]) == 0 and main(["train", "digits", "--mesh", "data=2", "--shard", "N=data"]) == 0
    assert called == ["train", "join", "train"]
    for number in (0, 1):
        monkeypatch.setattr(processes, "index", lambda number=number: number)
        _tell(f"line of {number}")
    assert capsys.readouterr().out == "line of 0\n"


class NoData:
    """A recipe that loads nothing."""

    def load(self, *given: object) -> None:
        pass
