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


NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")


@pytest.mark.parametrize("kind", ["int64", "uint64", "float32"])
def test_numbers_become_narrow_floats_by_one_rounding(xla, interpreter, kind):
    """X1: ties, and numbers on both sides of them; what is beyond a type is what it has for that."""
    rng = np.random.default_rng(1)
    near = [sign * (((2 * step + 1) << shift) + offset) for shift in (0, 1, 3, 20, 40) for step in range(200, 260)
            for offset in (-1, 0, 1) for sign in (1, -1)]
    given = np.array([0, 1, 2, 3, 5, 6, 7, 11, 13, *near, *rng.integers(0, 2**31, 50)], np.int64)
    given = (np.abs(given) if kind == "uint64" else given).astype(kind)
    if kind == "float32":
        given = np.concatenate([given, given / 8, np.float32([0.25, 0.5, 0.75, -0.5, 1.5, 2.5, 3.5, -0.0])])
    x = nv.Parameter(getattr(nv, kind), given.shape)
    function = nv.Function([nv.ops.Convert(x, getattr(nv, name)) for name in NARROW], [x])
    for mine, theirs, name in zip(xla.build(function)(given), interpreter.build(function)(given), NARROW, strict=True):
        np.testing.assert_array_equal(mine.astype(np.float32), theirs.astype(np.float32), name)


@pytest.mark.parametrize("name", NARROW)
def test_all_narrow_floats_are_read(xla, interpreter, name):
    """X1: also as truncated integers, of which those beyond int8 are its ends."""
    kind = getattr(nv, name)
    count = 1 << (4 if "4_" in name else 8)
    near = [126.5, 127, 127.5, -127.5, -128, -128.5]
    given = np.array([*near, *np.linspace(-600, 600, count)], np.float32).astype(kind.numpy)
    x = nv.Parameter(kind, given.shape)
    function = nv.Function([nv.ops.Convert(x, to) for to in (nv.float32, nv.int8, nv.uint64)], [x])
    for mine, theirs in zip(xla.build(function)(given), interpreter.build(function)(given), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_products_of_bools_are_bools(xla, interpreter):
    """X1: whether any pair is true."""
    x, y = nv.Parameter(nv.bool_, (5, 7)), nv.Parameter(nv.bool_, (7, 6))
    function = nv.Function([nv.ops.MatMul(x, y)], [x, y])
    given = [np.random.default_rng(2).random(shape) < 0.3 for shape in ((5, 7), (7, 6))]
    mine, theirs = [transformer.build(function)(*given)[0] for transformer in (xla, interpreter)]
    assert mine.dtype == theirs.dtype == np.bool_ and mine.tolist() == theirs.tolist()


def test_bits_of_all_floats_of_four_bits(xla, interpreter):
    """X1: there and back."""
    x = nv.Parameter(nv.uint4, (16,))
    floats = nv.ops.Bitcast(x, nv.float4_e2m1fn)
    function = nv.Function([nv.ops.Convert(floats, nv.float32), nv.ops.Bitcast(floats, nv.uint4)], [x])
    given = np.arange(16).astype(nv.uint4.numpy)
    for mine, theirs in zip(xla.build(function)(given), interpreter.build(function)(given), strict=True):
        assert mine.astype(np.float32).tolist() == theirs.astype(np.float32).tolist()
        assert np.signbit(mine.astype(np.float32)).tolist() == np.signbit(theirs.astype(np.float32)).tolist()
