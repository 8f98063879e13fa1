"""Saves in processes that are killed between system calls: ``python -m tests.kills DIRECTORY EVERY FORMAT``. The first
is killed at its first call of the system, the next after ``EVERY`` more, until one comes to its end.

``FORMAT`` is a format of weights, or "computation": a program with a loop and a branch, and the variables that it has.

It prints a line for each: at which call it was killed, which content the file then has, how many files were left, and
how many after the next save. The processes are traced by ptrace, so that nothing depends on how fast they are.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import nervure as nv
from nervure.files.model_formats import load_state

ARRAYS, LENGTH = 190, 3000
"""Each array is longer than what is written at once."""

TRACE_ME, NEXT_CALL = 0, 24
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def write_lines(path: str, state: nv.StateDict) -> None:
    """A format of a user's: a line for each array, which holds one number."""
    with open(path, "w", buffering=1) as file:
        for key, array in state.table.items():
            file.write(f"{key} {array.flat[0]}\n")


def read_lines(path: str) -> nv.StateDict:
    with open(path) as file:
        return nv.StateDict({key: np.array([float(number)]) for key, number in map(str.split, file)})


def extremes(model: list[nv.AssignableTensorOp]) -> nv.Computation:
    """A loop that finds the smallest and the largest number that variables hold."""
    def step(found: tuple[nv.Tensor, nv.Tensor], _: object) -> tuple[object, None]:
        low, high = found
        for place in model:
            low, high = nv.minimum(low, nv.min(place)), nv.maximum(high, nv.max(place))
        return nv.cond(low < high, lambda: (low, high), lambda: (high, low)), None
    first = nv.constant(1e30), nv.constant(-1e30)
    return nv.computation(list(nv.scan(step, first, None, 2)[0]))


def ptrace(request: int, process: int = 0) -> None:
    if _libc.ptrace(request, process, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def killed_at(call: int, save: Callable[[], None]) -> bool:
    """Saves in a process that is killed when it is about to make this call of the system; whether it came so far."""
    process = os.fork()
    if process == 0:
        ptrace(TRACE_ME)
        os.kill(os.getpid(), signal.SIGSTOP)
        save()
        os._exit(0)
    os.waitpid(process, 0)
    for _ in range(2 * call + 1):  # before and after each call
        ptrace(NEXT_CALL, process)
        if not os.WIFSTOPPED(os.waitpid(process, 0)[1]):
            return False
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


def content(path: Path, model: list[nv.AssignableTensorOp], format: str) -> float:
    """The number that all arrays of the file hold; an error if they hold several."""
    if format == "computation":
        number, = {float(value) for value in nv.load(path, nv.transformers.make_transformer("interpreter"))()}
        return number
    table = load_state(path, format).table
    number, = {float(value) for array in table.values() for value in np.unique(array)}
    return number if len(table) == len(model) else float("nan")


def main(directory: Path, every: int, format: str) -> None:
    warnings.simplefilter("ignore")
    nv.define_model_format("lines", save=write_lines, load=read_lines)
    path = directory / "weights"
    model = [nv.variable((LENGTH,)).named(f"w{number}") for number in range(ARRAYS)]
    transformer = nv.transformers.default()

    def fill(number: float) -> None:
        for place in model:
            transformer.set(place, np.full(LENGTH, number, np.float32))
    program = extremes(model) if format == "computation" else None

    def save() -> None:
        if program is not None:
            nv.save(path, program)
        else:
            nv.save_weights(model, path, format)
    fill(0.0)
    save()
    call, goes_on = 0, True
    while goes_on:
        fill(call + 1.0)
        goes_on = killed_at(call, save)
        found, left = content(path, model, format), len(os.listdir(directory))
        fill(0.0)
        save()
        print(call, found, left, len(os.listdir(directory)), int(goes_on), flush=True)
        call += every


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
