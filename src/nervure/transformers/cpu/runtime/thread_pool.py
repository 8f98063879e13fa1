"""The thread pool: workers that share the chunks of long steps, spin between steps and sleep soon after a call.

One pool serves the whole process. A call takes it if it is free and runs alone otherwise, so no call waits for it. The
steps that are shared are counted, and the chunks of each are numbered. A thread begins with its *share*, which is the
same part of the data in step after step, so that this stays in the caches of its core. It goes through the share from
the first chunk to the last in one step and back in the next: what a share has more than the cache, a loop reads from
further away, but not what it has read last. Then a thread takes what is left of the others' shares: a slower core takes
fewer chunks, and a call does not wait for a worker that wakes too late.

>>> [share_of(5, 2, thread) for thread in range(2)]
[(0, 2), (2, 5)]

The number of the current step, times ``ROUND``, is the *ticket*. Each thread has a *seat*, a line of memory that
no other thread writes unless it takes from there. A seat says how many chunks of its thread's share are taken, and how
many chunks its thread has finished, both as ticket + count: what is less than the ticket is of an earlier step, and
counts as 0. To hand out a step, the caller writes one line, which has the ticket and the job; to see it done, it reads
the seats. Between cores that share a cache, both together take 0.2 us.

A worker reads the ticket, then the job, then takes a chunk by exchanging what it has read in a seat. That succeeds only
while chunks of that step are left, hence the job that it has read was that of the same step.

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
from nervure.transformers.cpu.compile.llvm.shared import atomic_load, atomic_store, compare_exchange, fetch_add, pause
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.chunks import MOST, run_chunk
from nervure.transformers.cpu.runtime.cores import FUTEX_CALL
from nervure.transformers.cpu.runtime.native import (
    At,
    LocalVariable,
    Pointer,
    Truth,
    Word,
    greatest,
    hot,
    least,
    native,
)
from nervure.transformers.cpu.runtime.records import (
    FLOATS,
    SEATS,
    CallRecord,
    ProgramRecord,
    Seat,
    Status,
    StatusCode,
    StepRecord,
    ThreadPool,
)
from nervure.transformers.cpu.runtime.thresholds import FREQUENT_CALL_FROM, LOOK_EVERY, SHARED_CALL_FROM, SHARED_PART

IDLE_NANOSECONDS = 200_000
"""The nanoseconds that a worker spins without work before it sleeps."""

FREQUENT_WITHIN = 150_000
"""The most nanoseconds from the end of a call to the next frequent one: the workers stay awake for longer."""

SIGNALS_EVERY = 50_000_000
"""The nanoseconds between two looks at the signals."""

HAS_MXCSR = platform.machine() in ("x86_64", "AMD64")

ROUND = MOST + 1
"""The distance of the tickets of two steps: more than a step has chunks."""

_SPINS_PER_LOOK = 64        # iterations of a spinning worker between two looks at the clock: 1 to 2 microseconds
_SPINS_BEFORE_YIELD = 2048  # iterations in which a caller waits for the last chunks before it offers its core
_WAIT, _WAKE = 128, 129     # futex operations within one process
_SET_MASK = 2               # SIG_SETMASK
_STANDARD = FLOATS["keep"]
_HAPPENED = 0x3F            # the bits of MXCSR that record events, and are no mode


def share_of(count: int, threads: int, thread: int) -> tuple[int, int]:
    """Returns the first of ``count`` chunks that a thread begins with, and that of the next thread."""
    return count * thread // threads, count * (thread + 1) // threads


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


def _sleep(b: Builder, pool: At[ThreadPool], seen: Register) -> None:
    """Emits code for a worker that sleeps until it is woken, unless there is another step than it has ``seen``.

    A worker that does not sleep after all stays counted; that costs its waker a system call, and nothing else.
    """
    before = atomic_load(b, pool.place("woken"))
    fetch_add(b, pool.place("sleepers"), 1)
    with b.if_(atomic_load(b, pool.place("ticket"), order="seq_cst").equal(seen)):
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
    wanted = least(b, least(b, program["longest"].quotient(SHARED_PART), pool.peek("limit")), SEATS)
    with b.if_((program["nanoseconds"] < FREQUENT_CALL_FROM) | (wanted <= 1)):
        b.ret(one)
    with b.if_(program["nanoseconds"] < SHARED_CALL_FROM), b.if_(_is_frequent(b, pool).equal(False)):
        b.ret(one)
    with b.if_(compare_exchange(b, pool.place("lock"), 0, 1).equal(False)):
        b.ret(one)
    threads = start_workers(b, wanted)
    with b.if_(threads <= 1):
        give_threads(b, program, wanted)
        b.ret(one)
    wake(b, threads - 1)
    return threads


def _is_frequent(b: Builder, pool: At[ThreadPool]) -> Register:
    """Emits code that returns whether the previous call of this length has ended recently."""
    return now(b) - pool.peek("ended") < FREQUENT_WITHIN


@native
def give_threads(b: Builder, program: At[ProgramRecord], threads: Word) -> None:
    """Ends a call of a ``program`` that has run with ``threads`` threads."""
    pool = thread_pool(b)
    with b.if_((program["nanoseconds"] >= FREQUENT_CALL_FROM) & (program["nanoseconds"] < SHARED_CALL_FROM)):
        pool.poke("ended", now(b))
    with b.if_(threads > 1):
        atomic_store(b, 0, pool.place("lock"))


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


@hot
def worker(b: Builder, argument: Pointer) -> Pointer:
    """Runs the main loop of a worker, which receives its number; it handles no signals."""
    number, pool, mask = argument.cast("ptrtoint", I64), thread_pool(b), b.allocate(I64, 16)
    with b.loop(0, 16) as loop:
        b.store(b.constant(I64, -1), b.offset(mask, loop.index, I64))
    b.call("pthread_sigmask", I32, b.constant(I32, _SET_MASK), mask, b.constant(PTR, 0))
    mode = LocalVariable(b.constant(I64, _STANDARD))
    _set_floats(b, mode.value)
    seen = LocalVariable(b.constant(I64, 0))
    busy_until, spins = LocalVariable(now(b)), LocalVariable(b.constant(I64, 0))
    with b.while_(lambda: b.constant(I1, True)):
        ticket = atomic_load(b, pool.place("ticket"))
        with b.if_(ticket.not_equal(seen.value)):
            seen.value = ticket
            with b.if_(number < pool.peek("threads")):
                _work(b, pool, ticket, number, mode)
                spins.value, busy_until.value = _SPINS_PER_LOOK, 0
        pause(b)
        spins.value = spins.value - 1
        with b.if_(spins.value <= 0):
            spins.value = _SPINS_PER_LOOK
            time = now(b)
            with b.if_(busy_until.value.equal(0)):
                busy_until.value = time
            with b.if_(time - busy_until.value > IDLE_NANOSECONDS):
                _sleep(b, pool, seen.value)
                busy_until.value = 0
    return b.constant(PTR, 0)


def _work(b: Builder, pool: At[ThreadPool], ticket: Register, number: Register, mode: LocalVariable) -> None:
    """Emits code for a worker that runs chunks until none is left. ``mode`` is that of its floats."""
    step, table, scratch, status = [pool.peek(name) for name in ("step", "table", "scratch", "status")]
    count, threads, scratch_bytes, floats = [
        pool.peek(name) for name in ("count", "threads", "scratch_bytes", "mode")]
    finished, index = LocalVariable(ticket), b.allocate(I64)
    own = _seat(b, number)
    with b.while_(lambda: take_chunk(b, ticket, count, threads, number, index)):
        with b.if_(floats.not_equal(mode.value)):
            mode.value = floats
            _set_floats(b, floats)
        place = b.offset(scratch, scratch_bytes * number, I8)
        run_chunk(b, step, table, b.load(index, I64), count, place, status)
        finished.value = finished.value + 1
        atomic_store(b, finished.value, own.place("finished"))


# -- the caller ----------------------------------------------------------------------------------------------


@hot
def share(b: Builder, step: At[StepRecord], table: Pointer, count: Word, call: At[CallRecord],
          status: At[Status]) -> None:
    """Runs a ``step`` in chunks with the pool, which the caller holds."""
    pool, threads = thread_pool(b), least(b, call["threads"], count)
    ticket = pool.peek("ticket") + ROUND
    for name, value in {"step": step.pointer, "table": table, "count": count, "threads": threads,
                        "scratch": call["scratch"], "scratch_bytes": call["scratch_bytes"],
                        "status": status.pointer}.items():
        pool.poke(name, value)
    with b.if_(pool.peek("mode").not_equal(call["floats"])):
        pool.poke("mode", call["floats"])
    atomic_store(b, ticket, pool.place("ticket"), order="seq_cst")
    wake(b, threads - 1)
    own, index, caller = LocalVariable(b.constant(I64, 0)), b.allocate(I64), b.constant(I64, 0)
    with b.while_(lambda: take_chunk(b, ticket, count, threads, caller, index)):
        run_chunk(b, step, table, b.load(index, I64), count, call["scratch"], status)
        own.value = own.value + 1
        with b.if_(step["nanoseconds"] > LOOK_EVERY), b.if_(poll(b, call, status)):
            own.value = own.value + close_step(b, ticket, count, threads)
    _wait(b, pool, ticket, threads, count - own.value)


@hot
def take_chunk(b: Builder, ticket: Word, count: Word, threads: Word, thread: Word, index: Pointer) -> Truth:
    """Takes a chunk of the step that has this ``ticket``: of the thread's own share, else of the next one that has any
    left. Returns whether there was one. Shares are taken from their end in every other step.
    """
    owner, turns = LocalVariable(thread), LocalVariable(threads)
    with b.while_(lambda: turns.value > 0):
        first, end = _share(owner.value, count, threads)
        place = _seat(b, owner.value).place("taken")
        seen = atomic_load(b, place)
        taken = greatest(b, seen - ticket, 0)
        is_left = taken < end - first
        with b.if_(is_left), b.if_(compare_exchange(b, place, seen, ticket + taken + 1)):
            b.store(b.where((ticket & ROUND).equal(0), first + taken, end - 1 - taken), index)
            b.ret(b.constant(I1, True))
        with b.if_(is_left.equal(False)):  # else another thread came first, and there may be more
            owner.value = b.where(owner.value.equal(threads - 1), 0, owner.value + 1)
            turns.value = turns.value - 1
    return b.constant(I1, False)


@native
def close_step(b: Builder, ticket: Word, count: Word, threads: Word) -> Word:
    """Takes all chunks that are left of the step with this ``ticket``: no thread runs them. Returns their number."""
    closed, owner = LocalVariable(b.constant(I64, 0)), LocalVariable(b.constant(I64, 0))
    with b.while_(lambda: owner.value < threads):
        first, end = _share(owner.value, count, threads)
        place = _seat(b, owner.value).place("taken")
        seen = atomic_load(b, place)
        left = end - first - greatest(b, seen - ticket, 0)
        with b.if_((left <= 0) | compare_exchange(b, place, seen, b.where(left > 0, ticket + end - first, seen))):
            closed.value = closed.value + greatest(b, left, 0)
            owner.value = owner.value + 1
    return closed.value


def _wait(b: Builder, pool: At[ThreadPool], ticket: Register, threads: Register, others: Register) -> None:
    """Emits code that waits until the workers have finished their chunks; a forked process has no workers."""
    spins = LocalVariable(b.constant(I64, 0))

    def finished() -> Register:
        total = LocalVariable(b.constant(I64, 0))
        with b.loop(1, threads) as loop:
            total.value = total.value + greatest(
                b, atomic_load(b, _seat(b, loop.index).place("finished")) - ticket, 0)
        return total.value
    with b.while_(lambda: (finished() < others) & pool.peek("lost").equal(0)):
        pause(b)
        spins.value = spins.value + 1
        with b.if_(spins.value > _SPINS_BEFORE_YIELD):
            b.call("sched_yield", I32)


def _seat(b: Builder, thread: Register) -> At[Seat]:
    return At(Seat, thread_pool(b).place("seats")).element(thread)


def _share(thread: Register, count: Register, threads: Register) -> tuple[Register, Register]:
    """Returns what :func:`share_of` does."""
    return (count * thread).quotient(threads), (count * (thread + 1)).quotient(threads)


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
