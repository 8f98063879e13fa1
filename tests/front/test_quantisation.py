"""Quantised numbers: scales for tensors, channels and blocks, saturated; their products in bytes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.types.dtype import as_dtype

RNG = np.random.default_rng


def quantised(x, scale, point, dtype):
    """NumPy's form of the formula, with the limits of an integer type."""
    chosen = as_dtype(dtype)
    whole = np.rint(x / scale).astype(np.float64) + point
    return np.clip(whole, chosen.minimum, chosen.maximum)


def values(tensor):
    return tensor.numpy().astype(np.float64)


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32"])
def test_the_formula(dtype):
    x = RNG(0).normal(0, 20, (4, 6, 3)).astype(np.float32)
    point = 1 if dtype[0] == "u" else 0
    found = nv.quantise_linear(x, np.float32(0.7), point, dtype=dtype)
    assert found.dtype.name == dtype
    assert np.array_equal(values(found), quantised(x, np.float32(0.7), point, dtype))
    back = nv.dequantise_linear(found, np.float32(0.7), point)
    assert np.allclose(back.numpy(), (values(found) - point) * np.float32(0.7), rtol=1e-6)


def test_ties_go_to_even_and_nan_is_0():
    x = np.float32([0.5, 1.5, -0.5, -1.5, np.nan, np.inf, -np.inf])
    assert values(nv.quantise_linear(x, 1.0)).tolist() == [0, 2, 0, -2, 0, 127, -128]


@pytest.mark.parametrize("at", [0, 1, -1])
def test_channels(at):
    x = RNG(1).normal(0, 20, (4, 6, 3)).astype(np.float32)
    count = x.shape[at]
    scale, point = RNG(2).uniform(0.1, 2, count).astype(np.float32), RNG(3).integers(0, 99, count).astype(np.uint8)
    shape = [1, 1, 1]
    shape[at] = count
    found = nv.quantise_linear(x, scale, point, axis=at)
    assert found.dtype is nv.uint8
    assert np.array_equal(values(found), quantised(x, scale.reshape(shape), point.reshape(shape), "uint8"))
    back = nv.dequantise_linear(found, scale, point, axis=at).numpy()
    expected = (values(found) - point.reshape(shape)) * scale.reshape(shape)
    assert np.allclose(back, expected, rtol=1e-5)


@pytest.mark.parametrize("block", [2, 3, 4, 7])
def test_blocks_whose_last_may_be_shorter(block):
    x = RNG(1).normal(0, 5, (3, 7, 2)).astype(np.float32)
    rows = -(-7 // block)
    scale, point = RNG(2).uniform(0.1, 2, (3, rows, 2)).astype(np.float32), RNG(3).integers(0, 9, (3, rows, 2))
    whole = [np.repeat(part, block, 1)[:, :7] for part in (scale, point)]
    found = nv.quantise_linear(x, scale, point.astype(np.int8), axis=1, block=block)
    assert np.array_equal(values(found), quantised(x, *whole, "int8"))
    back = nv.dequantise_linear(found, scale, point.astype(np.int8), axis=1, block=block)
    assert np.allclose(back.numpy(), (values(found) - whole[1]) * whole[0], rtol=1e-5)


def test_names_find_their_axes():
    x = nv.constant(RNG(0).normal(0, 9, (2, 3)).astype(np.float32), axes="N=2, C=3")
    scale = nv.constant(np.float32([0.1, 0.2, 0.3]), axes="C=3")
    found = nv.quantise_linear(x, scale)
    assert str(found.axes) == "(N: 2, C: 3)"
    assert np.array_equal(values(found), quantised(x.numpy(), scale.numpy(), 0, "int8"))
    assert str(nv.quantise_linear(x, np.float32([1, 2, 3]), axis="C").axes) == "(N: 2, C: 3)"


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_floats_saturate_at_their_largest(dtype):
    chosen = as_dtype(dtype)
    x = np.float32([0.3, -7, 1e9, -np.inf, 2.5])
    found = nv.quantise_linear(x, 0.5, dtype=dtype)
    expected = np.clip(x / 0.5, chosen.minimum, chosen.maximum).astype(chosen.numpy)
    assert found.dtype is chosen and values(found).tolist() == expected.astype(float).tolist()
    assert nv.dequantise_linear(found, 0.5).numpy().tolist() == (expected.astype(np.float32) * 0.5).tolist()


def test_a_program_serves_all_lengths(transformer):
    n = nv.dim("n")
    x, w = nv.placeholder((n, 8)), nv.placeholder((8, 4))
    a = nv.quantise_linear(x, 0.05, np.uint8(128))
    b = nv.quantise_linear(w, np.float32([0.1, 0.2, 0.3, 0.4]), axis=1)
    total = nv.matmul(a, b, dtype=nv.int32) - 128 * nv.sum(b.astype(nv.int32), 0)
    y = nv.dequantise_linear(total, np.float32([0.1, 0.2, 0.3, 0.4]) * np.float32(0.05), axis=1)
    program = transformer.computation(y, x, w)
    for count in (1, 5):
        left, right = RNG(count).normal(0, 2, (count, 8)).astype(np.float32), RNG(9).normal(0, 3, (8, 4)).astype(
            np.float32)
        expected = (quantised(left, np.float32(0.05), 128, "uint8") - 128) @ quantised(
            right, np.float32([0.1, 0.2, 0.3, 0.4]), 0, "int8") * np.float32([0.1, 0.2, 0.3, 0.4]) * np.float32(0.05)
        assert np.allclose(program(left, right), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: nv.quantise_linear(x, [1.0, 2.0]), nv.InvalidArgument, "entries belong to slices along an axis"),
    (lambda x: nv.quantise_linear(x, [1.0, 2.0], axis=1), nv.ShapeMismatch, "scale has an entry for each slice"),
    (lambda x: nv.quantise_linear(x, [[1.0, 2.0]], axis=1, block=2), nv.ShapeMismatch, "an entry for each block"),
    (lambda x: nv.quantise_linear(x, [[1.0]], axis=1, block=0), nv.ShapeMismatch, "an entry for each block"),
    (lambda x: nv.quantise_linear(x, 1.0, dtype=nv.float32), nv.DtypeMismatch, "integers, or floats of 8 bits"),
    (lambda x: nv.quantise_linear(x, 1.0, 3, dtype="float8_e5m2"), nv.InvalidArgument, "floats have no zero point"),
    (lambda x: nv.dequantise_linear([1], 1.0, dtype=nv.int8), nv.DtypeMismatch, "dequantised to floats")])
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((2, 3), np.float32))
