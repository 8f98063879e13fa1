"""The tile library against the order of reduction that contractions have, bit for bit; and what it must never do."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from nervure.support.machine import Machine, with_vectors
from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import assembly, compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I64, Type
from nervure.transformers.cpu.compile.tiles.across import across_function
from nervure.transformers.cpu.compile.tiles.filling import ARGUMENTS as TABLE
from nervure.transformers.cpu.compile.tiles.filling import filling_function
from nervure.transformers.cpu.compile.tiles.kernel import ARGUMENTS, PLACES_ARGUMENTS, Block, Tile, tile_function
from nervure.transformers.cpu.compile.tiles.stream import stream_function
from nervure.transformers.cpu.compile.tiles.tile_library import (
    across_of,
    multiply_across_function,
    multiply_by_places_function,
    multiply_function,
    multiply_many_function,
    streams_of,
    tiles_by_places_of,
    tiles_of,
)
from nervure.transformers.cpu.target import Target
from tests.kernel.contraction_rule import contraction, plain_sum
from tests.transformers.cpu.compile.tiles.fences import fenced

TYPES = {"f32": (F32, np.float32), "f64": (F64, np.float64)}
TARGETS = [Target.avx2(), *[target for target in [Target.host()] if target.vector_bytes == 64]]
EVERY = pytest.mark.parametrize(("target", "type"), list(product(TARGETS, TYPES)),
                                ids=[f"{target.name}-{type}" for target, type in product(TARGETS, TYPES)])


class Library(NamedTuple):
    """The functions of a library, and what keeps its code in memory."""

    multiply: ctypes._CFuncPtr
    multiply_across: ctypes._CFuncPtr
    multiply_by_places: ctypes._CFuncPtr
    memory: object


def library_texts(type: Type, machine: Machine) -> list[str]:
    tiles = [*tiles_of(type, machine), *tiles_by_places_of(type, machine)]
    functions = [*[tile_function(tile) for tile in tiles],
                 *[stream_function(stream) for stream in streams_of(type, machine)],
                 *[across_function(across) for across in across_of(type, machine)],
                 multiply_across_function(type, machine), multiply_function(type, machine),
                 multiply_many_function(type, machine),
                 multiply_by_places_function(type, machine)]
    return [assemble([function]) for function in functions]


@cache
def library(target: Target, type: Type) -> Library:
    loaded = load(*[compile_object(text, target) for text in library_texts(type, target.machine)])
    functions = [function_type(arguments)(loaded.address(f"{name}_{type.suffix}")) for name, arguments in (
        ("multiply", ARGUMENTS), ("multiply_across", ARGUMENTS), ("multiply_by_places", PLACES_ARGUMENTS))]
    return Library(*functions, loaded)


def function_type(arguments: Sequence[tuple[str, Type]]) -> type[ctypes._CFuncPtr]:
    kinds = [ctypes.c_void_p if kind.text == "ptr" else ctypes.c_int64 for _, kind in arguments]
    return ctypes.CFUNCTYPE(None, *kinds)


def multiply(target: Target, type: Type, left: np.ndarray, right: np.ndarray, result: np.ndarray, adds: bool) -> None:
    """result (+)= left times right, on arrays whose rows may have steps; those of the result are dense."""
    size = result.itemsize
    strides = [left.strides[0] // size, left.strides[1] // size]
    is_across = right.strides[1] != size
    function = library(target, type)[is_across]
    function(left.ctypes.data, *strides, right.ctypes.data, right.strides[is_across] // size, result.ctypes.data,
             result.strides[0] // size, *result.shape, left.shape[1], adds)


def uniform(shape: tuple[int, ...], dtype: type, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


@EVERY
def test_blocks_of_all_sizes_have_the_bits_of_the_rule_and_touch_nothing_else(target, type):
    kind, dtype = TYPES[type]
    sizes = product((1, 2, 3, 5, 6, 7, 9, 10, 13, 16, 20), (1, 7, 16, 31, 65, 100), (0, 1, 5))
    for number, (rows, columns, points) in enumerate(sizes):
        left, right = uniform((rows, points), dtype, number), uniform((points, columns), dtype, number + 1)
        wide = fenced(np.zeros((rows, columns + 3), dtype))
        multiply(target, kind, fenced(left), fenced(right), wide[:, 3:], False)
        expected = contraction(left, right)
        np.testing.assert_array_equal(wide[:, 3:], expected, err_msg=f"{rows} x {columns} over {points}")
        multiply(target, kind, fenced(left), fenced(right), wide[:, 3:], True)
        np.testing.assert_array_equal(wide[:, 3:], plain_sum(expected, expected))
        assert not wide[:, :3].any()


def covering(machine: Machine, rows: int, columns: int) -> dict[str, int]:
    """The columns that each tile covers of a block."""
    function, tiles = cover_of(machine)
    covered = np.zeros(len(tiles) + 8, np.int64)
    function(covered.ctypes.data, 0, 0, 0, 0, 0, 0, rows, columns, 1, 0)
    return {tile.name.removeprefix("tile_f32_"): int(count)
            for tile, count in zip(tiles, covered, strict=False) if count}


@cache
def cover_of(machine: Machine) -> tuple[ctypes._CFuncPtr, list[Tile]]:
    """The function that covers a block, with tiles that only note the columns; few rows are not streamed."""
    tiles, stubs = tiles_of(F32, machine), []
    for number, tile in enumerate([*tiles, *streams_of(F32, machine)]):
        b = Builder(tile.name, ARGUMENTS, attributes="nounwind")
        block = Block(*b.arguments)
        with b.if_(block.rows > 0):
            b.store(block.columns, b.offset(block.left, number, I64))
        b.ret()
        stubs.append(b)
    functions = [*stubs, multiply_function(F32, machine), multiply_many_function(F32, machine)]
    loaded = load(*[compile_object(assemble([b]), Target.avx2()) for b in functions])
    cover = function_type(ARGUMENTS)(loaded.address("multiply_f32"))
    cover.library = loaded
    return cover, tiles


@pytest.mark.parametrize("rows, expected", [
    (6, {"6x64": 64, "8x48_masked": 36}), (8, {"8x48": 96, "6x8_masked": 4}), (16, {"8x48": 96, "6x8_masked": 4}),
    (24, {"6x64": 64, "8x48_masked": 36}), (32, {"8x48": 96, "6x8_masked": 4}), (65, {"6x64": 64, "8x48_masked": 36}),
    (26, {"6x64": 64, "2x64": 64, "8x48_masked": 36}), (64, {"6x64": 64, "4x64": 64, "8x48_masked": 36}),
    (1, {"1x64": 64, "8x48_masked": 36})])
def test_rows_that_another_tile_divides_better_are_its_own(rows, expected):
    """16 rows are two tiles of 8; of 6 they would be three, with two rows of padding. The last of 64 have a lower
    tile.
    """
    assert covering(with_vectors(64), rows, 100) == expected


@pytest.mark.parametrize("rows, columns, expected", [
    (1, 128, {"1x64": 128}), (1, 70, {"1x64": 64, "8x8_masked": 6}), (1, 80, {"4x16": 80}), (2, 96, {"2x32": 96}),
    (2, 80, {"4x16": 80}), (3, 64, {"4x16": 64}), (5, 64, {"6x16": 64}), (7, 128, {"6x16": 128, "1x64": 128})])
def test_lower_tiles_of_short_vectors_are_wider(rows, columns, expected):
    """Eight sums hide the latency of multiply-adds. A lower tile is used where it covers all whole strips."""
    assert covering(with_vectors(32), rows, columns) == expected


@EVERY
def test_few_rows_have_the_same_bits_as_alone(target, type):
    kind, dtype = TYPES[type]
    left, right = uniform((12, 40), dtype, 0), uniform((40, 461), dtype, 1)
    expected = contraction(left, right)
    for rows in (1, 2, 4, 6, 8, 12):
        result = np.zeros((rows, 461), dtype)
        multiply(target, kind, left[:rows], right, result, False)
        np.testing.assert_array_equal(result, expected[:rows])


@EVERY
def test_few_rows_take_a_right_side_that_lies_across_memory(target, type):
    kind, dtype = TYPES[type]
    for number, (rows, columns, points) in enumerate(product((1, 2, 3, 8), (1, 7, 16, 33), (0, 1, 5, 16, 37))):
        left, right = uniform((rows, points), dtype, number), uniform((columns, points), dtype, number + 1)
        expected, result = contraction(left, np.ascontiguousarray(right.T)), fenced(np.zeros((rows, columns), dtype))
        multiply(target, kind, fenced(left), fenced(right).T, result, False)
        np.testing.assert_array_equal(result, expected, err_msg=f"{rows} x {columns} over {points}")
        multiply(target, kind, fenced(left), fenced(right).T, result, True)
        np.testing.assert_array_equal(result, plain_sum(expected, expected))


@EVERY
def test_the_left_side_may_lie_across_memory(target, type):
    kind, dtype = TYPES[type]
    for number, (rows, points, step) in enumerate(product((5, 6, 13), (3, 4, 33), (1, 3))):
        left, right = fenced(uniform((points, rows * step), dtype, number)), uniform((points, 20), dtype, number + 1)
        across, result = left[:, :(rows - 1) * step + 1:step].T, np.zeros((rows, 20), dtype)
        multiply(target, kind, across, right, result, False)
        expected = contraction(np.ascontiguousarray(across), right)
        np.testing.assert_array_equal(result, expected, err_msg=f"{rows} over {points}, {step} apart")


@EVERY
def test_rows_that_lie_side_by_side_may_be_copied_for_many_columns(target, type):
    """No more than they are, and no more points than a block has; bits are those of any other way."""
    kind, dtype = TYPES[type]
    for number, (rows, columns, points) in enumerate(product((6, 13, 64), (70, 200), (1, 65, 512))):
        left, right = fenced(uniform((points, rows), dtype, number)), uniform((points, columns), dtype, number + 1)
        result = fenced(np.zeros((rows, columns), dtype))
        multiply(target, kind, left.T, right, result, False)
        expected = np.zeros((rows, columns), dtype)
        multiply(target, kind, np.ascontiguousarray(left.T), right, expected, False)
        np.testing.assert_array_equal(result, expected, err_msg=f"{rows} x {columns} over {points}")
        if points < 512:
            np.testing.assert_array_equal(result, contraction(np.ascontiguousarray(left.T), right))
    left, right = uniform((513, 6), dtype, 0), uniform((513, 100), dtype, 1)
    longer, expected = np.zeros((6, 100), dtype), np.zeros((6, 100), dtype)
    multiply(target, kind, left.T, right, longer, False)
    multiply(target, kind, np.ascontiguousarray(left.T), right, expected, False)
    np.testing.assert_array_equal(longer, expected)


@EVERY
def test_the_right_side_may_begin_anywhere_in_a_line_of_memory(target, type):
    kind, dtype = TYPES[type]
    left, whole, expected = uniform((26, 130), dtype, 0), uniform((130, 160), dtype, 1), np.zeros((26, 160), dtype)
    for column in range(0, 160, 16):  # few columns are read where they lie, wherever that is
        multiply(target, kind, left, whole[:, column:column + 16], expected[:, column:column + 16], False)
    for first in range(20):
        result = np.zeros((26, 131), dtype)
        multiply(target, kind, left, whole[:, first:first + 131], result, False)
        np.testing.assert_array_equal(result, expected[:, first:first + 131])


@EVERY
def test_tables_say_where_rows_and_points_lie(target, type):
    """Those of results, too, which are stored in any order."""
    kind, dtype = TYPES[type]
    rng = np.random.default_rng(5)
    for rows, columns, points in product((1, 6, 7, 8, 10, 13, 20), (1, 16, 40, 64, 100), (0, 1, 5, 20)):
        left, right = fenced(uniform((61,), dtype, rows)), fenced(uniform((columns + 30,), dtype, points))
        row, above, below = [rng.integers(0, 31, count) for count in (rows, points, points)]
        result, order = fenced(np.zeros((rows, columns), dtype)), rng.permutation(rows)
        expected = contraction(left[row[:, None] + above], right[below[:, None] + np.arange(columns)])
        places = order * columns
        for adds, wanted in ((False, expected), (True, plain_sum(expected, expected))):
            library(target, kind).multiply_by_places(
                left.ctypes.data, row.ctypes.data, above.ctypes.data, right.ctypes.data, below.ctypes.data,
                result.ctypes.data, places.ctypes.data, rows, columns, points, adds)
            np.testing.assert_array_equal(result[order], wanted, err_msg=f"{rows} x {columns} over {points}")


@EVERY
def test_infinities_nan_and_subnormals_are_those_of_the_rule(target, type):
    kind, dtype = TYPES[type]
    left, right = uniform((7, 9), dtype, 0), uniform((9, 21), dtype, 1)
    least = np.finfo(dtype).smallest_subnormal
    left[1, 2], left[2, 3], left[3, :], left[4, :] = np.inf, np.nan, least, -0.0
    right[2, 4], right[2, 5] = 0, -np.inf
    result = np.zeros((7, 21), dtype)
    multiply(target, kind, left, right, result, False)
    expected = contraction(left, right)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result[~np.isnan(result)]), np.signbit(expected[~np.isnan(expected)]))


@EVERY
def test_no_vector_register_is_spilled(target, type):
    kind, _ = TYPES[type]
    texts = library_texts(kind, target.machine)
    for text in texts[:2 * len(tiles_of(kind, target.machine))]:
        code = assembly(text, target)
        stack = r"\(%r[sb]p\)" if re.search(r"%rsp, %rbp", code) else r"\(%rsp\)"  # else %rbp is as any other register
        spilled = [line for line in code.splitlines() if re.search(r"[xyz]mm\d", line) and re.search(stack, line)]
        assert spilled == []


@EVERY
def test_lanes_are_compared_before_the_points(target, type):
    """Which lanes of the last vector have a column is the same for all points: a comparison takes the time of a
    multiply-add.
    """
    kind, _ = TYPES[type]
    for tile in [*tiles_of(kind, target.machine), *tiles_by_places_of(kind, target.machine)]:
        lines = assembly(assemble([tile_function(tile)]), target).splitlines()
        products = [number for number, line in enumerate(lines) if "vfmadd" in line]
        inside = lines[max(number for number in range(products[0]) if lines[number].endswith(":")):products[-1]]
        assert not [line for line in inside if re.search(r"\tv?p?cmp\w* .*mm|\tvpcmp", line)]


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_tables_have_their_offsets_and_nothing_else(target):
    loaded = load(compile_object(assemble([filling_function(target.vector_bytes)]), target))
    fill = function_type(TABLE)(loaded.address("fill_offsets"))
    for outer, rows, count in product((0, 1, 2), (0, 1, 3), (0, 1, 3, 4, 7, 8, 9, 17)):
        table = np.full((4, 5, 20), -1, np.int64)
        expected = table.copy()
        i, j, k = np.ogrid[:outer, :rows, :count]
        expected[1:outer + 1, 1:rows + 1, 2:count + 2] = 7 + 1000 * i - 30 * j + 5 * k
        fill(table[1, 1, 2:].ctypes.data, 7, outer, 100, 1000, rows, 20, -30, count, 5)
        np.testing.assert_array_equal(table, expected)
