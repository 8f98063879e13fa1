"""Memory that is used again: blocks of 64-byte aligned memory, free ones kept by size, within bounds.

Fresh memory costs a page fault and zeroing for each page, several times what a kernel takes to fill it. So blocks go
back to the pool: the arena when its call ends, a result when its array dies. Sizes are rounded up to four classes for
each power of two:

>>> [size_class(size) for size in (1, 64, 65, 81, 1 << 20)]
[0, 0, 0, 1, 55]
>>> [class_bytes(number) for number in (0, 1, 3, 4, 55)]
[80, 96, 128, 160, 1048576]

The bytes that are kept are at most twice what one call has needed within the last seconds, and a megabyte; beyond
that the sizes that were not used for longest go back to the system.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.shared import lock, unlock
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.records import CLASSES, Block, Pool
from nervure.transformers.cpu.runtime.slices import greatest

HEAD = ctypes.sizeof(Block)
SLACK = 1 << 20
"""Bytes that may be kept whatever calls need."""

PERIOD = 2_000_000_000
"""Nanoseconds after which what calls needed is forgotten, in two steps."""

_SMALLEST = 6                   # the power of two of the smallest blocks
_MAPPED_FROM = 1 << 17          # bytes from which a block is a mapping of its own
_HUGE_FROM = 1 << 22            # bytes from which it asks for huge pages
_PAGE, _HUGE_PAGE = 1 << 12, 1 << 21
_PUTS_PER_LOOK = 64
_READ_WRITE, _PRIVATE = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)


def size_class(size: int) -> int:
    """The number of the smallest class whose blocks have room for ``size`` bytes."""
    above = max(size, 1 << _SMALLEST | 1) - 1
    power = above.bit_length() - 1
    return 4 * (power - _SMALLEST) + (above >> (power - 2) & 3)


def class_bytes(number: int) -> int:
    """The bytes that the blocks of a class have room for."""
    power, quarter = divmod(number, 4)
    return (5 + quarter) << (power + _SMALLEST - 2)


def functions() -> list[Builder]:
    """The pool's code."""
    return [native_size_class(), native_class_bytes(), make_block(), make_or_evict(), drop_block(), take_block(),
            put_block(), evict(), note_demand()]


def pool(b: Builder) -> At:
    """The one pool of the process."""
    return At(Pool, Register(b, PTR, "@pool"))


# -- sizes ---------------------------------------------------------------------------------------------------


def native_size_class() -> Builder:
    """``size_class(size)``, for sizes above 0."""
    b = Builder("size_class", [("size", I64)], result=I64, attributes="nounwind")
    above = greatest(b, b.arguments[0], 1 << _SMALLEST | 1) - 1
    power = 63 - b.call("llvm.ctlz.i64", I64, above, b.constant(I1, True))
    b.ret((power - _SMALLEST) * 4 + (above.shift_right(power - 2) & 3))
    return b


def native_class_bytes() -> Builder:
    """``class_bytes(number)``."""
    b = Builder("class_bytes", [("number", I64)], result=I64, attributes="nounwind")
    number, = b.arguments
    b.ret(((number & 3) + 5).shift_left(number.shift_right(2) + (_SMALLEST - 2)))
    return b


# -- blocks --------------------------------------------------------------------------------------------------


def make_block() -> Builder:
    """``make_block(number)``: a fresh block of a class, or null."""
    b = Builder("make_block", [("number", I64)], result=PTR, attributes="nounwind")
    number, = b.arguments
    size = b.call("class_bytes", I64, number) + HEAD
    with b.if_(size < _MAPPED_FROM):
        base = b.call("aligned_alloc", PTR, b.constant(I64, HEAD), (size + (HEAD - 1)) & -HEAD)
        with b.if_(base.not_equal(0)):
            _fill_head(b, base, number, base, b.constant(I64, 0))
        b.ret(base)
    is_huge = size >= _HUGE_FROM
    mapped = size + b.where(is_huge, b.constant(I64, _HUGE_PAGE + _PAGE), _PAGE)
    base = b.call("mmap", PTR, b.constant(PTR, 0), mapped, b.constant(I32, _READ_WRITE), b.constant(I32, _PRIVATE),
                  b.constant(I32, -1), b.constant(I64, 0))
    with b.if_(base.cast("ptrtoint", I64).equal(-1)):
        b.ret(b.constant(PTR, 0))
    aligned = ((base.cast("ptrtoint", I64) + (_HUGE_PAGE - 1)) & -_HUGE_PAGE).cast("inttoptr", PTR)
    start = b.where(is_huge, aligned, base)
    if _ADVICE is not None:
        with b.if_(is_huge):
            b.call("madvise", I32, start, size + _PAGE, b.constant(I32, _ADVICE))
    # The memory after the head starts a page, and arrays of others a little after one. So where a loop reads one and
    # writes the other it reads ahead of what it writes also in the low bits of addresses, by which the processor
    # tells whether a load must wait for a store.
    block = b.offset(start, _PAGE - HEAD, I8)
    _fill_head(b, block, number, base, mapped)
    b.ret(block)
    return b


def make_or_evict() -> Builder:
    """``make_or_evict(number)``: a fresh block, for which all free ones are given up if there is no other way."""
    b = Builder("make_or_evict", [("number", I64)], result=PTR, attributes="nounwind")
    block = b.call("make_block", PTR, b.arguments[0])
    with b.if_(block.not_equal(0)):
        b.ret(block)
    b.call("evict", None, b.constant(I64, 0))
    b.ret(b.call("make_block", PTR, b.arguments[0]))
    return b


