"""Scheduled kernels leave the bits that they left before, and walk memory as it lies."""

from __future__ import annotations

import os

import pytest

from nervure.kernel.ir import Kernel, walk
from nervure.kernel.parser import parse_kernel
from nervure.kernel.schedule import (
    LOOP_ORDER,
    REDUCTIONS,
    REWRITES,
    VECTORISATION,
    lower_reductions,
    schedule_kernel,
    vectorise_kernel,
)
from nervure.kernel.schedule.streaming import with_streaming_stores
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.kernel.simplify import simplify_kernel
from nervure.kernel.verify import verify_kernel
from nervure.support.machine import GENERIC
from tests.ir.golden import GOLDEN
from tests.kernel.before_after import check_bits, check_file
from tests.kernel.random_kernels import random_case
from tests.kernel.running import run

SEEDS = 2_000 if os.environ.get("DEEP_TESTS") else 200


def name_of(rewrite) -> str:
    """The file of a rewrite, as a module and as a golden file."""
    return rewrite.__module__.rpartition(".")[2]


def file_of(rewrite) -> str:
    """The golden file of a rewrite."""
    return f"kernel/schedule/{name_of(rewrite)}.txt"


def scheduled(kernel: Kernel) -> Kernel:
    """A kernel after all rewrites of the order of its loops."""
    return schedule_kernel(kernel, GENERIC)


def streamed(kernel: Kernel) -> Kernel:
    """A kernel whose results are large."""
    return with_streaming_stores(kernel, GENERIC, {buffer: 1024 for buffer in kernel.buffers
                                                   if buffer.role in ("out", "inout")})


def vectorised(kernel: Kernel) -> Kernel:
    """A kernel after all rewrites, large results among its stores, for registers of eight lanes."""
    vectors = vectorise_kernel(schedule_kernel(kernel, GENERIC), GENERIC, dict.fromkeys(kernel.buffers, 8))
    return lower_reductions(vectors, GENERIC)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_kernels_give_the_same_bits(seed):
    case = random_case(seed)
    kernel = simplify_kernel(case.kernel)
    before, failures = run(kernel, case.bindings, **case.arrays)
    for changed in (schedule_kernel(kernel, GENERIC), vectorised(kernel)):
        verify_kernel(changed, [])
        after, found = run(changed, case.bindings, **case.arrays)
        assert set(failures) == set(found)
        assert all([array.tobytes() == after[name].tobytes() for name, array in before.items()])


def test_every_rewrite_keeps_what_it_does_not_know():
    for seed in range(SEEDS // 10):
        kernel = simplify_kernel(random_case(seed).kernel)
        for rewrite in LOOP_ORDER:
            assert len(list(walk(rewrite(kernel, GENERIC).body))) <= len(list(walk(kernel.body))) + 1


@pytest.mark.parametrize("rewrite", LOOP_ORDER, ids=name_of)
def test_loops_walk_memory_as_it_lies(rewrite):
    check_file(file_of(rewrite), scheduled)


@pytest.mark.parametrize("rewrite", (*VECTORISATION, *REDUCTIONS), ids=name_of)
def test_a_kernel_says_how_it_runs(rewrite):
    """On a machine with registers of eight lanes."""
    check_file(file_of(rewrite), lambda kernel: rewrite(kernel, GENERIC))


@pytest.mark.parametrize(("dtype", "lanes", "expected"), [("f32", 8, 8), ("f64", 8, 4), ("f32", 1, 1), ("f64", 1, 1)])
def test_a_register_has_lanes_of_four_bytes_or_of_eight(dtype, lanes, expected):
    kernel = parse_kernel(f"""
kernel moved(in x: {dtype}[64], out y: {dtype}[64]):
  for i < 64 vector:
    v0 = x[i]
    y[i] = v0
""")
    assert register_lanes(kernel, GENERIC._replace(lanes=lanes)) == expected


def test_large_results_are_stored_past_the_caches():
    check_file(file_of(with_streaming_stores), streamed)


@pytest.mark.parametrize("rewrite", (*REWRITES, with_streaming_stores), ids=name_of)
def test_rewritten_kernels_leave_the_same_bits(rewrite):
    changed = scheduled if rewrite in LOOP_ORDER else streamed if rewrite is with_streaming_stores else \
        lambda kernel: rewrite(kernel, GENERIC)
    check_bits(file_of(rewrite), changed)


def test_every_rewrite_has_its_examples():
    files = {path.stem for path in (GOLDEN / "kernel/schedule").iterdir()}
    assert files == {name_of(rewrite) for rewrite in (*REWRITES, with_streaming_stores)}


def test_loops_over_column_major_memory_change_places():
    """No tiles are needed where everything goes along memory in one loop."""
    kernel = parse_kernel("""
kernel pointwise(in x: f32[6000], in y: f32[100], out z: f32[6000]):
  for i < 100 parallel:
    for j < 60 vector:
      v0 = x[i + 100*j]
      v1 = y[i]
      v2 = add(v0, v1)
      z[i + 100*j] = v2
""")
    loop, = schedule_kernel(kernel, GENERIC).body
    inner, = loop.body
    assert (loop.extent, loop.parallel, loop.vector, inner.extent, inner.vector) == (60, True, False, 100, True)
