"""A compiled function as data: kernels by their keys, storages and memory, which is everything that the cache keeps.

>>> from nervure.transformers.cpu.cache.codec import decode, encode
>>> launch = LaunchParameters((), 8, 0, 64, Duration(known=((0, 800),)))
>>> kernel = CompiledKernel(bytes(32), launch, (0, 1), (0,), (1,))
>>> decode(CompiledKernel, encode(kernel)) == kernel
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from nervure.memory.arena import Interval, pack
from nervure.memory.storage import Storage, StorageKind
from nervure.transformers.binding import Bindings
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


@dataclass(frozen=True)
class CompiledKernel:
    """A step of a compiled function. ``key`` finds its machine code; without one it is a function of Python.

    ``buffers`` are the numbers of its storages in the order of its arguments; ``reads`` and ``writes`` list those that
    it reads and writes. A kernel that ``is_copy`` stores each element where it lies in what it reads.
    """

    key: bytes
    launch: LaunchParameters
    buffers: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    is_copy: bool = False

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

    def is_sound(self) -> bool:
        """Whether every number names something: a description read from disk may contain anything."""
        count = len(self.storages)
        pairs = [storage for pair in (*self.in_place, *self.replaceable) for storage in pair]
        layouts = [(storage.layout, storage.shape) for storage in self.storages if storage.layout is not None]
        return (all([_is_sound(kernel, count) for kernel in self.kernels]) and _name(self.roots, count)
                and _name([storage for _, storage in self.found], count)
                and _name(pairs, count) and self.memory.is_sound() and self._has_sound_packs()
                and all([layout.rank == len(shape) for layout, shape in layouts]))

    def _has_sound_packs(self) -> bool:
        """Whether derived storages depend only on their variable, or on a constant, and the function leaves both
        unchanged. They may depend on no call and on no size.
        """
        new_values = {variable for root, variable in self.in_place}
        for number, storage in self.packs.items():
            kernel, derived = self.kernels[number], self.storages[storage]
            sources = [self.storages[each] for each in kernel.reads]
            kind = StorageKind.CONSTANT if derived.variable is None else StorageKind.VARIABLE
            if (kernel.writes != (storage,) or [source.kind for source in sources] != [kind]
                    or derived.variable not in (None, sources[0].number) or not new_values.isdisjoint(kernel.reads)
                    or not all([isinstance(x, int) for x in (*kernel.launch.sizes, kernel.launch.extent)])):
                return False
        return True


def _is_sound(kernel: CompiledKernel, count: int) -> bool:
    launch = kernel.launch
    touched = {*kernel.reads, *kernel.writes}
    return (_name(kernel.buffers, count) and _name(touched, count) and touched >= set(kernel.buffers)
            and 0 < launch.alignment < 1 << 16 and launch.duration.is_sound())


def _name(numbers: Collection[int], count: int) -> bool:
    return all([0 <= number < count for number in numbers])


def byte_size(storage: Storage, bindings: Bindings) -> int:
    """Returns the bytes that a storage takes."""
    size = storage.dtype.itemsize
    for length in most(storage.allocated, bindings):
        size *= max(length, 0)
    return size
