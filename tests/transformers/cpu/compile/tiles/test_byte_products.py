"""Products of bytes are exact on every path that this machine has, and read nothing beside the block."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from itertools import product

import numpy as np
import pytest

from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import assembly, compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import I8
from nervure.transformers.cpu.compile.tiles.bundles import Bundles
from nervure.transformers.cpu.compile.tiles.byte_products import cover_function
from nervure.transformers.cpu.compile.tiles.kernel import ARGUMENTS, tile_function
from nervure.transformers.cpu.compile.tiles.tile_library import bundles_of, covers_of, multiply_bytes_function
from nervure.transformers.cpu.compile.tiles.transpose import ARGUMENTS as PLACES
from nervure.transformers.cpu.compile.tiles.transpose import transpose_function
from nervure.transformers.cpu.target import Target
from tests.transformers.cpu.compile.tiles.fences import fenced

HOST = Target.host()
SIGNS = list(product((False, True), repeat=2))


def with_features(target: Target, *more: str, without: str = "") -> Target:
    return target._replace(features=tuple(sorted({*target.features, *more} - {without})))


def targets() -> dict[str, Target]:
    """The ways to multiply bytes that this machine has: in pairs or by fours, in either width."""
    found = {"pairs in 32 bytes": with_features(Target.avx2(), without="avxvnni")}
    if HOST.vector_bytes == 64:
        found["pairs in 64 bytes"] = with_features(HOST, without="avx512vnni")
        if HOST.adds_products_of_bytes:
            found["fours in 64 bytes"] = HOST
            found["fours in 32 bytes"] = with_features(Target.avx2(), "avx512f", "avx512vl", "avx512vnni")
    elif HOST.adds_products_of_bytes:
        found["fours in 32 bytes"] = HOST
    return found


TARGETS = targets()
EVERY = pytest.mark.parametrize(("path", "left", "right"), [(path, *signs) for path in TARGETS for signs in SIGNS])


def bundles(path: str, left: bool, right: bool) -> Bundles:
    return next(entry for entry in bundles_of(TARGETS[path]) if entry[:2] == (left, right))


def functions(target: Target, kind: Bundles, is_across: bool) -> list[Builder]:
    covers = covers_of(kind, target.machine, is_across)
    return [*[tile_function(cover.tile) for cover in covers], *[cover_function(cover) for cover in covers],
            multiply_bytes_function(kind, target.machine, is_across)]


@cache
def loaded(path: str, kind: Bundles, is_across: bool):
    made = functions(TARGETS[path], kind, is_across)
    library = load(*[compile_object(assemble([function]), TARGETS[path]) for function in made])
    return library, called(library, made[-1].name, ARGUMENTS)


def called(library, name: str, arguments):
    kinds = [ctypes.c_void_p if kind.text == "ptr" else ctypes.c_int64 for _, kind in arguments]
    return ctypes.CFUNCTYPE(None, *kinds)(library.address(name))


def multiply(path: str, left: np.ndarray, right: np.ndarray, result: np.ndarray, adds: bool) -> None:
    """result (+)= left times right; rows of the left side and of the result may be apart, and one axis of the right."""
    kind = bundles(path, left.dtype == np.int8, right.dtype == np.int8)
    is_across = right.strides[1] != 1
    _, function = loaded(path, kind, is_across)
    function(left.ctypes.data, left.strides[0], left.strides[1], right.ctypes.data, right.strides[is_across],
             result.ctypes.data, result.strides[0] // 4, *result.shape, left.shape[1], adds)


def drawn(shape: tuple[int, ...], is_signed: bool, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8).view(np.int8 if is_signed else np.uint8)


def exact(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """In 64 bits, of which the lower 32 are kept."""
    return (left.astype(np.int64) @ right.astype(np.int64)).astype(np.uint32).view(np.int32)


@EVERY
def test_blocks_of_all_sizes_are_exact_and_nothing_else_is_touched(path, left, right):
    """O49."""
    sizes = product((1, 2, 5, 7, 9, 13), (1, 7, 16, 31, 40, 65, 130), (0, 1, 3, 4, 6, 70))
    for number, (rows, columns, points) in enumerate([*sizes, (5, 70, 511), (3, 20, 1030), (9, 64, 512)]):
        x, y = drawn((rows, points), left, number), drawn((points, columns), right, number + 1)
        for lying in (fenced(y), fenced(np.ascontiguousarray(y.T)).T):
            wide = fenced(np.zeros((rows, columns + 3), np.int32))
            multiply(path, fenced(x), lying, wide[:, 3:], False)
            np.testing.assert_array_equal(wide[:, 3:], exact(x, y), err_msg=f"{rows} x {columns} over {points}")
            multiply(path, fenced(x), lying, wide[:, 3:], True)
            np.testing.assert_array_equal(wide[:, 3:], 2 * exact(x, y))
            assert not wide[:, :3].any()


@EVERY
def test_the_largest_bytes_add_up_and_wrap(path, left, right):
    """O49."""
    least, most = [np.array(values, np.int64) for values in ([-128 * left, -128 * right], [255 >> left, 255 >> right])]
    for x, y in product((least[0], most[0]), (least[1], most[1])):
        for points in (4, 1000, 100_000):
            sides = [np.full(shape, value, np.int8 if is_signed else np.uint8)
                     for shape, value, is_signed in (((2, points), x, left), ((points, 17), y, right))]
            result = np.zeros((2, 17), np.int32)
            multiply(path, *sides, result, False)
            wrapped = (points * x * y).astype(np.uint32).view(np.int32)
            np.testing.assert_array_equal(result, wrapped, err_msg=f"{points} times {x} * {y}")


@EVERY
def test_rows_that_are_apart_are_read_where_they_lie(path, left, right):
    x, y = drawn((7, 90), left, 0)[:, 3:70], drawn((67, 50), right, 1)[:, 5:38]
    result = np.zeros((7, 33), np.int32)
    multiply(path, x, y, result, False)
    np.testing.assert_array_equal(result, exact(x, y))


@pytest.mark.parametrize("path", TARGETS)
@pytest.mark.parametrize(("left", "right"), SIGNS)
def test_no_vector_register_is_spilled_and_no_instruction_saturates(path, left, right):
    target, kind = TARGETS[path], bundles(path, left, right)
    made = functions(target, kind, False)
    for number, function in enumerate(made):
        text = assembly(assemble([function]), target)
        assert not re.search(r"vpmaddubsw|vpdpbusds|vpdpwssds", text)
        if number < len(made) // 2:
            assert ("vpdpbusd" in text) == path.startswith("fours") and ("vpmaddwd" in text) != ("vpdpbusd" in text)
            stack = r"\(%r[sb]p" if "%rsp, %rbp" in text else r"\(%rsp"
            assert not [line for line in text.splitlines() if re.search(r"[xyz]mm\d", line) and re.search(stack, line)]


def test_machines_without_the_wide_vectors_may_have_the_instruction():
    target = with_features(Target.avx2(), "avxvnni")
    assert target.adds_products_of_bytes
    tile = covers_of(bundles_of(target)[1], target.machine, False)[0].tile
    text = assembly(assemble([tile_function(tile)]), target)
    assert "{vex}" in text and "vpdpbusd" in text and "zmm" not in text


def test_bytes_are_transposed_and_nothing_else_is_touched():
    for target in {HOST, Target.avx2()}:
        library = load(compile_object(assemble([transpose_function(I8, 16)]), target))
        function = called(library, "transpose_i8", PLACES)
        for rows, columns in product((0, 1, 15, 16, 33), repeat=2):
            source, copy = fenced(drawn((rows, columns), False, 0)), fenced(np.zeros((columns, rows), np.uint8))
            function(source.ctypes.data, columns, copy.ctypes.data, rows, rows, columns)
            np.testing.assert_array_equal(copy, source.T)
