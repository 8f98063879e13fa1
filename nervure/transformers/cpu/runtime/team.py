"""The team: threads that share the slices of long steps, spin between steps and sleep soon after a call.

One team serves the whole process. A call takes it if it is free and runs alone otherwise, so nobody waits for it. The
slices of a step are numbered; what is not yet taken is a range in one word, the *ticket*, from which the caller takes
at the low end and the workers at the high end. So each thread meets the same part of the data in step after step,
a core that is slower takes fewer slices, and a worker that wakes too late is not waited for.

>>> pack(epoch=3, low=1, high=16)
50397185
>>> len(functions())
9

The ticket carries the number of the step (its epoch). A worker reads the ticket, then the job, then takes a slice by
exchanging the ticket it has read: that succeeds only while slices of that step are left, hence what it read was
the job of that step.
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.shared import (
    atomic_load,
    atomic_store,
    compare_exchange,
    fetch_add,
    pause,
)
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.cores import FUTEX_CALL
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.floats import set_standard_floats
from nervure.transformers.cpu.runtime.records import Call, Program, Team
from nervure.transformers.cpu.runtime.slices import MOST, SHARED_FROM, divide, least

_BITS = MOST.bit_length()
IDLE_NANOSECONDS = 200_000
"""For so long a worker spins without work before it sleeps."""

SHARED_CALL_FROM = 100_000
"""Estimated nanoseconds from which a call takes the team: waking it takes up to 75 us."""

_SPINS_PER_LOOK = 64        # turns of a spinning worker between two looks at the clock: 1 to 2 microseconds
_SPINS_BEFORE_YIELD = 2048  # turns in which a caller waits for the last slices before it offers its core
_WAIT, _WAKE = 128, 129     # futex operations within one process
_SET_MASK = 2               # SIG_SETMASK


def pack(epoch: int, low: int, high: int) -> int:
    """A ticket: the slices from ``low`` to ``high`` are left."""
    return (epoch << 2 * _BITS) | (high << _BITS) | low


def functions() -> list[Builder]:
    """The team's code."""
    return [now(), wake(), take_team(), give_team(), start_workers(), worker(), take_slice(), share(), close()]


def team(b: Builder) -> At:
    """The one team of the process."""
    return At(Team, Register(b, PTR, "@team"))


# -- time and sleep ------------------------------------------------------------------------------------------


def now() -> Builder:
    """``now()``: nanoseconds of a clock that only goes forward."""
    b = Builder("now", result=I64, attributes="nounwind")
    time = b.allocate(I64, 2)
    b.call("clock_gettime", I32, b.constant(I32, 1), time)
    b.ret(b.load(time, I64) * 1_000_000_000 + b.load(b.offset(time, 1, I64), I64))
    return b


def wake() -> Builder:
    """``wake(count)``: so many workers, if they sleep, wake up.

    Who is woken is no sleeper from here on, though it takes long to come: nobody wakes it a second time.
    """
    b = Builder("wake", [("count", I64)], attributes="nounwind")
    record = team(b)
    with b.while_(lambda: b.constant(I1, True)):
        sleepers = atomic_load(b, record.place("sleepers"), order="seq_cst")
        with b.if_(sleepers <= 0):
            b.ret()
        count = least(b, b.arguments[0], sleepers)
        with b.if_(compare_exchange(b, record.place("sleepers"), sleepers, sleepers - count)):
            fetch_add(b, record.place("woken"), 1)
            _futex(b, record.place("woken"), _WAKE, count)
            b.ret()
    b.ret()
    return b


def _sleep(b: Builder, record: At) -> None:
    """Code of a worker that sleeps until it is woken, unless there is work by now.

    One that does not sleep in the end stays counted; that costs its waker a system call, and nothing else.
    """
    before = atomic_load(b, record.place("woken"))
    fetch_add(b, record.place("sleepers"), 1)
    with b.if_(_left(atomic_load(b, record.place("ticket"), order="seq_cst")).equal(0)):
        _futex(b, record.place("woken"), _WAIT, before)


def _futex(b: Builder, word: Register, operation: int, value: Register) -> None:
    zero = b.constant(I64, 0)
    b.call("syscall", I64, b.constant(I64, FUTEX_CALL), word.cast("ptrtoint", I64), b.constant(I64, operation), value,
           zero, zero, zero)


