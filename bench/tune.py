"""The numbers that steer products and convolutions, measured anew on this machine: each as it is, and as it would be.

``python -m bench tune [name ...]`` measures those whose names contain one of the words: all without a word. They are
the numbers of :mod:`nervure.support.product_tuning`, and two caches of :mod:`nervure.support.machine`.

A number decides between ways to compute the same. So each has problems around the sizes where its decision turns, and
values that it might have. All programs that a problem gets by these values are checked for equal bits, and timed in
turns in one process: the least time of many calls counts. The number would be the value with the least product of
times; it stays as it is where that is not a hundredth less.

>>> times = [{2: 1.0, 4: 1.1, 8: 2.0}, {2: 1.0, 4: 1.0, 8: 1.0}]
>>> verdict(4, times)
Verdict(best=2, gain=1.1, spread=2.0, turning=1)

With ``--details`` there is a line for each problem: its least times by the values, in microseconds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import nervure as nv
from bench.__main__ import table
from nervure.autodiff.reverse import gradients
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.kernel.plan import KernelStep, make_plan
from nervure.kernel.printer import print_kernel
from nervure.support.machine import Machine
from nervure.transformers.cpu.transformer import CpuTransformer

Number = int | float
ALL, NONE = 1 << 40, 0
EQUAL = 1.01
"""How much slower a value has to be than another one, so that this one is better."""


class Problem(NamedTuple):
    """A function whose times are compared, with the lengths of its symbols."""

    name: str
    function: Callable[[], Function]
    lengths: Mapping[str, int] = {}


class Experiment(NamedTuple):
    """The values that a number might have, and the problems that it decides.

    ``in_code``: it steers what follows planning, so that the kernels of plans do not tell whether programs differ.
    """

    values: tuple[Number, ...]
    problems: Sequence[Problem]
    in_code: bool = False


class Verdict(NamedTuple):
    """The best value; how much faster it is than the present one, and than the worst; the problems that it turns."""

    best: Number
    gain: float
    spread: float
    turning: int


# -- problems ----------------------------------------------------------------------------------------------------


def product(m: int | str, n: int, k: int, *, right: str = "along", left: str = "along", dtype: nv.DType = nv.float32,
            length: int = 0) -> Problem:
    """A product of m x k by k x n; m may be a symbol of this ``length``.

    The operands lie "along" memory, or "across" it; the right one may also be "kept" from call to call, across memory,
    or "made" of others.
    """
    rows = nv.dim(m, min=1) if isinstance(m, str) else m

    def function() -> Function:
        a = nv.Parameter(dtype, (k, rows) if left == "across" else (rows, k))
        b_shape = (k, n) if right in ("along", "made") else (n, k)
        b = nv.Parameter(dtype, b_shape)
        used = {"along": b.output, "across": b.output, "made": nv.ops.Add(nv.ops.Multiply(b, b), b).output,
                "kept": Constant(numbers(b_shape, 2, dtype)).value}[right]
        sides = [nv.ops.Convert(x, nv.int32).output if dtype is nv.uint8 else x for x in (a.output, used)]
        axes = (2, 0) if left == "across" else (0, 2), (2, 1) if right in ("along", "made") else (1, 2)
        return Function([nv.ops.Contract(*sides, *axes, (0, 1))], [a] if right == "kept" else [a, b])
    kind = [f"{side} {how}" for side, how in (("A", left), ("B", right)) if how != "along"]
    name = " ".join([f"{length or m}x{k}x{n}", *kind, *(["bytes"] if dtype is nv.uint8 else [])])
    return Problem(name, function, {m: length} if isinstance(m, str) else {})


def convolution(batch: int, channels: int, side: int, filters: int, window: int = 3, *, form: str = "result",
                groups: int = 1, kept: bool = False, given: bool = True) -> Problem:
    """A convolution of square images with padding of half a window, or its gradient for "data" or "filters".

    Filters may be "kept" from call to call; then something is computed of the result where it is not ``given`` back.
    """
    def function() -> Function:
        places = side + 2 * (window // 2) - window + 1
        x = nv.Parameter(nv.float32, (batch, channels, side, side))
        f = nv.Parameter(nv.float32, (filters, channels // groups, window, window))
        r = nv.Parameter(nv.float32, (batch, filters, places, places))
        how = {"paddings": [(window // 2, window // 2)] * 2, "groups": groups}
        used = Constant(numbers(f.shape, 2)).value if kept else f.output
        if form == "result":
            result = nv.ops.Convolution(x, used, **how).output
            return Function([result if given else nv.ops.Sum(result, [2, 3])], [x] if kept else [x, f])
        result = nv.ops.Convolution(x, f, **how).output
        wanted, needed = (x, f) if form == "data" else (f, x)
        return Function(gradients([result], [wanted], [r.output]), [r, needed])
    kind = [*(["kept"] if kept else []), *([f"groups {groups}"] if groups > 1 else []),
            *([form] if form != "result" else [])]
    return Problem(" ".join([f"conv {batch}x{channels}x{side} {filters}x{window}x{window}", *kind]), function)


def pool(side: int, window: int, stride: int, form: str = "largest", rank: int = 2) -> Problem:
    """The "largest" element or the "mean" of each window over images, over rows for a ``rank`` of 1.

    The ``form`` may also be the "gradient of" either.
    """
    def function() -> Function:
        x = nv.Parameter(nv.float32, (*((4, 16) if rank == 2 else (64,)), *[side] * rank))
        axes, op = range(x.value.rank - rank, x.value.rank), nv.ops.MaxPool if "largest" in form else nv.ops.AveragePool
        result = op(x, axes=tuple(axes), windows=(window,) * rank, strides=(stride,) * rank).output
        if "gradient" not in form:
            return Function([result], [x])
        r = nv.Parameter(nv.float32, result.shape)
        return Function(gradients([result], [x], [r.output]), [x, r])
    return Problem(f"{form} {side} {window} by {stride}", function)


def numbers(shape: Sequence[int], seed: int, dtype: nv.DType = nv.float32) -> np.ndarray:
    """Normal numbers, or bytes."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, shape, np.uint8) if dtype is nv.uint8 else rng.standard_normal(shape, np.float32)


