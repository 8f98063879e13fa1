"""The thread pool: workers that share the chunks of long steps, spin between steps and sleep soon after a call.

One pool serves the whole process. A call takes it if it is free and runs alone otherwise, so no call waits for it. The
chunks of a step are numbered; those not yet taken are a range in one word, the *ticket*, from which the caller takes
at the low end and the workers at the high end. So each thread meets the same part of the data in step after step, a
slower core takes fewer chunks, and a call does not wait for a worker that wakes too late.

>>> pack(epoch=3, low=1, high=16)
50397185

The ticket carries the number of the step (its epoch). A worker reads the ticket, then the job, then takes a chunk by
exchanging the ticket it has read: that succeeds only while chunks of that step are left, hence the job it read was
that of the same step.

All threads compute with floats by IEEE 754: rounding to nearest, denormals kept (or flushed, if the call began with
that setting of ``flags.denormals``), no traps. Other code of the process may have changed the mode of its thread
(libraries made with fast-math make denormals zero when they are loaded). A call sets the mode and restores the
previous one, so its bits do not depend on such code; Python code that runs inside of it, in host functions and signal
handlers, has the standard mode. Workers take over the mode of the job.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.shared import (
    atomic_load,
    atomic_store,
    compare_exchange,
    fetch_add,
    pause,
)
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.chunks import MOST, run_chunk
from nervure.transformers.cpu.runtime.cores import FUTEX_CALL
from nervure.transformers.cpu.runtime.native import (
    At,
    LocalVariable,
    Pointer,
    Truth,
    Word,
    least,
    native,
)
from nervure.transformers.cpu.runtime.records import (
    FLOATS,
    CallRecord,
    ProgramRecord,
    Status,
    StatusCode,
    StepRecord,
    ThreadPool,
)
from nervure.transformers.cpu.runtime.thresholds import FREQUENT_CALL_FROM, SHARED_CALL_FROM, SHARED_FROM

IDLE_NANOSECONDS = 200_000
"""The nanoseconds that a worker spins without work before it sleeps."""

FREQUENT_WITHIN = 150_000
"""The most nanoseconds between the starts of two frequent calls: the workers stay awake for longer."""

SIGNALS_EVERY = 50_000_000
"""The nanoseconds between two looks at the signals."""

HAS_MXCSR = platform.machine() in ("x86_64", "AMD64")

_BITS = MOST.bit_length()
_SPINS_PER_LOOK = 64        # iterations of a spinning worker between two looks at the clock: 1 to 2 microseconds
_SPINS_BEFORE_YIELD = 2048  # iterations in which a caller waits for the last chunks before it offers its core
_WAIT, _WAKE = 128, 129     # futex operations within one process
_SET_MASK = 2               # SIG_SETMASK
_STANDARD = FLOATS["keep"]
_HAPPENED = 0x3F            # the bits of MXCSR that record events, and are no mode


def pack(epoch: int, low: int, high: int) -> int:
    """Returns a ticket: the chunks from ``low`` to ``high`` are left."""
    return (epoch << 2 * _BITS) | (high << _BITS) | low


def thread_pool(b: Builder) -> At[ThreadPool]:
    """Returns the one thread pool of the process."""
    return At(ThreadPool, Register(b, PTR, "@thread_pool"))


# -- time, signals and sleep ---------------------------------------------------------------------------------


@native
def now(b: Builder) -> Word:
    """Returns the nanoseconds of a monotonic clock."""
    time = b.allocate(I64, 2)
    b.call("clock_gettime", I32, b.constant(I32, 1), time)
    return b.load(time, I64) * 1_000_000_000 + b.load(b.offset(time, 1, I64), I64)


@native
def poll(b: Builder, call: At[CallRecord], status: At[Status]) -> Truth:
    """Lets Python handle signals now and then, and records that in ``call``; returns whether the call has to stop."""
    call["unseen"] = 0
    with b.if_(call["can_stop"].equal(0) | status["code"].not_equal(StatusCode.DONE)):
        b.ret(b.constant(I1, False))
    time = now(b)
    with b.if_(time - call["looked"] < SIGNALS_EVERY):
        b.ret(b.constant(I1, False))
    call["looked"] = time
    held = b.call("PyGILState_Ensure", I32)
    raised = LocalVariable(b.constant(I1, False))
    with floats_in(b):
        raised.value = b.call("PyErr_CheckSignals", I32).not_equal(0)
    b.call("PyGILState_Release", None, held)
    lost = thread_pool(b).peek("lost").not_equal(0)
    with b.if_(raised.value | lost):
        call["can_stop"] = 0
        status["code"] = b.where(raised.value, b.constant(I64, StatusCode.INTERRUPTED), StatusCode.FORKED)
    return raised.value | lost


@native
def wake(b: Builder, most: Word) -> None:
    """Wakes up to ``most`` workers that sleep.

    A woken worker no longer counts as a sleeper, even if it takes long to come: it is not woken a second time.
    """
    pool = thread_pool(b)
    with b.while_(lambda: b.constant(I1, True)):
        sleepers = atomic_load(b, pool.place("sleepers"), order="seq_cst")
        with b.if_(sleepers <= 0):
            b.ret()
        count = least(b, most, sleepers)
        with b.if_(compare_exchange(b, pool.place("sleepers"), sleepers, sleepers - count)):
            fetch_add(b, pool.place("woken"), 1)
            _futex(b, pool.place("woken"), _WAKE, count)
            b.ret()


def _sleep(b: Builder, pool: At[ThreadPool]) -> None:
    """Emits code for a worker that sleeps until it is woken, unless there is work by now.

    A worker that does not sleep after all stays counted; that costs its waker a system call, and nothing else.
    """
    before = atomic_load(b, pool.place("woken"))
    fetch_add(b, pool.place("sleepers"), 1)
    with b.if_(_left(atomic_load(b, pool.place("ticket"), order="seq_cst")).equal(0)):
        _futex(b, pool.place("woken"), _WAIT, before)


def _futex(b: Builder, word: Register, operation: int, value: Register) -> None:
    zero = b.constant(I64, 0)
    b.call("syscall", I64, b.constant(I64, FUTEX_CALL), word.cast("ptrtoint", I64), b.constant(I64, operation), value,
           zero, zero, zero)


# -- the call that has the pool ----------------------------------------------------------------------------------


@native
def take_threads(b: Builder, program: At[ProgramRecord]) -> Word:
    """Returns the number of threads of a call: more than 1 if it is long and the pool is free, which then wakes up."""
    pool, one = thread_pool(b), b.constant(I64, 1)
    useful = program["longest"].quotient(SHARED_FROM // 2)
    wanted = least(b, useful, pool.peek("limit"))
    with b.if_((program["nanoseconds"] < FREQUENT_CALL_FROM) | (wanted <= 1)):
        b.ret(one)
    with b.if_(program["nanoseconds"] < SHARED_CALL_FROM), b.if_(_is_frequent(b, pool).equal(False)):
        b.ret(one)
    with b.if_(compare_exchange(b, pool.place("lock"), 0, 1).equal(False)):
        b.ret(one)
    threads = start_workers(b, wanted)
    with b.if_(threads <= 1):
        give_threads(b, wanted)
        b.ret(one)
    wake(b, threads - 1)
    return threads


def _is_frequent(b: Builder, pool: At[ThreadPool]) -> Register:
    """Emits code that records the start of a call; returns whether the previous one started recently."""
    time, before = now(b), pool.peek("begun")
    pool.poke("begun", time)
    return time - before < FREQUENT_WITHIN


@native
def give_threads(b: Builder, threads: Word) -> None:
    """Ends a call that has run with ``threads`` threads."""
    with b.if_(threads > 1):
        atomic_store(b, 0, thread_pool(b).place("lock"))


# -- workers -------------------------------------------------------------------------------------------------


@native
def start_workers(b: Builder, wanted: Word) -> Word:
    """Starts the missing workers; returns the number of threads, including the caller, which holds the pool."""
    pool, identity = thread_pool(b), b.allocate(I64)
    with b.while_(lambda: pool["started"] + 1 < wanted):
        number = pool["started"] + 1
        failed = b.call("pthread_create", I32, identity, b.constant(PTR, 0), worker.address(b),
                        number.cast("inttoptr", PTR))
        with b.if_(failed.not_equal(0)):
            b.ret(number)
        b.call("pthread_detach", I32, b.load(identity, I64))
        pool["started"] = number
    return wanted


@native
def worker(b: Builder, argument: Pointer) -> Pointer:
    """The main loop of a worker, which receives its number; it handles no signals."""
    number, pool, mask = argument.cast("ptrtoint", I64), thread_pool(b), b.allocate(I64, 16)
    with b.loop(0, 16) as loop:
        b.store(b.constant(I64, -1), b.offset(mask, loop.index, I64))
    b.call("pthread_sigmask", I32, b.constant(I32, _SET_MASK), mask, b.constant(PTR, 0))
    mode = LocalVariable(b.constant(I64, _STANDARD))
    _set_floats(b, mode.value)
    busy_until, spins = LocalVariable(now(b)), LocalVariable(b.constant(I64, 0))
    with b.while_(lambda: b.constant(I1, True)):
        with b.while_(lambda: _work(b, pool, number, mode)):
            spins.value, busy_until.value = _SPINS_PER_LOOK, 0
        pause(b)
        spins.value = spins.value - 1
        with b.if_(spins.value <= 0):
            spins.value = _SPINS_PER_LOOK
            time = now(b)
            with b.if_(busy_until.value.equal(0)):
                busy_until.value = time
            with b.if_(time - busy_until.value > IDLE_NANOSECONDS):
                _sleep(b, pool)
                busy_until.value = 0
    return b.constant(PTR, 0)


def _work(b: Builder, pool: At[ThreadPool], number: Register, mode: LocalVariable) -> Register:
    """Emits code for a worker that takes a chunk and runs it; returns whether there was one. ``mode`` is that of its
    floats.
    """
    ticket = atomic_load(b, pool.place("ticket"))

    def try_one() -> Register:
        step, table, scratch, status = [pool.peek(name) for name in ("step", "table", "scratch", "status")]
        count, scratch_bytes, floats = [pool.peek(name) for name in ("count", "scratch_bytes", "mode")]
        taken = compare_exchange(b, pool.place("ticket"), ticket, ticket - (1 << _BITS))
        with b.if_(taken):
            with b.if_(floats.not_equal(mode.value)):
                mode.value = floats
                _set_floats(b, floats)
            own = b.offset(scratch, scratch_bytes * number, I8)
            run_chunk(b, step, table, _high(ticket) - 1, count, own, status)
            fetch_add(b, pool.place("done"), 1)
        return taken

    wanted = _left(ticket).not_equal(0) & (number < pool.peek("threads"))
    return b.choose(wanted, try_one, lambda: b.constant(I1, False))


# -- the caller ----------------------------------------------------------------------------------------------


@native
def share(b: Builder, step: At[StepRecord], table: Pointer, count: Word, call: At[CallRecord],
          status: At[Status]) -> None:
    """Runs a ``step`` in chunks with the pool, which the caller holds."""
    pool = thread_pool(b)
    epoch = _epoch(atomic_load(b, pool.place("ticket"))) + 1
    for name, value in {"step": step.pointer, "table": table, "count": count, "scratch": call["scratch"],
                        "status": status.pointer, "scratch_bytes": call["scratch_bytes"],
                        "threads": call["threads"], "mode": call["floats"]}.items():
        pool.poke(name, value)
    atomic_store(b, 0, pool.place("done"))
    atomic_store(b, epoch.shift_left(2 * _BITS) | count.shift_left(_BITS), pool.place("ticket"), order="seq_cst")
    wake(b, call["threads"] - 1)
    own, index = LocalVariable(b.constant(I64, 0)), b.allocate(I64)
    with b.while_(lambda: take_chunk(b, index)):
        run_chunk(b, step, table, b.load(index, I64), count, call["scratch"], status)
        own.value = own.value + 1
        with b.if_(poll(b, call, status)):
            own.value = own.value + close(b)
    _wait(b, pool, count - own.value)


@native
def take_chunk(b: Builder, index: Pointer) -> Truth:
    """Takes a chunk at the low end, for the caller; returns whether there was one."""
    pool = thread_pool(b)
    with b.while_(lambda: b.constant(I1, True)):
        ticket = atomic_load(b, pool.place("ticket"))
        with b.if_(_left(ticket).equal(0)):
            b.ret(b.constant(I1, False))
        with b.if_(compare_exchange(b, pool.place("ticket"), ticket, ticket + 1)):
            b.store(_low(ticket), index)
            b.ret(b.constant(I1, True))
    return b.constant(I1, False)


@native
def close(b: Builder) -> Word:
    """Closes the ticket, so that no thread takes the chunks that are left; returns their number."""
    pool = thread_pool(b)
    with b.while_(lambda: b.constant(I1, True)):
        ticket = atomic_load(b, pool.place("ticket"))
        left = _left(ticket)
        with b.if_(compare_exchange(b, pool.place("ticket"), ticket, ticket + left)):
            b.ret(left)
    return b.constant(I64, 0)


def _wait(b: Builder, pool: At[ThreadPool], others: Register) -> None:
    """Emits code that waits until the workers have finished their chunks; a forked process has no workers."""
    spins = LocalVariable(b.constant(I64, 0))
    with b.while_(lambda: (atomic_load(b, pool.place("done")) < others) & pool.peek("lost").equal(0)):
        pause(b)
        spins.value = spins.value + 1
        with b.if_(spins.value > _SPINS_BEFORE_YIELD):
            b.call("sched_yield", I32)


def _low(ticket: Register) -> Register:
    return ticket & MOST


def _high(ticket: Register) -> Register:
    return ticket.shift_right(_BITS) & MOST


def _left(ticket: Register) -> Register:
    return _high(ticket) - _low(ticket)


def _epoch(ticket: Register) -> Register:
    return ticket.shift_right(2 * _BITS)


# -- the mode of floats --------------------------------------------------------------------------------------


@contextmanager
def floats_in(b: Builder, mode: Register | None = None) -> Iterator[None]:
    """Sets the mode of floats for the code built inside (absent: the standard mode), and restores it afterwards."""
    if not HAS_MXCSR:
        yield
        return
    mode = b.constant(I64, _STANDARD) if mode is None else mode
    before = b.allocate(I32)
    b.call("llvm.x86.sse.stmxcsr", None, before)
    is_other = (b.load(before, I32).cast("zext", I64) & ~_HAPPENED).not_equal(mode)
    with b.if_(is_other):
        _set_floats(b, mode)
    yield
    with b.if_(is_other):
        b.call("llvm.x86.sse.ldmxcsr", None, before)


def _set_floats(b: Builder, mode: Register) -> None:
    """Sets the thread's mode of floats from here on."""
    if HAS_MXCSR:
        b.call("llvm.x86.sse.ldmxcsr", None, LocalVariable(mode.cast("trunc", I32)).place)
