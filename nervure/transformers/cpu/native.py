"""The native part of a plan: its kernels compiled, and the programs that run them for given sizes.

A plan is divided into segments: runs of kernels between steps that Python takes. For each binding of the symbols a
segment becomes a program of the runtime, with numbers in place of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nervure.kernel.ir import For
from nervure.memory.arena import Interval, pack
from nervure.memory.storage import Storage
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.codegen.generate import Code, generate
from nervure.transformers.cpu.estimate import nanoseconds_per_point
from nervure.transformers.cpu.jit import Library, compile_kernels
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.plan import HostStep, KernelStep, Plan
from nervure.transformers.sizes import numbers
from nervure.types.dim import DimLike, compile_dim

GRAIN = 64
"""Slices of a loop that runs in lanes start at multiples of this."""

Number = Callable[[Mapping[str, int]], int]


class NativeKernel(NamedTuple):
    """A kernel as machine code, and what it needs to be told for a binding of the symbols."""

    step: KernelStep
    code: Code
    library: Library
    address: int
    sizes: tuple[Number, ...]
    extent: Number
    points: Number
    scratch: Number
    grain: int
    nanoseconds: float


class Segment(NamedTuple):
    """Kernels that run without Python in between."""

    kernels: tuple[NativeKernel, ...]


def compile_segments(plan: Plan, target: Target) -> list[Segment | HostStep]:
    """The steps of a plan, kernels compiled and put together as far as no step of Python comes between."""
    codes = {number: generate(step.lowered.kernel, target) for number, step in enumerate(plan.steps)
             if isinstance(step, KernelStep)}
    libraries = dict(zip(codes, compile_kernels([code.text for code in codes.values()], target), strict=True))
    found: list[Segment | HostStep] = []
    run: list[NativeKernel] = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, KernelStep):
            run.append(_native(step, codes[number], libraries[number]))
            continue
        if run:
            found.append(Segment(tuple(run)))
        run = []
        found.append(step)
    return [*found, Segment(tuple(run))] if run or not found else found


def _native(step: KernelStep, code: Code, library: Library) -> NativeKernel:
    loop = step.lowered.kernel.parallel
    extent: DimLike = 1 if loop is None else loop.extent
    return NativeKernel(
        step, code, library, library.address("kernel"), tuple([compile_dim(entry) for entry in code.sizes]),
        compile_dim(extent), compile_dim(step.lowered.points), compile_dim(code.scratch_bytes),
        GRAIN if _is_vector(loop) else 1, nanoseconds_per_point(step.lowered.kernel))


def _is_vector(loop: For | None) -> bool:
    return loop is not None and loop.vector


class Places(NamedTuple):
    """What kind of memory the storages of a plan are in: the arena of one segment, or arrays of the call.

    ``extra`` are temporary values that Python or several segments touch; they are arguments after the function's
    own. ``in_place`` says which roots lie in the memory of a variable.
    """

    local: dict[Storage, int]
    extra: dict[Storage, int]
    in_place: dict[Storage, Storage]


def make_places(plan: Plan, segments: Sequence[Segment | HostStep], in_place: dict[Storage, Storage]) -> Places:
    """Where the temporary values lie."""
    users: dict[Storage, set[int]] = {}
    shared: set[Storage] = set()
    for number, segment in enumerate(segments):
        for storage in _touched(segment):
            if storage.kind == "temporary":
                users.setdefault(storage, set()).add(number)
                if isinstance(segment, HostStep):
                    shared.add(storage)
    local = {storage: next(iter(numbers)) for storage, numbers in users.items()
             if len(numbers) == 1 and storage not in shared}
    count = len(plan.function.parameters)
    rest = [storage for storage in users if storage not in local]
    return Places(local, {storage: count + number for number, storage in enumerate(rest)}, in_place)


def _touched(segment: Segment | HostStep) -> Iterable[Storage]:
    if isinstance(segment, HostStep):
        return [*segment.read, *segment.written]
    return [storage for kernel in segment.kernels for storage in kernel.step.lowered.storages]


class Specs(NamedTuple):
    """The arrays of a whole function, for the fast entry."""

    arguments: Sequence[runtime.Array]
    results: Sequence[runtime.Array]
    variables: Sequence[runtime.Array]


def make_program(segment: Segment, places: Places, bindings: Bindings, result_numbers: Mapping[Storage, int],
                 specs: Specs | None = None) -> runtime.Program:
    """The program of a segment for one binding of the symbols."""
    storages = list(dict.fromkeys(_touched(segment)))
    table = {storage: number for number, storage in enumerate(storages)}
    offsets, arena_bytes = _arena(segment, places, bindings)
    buffers = [_buffer(storage, places, offsets, result_numbers) for storage in storages]
    written = set(places.in_place)
    steps = [_step(kernel, table, bindings, written) for kernel in segment.kernels]
    if specs is None:
        return runtime.Program(steps, buffers, arena_bytes)
    return runtime.Program(steps, buffers, arena_bytes, *specs)


def _step(kernel: NativeKernel, table: Mapping[Storage, int], bindings: Bindings, written: set[Storage]) -> runtime.Step:
    return runtime.Step(
        kernel.address, [table[storage] for storage in kernel.step.lowered.storages],
        [size(bindings) for size in kernel.sizes], max(kernel.extent(bindings), 0), kernel.grain,
        int(max(kernel.points(bindings), 0) * kernel.nanoseconds), kernel.scratch(bindings),
        any([storage in written for storage in kernel.step.written]))


def _buffer(storage: Storage, places: Places, offsets: Mapping[Storage, int],
            result_numbers: Mapping[Storage, int]) -> runtime.Buffer:
    storage = places.in_place.get(storage, storage)
    if storage.kind == "argument":
        return runtime.argument(storage.number)
    if storage.kind == "variable":
        return runtime.variable(storage.number)
    if storage.kind == "constant":
        return runtime.constant(np.require(storage.source, requirements=["C", "A"]))
    if storage.kind == "root":
        return runtime.result(result_numbers[storage])
    if storage in offsets:
        return runtime.arena(offsets[storage])
    return runtime.argument(places.extra[storage])


def _arena(segment: Segment, places: Places, bindings: Bindings) -> tuple[dict[Storage, int], int]:
    """The offsets of the values that live in this segment alone."""
    lives: dict[Storage, tuple[int, int]] = {}
    for number, kernel in enumerate(segment.kernels):
        for storage in kernel.step.lowered.storages:
            if storage in places.local:
                lives[storage] = (lives.get(storage, (number, number))[0], number)
    intervals = [Interval(first, last, byte_size(storage, bindings)) for storage, (first, last) in lives.items()]
    offsets, total = pack(intervals)
    return dict(zip(lives, offsets, strict=True)), total


def byte_size(storage: Storage, bindings: Bindings) -> int:
    """The bytes that a storage takes."""
    size = storage.dtype.itemsize
    for length in numbers(storage.shape, bindings):
        size *= max(length, 0)
    return size
