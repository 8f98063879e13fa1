"""Sort: stable, NaN last, of every type; the conformance suite tries the rest."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.function import Function
from nervure.ops import Sort
from nervure.types.element_groups import ORDERED
from tests.conformance.running import transformer


@pytest.mark.parametrize("dtype", sorted(ORDERED, key=str), ids=str)
def test_all_bit_patterns_on_both_transformers(dtype):
    x = nv.Parameter(dtype, (2, nv.dim("n")))
    function = Function(Sort(x).outputs, [x])
    rng = np.random.default_rng(3)
    for size in (0, 1, 7, 3000):
        if dtype is nv.bool_:
            given = rng.random((2, size)) < 0.5
        else:
            given = rng.integers(0, 256, (2, size * dtype.itemsize), np.uint8).view(dtype.numpy)
        first, second = [transformer(name).build(function)(given) for name in ("interpreter", "cpu")]
        assert first[1].tolist() == second[1].tolist() and first[0].tobytes() == second[0].tobytes()


def test_order():
    x = nv.Parameter(nv.float32, (8,))
    for name in ("interpreter", "cpu"):
        values, positions = transformer(name).build(Function(Sort(x).outputs, [x]))(
            np.float32([0.0, np.nan, np.inf, -0.0, -1, np.nan, -np.inf, 1]))
        assert positions.tolist() == [6, 4, 0, 3, 7, 2, 1, 5]
        assert np.signbit(values[3]) and not np.signbit(values[2])


def test_what_has_no_order_or_no_row_is_refused():
    with pytest.raises(nv.DtypeMismatch):
        Sort(nv.Parameter(nv.complex64, (3,)))
    with pytest.raises(nv.ShapeMismatch):
        Sort(nv.Parameter(nv.float32, ()))
