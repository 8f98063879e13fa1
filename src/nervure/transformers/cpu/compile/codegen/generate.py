"""A kernel of the loop IR as a module in LLVM IR, with one function, ``kernel``.

    void kernel(ptr buffers, ptr sizes, i64 begin, i64 end, ptr scratch, ptr status)

Its arguments are the addresses of its buffers, its sizes (``Code.sizes`` lists the dimensions), its range of
iterations of the sliced loop, memory of its own (``Code.scratch_bytes``), and the record that receives a failure.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.target import Target
>>> kernel = parse_kernel('''
... kernel double(in x: f32[N], out y: f32[N]):
...   symbol N
...   for i < N parallel vector:
...     v0 = x[i]
...     v1 = add(v0, v0)
...     y[i] = v1
... ''')
>>> code = generate(kernel, Target.avx2())
>>> code.sizes, code.scratch_bytes, "fadd <8 x float>" in code.text
((), 0, True)

The text depends only on the structure: no name of a symbol or a buffer is in it. The only sizes in it are
``context.NUMBERS``, the extents of short reductions, and the lanes and blocks of others. It also depends on whether a
loop certainly has an iteration and a reduction more than a block, whether rows fill vectors or are larger than the
caches, as results may be, and whether rows share lines. Equal texts are equal kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from nervure.kernel.hot_parts import Parts, in_parts
from nervure.kernel.ir import LANES, Apply, Buffer, For, Kernel, Loop, Reduce, Statement, Write, walk
from nervure.kernel.room import Rooms
from nervure.kernel.schedule import lower_reductions, vectorise_kernel
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.kernel.tuning import CALLED_FROM
from nervure.support.machine import Machine
from nervure.transformers.cpu.compile.codegen import contractions, memory, reductions, statements
from nervure.transformers.cpu.compile.codegen.addressing import address_of
from nervure.transformers.cpu.compile.codegen.context import ALIGNMENT, ARGUMENTS, Context, SizeTable, emit
from nervure.transformers.cpu.compile.codegen.for_loops import emit_slice
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register, assemble
from nervure.transformers.cpu.compile.llvm.types import PTR
from nervure.types.dim import DimLike

EMITTERS = (contractions, memory, reductions, statements)
"""The modules that, besides the one of loops, register the emission of statements; importing them registers it."""


class HasMachine(Protocol):
    """A target that knows its machine."""

    @property
    def machine(self) -> Machine:
        """The machine."""


@dataclass(frozen=True)
class Code:
    """A module, and the arguments that its function expects.

    ``kernel`` is the kernel with its vectors; ``sizes`` are the dimensions in the table of sizes; ``buffers`` those
    whose addresses are in the table of buffers; ``scratch_bytes`` is the memory that each thread needs; ``failures``
    are the numbers of its checks.
    """

    text: str
    kernel: Kernel
    sizes: tuple[DimLike, ...]
    buffers: tuple[Buffer, ...]
    scratch_bytes: DimLike
    failures: tuple[int, ...]


def generate(kernel: Kernel, target: HasMachine, least_bytes: Mapping[Buffer, int] | None = None,
             link: Callable[[str], str] = str, place: Callable[[str], str] | None = None) -> Code:
    """Generates the code of a kernel for a target's vectors. Buffers in ``least_bytes`` are stored past the caches
    from that size on. ``link`` gives the symbols of functions in other libraries, ``place`` those of kernels that
    become modules of their own; without it, none do.
    """
    vectorised = vectorise_kernel(kernel, target.machine, least_bytes)
    writer = _Writer(vectorised, target.machine, link)
    parts = in_parts(writer.kernel)
    if place is None and parts.hot:
        parts = Parts(writer.kernel, {}, is_cold=False)
    apart = {loop: place(writer.text(part)) for loop, part in parts.hot.items()} if place else {}
    text = writer.text(parts.kernel, apart, parts.is_cold)
    return Code(text, vectorised, tuple(writer.sizes), writer.given, writer.scratch_bytes,
                tuple(sorted(writer.failures)))


class _Writer:
    """Writes a ``kernel`` as modules whose functions share their arguments: buffers, sizes and scratch memory."""

    def __init__(self, vectorised: Kernel, machine: Machine, link: Callable[[str], str]) -> None:
        self.kernel = lower_reductions(vectorised, machine)
        self.given = tuple([buffer for buffer in self.kernel.buffers if buffer.is_given])
        self.sizes: dict[DimLike, int] = {}
        self.scratch_bytes: DimLike = 0
        self.failures: set[int] = set()
        self._machine, self._link, self._lanes = machine, link, register_lanes(self.kernel, machine)
        self._rooms = Rooms(self.kernel.body, self._lanes)
        self._reduces = any([isinstance(entry, Reduce) for entry in walk(vectorised.body)])

    def text(self, kernel: Kernel, apart: Mapping[For, str] = MappingProxyType({}), is_cold: bool = False) -> str:
        """Returns the module of a ``kernel``, which is the one of this writer or a part of it. Loops ``apart`` are
        kernels of their own, with these symbols. If the code ``is_cold``, little is done for its speed.
        """
        b = Builder("kernel", ARGUMENTS, attributes="nounwind", has_opaque_counters=True,
                    masks_are_vectors=self._machine.vector_bytes < self._machine.line)
        _, _, begin, end, _, _ = b.arguments
        table = SizeTable(b, b.arguments[1], self._reduces, self.sizes)
        context = Context(b, self._machine, self._lanes, self._link, table)
        context.rooms, context.apart, context.failures = self._rooms, apart, self.failures
        context.often = _often(kernel.body)
        self._locate_buffers(context)
        if kernel.sliced is not None:
            emit_slice(context, kernel.sliced, begin, end)
        else:
            emit(context, kernel.body)
        if any([isinstance(entry, Write) and entry.streaming != 0 for entry in walk(kernel.body)]):
            b.call("llvm.x86.sse.sfence", None)  # streaming stores are not ordered with others
        b.ret()
        return assemble([b], is_cold=is_cold)

    def _locate_buffers(self, context: Context) -> None:
        """Finds the memory of all buffers."""
        b, self.scratch_bytes = context.builder, 0
        context.pointers = given = _Given(b, self.given)
        if any([isinstance(entry, Loop) for entry in self.kernel.body]):
            given.read(self.given)
        for buffer in self.kernel.buffers:
            if not buffer.is_given:
                context.pointers[buffer] = address_of(context.scratch, context.sizes.register(self.scratch_bytes), 1)
                lanes = buffer.size * LANES if buffer.role == "private" else buffer.size + LANES  # room for idle lanes
                size = lanes * buffer.dtype.itemsize
                self.scratch_bytes = self.scratch_bytes + (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class _Given(dict[Buffer, Register]):
    """The addresses of the buffers that a kernel is given. Each is read at its first use, unless it was before: those
    of a kernel without loops may be more than there are registers.
    """

    def __init__(self, b: Builder, given: Iterable[Buffer]) -> None:
        super().__init__()
        self._builder, self._numbers = b, {buffer: number for number, buffer in enumerate(given)}

    def __missing__(self, buffer: Buffer) -> Register:
        b = self._builder
        self[buffer] = pointer = b.load(b.offset(b.arguments[0], self._numbers[buffer], PTR), PTR)
        return pointer

    def read(self, buffers: Iterable[Buffer]) -> None:
        """Reads the addresses of some buffers here."""
        for buffer in buffers:
            self.__missing__(buffer)


def _often(body: Iterable[Statement]) -> frozenset[str]:
    """Returns the functions that statements outside of all loops use often."""
    uses = Counter([entry.function for entry in body if isinstance(entry, Apply)])
    return frozenset([function for function, count in uses.items() if count >= CALLED_FROM])
