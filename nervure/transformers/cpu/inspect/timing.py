"""Times of the steps of a compiled plan: each step is run by itself, in order, on memory that stays between them.

What a call would take from the pool (the arena, results) is given as arguments, so that one program can be cut into
programs of a single step. Variables that are written in place are copies, which every repetition starts with anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.loaded import KernelCode, LoadedFunction, plain
from nervure.transformers.cpu.runtime.records import Kind
from nervure.transformers.report import Times

_SHORT = 10_000.0  # nanoseconds: what is shorter is drowned by the call itself, so many runs of it are timed as one
_MANY = 200

Fail = Callable[[runtime.Status], None]


def time_steps(loaded: LoadedFunction, bindings: Bindings, arguments: Sequence[np.ndarray],
               results: Sequence[np.ndarray], states: Sequence[np.ndarray], repeat: int, fail: Fail) -> Times:
    """Medians over so many repetitions, after one that is not counted; ``fail`` raises the error of a failed run."""
    offsets, arena_bytes = loaded.compiled.arena(bindings)
    counts = (len(arguments), len(results), len(states))
    steps, buffers = loaded.steps(bindings), [_given(buffer, counts) for buffer in loaded.buffers(offsets)]
    program = runtime.Program(steps, buffers)
    written = loaded.compiled.written_variables
    variables = [np.array(state, order="C", copy=True) if number in written else plain(state)
                 for number, state in enumerate(states)]
    memory = [*map(plain, arguments), *results, *variables, _aligned(arena_bytes)]
    status = program.run(memory)
    if status.code:
        fail(status)
    parts = [*[program.part(number, 1) for number in range(len(steps))], program.part(0, 0)]
    together, rows = [], []
    for _ in range(repeat):
        for number in written:
            np.copyto(variables[number], states[number])
        rows.append([_nanoseconds(part, memory) for part in parts])
        for number in written:
            np.copyto(variables[number], states[number])
        together.append(_nanoseconds(program, memory))
    *medians, nothing = np.median(np.array(rows, np.float64), axis=0)
    times = [float(each - nothing) for each in medians]
    for number, code in enumerate(loaded.codes):
        if times[number] < _SHORT and isinstance(code, KernelCode):
            many = runtime.Program([steps[number]] * _MANY, buffers)
            times[number] = float(np.median([_nanoseconds(many, memory) - nothing for _ in range(repeat)]) / _MANY)
    seconds = [max(each, 1.0) * 1e-9 for each in (*times, float(np.median(together) - nothing))]
    return Times(tuple(seconds[:-1]), seconds[-1])


def _nanoseconds(program: runtime.Program, memory: Sequence[np.ndarray]) -> int:
    start = time.perf_counter_ns()
    program.run(memory)
    return time.perf_counter_ns() - start


def _given(buffer: runtime.Buffer, counts: tuple[int, int, int]) -> runtime.Buffer:
    """A buffer among the arrays that are given: arguments, results, variables, the arena."""
    if buffer.kind == Kind.CONSTANT:
        return buffer
    order = (Kind.ARGUMENT, Kind.RESULT, Kind.VARIABLE, Kind.ARENA)
    before = sum(counts[:order.index(buffer.kind)])
    return runtime.argument(before + buffer.number, buffer.offset)


def _aligned(size: int) -> np.ndarray:
    """Memory that starts at a cache line, as an arena does."""
    block = np.zeros(size + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start:start + size]
