"""Every function of the scalar namespace on every type that ops admit, over vectors, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.errors import InternalError
from nervure.kernel.math import FUNCTIONS
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.transformers.cpu.compile.codegen.element import literal
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Builder
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dtype import (
    all_dtypes,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int4,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tests.conformance.values import special
from tests.transformers.cpu.compile.scalar_harness import LANES, on_arrays, some_lanes

S = NumPyScalars()

INTEGERS = [int8, int16, int32, int64, uint8, uint16, uint32, uint64]
FLOATS = [float32, float64]
COMPLEX = [complex64, complex128]

ROUNDED_COMPLEX = "absolute sign multiply divide"

OF_ELEMENTS = [declared for name, declared in SCALAR_FUNCTIONS.items() if not declared.carries_type and name not in (
    "where", "complex")]
COMPUTED = [bool_, *INTEGERS, *FLOATS, *COMPLEX]
CASES = [(declared.name, dtype) for declared in OF_ELEMENTS for dtype in COMPUTED if dtype in declared.domain and not (
    dtype.is_float and (declared.ulps or declared.name == "fma")  # each has a test of its own
    or dtype.is_complex and declared.name in (*ROUNDED_COMPLEX.split(), "fma"))]


def count_of(name):
    return len(SCALAR_FUNCTIONS[name].operands)


def result_type(name, dtype):
    return SCALAR_FUNCTIONS[name].result(dtype)


def numbers(dtype, count, seed=0):
    """Special values, and random bits, which are numbers of all sizes."""
    rng = np.random.default_rng([seed, dtype.bits])
    if dtype.kind == "bool":
        return rng.integers(0, 2, count).astype(bool)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype.numpy)


def arguments(name, dtype):
    """All combinations of special values, random ones, and random ones that are close to each other."""
    chosen = special(dtype)
    chosen = chosen[::3] if name == "fma" else chosen
    grid = [entry.ravel() for entry in np.meshgrid(*[chosen] * count_of(name), indexing="ij")]
    count = 300
    arrays = [np.concatenate([grid[at], numbers(dtype, count, at)]) for at in range(count_of(name))]
    if len(arrays) == 2 and dtype.is_integer:
        few = np.random.default_rng(5).integers(0 if dtype.minimum == 0 else -9, 10, count).astype(dtype.numpy)
        arrays = [np.concatenate([arrays[0], numbers(dtype, count, 7)]), np.concatenate([arrays[1], few])]
    return arrays


def same(got, expected, is_zero_unsigned=False):
    """Bit for bit, but any NaN for a NaN."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if got.dtype.kind == "c":
        return same(got.real, expected.real) & same(got.imag, expected.imag)
    words = f"u{got.dtype.itemsize}"
    equal = np.ascontiguousarray(got).view(words) == np.ascontiguousarray(expected).view(words)
    if got.dtype.kind in "biu" or got.dtype == int4.numpy:
        return equal
    equal |= np.isnan(got) & np.isnan(expected)
    return equal | ((got == 0) & (expected == 0)) if is_zero_unsigned else equal


