"""Every function of the scalar namespace, on every special value and type, on every transformer and over JAX, against
what it means in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.ir.function import Function
from nervure.ir.kinds import Structure, Structured, identity_access
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import index
from nervure.types.dtype import DType, all_dtypes, as_dtype, float8_e8m0fnu, float32, float64, int8, int32, int64, uint8
from tests.conformance import values
from tests.conformance.meaning import converted, meaning, nearest, wrapped
from tests.conformance.running import PROVIDERS, run
from tests.conformance.scalar_ops import FUNCTIONS, WITH_TYPE, arity, scalar_op
from tests.conformance.tolerance import COMPLEX_ROUNDED, Tolerance, differs, flushed, scalar_tolerance

COMPUTED = [entry for entry in all_dtypes if entry.compute is entry and not entry.storage_only]
FLOATS = [float32, float64]


def types_of(name: str) -> list[DType]:
    """The element types that a function is tried on: those of its domain that are computed in. What a fused
    multiply-add of complex numbers rounds is open.
    """
    found = [dtype for dtype in COMPUTED if dtype in SCALAR_FUNCTIONS[name].domain]
    return [dtype for dtype in found if not dtype.is_complex] if name == "fma" else found


def arguments_of(name: str, dtype: DType) -> list[np.ndarray]:
    """Every combination of special values; for functions of floats also random numbers of all sizes."""
    special, count = values.special(dtype)[:27], arity(name)
    if dtype.is_complex and name in COMPLEX_ROUNDED:
        special = special[np.isfinite(special) & (special != 0)]
    if name == "where":
        return values.crossed([np.array([True, False]), special[:24], special[-16:]])
    arrays = values.crossed([special[::3] if count == 3 else special] * count)
    if not dtype.is_float:
        return arrays
    rng = np.random.default_rng(count)
    more = [np.concatenate([rng.uniform(-1, 1, 60), rng.standard_normal(80) * 5, rng.standard_normal(30) * 1e3,
                            np.exp(rng.standard_normal(80) * 10) * rng.choice([-1, 1], 80)]) for _ in range(count)]
    return [np.concatenate([array, extra.astype(dtype.numpy)]) for array, extra in zip(arrays, more, strict=True)]


def computed(provider: str, op: Any, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
    parameters = [nv.Parameter(as_dtype(array.dtype), array.shape) for array in arrays]
    return run(provider, Function([op(*parameters, **attributes)], parameters), arrays)[0]


def report(arrays: Any, got: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> str:
    at = np.flatnonzero(wrong)[:5]
    return "\n".join(f"{[array[k] for array in arrays]} gave {got[k]}, not {expected[k]}" for k in at)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "complex"])
def test_what_a_function_means(name, provider):
    """O20 to O32: every function on every special value; O4: on every transformer."""
    for dtype in types_of(name):
        arrays = arguments_of(name, dtype)
        got = computed(provider, scalar_op(name), *arrays)
        rows = zip(*[array.tolist() for array in arrays], strict=True)
        expected = np.array([meaning(name, dtype, *row) for row in rows], got.dtype)
        tolerance: Any = scalar_tolerance(provider, name, dtype)
        if dtype.is_complex and name in COMPLEX_ROUNDED:
            tolerance = 8 * np.finfo(dtype.numpy).eps * np.abs(expected)
        wrong = differs(got, expected, tolerance) & ~np.asarray(flushed(provider, *arrays, expected))
        assert not wrong.any(), f"{name} of {dtype.name}: {report(arrays, got, expected, wrong)}"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("dtype", [entry for entry in all_dtypes if entry.is_low_precision and not entry.storage_only],
                         ids=str)
def test_what_a_function_means_in_low_precision(dtype, provider):
    """O11, O20 to O32: the special values are those of float32, rounded."""
    for name in FUNCTIONS:
        if dtype not in SCALAR_FUNCTIONS[name].domain:
            continue
        special = values.special(dtype)[:27]
        arrays = values.crossed([special[::3] if arity(name) == 3 else special] * arity(name))
        if name == "where":
            arrays[0] = np.isfinite(arrays[0].astype(np.float32))
        got = computed(provider, scalar_op(name), *arrays)
        rows = zip(*[array.tolist() for array in arrays], strict=True)
        with np.errstate(all="ignore"):
            expected = np.array([meaning(name, float32, *row) for row in rows]).astype(got.dtype)
        tolerance = scalar_tolerance(provider, name, float32)
        wrong = differs(got, expected, tolerance._replace(ulps=min(tolerance.ulps, 1)))
        wrong &= ~np.asarray(flushed(provider, *arrays, expected))
        assert not wrong.any(), f"{name} of {dtype.name}: {report(arrays, got, expected, wrong)}"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("target", all_dtypes, ids=str)
def test_convert(target, provider):
    """O33, O34, O35, O36: conversions between all pairs of types saturate, and round once."""
    for source in all_dtypes:
        if target is float8_e8m0fnu and source is not target:
            continue  # it has no zero and no sign; see the test below
        array = interesting(source, target)
        got = computed(provider, nv.ops.Convert, array, dtype=target)
        expected = np.array([converted(x, source, target) for x in as_python(array)], target.numpy)
        wrong = differs(got, expected) & ~np.asarray(flushed(provider, array, expected))
        assert not wrong.any(), f"{source.name} to {target.name}: {report([array], got, expected, wrong)}"


def interesting(source: DType, target: DType) -> np.ndarray:
    """Special values of both types, ties between neighbours of the target, and random numbers."""
    rng = np.random.default_rng(source.bits)
    parts = [values.special(source)]
    with np.errstate(all="ignore"):
        if source.is_float and target.is_float:
            base = values.special(target).astype(np.float64)
            steps = rng.integers(1, 2**8, 200) + rng.choice([0.5, 0.25, 0.5000001, 0.4999999], 200)
            parts += [base.astype(source.numpy), (steps * rng.choice([1.0, -2.0**-8], 200)).astype(source.numpy)]
        elif source.is_float and target.is_integer:
            limits = np.array([target.minimum, target.maximum], np.float64)
            near = [limits, limits + 0.5, limits - 0.5, np.nextafter(limits, 0), np.nextafter(limits, math.inf)]
            parts += [np.concatenate(near).astype(source.numpy)]
        elif source.is_integer and not target.is_integer and target.kind != "bool":
            low, high = source.minimum * 0.99, source.maximum * 0.99
            numbers = rng.uniform(low, high, 200) * 2.0**-rng.integers(0, source.bits, 200)
            parts.append(numbers.astype(np.int64 if low < 0 else np.uint64).astype(source.numpy))
    return np.concatenate(parts)[:512]


def as_python(array: np.ndarray) -> list[Any]:
    dtype = as_dtype(array.dtype)
    return [int(x) if dtype.is_integer else float(x) if dtype.is_float else x.item() for x in array]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_type_of_exponents(provider):
    """O35: float8_e8m0fnu holds powers of two from 2**-127 on and NaN."""
    array = np.array([1, 2, 0.25, 1e30, 3.1, math.nan], np.float32)
    got = computed(provider, nv.ops.Convert, array, dtype=nv.float8_e8m0fnu)
    np.testing.assert_array_equal(got.astype(np.float64), [1, 2, 0.25, 2.0**100, 4, math.nan])
    back = computed(provider, nv.ops.Convert, got, dtype=int32)
    assert back.tolist() == [1, 2, 0, 2**31 - 1, 4, 0]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("target", [entry for entry in all_dtypes if entry.is_integer], ids=str)
def test_wrap(target, provider):
    """O34: integers are taken modulo 2**bits."""
    for source in [entry for entry in all_dtypes if entry.is_integer]:
        array = values.special(source)
        got = computed(provider, nv.ops.Convert, array, dtype=target, mode="wrap")
        assert as_python(got) == [wrapped(x, target) for x in as_python(array)], (source, target)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("source", all_dtypes, ids=str)
def test_bitcast(source, provider):
    """O37: the bits stay, whatever they mean; of a bool they are 0 or 1, and any other bits are true."""
    array = values.special(source)
    array = array[~values.is_tiny(array)] if provider == "jax" else array
    for target in all_dtypes:
        if target.bits != source.bits:
            continue
        got = computed(provider, nv.ops.Bitcast, array, dtype=target)
        words = array.view(np.dtype(f"u{min(array.itemsize, 8)}"))
        if target.kind == "bool":
            expected = words != 0
        elif source.bits < 8:
            codes = (words & ((1 << source.bits) - 1)).astype(np.uint8)  # as in memory, but for int4's upper half
            expected = codes.view(target.numpy) if target.is_float else np.array(
                [wrapped(int(code), target) for code in codes], target.numpy)
        else:
            expected = words.view(target.numpy)
        if target.is_float or target.is_complex:  # a NaN is a NaN
            assert not differs(got, expected).any(), (source, target)
        else:
            np.testing.assert_array_equal(got, expected, err_msg=f"{source} {target}")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_parts_make_a_complex_number(provider):
    """O39: parts stay what they are, infinities and NaN included."""
    for part in FLOATS:
        re, im = values.crossed([values.special(part)[:20]] * 2)
        keep = ~np.asarray(flushed(provider, re, im))
        re, im = re[keep | np.zeros(len(re), bool)], im[keep | np.zeros(len(re), bool)]
        pair = computed(provider, nv.ops.Complex, re, im)
        assert not differs(computed(provider, nv.ops.Real, pair), re).any()
        assert not differs(computed(provider, nv.ops.Imaginary, pair), im).any()


class ScalarValues(Structured):
    """Elements made of nothing: a constant, plus an expression over the indices."""

    operand_names = "x"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        return types[0].with_(dtype=int64)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        return Structure(types[0].shape, (None,), (identity_access(2),), body=lambda s: s.add(
            s.constant(7, int64), s.index((index(0) * 10 - index(1) * 3) // 2 % 5)))


class ScalarConstant(scalar_op("add")):  # type: ignore[misc]  # a class made by a function
    """x + 0.1, where 0.1 is of the type of x."""

    operand_names = "x"

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.add(elements[0], s.constant(0.1, elements[0]))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_constants_and_indices(provider):
    """O40: a constant has the type of its model; an index expression is int64, as Python computes it."""
    got = computed(provider, ScalarValues, np.zeros((4, 3), np.float32))
    assert got.tolist() == [[7 + (10 * i - 3 * j) // 2 % 5 for j in range(3)] for i in range(4)]
    for dtype in FLOATS:
        got = computed(provider, ScalarConstant, np.zeros(3, dtype.numpy))
        assert got.tolist() == [float(dtype.numpy.type(0.1))] * 3
    assert computed(provider, ScalarConstant, np.zeros(2, nv.bfloat16.numpy))[0] == nv.bfloat16.numpy.type(0.1)


def test_every_function_is_in_the_table():
    assert {*FUNCTIONS, *WITH_TYPE} == set(SCALAR_FUNCTIONS)
    assert all(types_of(name) for name in FUNCTIONS)


def test_the_oracle_rounds_once():
    assert nearest(0.1, float32) == float(np.float32(0.1))
    assert meaning("fma", float32, 1 + 2.0**-23, 1 - 2.0**-23, -1.0) == -(2.0**-46)
    assert meaning("divide", float64, 1.0, 3.0) == 1 / 3
    assert meaning("floordivide", int8, -128, -1) == meaning("power", int8, 2, 7) == -128
    assert meaning("modulo", uint8, 7, 0) == 0
    assert meaning("multiply", float32, 1e-38, 1e-7) == float(np.float32(1e-38) * np.float32(1e-7))


def test_differences_are_seen():
    one = np.float32([1.0])
    up = np.nextafter(one, np.float32(2))
    assert differs(one, up).all() and not differs(one, up, Tolerance(1)).any()
    assert differs(np.float32([0.0]), np.float32([-0.0])).all()
    assert differs(np.float32([math.inf]), np.float32([3e38]), Tolerance(4)).all()
    assert not differs(np.float32([math.nan]), np.float32([math.nan])).any()
