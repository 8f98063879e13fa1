"""A child of a fork starts anew, with the memory that nothing can have been changing."""

from __future__ import annotations

import threading

import pytest

from nervure.transformers.cpu.runtime.forking import start_anew
from nervure.transformers.cpu.runtime.records import MemoryPool, ThreadPool


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_a_child_keeps_the_memory_pool_unless_a_call_was_changing_it(calls):
    """Blocks may be half linked in the middle of a call without the GIL; all later calls are refused."""
    pool, memory = ThreadPool(started=2, lock=1, sleepers=1, calls=calls), MemoryPool(lock=1, held=640)
    memory.heads[3] = 0x1000
    start_anew(pool, memory)
    assert bytes(memory) == bytes(len(bytes(memory))) if calls else (memory.held, memory.heads[3]) == (640, 0x1000)
    assert bool(pool.lost) is bool(calls)
    assert (pool.started, pool.lock, pool.sleepers) == (0, 0, 0)
    assert pool.main == threading.get_ident()