# -- who has the team ----------------------------------------------------------------------------------------


def take_team() -> Builder:
    """``take_team(program)``: with how many threads a call runs; more than 1 if it is long and the team is free.

    The team begins to wake up.
    """
    b = Builder("take_team", [("record", PTR)], result=I64, attributes="nounwind")
    program, record = At(Program, b.arguments[0]), team(b)
    useful = divide(b, program["longest"], b.constant(I64, SHARED_FROM // 2))
    wanted = least(b, useful, record.peek("limit"))
    with b.if_((program["nanoseconds"] < SHARED_CALL_FROM) | (wanted <= 1)):
        b.ret(b.constant(I64, 1))
    with b.if_(compare_exchange(b, record.place("lock"), 0, 1).equal(False)):
        b.ret(b.constant(I64, 1))
    threads = b.call("start_workers", I64, wanted)
    with b.if_(threads <= 1):
        b.call("give_team", None, wanted)
        b.ret(b.constant(I64, 1))
    b.call("wake", None, threads - 1)
    b.ret(threads)
    return b


def give_team() -> Builder:
    """``give_team(threads)``: the end of a call that has run with so many threads."""
    b = Builder("give_team", [("threads", I64)], attributes="nounwind")
    with b.if_(b.arguments[0] > 1):
        atomic_store(b, 0, team(b).place("lock"))
    b.ret()
    return b


# -- workers -------------------------------------------------------------------------------------------------


def start_workers() -> Builder:
    """``start_workers(threads)``: makes the workers that are missing; how many threads there are with the caller.

    The calling thread holds the team.
    """
    b = Builder("start_workers", [("threads", I64)], result=I64, attributes="nounwind")
    wanted, = b.arguments
    record = team(b)
    identity = b.allocate(I64)
    with b.while_(lambda: record["started"] + 1 < wanted):
        number = record["started"] + 1
        entry = Register(b, PTR, "@worker")
        failed = b.call("pthread_create", I32, identity, b.constant(PTR, 0), entry, number.cast("inttoptr", PTR))
        with b.if_(failed.not_equal(0)):
            b.ret(number)
        b.call("pthread_detach", I32, b.load(identity, I64))
        record["started"] = number
    b.ret(wanted)
    return b


def worker() -> Builder:
    """``worker(number)``: the life of a worker; no signal is handled in it."""
    b = Builder("worker", [("number", PTR)], result=PTR, attributes="nounwind")
    number = b.arguments[0].cast("ptrtoint", I64)
    record = team(b)
    mask = b.allocate(I64, 16)
    with b.loop(0, 16) as loop:
        b.store(b.constant(I64, -1), b.offset(mask, loop.index, I64))
    b.call("pthread_sigmask", I32, b.constant(I32, _SET_MASK), mask, b.constant(PTR, 0))
    set_standard_floats(b)
    busy_until, spins = b.allocate(I64), b.allocate(I64)
    b.store(b.call("now", I64), busy_until)
    b.store(b.constant(I64, 0), spins)
    with b.while_(lambda: b.constant(I1, True)):
        with b.while_(lambda: _work(b, record, number)):
            b.store(b.constant(I64, _SPINS_PER_LOOK), spins)
            b.store(b.constant(I64, 0), busy_until)
        pause(b)
        b.store(b.load(spins, I64) - 1, spins)
        with b.if_(b.load(spins, I64) <= 0):
            b.store(b.constant(I64, _SPINS_PER_LOOK), spins)
            time = b.call("now", I64)
            with b.if_(b.load(busy_until, I64).equal(0)):
                b.store(time, busy_until)
            with b.if_(time - b.load(busy_until, I64) > IDLE_NANOSECONDS):
                _sleep(b, record)
                b.store(b.constant(I64, 0), busy_until)
    b.ret(b.constant(PTR, 0))
    return b


def _work(b: Builder, record: At, number: Register) -> Register:
    """Code of a worker that takes a slice and runs it; whether there was one."""
    ticket = atomic_load(b, record.place("ticket"))

    def try_one() -> Register:
        step, table, scratch, status = [record.peek(name) for name in ("step", "table", "scratch", "status")]
        count, scratch_bytes = record.peek("count"), record.peek("scratch_bytes")
        taken = compare_exchange(b, record.place("ticket"), ticket, ticket - (1 << _BITS))
        with b.if_(taken):
            own = b.offset(scratch, scratch_bytes * number, I8)
            b.call("run_slice", None, step, table, _high(ticket) - 1, count, own, status)
            fetch_add(b, record.place("done"), 1)
        return taken

    wanted = _left(ticket).not_equal(0) & (number < record.peek("threads"))
    return b.choose(wanted, try_one, lambda: b.constant(I1, False))


# -- the caller ----------------------------------------------------------------------------------------------


def share() -> Builder:
    """``share(step, table, count, call, status)``: runs a step in slices with the team, which the caller holds."""
    b = Builder("share", [("step", PTR), ("table", PTR), ("count", I64), ("call", PTR), ("status", PTR)],
                attributes="nounwind")
    step, table, count, state, status = b.arguments
    record, call = team(b), At(Call, state)
    epoch = _epoch(atomic_load(b, record.place("ticket"))) + 1
    for name, value in {"step": step, "table": table, "count": count, "scratch": call["scratch"], "status": status,
                        "scratch_bytes": call["scratch_bytes"], "threads": call["threads"]}.items():
        record.poke(name, value)
    atomic_store(b, 0, record.place("done"))
    atomic_store(b, epoch.shift_left(2 * _BITS) | count.shift_left(_BITS), record.place("ticket"), order="seq_cst")
    b.call("wake", None, call["threads"] - 1)
    own = b.allocate(I64)
    b.store(b.constant(I64, 0), own)
    index = b.allocate(I64)
    with b.while_(lambda: b.call("take_slice", I1, index)):
        b.call("run_slice", None, step, table, b.load(index, I64), count, call["scratch"], status)
        b.store(b.load(own, I64) + 1, own)
        with b.if_(b.call("poll", I1, state, status)):
            b.store(b.load(own, I64) + b.call("close", I64), own)
    others = count - b.load(own, I64)
    _wait(b, record, others)
    b.ret()
    return b


def take_slice() -> Builder:
    """``take_slice(index)``: the caller takes a slice at the low end; whether there was one."""
    b = Builder("take_slice", [("index", PTR)], result=I1, attributes="nounwind")
    record = team(b)
    with b.while_(lambda: b.constant(I1, True)):
        ticket = atomic_load(b, record.place("ticket"))
        with b.if_(_left(ticket).equal(0)):
            b.ret(b.constant(I1, False))
        with b.if_(compare_exchange(b, record.place("ticket"), ticket, ticket + 1)):
            b.store(_low(ticket), b.arguments[0])
            b.ret(b.constant(I1, True))
    b.ret(b.constant(I1, False))
    return b


def close() -> Builder:
    """``close()``: nobody takes the slices that are left; their number."""
    b = Builder("close", result=I64, attributes="nounwind")
    record = team(b)
    with b.while_(lambda: b.constant(I1, True)):
        ticket = atomic_load(b, record.place("ticket"))
        left = _left(ticket)
        with b.if_(compare_exchange(b, record.place("ticket"), ticket, ticket + left)):
            b.ret(left)
    b.ret(b.constant(I64, 0))
    return b


def _wait(b: Builder, record: At, others: Register) -> None:
    """Code that waits until the workers have done what they took; a process that was forked has no workers."""
    turns = b.allocate(I64)
    b.store(b.constant(I64, 0), turns)
    with b.while_(lambda: (atomic_load(b, record.place("done")) < others) & record.peek("lost").equal(0)):
        pause(b)
        b.store(b.load(turns, I64) + 1, turns)
        with b.if_(b.load(turns, I64) > _SPINS_BEFORE_YIELD):
            b.call("sched_yield", I32)


def _low(ticket: Register) -> Register:
    return ticket & MOST


def _high(ticket: Register) -> Register:
    return ticket.shift_right(_BITS) & MOST


def _left(ticket: Register) -> Register:
    return _high(ticket) - _low(ticket)


def _epoch(ticket: Register) -> Register:
    return ticket.shift_right(2 * _BITS)
