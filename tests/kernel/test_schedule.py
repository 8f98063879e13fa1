"""Scheduled kernels leave the bits that they left before, and walk memory as it lies."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from nervure.kernel.ir import walk
from nervure.kernel.schedule import REWRITES, schedule_kernel
from nervure.kernel.schedule.interleaving import with_interleaved_stores
from nervure.kernel.schedule.streaming import with_streaming_stores
from nervure.kernel.schedule.vectors import with_vectors
from nervure.kernel.simplify import simplify_kernel
from tests.kernel.before_after import check_file
from tests.kernel.random_kernels import random_case
from tests.kernel.running import run

SEEDS = 2_000 if os.environ.get("DEEP_TESTS") else 200


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_kernels_give_the_same_bits(seed):
    case = random_case(seed)
    kernel = simplify_kernel(case.kernel)
    before, failures = run(kernel, case.bindings, **case.arrays)
    after, found = run(schedule_kernel(kernel), case.bindings, **case.arrays)
    assert set(failures) == set(found)
    assert all([array.tobytes() == after[name].tobytes() for name, array in before.items()])


def test_every_rewrite_keeps_what_it_does_not_know():
    for seed in range(SEEDS // 10):
        kernel = simplify_kernel(random_case(seed).kernel)
        for rewrite in REWRITES:
            assert len(list(walk(rewrite(kernel.body)))) <= len(list(walk(kernel.body))) + 1


@pytest.mark.parametrize("name", ["tiles", "lanes", "short_rows"])
def test_golden_kernels(name):
    check_file(f"kernel/schedule/{name}.txt", schedule_kernel)


def test_vector_loops_and_reductions_say_how_they_run():
    """For registers of eight lanes."""
    check_file("kernel/schedule/vectors.txt", lambda kernel: with_vectors(kernel, 8))


def test_stores_are_interleaved():
    check_file("kernel/schedule/interleaving.txt",
               lambda kernel: replace(kernel, body=with_interleaved_stores(kernel.body)))


def test_large_results_are_stored_past_the_caches():
    check_file("kernel/schedule/streaming.txt", lambda kernel: with_streaming_stores(
        kernel, {buffer: 1024 for buffer in kernel.buffers if buffer.role in ("out", "inout")}))
