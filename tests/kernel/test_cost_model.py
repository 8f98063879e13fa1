"""What kernels move and compute, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.cost_model import nanoseconds_per_point, work
from nervure.kernel.machine import GENERIC
from nervure.kernel.parser import parse_kernel
from nervure.kernel.plan import make_plan

N = nv.dim("N", min=1)


def matrix(*shape, dtype=nv.float32):
    return nv.Parameter(dtype, shape)


def works(results, parameters, **bindings):
    return [work(step.lowered.kernel, bindings) for step in make_plan(nv.Function(results, parameters)).steps]


def test_a_row_that_is_read_in_each_of_three_runs_counts_once():
    x = matrix(32, N)
    e = ops.Exp(x - ops.Broadcast(ops.Max(x, [1]), x.shape, [1]))
    found, = works([e / ops.Broadcast(ops.Sum(e, [1]), x.shape, [1])], [x], N=100)
    assert found.bytes == 2 * 32 * 100 * 4


@pytest.mark.parametrize(("build", "operations"), [
    (lambda x: x + x, 1), (lambda x: ops.Exp(x), 16), (lambda x: x * x + x, 2), (lambda x: ops.Sqrt(x) / x, 2)])
def test_operations(build, operations):
    x = matrix(N)
    found, = works([build(x)], [x], N=1000)
    assert found.operations == 1000 * operations


def test_a_reduction_counts_its_combinations():
    x = matrix(32, N)
    found, = works([ops.Sum(x, [1])], [x], N=50)
    assert (found.bytes, found.operations) == (32 * 50 * 4 + 32 * 4, 32 * 50)


def test_a_gather_counts_the_rows_that_it_takes():
    table, rows = matrix(1000, 8), nv.Parameter(nv.int64, (5,))
    found, = works([ops.Gather(table, rows, 0)], [table, rows])
    assert found.bytes == 5 * 8 * 4 * 2 + 5 * 8


def test_a_broadcast_operand_counts_once():
    x, row = matrix(N, 64), matrix(64)
    found, = works([x + ops.Broadcast(row, x.shape, [0])], [x, row], N=10)
    assert found.bytes == 2 * 10 * 64 * 4 + 64 * 4


def test_width_is_of_the_widest_float():
    double, single, integer = matrix(N, dtype=nv.float64), matrix(N), matrix(N, dtype=nv.int64)
    assert works([double + double], [double], N=3)[0].width == 8
    assert works([ops.Convert(ops.Convert(single, nv.float64), nv.float32)], [single], N=3)[0].width == 8
    assert works([integer + integer], [integer], N=3)[0].width == 4


def test_nothing_is_nothing():
    x = matrix(N)
    assert works([x + x], [x], N=0) == [(0, 0, 4)]


def test_a_transpose_moves_whole_lines():
    text = """
kernel pack(in x: f32[6400], out y: f32[6400]):
  for i < 80 as transpose:
    for j < 80 vector:
      v0 = x[i + 80*j]
      y[80*i + j] = v0
"""
    transpose = parse_kernel(text)
    apart = parse_kernel(text.replace(" as transpose", ""))
    assert nanoseconds_per_point(transpose, GENERIC) == 8 * GENERIC.byte_from_memory
    assert nanoseconds_per_point(apart, GENERIC) > GENERIC.element_apart


BORDERS = """
kernel borders(in x: f32[1000], out y: f32[1000]):
  for i < 10 parallel:
    for j < 3:
      for k < 8*min(j, 1) - 7*max(j - 1, 0) + 1:
        v0 = x[100*i + 10*j + k]
        v1 = add(v0, v0)
        y[100*i + 10*j + k] = v1
"""


def test_lengths_that_are_others_at_borders_count_as_they_are():
    assert work(parse_kernel(BORDERS), {}).operations == 10 * (1 + 9 + 2)


@pytest.mark.parametrize("side", [8, 9, 1001])
def test_half_a_square_counts_half(side):
    kernel = parse_kernel(f"""
kernel triangle(in x: f32[{side * side}], out y: f32[{side}]):
  for i < {side} parallel:
    v0 = reduce add over j < i:
      v1 = x[{side}*i + j]
      give v1
    y[i] = v0
""")
    assert work(kernel, {}).operations == pytest.approx(side * (side - 1) / 2, rel=1 / side)


def test_zeros_around_images_that_no_product_multiplies_do_not_count():
    x, weights = nv.placeholder((16, 64, 14, 14)), np.zeros((64, 64, 3, 3), np.float32)
    y = nv.relu(nv.convolution(x, nv.variable(weights.shape, weights), padding=1))
    step = nv.computation(nv.convolution(y, nv.variable(weights.shape, weights), padding=1), x)
    found = nv.explain(step, np.zeros(x.shape, np.float32), repeat=1)
    products = [entry.operations for entry in found.steps if entry.name == "product"]
    assert products
    multiplied = 2 * 64 * 64 * 16 * (14 * 3) * (14 * 3 - 2)   # of windows, all columns, but rows of data alone
    for operations in products:
        assert operations == pytest.approx(multiplied, rel=0.02)
