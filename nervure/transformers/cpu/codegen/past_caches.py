"""Large results are stored past the caches: no line is read before it is written, and nothing else is thrown out.

A plain store reads the line that it writes to. Where the memory is larger than the caches that read is a quarter or a
third of all traffic, and what is stored is gone from the caches before anybody asks for it. The processor's stores that
do neither want aligned rows and keep no order with others, hence a fence at the end of a kernel. They also want whole
lines: short rows go past the caches only where none of them shares a line with the next.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.codegen.generate import generate
>>> from nervure.transformers.cpu.machine import Target
>>> kernel = parse_kernel('''
... kernel ones(out x: f32[16777216]):
...   for i < 16777216 parallel vector:
...     x[i] = 1.0_f32
... ''')
>>> x, = kernel.buffers
>>> ["!nontemporal" in generate(kernel, Target.avx2(), least).text for least in ({}, {x: 1 << 20}, {x: 1 << 30})]
[False, True, False]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.kernel.ir import Buffer, For, Kernel, Load, Store, walk
from nervure.transformers.cpu.codegen.sizes import Sizes
from nervure.transformers.cpu.llvm.builder import Builder, Register
from nervure.transformers.cpu.llvm.types import I64
from nervure.types.dim import DimLike, index_symbols

LINE = 64
"""Bytes of a cache line."""

_LONG_ROW = 4096  # bytes of a row whose first and last line do not matter


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
        is_small = isinstance(buffer.size, int) and buffer.size < elements
        if buffer not in read and not is_small:
            bits = _bits(b, sizes, buffer, elements, _rows(kernel, buffer), vector_bytes)
            found[buffer] = PastCaches(bits, vector_bytes)
    return found


class _Rows(NamedTuple):
    """Rows that are stored: how long they are (None: not the same everywhere), how far from each other."""

    length: DimLike | None
    distances: list[DimLike]


def _rows(kernel: Kernel, buffer: Buffer) -> list[_Rows]:
    found = []
    for loop in [entry for entry in walk(kernel.body) if isinstance(entry, For) and entry.vector]:
        length = None if index_symbols(loop.extent) else loop.extent
        for store in [entry for entry in walk(loop.body) if isinstance(entry, Store) and entry.buffer is buffer]:
            steps = [step for index, step in store.address.steps if index != loop.index]
            found.append(_Rows(length, [*steps, *[stride for stride, _ in store.address.terms]]))
    return found


def _bits(b: Builder, sizes: Sizes, buffer: Buffer, least_elements: int, rows: list[_Rows],
          vector_bytes: int) -> Register:
    bits, itemsize = b.constant(I64, vector_bytes - 1), buffer.dtype.itemsize
    if not isinstance(buffer.size, int):
        size = sizes.register(buffer.size)
        with b.at(sizes.region):
            bits = b.where(size < least_elements, -1, bits)
    for length, distances in rows:
        numbers = [sizes.register(entry) for entry in distances]
        count = sizes.register(0 if length is None else length)
        with b.at(sizes.region):
            for number in numbers:
                is_torn = (number * itemsize & (LINE - 1)).not_equal(0) & (count * itemsize < _LONG_ROW)
                bits = b.where(is_torn, -1, bits)
    return bits
