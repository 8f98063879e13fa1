"""The thread pool: every chunk runs once for any number of threads; calls side by side do not wait for each other.

Whatever mode other code has left a thread in, kernels keep denormals, and the mode is put back.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest

from nervure import flags
from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import PTR
from nervure.transformers.cpu.runtime import Program, ProgramStep, cores, result, runtime_library, variable
from nervure.transformers.cpu.runtime.chunks import MOST
from nervure.transformers.cpu.runtime.records import StatusCode, ThreadPool
from nervure.transformers.cpu.runtime.runtime_library import record
from nervure.transformers.cpu.runtime.thread_pool import HAS_MXCSR, ROUND, share_of
from nervure.transformers.cpu.runtime.thresholds import FREQUENT_CALL_FROM, SHARED_CALL_FROM
from tests.transformers.cpu.kernels import address

ROUNDS = 200 if os.environ.get("DEEP_TESTS") else 20
ZERO_DENORMALS = 0x1F80 | 0x8040


def counting(turns: int, extent: int, alignment: int = 1, steps: int = 1) -> Program:
    """out[k] += 1 in each step, with estimates that have it cut into many chunks."""
    step = ProgramStep(address("spin"), [0], [turns], extent, alignment, nanoseconds=2_000_000, scratch=8)
    return Program([step] * steps, [result(0)])


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_element_is_visited_once_in_each_step(threads):
    out = np.zeros(1000, np.int64)
    with flags.overriding(threads=threads):
        for _ in range(ROUNDS):
            counting(5, 1000, alignment=7, steps=20).run([], [out])
    assert set(out.tolist()) == {20 * ROUNDS}
    assert record(ThreadPool).lock == 0


def test_threads_without_work_sleep_until_there_is_some():
    with flags.overriding(threads=2):
        counting(5, 1000, steps=20).run([], [np.zeros(1000, np.int64)])
    time.sleep(0.1)  # they look for more work for a while
    asleep = record(ThreadPool).sleepers
    time.sleep(0.1)
    assert record(ThreadPool).sleepers == asleep > 0  # each is counted whenever it falls asleep


def test_the_first_failure_is_the_same_for_all_threads():
    values = np.zeros(100_000, np.int64)
    values[[777, 50_000, 99_999]] = -5
    steps = [ProgramStep(address("check_positive"), [0], extent=values.size, nanoseconds=3_000_000)]
    program = Program(steps, [result(0)])
    for threads in (1, 2, 5):
        with flags.overriding(threads=threads):
            status = program.run([], [values])
        assert (status.code, status.position, status.value) == (5, 777, -5)


def test_eight_threads_side_by_side():
    program = counting(20, 256, steps=3)
    outs = [np.zeros(256, np.int64) for _ in range(8)]

    def work(out: np.ndarray) -> None:
        for _ in range(200):
            assert program.run([], [out]).code == StatusCode.DONE

    workers = [threading.Thread(target=work, args=[out]) for out in outs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [set(out.tolist()) for out in outs] == [{600}] * 8


def test_a_call_runs_alone_while_another_has_the_pool():
    pool, out = record(ThreadPool), np.zeros(64, np.int64)
    pool.lock = 1
    try:
        counting(1, 64).run([], [out])
        assert pool.lock == 1
    finally:
        pool.lock = 0
    assert set(out.tolist()) == {1}


def chunks_taken(ticket: int, count: int, threads: int, thread: int, most: int = MOST) -> list[int]:
    """The chunks of a step that a thread takes, one after the other; the pool must be held."""
    take = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_int64] * 4, ctypes.c_void_p)(
        runtime_library.library().address("take_chunk"))
    index, taken = ctypes.c_int64(), []
    while len(taken) < most and take(ticket, count, threads, thread, ctypes.addressof(index)):
        taken.append(index.value)
    return taken


@contextmanager
def new_tickets() -> Iterator[Iterator[int]]:
    """The tickets of further steps, in which no worker takes part, while the pool is held; shares begin in front."""
    pool = record(ThreadPool)
    assert pool.lock == 0
    pool.lock, pool.threads = 1, 0
    tickets = itertools.count(pool.ticket // (2 * ROUND) * 2 * ROUND + 2 * ROUND, ROUND)
    try:
        yield tickets
    finally:
        pool.ticket, pool.lock = next(tickets), 0


def test_a_thread_takes_its_own_share_then_what_is_left_of_the_next_ones():
    with new_tickets() as tickets:
        ticket = next(tickets)
        assert chunks_taken(ticket, 7, 3, 1, most=1) == [2]
        assert chunks_taken(ticket, 7, 3, 2) == [4, 5, 6, 0, 1, 3]
        assert [chunks_taken(ticket, 7, 3, thread) for thread in range(3)] == [[], [], []]


def test_shares_are_the_same_in_each_step_in_turns_from_either_end_and_all_chunks_are_in_one():
    with new_tickets() as tickets:
        for count, threads in [(1, 1), (2, 2), (5, 4), (64, 7), (MOST, 255)]:
            parts = [range(*share_of(count, threads, thread)) for thread in range(threads)]
            assert [chunk for part in parts for chunk in part] == list(range(count))
            for step in (1, -1):
                ticket = next(tickets)
                assert [chunks_taken(ticket, count, threads, thread, len(part))
                        for thread, part in enumerate(parts)] == [list(part)[::step] for part in parts]


def test_a_thread_that_comes_late_takes_nothing_of_the_next_step():
    with new_tickets() as tickets:
        late, current = next(tickets), next(tickets)
        assert chunks_taken(late, 4, 2, 0) == [0, 1, 2, 3]
        assert chunks_taken(current, 4, 2, 0, most=3) == [1, 0, 3]
        assert chunks_taken(late, 4, 2, 1) == chunks_taken(late, 4, 2, 0) == []
        assert chunks_taken(current, 4, 2, 1) == [2]


def test_what_is_left_of_a_step_can_be_closed():
    close = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(runtime_library.library().address("close_step"))
    with new_tickets() as tickets:
        ticket = next(tickets)
        assert len(chunks_taken(ticket, 12, 4, 2, most=5)) == 5
        assert (close(ticket, 12, 4), close(ticket, 12, 4), chunks_taken(ticket, 12, 4, 0)) == (7, 0, [])


@pytest.mark.parametrize(("nanoseconds", "ended", "is_shared"), [
    (FREQUENT_CALL_FROM, 0, False), (FREQUENT_CALL_FROM, 1 << 62, True), (FREQUENT_CALL_FROM - 1, 1 << 62, False),
    (SHARED_CALL_FROM, 0, True)])
def test_a_short_call_takes_the_pool_if_another_ended_just_before(nanoseconds, ended, is_shared):
    step = ProgramStep(address("spin"), [0], [1], 64, 1, nanoseconds=nanoseconds, scratch=8)
    program, out = Program([step], [result(0)]), np.zeros(64, np.int64)
    with flags.overriding(threads=2):
        pool = record(ThreadPool)
        pool.ended, before = ended, pool.ticket // ROUND
        program.run([], [out])
    assert ((pool.ticket // ROUND) - before, set(out.tolist())) == (int(is_shared), {1})


def test_the_switch_sets_how_many_threads_there_are():
    with flags.overriding(threads=3):
        assert record(ThreadPool).limit == 3
        counting(1, 64).run([], [np.zeros(64, np.int64)])
        assert record(ThreadPool).started >= 2
    assert record(ThreadPool).limit == cores.threads(0)


def test_quotas_of_time():
    texts = ("150000 100000", "20000 100000", "max 100000", "-1 100000", "", "5")
    assert [cores.quota(text) for text in texts] == [1, 1, None, None, None, None]


@pytest.mark.parametrize(("own", "files", "expected"), [
    ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, [None, 3, None]),
    ("4:cpuacct,cpu:/x\n1:memory:/y\n0::/\n",
     {"cpu/x/cpu.cfs_quota_us": "400000\n", "cpu/x/cpu.cfs_period_us": "100000\n", "cpu/cpu.cfs_quota_us": "-1\n",
      "cpu/cpu.cfs_period_us": "100000\n"}, [4, None, None]),
    ("", {}, [])])
def test_quotas_are_read_from_either_version(tmp_path, own, files, expected):
    for name, text in {"own": own, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(map(cores.quota, cores._quota_lines(tmp_path / "own", tmp_path))) == expected


@cache
def library() -> Any:
    functions = []
    for name in ("stmxcsr", "ldmxcsr"):
        b = Builder(name, [("place", PTR)])
        b.call(f"llvm.x86.sse.{name}", None, b.arguments[0])
        b.ret()
        functions.append(b)
    return load(compile_object(assemble(functions)))


def call(name: str, word: ctypes.c_uint32) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library().address(name))(ctypes.addressof(word))


def mode() -> int:
    word = ctypes.c_uint32()
    call("stmxcsr", word)
    return word.value & ~0x3F


@contextmanager
def denormals_are_zero() -> Iterator[None]:
    before = mode()
    call("ldmxcsr", ctypes.c_uint32(ZERO_DENORMALS))
    try:
        yield
    finally:
        call("ldmxcsr", ctypes.c_uint32(before))


@pytest.mark.skipif(not HAS_MXCSR, reason="other processors have another register for the mode")
@pytest.mark.parametrize("threads", [1, 3])
def test_denormals_are_kept_whatever_the_mode(threads):
    tiny = np.full(100_000, np.finfo(np.float32).tiny)
    program = Program([ProgramStep(address("halve"), [0], extent=tiny.size, nanoseconds=1_000_000)], [variable(0)])
    with flags.overriding(threads=threads), denormals_are_zero():
        program.run([], [], [tiny])
        assert mode() == ZERO_DENORMALS
    expected = np.float32(np.finfo(np.float32).tiny / 2).view(np.int32)
    assert set(tiny.view(np.int32).tolist()) == {int(expected)} != {0}