# -- the table ---------------------------------------------------------------------------------------------------

ROWS = (16, 48, 64, 96, 192, 384)

EXPERIMENTS: dict[str, Experiment] = {
    "direct_rows": Experiment((NONE, 32, 64, 128, 256, ALL), [product(m, 768, 768) for m in ROWS]),
    "table_rows": Experiment((NONE, 64, 192, 384, ALL), [
        convolution(4, 64, side, filters) for side in (7, 14) for filters in (8, 24, 40, 72)]),
    "gap_packing": Experiment((0, 2, 4, 8, ALL), [
        convolution(8, 32, side, 72) for side in (4, 7, 14, 28)]),
    "unknown_repetitions": Experiment((1, 2, 4, 8), [
        product("m", 512, 512, right="made", length=m) for m in (32, 240, 1200)]),
    "widest_block": Experiment((128, 256, 512, 1024, 2048), [
        product(m, 4096, k) for m in (64, 256) for k in (9, 27, 64)]),
    "kept_share": Experiment((1, 2, 4), [
        product(m, 1024, k, right="kept") for m in (16, 64, 256) for k in (64, 1024)]),
    "streamed_columns": Experiment((256, 512, 1024, 2048, 4096), [
        product(m, n, 1024) for m in (1, 4, 12) for n in (2048, 8192)]),
    "task_products": Experiment((1 << 24, 1 << 26, 1 << 28, 1 << 30), [
        product(m, 1024, 1024) for m in (512, 2048)]),
    "least_rows": Experiment((12, 24, 48, 96, 192), [product(m, 256, 256) for m in (64, 128, 256, 512)]),
    "packed_rows": Experiment((60, 120, 240, 480), [
        product(m, 512, 512, right="across") for m in (96, 200, 400, 1000)]),
    "bytes_rows": Experiment((128, 256, 512, 1024), [
        product(m, 512, 512, dtype=nv.uint8) for m in (200, 500, 1000, 2000)]),
    "least_channels": Experiment((16, 32, 48, 64, 128), [
        *[convolution(8, c, 14, c, form="filters") for c in (16, 32, 64, 96)],
        *[convolution(8, c, 14, c, kept=True, given=False) for c in (16, 32, 64, 96)],
        *[convolution(8, c, side, c, form=form) for c in (16, 32, 64) for side in (7, 28, 64)
          for form in ("result", "data")]]),
    "crossing": Experiment((NONE, 100, 500, 2000, ALL), [
        convolution(8, c, side, 64, window, kept=True) for c, side in ((16, 28), (64, 14), (64, 56))
        for window in (3, 5)]),
    "transposed_points": Experiment((NONE, 64, 128, 256, 512, ALL), [
        convolution(8, c, 28, 64) for c in (3, 8, 12, 16, 32, 64)]),
    "window_phases": Experiment((1, 4, 16, 64), [
        pool(side, window, window, f"gradient of {form}") for form in ("mean", "largest") for side in (40, 240)
        for window in (2, 4, 5, 8)]),
    "window_step": Experiment((1, 2, 4, 8, ALL), [
        *[pool(side, window, window, form) for form in ("largest", "gradient of largest") for side in (40, 240)
          for window in (3, 5, 8)],
        *[pool(4096, window, window, "mean", 1) for window in (3, 5, 8, 16)]]),
    "inner_rows": Experiment((1, 2, 3, 5, 9), [
        convolution(16, 64, side, 64, groups=64) for side in (3, 4, 5, 7, 10)], True),
    "shared_loads": Experiment((0.0, 0.5, 0.6, 0.75, 0.9, 1.0), [
        *[convolution(8, 64, 28, 64, window, groups=64) for window in (3, 5)], pool(64, 2, 1), pool(64, 3, 1),
        pool(64, 3, 2), pool(64, 5, 2)], True),
    "prefetched_points": Experiment((4, 8, 16, 32), [
        product(m, m, m, left=left) for m in (256, 768) for left in ("along", "across")], True),
    "turn_points": Experiment((1, 2, 4, 8), [product(m, m, m) for m in (96, 256, 512)], True),
    "copied_strips": Experiment((1, 2, 4, 8, ALL), [
        product(256, n, 512, left="across") for n in (24, 48, 96, 256)], True),
    "aligned_columns": Experiment((32, 64, 128, 256, ALL), [
        product(64, n, k) for n in (64, 128, 256) for k in (64, 128, 256)], True),
    "taller_share": Experiment((0.5, 0.85, 15 / 16, 1.0), [
        product(m, 192, k) for m in (8, 16, 32, 64, 128) for k in (64, 512)], True),
    "long_row": Experiment((NONE, 512, 1024, 2048, 4096), [
        product(m, n, 512) for m in (1, 4, 8) for n in (64, 192, 384, 768)], True),
    "first_cache": Experiment((1 << 14, 1 << 15, 48 << 10, 1 << 16), [
        product(m, n, 512) for m in (1, 8, 96) for n in (16, 96, 1536)], True),
    "own_cache": Experiment((1 << 18, 1 << 19, 1 << 20, 1 << 21), [
        *[product(m, 1024, 1024, right=right) for m in (96, 512) for right in ("along", "across", "kept")],
        convolution(8, 64, 28, 64)]),
}
"""What is measured for each number."""


