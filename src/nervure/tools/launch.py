"""Several processes of one command on this machine, which find each other: ``nervure launch -n 4 -- COMMAND``.

>>> import sys
>>> launch([sys.executable, "-c", "import os, sys; sys.exit(int(os.environ['JAX_NUM_PROCESSES']) - 2)"], count=2)
0

The output of the first process is shown, that of each other one is kept in a file. They end together: one that dies
takes the others with it, and so does Ctrl-C.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from nervure.errors import InvalidArgument
from nervure.processes import COORDINATOR, LOST, OWN, TOTAL

HERE = "127.0.0.1"
OFTEN = 0.02
"""The seconds between two looks at the processes: less than it takes one to notice that another has died."""

AFTER_A_DEATH, AFTER_AN_INTERRUPTION = 3.0, 20.0
"""The seconds in which processes that are asked to end may do so: in the second case they write a checkpoint."""

SHOWN = 15
"""The number of last lines of a process that has died."""

_DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG


class Child(NamedTuple):
    """A process by its number, and the file of its output (None: it is shown)."""

    number: int
    process: subprocess.Popen[bytes]
    log: Path | None


def launch(command: Sequence[str], count: int, logs: Path | None = None) -> int:
    """Runs ``count`` processes of a ``command`` to their end, and returns the exit status of the job.

    It is 0, or that of the process that has died (128 and the number of the signal if one has ended it), or 130 after
    Ctrl-C.

    The output of all but the first goes to files in ``logs``; absent, in a folder that is removed if all goes well.
    """
    if shutil.which(command[0]) is None:
        raise InvalidArgument("there is no such command", op="launch", operand="COMMAND", got=command[0],
                              expected="a program that can be run", location=None,
                              help="as in nervure launch -n 4 -- python train.py")
    folder = Path(tempfile.mkdtemp(prefix="nervure-launch-")) if logs is None else logs
    folder.mkdir(parents=True, exist_ok=True)
    children: list[Child] = []
    before = signal.signal(signal.SIGTERM, _interrupt)
    status = 1
    try:
        address = f"{HERE}:{_free_port()}"
        for index in range(count):
            children.append(_started(command, count, index, address, folder))
        status = _watched(children, count)
    except KeyboardInterrupt:
        status = 130
        _tell("interrupted: the processes end; once more ends them at once")
        _end(children, AFTER_AN_INTERRUPTION)
    finally:
        _end(children, 0.0)
        signal.signal(signal.SIGTERM, before)
        if logs is None and status == 0:
            shutil.rmtree(folder, ignore_errors=True)
    return status


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HERE, 0))
        number: int = found.getsockname()[1]
        return number


def _started(command: Sequence[str], count: int, index: int, address: str, folder: Path) -> Child:
    """Starts a process in a session of its own, so that Ctrl-C comes to the launcher alone."""
    environment = {**os.environ, COORDINATOR: address, "JAX_COORDINATOR_BIND_ADDRESS": address,
                   TOTAL: str(count), OWN: str(index)}
    if index == 0:
        return Child(index, subprocess.Popen(command, env=environment, start_new_session=True,
                                             preexec_fn=_dies_with_parent()), None)
    log = folder / f"process-{index}.log"
    environment.setdefault("PYTHONUNBUFFERED", "1")  # its last lines are there however it ends
    with open(log, "wb") as file:
        return Child(index, subprocess.Popen(
            command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, preexec_fn=_dies_with_parent()), log)


def _dies_with_parent() -> Callable[[], object] | None:
    """Returns what a child does at its start so that the system kills it when the launcher is killed; on Linux only."""
    if sys.platform != "linux":
        return None
    call = ctypes.CDLL(None).prctl
    return lambda: call(_DEATH_OF_PARENT, int(signal.SIGKILL))


def _watched(children: Sequence[Child], count: int) -> int:
    """Waits until all processes have ended, or one has died; returns the status of the job.

    One that has only noticed the death of another, as its status says, waits for that one to be found.
    """
    noticed = 0.0
    while True:
        ended = [child for child in children if child.process.poll() is not None]
        died = [child for child in ended if child.process.returncode]
        causes = [child for child in died if child.process.returncode != LOST]
        noticed = noticed or (time.monotonic() if died else 0.0)
        is_over = len(ended) == count
        if causes or (died and (is_over or time.monotonic() > noticed + AFTER_A_DEATH)):
            first = (causes or died)[0]
            return _told(first, [child for child in children if child not in ended], count)
        if is_over:
            return 0
        time.sleep(OFTEN)


def _told(dead: Child, others: Sequence[Child], count: int) -> int:
    """Says which process has died and how, ends the others, and returns the status of the job."""
    code = dead.process.returncode
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
    _end(others, AFTER_A_DEATH)
    _tell(f"process {dead.number} of {count} (numbered from 0) {how}; the job is over")
    if dead.log is not None:
        lines = _last_lines(dead.log)
        _tell(f"its last lines, of {dead.log}:" if lines else f"it has written nothing to {dead.log}", *lines)
    _tell("a training goes on from its newest checkpoint: --resume, or fit(..., resume=True)")
    return 128 - code if code < 0 else code


def _end(children: Sequence[Child], seconds: float) -> None:
    """Asks processes to end, waits for some ``seconds``, or until Ctrl-C, and kills those that are left."""
    alive = [child for child in children if child.process.poll() is None]
    try:
        if seconds:
            _signal(alive, signal.SIGTERM)
        end = time.monotonic() + seconds
        while alive and time.monotonic() < end:
            alive = [child for child in alive if child.process.poll() is None]
            time.sleep(OFTEN)
    except KeyboardInterrupt:
        pass
    _signal([child for child in alive if child.process.poll() is None], signal.SIGKILL)
    for child in children:
        child.process.wait()


def _signal(children: Sequence[Child], number: signal.Signals) -> None:
    for child in children:
        os.killpg(child.process.pid, number)  # it was not waited for, so that its number is still its own


def _last_lines(path: Path) -> list[str]:
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - 100_000, 0))
        return [f"  {line.decode(errors='replace').rstrip()}" for line in deque(file, SHOWN)]


def _tell(*lines: str) -> None:
    for line in lines:
        print(line if line.startswith("  ") else f"nervure launch: {line}", file=sys.stderr, flush=True)
