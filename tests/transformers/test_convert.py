"""Conversions: saturating, wrapping, and rounded once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nervure.transformers.convert import bitcast, convert, widen, wrap
from nervure.types import dtype as types

LOW = [types.bfloat16, types.float8_e4m3fn, types.float8_e5m2, types.float8_e3m4, types.float8_e4m3b11fnuz]


def neighbours(dtype):
    """All finite values of an 8 or 16 bit float, sorted, as exact fractions."""
    unsigned = np.uint8 if dtype.itemsize == 1 else np.uint16
    with np.errstate(all="ignore"):
        values = np.arange(2 ** (8 * dtype.itemsize),
                           dtype=np.uint32).astype(unsigned).view(dtype.numpy).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("dtype", LOW, ids=str)
@pytest.mark.parametrize("source", [np.float64, np.int64, np.uint64], ids=["f64", "i64", "u64"])
def test_conversion_to_low_precision_rounds_once(dtype, source):
    values = neighbours(dtype)
    rng = np.random.default_rng(3)
    at = rng.integers(0, len(values) - 1, 300)
    middle = (values[at] + values[at + 1]) / 2
    # Next to the middle of two neighbours a first rounding to float32 would make a tie out of what is none.
    steps = np.arange(-8, 9) / 4 * np.spacing(middle.astype(np.float32)).astype(np.float64)[:, None]
    near = [np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), (middle[:, None] + steps).reshape(-1)]
    x = np.concatenate([middle, *near, values])
    if source is not np.float64:
        info = np.iinfo(source)
        x = x[(x >= info.min) & (x < info.max)].astype(source)
        x = np.concatenate([x, x[x < info.max - 1] + 1])
        x = x[(x >= values[0]) & (x <= values[-1])]
    with np.errstate(all="ignore"):
        got = convert(x, dtype).astype(np.float64)
    for value, rounded in zip(x.tolist(), got.tolist(), strict=True):
        low = values[max(np.searchsorted(values, value, side="right") - 1, 0)]
        high = values[min(np.searchsorted(values, value, side="left"), len(values) - 1)]
        if low == high:
            assert rounded == low
            continue
        below, above = Fraction(value) - Fraction(low), Fraction(high) - Fraction(value)
        assert rounded in (low, high)
        if below != above:
            assert rounded == (low if below < above else high), (value, rounded, low, high)


@pytest.mark.parametrize("source", ["f8", "f4", "i8", "i4"])
def test_bytes_in_another_order_are_rounded_as_native_ones(source):
    """Beside a tie of bfloat16: a first rounding to float32 would make one."""
    scale = 2.0**(60 if source.endswith("8") else 20)
    x = (np.array([1 + 2**-8 + 2**-40, 1 + 2**-8 - 2**-40, -3.0]) * scale).astype(source)
    for dtype in (types.bfloat16, types.float32, types.int8):
        swapped = convert(x.astype(f">{source}"), dtype)
        assert swapped.dtype == dtype.numpy and swapped.tobytes() == convert(x, dtype).tobytes()


def test_ties_go_to_even():
    assert convert(np.array([1 + 2**-8, 1 + 3 * 2**-8]), types.bfloat16).astype(float).tolist() == [1.0, 1 + 2**-6]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_float_to_integer_truncates_and_saturates(name, source):
    dtype = types.as_dtype(name)
    with np.errstate(all="ignore"):
        x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1.9, -1.9, -0.5, 0.0, -0.0,
                      float(dtype.minimum), float(dtype.maximum)], source)
        got = convert(x, dtype)
    low, high = dtype.minimum, dtype.maximum
    expected = [0, high, low, high, low, 1, max(-1, low), 0, 0, 0, low, min(int(x[-1]), high)]
    assert got.dtype == dtype.numpy
    assert got.tolist() == expected


def test_float_to_four_bits_saturates():
    """A float of four bits has no infinity, and no NaN either: as in ml_dtypes it is -0."""
    found = widen(convert(np.float32([100, -np.inf, 2.4, -0.3, 0.25, np.nan]), types.float4_e2m1fn))
    assert found.tolist() == [6, -6, 2, -0.5, 0, 0] and np.signbit(found[5]) and not np.signbit(found[4])
    assert convert(np.float32([100, -100, 1.7]), types.int2).astype(int).tolist() == [1, -2, 1]
    assert convert(np.float32([100, -100, 3.7]), types.int4).astype(int).tolist() == [7, -8, 3]
    assert convert(np.float32([100, -100, 3.7]), types.uint4).astype(int).tolist() == [15, 0, 3]


@given(st.integers(-2**63, 2**63 - 1), st.sampled_from(["int2", "uint2", "int4", "uint4", "int8", "uint8", "int32",
                                                        "uint32", "uint64"]))
def test_integer_conversion_saturates_and_wrap_wraps(value, name):
    dtype = types.as_dtype(name)
    x = np.array([value], np.int64)
    assert int(convert(x, dtype)[0]) == min(max(value, dtype.minimum), dtype.maximum)
    wrapped = value % 2**dtype.bits
    expected = wrapped - 2**dtype.bits if dtype.is_signed and wrapped >= 2 ** (dtype.bits - 1) else wrapped
    assert int(wrap(x, dtype)[0]) == expected


def test_uint64_to_int64_saturates():
    assert convert(np.array([2**64 - 1, 5], np.uint64), types.int64).tolist() == [2**63 - 1, 5]


def test_to_bool_is_not_equal_zero():
    assert convert(np.array([0.0, -0.0, np.nan, 0.5]), types.bool_).tolist() == [False, False, True, True]
    assert convert(np.array([0, 3], types.bfloat16.numpy), types.bool_).tolist() == [False, True]


def test_overflow_gives_infinity_or_nan_where_there_is_none():
    with np.errstate(all="ignore"):
        assert np.isinf(convert(np.float32([1e9]), types.float16))[0]
        assert np.isnan(widen(convert(np.float32([1e9]), types.float8_e4m3fn)))[0]


def test_complex_to_real_drops_the_imaginary_part():
    assert convert(np.array([3 - 4j]), types.float32).tolist() == [3.0]
    assert convert(np.array([300 - 4j]), types.int8).tolist() == [127]


def test_the_same_type_is_not_copied():
    x = np.zeros(3, np.float32)
    assert convert(x, types.float32) is x


def test_bitcast_keeps_bits():
    x = np.array([1.5, -0.0, np.nan], np.float32)
    assert bitcast(bitcast(x, types.uint32), types.float32).tobytes() == x.tobytes()
    assert bitcast(np.array([-1, 7], types.int4.numpy), types.uint4).astype(int).tolist() == [15, 7]
    assert bitcast(np.array([-1, 7], types.int4.numpy), types.float4_e2m1fn).astype(float).tolist() == [-6, 6]
    assert bitcast(np.array([-0.5, 1], types.float4_e2m1fn.numpy), types.int4).astype(int).tolist() == [-7, 2]
    assert bitcast(np.array([1.0], types.bfloat16.numpy), types.uint16).tolist() == [0x3F80]
