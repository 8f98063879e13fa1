"""Flexible axes: the places at which an axis may be added."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind


def test_a_flexible_tensor_is_the_tensor():
    """T25: with a position, from 0 to the rank."""
    x = nv.placeholder("H=2, W=3")
    for at, position in ((0, 0), (2, 2), (-1, 2), (-3, 0)):
        y = nv.flexible(x, at)
        assert y.flexible_at == position and y.axes == x.axes
    assert x.flexible_at is None and (nv.flexible(x, 0) + 1).flexible_at is None
    assert nv.computation(nv.flexible(x, 0) * 2, x)([[1, 2, 3]] * 2).tolist() == [[2, 4, 6]] * 2


@pytest.mark.parametrize(("at", "kind"), [(3, InvalidArgument), (-4, InvalidArgument), (None, WrongKind),
                                          (1.5, WrongKind)])
def test_other_positions_are_refused(at, kind):
    """T25: positions outside, and what is none."""
    with pytest.raises(kind):
        nv.flexible(nv.zeros((2, 3)), at)
