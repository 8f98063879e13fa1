"""Sort: stable, NaN last, of every type; the conformance suite tries the rest."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.function import Function
from nervure.ops import Sort, TopK
from nervure.types.element_groups import ORDERED
from tests.conformance.running import transformer


@pytest.mark.parametrize("dtype", sorted(ORDERED, key=str), ids=str)
def test_all_bit_patterns_on_both_transformers(dtype):
    x = nv.Parameter(dtype, (2, nv.dim("n")))
    function = Function([*Sort(x).outputs, *Sort(x, descending=True).outputs], [x])
    _compare(function, dtype, (0, 1, 7, 41, 3000))


@pytest.mark.parametrize("dtype", sorted(ORDERED, key=str), ids=str)
def test_the_first_of_all_bit_patterns(dtype):
    x = nv.Parameter(dtype, (2, nv.dim("n", min=300)))
    function = Function([output for k, descending in ((1, True), (3, False), (300, True))
                         for output in TopK(x, k=k, descending=descending).outputs], [x])
    _compare(function, dtype, (300, 1003, 9000))


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.int8], ids=str)
def test_threads_share_a_long_row(dtype):
    """A408. Runs of several lengths and merges: the result is that of one thread, and of the interpreter."""
    x = nv.Parameter(dtype, (1, nv.dim("n")))
    function = Function([*Sort(x).outputs, *Sort(x, descending=True).outputs], [x])
    for threads in (1, 2, 3):
        with nv.flags.overriding(threads=threads):
            _compare(function, dtype, (32768, 100003), rows=1)


def _compare(function, dtype, sizes, rows=2):
    """Compares both transformers on random bits."""
    rng = np.random.default_rng(3)
    for size in sizes:
        if dtype is nv.bool_:
            given = rng.random((rows, size)) < 0.5
        else:
            given = rng.integers(0, 256, (rows, size * dtype.itemsize), np.uint8).view(dtype.numpy)
        first, second = [transformer(name).build(function)(given) for name in ("interpreter", "cpu")]
        for one, other in zip(first, second, strict=True):
            assert one.tobytes() == other.tobytes()


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
