"""Scheduled kernels leave the bits that they left before, and walk memory as it lies."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from nervure.kernel.ir import Buffer, For, Kernel, walk
from nervure.kernel.printer import print_kernel
from nervure.kernel.schedule import REWRITES, schedule_kernel
from nervure.kernel.schedule.lanes import with_lanes_along_memory
from nervure.kernel.schedule.nests import nest_of
from nervure.kernel.schedule.tiles import with_tiled_transposes
from nervure.kernel.simplify import simplify_kernel
from nervure.kernel.verify import verify_kernel
from nervure.types.dim import DimLike, dim, index
from nervure.types.dtype import float32, int64
from tests.kernel.block import Block, at, number
from tests.kernel.random_kernels import random_case
from tests.kernel.running import run

N, M = dim("N"), dim("M")
ONE = number(1.0, float32)
SEEDS = 2_000 if os.environ.get("DEEP_TESTS") else 200


def same_bits(kernel: Kernel, bindings: dict[str, int], **arrays: Any) -> Kernel:
    """The scheduled kernel, which has left the same bits in any order of its turns."""
    scheduled = schedule_kernel(kernel)
    verify_kernel(scheduled, [])
    expected, _ = run(kernel, bindings, **arrays)
    for backwards in (False, True):
        found, _ = run(scheduled, bindings, backwards=backwards, **arrays)
        assert all([array.tobytes() == found[name].tobytes() for name, array in expected.items()])
    return scheduled


def loops_of(kernel: Kernel) -> list[str]:
    """The heads of the loops."""
    return [line.strip() for line in print_kernel(kernel).splitlines() if " < " in line and "over" not in line]


def numbers(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(size).astype(np.float32)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_kernels_give_the_same_bits(seed):
    case = random_case(seed)
    kernel = simplify_kernel(case.kernel)
    before, failures = run(kernel, case.bindings, **case.arrays)
    after, found = run(schedule_kernel(kernel), case.bindings, **case.arrays)
    assert set(failures) == set(found)
    assert all([array.tobytes() == after[name].tobytes() for name, array in before.items()])


# -- tiles ---------------------------------------------------------------------------------------------------


def transpose(rows: DimLike, columns: DimLike) -> Kernel:
    """y[i, j] = x[j, i] + 100 * j"""
    x, y = Buffer("x", float32, rows * columns, "in"), Buffer("y", float32, rows * columns, "out")
    top, outer, body = Block(), Block(), Block()
    column = body.apply("convert", body.index(index(1) * 100), dtype=float32)
    body.store(y, at(i0=columns, i1=1), body.apply("add", body.load(x, at(i0=1, i1=rows)), column))
    outer.loop("%1", columns, body, vector=True)
    top.loop("%0", rows, outer, parallel=True)
    return Kernel("transpose", (x, y), top.body)


@pytest.mark.parametrize(("rows", "columns"), [(3, 256), (5, 257), (2, 300), (40, 511)])
def test_transposes_of_many_columns_are_tiled(rows, columns):
    kernel = same_bits(transpose(rows, columns), {}, x=numbers(rows * columns))
    tiles, lines = -(-columns // 32), loops_of(kernel)
    assert lines[0] == f"for i < {tiles} parallel:" and lines[1] == f"for j < {rows}:"
    assert lines[2].endswith("vector:") and ("32 vector" in lines[2]) == (columns % 32 == 0)


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 300])
def test_tiles_of_an_unknown_number_of_columns(columns):
    kernel = same_bits(transpose(N, M), {"N": 7, "M": columns}, x=numbers(7 * columns))
    assert len(loops_of(kernel)) == 3


def test_a_few_columns_stay():
    assert len(loops_of(same_bits(transpose(300, 255), {}, x=numbers(300 * 255)))) == 2


def test_rows_that_lie_along_the_result_stay():
    """Nothing is gained where another loop moves no access along memory."""
    x, y = Buffer("x", float32, 4 * 300 * 5, "in"), Buffer("y", float32, 4 * 300, "out")
    top, outer, body = Block(), Block(), Block()
    body.store(y, at(i0=300, i1=1), body.load(x, at(i0=1500, i1=5)))
    outer.loop("%1", 300, body, vector=True)
    top.loop("%0", 4, outer, parallel=True)
    assert loops_of(same_bits(Kernel("strided", (x, y), top.body), {}, x=numbers(6000))) == [
        "for i < 4 parallel:", "for j < 300 vector:"]


def test_the_loop_that_is_moved_is_the_one_along_memory():
    """z[i, j, k] = x[k, i, j]: tiles of k, and j inside of them."""
    x, z = Buffer("x", float32, 3 * 5 * 256, "in"), Buffer("z", float32, 3 * 5 * 256, "out")
    top, outer, inner, body = Block(), Block(), Block(), Block()
    body.store(z, at(i0=5 * 256, i1=256, i2=1), body.load(x, at(i0=5, i1=1, i2=15)))
    inner.loop("%2", 256, body, vector=True)
    outer.loop("%1", 5, inner)
    top.loop("%0", 3, outer, parallel=True)
    assert loops_of(same_bits(Kernel("permuted", (x, z), top.body), {}, x=numbers(3 * 5 * 256))) == [
        "for i < 3 parallel:", "for j < 8:", "for k < 5:", "for l < 32 vector:"]


@pytest.mark.parametrize(("columns", "tiles"), [(5, []), (31, []), (40, ["for j < 2:"]), (64, ["for j < 2:"])])
def test_rows_that_share_lines_follow_each_other(columns, tiles):
    """z[i, j, k] = x[k, j, i]: the loop over i goes inside of the one over j, however few columns there are."""
    x, z = [Buffer(name, float32, 3 * 5 * columns, role) for name, role in (("x", "in"), ("z", "out"))]
    top, outer, inner, body = Block(), Block(), Block(), Block()
    body.store(z, at(i0=5 * columns, i1=columns, i2=1), body.load(x, at(i0=1, i1=3, i2=15)))
    inner.loop("%2", columns, body, vector=True)
    outer.loop("%1", 5, inner)
    top.loop("%0", 3, outer, parallel=True)
    lines = loops_of(same_bits(Kernel("turned", (x, z), top.body), {}, x=numbers(15 * columns)))
    assert lines[0] == "for i < 5 parallel:" and lines[1:-2] == tiles and lines[-2].endswith(" < 3:")


def test_turns_that_may_depend_on_each_other_stay():
    """Where it is not proved that all turns write elements of their own: rows that overlap, data that decides."""
    x, y = Buffer("x", float32, 300 * 300, "in"), Buffer("y", float32, 900, "inout")
    places = Buffer("p", int64, 300, "in")
    for target in (lambda body: at(i1=1), lambda body: at(0, [(1, body.load(places, at(i0=1)))], i1=1)):
        top, outer, body = Block(), Block(), Block()
        body.store(y, target(body), body.load(x, at(i0=1, i1=300)), "add")
        outer.loop("%1", 300, body, vector=True)
        top.loop("%0", 300, outer, parallel=True)
        assert with_tiled_transposes(top.body) == top.body
    top, outer, body = Block(), Block(), Block()
    body.store(y, at(i0=1, i1=2), body.load(x, at(i0=1, i1=300)))
    outer.loop("%1", 300, body, vector=True)
    top.loop("%0", 300, outer)
    assert not nest_of(top.body[0]).is_free and with_tiled_transposes(top.body) == top.body


# -- lanes ---------------------------------------------------------------------------------------------------


def sums(rows: DimLike, columns: DimLike, across: bool) -> Kernel:
    """The sums of the rows of a matrix that lies column by column (or row by row), and their greatest elements."""
    x, y, z = Buffer("x", float32, rows * columns, "in"), *[Buffer(name, float32, rows, "out") for name in "yz"]
    top, row, first, second = Block(), Block(), Block(), Block()
    place = at(i0=1, i1=rows) if across else at(i0=columns, i1=1)
    total, = row.reduce(["add"], {"%1": columns}, first, first.load(x, place))
    most, = row.reduce(["maximum"], {"%1": columns}, second, second.apply("subtract", second.load(x, place), total))
    row.store(y, at(i0=1), total)
    row.store(z, at(i0=1), most)
    top.loop("%0", rows, row, parallel=True)
    return Kernel("sums", (x, y, z), top.body)


@pytest.mark.parametrize(("rows", "columns"), [(7, 5), (N, M)])
def test_lanes_go_along_memory(rows, columns):
    bindings = {} if rows == 7 else {"N": 7, "M": 5}
    head = f"for i < {rows} parallel"
    assert loops_of(same_bits(sums(rows, columns, True), bindings, x=numbers(35))) == [f"{head} vector:"]
    assert loops_of(same_bits(sums(rows, columns, False), bindings, x=numbers(35))) == [f"{head}:"]


def test_the_loop_in_lanes_becomes_the_innermost_one():
    """y[i, j] = the sum over k of x[k, i, j] for a result that lies the other way round."""
    x, y = Buffer("x", float32, 6 * 3 * 4, "in"), Buffer("y", float32, 12, "out")
    top, outer, row, body = Block(), Block(), Block(), Block()
    total, = row.reduce(["add"], {"%2": 6}, body, body.load(x, at(i0=1, i1=4, i2=12)))
    row.store(y, at(i0=3, i1=1), total)
    outer.loop("%1", 3, row)
    top.loop("%0", 4, outer, parallel=True)
    assert loops_of(same_bits(Kernel("sums", (x, y), top.body), {}, x=numbers(72))) == [
        "for i < 3 parallel:", "for j < 4 vector:"]


def test_places_are_told_apart_as_the_digits_of_a_number_are():
    """z[k, j] = x[k, j] - 1 on the way to the sums of columns: the turns of j lie between those of k."""
    x, y, z = Buffer("x", float32, 60, "in"), Buffer("y", float32, 12, "out"), Buffer("z", float32, 60, "out")
    for columns, head in ((6, "for i < 2 parallel:|for j < 6 vector:"), (7, "for i < 2 parallel:|for j < 7:")):
        top, outer, row, body = Block(), Block(), Block(), Block()
        value = body.apply("subtract", body.load(x, at(i0=30, i1=1, i2=6)), ONE)
        body.store(z, at(i0=30, i1=1, i2=6), value)
        total, = row.reduce(["add"], {"%2": 4}, body, value)
        row.store(y, at(i0=6, i1=1), total)
        outer.loop("%1", columns, row)
        top.loop("%0", 2, outer, parallel=True)
        kernel = Kernel("sums", (x, y, z), top.body)
        assert "|".join(loops_of(schedule_kernel(kernel))) == head  # 7 columns would share places
        if columns == 6:
            same_bits(kernel, {}, x=numbers(60))


def test_rows_with_loops_of_their_own_stay():
    kernel = sums(7, 5, True)
    loop, = kernel.body
    assert isinstance(loop, For)
    inner = Block()
    inner.store(kernel.buffers[1], at(i0=1), inner.load(kernel.buffers[0], at(i0=1)))
    more = Block()
    more.loop("%2", 1, inner)
    body = (For("%0", 7, (*loop.body, *more.body), parallel=True),)
    assert with_lanes_along_memory(body) == body


def test_every_rewrite_keeps_what_it_does_not_know():
    for seed in range(SEEDS // 10):
        kernel = simplify_kernel(random_case(seed).kernel)
        for rewrite in REWRITES:
            assert len(list(walk(rewrite(kernel.body)))) <= len(list(walk(kernel.body))) + 1


# -- short rows ----------------------------------------------------------------------------------------------


def scaled(rows: DimLike, columns: int, steps: int = 1) -> Kernel:
    """y[i, j] = (x[i, j] * scale[j] + j), some times."""
    x, y = [Buffer(name, float32, rows * columns, role) for name, role in (("x", "in"), ("y", "out"))]
    scale = Buffer("scale", float32, columns, "in")
    top, outer, body = Block(), Block(), Block()
    value = body.load(x, at(i0=columns, i1=1))
    column = body.apply("convert", body.index(index(1) * 3), dtype=float32)
    for _ in range(steps):
        value = body.apply("add", body.apply("multiply", value, body.load(scale, at(i1=1))), column)
    body.store(y, at(i0=columns, i1=1), value)
    outer.loop("%1", columns, body, vector=True)
    top.loop("%0", rows, outer, parallel=True)
    return Kernel("scaled", (x, y, scale), top.body)


@pytest.mark.parametrize(("rows", "columns", "heads"), [
    (16, 3, ["for i < 2 parallel:", "for j < 24 vector:"]),
    (80, 5, ["for i < 10 parallel:", "for j < 40 vector:"]),
    (20, 10, ["for i < 5 parallel:", "for j < 40 vector:"]),
    (8, 4, ["for i < 4 parallel:", "for j < 8 vector:"]),
    (15, 3, ["for i < 15 parallel:", "for j < 3 vector:"]),      # rows would be left
    (16, 8, ["for i < 16 parallel:", "for j < 8 vector:"]),      # whole vectors
    (80, 11, ["for i < 80 parallel:", "for j < 11 vector:"]),    # 88 elements
])
def test_short_rows_side_by_side_fill_vectors(rows, columns, heads):
    arrays = {"x": numbers(rows * columns), "scale": numbers(columns)}
    assert loops_of(same_bits(scaled(rows, columns), {}, **arrays)) == heads


def test_short_rows_stay_where_the_copies_would_be_too_long():
    arrays = {"x": numbers(80 * 5), "scale": numbers(5)}
    assert loops_of(same_bits(scaled(80, 5, 8), {}, **arrays))[1] == "for j < 5 vector:"
    assert len(loops_of(same_bits(scaled(N, 5), {"N": 80}, **arrays))) == 2


def test_rows_that_do_not_follow_each_other_stay():
    x, y = Buffer("x", float32, 16 * 4, "in"), Buffer("y", float32, 16 * 3, "out")
    top, outer, body = Block(), Block(), Block()
    body.store(y, at(i0=3, i1=1), body.load(x, at(i0=4, i1=1)))
    outer.loop("%1", 3, body, vector=True)
    top.loop("%0", 16, outer, parallel=True)
    assert loops_of(same_bits(Kernel("cut", (x, y), top.body), {}, x=numbers(64))) == [
        "for i < 16 parallel:", "for j < 3 vector:"]
