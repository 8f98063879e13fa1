"""From a function to machine code: its plan, the code of its kernels, and the data that calls need.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1000,))
>>> compilation = compile_function(nv.Function([nv.ops.Exp(x)], [x]), Target.host())
>>> kernel, = compilation.loaded.compiled.kernels
>>> kernel.launch.extent, kernel.launch.alignment, kernel.launch.duration.nanoseconds({}) < 1000
(1000, 64, True)
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from nervure import flags
from nervure.ir.function import Function
from nervure.ir.region import RegionOp
from nervure.ir.whole_op import WholeOp, found_lengths
from nervure.kernel.in_place import is_copy
from nervure.kernel.ir import Buffer
from nervure.kernel.plan import KernelStep, OpaqueStep, Plan, PlanStep, make_plan, preheader
from nervure.kernel.time_model import duration_of
from nervure.kernel.tuning import STREAMED_RESULT
from nervure.memory.storage import Storage, StorageKind
from nervure.support import forks
from nervure.support.machine import Machine
from nervure.transformers.cpu.cache.library_cache import kernel_key, linked
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.compile.codegen.generate import Code, generate
from nervure.transformers.cpu.compile.compiler import Compilations, assembly
from nervure.transformers.cpu.compile.host import HostCode
from nervure.transformers.cpu.compile.region_data import RegionData, region_of
from nervure.transformers.cpu.compile.tiles.tile_library import TileLibrary
from nervure.transformers.cpu.compiled import CompiledCall, CompiledFunction, CompiledKernel, LaunchParameters
from nervure.transformers.cpu.loaded import LoadedFunction
from nervure.transformers.cpu.loading import code_of
from nervure.transformers.cpu.target import Target
from nervure.transformers.memory_estimate import memory_estimate
from nervure.types.dim import less_equal
from nervure.types.duration import Duration


class Compilation(NamedTuple):
    """A compiled function, and its sources: its plan, and the texts of the steps that are kernels."""

    plan: Plan
    texts: tuple[Code | None, ...]
    loaded: LoadedFunction


def compile_function(function: Function, target: Target, invariant: Collection[int] = (),
                     lengths: Mapping[str, Storage] = MappingProxyType({})) -> Compilation:
    """Compiles a function without composites. ``invariant`` are the parameters of a loop's body that stay the same,
    ``lengths`` the memory of lengths that were found outside.
    """
    plan, texts, libraries, early = _machine_code(function, target, invariant, lengths)
    if flags.debug:
        _show(plan, texts, target)
    touched = [each for step in plan.steps for each in (*step.storages, *step.read)]
    storages = {storage: number for number, storage in enumerate(dict.fromkeys(
        [*touched, *plan.roots, *plan.in_place.values()]))}
    own = {name: plan.places[length.value] for name, length in found_lengths(function.effects).items()}
    found = {**lengths, **own}
    names = {place: name for name, place in found.items()}
    regions = {number: _region(step, names, target) for number, step in enumerate(plan.steps)
               if isinstance(step, OpaqueStep) and isinstance(step.op, RegionOp)}
    durations = _Durations(target)
    wanted = frozenset([*plan.roots, *[storage for step in plan.steps for storage in step.read]])
    kernels = [_compiled(step, text, storages, durations, regions.get(number), wanted)
               for number, (step, text) in enumerate(zip(plan.steps, texts, strict=True))]
    compiled = CompiledFunction(
        tuple(kernels), tuple(storages), tuple([storages[root] for root in plan.roots]),
        tuple([(storages[root], storages[variable]) for root, variable in plan.in_place.items()]),
        tuple([(storages[root], storages[argument]) for root, argument in plan.replaceable]),
        max([number + 1 for number, step in enumerate(plan.steps) if step.may_fail], default=0),
        memory_estimate(function, plan.stored), early,
        tuple([(name, storages[place]) for name, place in found.items() if place in storages]))
    codes = [HostCode(step, kernel.buffers) if isinstance(step, OpaqueStep) and not kernel.is_data
             else code_of(compiled, kernel, libraries, regions[number].functions if number in regions else ())
             for number, (step, kernel) in enumerate(zip(plan.steps, kernels, strict=True))]
    return Compilation(plan, texts, LoadedFunction(compiled, function, codes, plan.constants))


def _region(step: OpaqueStep, names: Mapping[Storage, str], target: Target) -> RegionData:
    """Returns a branch or a loop, with its functions compiled."""
    return region_of(step, names, target, lambda body, same, lengths: compile_function(
        body, target, same, lengths).loaded)


def _machine_code(function: Function, target: Target, invariant: Collection[int], lengths: Mapping[str, Storage],
                  ) -> tuple[Plan, tuple[Code | None, ...], dict[bytes, Library], int]:
    """Returns the plan, the texts of kernels, their machine code by its keys, and the number of steps before a loop.

    Kernels are compiled while the next ones are planned and written, and functions missing in the tile library as soon
    as a kernel links them.
    """
    with Compilations(target) as compilations:
        tiles = TileLibrary(target, compilations)
        texts = _Texts(target, compilations, tiles)
        plan = make_plan(function, target.machine, texts.begin, invariant, lengths)
        steps, early = preheader(plan.steps, invariant) if invariant else (plan.steps, 0)
        plan = plan._replace(steps=tuple(steps))
        codes = texts.of(plan)
        libraries = compilations.libraries()
    tiles.keep(libraries)
    return plan, codes, libraries, early


class _Texts:
    """The texts of kernels, whose compilation begins when they are written. Kernels that share their loops share a
    text, if the same results go past the caches. Loops are identified by identity: those of the plan are all made
    while the begun ones are alive.
    """

    def __init__(self, target: Target, compilations: Compilations, tiles: TileLibrary) -> None:
        self._target, self._compilations, self._tiles = target, compilations, tiles
        self._machine = target.machine
        self._written: dict[tuple[int, frozenset[tuple[Buffer, int]]], Code] = {}

    def begin(self, step: KernelStep) -> None:
        """Writes the text of a kernel ahead of its plan, unless the plan may affect it. It may, by deciding whether a
        large root is read, or lies in place; memory of a call is always read.
        """
        roots = {storage for storage in step.written if storage.kind is StorageKind.ROOT}
        past_caches = past_caches_of(step, (), set(step.written) - roots, self._machine)
        if not any([storage in roots and buffer in past_caches for buffer, storage in step.pairs]):
            self._text(step, past_caches)

    def of(self, plan: Plan) -> tuple[Code | None, ...]:
        """Returns the texts of all steps."""
        read = {storage for step in plan.steps for storage in step.read}
        return tuple([self._text(step, past_caches_of(step, plan.in_place, read, self._machine))
                      if isinstance(step, KernelStep) else None for step in plan.steps])

    def _text(self, step: KernelStep, past_caches: Mapping[Buffer, int]) -> Code:
        structure = id(step.kernel.body), frozenset(past_caches.items())
        if structure not in self._written:
            code = self._written[structure] = generate(step.kernel, self._target, past_caches, self._tiles.link,
                                                       self._begun)
            self._begun(code.text)
        return self._written[structure]

    def _begun(self, text: str) -> str:
        """Begins the compilation of a kernel; returns the symbol by which others call it."""
        key = kernel_key(text, self._target)
        self._compilations.begin(key, text)
        return linked("kernel", key)


def past_caches_of(step: KernelStep, in_place: Container[Storage], read: Container[Storage],
                   machine: Machine) -> dict[Buffer, int]:
    """Returns the buffers of a ``step`` that need not stay in the caches, except those that are certainly smaller than
    the least size. Each comes with the bytes from which on it is stored past the caches.
    """
    least = {buffer: machine.shared_cache if storage in read else STREAMED_RESULT for buffer, storage in step.pairs
             if buffer.role == "out" and storage not in in_place}
    return {buffer: bytes for buffer, bytes in least.items()
            if less_equal(bytes, buffer.nbytes) is not False}


def _show(plan: Plan, texts: Sequence[Code | None], target: Target) -> None:
    """Prints the texts that the switch ``debug`` asks for."""
    for word, text_of in (("llvm", lambda code: code.text), ("asm", lambda code: assembly(code.text, target))):
        for number, code in enumerate(texts) if flags.shows(word) else ():
            if code is not None:
                flags.show(f"step {number} of {plan.function.name}", text_of(code))


class _Durations:
    """The times of kernels, each found once for those that share a text."""

    def __init__(self, target: Target) -> None:
        self.target, self.machine = target, target.machine
        self._found: dict[int, Duration] = {}  # texts are known by their identity, as they all live meanwhile

    def of(self, step: KernelStep, code: Code) -> Duration:
        """Returns the time that a step's kernel takes, as it was written for the target."""
        if id(code) not in self._found:
            self._found[id(code)] = duration_of(code.kernel, step.lowered.points, self.machine)
        return self._found[id(code)]


