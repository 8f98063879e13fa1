"""``python -m bench.worker PROBLEM CONTENDER``: one contender in a process of its own, which answers lines with lines.

Each answer is one line of JSON on the standard output. The first says ``{"ready": true}``. Then the worker waits,
idle, for commands on the standard input: ``check`` (is the result right?), ``round SECONDS`` (a figure), ``memory``
(bytes that a call needs), and ends with the input. ``python -m bench.worker --list FRAMEWORK`` says what there is.

    $ echo "check" | python -m bench.worker small numpy.plain
    {"ready": true}
    {"mistake": null}
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from timeit import Timer
from typing import Any

import numpy as np

import bench.compiled_models
import bench.convolutions
import bench.decayed
import bench.images
import bench.patterns
import bench.products
import bench.steps  # noqa: F401  # their problems are listed
from bench.contenders import Prepared, Programs
from bench.problems import PROBLEMS, Problem

FOLDERS = "training", "networks", "compiled"  # which have further programs of a framework
WARM_UP = 3          # calls before those that count
SAMPLE = 1e-3        # seconds: shorter calls are timed several at a time, so that the clock does not count
IDLE_TIMES = 5       # goes of the figure "idle" in a round
STEPS = 50           # of the figure "memory"
IDLE_FROM, IDLE_TO = 1e-3, 50e-3


def programs_of(framework: str) -> Programs:
    """The programs of a framework; ImportError if it is not installed."""
    programs: Programs = importlib.import_module(f"bench.contenders.{framework}").programs
    for folder in FOLDERS:
        if importlib.util.find_spec(f"bench.{folder}.{framework}"):
            importlib.import_module(f"bench.{folder}.{framework}")
    return programs


def call_time(prepared: Prepared, seconds: float) -> float:
    """The median time of calls that come one after the other for at least ``seconds``; at least three calls."""
    names = {f"argument_{number}": argument for number, argument in enumerate(prepared.arguments)}
    timer = Timer(f"call({', '.join(names)})", globals={"call": prepared.call, **names})
    once = timer.timeit(WARM_UP) / WARM_UP
    together = max(1, int(SAMPLE / once))
    figures: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(figures) < 3:
        figures.append(timer.timeit(together) / together)
    return statistics.median(figures)


def idle_time(prepared: Prepared) -> float:
    """The CPU seconds that the whole process uses between 1 ms and 50 ms after a call has returned."""
    for _ in range(WARM_UP):
        prepared.call(*prepared.arguments)
    figures = []
    for _ in range(IDLE_TIMES):
        prepared.call(*prepared.arguments)
        time.sleep(IDLE_FROM)
        before = time.process_time()
        time.sleep(IDLE_TO - IDLE_FROM)
        figures.append(time.process_time() - before)
    return statistics.median(figures)


def status(name: str) -> int:
    """Bytes, from the kernel's account of this process; 0 where there is none."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
    except OSError:
        return 0


def reset_peak() -> bool:
    """Sets the peak of this process back to what is used now (proc(5)); False where that cannot be done."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
            peak.write("5")
    except OSError:
        return False
    return True


def peak_memory(prepared: Prepared, before: int) -> int:
    """The most memory of the process during a warm call, less what it had before the program was prepared."""
    if not reset_peak():
        return 0
    prepared.call(*prepared.arguments)
    return max(0, status("VmHWM") - before)


class Worker:
    """A prepared contender and the commands it understands."""

    def __init__(self, problem: str, contender: str, scale: float) -> None:
        self.name, self.scale = problem, scale
        framework, _, setting = contender.partition(".")
        programs = programs_of(framework)
        self.problem: Problem = PROBLEMS[problem](scale)
        inputs = self.problem.inputs()
        self.before = status("VmRSS")
        reset_peak()
        self.prepared = programs.prepare(problem, setting, inputs)

    def check(self, _: str = "") -> dict[str, Any]:
        """Whether the first results are right; to be asked before anything else."""
        return {"mistake": self._mistake(self._results(self.problem.calls))}

    def _results(self, steps: int) -> list[list[np.ndarray]]:
        """The results of so many steps, call by call."""
        prepared = self.prepared
        return [prepared.read(prepared.call(*prepared.arguments)) for _ in range(0, steps, prepared.steps)]

    def _mistake(self, results: list[list[np.ndarray]]) -> str | None:
        problem = PROBLEMS[self.name](self.scale)
        return problem.mistake(problem.inputs(), problem.of_calls(results))

    def round(self, seconds: str) -> dict[str, Any]:
        """A figure, in seconds."""
        prepared, lasting = self.prepared, float(seconds)
        if self.problem.figure == "idle":
            return {"figure": idle_time(prepared)}
        floor = 0.0 if prepared.floor is None else call_time(prepared._replace(call=prepared.floor), lasting)
        return {"figure": (call_time(prepared, lasting) - floor) / prepared.steps}

    def first(self, _: str = "") -> dict[str, Any]:
        """The time of the first call of this process, and whether its results were right."""
        start = time.perf_counter()
        returned = self.prepared.call(*self.prepared.arguments)
        figure = time.perf_counter() - start
        return {"figure": figure, "mistake": self._mistake([self.prepared.read(returned)])}

    def peak(self, _: str = "") -> dict[str, Any]:
        """The most bytes of this process in its first steps, less those after import."""
        results = self._results(STEPS)
        figure = status("VmHWM") - self.before
        return {"figure": figure, "mistake": self._mistake(results)}

    def memory(self, _: str = "") -> dict[str, Any]:
        """Bytes that a warm call needs beside the inputs, with the code of the framework that it loaded."""
        return {"memory": peak_memory(self.prepared, self.before)}


def answered(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a command answers; a failure of the contender is an answer too."""
    try:
        return work()
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {str(error).strip().partition(os.linesep)[0]:.200}"}


def serve(commands: Iterable[str], answer: Callable[[dict[str, Any]], None], make: Callable[[], Worker]) -> None:
    """Answers ready or failed, then each command."""
    workers: list[Worker] = []

    def start() -> dict[str, Any]:
        workers.append(make())
        return {"ready": True}
    answer(answered(start))
    for line in itertools.takewhile(lambda _: workers, commands):
        name, _, argument = line.strip().partition(" ")
        answer(answered(lambda name=name, argument=argument: getattr(workers[0], name)(argument)))


def describe(framework: str) -> dict[str, Any]:
    """The version of a framework and its settings for each problem."""
    programs = programs_of(framework)
    return {"version": programs.version, "settings": {name: list(table) for name, table in programs.table.items()}}


def main(arguments: list[str] | None = None) -> None:
    """Keeps the standard output for the answers: what frameworks print goes to the standard error."""
    parser = argparse.ArgumentParser(prog="python -m bench.worker")
    parser.add_argument("problem", nargs="?")
    parser.add_argument("contender", nargs="?", help="framework.setting")
    parser.add_argument("--list", metavar="FRAMEWORK")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args(arguments)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)

    def answer(entry: dict[str, Any]) -> None:
        print(json.dumps(entry), file=answers, flush=True)
    if options.list:
        answer(answered(lambda: describe(options.list)))
    else:
        serve(sys.stdin, answer, lambda: Worker(options.problem, options.contender, options.scale))


if __name__ == "__main__":
    main()
