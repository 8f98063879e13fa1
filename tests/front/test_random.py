"""Random tensors of the surface: what their bounds and parameters do."""

from __future__ import annotations

import pytest

import nervure as nv


@pytest.mark.parametrize(("low", "high"), [(0.0, 5.0), (0.0, 0.5), (-1.0, 1.0), (0.5, 1.0), (0, 1)])
def test_uniform_numbers_fill_their_interval(low, high):
    """Also where one bound is that of the plain numbers."""
    drawn = nv.uniform((4000,), low, high).numpy()
    assert low <= drawn.min() < low + (high - low) / 100 and high - (high - low) / 100 < drawn.max() < high
