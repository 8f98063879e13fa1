"""NaN, infinities and signed zeros are data like any other: they are accepted everywhere and come back bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function

TYPES = (nv.float16, nv.bfloat16, nv.float32, nv.float64, nv.float8_e5m2, nv.complex64, nv.complex128)


def special(dtype: nv.DType) -> np.ndarray:
    """NaN, both infinities and zeros, the largest and the smallest numbers."""
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5])
    if dtype.kind != "complex":
        return values.astype(dtype.numpy)
    result = np.empty(values.shape, dtype.numpy)
    result.real, result.imag = values, values[::-1]
    return result


def same_bits(left, right) -> bool:
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_constants_variables_and_arguments(dtype):
    values = special(dtype)
    assert same_bits(nv.constant(values, dtype=dtype).numpy(), values)
    assert same_bits(nv.tensor(values, dtype=dtype).numpy(), values)
    w = nv.variable(values.shape, values, dtype)
    assert same_bits(w.numpy(), values)
    x = nv.placeholder(values.shape, dtype)
    run = nv.computation([nv.reverse(x), nv.assign(w, nv.reverse(x)), w], x)
    reversed_x, _, stored = run(values)
    assert same_bits(reversed_x, values[::-1]) and same_bits(stored, values[::-1])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), -0.0, complex(float("nan"), -0.0)])
def test_numbers(number):
    dtype = nv.complex64 if isinstance(number, complex) else nv.float32
    expected = np.full((2, 3), number, dtype.numpy)
    assert same_bits(nv.full((2, 3), number, dtype).numpy(), expected)
    assert same_bits(nv.constant(number, axes="H=2, W=3", dtype=dtype).numpy(), expected)
    assert same_bits(nv.variable((2, 3), number, dtype).numpy(), expected)
    w = nv.variable((2, 3), 1.0, dtype)
    nv.computation(nv.fill(w, number))()
    assert same_bits(w.numpy(), expected)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_text_and_files(dtype, tmp_path):
    values = special(dtype)
    x = nv.Parameter(dtype, values.shape)
    numbers = [ops.Full(value.item() if dtype.kind == "complex" else float(value), dtype, ()) for value in values]
    function = nv.Function([x, ops.Constant(values), *numbers], [x])
    again = parse_function(print_function(function))
    run = nv.transformers.make_transformer("interpreter").compile(again)
    results = run(values)
    assert same_bits(results[0], values) and same_bits(results[1], values)
    assert [bool(np.isnan(result)) for result in results[2:]] == [bool(np.isnan(value)) for value in values]
    for result, value in zip(results[2:], values, strict=True):
        assert np.isnan(value) or same_bits(result, np.asarray(value))
    w = nv.variable(values.shape, values, dtype)
    nv.save(tmp_path / "model.safetensors", nv.computation([nv.reverse(w), nv.constant(values, dtype=dtype)]))
    loaded, constant = nv.load(tmp_path / "model.safetensors")()
    assert same_bits(loaded, values[::-1]) and same_bits(constant, values)


def test_passes_do_not_lose_them():
    x = nv.placeholder((6,))
    values = special(nv.float32)
    run = nv.computation([x + 0.0, x * 1.0, x - 0.0, x * 0.0, x - x, x / x, nv.where(nv.is_nan(x), 7.0, x)], x)
    with np.errstate(all="ignore"):
        expected = [values + 0.0, values * 1, values - 0.0, values * 0, values - values, values / values,
                    np.where(np.isnan(values), np.float32(7), values)]
    for got, wanted in zip(run(values), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
        known = ~np.isnan(wanted)
        assert (np.signbit(got) == np.signbit(wanted))[known].all()


def test_no_check_is_made_unless_it_is_asked_for():
    x = nv.placeholder((3,))
    values = np.array([-1.0, 0.0, np.nan], np.float32)
    logarithm = nv.computation(nv.log(x), x)(values)
    assert np.isnan(logarithm[[0, 2]]).all() and logarithm[1] == -np.inf
    with nv.flags.overriding(check_nan=True):
        nv.computation(x * 2, x)(values)  # a NaN that was there before is no news
