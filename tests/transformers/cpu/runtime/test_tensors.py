"""The entry for tensors of another library: what fits runs natively, all else reaches Python as it came."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.transformers.cpu.runtime import pooled_arrays
from nervure.transformers.tensor_calls import TensorArgument, TensorCall, TensorResult
from nervure.types.dlpack import type_word
from nervure.types.dtype import as_dtype

pytestmark = pytest.mark.skipif(nv.transformers.default().name != "cpu", reason="there is no cpu transformer here")

WORDS, MANAGED = 6, 4
"""The words of a DLTensor, and those before it in a DLManagedTensorVersioned."""


class Foreign:
    """A tensor of a small library that implements DLPack's exchange API, in Python."""

    __slots__ = ("array", "places", "is_broken")
    deleted = 0

    def __init__(self, array: np.ndarray, is_broken: bool = False) -> None:
        self.array, self.is_broken = array, is_broken
        strides = [stride // array.itemsize for stride in array.strides]
        self.places = (ctypes.c_int64 * (2 * array.ndim))(*array.shape, *strides)


class Other(Foreign):
    """A class of tensors that may mean anything."""

    __slots__ = ()


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def _read(tensor: Foreign, header: int) -> int:
    if tensor.is_broken:
        return -1
    array, places = tensor.array, ctypes.addressof(tensor.places)
    kind = array.ndim | type_word(as_dtype(array.dtype)) << 32
    (ctypes.c_int64 * WORDS).from_address(header)[:] = [array.ctypes.data, 1, kind, places, places + 8 * array.ndim, 0]
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
def _make(managed: int, made: Any) -> int:
    words = (ctypes.c_int64 * (MANAGED + WORDS)).from_address(managed)
    rank, code = words[6] & 0xFFFF, words[6] >> 32
    dims, strides = [list((ctypes.c_int64 * rank).from_address(words[at])) for at in (7, 8)]
    dtype = next(dtype for dtype in (nv.float32, nv.int64) if type_word(dtype) == code)
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * 4096).from_address(words[4])) if np.prod(dims) else np.empty(0)
    bytes_ = [stride * dtype.itemsize for stride in strides]
    found = Foreign(np.lib.stride_tricks.as_strided(memory.view(dtype.numpy), dims, bytes_).copy(order="K"))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(words[2])(managed)
    Foreign.deleted += 1
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))
    ctypes.cast(made, ctypes.POINTER(ctypes.c_void_p))[0] = id(found)
    return 0


_FUNCTIONS = [ctypes.cast(function, ctypes.c_void_p) for function in (_make, _read)]
_TABLE = (ctypes.c_void_p * 7)(1, None, 1, 1, *_FUNCTIONS, 1)
_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.restype, _NEW.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")  # a capsule does not own its name
Foreign.__dlpack_c_exchange_api__ = _NEW(ctypes.addressof(_TABLE), _NAME, None)  # type: ignore[attr-defined]


class Caller:
    """Counts the calls that came the slow way."""

    def __init__(self) -> None:
        self.slow_calls = 0

    def slow(self, tensors: list[object]) -> str:
        self.slow_calls += 1
        return "slow"


def entry(function: nv.Function, examples: list[np.ndarray], arguments: Any = None, results: Any = None,
          writes: Any = None) -> tuple[Any, Caller]:
    executable, caller = nv.transformers.default().build(function), Caller()
    executable(examples)
    call = TensorCall((Foreign,), len(examples), arguments or tuple(map(TensorArgument, range(len(examples)))),
                      results or (TensorResult(),) * len(function.results), writes or {},
                      lambda number, tensor: tensor.array)
    caller.executable = executable  # type: ignore[attr-defined]
    return executable.tensor_entry(call, caller.slow), caller


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def product() -> nv.Function:
    x, y = nv.Parameter(nv.float32, (3, 4)), nv.Parameter(nv.float32, (3, 4))
    return nv.Function([nv.ops.Multiply(x, y), nv.ops.Sum(x, [1])], [x, y])


def test_a_call_that_fits():
    x, y = floats(2, 3, 4)
    run, caller = entry(product(), [x, y])
    found = run([Foreign(x), Foreign(y)])
    assert type(found) is list and caller.slow_calls == 0
    np.testing.assert_array_equal(found[0].array, x * y)
    np.testing.assert_allclose(found[1].array, x.sum(1), rtol=1e-6)


@pytest.mark.parametrize("wrong", [
    Other(floats(3, 4)), Foreign(floats(3, 4), is_broken=True), Foreign(floats(4, 3)), Foreign(floats(3, 4, 1)),
    Foreign(floats(4, 3).T), Foreign(floats(3, 8)[:, ::2]), Foreign(np.ones((3, 4), np.int64)),
    Foreign(np.ones((3, 4), np.float64)), Foreign(np.empty(49, np.uint8)[1:].view(np.float32).reshape(3, 4)), 7, None],
    ids=["class", "error", "lengths", "rank", "order", "gaps", "type", "width", "alignment", "number", "nothing"])
