"""Kernels of the loop IR as machine code, run on NumPy arrays, and beside them what they mean."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from nervure.kernel.interpret import interpret
from nervure.kernel.ir import Buffer, Kernel
from nervure.support.machine import Machine, with_vectors
from nervure.transformers.cpu.cache.loader import Library, load
from nervure.transformers.cpu.compile.codegen.generate import generate
from nervure.transformers.cpu.compile.compiler import Compilations, compile_object
from nervure.transformers.cpu.compile.tiles.tile_library import TileLibrary
from nervure.transformers.cpu.runtime.records import KERNEL, Status
from nervure.transformers.cpu.target import Target
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dim import evaluate


class Width(NamedTuple):
    """A target of which only the width is known."""

    machine: Machine


Arrays = Mapping[str, np.ndarray]


@lru_cache(maxsize=512)
def compiled(text: str) -> Library:
    return load(compile_object(text), symbols=routines(frozenset(re.findall(r"@((?:multiply|transpose)_\w+)", text))))


@cache
def routines(names: frozenset[str]) -> dict[str, int]:
    """The addresses of functions of the tile library, for the machine that the tests run on."""
    with Compilations(Target.avx2()) as compilations:
        library = TileLibrary(Target.avx2(), compilations)
        for name in names:
            library.link(name)
        library.keep(compilations.libraries())
    return {name: library.address(name) for name in names}


def run(kernel: Kernel, arrays: Arrays, bindings: Mapping[str, int], vector_bytes: int = 32,
        cuts: Sequence[int] = (), past: int | None = None) -> Status:
    """Runs generated code on flat arrays, in place; ``cuts`` split the turns of the parallel loop into slices, results
    of ``past`` bytes or more go past the caches.
    """
    code = generate(kernel, Width(with_vectors(vector_bytes)), least_bytes(kernel, past))
    function = KERNEL(compiled(code.text).address("kernel"))
    buffers = (ctypes.c_void_p * (len(code.buffers) + 1))(*[arrays[entry.name].ctypes.data for entry in code.buffers])
    sizes = (ctypes.c_int64 * (len(code.sizes) + 1))(*[evaluate(size, bindings) for size in code.sizes])
    scratch = np.full(evaluate(code.scratch_bytes, bindings) + 64, 0xAB, np.uint8)
    start = -scratch.ctypes.data % 64
    extent = evaluate(kernel.sliced.extent, bindings) if kernel.sliced is not None else 1
    status = Status()
    ends = [0, *[cut for cut in cuts if cut < extent], extent]
    for begin, end in zip(ends, ends[1:], strict=False):
        function(buffers, sizes, begin, end, scratch.ctypes.data + start, ctypes.addressof(status))
    return status


def least_bytes(kernel: Kernel, past: int | None) -> dict[Buffer, int]:
    """What ``generate`` is told about results."""
    return {} if past is None else {entry: past for entry in kernel.buffers if entry.role in ("out", "inout")}


def meaning(kernel: Kernel, arrays: Arrays, bindings: Mapping[str, int]) -> dict[str, np.ndarray]:
    """What the buffers hold after the kernel, by the interpreter of the loop IR."""
    copies = {name: array.copy() for name, array in arrays.items()}
    interpret(kernel, copies, bindings, NumPyScalars())
    return copies


def check(kernel: Kernel, arrays: Arrays, bindings: Mapping[str, int] | None = None,
          vector_bytes: int | Sequence[int] = 32, cuts: Sequence[int] = (), past: int | None = None) -> None:
    """Generated code of each width leaves the same bits in all buffers as the interpreter, which is asked once, and
    touches nothing around them.
    """
    bindings = bindings or {}
    expected = meaning(kernel, arrays, bindings)
    for width in (vector_bytes,) if isinstance(vector_bytes, int) else vector_bytes:
        fenced = {name: _fenced(array) for name, array in arrays.items()}
        inner = {name: array[64:-64] if len(array) else array for name, array in fenced.items()}
        run(kernel, inner, bindings, width, cuts, past)
        for name, array in expected.items():
            np.testing.assert_array_equal(_bits(inner[name]), _bits(array), err_msg=f"{name}, {width} bytes")
            outside = np.concatenate([fenced[name][:64], fenced[name][-64:]])
            assert not _bits(outside).any(), f"{name} was written outside"


def _fenced(array: np.ndarray) -> np.ndarray:
    size = (len(array) + 128) * array.dtype.itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64  # rows of results are aligned, as in the memory that calls get
    whole = memory[start:start + size].view(array.dtype)
    whole[64:-64] = array
    return whole


def _bits(array: np.ndarray) -> np.ndarray:
    """Bits, with all NaNs alike."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.nan, array).astype(array.dtype)
    return array.view(np.uint8)
