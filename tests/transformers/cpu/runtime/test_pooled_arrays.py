"""Memory that is used again: arrays own it, it comes back when they die, and what is kept is bounded."""

from __future__ import annotations

import ctypes
import random
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from nervure.transformers.cpu.runtime import Program, ProgramStep, arena, pooled_arrays, result
from nervure.transformers.cpu.runtime.memory_pool import class_bytes, size_class
from nervure.transformers.cpu.runtime.records import CLASSES, MemoryPool
from nervure.transformers.cpu.runtime.runtime_library import library, record
from tests.threads import run_together
from tests.transformers.cpu.kernels import address

MEGABYTE = 1 << 20


def resident() -> int:
    """Bytes of this process that are in memory."""
    text = Path("/proc/self/statm").read_text(encoding="utf-8")
    return int(text.split()[1]) * 4096


def test_where_numpy_is_not_known_arrays_are_its_own(monkeypatch):
    monkeypatch.setattr(pooled_arrays, "is_known", lambda: False)
    made = pooled_arrays.empty((3, 4), np.dtype(np.float64))
    assert (made.shape, made.dtype, made.flags.writeable) == ((3, 4), np.float64, True)


def test_classes_hold_their_sizes_with_little_waste():
    for size in [*range(1, 3000), MEGABYTE, MEGABYTE + 1, 1 << 44]:
        number = size_class(size)
        assert number == 0 or class_bytes(number - 1) < size <= class_bytes(number) <= 1.25 * size + 1
    assert class_bytes(CLASSES - 1) > 1 << 45


@pytest.mark.parametrize("size", [1, 64, 65, 80, 81, 96, 97, 128, 129, 1000, 5000, MEGABYTE - 1, MEGABYTE + 1])
def test_native_code_computes_the_same_classes(size):
    pooled_arrays.trim()
    assert record(MemoryPool).held == 0
    pooled_arrays.empty((size,), np.dtype(np.int8))  # dies at once
    assert record(MemoryPool).held == class_bytes(size_class(size))
    assert [number for number, head in enumerate(record(MemoryPool).heads) if head] == [size_class(size)]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128", ml_dtypes.bfloat16, ml_dtypes.int4])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5, 7), (300, 1000)])
def test_an_array_is_like_any_other(dtype, shape):
    array = pooled_arrays.empty(shape, np.dtype(dtype))
    plain = np.empty(shape, dtype)
    assert (array.shape, array.dtype) == (plain.shape, plain.dtype)
    assert array.strides == plain.strides or not array.size
    assert array.base is None and array.flags.num == plain.flags.num
    assert array.ctypes.data % 64 == 0
    array[...] = 1
    assert (array == 1).all()


def test_memory_is_used_again_when_an_array_dies():
    pooled_arrays.trim()
    first = pooled_arrays.empty((1000,), np.dtype(np.float64))
    place = first.ctypes.data
    view = first[::2]
    del first
    assert pooled_arrays.empty((1000,), np.dtype(np.float64)).ctypes.data != place
    del view
    assert pooled_arrays.empty((1000,), np.dtype(np.float64)).ctypes.data == place


def test_an_array_may_be_resized():
    array = pooled_arrays.empty((10,), np.dtype(np.int64))
    array[...] = np.arange(10)
    array.resize(2000, refcheck=False)
    assert array[:10].tolist() == list(range(10)) and not array[10:].any()
    array.resize(5, refcheck=False)
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_memory_of_none_is_new_memory():
    """As of C's realloc, whose conditions are those of NumPy's memory handlers."""
    native = library()
    prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    change = prototype(native.address("handler_realloc"))
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(native.address("handler_free"))
    place = change(None, None, 100)
    ctypes.memset(place, 7, 100)
    larger = change(None, place, 5000)
    assert ctypes.string_at(larger, 100) == bytes([7]) * 100
    free(None, larger, 5000)


def test_memory_that_was_used_is_cleared_where_zeros_are_asked_for():
    """As of C's calloc."""
    native = library()
    clear = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(
        native.address("handler_calloc"))
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(native.address("handler_free"))
    for _ in range(2):
        place = clear(None, 30, 10)
        assert ctypes.string_at(place, 300) == bytes(300)
        ctypes.memset(place, 7, 300)
        free(None, place, 300)


def test_too_much_is_a_memory_error():
    with pytest.raises(MemoryError):
        pooled_arrays.empty((1 << 50,), np.dtype(np.float64))
    with pytest.raises(MemoryError):
        pooled_arrays.empty((1 << 44,), np.dtype(np.int8))


def test_what_is_kept_is_bounded_by_what_calls_need():
    pooled_arrays.trim()
    pool = record(MemoryPool)
    pool.peak = pool.earlier_peak = 0  # of the calls of other tests
    many = [pooled_arrays.empty((MEGABYTE,), np.dtype(np.int8)) for _ in range(200)]
    del many
    assert pooled_arrays.held() < 64 * MEGABYTE


def test_a_thousand_sizes_leave_memory_flat():
    program = Program([ProgramStep(address("copy"), [0, 1], [0], 8)], [arena(0), result(0)], arena_bytes=300_000)
    sizes = random.Random(5).sample(range(1, 500_000), 1000)
    before = 0
    for number, size in enumerate(sizes):
        out = pooled_arrays.empty((size,), np.dtype(np.int64))
        out[...] = 1
        program.run([], [out])
        if number == 100:
            before = resident()
    assert resident() - before < 5 * MEGABYTE


def test_arrays_die_on_any_thread():
    pooled_arrays.trim()

    def work(seed: int) -> None:
        for number in range(300):
            size = 1 + (seed * 7919 + number * 104_729) % 50_000
            array = pooled_arrays.empty((size,), np.dtype(np.int64))
            array[0] = array[-1] = seed
            shared.append(array)
            other = shared.pop(0)
            assert other.size and other[0] == other[-1]

    shared = [pooled_arrays.empty((1,), np.dtype(np.int64)) for _ in range(8)]
    run_together(*[partial(work, seed) for seed in range(6)])
    assert len(shared) == 8
