"""Every vector function against exact values, over the whole range of its arguments.

``DEEP_TESTS=1`` tries all float32 numbers, and ten times as many float64 numbers.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from nervure.kernel.math import FUNCTIONS
from nervure.ops.scalar import SCALAR_FUNCTIONS
from tests.transformers.cpu.math_accuracy import ROWS, doubles, specials
from tests.transformers.cpu.math_harness import LANES, exact_parts, on_arrays, random_of_each_exponent, ulps

pytestmark = pytest.mark.usefixtures("silent_infinities")

DEEP = os.environ.get("DEEP_TESTS") == "1"
OF_ONE = [name for name, row in ROWS.items() if row.operands == 1]
TYPES = [np.float32, np.float64]


def one_of_each_upper_half() -> np.ndarray:
    """A random float32 for each value of its upper 16 bits."""
    lower = np.random.default_rng(0).integers(0, 1 << 16, 1 << 16, dtype=np.uint32)
    return (np.arange(1 << 16, dtype=np.uint32) << 16 | lower).view(np.float32)


def assert_close(name: str, got: np.ndarray, x: np.ndarray, errors: np.ndarray, limit: float) -> None:
    worst = int(np.argmax(errors))
    assert errors[worst] <= limit, f"{name}({x[worst]!r}) gave {got[worst]!r}: {errors[worst]} ulp"


def assert_same_signs(name: str, got: np.ndarray, wanted: np.ndarray, x: np.ndarray) -> None:
    different = (np.signbit(got) != np.signbit(wanted)) & ~np.isnan(wanted)
    assert not different.any(), f"the sign of {name}({x[different][:5]})"


def test_there_is_a_vector_function_for_every_rounded_one():
    rounded = {name for name, declared in SCALAR_FUNCTIONS.items() if declared.ulps}
    assert set(ROWS) == set(FUNCTIONS) == rounded | {"sqrt"}


@pytest.mark.parametrize("name", OF_ONE)
def test_float32_in_each_upper_half(name):
    x = np.concatenate([one_of_each_upper_half(), specials(np.float32)])
    got, wanted = on_arrays(name, np.float32, 8)(x), ROWS[name].reference(x.astype(np.float64))
    assert_close(name, got, x, ulps(got, wanted), ROWS[name].float32)
    assert_same_signs(name, got, wanted, x)


@pytest.mark.skipif(not DEEP, reason="four billion numbers take minutes a function; DEEP_TESTS=1 tries them")
@pytest.mark.parametrize("name", OF_ONE)
def test_float32_everywhere(name):
    function, part = on_arrays(name, np.float32, 8), 1 << 14
    for start in range(0, 1 << 32, part):
        x = np.arange(start, start + part, dtype=np.uint64).astype(np.uint32).view(np.float32)
        got, wanted = function(x), ROWS[name].reference(x.astype(np.float64))
        assert_close(name, got, x, ulps(got, wanted), ROWS[name].float32)
        assert_same_signs(name, got, wanted, x)


@pytest.mark.parametrize("name", OF_ONE)
def test_float64_by_exponent(name):
    x = doubles(500 if DEEP else 50)
    got, (wanted, rest) = on_arrays(name, np.float64, 4)(x), exact_parts(ROWS[name].exact, x)
    assert_close(name, got, x, ulps(got, wanted, rest), ROWS[name].float64)


@pytest.mark.parametrize("name", OF_ONE)
def test_float64_signs_and_specials(name):
    x = np.concatenate([specials(np.float64), random_of_each_exponent(np.float64, 1, 3)])
    got, wanted = on_arrays(name, np.float64, 4)(x), ROWS[name].reference(x)
    assert_close(name, got, x, ulps(got, wanted), 16)  # the reference itself is off by some
    assert_same_signs(name, got, wanted, x)


@pytest.mark.parametrize("name", OF_ONE)
def test_references_are_exact_enough(name):
    bits = np.random.default_rng(4).integers(0, 1 << 32, 100_000 if DEEP else 500, dtype=np.uint64)
    x = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    reference, (wanted, _) = ROWS[name].reference(x), exact_parts(ROWS[name].exact, x)
    unit = np.spacing(np.minimum(np.abs(wanted.astype(np.float32)), np.finfo(np.float32).max)).astype(np.float64)
    near = np.abs(reference - wanted) <= 1e-3 * unit
    assert (near | (reference == wanted) | (np.isnan(reference) & np.isnan(wanted))).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ROWS)
def test_same_bits_on_every_width(name, dtype):
    rng = np.random.default_rng(5)
    ordinary = rng.uniform(-9, 9, 99).astype(dtype)
    base = np.concatenate([random_of_each_exponent(dtype, 1, 6)[::3], specials(dtype), ordinary])
    arguments = [rng.permutation(base) for _ in range(ROWS[name].operands)]
    first, *others = [on_arrays(name, dtype, lanes, len(arguments))(*arguments) for lanes in LANES[dtype]]
    is_nan, word = np.isnan(first), f"u{first.itemsize}"
    for other in others:
        assert (np.isnan(other) == is_nan).all()
        assert (first.view(word) == other.view(word))[~is_nan].all()


@pytest.mark.parametrize("dtype", TYPES)
def test_whole_numbers_are_exact(dtype):
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    powers, width = np.ldexp(dtype(1), exponents), LANES[dtype][1]
    assert on_arrays("log2", dtype, width)(powers).tolist() == exponents.tolist()
    assert on_arrays("exp2", dtype, width)(exponents.astype(dtype)).tolist() == powers.tolist()
    tens = list(range(11 if dtype is np.float32 else 23))
    assert on_arrays("log10", dtype, width)(np.array([10.0**n for n in tens], dtype)).tolist() == tens
    numbers = np.arange(-160, 161).astype(dtype)
    assert on_arrays("cbrt", dtype, width)(numbers**3).tolist() == numbers.tolist()


DOCUMENT = Path(__file__).parents[3] / "docs" / "accuracy.md"
NUMPY_NAMES = {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
NUMPY_TABLES = Path(np.__file__).parent / "_core" / "tests" / "data"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [name for name in OF_ONE if name != "sqrt"])
def test_the_tables_of_numpy(name, dtype):
    path = NUMPY_TABLES / f"umath-validation-set-{NUMPY_NAMES.get(name, name)}.csv"
    if not path.exists():
        pytest.skip("NumPy has no table of it")
    type_name, unsigned = ("np.float32", np.uint32) if dtype is np.float32 else ("np.float64", np.uint64)
    lines = [line.split(",") for line in path.read_text().splitlines() if line.startswith(type_name)]
    x, wanted = [np.array([int(line[at], 16) for line in lines], unsigned).view(dtype) for at in (1, 2)]
    assert len(x) > 100
    got = on_arrays(name, dtype, LANES[dtype][1])(x)
    limit = ROWS[name].float32 if dtype is np.float32 else ROWS[name].float64
    errors = np.where(got == wanted, 0, ulps(got, wanted.astype(np.float64)))
    assert_close(name, got, x, errors, limit + 0.5)  # the tables are rounded


@pytest.mark.parametrize("name", ROWS)
def test_the_document_has_what_was_measured(name):
    row, = [line.split("|")[2:-1] for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {name} |")]
    float32, float32_limit, _, float64, float64_limit = [cell.split()[0] for cell in row]
    assert (float(float32_limit), float(float64_limit)) == (ROWS[name].float32, ROWS[name].float64)
    assert 0.4 < float(float32) <= float(float32_limit) and 0.4 < float(float64) <= float(float64_limit)
