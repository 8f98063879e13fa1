"""The time model: longer for more work, and known for all sizes."""

from __future__ import annotations

import pytest

from nervure.kernel.parser import parse_kernel
from nervure.kernel.schedule import vectorise_kernel
from nervure.kernel.time_model import duration_of, has_open_sizes, nanoseconds
from nervure.support.machine import GENERIC
from nervure.types.dim import dim

COPY = """
kernel copy(in x: f32[N], out y: f32[N]):
  symbol N
  for i < N vector:
    v0 = x[i]
    y[i] = v0
"""


def test_more_work_takes_longer():
    """Also where it no longer fits in the caches: by more than its bytes."""
    times = [nanoseconds(parse_kernel(COPY), {"N": length}, GENERIC) for length in (0, 1000, 100_000, 10_000_000)]
    assert times == sorted(times) and times[0] == GENERIC.started
    assert times[3] > 100 * times[2]


def test_lines_of_memory_cost_more_than_elements_that_share_them():
    """A transpose through squares of registers touches each line once."""
    text = """
kernel pack(in x: f32[64000], out y: f32[64000]):
  for i < 80 as transpose:
    for j < 800 vector:
      v0 = x[i + 80*j]
      y[800*i + j] = v0
"""
    texts = text, text.replace(" as transpose", "")
    square, apart = [nanoseconds(parse_kernel(entry), {}, GENERIC) for entry in texts]
    assert 2 * square < apart


@pytest.mark.parametrize("length", [1, 16, 40, 256, 3_000])
def test_a_duration_for_symbols_follows_the_time_for_numbers(length):
    kernel = parse_kernel("""
kernel sums(in x: f32[100*N], in w: f32[100], out y: f32[N]):
  symbol N:1..
  for i < N parallel:
    v0 = reduce add over j < 100:
      v1 = x[100*i + j]
      v2 = w[j]
      v3 = multiply(v1, v2)
      v4 = exp(v3)
      give v4
    y[i] = v0
""")
    duration = duration_of(kernel, 100 * dim("N", min=1), GENERIC)
    exact = nanoseconds(kernel, {"N": length}, GENERIC)
    assert duration.nanoseconds({"N": length}) == pytest.approx(exact, rel=0.25)


def test_sizes_in_numbers_have_one_time():
    kernel = parse_kernel(COPY.replace("  symbol N\n", "").replace("N", "5000"))
    duration = duration_of(kernel, 5000, GENERIC)
    assert duration.known == ((0, round(nanoseconds(kernel, {}, GENERIC))),)
    assert not has_open_sizes(kernel, 5000)


def test_sizes_are_open_where_points_or_buffers_have_symbols():
    text = COPY.replace("for i < N", "for i < 8").replace("y: f32[N]", "y: f32[8]")
    closed, read = [parse_kernel(text.replace(*each)) for each in (("[N]", "[8]"), ("symbol N", "symbol N:8.."))]
    assert has_open_sizes(closed, dim("N")) and has_open_sizes(read, 8)


def test_bounds_of_symbols_hold_where_times_are_found():
    kernel = parse_kernel(COPY.replace("symbol N", "symbol N:20..100"))
    duration = duration_of(kernel, dim("N", min=20, max=100), GENERIC)
    assert [size for size, _ in duration.known] == [3 * 20, 3 * 100]


def test_copies_of_a_body_fill_registers_that_rows_of_a_few_elements_do_not():
    """What is counted is how loops run: a row of ten elements takes two vectors of eight."""
    text = """
kernel rows(in x: f32[4000], out y: f32[8000]):
  for i < 400:
    for j < 10 vector:
      v0 = x[10*i + j]
      y[20*i + j] = v0
"""
    kernel = vectorise_kernel(parse_kernel(text), GENERIC)
    whole = vectorise_kernel(parse_kernel(text.replace("j < 10", "j < 16").replace("4000", "6400")), GENERIC)
    assert nanoseconds(kernel, {}, GENERIC) == pytest.approx(nanoseconds(whole, {}, GENERIC), rel=0.2)
