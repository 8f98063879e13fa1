"""Functions of elements, and views of several tensors, that XLA has in another form give what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

pytest.importorskip("jax", reason="jax is not installed")


@pytest.mark.parametrize("dtype", ["int8", "uint32", "float32"])
def test_quotients_and_remainders_are_rounded_down(xla, interpreter, dtype):
    """X1: of either sign, and by zero."""
    kind = nv.types.dtype.as_dtype(dtype)
    x, y = nv.Parameter(kind, (60,)), nv.Parameter(kind, (60,))
    rng = np.random.default_rng(0)
    given = [rng.integers(-9 if kind.is_signed else 0, 10, 60).astype(kind.numpy) for _ in range(2)]
    given[1][:4], given[0][:4] = 0, [0, 5, 7, 1]
    function = nv.Function([nv.ops.FloorDivide(x, y), nv.ops.Mod(x, y)], [x, y])
    for mine, theirs in zip(xla.build(function)(*given), interpreter.build(function)(*given), strict=True):
        assert np.array_equal(mine, theirs, equal_nan=kind.is_float)


@pytest.mark.parametrize("axes, counts", [([0], [2]), ([1], [2]), ([0, 2], [2, 1])])
def test_stacked_tensors_lie_beside_each_other(xla, interpreter, axes, counts):
    """X1"""
    x, y = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (2, 3))
    function = nv.Function([nv.ops.Stack(x, y, axes=axes, counts=counts)], [x, y])
    given = np.arange(6, dtype=np.float32).reshape(2, 3), -np.arange(6, dtype=np.float32).reshape(2, 3)
    mine, theirs = [transformer.build(function)(*given)[0] for transformer in (xla, interpreter)]
    assert mine.tolist() == theirs.tolist()
