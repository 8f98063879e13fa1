"""Products in blocks: how sides are read, that tasks share out all results, and runs of points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.interpret import interpret
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.kernel.parser import parse_kernel
from nervure.kernel.plan import make_plan
from nervure.kernel.printer import print_kernel
from nervure.kernel.routines import filling_of
from nervure.kernel.schedule.loop_partition import Range
from nervure.kernel.schedule.products import packed_apart, with_matrix_products
from nervure.kernel.schedule.products.blocking import blocking_of
from nervure.kernel.schedule.products.boxes import Grid
from nervure.kernel.schedule.products.matrices import Matrices, matrices_of
from nervure.kernel.schedule.products.notes import described_products
from nervure.kernel.schedule.products.sides import reading_of
from nervure.kernel.schedule.products.split_indices import with_digits
from nervure.ops.update import FilledView
from nervure.passes.pipelines import native
from nervure.support.machine import GENERIC, Machine, with_vectors
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.index_map import IndexMap, indices
from tests.fuzz.work import done, needed
from tests.kernel.contraction_rule import contraction

POINTS = 60


def text_of(rows: int, columns: int, left: str, right: str) -> str:
    """The kernel of two products, of which the sides are loaded so."""
    return f"""
kernel product(in x: f32[100000000], in y: f32[100000000], out z: f32[{2 * rows * columns}]):
  for i < 2 parallel:
    for j < {rows}:
      for k < {columns} vector:
        v0 = contract over l < {POINTS}:
          v1 = x[{left}]
          v2 = y[{right}]
          give v1, v2
        z[{rows * columns}*i + {columns}*j + k] = v0
