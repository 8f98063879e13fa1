"""What this machine can do: bytes and float operations a second, measured once per process and number of threads.

Bytes: the better of ``z = 3 x + y`` and a sum over tensors that no cache holds, counted as kernels are accounted (a
tensor once as read, once as written). Operations: fused multiply-adds of float32 in registers, which nothing waits for.

>>> print(fma_kernel(8, "kernel").text().count("@llvm.fma.v8f32"))
12
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np

from nervure import ops
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.compile.compilation import compile_function
from nervure.transformers.cpu.compile.compiler import compile_kernel
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, I64, PTR
from nervure.transformers.cpu.target import Target
from nervure.transformers.report import Limits
from nervure.types.dtype import float32

_ELEMENTS = 1 << 24         # of each tensor: 64 MB, more than a cache's share
_CHAINS = 12                # accumulators, which hide that one multiply-add takes 4 or 5 cycles
_TURNS = 1000               # of each slice of the kernel that multiplies and adds
_SLICES = 512
_LONG = 10_000_000          # estimated nanoseconds, for all threads to take part
_GOES = 5


@cache
def measured_limits(target: Target, threads: int) -> Limits:
    """The limits with so many threads, which is how many a call may use now."""
    return Limits(threads, _bytes_per_second(target), _operations_per_second(target))


def _bytes_per_second(target: Target) -> float:
    x, y = Parameter(float32, (_ELEMENTS,)), Parameter(float32, (_ELEMENTS,))
    arrays = [np.ones(_ELEMENTS, np.float32), np.ones(_ELEMENTS, np.float32)]
    triad, total = Function([3.0 * x + y], [x, y]), Function([ops.Sum(x + y, [0])], [x, y])
    rates = []
    for function, tensors in ((triad, 3), (total, 2)):
        program = compile_function(function, target).loaded.program({})
        results = program.make_results()
        seconds = _best(lambda: program.run(arrays, results))  # noqa: B023  # it is run at once
        rates.append(tensors * _ELEMENTS * 4 / seconds)
    return max(rates)


def _operations_per_second(target: Target) -> float:
    lanes = target.vector_bytes // 4
    library = compile_kernel(assemble([fma_kernel(lanes, "kernel")]), target)
    sink = np.zeros(_SLICES * 16, np.float32)
    step = runtime.Step(library.address("kernel"), [0], extent=_SLICES, nanoseconds=_LONG, owner=library)
    program = runtime.Program([step], [runtime.argument(0)])
    return 2 * lanes * _CHAINS * _TURNS * _SLICES / _best(lambda: program.run([sink]))


def fma_kernel(lanes: int, name: str) -> Builder:
    """A kernel of multiply-adds: every slice of its extent has the same number, and writes a cache line at its end."""
    b = Builder(name, [("buffers", PTR), ("sizes", PTR), ("begin", I64), ("end", I64), ("scratch", PTR),
                       ("status", PTR)], attributes="nounwind")
    buffers, _, begin, end, _, _ = b.arguments
    vector = F32.vector(lanes)
    sink = b.load(buffers, PTR)
    with b.loop(begin, end) as slices:
        starts = [b.constant(vector, number + 1.0) for number in range(_CHAINS)]
        with b.loop(0, _TURNS, carried=starts) as turns:
            half = b.constant(vector, 0.5)
            turns.carried = [b.call(f"llvm.fma.{vector.suffix}", vector, chain, half, half)
                             for chain in turns.carried]
        total = turns.results[0]
        for chain in turns.results[1:]:
            total = total + chain
        b.store(b.extract(total, 0), b.offset(sink, slices.index * 16, F32))
    b.ret()
    return b


def _best(run: Callable[[], object]) -> float:
    """The seconds of the shortest of several goes, after one that is not counted."""
    run()
    times = []
    for _ in range(_GOES):
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    return min(times) * 1e-9
