"""Large results are stored past the caches: no line is read before it is written, and nothing else is thrown out.

A plain store reads the line that it writes to. Where the memory is larger than the caches that read is a quarter or a
third of all traffic, and what is stored is gone from the caches before anybody asks for it. The processor's stores that
do neither want aligned rows and keep no order with others, hence a fence at the end of a kernel.

>>> from nervure.kernel.ir import Address, For, Literal
>>> from nervure.transformers.cpu.codegen.generate import generate
>>> from nervure.transformers.cpu.machine import Target
>>> from nervure.types.dtype import float32
>>> x = Buffer("x", float32, 1 << 24, "out")
>>> kernel = Kernel("ones", (x,), (For("%0", x.size, (
...     Store(x, Address(0, (("%0", 1),)), Literal(1.0, float32)),), parallel=True, vector=True),))
>>> ["!nontemporal" in generate(kernel, Target.avx2(), least).text for least in ({}, {x: 1 << 20}, {x: 1 << 30})]
[False, True, False]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.kernel.ir import Buffer, Kernel, Load, Store, walk
from nervure.transformers.cpu.codegen.sizes import Sizes
from nervure.transformers.cpu.llvm.builder import Builder, Register
from nervure.transformers.cpu.llvm.types import I64


class PastCaches(NamedTuple):
    """How the rows of a buffer are stored: past the caches where the ``bits`` of an address are all 0.

    These are the low ones, so that the row is aligned; and all, where the buffer turns out to be small.
    """

    bits: Register
    alignment: int


def past_caches(b: Builder, sizes: Sizes, kernel: Kernel, least_bytes: Mapping[Buffer, int],
                vector_bytes: int) -> dict[Buffer, PastCaches]:
    """The buffers that are stored past the caches: those of at least so many bytes, and not read in the kernel."""
    if not least_bytes:
        return {}
    touched = [entry for entry in walk(kernel.body) if isinstance(entry, Load | Store)]
    read = {entry.buffer for entry in touched if isinstance(entry, Load) or entry.combine is not None}
    found = {}
    for buffer, least in least_bytes.items():
        elements = -(-least // buffer.dtype.itemsize)
        if buffer not in read and not (isinstance(buffer.size, int) and buffer.size < elements):
            found[buffer] = PastCaches(_bits(b, sizes, buffer, elements, vector_bytes), vector_bytes)
    return found


def _bits(b: Builder, sizes: Sizes, buffer: Buffer, least_elements: int, vector_bytes: int) -> Register:
    low = b.constant(I64, vector_bytes - 1)
    if isinstance(buffer.size, int):
        return low
    size = sizes.register(buffer.size)
    with b.at(sizes.region):
        return b.where(size < least_elements, -1, low)
