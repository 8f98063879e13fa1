"""Rows of a few elements, whose lengths are part of the code: the bits of NumPy, whatever the length and the type."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.parser import parse_kernel
from nervure.kernel.schedule import schedule_kernel
from nervure.support.machine import GENERIC
from nervure.types.dtype import DType
from tests.transformers.cpu.running import check

SCALED = """
kernel scaled(in x: f32[{size}], out y: f32[{size}], in scale: f32[{columns}]):
  for i < {rows} parallel:
    for j < {columns} vector:
      v0 = x[{columns}*i + j]
      v1 = index 3*j
      v2 = convert(v1) f32
      v3 = scale[j]
      v4 = multiply(v0, v3)
      v5 = add(v4, v2)
      y[{columns}*i + j] = v5
"""


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.int16, nv.uint8], ids=str)
@pytest.mark.parametrize("columns", [*range(1, 19), 33, 63, 64, 65])
def test_rows_with_a_scale_and_a_shift_for_each_column(cpu, dtype: DType, columns: int) -> None:
    rng = np.random.default_rng(columns)
    for rows in (1, 16, 40, 83):
        arrays = [rng.integers(0, 11, shape).astype(dtype.numpy) for shape in ((rows, columns), (columns,), (columns,))]
        x, scale, shift = [nv.placeholder(array.shape, dtype=dtype) for array in arrays]
        results = [x * scale + shift, nv.sum(x * scale, axis=1), nv.max(x + shift, axis=0)]
        step = cpu.computation(results, x, scale, shift)
        a, b, c = arrays
        wanted = a * b + c, (a * b).sum(1, dtype=np.int64), (a + c).max(0)
        for got, expected in zip(step(*arrays), wanted, strict=True):
            np.testing.assert_array_equal(got, expected.astype(got.dtype))


@pytest.mark.parametrize("columns", [2, 3, 5, 6, 7, 10, 12, 14])
def test_joined_rows_on_every_width(columns: int) -> None:
    rng = np.random.default_rng(0)
    for rows in (8, 16, 80):
        kernel = schedule_kernel(parse_kernel(SCALED.format(rows=rows, columns=columns, size=rows * columns)), GENERIC)
        arrays = {name: rng.standard_normal(size).astype(np.float32)
                  for name, size in (("x", rows * columns), ("y", rows * columns), ("scale", columns))}
        for width in (8, 16, 32, 64):
            check(kernel, arrays, {}, width, (1, 3))


@pytest.mark.parametrize("columns", [3, 10, 16, 17, 40, 64, 100])
def test_a_softmax_of_short_rows(cpu, columns: int) -> None:
    array = np.random.default_rng(0).standard_normal((33, columns)).astype(np.float32)
    x = nv.placeholder(array.shape)
    got = cpu.computation(nv.softmax(x, axis=1), x)(array)
    powers = np.exp(array.astype(np.float64) - array.max(1, keepdims=True))
    np.testing.assert_allclose(got, powers / powers.sum(1, keepdims=True), rtol=5e-7)
    alone = nv.placeholder((columns,))
    one = cpu.computation(nv.softmax(alone, axis=0), alone)
    assert all([one(row).tobytes() == soft.tobytes() for row, soft in zip(array, got, strict=True)])
