"""Quantised numbers: scales for tensors, channels and blocks, saturated; their products in bytes."""

from __future__ import annotations

import math

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


@pytest.mark.parametrize("axis", ["C", 1, -1])
@pytest.mark.parametrize("order", [("N", "C"), ("C", "N")], ids=" ".join)
def test_names_find_their_axes_with_blocks(order, axis, transformer):
    """The order of a scale's axes says nothing, and a call brings the length that has no blocks."""
    lengths = {"N": "N=n", "C": "C=2"}
    parts = [nv.placeholder(", ".join([lengths[name] for name in order]), kind) for kind in (nv.float32, nv.int8)]
    x = nv.placeholder("N=n, C=4")
    y = nv.quantise_linear(x, *parts, axis=axis, block=2)
    program = transformer.computation([y, nv.dequantise_linear(y, *parts, axis=axis, block=2)], x, *parts)
    for length in (1, 2):
        given = np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])[:length]
        scale, point = np.float32([[1, 3], [2, 4]])[:length], np.int8([[0, 9], [5, -9]])[:length]
        found, back = program(given, *[part if order[0] == "N" else part.T for part in (scale, point)])
        wide = [np.repeat(part, 2, 1) for part in (scale, point)]
        assert found.tolist() == quantised(given, *wide, "int8").tolist()
        assert back.tolist() == ((found - wide[1].astype(np.float32)) * wide[0]).tolist()


def test_names_say_the_axis():
    x = nv.constant(np.ones((2, 4), np.float32), axes="N=2, C=4")

    def named(axes, kind=np.float32):
        return nv.constant(np.ones(nv.make_axes(axes).lengths, kind), axes=axes)
    assert nv.quantise_linear(x, named("N=2"), axis="N").shape == (2, 4)
    for function in (nv.quantise_linear, nv.dequantise_linear):
        for axes in ("K=2, L=2", "N=2, K=2"):
            with pytest.raises(nv.AxisMismatch, match="scale has an axis that x lacks"):
                function(x, named(axes), axis="C", block=2)
        with pytest.raises(nv.AxisMismatch, match="scale has an axis that x lacks"):
            function(x, named("K=2"))
        with pytest.raises(nv.AxisMismatch, match="scale goes along other axes than axis= says"):
            function(x, named("N=2"), axis="C")
        with pytest.raises(nv.AxisMismatch, match="zero_point goes along other axes than axis= says") as caught:
            function(x, named("C=4"), named("N=2", np.int8), axis="C")
        assert (caught.value.op, caught.value.operand) == (function.__name__, "zero_point")


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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("whole", "scale", "point", "kind"), [
    ([32001, 32002, -5], 1.0, 32000, "int16"), ([65535, 3], 0.1, 0, "uint16"), ([1000000, -7], 1e-4, 3, "int32"),
    ([1001, 999], 1.0, 1000, "int16"), ([200, 0], 1e-3, 255, "uint8")])
def test_floats_of_16_bits_are_rounded_at_the_end(whole, scale, point, kind, dtype, transformer):
    """The integers are exact in float32, also where the type of the scale has not the digits or the range for them."""
    own, n = as_dtype(dtype), nv.dim("n")
    x, factor, zero = nv.placeholder((n,), kind), nv.placeholder((), dtype), nv.placeholder((), kind)
    program = transformer.computation(nv.dequantise_linear(x, factor, zero), x, factor, zero)
    for length in (1, len(whole)):
        given = np.array(whole[:length], kind), own.numpy.type(scale), np.array(point, kind)
        exact = (given[0].astype(np.float64) - point) * np.float64(given[1])
        assert np.array_equal(program(*given), exact.astype(np.float32).astype(own.numpy))
        assert program(*given).dtype == own.numpy


@pytest.mark.parametrize(("x", "scale", "point", "kind", "dtype"), [
    ([10824, -3], 0.5, 2, "uint16", "float16"), ([2047, 3], 1.0, 4094, "int16", "float16"),
    ([300, -300], 1.0, 1, "int16", "bfloat16"), ([1, 7], 3.0, 100, "uint8", "bfloat16"),
    ([60000, 1], 0.01, 1, "int32", "float16")])