def check(got, expected, arrays, *context, **options):
    wrong = np.flatnonzero(~same(got, expected, **options))[:5]
    rows = [f"{[array[at] for array in arrays]} gave {got[at]!r}, not {expected[at]!r}" for at in wrong]
    assert not rows, (*context, *rows)


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_functions_are_those_of_the_interpreter(name, dtype):
    arrays = arguments(name, dtype)
    result = result_type(name, dtype)
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(S, name)(*arrays))
    for lanes in some_lanes(name, dtype):
        got = on_arrays(name, (dtype,) * len(arrays), result, lanes)(*arrays)
        check(got, expected, arrays, name, dtype, lanes, is_zero_unsigned=name in ("maximum", "minimum"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma_rounds_once(dtype):
    arrays = [array[:1500] for array in arguments("fma", dtype)]
    with np.errstate(all="ignore"):
        expected = S.fma(*arrays)
    for lanes in LANES:
        check(on_arrays("fma", (dtype,) * 3, dtype, lanes)(*arrays), expected, arrays, lanes)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_remainders_of_all_sizes_are_exact(dtype):
    """Quotients up to the largest that a type has: as C's fmod, one lane beside another."""
    rng = np.random.default_rng(9)
    bits, count = dtype.itemsize * 8, 20_000
    arrays = [rng.integers(0, 2**bits, count, dtype=f"u{dtype.itemsize}").view(dtype.numpy) for _ in range(2)]
    factors = rng.integers(1, 100, count).astype(dtype.numpy)
    with np.errstate(all="ignore"):
        arrays[1][::5] = arrays[0][::5] / factors[::5]
        arrays[0][1::5] = arrays[1][1::5] * -factors[1::5]
    for name in ("floordivide", "modulo"):
        with np.errstate(all="ignore"):
            expected = getattr(S, name)(*arrays)
        for lanes in (1, 8):
            check(on_arrays(name, (dtype,) * 2, dtype, lanes)(*arrays), expected, arrays, name, lanes)


@pytest.mark.parametrize("dtype", [int8, uint8], ids=str)
@pytest.mark.parametrize("name", ["floordivide", "modulo", "power", "shift_left", "shift_right"])
def test_all_pairs_of_bytes(name, dtype):
    every = np.arange(256, dtype=np.uint8).view(dtype.numpy)
    arrays = [entry.ravel() for entry in np.meshgrid(every, every)]
    with np.errstate(all="ignore"):
        expected = getattr(S, name)(*arrays)
    check(on_arrays(name, (dtype,) * 2, dtype, 16)(*arrays), expected, arrays, name, dtype)


@pytest.mark.parametrize(("dtype", "bits"), [(int32, 32), (uint32, 32), (int64, 51), (uint64, 51), (int64, 62)],
                         ids=str)
@pytest.mark.parametrize("name", ["floordivide", "modulo"])
def test_quotients_next_to_an_integer(name, dtype, bits):
    """x one below, at and one above a multiple of y: what a rounded quotient could get wrong."""
    rng = np.random.default_rng(4)
    y = rng.integers(2 ** (bits - 2), 2 ** (bits - 1), 50_000) >> rng.integers(0, bits - 1, 50_000)
    x = y * (rng.integers(0, 2**bits, 50_000) // y) + rng.integers(-1, 2, 50_000)
    arrays = [x.clip(dtype.minimum, dtype.maximum).astype(dtype.numpy), y.astype(dtype.numpy)]
    if dtype.is_signed:
        arrays = [np.concatenate([array, sign * array]) for array, sign in zip(arrays, (-1, 1), strict=True)]
    check(on_arrays(name, (dtype,) * 2, dtype, 8)(*arrays), getattr(S, name)(*arrays), arrays, name, dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["floordivide", "modulo", "power", "shift_left", "shift_right"])
def test_a_constant_on_the_right(name, dtype):
    negative = [-1, -2, -3, -8, dtype.minimum] if dtype.is_signed else []
    for constant in [0, 1, 2, 3, 7, 8, 10, 100, dtype.maximum, *negative]:
        array = np.concatenate([special(dtype), numbers(dtype, 200)])
        other = np.full(len(array), constant, dtype.numpy)
        with np.errstate(all="ignore"):
            expected = getattr(S, name)(array, other)
        got = on_arrays(name, (dtype, constant), dtype, 8)(array)
        check(got, expected, [array], name, dtype, constant)


@pytest.mark.parametrize("constant", [0.0, -1.5, np.inf, np.nan])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_a_constant_bound(name, constant):
    array = np.concatenate([special(float32), numbers(float32, 200)])
    expected = getattr(S, name)(array, np.float32(constant))
    for operands in [(float32, constant), (constant, float32)]:
        got = on_arrays(name, operands, float32, 8)(array)
        check(got, expected, [array], name, operands, is_zero_unsigned=True)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
@pytest.mark.parametrize("name", ROUNDED_COMPLEX.split())
def test_complex_functions_are_close(name, dtype):
    """A few roundings of the magnitude, whatever the exponents."""
    rng, info = np.random.default_rng(8), np.finfo(dtype.numpy)
    exponents = rng.integers(-20, 20, (2, 2, 1000)).astype(np.float64)
    parts = rng.standard_normal((2, 2, 1000)) * 2.0**exponents
    arrays = [(re + 1j * im).astype(dtype.numpy) for re, im in parts[:count_of(name)]]
    expected = getattr(S, name)(*arrays)
    for lanes in LANES:
        got = on_arrays(name, (dtype,) * len(arrays), result_type(name, dtype), lanes)(*arrays)
        size = np.abs(arrays[0]) * np.abs(arrays[1]) if name == "multiply" else np.abs(expected)
        assert (np.abs(got - expected) <= 4 * info.eps * size).all(), lanes


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
@pytest.mark.parametrize("name", ROUNDED_COMPLEX.split())
def test_complex_functions_of_special_values(name, dtype):
    parts = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]
    values = np.array([complex(re, im) for re in parts for im in parts], dtype.numpy)
    arrays = [entry.ravel() for entry in np.meshgrid(*[values] * count_of(name))]
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(S, name)(*arrays))
    if name == "multiply":  # NumPy may fuse; its NaN are ours
        arrays = [array[~np.isnan(expected)] for array in arrays]
        expected = expected[~np.isnan(expected)]
    got = on_arrays(name, (dtype,) * len(arrays), result_type(name, dtype), 8)(*arrays)
    if name in ("absolute", "sign"):
        np.testing.assert_allclose(got, expected, rtol=2 * np.finfo(dtype.numpy).eps)
    else:
        check(got, expected, arrays, name, is_zero_unsigned=True)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_magnitudes_neither_overflow_nor_vanish(dtype):
    info = np.finfo(dtype.numpy)
    sizes = np.array([info.smallest_subnormal * 4, info.smallest_normal, 1, info.max / 8], info.dtype)
    array = np.concatenate([3 * sizes + 4j * sizes, 4 * sizes - 3j * sizes]).astype(dtype.numpy)
    part = result_type("absolute", dtype)
    for lanes in LANES:
        got = on_arrays("absolute", (dtype,), part, lanes)(array)
        np.testing.assert_array_max_ulp(got, np.tile(5 * sizes, 2), 1)
        signs = on_arrays("sign", (dtype,), dtype, lanes)(array)
        np.testing.assert_allclose(signs, np.repeat([0.6 + 0.8j, 0.8 - 0.6j], 4), rtol=4 * info.eps)


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_where_moves_bits(dtype):
    x, y, condition = numbers(dtype, 100, 1), numbers(dtype, 100, 2), numbers(bool_, 100, 3)
    for lanes in some_lanes(dtype):
        got = on_arrays("where", (bool_, dtype, dtype), dtype, lanes)(condition, x, y)
        expected = np.where(condition, x.view(np.uint8).reshape(100, -1).T, y.view(np.uint8).reshape(100, -1).T).T
        if dtype.bits == 4:
            assert np.array_equal(got, np.where(condition, x, y))
        else:
            assert np.array_equal(got.view(np.uint8).reshape(100, -1), expected)


def test_complex_numbers_are_made_of_parts():
    re, im = numbers(float32, 64, 1), numbers(float32, 64, 2)
    got = on_arrays("complex", (float32, float32), complex64, 8)(re, im)
    assert same(got.real, re).all() and same(got.imag, im).all()


def test_one_lane_stands_for_all():
    b = Builder("one")
    x, y = literal(b, 1.0, float32, lanes=8), literal(b, 2.0, float32)
    assert apply("add", [y, x], float32).lanes == apply("fma", [y, y, x], float32).lanes == 8


@pytest.mark.parametrize(("name", "dtype"), [("add", bfloat16), ("add", int4), ("exp", int32), ("less", complex64),
                                             ("shift_left", float16)])
def test_what_there_is_no_function_for(name, dtype):
    with pytest.raises(InternalError, match=name):
        apply(name, [literal(Builder("one"), 1, dtype)] * 2, dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_vector_math_is_within_reach(name, dtype):
    """How close it is to the exact values, over its whole range, is tried where it is made; here, near 1."""
    count = 2 if name in ("atan2", "power") else 1
    arrays = [np.linspace(0.3, 1.7, 50)[at * 7:][:40].astype(dtype.numpy) for at in range(count)]
    with np.errstate(all="ignore"):
        expected = getattr(S, name)(*arrays)
    got = on_arrays(name, (dtype,) * count, dtype, 8)(*arrays)
    eps = np.finfo(dtype.numpy).eps  # near its zeros a logarithm of gamma is exact to a part of its terms alone
    np.testing.assert_allclose(got, expected, rtol=16 * eps, atol=4 * eps)