def test_what_does_not_fit_reaches_python(wrong):
    x = floats(3, 4)
    run, caller = entry(product(), [x, x])
    assert run([Foreign(x), wrong]) == "slow" and run([Foreign(x)]) == "slow" and caller.slow_calls == 2
    assert run([Foreign(x), Foreign(x)]) != "slow"


def test_dimensions_in_another_order():
    x = floats(4, 3)
    run, caller = entry(product(), [x.T.copy(), x.T.copy()], (TensorArgument(1, (1, 0)), TensorArgument(0)),
                        (TensorResult((1, 0)), TensorResult()))
    made, _ = run([Foreign(x.T.copy()), Foreign(np.asfortranarray(x))])
    np.testing.assert_array_equal(made.array, x * x)
    assert made.array.flags.f_contiguous and caller.slow_calls == 0


def test_elements_that_are_none_and_lengths_of_one():
    x, y = nv.Parameter(nv.float32, (0, 5)), nv.Parameter(nv.float32, (1, 4))
    run, caller = entry(nv.Function([nv.ops.Exp(x), nv.ops.Exp(y)], [x, y]), [floats(0, 5), floats(1, 4)])
    found = run([Foreign(floats(0, 5)), Foreign(floats(6, 8)[3:4, :4])])  # a stride that no element uses
    assert [each.array.shape for each in found] == [(0, 5), (1, 4)] and caller.slow_calls == 0


def test_other_lengths_have_programs_of_their_own():
    n = nv.dim("n")
    x = nv.Parameter(nv.float32, (n, 2))
    run, caller = entry(nv.Function([nv.ops.Exp(x)], [x]), [floats(3, 2)])
    assert run([Foreign(floats(5, 2))]) == "slow"
    caller.executable([floats(5, 2)])
    for length in (3, 5):
        np.testing.assert_allclose(run([Foreign(floats(length, 2))])[0].array, np.exp(floats(length, 2)), rtol=1e-6)
    assert caller.slow_calls == 1


def appended() -> nv.Function:
    cache, at, row = nv.Parameter(nv.float32, (8, 4)), nv.Parameter(nv.int64, (1,)), nv.Parameter(nv.float32, (1, 4))
    return nv.Function([nv.ops.Scatter(cache, at, row, 0), nv.ops.Negative(row)], [cache, at, row])


def test_a_result_is_written_where_its_argument_lies():
    cache, row = floats(8, 4), floats(1, 4)
    run, caller = entry(appended(), [cache, np.array([2]), row], writes={0: 0})
    expected = cache.copy()
    expected[5] = row
    found = run([Foreign(cache), Foreign(np.array([5])), Foreign(row)])
    np.testing.assert_array_equal(cache, expected)
    assert len(found) == 1 and caller.slow_calls == 0
    np.testing.assert_array_equal(found[0].array, -row)


def test_a_result_that_cannot_replace_its_argument_is_copied_there():
    x = nv.Parameter(nv.float32, (3, 3))
    value = floats(3, 3)
    run, caller = entry(nv.Function([nv.ops.Add(nv.ops.Permute(x, [1, 0]), x)], [x]), [value], writes={0: 0})
    expected = value.T + value
    assert run([Foreign(value)]) == [] and caller.slow_calls == 0
    np.testing.assert_array_equal(value, expected)


def test_an_argument_that_is_written_and_shares_memory_reaches_python():
    memory = floats(9, 4)
    run, caller = entry(appended(), [memory[:8], np.array([2]), memory[8:]], writes={0: 0})
    assert run([Foreign(memory[:8]), Foreign(np.array([2])), Foreign(memory[7:8])]) == "slow"
    assert run([Foreign(memory[:8]), Foreign(np.array([2])), Foreign(memory[8:])]) != "slow" and caller.slow_calls == 1


def test_a_call_that_fails_names_the_op_and_leaks_nothing():
    x, at = nv.Parameter(nv.float32, (8, 4)), nv.Parameter(nv.int64, (1,))
    run, caller = entry(nv.Function([nv.ops.Gather(x, at, 0)], [x, at]), [floats(8, 4), np.array([2])])
    given = [Foreign(floats(8, 4)), Foreign(np.array([9]))]
    counts = [sys.getrefcount(each) for each in given]
    for _ in range(3):
        with pytest.raises(nv.IndexOutOfRange):
            run(given)
    gc.collect()
    assert [sys.getrefcount(each) for each in given] == counts and caller.slow_calls == 0


def test_memory_of_results_returns_to_the_pool():
    x, y = floats(2, 3, 4)
    run, caller = entry(product(), [x, y])
    given = [Foreign(x), Foreign(y)]
    run(given)
    before, deleted = pooled_arrays.held(), Foreign.deleted
    for _ in range(100):
        run(given)
    assert pooled_arrays.held() == before and Foreign.deleted - deleted == 200
    assert caller.slow_calls == 0


def test_while_nan_are_checked_calls_reach_python():
    x, y = floats(2, 3, 4)
    run, caller = entry(product(), [x, y])
    with flags.overriding(check_nan=True):
        assert run([Foreign(x), Foreign(y)]) == "slow"
    assert run([Foreign(x), Foreign(y)]) != "slow" and caller.slow_calls == 1
