"""Reductions as machine code: the one order, for every type and combine, whatever the width and the loops around."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nervure.kernel.ir import (
    Address,
    Apply,
    Buffer,
    Fold,
    For,
    Index,
    Kernel,
    Literal,
    Load,
    Reduce,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.types.dim import DimLike, dim, index
from nervure.types.dtype import (
    DType,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint64,
)
from tests.kernel.block import I, J, K
from tests.transformers.cpu.running import check, run

SIZES = (0, 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 9000)
WIDTHS = (4, 8, 16, 32, 64)
N, M = dim("N"), dim("M")
DEEP = bool(os.environ.get("DEEP_TESTS"))

_NUMBERS = [(dtype, combine) for dtype in (float32, float64, int8, int16, int32, int64, uint8, uint64)
            for combine in ("add", "multiply", "maximum", "minimum")]
_BITS = [(dtype, combine) for dtype in (bool_, int32, uint8) for combine in ("and", "or")]
CASES = [*_NUMBERS, *_BITS, (complex64, "add"), (complex128, "add")]


def some(dtype: DType, size: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype is bool_ or dtype.is_integer:
        return random.integers(0, 2 if dtype is bool_ else 120, size).astype(dtype.numpy)
    numbers = random.standard_normal(size)
    return (numbers + 1j * random.standard_normal(size) if dtype.is_complex else numbers).astype(dtype.numpy)


def at(*steps: tuple[LoopIndex, DimLike], base: DimLike = 0) -> Address:
    return Address(base, steps)


def total(dtype: DType, combine: str, extent: DimLike = N, step: int = 1) -> Kernel:
    reach = abs(step) * (extent - 1) + 1
    x, y = Buffer("x", dtype, reach, "in"), Buffer("y", dtype, 1, "out")
    element, result = Variable(dtype), Variable(dtype)
    place = at((I, step), base=reach - 1 if step < 0 else 0)
    return Kernel("total", (x, y), (
        Reduce((result,), (combine,), ((I, extent),), (Load(element, x, place),), (element,)),
        Store(y, at(), result)))


@pytest.mark.parametrize(("dtype", "combine"), CASES, ids=str)
def test_totals_of_any_length(dtype: DType, combine: str) -> None:
    for number, size in enumerate(SIZES):
        widths = WIDTHS if DEEP else (WIDTHS[number % 5],)
        check(total(dtype, combine), {"x": some(dtype, size), "y": some(dtype, 1)}, {"N": size}, widths)


@pytest.mark.parametrize("combine", ["add", "maximum", "minimum"])
def test_special_values(combine: str) -> None:
    for values in ([np.nan], [np.inf, -np.inf], [-0.0], [-0.0] * 70, [1e38] * 9, [1e-45] * 65, [np.nan, 1.0, np.inf]):
        numbers = np.asarray(values, np.float32)
        check(total(float32, combine), {"x": numbers, "y": some(float32, 1)}, {"N": len(numbers)}, WIDTHS)


@pytest.mark.parametrize("extent", [1, 2, 3, 4, 5, 9, 16, 17, 31, 64, 65, 70, 511, 513, 4100])
@pytest.mark.parametrize("step", [1, -1, 2, 3])
def test_known_lengths_and_steps(extent: int, step: int) -> None:
    reach = abs(step) * (extent - 1) + 1
    check(total(float32, "add", extent, step), {"x": some(float32, reach), "y": some(float32, 1)}, {}, WIDTHS)


def columns(dtype: DType, combine: str, n: DimLike = N, m: DimLike = M) -> Kernel:
    """Over the rows of a matrix, a lane a column."""
    x, y = Buffer("x", dtype, n * m, "in"), Buffer("y", dtype, m, "out")
    element, result = Variable(dtype), Variable(dtype)
    load = Load(element, x, at((J, m), (I, 1)))
    body: tuple[Statement, ...] = (Reduce((result,), (combine,), ((J, n),), (load,), (element,)),
                                   Store(y, at((I, 1)), result))
    return Kernel("columns", (x, y), (For(I, m, body, parallel=True, vector=True),))


@pytest.mark.parametrize(("dtype", "combine"), [(float32, "add"), (float64, "maximum"), (int8, "multiply"),
                                                (bool_, "or"), (complex64, "add")], ids=str)
def test_sums_over_rows(dtype: DType, combine: str) -> None:
    for number, (n, m) in enumerate(((0, 3), (1, 65), (3, 64), (63, 9), (64, 1), (65, 70), (200, 7), (4097, 2))):
        arrays = {"x": some(dtype, n * m), "y": some(dtype, m)}
        widths = WIDTHS if DEEP else (WIDTHS[number % 5], 32)
        check(columns(dtype, combine), arrays, {"N": n, "M": m}, widths, (64,))
        check(columns(dtype, combine, n, m), arrays, {}, 32)


def centred() -> Kernel:
    """The sum of the squares of what is left of each column without its mean, and the mean; many tiles wide."""
    x, y, z = Buffer("x", float32, N * M, "in"), Buffer("y", float32, M, "out"), Buffer("z", float32, M, "out")
    first, second, total, mean, rest, square, result = [Variable(float32) for _ in range(7)]
    place = at((J, M), (I, 1))
    body = (Reduce((total,), ("add",), ((J, N),), (Load(first, x, place),), (first,)),
            Apply(mean, "multiply", (total, Literal(0.125, float32))),
            Reduce((result,), ("add",), ((J, N),), (
                Load(second, x, place), Apply(rest, "subtract", (second, mean)),
                Apply(square, "multiply", (rest, rest))), (square,)),
            Store(y, at((I, 1)), result), Store(z, at((I, 1)), mean))
    return Kernel("centred", (x, y, z), (For(I, M, body, parallel=True, vector=True),))


def test_what_one_reduction_leaves_for_another() -> None:
    for n, m, width in ((8, 70, 8), (8, 5000, 32), (70, 3, 64), (0, 4, 32)):
        arrays = {"x": some(float32, n * m), "y": some(float32, m), "z": some(float32, m)}
        check(centred(), arrays, {"N": n, "M": m}, width, (64, 4160))


def planes(pairs: bool) -> Kernel:
    """Over the first and the last of three indices; rows start in any lane, and blocks end inside of them."""
    x, y, z = Buffer("x", float32, N * 3 * M, "in"), Buffer("y", float32, 3, "out"), Buffer("z", float32, 3, "out")
    element, square, first, second = [Variable(float32) for _ in range(4)]
    body = (Load(element, x, at((J, 3 * M), (I, M), (K, 1))), Apply(square, "multiply", (element, element)))
    reduce = Reduce((first, second), ("add", "maximum"), ((J, N), (K, M)), body, (element, square))
    return Kernel("planes", (x, y, z), (For(I, 3, (reduce, Store(y, at((I, 1)), first),
                                                      Store(z, at((I, 1)), second)), parallel=True, vector=pairs),))


@pytest.mark.parametrize("in_lanes", [False, True])
def test_several_indices(in_lanes: bool) -> None:
    for number, (n, m) in enumerate(((0, 5), (5, 0), (1, 1), (9, 7), (3, 64), (2, 65), (70, 63), (3, 2000), (2, 4096))):
        arrays = {"x": some(float32, n * 3 * m), "y": some(float32, 3), "z": some(float32, 3)}
        widths = WIDTHS if DEEP or n * m < 1000 else (WIDTHS[number % 5],)
        check(planes(in_lanes), arrays, {"N": n, "M": m}, widths, (1,))


def heavy(inner: bool) -> Kernel:
    """Sums of exp over rows, or over columns in lanes."""
    x, y = Buffer("x", float32, N * M, "in"), Buffer("y", float32, N, "out")
    element, power, result = [Variable(float32) for _ in range(3)]
    steps = ((I, M), (J, 1)) if inner else ((J, N), (I, 1))
    body = (Load(element, x, at(*steps)), Apply(power, "exp", (element,)))
    reduce = Reduce((result,), ("add",), ((J, M),), body, (power,))
    return Kernel("heavy", (x, y), (For(I, N, (reduce, Store(y, at((I, 1)), result)), parallel=True,
                                        vector=not inner),))


@pytest.mark.parametrize("inner", [False, True])
def test_every_width_gives_the_same_bits(inner: bool) -> None:
    """Of a function that the interpreter of the loop IR rounds otherwise."""
    for n, m in ((3, 5), (9, 64), (10, 65), (70, 130), (2, 5000)):
        x, results = some(float32, n * m), []
        for width in WIDTHS:
            y = np.zeros(n, np.float32)
            run(heavy(inner), {"x": x, "y": y}, {"N": n, "M": m}, width, (5, 64))
            results.append(y.tobytes())
        assert len(set(results)) == 1
        np.testing.assert_allclose(y, np.exp(x.reshape((n, m) if inner else (m, n))).sum(1 if inner else 0), 1e-5)


@pytest.mark.parametrize("in_lanes", [False, True])
def test_folds_keep_the_first_of_equals(in_lanes: bool) -> None:
    """The position of the largest of few distinct numbers in each row."""
    x, y = Buffer("x", int32, N * M, "in"), Buffer("y", int64, N, "out")
    element, place, best, where = Variable(int32), Variable(int64), Variable(int32), Variable(int64)
    left, right = (Variable(int32), Variable(int64)), (Variable(int32), Variable(int64))
    more, larger, position = Variable(bool_), Variable(int32), Variable(int64)
    fold = Fold((best, where), ((J, M),),
                (Load(element, x, at((I, M), (J, 1))), Index(place, index(1))), (element, place), left, right,
                (Apply(more, "less", (left[0], right[0])), Apply(larger, "where", (more, right[0], left[0])),
                 Apply(position, "where", (more, right[1], left[1]))), (larger, position))
    kernel = Kernel("argmax", (x, y), (For(I, N, (fold, Store(y, at((I, 1)), where)), parallel=True,
                                           vector=in_lanes),))
    for n, m in ((1, 1), (3, 9), (9, 2), (70, 33)):
        numbers = np.random.default_rng(n).integers(0, 5, n * m).astype(np.int32)
        for width in WIDTHS:
            y_array = np.zeros(n, np.int64)
            run(kernel, {"x": numbers, "y": y_array}, {"N": n, "M": m}, width, (2,))
            np.testing.assert_array_equal(y_array, numbers.reshape(n, m).argmax(1))


def test_complex_products_of_nothing_and_of_infinities() -> None:
    for values in ([], [1j], [2 + 1j] * 3):
        numbers = np.asarray(values, np.complex64)
        y = np.zeros(1, np.complex64)
        run(total(complex64, "multiply"), {"x": numbers, "y": y}, {"N": len(numbers)})
        np.testing.assert_allclose(y[0], np.prod(numbers), 1e-6)


def test_a_value_that_does_not_depend_on_the_points_is_added_for_each() -> None:
    y, result = Buffer("y", float32, 1, "out"), Variable(float32)
    kernel = Kernel("count", (y,), (Reduce((result,), ("add",), ((I, N),), (), (Literal(1.0, float32),)),
                                    Store(y, at(), result)))
    for size in (0, 1, 65, 5000):
        check(kernel, {"y": np.zeros(1, np.float32)}, {"N": size})
