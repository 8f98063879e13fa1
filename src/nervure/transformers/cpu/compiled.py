"""A compiled function as data: kernels by their keys, storages and memory, which is everything that the cache keeps.

>>> from nervure.transformers.cpu.cache.codec import decode, encode
>>> launch = LaunchParameters((), 8, 0, 64, Duration(known=((0, 800),)))
>>> kernel = CompiledKernel(bytes(32), launch, (0, 1), (0,), (1,))
>>> decode(CompiledKernel, encode(kernel)) == kernel
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from nervure.memory.arena import Interval, pack
from nervure.memory.storage import Storage, StorageKind
from nervure.support.lazy import lazy
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu.runtime.records import RUNNING
from nervure.transformers.memory_estimate import MemoryEstimate, most
from nervure.types.dim import DimLike
from nervure.types.duration import Duration


@dataclass(frozen=True)
class LaunchParameters:
    """The launch parameters of a kernel, as dimensions, and the time that it takes.

    ``extent`` are the iterations that threads share, in chunks that start at multiples of ``alignment``. ``scratch`` is
    the number of bytes that each thread needs for itself, ``duration`` the time on one core. Chunks of an ``ordered``
    kernel run one after the other. Sizes that are ``required`` must not be 0.
    """

    sizes: tuple[DimLike, ...] = ()
    extent: DimLike = 1
    scratch: DimLike = 0
    alignment: int = 1
    duration: Duration = Duration()
    ordered: bool = False
    required: tuple[DimLike, ...] = ()


class RegionKind(StrEnum):
    """The kinds of branches and loops, each of which the runtime runs in a way of its own."""

    BRANCH = "branch"
    SCAN = "scan"
    WHILE = "while"
    SCALAR_WHILE = "scalar_while"  # all of the loop is one kernel

    @property
    def functions(self) -> int:
        """The number of its functions; 0 if there may be any number."""
        return {"branch": 0, "while": 2}.get(self, 1)


@dataclass(frozen=True)
class CompiledRegion:
    """A branch or a loop: what its step runs, and where its ``functions`` find what.

    ``operands`` and ``outputs`` are places among the buffers of the step; a scan may have operands at -1, whose slice
    is the number of its position. Of a branch the first operand chooses, which ``is_bool`` or an int64. ``trips`` is
    the number of iterations of a scan. ``carries`` are the bytes of each carry,
    ``slices`` and ``stacked`` the bytes from iteration to iteration of each argument and each result of a scan's body,
    ``saved`` the places where carries are kept before each iteration, or -1.
    """

    kind: RegionKind
    operands: tuple[int, ...]
    outputs: tuple[int, ...]
    functions: tuple[CompiledFunction, ...]
    is_bool: bool = False
    trips: DimLike = 1
    reverse: bool = False
    carries: tuple[DimLike, ...] = ()
    slices: tuple[DimLike, ...] = ()
    stacked: tuple[DimLike, ...] = ()
    saved: tuple[int, ...] = ()

    @lazy
    def updated(self) -> frozenset[int]:
        """The carries that lie at one place in all iterations, where the body of a loop updates them."""
        if self.kind not in (RegionKind.SCAN, RegionKind.WHILE):
            return frozenset()
        body, kept = self.functions[-1], {at for at, place in enumerate(self.saved) if place != -1}
        found = body.updates({*range(len(self.carries))} - kept)
        return frozenset([body.storages[root].number for root in found])

    @property
    def captured(self) -> dict[int, int]:
        """The places of the arguments that are the same memory in all iterations, by the numbers of the arguments."""
        places = self.operands[self.kind is RegionKind.BRANCH:]
        return {at: place for at, place in enumerate(places) if at >= len(self.carries) and place != -1
                and self.slices[at:at + 1] in ((), (0,))}

    @property
    def sizes(self) -> tuple[DimLike, ...]:
        """The sizes of its step."""
        return (self.trips, *self.carries, *self.slices, *self.stacked)

    def is_sound(self, buffers: int) -> bool:
        """Whether every number names something; ``buffers`` is the number of those of the step."""
        count, carries = len(self.operands), len(self.carries)
        arguments = count - (self.kind is RegionKind.BRANCH)
        counters = [at for at, place in enumerate(self.operands) if place == -1]
        known = [place for place in self.operands if place != -1]
        places = [*known, *self.outputs, *[place for place in self.saved if place != -1]]
        if counters and (self.kind is not RegionKind.SCAN or min(counters) < carries
                         or any([self.slices[at:at + 1] != (0,) for at in counters])):
            return False
        fits = {RegionKind.BRANCH: count > 0 and bool(self.functions) and carries == 0,
                RegionKind.SCAN: carries <= min(count, len(self.outputs)) and len(self.saved) == carries
                and len(self.slices) == count and len(self.stacked) == max(len(self.outputs), 1)}
        return (_are_in_range(places, buffers) and fits.get(self.kind, carries == len(self.outputs) <= count)
                and self.kind.functions in (0, len(self.functions))
                and all([function.is_sound_inside(arguments, len(self.outputs)) for function in self.functions]))


@dataclass(frozen=True)
class CompiledCall:
    """A call of the runtime's own code: the name of its ``function``, and whether threads share what it does.

    One that runs a loop of NumPy's has the name of NumPy's function, and the letters of its element types. While it
    runs it takes ``row_bytes`` of the pool of memory for each of its ``rows`` that threads work on at one time.
    """

    function: str
    is_shared: bool = False
    loop: str = ""
    types: str = ""
    rows: DimLike = 1
    row_bytes: DimLike = 0

    def is_sound(self) -> bool:
        """Whether the runtime has such a function."""
        return self.function in PARTS and bool(self.loop) is (self.function == LIBRARY_RUNNER)


LIBRARY_RUNNER = "run_library"
PARTS = {"run_positions": "whole_ops", LIBRARY_RUNNER: "library_calls", **{f"run_{form}": form for form in RUNNING},
         "run_sort": "row_sorting", "run_sort_keys": "key_sorting", "run_top_k": "row_sorting"}
"""The functions of the runtime that compute whole ops, each with the part of the runtime that has it."""


@dataclass(frozen=True)
class CompiledKernel:
    """A step of a compiled function. ``key`` finds its machine code; without one it is a ``region``, a ``call`` of the
    runtime's own code, or a function of Python.

    ``buffers`` are the numbers of its storages in the order of its arguments; ``reads`` and ``writes`` list those that
    it reads and writes. A kernel that ``is_copy`` stores each element where it lies in what it reads.
    """

    key: bytes
    launch: LaunchParameters
    buffers: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    is_copy: bool = False
    region: CompiledRegion | None = None
    call: CompiledCall | None = None

    @property
    def captured(self) -> dict[int, int]:
        """The storages that the functions of a branch or a loop read where they lie, in all iterations, by the numbers
        of their arguments.
        """
        region = self.region
        return {} if region is None else {at: self.buffers[place] for at, place in region.captured.items()}

    @property
    def is_data(self) -> bool:
        """Whether nothing of it is a function of Python."""
        return bool(self.key) or self.region is not None or self.call is not None

    def copies_in_place(self, in_place: Mapping[int, int]) -> bool:
        """Whether it copies memory to itself, if these storages lie in place of others."""
        return self.is_copy and [in_place.get(storage) for storage in self.writes] == [*self.reads]


@dataclass(frozen=True)
class CompiledFunction:
    """Kernels in order, and the storages that they and the roots name by number.

    ``in_place`` pairs a root that may lie in the memory of its variable with the storage of that variable,
    ``replaceable`` a result with that of an argument that a caller may donate. Kernels from the number ``certain`` on
    cannot fail. ``memory`` estimates the needs of a call. The first kernels, as many as ``preheader`` says, run once
    before a loop whose body this is. ``found`` are lengths that kernels find: names, and the storages they are in.
    """

    kernels: tuple[CompiledKernel, ...]
    storages: tuple[Storage, ...]
    roots: tuple[int, ...]
    in_place: tuple[tuple[int, int], ...]
    replaceable: tuple[tuple[int, int], ...]
    certain: int
    memory: MemoryEstimate
    preheader: int = 0
    found: tuple[tuple[str, int], ...] = ()

    @property
    def lives(self) -> dict[int, tuple[int, int]]:
        """The first and the last kernel that touches each storage that a call allocates for itself."""
        lives: dict[int, tuple[int, int]] = {}
        for number, kernel in enumerate(self.kernels):
            for storage in (*kernel.reads, *kernel.writes):
                if self.storages[storage].is_of_call:
                    lives[storage] = (lives.get(storage, (number, number))[0], number)
        for kernel in self.kernels[:self.preheader]:  # all iterations read what these have made
            lives.update({storage: (lives[storage][0], len(self.kernels) - 1) for storage in kernel.writes})
        return lives

    @property
    def certain_results(self) -> set[int]:
        """The storages that no kernel writes before the last one that may fail."""
        early = {storage for kernel in self.kernels[:self.certain] for storage in kernel.writes}
        return {storage for kernel in self.kernels[self.certain:] for storage in kernel.writes} - early

    def updates(self, numbers: Collection[int]) -> dict[int, int]:
        """Returns those results of these ``numbers`` that may replace the argument of the same number, by storages."""
        numbered = [(root, place, self.storages[root].number) for root, place in self.replaceable]
        return {root: place for root, place, number in numbered
                if number == self.storages[place].number and number in numbers}

    @property
    def packs(self) -> dict[int, int]:
        """Maps the kernels that make derived storages to these storages, by numbers."""
        return {number: storage for number, kernel in enumerate(self.kernels) for storage in kernel.writes
                if self.storages[storage].kind is StorageKind.DERIVED}

    def arena(self, bindings: Bindings, kept: Collection[int] = ()) -> tuple[dict[int, int], int]:
        """Returns the offsets in one block of the storages that a call allocates, and the bytes of the block. The
        storages that are ``kept`` between calls have memory elsewhere.
        """
        lives = {storage: life for storage, life in self.lives.items() if storage not in kept}
        offsets, total = pack([Interval(first, last, byte_size(self.storages[storage], bindings))
                               for storage, (first, last) in lives.items()])
        return dict(zip(lives, offsets, strict=True)), total

    def functions(self) -> Iterator[CompiledFunction]:
        """Yields itself, and the functions of its branches and loops, each in front of those inside of it."""
        yield self
        for kernel in self.kernels:
            for function in () if kernel.region is None else kernel.region.functions:
                yield from function.functions()

    def is_sound_inside(self, arguments: int, results: int) -> bool:
        """Whether it may be a function of a branch or a loop. It has at most as many arguments and results as said."""
        limits = {StorageKind.ARGUMENT: arguments, StorageKind.VARIABLE: 0, StorageKind.ROOT: max(results, 1)}
        if not self.is_sound() or self.in_place or self.preheader > len(self.kernels):
            return False
        are_numbered = all([0 <= each.number < limits.get(each.kind, 1 << 40) for each in self.storages])
        roots = [(self.storages[root].kind, self.storages[root].number) for root in self.roots]
        return are_numbered and roots == [(StorageKind.ROOT, number) for number in range(len(roots))]

    def is_sound(self) -> bool:
        """Whether every number names something: a description read from disk may contain anything."""
        count = len(self.storages)
        pairs = [storage for pair in (*self.in_place, *self.replaceable) for storage in pair]
        found = [storage for _, storage in self.found]
        layouts = [(storage.layout, storage.shape) for storage in self.storages if storage.layout is not None]
        if not _are_in_range([*self.roots, *found, *pairs], count):
            return False
        return (all([_is_sound(kernel, count) for kernel in self.kernels]) and self.memory.is_sound()
                and self._has_sound_packs() and all([layout.rank == len(shape) for layout, shape in layouts]))

    def _has_sound_packs(self) -> bool:
        """Whether each derived storage is made by one kernel, of one variable, constant or argument that the function
        leaves unchanged, or of nothing. It may depend on no size.
        """
        new_values, packs = {variable for root, variable in self.in_place}, self.packs
        kinds = {StorageKind.ARGUMENT, StorageKind.CONSTANT, StorageKind.VARIABLE}
        kernels = [(self.kernels[number], storage) for number, storage in packs.items()]
        return len({*packs.values()}) == len(kernels) and all([
            kernel.writes == (storage,) and len(kernel.reads) <= 1
            and all([self.storages[read].kind in kinds for read in kernel.reads])
            and new_values.isdisjoint(kernel.reads) and bool(kernel.key)
            and all([isinstance(x, int) for x in (*kernel.launch.sizes, kernel.launch.extent)])
            for kernel, storage in kernels])


def _is_sound(kernel: CompiledKernel, count: int) -> bool:
    launch = kernel.launch
    touched = {*kernel.reads, *kernel.writes}
    ways = [bool(kernel.key), kernel.region is not None, kernel.call is not None]
    return (_are_in_range(kernel.buffers, count) and _are_in_range(touched, count) and touched >= set(kernel.buffers)
            and 0 < launch.alignment < 1 << 16 and launch.duration.is_sound() and sum(ways) == 1
            and (kernel.region is None or kernel.region.is_sound(len(kernel.buffers)))
            and (kernel.call is None or kernel.call.is_sound()))


def _are_in_range(numbers: Collection[int], count: int) -> bool:
    return all([0 <= number < count for number in numbers])


def byte_size(storage: Storage, bindings: Bindings) -> int:
    """Returns the bytes that a storage takes."""
    size = storage.dtype.itemsize
    for length in most(storage.allocated, bindings):
        size *= max(length, 0)
    return size
