"""The elements that kernels move and compute, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.parser import parse_kernel
from nervure.kernel.plan import make_plan
from nervure.kernel.work import Work, work_of
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.passes.pipelines import native
from nervure.support.machine import GENERIC

N = nv.dim("N", min=1)


def matrix(*shape, dtype=nv.float32):
    return nv.Parameter(dtype, shape)


def works(results, parameters, **bindings):
    plan = make_plan(nv.Function(results, parameters))
    return [work_of(step.lowered.kernel, bindings, GENERIC) for step in plan.steps]


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
    assert works([x + x], [x], N=0) == [Work()]


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
    assert work_of(parse_kernel(BORDERS), {}, GENERIC).operations == 10 * (1 + 9 + 2)


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
    assert work_of(kernel, {}, GENERIC).operations == pytest.approx(side * (side - 1) / 2, rel=1 / side)


def test_zeros_around_images_that_no_product_multiplies_do_not_count(cpu):
    x, weights = nv.placeholder((16, 64, 14, 14)), np.zeros((64, 64, 3, 3), np.float32)
    y = nv.relu(nv.convolution(x, nv.variable(weights.shape, weights), padding=1))
    step = nv.computation(nv.convolution(y, nv.variable(weights.shape, weights), padding=1), x)
    found = nv.explain(step, np.zeros(x.shape, np.float32), repeat=1)
    products = [entry.operations for entry in found.steps if entry.name == "product"]
    assert products
    multiplied = 2 * 64 * 64 * 16 * (14 * 3 - 2) ** 2  # rows and columns of windows that are rows and columns of data
    for operations in products:
        assert operations == pytest.approx(multiplied, rel=0.02)


def counted(text: str, **bindings: int) -> Work:
    return work_of(parse_kernel(text), bindings, GENERIC)


def test_a_vector_loop_does_the_work_of_its_lanes():
    work = counted("""
kernel twice(in x: f32[100], out y: f32[100]):
  for i < 100 vector:
    v0 = x[i]
    v1 = add(v0, v0)
    v2 = exp(v1)
    y[i] = v2
""")
    assert work.loads == 26 and work.entries == 1 and work.elements == 0
    assert work.additions > 13 * 2  # exp takes many


def test_a_function_of_wide_elements_takes_more_registers():
    narrow, wide = [counted(f"""
kernel ends(in x: {dtype}[64], out y: {dtype}[64]):
  for i < 64 vector:
    v0 = x[i]
    v1 = exp(v0)
    y[i] = v1
""") for dtype in ("f32", "f64")]
    assert wide.additions == 2 * narrow.additions == 2 * 64 / GENERIC.lanes * SCALAR_FUNCTIONS["exp"].cost


@pytest.mark.parametrize(("how", "vectors", "entries"), [
    ("", 7, 1), ("lanes 32, 8 masked 8", 4 + 2 + 1, 1), ("lanes 32 masked 32", 8, 1),
    ("lanes 64 masked 64 unrolled", 8, 0), ("tile 2048 lanes 16, 64", 8, 1)])
def test_a_vector_loop_runs_as_it_says(how, vectors, entries):
    """Lanes that have no iteration take as long as those that have one."""
    work = counted(f"""
kernel rows(in x: f32[50], out y: f32[50]):
  for i < 50 vector {how}:
    v0 = x[i]
    y[i] = v0
""")
    assert (work.loads, work.entries) == (2 * vectors, entries)


def test_sums_in_lanes_wait_for_each_other_unless_several_vectors_are_added_to_at_once():
    text = """
kernel sums(in x: f32[6400], out y: f32[64]):
  for i < 64 vector lanes {} masked 8:
    v0 = reduce add over j < 100:
      v1 = x[i + 64*j]
      give v1
    y[i] = v0
