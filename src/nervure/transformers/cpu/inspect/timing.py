"""Times of the steps of a compiled plan, and the limits of the machine.

Each step is run by itself, in order, on memory that stays between them. The memory that a call would take from the
pool (the arena, results) is given as arguments, so that one program can be cut into programs of a single step.
Variables that are written in place are copies, restored before every repetition.

The limits are those of a roofline, measured once for a machine and number of threads, and kept in the user's cache, so
that two processes report the same shares of them. Bytes: the better of ``z = 3 x + y`` and a sum over tensors that no
cache holds, counted as for kernels (once for each read and each write of a tensor). Operations: fused multiply-adds of
float32 in registers, without dependences that stall.

>>> print(fma_kernel(8).build().text().count("@llvm.fma.v8f32"))
12
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from nervure import ops
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.cache.code_cache import make_key, user_cache
from nervure.transformers.cpu.compile.compilation import compile_function
from nervure.transformers.cpu.compile.compiler import compile_kernel
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, PTR
from nervure.transformers.cpu.kept_panels import NO_PANELS, Panels
from nervure.transformers.cpu.loaded import KernelCode, LoadedFunction, plain
from nervure.transformers.cpu.runtime.native import Native, Pointer, Word, native
from nervure.transformers.cpu.runtime.records import BufferKind
from nervure.transformers.cpu.target import Target
from nervure.transformers.report import RESOLUTION, Limits, Times
from nervure.types.dtype import float32

_SHORT = 10_000.0  # nanoseconds: for shorter ones the call itself dominates, so many runs are timed as one
_MANY = 200
_ELEMENTS = 1 << 24         # elements of each tensor: 64 MB, more than a cache's share
_CHAINS = 12                # accumulators, which hide the latency of a multiply-add, 4 or 5 cycles
_ITERATIONS = 1000          # iterations of each chunk of the multiply-add kernel
_CHUNKS = 512
_LONG = 10_000_000          # estimated nanoseconds, so that all threads take part
_GOES, _SECONDS = 5, 0.15   # least repetitions, and least time: at first the threads may be asleep
_LIMITS = struct.Struct("<dd")

Fail = Callable[[runtime.Status], None]


def time_steps(loaded: LoadedFunction, bindings: Bindings, arguments: Sequence[np.ndarray],
               results: Sequence[np.ndarray], states: Sequence[np.ndarray], repeat: int, fail: Fail,
               panels: Panels = NO_PANELS) -> Times:
    """Returns medians over ``repeat`` repetitions, after one that is not counted; ``fail`` raises the error of a
    failed run. Steps that make panels are timed by themselves, and do not count in the time of a call.
    """
    offsets, arena_bytes = loaded.compiled.arena(bindings, panels.own)
    counts = (len(arguments), len(results), len(states))
    in_place = loaded.in_place(bindings)
    steps = loaded.steps(bindings, panels._replace(own={}), in_place)
    buffers = [_given(each, counts) for each in loaded.buffers(offsets, panels, in_place)]
    all_steps = loaded.steps(bindings, panels, in_place)
    program, alone = [runtime.Program(each, buffers) for each in (all_steps, steps)]
    written = loaded.written(in_place)
    variables = loaded.placed(states, in_place)
    memory = [*map(plain, arguments), *results, *variables, _aligned(arena_bytes)]
    status = program.run(memory)
    if status.code:
        fail(status)
    parts = [*[alone.part(number, 1) for number in range(len(steps))], alone.part(0, 0)]
    together, rows = [], []
    for _ in range(repeat):
        for number in written:
            np.copyto(variables[number], states[number])
        rows.append([_nanoseconds(part, memory) for part in parts])
        for number in written:
            np.copyto(variables[number], states[number])
        together.append(_nanoseconds(program, memory))
    *medians, nothing = np.median(np.array(rows, np.float64), axis=0)
    times = [float(each - nothing) for each in (*medians, np.median(together))]
    are_kernels = [isinstance(code, KernelCode) for code in loaded.codes]
    runs = [*[[step] for step in steps], all_steps]
    for number, is_kernel in enumerate([*are_kernels, all(are_kernels)]):
        if times[number] < _SHORT and is_kernel:
            many = runtime.Program(runs[number] * _MANY, buffers)
            times[number] = float(np.median([_nanoseconds(many, memory) - nothing for _ in range(repeat)]) / _MANY)
    seconds = [max(each * 1e-9, RESOLUTION) for each in times]
    return Times(tuple(seconds[:-1]), seconds[-1])


def _nanoseconds(program: runtime.Program, memory: Sequence[np.ndarray]) -> int:
    start = time.perf_counter_ns()
    program.run(memory)
    return time.perf_counter_ns() - start


def _given(buffer: runtime.BufferLocation, counts: tuple[int, int, int]) -> runtime.BufferLocation:
    """Returns a buffer among the given arrays: arguments, results, variables, the arena."""
    if buffer.kind == BufferKind.CONSTANT:
        return buffer
    order = (BufferKind.ARGUMENT, BufferKind.RESULT, BufferKind.VARIABLE, BufferKind.ARENA)
    before = sum(counts[:order.index(buffer.kind)])
    return runtime.argument(before + buffer.number, buffer.offset)


def _aligned(size: int) -> np.ndarray:
    """Returns memory that starts at a cache line, as an arena does."""
    block = np.zeros(size + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start:start + size]


# -- limits --------------------------------------------------------------------------------------------------


@cache
def measured_limits(target: Target, threads: int) -> Limits:
    """Returns the limits with ``threads`` threads, the number that a call may use now: the kept ones, else measured."""
    kept, key = user_cache(), make_key("limits", target.key, str(threads))
    found = None if kept is None else kept.get(key)
    if found is not None and len(found) == _LIMITS.size:
        rates = _LIMITS.unpack(found)
        if all([0 < rate < math.inf for rate in rates]):
            return Limits(threads, *rates)
    limits = Limits(threads, _bytes_per_second(target), _operations_per_second(target))
    if kept is not None:
        kept.put(key, _LIMITS.pack(*limits[1:]))
    return limits


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
    library = compile_kernel(assemble([fma_kernel(lanes).build()]), target)
    sink = np.zeros(_CHUNKS * 16, np.float32)
    step = runtime.ProgramStep(library.address("kernel"), [0], extent=_CHUNKS, nanoseconds=_LONG, owner=library)
    program = runtime.Program([step], [runtime.argument(0)])
    return 2 * lanes * _CHAINS * _ITERATIONS * _CHUNKS / _best(lambda: program.run([sink]))


def fma_kernel(lanes: int) -> Native:
    """Returns a kernel of multiply-adds: every chunk of its extent has the same number, and writes a cache line at its
    end.
    """
    vector = F32.vector(lanes)

    @native
    def kernel(b: Builder, buffers: Pointer, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
               status: Pointer) -> None:
        sink = b.load(buffers, PTR)
        with b.loop(begin, end) as chunks:
            starts = [b.constant(vector, number + 1.0) for number in range(_CHAINS)]
            with b.loop(0, _ITERATIONS, carried=starts) as loop:
                half = b.constant(vector, 0.5)
                loop.carried = [b.fma(chain, half, half) for chain in loop.carried]
            total = sum(loop.results[1:], loop.results[0])
            b.store(b.extract(total, 0), b.offset(sink, chunks.index * 16, F32))
    return kernel


def _best(run: Callable[[], object]) -> float:
    """Returns the seconds of the shortest of several runs, after one that is not counted."""
    run()
    times: list[int] = []
    while len(times) < _GOES or sum(times) < _SECONDS * 1e9:
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    return min(times) * 1e-9
