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

The text depends only on the structure: no name of a symbol or a buffer is in it. The only sizes in it are 0, 1, -1 and
2, the extents of short reductions, and the lanes and blocks of others. It also depends on whether a loop certainly has
an iteration and a reduction more than a block, whether rows fill vectors or are larger than the caches, as results may
be, and whether rows share lines. Equal texts are equal kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from nervure.kernel.ir import LANES, Buffer, Kernel, Reduce, Write, walk
from nervure.kernel.room import rooms
from nervure.kernel.schedule import lower_reductions, vectorise_kernel
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.support.machine import Machine
from nervure.transformers.cpu.compile.codegen import contractions, memory, reductions, statements
from nervure.transformers.cpu.compile.codegen.addressing import address_of
from nervure.transformers.cpu.compile.codegen.context import ALIGNMENT, ARGUMENTS, Context, emit
from nervure.transformers.cpu.compile.codegen.for_loops import emit_slice
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
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
             link: Callable[[str], str] = str) -> Code:
    """Generates the code of a kernel for a target's vectors. Buffers in ``least_bytes`` are stored past the caches
    from that size on. ``link`` gives the symbols of functions in other libraries.
    """
    machine = target.machine
    vectorised = vectorise_kernel(kernel, machine, least_bytes)
    kernel = lower_reductions(vectorised, machine)
    reduces = any([isinstance(entry, Reduce) for entry in walk(vectorised.body)])
    b = Builder("kernel", ARGUMENTS, attributes="nounwind", has_opaque_counters=True)
    buffers, _, begin, end, scratch, _ = b.arguments
    context = Context(b, machine, register_lanes(kernel, machine), link, reduces)
    context.rooms = rooms(kernel, context.register_lanes)
    given = tuple([buffer for buffer in kernel.buffers if buffer.is_given])
    for number, buffer in enumerate(given):
        context.pointers[buffer] = b.load(b.offset(buffers, number, PTR), PTR)
    for buffer in kernel.buffers:
        if not buffer.is_given:
            context.pointers[buffer] = address_of(scratch, context.sizes.register(context.scratch_bytes), 1)
            lanes = buffer.size * LANES if buffer.role == "private" else buffer.size + LANES  # room for idle lanes
            size = lanes * buffer.dtype.itemsize
            context.scratch_bytes = context.scratch_bytes + (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    if kernel.sliced is not None:
        emit_slice(context, kernel.sliced, begin, end)
    else:
        emit(context, kernel.body)
    if any([isinstance(entry, Write) and entry.streaming != 0 for entry in walk(kernel.body)]):
        b.call("llvm.x86.sse.sfence", None)  # streaming stores are not ordered with others
    b.ret()
    return Code(assemble([b]), vectorised, context.sizes.table, given, context.scratch_bytes,
                tuple(sorted(context.failures)))