"""


def matrices(rows: int, columns: int, left: str = f"{POINTS}*j + l", right: str | None = None,
             machine: Machine = GENERIC) -> Matrices:
    found = matrices_of(parse_kernel(text_of(rows, columns, left, right or f"k + {columns}*l")), machine)
    assert found is not None
    return found


ROWS = (8, 64, 193, 1000, 20_000)

WELL, FAR, ACROSS, WINDOWS = "k + 50*l", "k + 100000*l", "60*k + l", "k + 50*(l // 6) + 700*(l % 6)"
"""Right sides: rows side by side, rows far apart, columns across memory, and windows."""


def packed(left: str, right: str) -> list[tuple[bool, bool]]:
    """Whether each side is packed, for growing numbers of rows."""
    readings = [reading_of(matrices(rows, 50, left, right), ()) for rows in ROWS]
    for reading in readings:
        is_read = {left: not reading.is_left_packed, right: not reading.is_right_packed}
        assert reading.has_tables == any([is_read[side] for side in (left, right) if "//" in side])
    return [(reading.is_left_packed, reading.is_right_packed) for reading in readings]


def test_a_right_side_is_packed_for_many_rows_if_it_lies_badly():
    """The more rows read a panel, the sooner it is worth packing. What lies side by side is read where it is."""
    for right in (FAR, ACROSS, WINDOWS):
        found = [is_right for _, is_right in packed("60*j + l", right)]
        found = found[1:] if right == WINDOWS else found  # the micro-kernels of few rows take no tables
        assert found == sorted(found) and not found[0] and found[-1]
    for left in ("60*j + l", "l + 60*(j // 3) + 7*(j % 3)"):
        assert packed(left, WELL)[1:] == [(False, False)] * (len(ROWS) - 1)


def test_a_left_side_is_packed_if_its_points_meet_in_the_cache():
    """They do where they are a power of two apart; a few bytes more, and none displaces another one."""
    assert packed("j + 65536*l", WELL)[-1][0] and not packed("j + 65560*l", WELL)[-1][0]


def test_narrow_strips_that_leave_the_first_cache_are_packed_for_many_rows():
    for vector_bytes, most in ((32, True), (64, False)):  # wide vectors have strips of a line of memory
        machine = with_vectors(vector_bytes)
        table = [[reading_of(matrices(rows, columns, machine=machine), ()).is_right_packed
                  for columns in (50, 150, 300, 900)] for rows in ROWS]
        for line in (*table, *zip(*table, strict=True)):
            assert list(line) == sorted(line)
        assert table[-1][-1] is most and not table[0][-1] and not table[-1][0]


def test_only_what_lasts_is_packed_apart():
    kernel = parse_kernel(text_of(100, 50, "60*j + l", "60*k + l"))
    x, y, z = kernel.buffers
    assert packed_apart(kernel, GENERIC, ()) is None and packed_apart(kernel, GENERIC, [x]) is None
    first, rest = packed_apart(kernel, GENERIC, [x, y])
    assert [buffer.name for buffer in first.buffers] == ["y", "packed"]
    assert [buffer.name for buffer in rest.buffers] == ["x", "z", "packed"]


@pytest.mark.parametrize(("columns", "rows"), [
    (100, ()), (1024, (1, 12, 64, 300)), (1040, (1, 12, 64, 300)), (100_000, (300,)), (1 << 17, (64, 300))])
def test_what_lasts_is_packed_once_if_it_stays_in_further_caches_or_meets_in_the_first_one(columns, rows):
    for count in (1, 12, 64, 300):
        kernel = parse_kernel(text_of(count, columns, "60*j + l", f"k + {columns}*l"))
        assert (packed_apart(kernel, GENERIC, [kernel.buffers[1]]) is not None) is (count in rows)
        assert packed_apart(kernel, GENERIC, ()) is None


@pytest.mark.parametrize(("columns", "meets"), [(1024, True), (1040, False)])
def test_a_right_side_whose_rows_meet_in_the_cache_is_packed_in_tasks_of_many_rows(columns, meets):
    """Of rows a power of two apart one displaces another, until each tile of rows reads all of them from afar."""
    for rows in (64, 65):
        assert reading_of(matrices(rows, columns), ()).packs_in_tasks is (meets and rows == 65)


def test_tasks_that_follow_each_other_share_the_larger_operand():
    """So that a thread, which has tasks that follow each other, reads a part of it."""
    for rows, columns in ((128, 1200), (1200, 128)):
        product = matrices(rows, columns)
        blocking = blocking_of(product, reading_of(product, ()))
        first, second = [[substitute_indices(blocking.moved[index], {
            product.new.task: number, product.m.number: 0, product.n.number: 0})
            for index in (product.m.number, product.n.number)] for number in (0, 1)]
        assert blocking.height < rows and blocking.width < columns or rows > columns
        assert (first[1] == second[1]) is (columns > rows or blocking.width >= columns)


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (5, 2100), (100, 50), (301, 129), (2000, 700), (7, 20_000)])
def test_each_result_is_of_one_task(rows, columns, threads):
    product = matrices(rows, columns, machine=GENERIC._replace(threads=threads))
    blocking = blocking_of(product, reading_of(product, ()))
    taken = set()
    for number in range(blocking.tasks):
        at = {product.new.task: number, product.m.number: 0, product.n.number: 0}
        indices = product.batch[0].index, product.m.number, product.n.number
        batch, row, column = [substitute_indices(blocking.moved[index], at) for index in indices]
        high, wide = [substitute_indices(extent, at) for extent in (blocking.rows, blocking.columns)]
        assert 0 < high <= blocking.height and 0 < wide <= blocking.width
        assert row % blocking.height == 0 == column % blocking.width
        assert row + high == min(row + blocking.height, rows) and column + wide == min(column + blocking.width, columns)
        taken.add((batch, row, column))
    assert len(taken) == blocking.tasks == 2 * -(-rows // blocking.height) * -(-columns // blocking.width)


@pytest.mark.parametrize("rows", [30, 200, 250, 256, 300, 360, 700, 1000])
def test_a_task_that_packs_a_panel_has_about_the_rows_that_are_worth_it(rows):
    """Rows are not cut in two where they are a few more than those of a task: each half would pack the panel again."""
    product = matrices(rows, 1024)
    blocking, worth = blocking_of(product, reading_of(product, ())), GENERIC.products.packed_rows
    assert min(rows, 0.7 * worth) <= blocking.height <= 1.5 * worth + GENERIC.tile_rows


def test_an_index_that_is_divided_is_two():
    """Of a strided window, whose positions are divided by the stride, too: that does not divide their number."""
    kernel = parse_kernel("""