def _compiled(step: PlanStep, code: Code | None, storages: Mapping[Storage, int], durations: _Durations,
              region: RegionData | None, wanted: frozenset[Storage]) -> CompiledKernel:
    """Returns a step as data, which names ``storages`` by number. Memory that is not ``wanted`` is not read."""
    key = kernel_key(code.text, durations.target) if code else b""
    launch = _launch(step, code, durations) if code and step.kernel else LaunchParameters()
    call: CompiledCall | None = None
    if isinstance(step, OpaqueStep) and isinstance(step.op, WholeOp):
        with forks.importing():  # with what sorts and libraries need, which few programs do
            from nervure.transformers.cpu.compile.whole_op_data import call_of
        call, launch = call_of(step, wanted)
    buffers, reads, writes = [tuple([storages[each] for each in listed])
                              for listed in (step.storages, step.read, step.written)]
    return CompiledKernel(key, launch, buffers, reads, writes, is_copy(step), region and region.data, call)


def _launch(step: KernelStep, code: Code, durations: _Durations) -> LaunchParameters:
    loop = step.kernel.sliced
    return LaunchParameters(
        code.sizes, 1 if loop is None else loop.extent, code.scratch_bytes,
        chunk_alignment(durations.machine) if loop is not None and loop.vector else 1, durations.of(step, code),
        loop is not None and not loop.parallel, step.required)


def chunk_alignment(machine: Machine) -> int:
    """Returns the multiple at which chunks of a loop in lanes start, so that no two write to one cache line, whatever
    the elements.
    """
    return machine.line
