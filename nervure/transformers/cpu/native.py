"""The native part of a plan: its kernels compiled, and the programs that run them for given sizes.

For each binding of the symbols a plan becomes a program of the runtime, with numbers in place of sizes. What Python
runs is a step of the program like any other.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.transformers.cpu.plan import make_plan
>>> x = nv.Parameter(nv.float32, (3,))
>>> native = NativePlan(make_plan(nv.Function([nv.ops.Add(x, x)], [x])), Target.host())
>>> program = native.program({})
>>> results = program.make_results()
>>> program.run([np.float32([1, 2, 3])], results).code, results[0].tolist()
(0, [2.0, 4.0, 6.0])
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure import flags
from nervure.errors import InternalError, NervureError
from nervure.kernel.ir import Buffer
from nervure.memory.arena import Interval, pack
from nervure.memory.storage import Storage
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.codegen.generate import Code, generate
from nervure.transformers.cpu.estimate import nanoseconds_per_point
from nervure.transformers.cpu.host import host_program
from nervure.transformers.cpu.jit import Library, assembly, compile_kernels
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.plan import HostStep, KernelStep, Plan
from nervure.transformers.cpu.runtime.host import NANOSECONDS
from nervure.transformers.sizes import numbers
from nervure.types.dim import DimLike, compile_dim

GRAIN = 64
"""Slices of a loop that runs in lanes start at multiples of this."""

RESULT, READ_AGAIN = 8 << 20, 32 << 20
"""Bytes from which on memory is stored past the caches: of what the caller gets, and of what a later step reads."""

Number = Callable[[Mapping[str, int]], int]


class KeptStep(NamedTuple):
    """What is left of a step whose kernel is found again: its memory, in the order of the kernel's buffers."""

    storages: tuple[Storage, ...]
    read: list[Storage]
    written: list[Storage]


class Told(NamedTuple):
    """What a kernel has to be told, as dimensions, and what is known of it for all of them."""

    sizes: tuple[DimLike, ...]
    extent: DimLike
    points: DimLike
    scratch: DimLike
    grain: int
    nanoseconds: float
    ordered: bool


class NativeKernel(NamedTuple):
    """A kernel as machine code, and what it needs to be told for a binding of the symbols.

    ``code`` is the text that it was made from, None if it was found again.
    """

    step: KernelStep | KeptStep
    code: Code | None
    library: Library
    sizes: tuple[Number, ...]
    extent: Number
    points: Number
    scratch: Number
    told: Told

    @property
    def source(self) -> tuple[KernelStep, Code]:
        """What it was made from; InternalError of one that was found again."""
        if not isinstance(self.step, KernelStep) or self.code is None:
            raise InternalError("a kernel out of the cache does not know what it was made from")
        return self.step, self.code


class NativePlan:
    """A plan with its kernels compiled; ``kernels`` are those of its steps, in order, where they are there already."""

    def __init__(self, plan: Plan, target: Target, kernels: Sequence[NativeKernel] | None = None) -> None:
        self.plan = plan
        natives = iter(_compiled(plan, target) if kernels is None else kernels)
        self.steps: list[NativeKernel | HostStep] = [
            step if isinstance(step, HostStep) else next(natives) for step in plan.steps]
        self._storages = list(dict.fromkeys(
            [storage for step in plan.steps for storage in (*step.read, *step.written)]))
        self._results = self._result_numbers()

    def _result_numbers(self) -> dict[Storage, int]:
        """The roots that are no variable's memory, in order: first those of the caller, then new values."""
        own = [root for root in self.plan.roots if root not in self.plan.in_place]
        return {root: number for number, root in enumerate(own)}

    def program(self, bindings: Bindings) -> runtime.Program:
        """The program for one binding of the symbols."""
        offsets, arena_bytes = self.arena(bindings)
        return runtime.Program(self.program_steps(bindings), self.buffers(offsets), arena_bytes,
                               self._arguments(bindings), self._specs(bindings), self._variable_specs())

    def program_steps(self, bindings: Bindings) -> list[runtime.Step]:
        """The steps, whose buffers are numbered as in ``buffers``."""
        table = {storage: number for number, storage in enumerate(self._storages)}
        return [_host_step(step, table, bindings) if isinstance(step, HostStep)
                else _kernel_step(step, table, bindings, set(self.plan.in_place)) for step in self.steps]

    # -- memory ------------------------------------------------------------------------------------------

    def buffers(self, offsets: Mapping[Storage, int]) -> list[runtime.Buffer]:
        """Where all memory lies, given the offsets of temporary values in the arena."""
        return [self._buffer(storage, offsets) for storage in self._storages]

    def _buffer(self, storage: Storage, offsets: Mapping[Storage, int]) -> runtime.Buffer:
        storage = self.plan.in_place.get(storage, storage)
        if storage.kind == "argument":
            return runtime.argument(storage.number)
        if storage.kind == "variable":
            return runtime.variable(storage.number)
        if storage.kind == "constant":
            return runtime.constant(plain(storage.source))
        if storage.kind == "root":
            return runtime.result(self._results[storage])
        return runtime.arena(offsets[storage])

    def arena(self, bindings: Bindings) -> tuple[dict[Storage, int], int]:
        """The offsets of temporary values, and the bytes that they take together."""
        lives = self.plan.lives
        intervals = [Interval(first, last, byte_size(storage, bindings)) for storage, (first, last) in lives.items()]
        offsets, total = pack(intervals)
        return dict(zip(lives, offsets, strict=True)), total

    # -- arrays ------------------------------------------------------------------------------------------

    def _arguments(self, bindings: Bindings) -> list[runtime.Array]:
        types = [parameter.value.type for parameter in self.plan.function.parameters]
        return [runtime.Array(type.dtype.numpy, numbers(type.shape, bindings)) for type in types]

    def _specs(self, bindings: Bindings) -> list[runtime.Array]:
        """The results: the caller's, then those that variables take."""
        count = len(self.plan.function.results)
        takers = [self._variable_number(variable) for variable, _ in self.plan.function.updates]
        return [runtime.Array(root.dtype.numpy, numbers(root.shape, bindings),
                              -1 if root.number < count else takers[root.number - count]) for root in self._results]

    def _variable_specs(self) -> list[runtime.Array]:
        written = {storage.number for storage in self.plan.in_place.values()}
        types = [variable.type for variable in self.plan.function.variables]
        return [runtime.Array(type.dtype.numpy, numbers(type.shape, {}), number if number in written else -1)
                for number, type in enumerate(types)]

    def _variable_number(self, variable: Any) -> int:
        return self.plan.function.variables.index(variable)


