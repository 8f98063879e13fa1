"""Sorting without positions: the bits of the stable order, by one thread and by all, for all types and lengths."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64", "float16", "int8")
SHAPES = ((16, 16), (37, 100), (8, 17), (33, 700), (4, 4096), (2, 5), (1, 1), (3, 0), (1, 300))
LONG = ((1, 8193), (1, 32768), (1, 70001))


def drawn(shape: tuple[int, ...], dtype: str, is_special: bool) -> np.ndarray:
    """Elements of which many are equal, and the ends of their type; zeros of both signs and NaN if they are special."""
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind != "f":
        ends = np.iinfo(dtype)
        found = rng.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        found.reshape(-1)[:4] = np.array([ends.min, ends.max, ends.min, 0], dtype)[:found.size]
        return found
    found = np.round(rng.standard_normal(shape) * 9, 1).astype(dtype)
    if is_special:
        for value in (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf):
            found[rng.random(shape) < 0.03] = value
    else:
        found[found == 0] = 1
    return found


def check(x: np.ndarray, descending: bool) -> None:
    kind = getattr(nv, str(x.dtype))
    expected, _ = nv.ops.Sort(nv.Parameter(kind, x.shape), descending=descending).compute(x)
    given = nv.placeholder(x.shape, dtype=kind)
    compute = nv.computation(nv.sort(given, descending=descending), given)
    assert np.asarray(compute(x)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_values_alone_have_the_bits_of_the_stable_order(dtype, descending):
    for shape in SHAPES:
        for is_special in (False, True):
            check(drawn(shape, dtype, is_special), descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_all_floats_of_a_byte_are_in_order(dtype, descending):
    """Of those whose only NaN has the bits of a negative zero, too."""
    every = np.random.default_rng(0).permutation(np.arange(256, dtype=np.uint8)).view(getattr(nv, dtype).numpy)
    check(every[None], descending)


def patterns(count: int) -> dict[str, np.ndarray]:
    """Rows for which a quicksort may take a bad pivot again and again."""
    steps = np.arange(count)
    return {"sorted": steps, "reversed": steps[::-1], "organ pipe": np.minimum(steps, count - steps),
            "sawtooth": steps % 97, "equal but one": (steps == count // 3), "two values": steps % 2,
            "powers": np.exp2(steps % 60) * (steps % 7 - 3),
            "every second is large": np.where(steps % 2, 2.0 ** 60, steps),
            "bits turned": np.array([int(f"{step:020b}"[::-1], 2) for step in steps])}


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("count", [257, 5000])
def test_rows_with_a_pattern(count, dtype):
    given = nv.placeholder((count,), dtype=getattr(nv, dtype))
    compute = nv.computation(nv.sort(given), given)
    for name, x in patterns(count).items():
        x = x.astype(dtype)
        assert np.asarray(compute(x)).tobytes() == np.sort(x, kind="stable").tobytes(), name


@pytest.mark.parametrize("dtype", ["float32", "uint64"])
def test_each_number_of_keys_that_vectors_do_not_fill(dtype):
    n = nv.dim("n")
    given = nv.placeholder((2, n), dtype=getattr(nv, dtype))
    compute = nv.computation(nv.sort(given), given)
    for length in range(301):
        x = drawn((2, length), dtype, True)
        assert np.asarray(compute(x)).tobytes() == np.sort(x, -1, kind="stable").tobytes(), length


@pytest.mark.parametrize("dtype", TYPES[:6])
@pytest.mark.parametrize("shape", LONG)
def test_long_rows_are_merged_from_runs(shape, dtype):
    check(drawn(shape, dtype, dtype == "float64"), dtype == "uint32")


@pytest.mark.parametrize("shape", [(40, 100), (2, 9000)])
def test_rows_in_order_and_against_it(shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for given in (x, x[:, ::-1].copy(), np.zeros(shape, np.float32), np.full(shape, np.nan, np.float32)):
        check(given, False)


def test_values_and_positions_of_one_sort_agree():
    x = drawn((40, 100), "float32", True)
    given = nv.placeholder(x.shape)
    values, positions = nv.computation([nv.sort(given), nv.argsort(given)], given)(x)
    alone = nv.computation(nv.sort(given), given)(x)
    assert np.asarray(values).tobytes() == np.asarray(alone).tobytes()
    np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(positions), 1), np.asarray(values))


def test_lengths_that_are_symbols():
    n, m = nv.dim("n"), nv.dim("m")
    given = nv.placeholder((n, m))
    compute = nv.computation(nv.sort(given), given)
    for shape in ((3, 4), (50, 33), (2, 9001), (0, 5)):
        x = drawn(shape, "float32", True)
        assert np.asarray(compute(x)).tobytes() == np.sort(x, -1, kind="stable").tobytes()
