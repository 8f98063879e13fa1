"""Time per op of each stage at 1,000, 10,000 and 100,000 ops: chains and wide graphs, in microseconds.

The bars: at 100,000 ops at most 1.5 times the time per op at 1,000, and under 100 microseconds in all.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import nervure as nv
from nervure.autodiff.reverse import gradients
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.verify import verify
from nervure.passes.pipelines import standard

SIZES = (1_000, 10_000, 100_000)
REPEATS = {1_000: 15, 10_000: 5, 100_000: 1}


def chain(count: int) -> tuple[nv.Function, Any]:
    """x, tanh(x + x), ... one after the other."""
    x = value = nv.Parameter(nv.float32, (4,)).value
    for number in range(count):
        value = nv.ops.Add(value, x).output if number % 2 else nv.ops.Tanh(value).output
    return nv.Function([value], [x]), x


def wide(count: int) -> tuple[nv.Function, Any]:
    """Many branches from one parameter, added up in pairs."""
    x = nv.Parameter(nv.float32, (4,)).value
    values = [nv.ops.Tanh(x).output for _ in range(count // 2)]
    while len(values) > 1:
        paired = [nv.ops.Add(a, b).output for a, b in zip(values[::2], values[1::2], strict=False)]
        values = paired + values[2 * len(paired):]
    return nv.Function(values, [x]), x


def stages(make: Callable[[int], tuple[nv.Function, Any]], count: int) -> dict[str, float]:
    """Microseconds per op of one go through every stage."""
    times: dict[str, float] = {}
    transformer = nv.transformers.make_transformer("interpreter")

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        times[name] = (time.perf_counter() - start) * 1e6 / count
        return result

    function, x = timed("build", lambda: make(count))
    timed("verify", lambda: verify(function))
    timed("derive", lambda: gradients(function.results, [x], [None]))
    timed("passes", lambda: standard(function))
    printed = timed("print", lambda: print_function(function))
    timed("parse", lambda: parse_function(printed))
    executable = timed("compile", lambda: transformer.compile(function))
    timed("run", lambda: executable([np.ones(4, np.float32)]))
    times["all"] = sum(times.values())
    return times


def measured(make: Callable[[int], tuple[nv.Function, Any]], count: int) -> dict[str, float]:
    """The median of several goes, each from a collected heap."""
    goes = []
    for _ in range(REPEATS[count]):
        gc.collect()
        goes.append(stages(make, count))
    return {name: statistics.median(go[name] for go in goes) for name in goes[0]}


def rows() -> Iterator[dict[str, object]]:
    """A row a graph and size; the last column compares with the smallest size."""
    for make in (chain, wide):
        smallest = None
        for count in SIZES:
            times = measured(make, count)
            smallest = smallest or times["all"]
            yield {"graph": f"{make.__name__} {count:,}", **{name: f"{value:.1f}" for name, value in times.items()},
                   "ratio": f"{times['all'] / smallest:.2f}"}
