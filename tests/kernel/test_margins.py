"""Margins of conditions: what is known of a part, and that a part which says something else is told."""

from __future__ import annotations

import pytest

from nervure.kernel.margins import Margins, margins_of
from nervure.kernel.parser import parse_kernel
from nervure.types.dim import index

KERNEL = """
kernel window(in x: f32[16], in m: bool[16], out z: f32[16]):
  for i < 16:
    v0 = index i
    v1 = less_equal(v0, 9_i64)
    v2 = less(2_i64, v0)
    v3 = m[i]
    {condition}
    v5 = x[i] if v4 else 0.0_f32
    z[i] = v5
"""


@pytest.mark.parametrize(("condition", "margins"), [
    ("v4 = bitwise_and(v1, v2)", Margins((9 - index(0), index(0) - 3), True)),
    ("v4 = bitwise_and(v2, v3)", Margins((index(0) - 3,), False)),
    ("v4 = bitwise_or(v1, v2)", Margins((), False)),
    ("v4 = bitwise_and(v1, True)", Margins((9 - index(0),), False)),
    ("v4 = less_equal(0.5_f32, 1.5_f32)", Margins((), False)),
])
def test_parts_of_conditions(condition, margins):
    """Comparisons of places that all hold are margins; all else is not known, and the condition is not whole."""
    *statements, load, _ = parse_kernel(KERNEL.format(condition=condition)).body[0].body
    assert margins_of(load.valid, {entry.results[0]: entry for entry in statements}) == margins