# -- measuring ---------------------------------------------------------------------------------------------------


def changed(machine: Machine, name: str, value: Number) -> Machine:
    """A machine with another value of a number."""
    if name in machine.products._fields:
        return machine._replace(products=machine.products._replace(**{name: value}))
    return machine._replace(**{name: value})


def present(machine: Machine, name: str) -> Number:
    """The value that a machine has."""
    return getattr(machine.products if name in machine.products._fields else machine, name)


class Program(NamedTuple):
    """The kernels of a function, and what runs it."""

    kernels: str
    run: Callable[[], tuple[np.ndarray, ...]]


def programs(name: str, problem: Problem, values: Sequence[Number], in_code: bool) -> dict[Number, Program]:
    """The programs of a problem by the values of a number; values that decide the same share theirs."""
    function, found = problem.function(), dict[str, Program]()
    shapes = [[problem.lengths[str(length)] if not isinstance(length, int) else length for length in p.shape]
              for p in function.parameters]
    arrays = [numbers(shape, seed, p.output.dtype) for seed, (shape, p) in
              enumerate(zip(shapes, function.parameters, strict=True))]
    own = {}
    for value in values:
        cpu = CpuTransformer()
        cpu.target = cpu.target._replace(machine=changed(cpu.target.machine, name, value))
        ready = cpu.optimised(function)
        steps = make_plan(ready, cpu.target.machine).steps
        text = "".join([print_kernel(step.kernel) for step in steps if isinstance(step, KernelStep)])
        text = f"{value} {text}" if in_code else text
        if text not in found:
            executable = cpu.compile(ready)
            found[text] = Program(text, lambda executable=executable: executable(*arrays))
        own[value] = found[text]
    return own