kernel product(in x: f32[2000], in y: f32[40000], out z: f32[64]):
  for j < 64 vector:
    v0 = contract over k < 576:
      v1 = x[225*(k//64 % 3 % 2) + 450*(k//192) + k % 64]
      v2 = y[64*k + j]
      give v1, v2
    z[j] = v0
""")
    contract = with_digits(kernel.body[0].body[0], kernel.body)
    assert [extent for _, extent in contract.indices] == [3, 3, 64]
    (outer, _), (position, _), (channel, _) = contract.indices
    assert dict(contract.body[0].address.steps) == {outer: 450, channel: 1}
    assert contract.body[0].address.base == 225 * (position.dim % 2)
    assert dict(contract.body[1].address.steps)[outer] == 64 * 192


@pytest.mark.parametrize(("value", "place", "steps"), [
    ("3*i + 40*j + 7", "j + 4*i", ((4, 3), (1, 40))),
    ("i", "j + 9*i", ((9, 1), (1, 0))),
    ("i//2 + j", "j + 4*i", None),
    ("i + j", "i + 5*j", None)])
def test_loops_fill_a_table_if_both_the_place_and_the_value_are_affine(value, place, steps):
    loop = parse_kernel(f"""
kernel table(scratch t: i64[100]):
  for i < 5:
    for j < 4 vector:
      v0 = index {value}
      t[{place}] = v0
""").body[0]
    filling = filling_of(loop)
    assert (filling and (filling.extents, filling.tables[0].steps)) == (steps and ((5, 4), steps))


def test_loops_whose_lengths_depend_on_each_other_fill_no_table_as_one():
    loop = parse_kernel("""
kernel table(scratch t: i64[100]):
  for i < 5:
    for j < i + 1 vector:
      v0 = index j
      t[j + 5*i] = v0
""").body[0]
    assert filling_of(loop) is None
    assert filling_of(loop.body[0]).extents == (loop.body[0].extent,)


def test_loops_whose_rows_are_joined_are_no_lines_of_columns():
    """Each element of the result is computed once where the rows of several loops are those of one."""
    x, y = nv.Parameter(nv.float64, (5, 5, 2)), nv.Parameter(nv.float64, (3, 100, 5))
    product = nv.ops.Contract(x, y, x_indices=(0, 1, 2), y_indices=(4, 3, 1), indices=(3, 4, 0, 2)).output
    function = native(nv.Function([product * product], [x, y]))
    plan = make_plan(function)
    assert "rows" in {buffer.name for buffer in plan.steps[0].kernel.buffers}
    assert done(plan, {}) <= 2 * needed(function, {})


def test_padding_of_windows_that_are_written_by_hand_is_left_out(cpu):
    """Whoever reads data through such a view: the rows of a window that reaches beyond them have fewer points."""
    x, f = nv.Parameter(nv.float32, (2, 6, 16)), nv.Parameter(nv.float32, (3, 16, 64))
    n, place, offset, channel = indices(4)
    seen = FilledView(x, IndexMap((2, 6, 3, 16), (n, place + offset - 1, channel)))
    function = nv.Function([nv.ops.Contract(seen, f, (0, 1, 2, 3), (2, 3, 4), (0, 1, 4))], [x, f])
    plan, = make_plan(native(function)).steps
    assert "what lies outside of data is left out" in described_products(plan.kernel)[0]
    rng = np.random.default_rng(3)
    data, filters = [rng.standard_normal(shape, np.float32) for shape in (x.shape, f.shape)]
    filters[0] = np.nan
    result, = cpu.compile(function)([data, filters])
    expected = contraction(data[:, :2].reshape(2, 32), filters[1:].reshape(32, 64))
    np.testing.assert_array_equal(result[:, 0], expected)
    assert np.isnan(result[:, 1:]).all()


WHOLE_LINES = {"rows": 5, "columns": 64, "memory": 100_000, "epilogue": "v4 = negative(v0)"}
"""A product of whole lines, of which something is computed that reads nothing else."""


@pytest.mark.parametrize(("difference", "waits_apart"), [
    ({}, False),
    ({"epilogue": "v3 = w[j]\n      v4 = add(v0, v3)"}, False),
    ({"epilogue": "v3 = w[64*i + j]\n      v4 = add(v0, v3)"}, True),  # w may lie in the place of z
    ({"epilogue": "v4 = convert(v0) f64", "dtype": "f64"}, True),
    ({"columns": 50}, True),
    ({"memory": 10_000_000}, True)])
def test_results_wait_where_what_is_made_of_them_is_stored(difference, waits_apart):
    """That changes no bit; apart are those of short lines, of large memory, and where something is read there."""
    case = {**WHOLE_LINES, "dtype": "f32", **difference}
    kernel = parse_kernel(f"""
kernel product(in x: f32[15], in y: f32[192], in w: f32[{case["memory"]}], out z: {case["dtype"]}[{case["memory"]}]):
  for i < {case["rows"]} parallel:
    for j < {case["columns"]} vector:
      v0 = contract over k < 3:
        v1 = x[3*i + k]
        v2 = y[{case["columns"]}*k + j]
        give v1, v2
      {case["epilogue"]}
      z[{case["columns"]}*i + j] = v4
""")
    blocked = with_matrix_products(kernel, GENERIC)
    assert ("tile" in {buffer.name for buffer in blocked.buffers}) is waits_apart
    rng = np.random.default_rng(0)
    buffers = {buffer.name: rng.standard_normal(buffer.size).astype(buffer.dtype.numpy) for buffer in kernel.buffers}
    results = []
    for each in (kernel, blocked):
        given = {name: array.copy() for name, array in buffers.items()}
        interpret(each, given, {}, NumPyScalars())
        results.append(given["z"])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("ranges", [((1, 2), (0, 2), (1, 3)), ((0, 3), (1, 0), (2, 2)), ((2, 1), (1, 1), (0, 4))])
@pytest.mark.parametrize("unit", [1, 4, 8])
def test_points_of_a_box_in_front_of_a_number_are_counted(ranges, unit):
    extents, loops = (3, 2, 4), [LoopIndex(axis) for axis in range(3)]
    box = Grid(LoopIndex(9), tuple(zip(loops, extents, strict=True))).box(
        {loop: Range(first, count, first + count) for loop, (first, count) in zip(loops, ranges, strict=True)})
    inside = [all([first <= place < first + count for place, (first, count) in zip(point, ranges, strict=True)])
              for point in itertools.product(*map(range, extents))]
    found = box.before(LoopIndex(8).dim, unit)
    for number in range(0, len(inside) + 1, unit):
        assert substitute_indices(found, {LoopIndex(8): number}) == sum(inside[:number]), number


def test_windows_of_three_dimensions_with_padding_are_a_product(cpu):
    rng = np.random.default_rng(0)
    x, f = rng.integers(-3, 4, (2, 24, 3, 1, 3)), rng.integers(-2, 3, (48, 24, 3, 3, 5))  # 1080 k are 3 blocks

    def convolved(x: object, f: object) -> nv.Tensor:
        return nv.convolution(x, f, padding=[(2, 1), (2, 3), (0, 5)])

    arguments = [each.astype(np.float32) for each in (x, f)]
    with nv.transformers.make_transformer("interpreter") as oracle:
        np.testing.assert_array_equal(nv.jit(convolved, transformer=cpu)(*arguments),
                                      nv.jit(convolved, transformer=oracle)(*arguments))


def test_tables_whose_offsets_depend_on_an_outer_loop_are_those_of_the_task():
    text = text_of(13, 20, f"{POINTS}*((11*j + 12*i + 5)//9) + l", f"k + 20*l + {20 * POINTS}*i")
    kernel = parse_kernel(text.replace("100000000", "20000"))
    made = with_matrix_products(kernel, GENERIC._replace(threads=2))
    assert "offsets" in print_kernel(made)
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (2, 20_000)).astype(np.float32)
    found = [np.zeros(2 * 13 * 20, np.float32) for _ in range(2)]
    for each, z in zip((kernel, made), found, strict=True):
        interpret(each, {"x": x, "y": y, "z": z}, {}, NumPyScalars())
    np.testing.assert_array_equal(*found)
