"""One order of reduction (O75): the bits of a sum depend on how many elements it has, and on nothing else."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.kernel.interpret import Accumulator
from nervure.kernel.ir import Load, Reduce, walk
from nervure.kernel.plan import make_plan
from nervure.kernel.printer import print_kernel
from nervure.passes.pipelines import standard
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dtype import as_dtype
from tests.kernel.reduction_rule import reduced
from tests.transformers.cpu.running import run

LENGTHS = [*range(1, 201), 4095, 4096, 4097, 10_000]
A_FEW = [1, 7, 63, 64, 65, 200, 4095, 4097, 10_000]
ROWS = 6
SUM_TYPES = ["float32", "float64"]
N, P, Q = (nv.dim(name, min=1) for name in "NPQ")


@cache
def table(dtype: str) -> np.ndarray:
    """Six rows of numbers whose sum is another one in nearly every order."""
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((ROWS, max(LENGTHS))) * 10.0 ** generator.integers(-3, 4, (ROWS, max(LENGTHS)))
    return rows.astype(dtype)


@cache
def expected(dtype: str, length: int, combine: str = "add", producer: str = "x") -> bytes:
    """What a reduction of each row means."""
    rows = PRODUCERS[producer](table(dtype)[:, :length], table(dtype)[::-1, :length])
    total = Accumulator(combine, as_dtype(dtype), NumPyScalars())
    for column in rows.T:
        total.add(column)
    return total.result().tobytes()


PRODUCERS = {
    "x": lambda x, y: x,
    "near 1": lambda x, y: x / (abs(x) + abs(y)) / 16 + 1,
    "x y": lambda x, y: x * y,
    "(x-y)^2": lambda x, y: (x - y) * (x - y),
}

# How the six rows of some length lie in an argument: its axes, the axes that are left, and the argument itself.
LAYOUTS = {
    "row": ({"A": ROWS, "N": N}, ["A"], lambda rows: rows),
    "column": ({"N": N, "A": ROWS}, ["A"], lambda rows: rows.T),
    "middle": ({"A": 2, "N": N, "B": 3}, ["A", "B"], lambda rows: rows.reshape(2, 3, -1).transpose(0, 2, 1)),
    "two around": ({"P": P, "A": ROWS, "Q": Q}, ["A"], lambda rows: divided(rows).transpose(1, 0, 2)),
    "two inside": ({"A": ROWS, "P": P, "Q": Q}, ["A"], lambda rows: divided(rows)),
    "two outside": ({"P": P, "Q": Q, "A": ROWS}, ["A"], lambda rows: divided(rows).transpose(1, 2, 0)),
    "many rows": ({"B": 23, "A": ROWS, "N": N}, ["B", "A"], lambda rows: np.broadcast_to(rows, (23, *rows.shape))),
    "many columns": ({"N": N, "B": 23, "A": ROWS}, ["B", "A"],
                     lambda rows: np.broadcast_to(rows.T[:, None], (rows.shape[1], 23, ROWS))),
}


def divided(rows: np.ndarray) -> np.ndarray:
    """The rows with their length as a product, as square as it can be."""
    length = rows.shape[1]
    first = next(k for k in range(math.isqrt(length), 0, -1) if length % k == 0)
    return rows.reshape(ROWS, first, length // first)


def test_other_orders_have_other_bits():
    found = {length: np.cumsum(table("float32")[:, :length], axis=1)[:, -1].tobytes() for length in LENGTHS[16:]}
    assert np.mean([found[length] == expected("float32", length) for length in found]) < 0.02


@pytest.mark.parametrize("dtype", SUM_TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sum_anywhere_is_the_sum_of_its_elements(each_cpu, layout, dtype):
    axes, left, place = LAYOUTS[layout]
    x = nv.placeholder(axes, dtype)
    total = each_cpu.computation(nv.sum(x, out_axes=left), x)
    for length in LENGTHS:
        bits = total(np.ascontiguousarray(place(table(dtype)[:, :length]))).tobytes()
        wanted = expected(dtype, length)
        assert bits == wanted * (len(bits) // len(wanted)), length


@pytest.mark.parametrize("dtype", SUM_TYPES)
@pytest.mark.parametrize("is_divided", [False, True])
def test_a_sum_of_everything(each_cpu, is_divided, dtype):
    x = nv.placeholder({"P": P, "Q": Q} if is_divided else {"N": N}, dtype)
    total = each_cpu.computation(nv.sum(x, out_axes=()), x)
    for length in LENGTHS:
        rows = table(dtype)[:, :length]
        assert total((divided(rows) if is_divided else rows)[2]).tobytes() == \
            expected(dtype, length)[2 * rows.itemsize:3 * rows.itemsize], length


@pytest.mark.parametrize("kept", ["fused", "stored", "shared"])
@pytest.mark.parametrize("producer", ["x y", "(x-y)^2"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_it_is_fused_with_does_not_count(layout, producer, kept):
    axes, left, place = LAYOUTS[layout]
    x, y = nv.placeholder(axes), nv.placeholder(axes)
    with nv.transformers.make_transformer("cpu") as cpu:
        terms = PRODUCERS[producer](x, y)
        total, extreme = nv.sum(terms, out_axes=left), nv.max(terms, out_axes=left)
        more = {"fused": [], "stored": [terms], "shared": [extreme, nv.sum(x, out_axes=left), terms - extreme]}[kept]
        step = cpu.computation([total, *more], x, y)
        for length in A_FEW:
            rows = table("float32")[:, :length]
            bits = step(*[np.ascontiguousarray(place(each)) for each in (rows, rows[::-1])])[0].tobytes()
            wanted = expected("float32", length, "add", producer)
            assert bits == wanted * (len(bits) // len(wanted)), length


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_have_the_same_order(each_cpu, layout):
    axes, left, place = LAYOUTS[layout]
    x = nv.placeholder(axes)
    product = each_cpu.computation(nv.prod(x, out_axes=left), x)
    for length in A_FEW:
        rows = table("float32")[:, :length]
        bits = product(np.ascontiguousarray(place(PRODUCERS["near 1"](rows, rows[::-1])))).tobytes()
        wanted = expected("float32", length, "multiply", "near 1")
        assert bits == wanted * (len(bits) // len(wanted)), length


@pytest.mark.parametrize("length", A_FEW)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sizes_that_are_known_when_compiling(layout, length):
    axes, left, place = LAYOUTS[layout]
    rows = place(table("float32")[:, :length])
    x = nv.placeholder(dict(zip(axes, rows.shape, strict=True)))
    with nv.transformers.make_transformer("cpu") as cpu:
        bits = cpu.computation(nv.sum(x, out_axes=left), x)(np.ascontiguousarray(rows)).tobytes()
    wanted = expected("float32", length)
    assert bits == wanted * (len(bits) // len(wanted))


@pytest.mark.parametrize("length", [16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 80, 100, 129, 200, 255, 256, 257])
def test_a_few_rows_of_all_kinds(length):
    """Sums of products, of several types, extremes and truths in one loop of columns, whose number fills no vector."""
    rows = table("float32")[:, :length]
    x, y = np.repeat(rows.T[:, :, None], 23, 2), np.repeat(rows[::-1].T[:, :, None], 23, 2)
    z = x.astype(np.complex64) + 1j * y
    given = [nv.placeholder(x.shape), nv.placeholder(x.shape), nv.placeholder(x.shape, nv.complex64)]
    a, b, c = given
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.computation([nv.sum(a * b, axis=0), nv.max(a - b, axis=0), nv.any(a > b, axis=0),
                                nv.sum(nv.convert(a, nv.float64), axis=0), nv.sum(c, axis=0)], *given)
        products, extremes, truths, wide, complex_sums = step(x, y, z)
    for kind, found in (("x y", products), ("x", complex_sums.real)):
        wanted = np.frombuffer(expected("float32", length, "add", kind), np.float32)
        assert np.array_equal(found, np.repeat(wanted[:, None], 23, 1)), kind
    assert np.array_equal(extremes, (x - y).max(0)) and np.array_equal(truths, (x > y).any(0))
    assert np.array_equal(complex_sums.imag, complex_sums.real[::-1])
    np.testing.assert_allclose(wide, x.sum(0, dtype=np.float64), rtol=1e-12)


@pytest.mark.parametrize("length", [200, 4097])
@pytest.mark.parametrize("is_column", [False, True])
def test_threads_runs_and_the_place_in_the_batch_do_not_count(is_column, length):
    count = 6 * (4_000_000 // (6 * length))
    rows = np.tile(table("float32")[:, :length], (count // 6, 1))
    x = nv.placeholder({"N": N, "B": nv.dim("B")} if is_column else {"B": nv.dim("B"), "N": N})
    wanted = expected("float32", length)
    with nv.transformers.make_transformer("cpu") as cpu:
        total = cpu.computation(nv.sum(x, out_axes=["B"]), x)
        for threads in (1, 2, 2, 2):
            with flags.overriding(threads=threads):
                assert total(np.ascontiguousarray(rows.T if is_column else rows)).tobytes() == wanted * (count // 6)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize(("layout", "along"), [("row", 1), ("column", 0), ("middle", 1), ("many columns", 0)])
def test_wider_and_narrower_vectors(layout, along, vector_bytes):
    _, _, place = LAYOUTS[layout]
    for length in [1, 17, 64, 65, 200, 4097]:
        rows = place(table("float32")[:, :length])
        x = nv.Parameter(nv.float32, rows.shape)
        step, = make_plan(standard(nv.Function([nv.ops.Sum(x, [along])], [x]))).steps
        kernel, found = step.lowered.kernel, np.zeros(rows.size // length, np.float32)
        names = [buffer.name for buffer in kernel.buffers if buffer.role != "scratch"]
        run(kernel, dict(zip(names, [np.ascontiguousarray(rows).ravel(), found], strict=True)), {}, vector_bytes)
        wanted = expected("float32", length)
        assert found.tobytes() == wanted * (found.nbytes // len(wanted)), length


@pytest.mark.parametrize("dtype", SUM_TYPES)
@pytest.mark.parametrize(("shape", "axes"), [((16_384, 6), [0]), ((16_389, 3), [0]), ((40, 500, 7), [0, 1]),
                                             ((40, 16, 1_100, 1, 3), [0, 2]), ((2, 16_400, 5), [1])])
def test_blocks_of_long_columns_are_shared_by_threads(dtype, shape, axes):
    """Where the length is known and there are rows enough for all threads, too."""
    rng = np.random.default_rng(0)
    array = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
    x = nv.Parameter(as_dtype(dtype), shape)
    function = nv.Function([nv.ops.Sum(x, axes), nv.ops.Max(nv.ops.Absolute(x), axes)], [x])
    assert [step.lowered.kernel.name for step in make_plan(standard(function)).steps] == ["blocks", "totals"]
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    rows = np.ascontiguousarray(array.transpose(kept + axes)).reshape([shape[axis] for axis in kept] + [-1])
    y = nv.Parameter(as_dtype(dtype), rows.shape)
    alone = nv.Function([nv.ops.Sum(y, [len(kept)]), nv.ops.Max(nv.ops.Absolute(y), [len(kept)])], [y])
    with nv.transformers.make_transformer("cpu") as cpu:
        expected = [result.tobytes() for result in cpu.build(alone)(rows)]
        for threads in (1, 2):
            with flags.overriding(threads=threads):
                assert [result.tobytes() for result in cpu.build(function)(array)] == expected


@pytest.mark.parametrize(("shape", "axes"), [((40, 7, 500), [0, 2]), ((3, 2, 50, 70), [0, 2, 3]),
                                             ((9, 3, 70, 2, 33), [0, 2, 4])])
def test_few_rows_of_axes_that_lie_apart_are_no_blocks(shape, axes):
    """Where an element of a block lies would take a division: images of few channels took ten times as long."""
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = nv.Parameter(nv.float32, shape)
    function = nv.Function([nv.ops.Sum(x, axes)], [x])
    step, = make_plan(standard(function)).steps
    assert step.lowered.kernel.name == "rows" and "//" not in print_kernel(step.lowered.kernel)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    with nv.transformers.make_transformer("cpu") as cpu:
        found, = cpu.build(function)(array)
        rows = np.ascontiguousarray(array.transpose(kept + axes)).reshape([*found.shape, -1])
        y = nv.Parameter(nv.float32, rows.shape)
        alone, = cpu.build(nv.Function([nv.ops.Sum(y, [len(kept)])], [y]))(rows)
    assert found.tobytes() == alone.tobytes()


@pytest.mark.parametrize("batch", [40, N])
@pytest.mark.parametrize("inner", [(64,), (256,), (8, 16), (4096,), (2, 2048)])
def test_blocks_of_whole_rows_are_read_row_by_row_in_another_order(batch, inner):
    """One operand lies otherwise than the sum goes, so that the places of its elements are quotients of blocks."""
    rng = np.random.default_rng(0)
    back, there = (40, 30, *inner), (30, 40, *inner)
    x, y = [rng.standard_normal(shape).astype(np.float32) for shape in (back, there)]
    first, second = nv.Parameter(nv.float32, (batch, 30, *inner)), nv.Parameter(nv.float32, (30, batch, *inner))
    turned = nv.ops.Permute(second, (1, 0, *range(2, len(back))))
    function = nv.Function([nv.ops.Sum(first - turned, range(len(back)))], [first, second])
    blocks = make_plan(standard(function)).steps[0].lowered.kernel
    reduce, = [entry for entry in walk(blocks.body) if isinstance(entry, Reduce)]
    loads = [entry for entry in reduce.body if isinstance(entry, Load)]
    assert blocks.name == "blocks" and len(loads) == 2
    assert all([entry.address.step(reduce.indices[-1][0]) == 1 for entry in loads])
    wanted = reduced((x - y.swapaxes(0, 1)).ravel())
    with nv.transformers.make_transformer("cpu") as cpu:
        for threads in (1, 2):
            with flags.overriding(threads=threads):
                assert cpu.build(function)(x, y)[0].tobytes() == wanted.tobytes()