def least_times(runs: Sequence[Callable[[], object]], rounds: int, seconds: float) -> list[float]:
    """The least seconds of a call of each, which are called in turns: of the processor, where one thread runs."""
    if len(runs) < 2:
        return [1.0] * len(runs)  # there is nothing to compare
    clock = time.thread_time if nv.flags.threads == 1 else time.perf_counter
    least = [math.inf] * len(runs)
    for turn in range(rounds):
        for number in [(turn + offset) % len(runs) for offset in range(len(runs))]:
            end, now = time.perf_counter() + seconds, -math.inf
            while now < end:
                start = clock()
                runs[number]()
                least[number] = min(least[number], clock() - start)
                now = time.perf_counter()
    return least


def times_of(name: str, problem: Problem, values: Sequence[Number], in_code: bool, rounds: int,
             seconds: float) -> dict[Number, float]:
    """The least times of a problem by the values of a number. ValueError where results differ."""
    own = programs(name, problem, values, in_code)
    different = list(dict.fromkeys(own.values()))
    results = [[array.tobytes() for array in program.run()] for program in different]
    if any([result != results[0] for result in results]):
        raise ValueError(f"{problem.name} has other bits where {name} is another of {values}")
    least = dict(zip(different, least_times([program.run for program in different], rounds, seconds), strict=True))
    return {value: least[program] for value, program in own.items()}


def verdict(now: Number, times: Sequence[Mapping[Number, float]]) -> Verdict:
    """The best value of a number, which is ``now``, from the ``times`` of problems by its values."""
    turning = [each for each in times if len(set(each.values())) > 1]
    cost = {value: sum([math.log(each[value]) for each in turning]) / max(len(turning), 1) for value in times[0]}
    best = min(cost, key=cost.__getitem__)
    if cost[now] - cost[best] < math.log(EQUAL):
        best = now
    return Verdict(best, math.exp(cost[now] - cost[best]), math.exp(max(cost.values()) - cost[best]), len(turning))


def shown(value: Number) -> str:
    """A value as text: a large power of two is one.

    >>> [shown(value) for value in (3, 0.75, 1 << 20, ALL)]
    ['3', '0.75', '2**20', 'all']
    """
    if value == ALL:
        return "all"
    if isinstance(value, int) and value > 10_000 and value & (value - 1) == 0:
        return f"2**{value.bit_length() - 1}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def rows(words: Sequence[str], rounds: int = 10, seconds: float = 0.01, details: bool = False,
         experiments: Mapping[str, Experiment] = EXPERIMENTS) -> Iterator[dict[str, object]]:
    """A row for each number: what it is, what it would be, the gain, and how many problems it decides."""
    machine = CpuTransformer().target.machine
    for name, experiment in experiments.items():
        if words and not any(word in name for word in words):
            continue
        now, times = present(machine, name), []
        values = sorted({*experiment.values, now})
        for problem in experiment.problems:
            times.append(times_of(name, problem, values, experiment.in_code, rounds, seconds))
            if details:
                print(f"  {name}, {problem.name}:", *[
                    f"{shown(value)}: {each * 1e6:.1f}" for value, each in times[-1].items()], sep="  ", flush=True)
        found = verdict(now, times)
        yield {"number": name, "now": shown(now), "would be": shown(found.best), "gain": f"{found.gain:.3f}",
               "worst": f"{found.spread:.3f}", "decides": f"{found.turning} of {len(times)}"}


def main(options: list[str]) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench tune", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="measure the numbers whose names contain one of these")
    parser.add_argument("--threads", type=int, help="threads of a call (as many as there are cores)")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each program (10)")
    parser.add_argument("--details", action="store_true", help="also print the times of each problem")
    settings = parser.parse_args(options)
    unknown = [word for word in settings.names if not any(word in name for name in EXPERIMENTS)]
    if unknown:
        raise SystemExit(f"no number's name contains {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
    with nv.flags.overriding(**({} if settings.threads is None else {"threads": settings.threads})):
        print(table(rows(settings.names, settings.rounds, details=settings.details)))