def test_floats_of_16_bits_are_quantised_in_float32(x, scale, point, kind, dtype, transformer):
    """Neither the quotient nor its sum with the zero point is rounded to 16 bits, nor overflows there."""
    own, n = as_dtype(dtype), nv.dim("n")
    place, factor, zero = nv.placeholder((n,), dtype), nv.placeholder((), dtype), nv.placeholder((), kind)
    program = transformer.computation(nv.quantise_linear(place, factor, zero), place, factor, zero)
    for length in (1, len(x)):
        given = np.array(x[:length]).astype(own.numpy), own.numpy.type(scale), np.array(point, kind)
        wide = [part.astype(np.float32) for part in given[:2]]
        found = program(*given)
        assert found.dtype == kind and np.array_equal(found.astype(np.float64), quantised(*wide, point, kind))


def test_the_derivative_of_a_scale_of_16_bits_has_its_type(transformer):
    """It sums the exact integers."""
    scale = nv.placeholder((), nv.float16)
    loss = nv.sum(nv.dequantise_linear(np.int16([32001, 32003]), scale, np.int16(32000)))
    found = transformer.computation(nv.deriv(loss, scale), scale)(np.float16(0.5))
    assert found.dtype == np.float16 and found == 4


@pytest.mark.parametrize(("x", "point", "kind"), [
    (2**24 + 1, 2**24, "int32"), (-2**31, -2**31 + 3, "int32"), (2**32 - 1, 2**32 - 4, "uint32"),
    (2**40 + 1, 2**40, "int64"), (2**40 + 5, 2**40, "uint64")])
def test_zero_points_of_wide_integers_keep_their_bits(x, point, kind, transformer):
    """Both ways, for lengths that a call brings, and with a derivative of the scale's type."""
    place, scale, zero = nv.placeholder((nv.dim("n"),), kind), nv.placeholder(()), nv.placeholder((), kind)
    y = nv.dequantise_linear(place, scale, zero)
    back = nv.quantise_linear(y, scale, zero)
    program = transformer.computation([y, back, nv.deriv(nv.sum(y), scale)], place, scale, zero)
    for length in (1, 3):
        given = np.full(length, x, kind)
        found, again, slope = program(given, np.float32(0.5), np.array(point, kind))
        assert found.tolist() == [(x - point) * 0.5] * length and found.dtype == np.float32
        assert again.tolist() == given.tolist() and again.dtype == kind
        assert slope == (x - point) * length and slope.dtype == np.float32


def test_zero_points_of_python_are_exact():
    """A number or a list of them has no type of its own, and a float that is whole is an integer."""
    for point in (2**24, float(2**24), [2**24], [float(2**24)]):
        axis = 0 if isinstance(point, list) else None
        assert nv.quantise_linear(np.float32([3]), 1.0, point, dtype="int32", axis=axis).tolist() == [2**24 + 3]
        assert nv.dequantise_linear(np.int32([2**24 + 1]), 1.0, point, axis=axis).tolist() == [1.0]
    assert nv.quantise_linear([1.0, 2.0], 1.0, [-1, 200], axis=0).dtype is nv.int8
    shifted = nv.jit(lambda x, point: nv.quantise_linear(x, 1.0, point))
    assert [shifted(np.float32([1, 2]), point).tolist() for point in (3, 4)] == [[4, 5], [5, 6]]


@pytest.mark.parametrize("point", [
    0.5, [0.5, 1.0], 1j, True, math.nan, 2**70, np.float32(2), np.ones(2, np.float32), nv.zeros((), "float8_e5m2")],
    ids=str)
def test_zero_points_are_integers(point):
    for function in (nv.quantise_linear, nv.dequantise_linear):
        with pytest.raises(nv.DtypeMismatch, match="a zero point is an integer") as caught:
            function(np.ones(2, np.float32), 1.0, point, axis=0)
        assert (caught.value.op, caught.value.operand) == (function.__name__, "zero_point")


def test_complex_numbers_are_not_quantised():
    for function in (nv.quantise_linear, nv.dequantise_linear):
        for operand, given in (("x", (np.complex64([1j]), 1.0)), ("scale", ([1.0], 1j)),
                               ("scale", ([1.0], np.complex64(2)))):
            with pytest.raises(nv.DtypeMismatch, match="complex numbers are not quantised") as caught:
                function(*given)
            assert (caught.value.op, caught.value.operand) == (function.__name__, operand)


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
