"""Every function of the scalar namespace on every type that ops admit, over vectors, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.errors import InternalError
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.transformers.cpu.codegen.element import literal
from nervure.transformers.cpu.codegen.scalars import apply
from nervure.transformers.cpu.llvm.builder import Builder
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
from tests.transformers.cpu.scalar_harness import LANES, on_arrays

S = NumPyScalars()

INTEGERS = [int8, int16, int32, int64, uint8, uint16, uint32, uint64]
FLOATS = [float32, float64]
COMPLEX = [complex64, complex128]

PREDICATES = "equal not_equal less less_equal is_nan is_inf is_finite"
OF_BOOL = ("add multiply maximum minimum floor ceil round truncate bitwise_and bitwise_or bitwise_xor bitwise_not equal "
           "not_equal less less_equal")
OF_INTEGERS = ("add multiply maximum minimum floor ceil round truncate bitwise_and bitwise_or bitwise_xor bitwise_not "
               "negative absolute sign subtract floordivide modulo power fma shift_left shift_right " + PREDICATES)
OF_FLOATS = ("add multiply maximum minimum floor ceil round truncate negative absolute sign subtract divide floordivide "
             "modulo sqrt " + PREDICATES)  # fma has a test of its own
OF_COMPLEX = "negative add subtract conjugate real imaginary equal not_equal is_nan is_inf is_finite"
ROUNDED_COMPLEX = "absolute sign multiply divide"

TWO = ("add subtract multiply divide floordivide modulo power maximum minimum equal not_equal less less_equal bitwise_and "
       "bitwise_or bitwise_xor shift_left shift_right")

CASES = [(name, dtype) for names, dtypes in [(OF_BOOL, [bool_]), (OF_INTEGERS, INTEGERS), (OF_FLOATS, FLOATS),
                                             (OF_COMPLEX, COMPLEX)] for name in names.split() for dtype in dtypes]


def count_of(name):
    return 2 if name in TWO.split() else 3 if name == "fma" else 1


def result_type(name, dtype):
    if name in PREDICATES.split():
        return bool_
    if dtype.is_complex and name in ("real", "imaginary", "absolute"):
        return float32 if dtype is complex64 else float64
    return dtype


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
    for lanes in LANES:
        got = on_arrays(name, (dtype,) * len(arrays), result, lanes)(*arrays)
        check(got, expected, arrays, name, dtype, lanes, is_zero_unsigned=name in ("maximum", "minimum"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma_rounds_once(dtype):
    arrays = [array[:1500] for array in arguments("fma", dtype)]
    with np.errstate(all="ignore"):
        expected = S.fma(*arrays)
    for lanes in LANES:
        check(on_arrays("fma", (dtype,) * 3, dtype, lanes)(*arrays), expected, arrays, lanes)
