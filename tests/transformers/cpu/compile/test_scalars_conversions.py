"""Conversions between all pairs of types over vectors are bit for bit the interpreter's.

All values of 8 and 16 bits are converted; of wider types, numbers at, between and next to those of the target type.
"""

from __future__ import annotations

import numpy as np
import pytest

from nervure.transformers.convert import bitcast, convert, wrap
from nervure.types.dtype import all_dtypes, as_dtype, bool_, float32, float64
from tests.conformance.values import special
from tests.transformers.cpu.compile.scalar_harness import on_arrays, some_lanes

INTEGERS = [entry for entry in all_dtypes if entry.is_integer]
LOW = [entry for entry in all_dtypes if entry.is_low_precision]


def all_values(dtype):
    """Every value of a type of at most 16 bits."""
    if dtype is bool_:
        return np.array([False, True])
    return np.arange(2 ** dtype.bits, dtype=f"u{dtype.itemsize}").view(dtype.numpy)


def samples(source, target):
    """Every value of a small type; of others special values, random bits, and numbers around those of the target."""
    if source.bits <= 16 or source is bool_:
        return all_values(source)
    rng = np.random.default_rng([source.bits, target.bits])
    parts = [special(source), np.frombuffer(rng.bytes(source.itemsize * 1000), source.numpy)]
    with np.errstate(all="ignore"):
        if source.is_complex:
            real = samples(float32 if source.bits == 64 else float64, target)
            return (real + 1j * rng.permutation(real)).astype(source.numpy)
        if source.is_integer:
            powers = 1 << np.arange(source.bits - 1, dtype=np.uint64)
            near = np.concatenate([powers - np.uint64(1), powers, powers + np.uint64(1), powers // 2 * 3])
            parts += [near.astype(source.numpy), (-near.view(np.int64)).astype(source.numpy)]
            parts.append(parts[1] >> rng.integers(0, source.bits, 1000).astype(source.numpy))
        else:
            parts += [entry.astype(source.numpy) for entry in around(target)]
    return np.concatenate(parts)


def around(target):
    """Numbers of a type, the middles between neighbours, and what is next to those, in float64."""
    if target.bits <= 16:
        with np.errstate(all="ignore"):
            values = all_values(target).astype(np.float64)
    else:
        part = {"complex64": float32, "complex128": float64}.get(target.name, target)
        values = np.concatenate([special(part), np.frombuffer(np.random.default_rng(3).bytes(8000), part.numpy)])
        values = values.astype(np.float64)
    if target.is_integer:
        values = np.concatenate([values, [target.minimum, target.maximum, target.maximum + 1.0], values + 0.5])
        return [values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)]
    values = np.unique(values[np.isfinite(values)])
    middle = values[:-1] / 2 + values[1:] / 2
    beyond = values[-1:] + (values[-1:] - values[-2:-1]) / 2  # where the largest number ends
    middle = np.concatenate([middle, beyond, -beyond])
    return [values, middle, *[np.nextafter(middle, to) for to in (np.inf, -np.inf)],
            middle * (1 + 2.0**-30), middle * (1 - 2.0**-30)]


def words(array):
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.itemsize}" if array.dtype.kind != "c" else f"u{array.itemsize // 2}")


def is_nan(array):
    with np.errstate(all="ignore"):
        kept = array if array.dtype.kind in "biufc" else array.astype(np.float32)
        return np.isnan(kept)


def assert_same(got, expected, array, *context):
    """Bit for bit, but any NaN for a NaN."""
    assert got.dtype == expected.dtype
    if got.dtype.kind == "c":
        assert_same(got.real, expected.real, array, *context)
        assert_same(got.imag, expected.imag, array, *context)
        return
    wrong = np.flatnonzero((words(got) != words(expected)) & ~(is_nan(got) & is_nan(expected)))[:5]
    rows = [f"{array[at]!r} gave {got[at]!r}, not {expected[at]!r}" for at in wrong]
    assert not rows, (*context, *rows)


@pytest.mark.parametrize("target", all_dtypes, ids=str)
@pytest.mark.parametrize("source", all_dtypes, ids=str)
def test_convert(source, target):
    array = samples(source, target)
    with np.errstate(all="ignore"):
        expected = np.asarray(convert(array, target))
    for lanes in some_lanes(source, target):
        got = on_arrays("convert", (source,), target, lanes)(array)
        assert_same(got, expected, array, source, target, lanes)


@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_wrap(target):
    for source in [*INTEGERS, float32]:
        array = samples(source, target)
        with np.errstate(all="ignore"):
            expected = wrap(array, target)
        for lanes in some_lanes(source, target):
            got = on_arrays("wrap", (source,), target, lanes)(array)
            assert_same(got, expected, array, source, target, lanes)


@pytest.mark.parametrize("source", all_dtypes, ids=str)
def test_bitcast(source):
    for target in [entry for entry in all_dtypes if entry.bits == source.bits]:
        array = samples(source, target)
        expected = bitcast(array, target)
        for lanes in some_lanes(source, target):
            got = on_arrays("bitcast", (source,), target, lanes)(array)
            assert_same(got, expected, array, source, target, lanes)
            assert target.kind == "bool" or (words(got) == words(expected)).all() or target.bits == 4


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_a_random_float64_is_rounded_once(dtype):
    """Random numbers of the type's range, and 2**-25 to 2**-50 of a middle, where float32 would see a tie."""
    rng = np.random.default_rng(11)
    values = around(dtype)[0]
    low = np.searchsorted(values, 0, side="right")
    values = values[low:]
    at = rng.integers(0, len(values) - 1, 20_000)
    middle = values[at] / 2 + values[at + 1] / 2
    array = middle * (1 + rng.choice([-1, 0, 1], len(middle)) * 2.0 ** -rng.integers(24, 52, len(middle)))
    array = np.concatenate([array, -array, rng.standard_normal(1000) * float(dtype.maximum)])
    with np.errstate(all="ignore"):
        expected = convert(array, dtype)
    assert_same(on_arrays("convert", (float64,), dtype, 8)(array), expected, array, dtype)
    assert as_dtype(expected.dtype) is dtype
