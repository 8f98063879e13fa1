"""The time model: what it counts, by kernels whose work is known by hand."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.kernel.machine import GENERIC
from nervure.kernel.parser import parse_kernel
from nervure.kernel.plan import make_plan
from nervure.kernel.time_model import Counts, counts_of, nanoseconds
from nervure.passes.pipelines import native


def counted(text: str, **bindings: int) -> Counts:
    return counts_of(parse_kernel(text), bindings, lanes=8)


def test_a_vector_loop_does_the_work_of_its_lanes():
    counts = counted("""
kernel twice(in x: f32[100], out y: f32[100]):
  for i < 100 vector:
    v0 = x[i]
    v1 = add(v0, v0)
    v2 = exp(v1)
    y[i] = v2
""")
    assert counts.loads == 26 and counts.entries == 1 and counts.elements == 0
    assert counts.additions > 13 * 2  # exp takes many


def test_short_vector_loops_are_done_several_at_a_time():
    counts = counted("""
kernel rows(in x: f32[400], out y: f32[400]):
  for i < 100:
    for j < 4 vector:
      v0 = x[4*i + j]
      y[4*i + j] = v0
""")
    assert counts.loads == 100 and counts.entries == 50


@pytest.mark.parametrize(("place", "loads", "elements"), [
    ("i", 2, 0), ("2*i", 3, 0), ("7*i", 1, 8), ("3", 1, 0), ("i//3", 1, 8)])
def test_what_lies_apart_is_read_element_by_element(place, loads, elements):
    counts = counted(f"""
kernel read(in x: f32[100], out y: f32[8]):
  for i < 8 vector:
    v0 = x[{place}]
    y[i] = v0
""")
    assert counts.loads == loads and counts.elements == elements


def test_a_reduction_runs_in_lanes_and_ends_once():
    counts = counted("""
kernel sums(in x: f32[100*N], out y: f32[N]):
  symbol N
  for i < N:
    v0 = reduce add over j < 100:
      v1 = x[100*i + j]
      give v1
    y[i] = v0
""", N=10)
    assert counts.sums == 10 and counts.additions == 130 and counts.loads == 130 and counts.elements == 10


def test_lengths_that_depend_on_an_outer_index_count_on_average():
    counts = counted("""
kernel triangle(in x: f32[4096], out y: f32[4096]):
  for i < 64:
    for j < i:
      v0 = x[64*i + j]
      y[64*i + j] = v0
""")
    assert counts.elements == pytest.approx(64 * 63, rel=0.05)


def test_products_count_their_tiles():
    x, w = nv.Parameter(nv.float32, (100, 60)), nv.Parameter(nv.float32, (60, 50))
    kernel = make_plan(native(nv.Function([nv.ops.MatMul(x, w)], [x, w]))).steps[0].kernel
    assert counts_of(kernel, {}, 8).multiply_adds == 104 * 64 * 60


def test_more_work_takes_longer():
    """Also where it no longer fits in the caches: by more than its bytes."""
    text = """
kernel copy(in x: f32[N], out y: f32[N]):
  symbol N
  for i < N vector:
    v0 = x[i]
    y[i] = v0
"""
    times = [nanoseconds(parse_kernel(text), {"N": length}, GENERIC) for length in (0, 1000, 100_000, 10_000_000)]
    assert times == sorted(times) and times[0] == GENERIC.started
    assert times[3] > 100 * times[2]