def _fill_head(b: Builder, block: Register, number: Register, base: Register, mapped: Register) -> None:
    head = At(Block, block)
    head["size_class"], head["base"], head["mapped"] = number, base, mapped


def drop_block() -> Builder:
    """``drop_block(block)``: gives a block back to the system."""
    b = Builder("drop_block", [("block", PTR)], attributes="nounwind")
    head = At(Block, b.arguments[0])
    with b.if_(head["mapped"].equal(0)):
        b.call("free", None, head["base"])
        b.ret()
    b.call("munmap", I32, head["base"], head["mapped"])
    b.ret()
    return b


# -- taking and giving back ----------------------------------------------------------------------------------


def take_block() -> Builder:
    """``take(size)``: memory of so many bytes, aligned to 64; null if there is none."""
    b = Builder("take", [("size", I64)], result=PTR, attributes="nounwind")
    size, = b.arguments
    with b.if_(b.constant(I64, class_bytes(CLASSES - 1)).below(size)):
        b.ret(b.constant(PTR, 0))
    record, number = pool(b), b.call("size_class", I64, size)
    place = b.offset(record.place("heads"), number, PTR)
    lock(b, record.place("lock"))
    kept = b.load(place, PTR)
    with b.if_(kept.not_equal(0)):
        b.store(At(Block, kept)["next"], place)
        record["held"] = record["held"] - b.call("class_bytes", I64, number)
    unlock(b, record.place("lock"))
    block = b.choose(kept.not_equal(0), lambda: kept, lambda: b.call("make_or_evict", PTR, number))
    with b.if_(block.equal(0)):
        b.ret(block)
    b.call("note_demand", None, size)
    b.ret(b.offset(block, HEAD, I8))
    return b


def put_block() -> Builder:
    """``put(memory)``: takes memory back, to be used again or dropped."""
    b = Builder("put", [("memory", PTR)], attributes="nounwind")
    record, block = pool(b), At(Block, b.offset(b.arguments[0], -HEAD, I8))
    number = block["size_class"]
    place = b.offset(record.place("heads"), number, PTR)
    lock(b, record.place("lock"))
    block["next"] = b.load(place, PTR)
    b.store(block.pointer, place)
    record["held"] = record["held"] + b.call("class_bytes", I64, number)
    count = record["puts"] + 1
    record["puts"] = count
    b.store(count, b.offset(record.place("stamps"), number, I64))
    with b.if_((count & (_PUTS_PER_LOOK - 1)).equal(0)):
        _turn_period(b, record)
    limit = greatest(b, record["demand"], record["earlier"]) * 2 + SLACK
    is_over = record["held"] > limit
    unlock(b, record.place("lock"))
    with b.if_(is_over):
        b.call("evict", None, limit)
    b.ret()
    return b


@contextmanager
def borrowed(b: Builder, size: Register, room: int) -> Iterator[Register]:
    """Memory of so many bytes for what is built inside: on the stack if ``room`` bytes do, else the pool's; or null."""
    near, is_near = b.allocate(I64, room // 8), size <= room
    memory = b.choose(is_near, lambda: near, lambda: b.call("take", PTR, size))
    yield memory
    with b.if_(~is_near):
        b.call("put", None, memory)


def _turn_period(b: Builder, record: At) -> None:
    """Code that starts a new period when it is time; the lock is held."""
    time = b.call("now", I64)
    with b.if_(time - record["period"] > PERIOD):
        record["earlier"], record["demand"], record["period"] = record["demand"], 0, time


def note_demand() -> Builder:
    """``note_demand(size)``: one call needs so many bytes."""
    b = Builder("note_demand", [("size", I64)], attributes="nounwind")
    record = pool(b)
    with b.if_(record.peek("demand") < b.arguments[0]):
        record.poke("demand", b.arguments[0])
    b.ret()
    return b


def evict() -> Builder:
    """``evict(limit)``: drops free blocks, of the sizes that were not used for longest, down to ``limit`` bytes."""
    b = Builder("evict", [("limit", I64)], attributes="nounwind")
    record = pool(b)
    with b.while_(lambda: b.constant(I1, True)):
        lock(b, record.place("lock"))
        number = _oldest(b, record)
        with b.if_((record["held"] <= b.arguments[0]) | (number < 0)):
            unlock(b, record.place("lock"))
            b.ret()
        place = b.offset(record.place("heads"), number, PTR)
        block = b.load(place, PTR)
        b.store(At(Block, block)["next"], place)
        record["held"] = record["held"] - b.call("class_bytes", I64, number)
        unlock(b, record.place("lock"))
        b.call("drop_block", None, block)
    b.ret()
    return b


def _oldest(b: Builder, record: At) -> Register:
    """The class with free blocks that was not used for longest; -1 if there is no free block."""
    with b.loop(0, CLASSES, carried=[b.constant(I64, -1), b.constant(I64, (1 << 63) - 1)]) as loop:
        number, oldest = loop.carried
        stamp = b.load(b.offset(record.place("stamps"), loop.index, I64), I64)
        is_free = b.load(b.offset(record.place("heads"), loop.index, PTR), PTR).not_equal(0)
        better = is_free & (stamp < oldest)
        loop.carried = [b.where(better, loop.index, number), b.where(better, stamp, oldest)]
    return loop.results[0]