def plain(array: np.ndarray) -> np.ndarray:
    """The array itself if it lies in memory as kernels expect, else a copy that does."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C", copy=True)


def byte_size(storage: Storage, bindings: Bindings) -> int:
    """The bytes that a storage takes."""
    size = storage.dtype.itemsize
    for length in numbers(storage.shape, bindings):
        size *= max(length, 0)
    return size


# -- steps ---------------------------------------------------------------------------------------------------


def _compiled(plan: Plan, target: Target) -> list[NativeKernel]:
    steps = [step for step in plan.steps if isinstance(step, KernelStep)]
    codes = [generate(step.lowered.kernel, target, past_caches_of(step, plan)) for step in steps]
    if flags.debug:
        _show(plan, codes, target)
    libraries = compile_kernels([code.text for code in codes], target)
    return [native_kernel(step, code, library, told(step, code))
            for step, code, library in zip(steps, codes, libraries, strict=True)]


def past_caches_of(step: KernelStep, plan: Plan) -> dict[Buffer, int]:
    """The buffers that need not stay in the caches, and from how many bytes on."""
    read = {storage for other in plan.steps for storage in other.read}
    return {buffer: READ_AGAIN if storage in read else RESULT for buffer, storage in step.pairs
            if buffer.role == "out" and storage not in plan.in_place}


def _show(plan: Plan, codes: Sequence[Code], target: Target) -> None:
    """What the switch ``debug`` asks for."""
    numbers = [number for number, step in enumerate(plan.steps) if isinstance(step, KernelStep)]
    for word, text_of in (("llvm", lambda code: code.text), ("asm", lambda code: assembly(code.text, target))):
        for number, code in zip(numbers, codes, strict=True) if flags.shows(word) else ():
            flags.show(f"step {number} of {plan.function.name}", text_of(code))


def told(step: KernelStep, code: Code) -> Told:
    """What the kernel of a step is told."""
    loop = step.lowered.kernel.sliced
    extent: DimLike = 1 if loop is None else loop.extent
    return Told(code.sizes, extent, step.lowered.points, code.scratch_bytes,
                GRAIN if loop is not None and loop.vector else 1, nanoseconds_per_point(step.lowered.kernel),
                loop is not None and not loop.parallel)


def native_kernel(step: KernelStep | KeptStep, code: Code | None, library: Library, told: Told) -> NativeKernel:
    """A kernel that is ready to be put into programs."""
    extent, points, scratch = [compile_dim(entry) for entry in told[1:4]]
    return NativeKernel(step, code, library, tuple([compile_dim(entry) for entry in told.sizes]), extent, points,
                        scratch, told)


def _kernel_step(kernel: NativeKernel, table: Mapping[Storage, int], bindings: Bindings,
                 written: set[Storage]) -> runtime.Step:
    return runtime.Step(
        kernel.library.address("kernel"), [table[storage] for storage in kernel.step.storages],
        [size(bindings) for size in kernel.sizes], max(kernel.extent(bindings), 0), kernel.told.grain,
        int(max(kernel.points(bindings), 0) * kernel.told.nanoseconds), kernel.scratch(bindings),
        any([storage in written for storage in kernel.step.written]), kernel.told.ordered, kernel.library)


def _host_step(step: HostStep, table: Mapping[Storage, int], bindings: Bindings) -> runtime.Step:
    storages = [*dict.fromkeys([*step.read, *step.written])]
    run = host_program(step, bindings)
    kinds = [(storage, numbers(storage.shape, bindings), storage.dtype.numpy) for storage in storages]

    def call(*addresses: int) -> None:
        arrays = {storage: _array_at(address, shape, dtype)
                  for address, (storage, shape, dtype) in zip(addresses, kinds, strict=True)}
        try:
            results = run(arrays)
        except NervureError:
            raise
        except Exception as error:
            error.add_note(f"while running {step.op!r}, built at {step.op.location}")
            raise
        for storage, result in zip(step.outputs, results, strict=True):
            np.copyto(arrays[storage], np.reshape(result, arrays[storage].shape))  # a reshape of it may lie there

    kernel = runtime.HostKernel(call, len(storages))
    return runtime.Step(kernel.address, [table[storage] for storage in storages], kernel.sizes, nanoseconds=NANOSECONDS,
                        owner=kernel)


def _array_at(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory as an array, for the time of a call."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    memory: Any = (ctypes.c_char * size).from_address(address) if size else None
    return np.ndarray(shape, dtype, memory)
