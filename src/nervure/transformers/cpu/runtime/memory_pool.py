"""The memory pool: a size-class allocator of 64-byte aligned blocks, which reuses free blocks within bounds.

Fresh memory costs a page fault and zeroing for each page, several times the cost of a kernel that fills it. So blocks
return to the pool: the arena when its call ends, a result when its array dies. Sizes are rounded up to four classes
for each power of two:

>>> [size_class(size) for size in (1, 64, 65, 81, 1 << 20)]
[0, 0, 0, 1, 55]
>>> [class_bytes(number) for number in (0, 1, 3, 4, 55)]
[80, 96, 128, 160, 1048576]

The pool keeps at most twice the bytes that one call has needed within the last seconds, plus a megabyte; beyond that
the sizes not used for longest go back to the system.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.shared import lock, unlock
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.native import At, Pointer, Word, greatest, hot, native
from nervure.transformers.cpu.runtime.records import CLASSES, BlockHeader, MemoryPool, Status, StatusCode
from nervure.transformers.cpu.runtime.thread_pool import now

HEAD = ctypes.sizeof(BlockHeader)
SLACK = 1 << 20
"""The bytes that may be kept whatever calls need."""

PERIOD = 2_000_000_000
"""The nanoseconds after which the needs of calls are forgotten, in two steps."""

_SMALLEST = 6                   # the power of two of the smallest blocks
_MAPPED_FROM = 1 << 17          # bytes from which a block is its own mapping
_HUGE_FROM = 1 << 22            # bytes from which it asks for huge pages
_PAGE, _HUGE_PAGE = 1 << 12, 1 << 21
_PUTS_PER_LOOK = 64
_READ_WRITE, _PRIVATE = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)


def size_class(size: int) -> int:
    """Returns the number of the smallest class whose blocks have room for ``size`` bytes."""
    above = max(size, 1 << _SMALLEST | 1) - 1
    power = above.bit_length() - 1
    return 4 * (power - _SMALLEST) + (above >> (power - 2) & 3)


def class_bytes(number: int) -> int:
    """Returns the bytes that the blocks of a class have room for."""
    power, quarter = divmod(number, 4)
    return (5 + quarter) << (power + _SMALLEST - 2)


def memory_pool(b: Builder) -> At[MemoryPool]:
    """Returns the one memory pool of the process."""
    return At(MemoryPool, Register(b, PTR, "@memory_pool"))


# -- sizes ---------------------------------------------------------------------------------------------------


@hot
def class_of(b: Builder, size: Word) -> Word:
    """Computes ``size_class`` of sizes above 0."""
    above = greatest(b, size, 1 << _SMALLEST | 1) - 1
    power = 63 - b.call("llvm.ctlz.i64", I64, above, b.constant(I1, True))
    return (power - _SMALLEST) * 4 + (above.shift_right(power - 2) & 3)


@hot
def bytes_of(b: Builder, number: Word) -> Word:
    """Computes ``class_bytes``."""
    return ((number & 3) + 5).shift_left(number.shift_right(2) + (_SMALLEST - 2))


# -- blocks --------------------------------------------------------------------------------------------------


@native
def make_block(b: Builder, number: Word) -> Pointer:
    """Returns a fresh block of a class, or null."""
    size = bytes_of(b, number) + HEAD
    with b.if_(size < _MAPPED_FROM):
        base = b.call("aligned_alloc", PTR, b.constant(I64, HEAD), (size + (HEAD - 1)) & -HEAD)
        with b.if_(base.not_equal(0)):
            _fill_head(At(BlockHeader, base), number, base, b.constant(I64, 0))
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
    # The memory after the head starts a page, and arrays of other libraries start a little after one. So a loop that
    # reads one and writes the other reads ahead of its writes also in the low bits of addresses, by which the
    # processor decides whether a load must wait for a store.
    block = b.offset(start, _PAGE - HEAD, I8)
    _fill_head(At(BlockHeader, block), number, base, mapped)
    return block


@native
def make_or_evict(b: Builder, number: Word) -> Pointer:
    """Returns a fresh block, for which all free ones are given up if there is no other way."""
    block = make_block(b, number)
    with b.if_(block.not_equal(0)):
        b.ret(block)
    evict(b, 0)
    return make_block(b, number)


def _fill_head(head: At[BlockHeader], number: Register, base: Register, mapped: Register) -> None:
    head["size_class"], head["base"], head["mapped"] = number, base, mapped


@native
def drop_block(b: Builder, block: At[BlockHeader]) -> None:
    """Returns a block to the system."""
    with b.if_(block["mapped"].equal(0)):
        b.call("free", None, block["base"])
        b.ret()
    b.call("munmap", I32, block["base"], block["mapped"])


# -- allocating and freeing ------------------------------------------------------------------------------------


@hot
def take(b: Builder, size: Word) -> Pointer:
    """Returns memory of ``size`` bytes, aligned to 64; null if there is none."""
    with b.if_(b.constant(I64, class_bytes(CLASSES - 1)).below(size)):
        b.ret(b.constant(PTR, 0))
    pool, number = memory_pool(b), class_of(b, size)
    place = b.offset(pool.place("heads"), number, PTR)
    lock(b, pool.place("lock"))
    kept = b.load(place, PTR)
    with b.if_(kept.not_equal(0)):
        b.store(At(BlockHeader, kept)["next"], place)
        pool["held"] = pool["held"] - bytes_of(b, number)
    unlock(b, pool.place("lock"))
    block = b.choose(kept.not_equal(0), lambda: kept, lambda: make_or_evict(b, number))
    with b.if_(block.equal(0)):
        b.ret(block)
    note_peak(b, size)
    return b.offset(block, HEAD, I8)


@hot
def put(b: Builder, memory: Pointer) -> None:
    """Takes memory back, to be used again or dropped."""
    pool, block = memory_pool(b), At(BlockHeader, b.offset(memory, -HEAD, I8))
    number = block["size_class"]
    place = b.offset(pool.place("heads"), number, PTR)
    lock(b, pool.place("lock"))
    block["next"] = b.load(place, PTR)
    b.store(block.pointer, place)
    pool["held"] = pool["held"] + bytes_of(b, number)
    count = pool["puts"] + 1
    pool["puts"] = count
    b.store(count, b.offset(pool.place("stamps"), number, I64))
    with b.if_((count & (_PUTS_PER_LOOK - 1)).equal(0)):
        _begin_period(b, pool)
    limit = greatest(b, pool["peak"], pool["earlier_peak"]) * 2 + SLACK
    is_over = pool["held"] > limit
    unlock(b, pool.place("lock"))
    with b.if_(is_over):
        evict(b, limit)


@contextmanager
def borrowed(b: Builder, size: Register, room: int) -> Iterator[Register]:
    """Yields memory of ``size`` bytes for the code built inside: on the stack if ``room`` bytes suffice, else the
    pool's; or null.
    """
    near, is_near = b.allocate(I64, room // 8), size <= room
    memory = b.choose(is_near, lambda: near, lambda: take(b, size))
    yield memory
    with b.if_(~is_near):
        put(b, memory)


def fail_without_memory(b: Builder, block: Register, status: At[Status]) -> None:
    """Emits code that returns, with the ``status`` of a failure, if a ``block`` is null."""
    with b.if_(block.equal(0)):
        status["code"] = StatusCode.NO_MEMORY
        b.ret()


def _begin_period(b: Builder, pool: At[MemoryPool]) -> None:
    """Emits code that starts a new period when it is time; the lock is held."""
    time = now(b)
    with b.if_(time - pool["period"] > PERIOD):
        pool["earlier_peak"], pool["peak"], pool["period"] = pool["peak"], 0, time


@native
def note_peak(b: Builder, size: Word) -> None:
    """Records that one call needs ``size`` bytes."""
    pool = memory_pool(b)
    with b.if_(pool.peek("peak") < size):
        pool.poke("peak", size)


@native
def evict(b: Builder, limit: Word) -> None:
    """Drops free blocks, of the sizes not used for longest, down to ``limit`` bytes."""
    pool = memory_pool(b)
    with b.while_(lambda: b.constant(I1, True)):
        lock(b, pool.place("lock"))
        number = _oldest(b, pool)
        with b.if_((pool["held"] <= limit) | (number < 0)):
            unlock(b, pool.place("lock"))
            b.ret()
        place = b.offset(pool.place("heads"), number, PTR)
        block = b.load(place, PTR)
        b.store(At(BlockHeader, block)["next"], place)
        pool["held"] = pool["held"] - bytes_of(b, number)
        unlock(b, pool.place("lock"))
        drop_block(b, block)


def _oldest(b: Builder, pool: At[MemoryPool]) -> Register:
    """Returns the class with free blocks that was not used for longest; -1 if there is no free block."""
    with b.loop(0, CLASSES, carried=[b.constant(I64, -1), b.constant(I64, (1 << 63) - 1)]) as loop:
        number, oldest = loop.carried
        stamp = b.load(b.offset(pool.place("stamps"), loop.index, I64), I64)
        is_free = b.load(b.offset(pool.place("heads"), loop.index, PTR), PTR).not_equal(0)
        better = is_free & (stamp < oldest)
        loop.carried = [b.where(better, loop.index, number), b.where(better, stamp, oldest)]
    return loop.results[0]
