"""Room behind the rows of scratch buffers: rows of nothing have none, and an endless proof is no answer."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.errors import InvalidArgument
from nervure.kernel import room
from nervure.kernel.parser import parse_kernel
from nervure.types.dim import dim_min

ROWS = """
kernel rows(scratch one: f32[64]):
  for i < 4:
    for j < {length} vector:
      one[{step}*i + j] = 0.0_f32
"""


def found(length: object, step: object) -> int:
    kernel = parse_kernel(ROWS.format(length=length, step=step))
    return room.Rooms(kernel.body, 8).behind(kernel.buffers[0])


def test_rows_that_lie_a_multiple_of_the_lanes_apart_have_room():
    assert found(12, 16) == 8 and found(12, 12) == 0


def test_rows_of_nothing_have_none():
    assert found(0, 16) == 0


def test_a_distance_that_is_too_large_to_be_told_is_none():
    """The remainder of a sum of many products has more characters than a dimension may have."""
    start = sum([nv.dim(f"length_{k}") * dim_min(nv.dim(f"first_{k}"), nv.dim(f"second_{k}")) for k in range(300)])
    with pytest.raises(InvalidArgument, match="more than"):
        start % (nv.dim("n") + 7)
    assert room.divides(nv.dim("n") + 7, start) is False
