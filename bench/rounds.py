"""Contenders measured in turns: rounds in rotating order, so that what drifts, drifts for all.

Each contender waits in a process of its own while another one works. A round is a fifth of a second of quiet, warm-up
calls, then calls for a third of a second (see :mod:`bench.worker`). The ratio of a round is the fastest peer's
figure over our own; of the rounds' ratios the median and the quartiles are reported.

>>> result = Result("adam", {"nervure.a": [2.0, 2.0, 4.0], "torch.a": [4.0, 5.0, 4.0], "torch.b": [9.0, 3.0, 8.0]})
>>> result.ratios(), result.figure("nervure.a"), result.best("torch")
([2.0, 1.5, 1.0], 2.0, 'torch.a')
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders import OURS
from bench.problems import PROBLEMS

ROOT = Path(__file__).resolve().parent.parent
QUIET = 0.2
LASTING = 0.3
FAR = 10
CACHE_PLACES = ("NERVURE_CACHE_DIRECTORY", "JAX_COMPILATION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
# What holds each library to AVX2; oneDNN's variable counts for PyTorch and OpenVINO. ONNX Runtime knows none.
AVX2 = {"NERVURE_CPU_FEATURES": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
UNHELD = ("onnxruntime",)
IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


@dataclass(frozen=True)
class Settings:
    """How to measure. Of a row a round begins, and an answer is waited for, within a ``limit`` of seconds, if any."""

    rounds: int = 7
    threads: int = 2
    scale: float = 1.0
    transformer: str = "cpu"
    avx2: bool = False
    limit: float | None = None


@dataclass
class Result:
    """The figures of each contender, one a round; bytes; what went wrong."""

    problem: str
    figures: dict[str, list[float]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def of(self, framework: str) -> list[str]:
        """The contenders of a framework that were measured."""
        return [name for name in self.figures if name.partition(".")[0] == framework]

    def figure(self, contender: str) -> float:
        """The median over the rounds."""
        return statistics.median(self.figures[contender])

    def best(self, framework: str) -> str | None:
        """The fastest setting of a framework."""
        return min(self.of(framework), key=self.figure, default=None)

    def ratios(self) -> list[float]:
        """Best peer over ours, by round; nothing where one of them is missing."""
        ours, peer = self.of(OURS), PROBLEMS[self.problem].bar.peer
        theirs = self.of(peer) if peer else [name for name in self.figures if name not in ours]
        fastest = [[min(figures) for figures in by_round([self.figures[name] for name in names])]
                   for names in (theirs, ours)]
        return [best / mine for best, mine in zip(*fastest)]


def by_round(figures: Sequence[Sequence[float]]) -> list[list[float]]:
    """The figures that each round has: some contenders rest after the first.

    >>> by_round([[1.0, 2.0], [3.0]])
    [[1.0, 3.0], [2.0]]
    """
    return [[entry[number] for entry in figures if number < len(entry)]
            for number in range(max(map(len, figures), default=0))]


class Failure(Exception):
    """What a contender answered instead of a figure."""


def environment(settings: Settings, cache: str | None = None) -> dict[str, str]:
    """The variables that worker processes see: threads, instructions, our transformer, where compilers keep code.

    Python keeps the bytecode of our modules, as it does that of packages when they are installed.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    threads = {f"{name}_NUM_THREADS": str(settings.threads) for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
    places = dict.fromkeys(CACHE_PLACES, cache) if cache else {}
    instructions = AVX2 if settings.avx2 else {}
    return {**own, **threads, **instructions, "NERVURE_TRANSFORMER": settings.transformer, **places,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


def limited(threads: int) -> Callable[[], None] | None:
    """Keeps a new process to as many cores as it may have threads, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    cores = sorted(os.sched_getaffinity(0))[:threads]
    return lambda: os.sched_setaffinity(0, cores)


@contextmanager
def ended_after(seconds: float | None, process: subprocess.Popen[str]) -> Iterator[None]:
    """Kills a process that answers too late."""
    if seconds is None:
        yield
        return
    watch = threading.Timer(seconds, process.kill)
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


class Contender:
    """A worker process; what it prints besides its answers goes to a file, so that no pipe fills up.

    Of the ``arguments``, a contender's name may end with ``@FOLDER``: the worker then takes nervure from there.
    """

    def __init__(self, arguments: Sequence[str], settings: Settings, cache: str | None = None) -> None:
        *first, (name, _, folder) = [*arguments[:-1], arguments[-1].partition("@")]
        command = [sys.executable, "-m", "bench.worker", *first, name, "--scale", str(settings.scale)]
        path = {"PYTHONPATH": folder} if folder else {}
        self.limit = settings.limit
        self.noise = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.noise, env={**environment(settings, cache), **path},
                                        preexec_fn=limited(settings.threads))

    def answer(self) -> dict[str, Any]:
        """The next answer; Failure if it is one, or if the process has ended, as it does at the limit."""
        with ended_after(self.limit, self.process):
            line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.noise.seek(0)
            last = self.noise.read().decode(errors="replace").strip().splitlines()[-1:]
            raise Failure(f"ended with {self.process.returncode}: {''.join(last):.200}")
        answer = json.loads(line)
        if "failed" in answer:
            raise Failure(answer["failed"])
        if answer.get("mistake"):
            raise Failure(answer["mistake"])
        return answer

    def ask(self, command: str) -> dict[str, Any]:
        """The answer to a command."""
        try:
            print(command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # the answer says why
        return self.answer()

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.noise.close()


def slow_peers(result: Result) -> set[str]:
    """The peers whose first figure was ``FAR`` times that of the fastest peer, or more."""
    first = {name: figures[0] for name, figures in result.figures.items() if name not in result.of(OURS)}
    return {name for name, figure in first.items() if figure >= FAR * min(first.values())}


def in_turns(result: Result, measure: dict[str, Callable[[], float]], rounds: int, limit: float | None = None) -> None:
    """Measures all in each round, starting with another one each time.

    Who fails is out. A peer that was far slower than the fastest one in the first round will not be the best peer
    in another, and rests. Behind the limit, in seconds, no round begins.
    """
    end = time.monotonic() + (math.inf if limit is None else limit)
    for number in range(rounds):
        if number and time.monotonic() > end:
            return
        resting = slow_peers(result) if number else set()
        names = [name for name in measure if name not in result.failures and name not in resting]
        shift = number % max(1, len(names))
        for name in names[shift:] + names[:shift]:
            time.sleep(QUIET)
            try:
                result.figures.setdefault(name, []).append(measure[name]())
            except Failure as failure:
                result.failures[name] = str(failure)
                result.figures.pop(name, None)


def measure_calls(problem: str, contenders: Sequence[str], settings: Settings) -> Result:
    """A worker each, alive through all rounds."""
    result = Result(problem)
    with ExitStack() as stack:
        measure = {}
        for name in contenders:
            contender = Contender([problem, name], settings)
            stack.callback(contender.close)
            try:
                contender.answer()
                contender.ask("check")
                result.memory[name] = contender.ask("memory")["memory"]
                measure[name] = lambda contender=contender: contender.ask(f"round {LASTING}")["figure"]
            except Failure as failure:
                result.failures[name] = str(failure)
        in_turns(result, measure, settings.rounds, settings.limit)
    return result


@contextmanager
def own_process(arguments: Sequence[str], settings: Settings, cache: str) -> Iterator[Contender]:
    """A worker that is ready, for a single figure."""
    contender = Contender(arguments, settings, cache)
    try:
        contender.answer()
        yield contender
    finally:
        contender.close()


def measure_cold(problem: str, contenders: Sequence[str], settings: Settings) -> Result:
    """A new worker for each figure: with an empty cache, or with one that it filled before."""
    result, measured = Result(problem), PROBLEMS[problem]
    command = "peak" if measured.figure == "memory" else "first"
    with tempfile.TemporaryDirectory() as kept:
        def first(name: str, cache: str) -> float:
            with own_process([problem, name], settings, cache) as contender:
                return contender.ask(command)["figure"]

        def once(name: str) -> float:
            if measured.kept_cache:
                return first(name, str(Path(kept, name)))
            with tempfile.TemporaryDirectory() as empty:
                return first(name, empty)
        if measured.kept_cache:
            in_turns(Result(problem), {name: lambda name=name: once(name) for name in contenders}, 1)
        in_turns(result, {name: lambda name=name: once(name) for name in contenders}, settings.rounds, settings.limit)
    return result


def import_time(module: str, settings: Settings) -> float:
    """The seconds that importing takes in a new process."""
    done = subprocess.run([sys.executable, "-c", IMPORT.format(module)], cwd=ROOT, text=True, capture_output=True,
                          env=environment(settings))
    if done.returncode:
        raise Failure(done.stderr.strip().splitlines()[-1])
    return float(done.stdout)


def measure(problem: str, contenders: Sequence[str], settings: Settings) -> Result:
    """All contenders of a problem, in turns."""
    threads = PROBLEMS[problem].threads if problem in PROBLEMS else None
    settings = settings if threads is None else dataclasses.replace(settings, threads=threads)
    if problem == "import":
        result = Result(problem)
        in_turns(result, {name: lambda name=name: import_time(name, settings) for name in contenders},
                 settings.rounds)
        return result
    run = measure_cold if PROBLEMS[problem].own_process else measure_calls
    return run(problem, contenders, settings)


def installed(frameworks: Sequence[str], settings: Settings) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """What each framework answers about itself, and why others cannot take part."""
    found, missing = {}, {}
    for name in frameworks:
        contender = Contender(["--list", name], settings)
        try:
            found[name] = contender.answer()
        except Failure as failure:
            missing[name] = str(failure)
        contender.close()
    return found, missing
