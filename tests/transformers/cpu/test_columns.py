"""Sums over rows and sums over all rows in one kernel: the bits of each alone, whatever the sizes and threads."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.plan import KernelStep, make_plan
from nervure.passes.pipelines import standard
from nervure.types.dtype import DType

N, M = nv.dim("N"), nv.dim("M", min=1)
ROWS, ROW = (512, 513, 4096, 4097, 9000), (1, 7, 64, 100)


def kernels(function: nv.Function) -> list[str]:
    return [step.lowered.kernel.name for step in make_plan(standard(function)).steps if isinstance(step, KernelStep)]


def both(x: nv.Parameter, kept: list[int], total: type = nv.ops.Sum, last: int = -1) -> list[object]:
    """A softmax over the last axis, whose rows are in cache, and a total over the other ones."""
    soft = nv.ops.Softmax(x, [last]).output
    return [soft, total(soft * x, kept)]


def run(results: list[object], x: nv.Parameter, values: np.ndarray, threads: int = 2) -> list[np.ndarray]:
    with nv.flags.overriding(threads=threads), nv.transformers.make_transformer("cpu") as cpu:
        return cpu.compile(nv.Function(results, [x]))([values])


def numbers(dtype: DType, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.bfloat16], ids=str)
@pytest.mark.parametrize("total", [nv.ops.Sum, nv.ops.Max, nv.ops.Min])
@pytest.mark.parametrize("symbolic", [False, True])
def test_totals_have_the_bits_that_they_have_alone(dtype, total, symbolic):
    for number, rows in enumerate(ROWS):
        values = numbers(dtype, rows, ROW[number % 4])
        shape = (N, M) if symbolic else values.shape
        x = nv.Parameter(dtype, shape)
        assert kernels(nv.Function(both(x, [0], total), [x])) == ["rows", "columns"]
        soft, together = run(both(x, [0], total), x, values)
        alone = nv.Parameter(dtype, shape)
        assert run([total(alone, [0])], alone, soft * values)[0].tobytes() == together.tobytes()
        for again in (1, 2):
            assert run(both(x, [0], total), x, values, again)[1].tobytes() == together.tobytes()


@pytest.mark.parametrize("shape, kept", [((8, 80, 33), [0, 1]), ((3, 5, 50, 9), [0, 1, 2])])
def test_rows_of_several_axes(shape, kept):
    values, flat = numbers(nv.float32, *shape), (int(np.prod(shape[:-1])), shape[-1])
    x, y = nv.Parameter(nv.float32, shape), nv.Parameter(nv.float32, flat)
    assert kernels(nv.Function(both(x, kept), [x])) == ["rows", "columns"]
    soft, total = run(both(x, kept), x, values)
    flat_soft, flat_total = run(both(y, [0]), y, values.reshape(flat))
    assert soft.tobytes() == flat_soft.tobytes() and total.tobytes() == flat_total.tobytes()


def test_integers_and_sums_of_nothing_but_rows():
    x = nv.Parameter(nv.int16, (5000, 20))
    results = [nv.ops.Sum(x, [1]), nv.ops.Sum(x, [0]), nv.ops.Max(x, [0])]
    assert kernels(nv.Function(results, [x])) == ["rows", "columns"]
    values = np.random.default_rng(1).integers(-30_000, 30_000, (5000, 20), dtype=np.int16)
    for got, expected in zip(run(results, x, values), (values.sum(1), values.sum(0), values.max(0)), strict=True):
        np.testing.assert_array_equal(got, expected.astype(got.dtype))


@pytest.mark.parametrize("rows, row, total, dtype", [
    (511, 64, nv.ops.Sum, nv.float32), (600, 8193, nv.ops.Sum, nv.float32), (600, 64, nv.ops.Prod, nv.float32)])
def test_a_kernel_of_its_own_where_that_is_better(rows, row, total, dtype):
    x = nv.Parameter(dtype, (rows, row))
    assert kernels(nv.Function(both(x, [0], total), [x]))[1:] != ["columns"]


def test_a_gradient_of_layer_norm_is_one_pass():
    x, dy = nv.placeholder((4096, 64)), nv.placeholder((4096, 64))
    scale, shift = nv.placeholder((64,)), nv.placeholder((64,))
    y = nv.layer_norm(x, axes=[1], scale=scale, shift=shift)
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.computation(nv.deriv(y, [x, scale, shift], error=dy), x, scale, shift, dy)
        assert [made.lowered.kernel.name for made in step.executable.compilation.plan.steps] == ["rows", "columns"]
        given = [numbers(nv.float32, *shape) for shape in ((4096, 64), (64,), (64,), (4096, 64))]
        results = step(*given)
    centred = given[0] - given[0].mean(1, keepdims=True, dtype=np.float64)
    hat = centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-5)
    g = given[3] * given[1].astype(np.float64)
    wanted = (g - g.mean(1, keepdims=True) - hat * (g * hat).mean(1, keepdims=True)) / np.sqrt(
        (centred ** 2).mean(1, keepdims=True) + 1e-5)
    sums = (given[3] * hat).sum(0), given[3].sum(0, dtype=np.float64)
    for got, expected in zip(results, (wanted, *sums), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_rows_of_which_there_is_one_at_most():
    x = nv.Parameter(nv.float32, (nv.dim("R", max=1),))
    row, column = nv.ops.Broadcast(x, x.shape * 2, (1,)), nv.ops.Broadcast(x, x.shape * 2, (0,))
    total = nv.ops.Sum(row.output * column.output, [0])
    assert [run([total], x, numbers(nv.float32, rows) * 0 + 3)[0].tolist() for rows in (0, 1)] == [[], [9.0]]
