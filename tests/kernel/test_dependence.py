"""Dependence between the points of loops: which accesses stay inside of what a point has for itself."""

import pytest

from nervure.kernel.dependence import accesses_in, is_apart
from nervure.kernel.parser import parse_kernel


@pytest.mark.parametrize("place, extent, apart", [
    ("5*i + j", 5, True), ("5*i + j", 6, False), ("5*i + j + 1", 4, True), ("5*i + j + 1", 5, False),
    ("5*i - j + 4", 5, True), ("5*i - j + 4", 6, False), ("5*i - j + 3", 5, False), ("5*i - j + 8", 4, False),
    ("5*i + 2*j", 3, True), ("5*i + 2*j", 4, False)])
def test_points_touch_what_is_theirs_alone(place, extent, apart):
    """Both ends of what an inner loop reaches count, in either direction."""
    loop, = parse_kernel(f"""
kernel rows(inout y: f32[50]):
  for i < 8 parallel:
    for j < {extent}:
      v0 = y[{place}]
""").body
    buffer = next(accesses_in(loop.body)).statement.buffer
    assert is_apart(((loop.index, loop.extent),), [loop.body], buffer) is apart


@pytest.mark.parametrize("place, extent, apart", [
    ("N*i + j", "N", True), ("N*i + j", "N + 1", False), ("N*i + j + 1", "N - 1", True), ("N*i + j + 1", "N", False),
    ("N*i - j + N - 1", "N", True), ("N*i - j + N", "N", False)])
def test_rows_of_a_length_that_a_call_brings_are_apart(place, extent, apart):
    """Where they are shorter than any element needs, there is nothing to touch."""
    loop, = parse_kernel(f"""
kernel rows(inout y: f32[9*N + 9]):
  symbol N
  for i < 8 parallel:
    for j < {extent}:
      v0 = y[{place}]
""").body
    buffer = next(accesses_in(loop.body)).statement.buffer
    assert is_apart(((loop.index, loop.extent),), [loop.body], buffer) is apart