"""
    assert [counted(text.format(lanes)).waits for lanes in (8, 32)] == [800, 200]


@pytest.mark.parametrize(("how", "additions", "waits", "sums"), [
    ("", 13, 0, 1), (" as registers 64", 13, 0, 1), (" as chain", 100, 100, 0), (" as unrolled", 100, 100, 0)])
def test_a_reduction_runs_in_lanes_unless_it_is_a_chain(how, additions, waits, sums):
    work = counted(f"""
kernel sum(in x: f32[100], out y: f32[1]):
  v0 = reduce add over j < 100{how}:
    v1 = x[j]
    give v1
  y[0] = v0
""")
    assert (work.additions, work.waits, work.sums) == (additions, waits, sums)


def test_elements_in_lines_of_their_own_are_told_from_those_that_share_them():
    text = """
kernel read(in x: f32[10000], out y: f32[8]):
  for i < 8 vector:
    v0 = x[{}*i]
    y[i] = v0
"""
    assert [counted(text.format(step)).lines for step in (1, 4, 16, 1000)] == [0, 0, 8, 8]


@pytest.mark.parametrize(("place", "loads", "elements"), [
    ("i", 2, 0), ("2*i", 3, 0), ("7*i", 1, 8), ("3", 1, 0), ("i//3", 1, 8)])
def test_what_lies_apart_is_read_element_by_element(place, loads, elements):
    work = counted(f"""
kernel read(in x: f32[100], out y: f32[8]):
  for i < 8 vector:
    v0 = x[{place}]
    y[i] = v0
""")
    assert work.loads == loads and work.elements == elements


def test_a_reduction_runs_in_lanes_and_ends_once():
    work = counted("""
kernel sums(in x: f32[100*N], out y: f32[N]):
  symbol N
  for i < N:
    v0 = reduce add over j < 100:
      v1 = x[100*i + j]
      give v1
    y[i] = v0
""", N=10)
    assert work.sums == 10 and work.additions == 130 and work.loads == 130 and work.elements == 10


def test_lengths_that_depend_on_an_outer_index_count_on_average():
    work = counted("""
kernel triangle(in x: f32[4096], out y: f32[4096]):
  for i < 64:
    for j < i:
      v0 = x[64*i + j]
      y[64*i + j] = v0
""")
    assert work.elements == pytest.approx(64 * 63, rel=0.05)


def test_products_count_their_tiles():
    x, w = nv.Parameter(nv.float32, (100, 60)), nv.Parameter(nv.float32, (60, 50))
    kernel = make_plan(native(nv.Function([nv.ops.MatMul(x, w)], [x, w]))).steps[0].kernel
    assert work_of(kernel, {}, GENERIC).multiply_adds == 104 * 64 * 60


def test_positions_of_a_window_that_meet_padding_alone_do_not_count(cpu):
    """Dilated by more than the length of an image, a window has elements at its middle alone."""
    batch, weights = nv.dim("B", min=1), np.ones((64, 64, 3, 3), np.float32)
    x = nv.placeholder((batch, 64, 8, 8))
    y = nv.convolution(x, nv.variable(weights.shape, weights), padding=12, dilations=12)
    step, images = nv.computation(y, x), np.ones((2, 64, 8, 8), np.float32)
    assert np.array_equal(step(images), np.full((2, 64, 8, 8), 64, np.float32))
    product, = [entry for entry in nv.explain(step, images, repeat=1).steps if entry.name == "product"]
    assert product.operations == pytest.approx(2 * 64 * 64 * 2 * 8 * 8, rel=0.02)


@pytest.mark.parametrize(("kind", "width"), [("f32", 4), ("f64", 8)])
def test_products_in_blocks_say_how_wide_their_elements_are(kind, width):
    work = counted(f"""
kernel blocks(in x: {kind}[30], in y: {kind}[20], out z: {kind}[24]):
  for i < 1 parallel:
    for j < 6 as product:
      for k < 4 vector:
        v0 = contract over l < 5:
          v1 = x[5*j + l]
          v2 = y[k + 4*l]
          give v1, v2
        z[4*j + k] = v0
""")
    assert (work.width, work.operations) == (width, 2 * 6 * 4 * 5)
