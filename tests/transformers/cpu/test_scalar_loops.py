"""While loops over single numbers: one kernel, the values of the interpreter, in every element type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nervure as nv
from nervure import ops
from nervure.ops.looping import While
from nervure.transformers.cpu.compile.region_data import AT_ONCE
from nervure.transformers.cpu.compiled import RegionKind
from nervure.transformers.cpu.region_code import RegionCode
from tests.passes.agreement import assert_same_bits


def both(function, arrays):
    """Results on the cpu and on the interpreter, and the code of the loop."""
    executable = nv.transformers.make_transformer("cpu").build(function)
    codes = [code for code in executable.compilation.loaded.codes if isinstance(code, RegionCode)]
    return executable(arrays), nv.transformers.make_transformer("interpreter").build(function)(arrays), codes


def parameters(*dtypes):
    return [nv.Parameter(dtype, ()) for dtype in dtypes]


def counting(dtype, limit, change):
    """A loop that counts to a limit, and changes a number of some type beside it."""
    own, other = parameters(nv.int64, dtype, dtype), parameters(nv.int64, dtype, dtype)
    outside = parameters(nv.int64, dtype, dtype)
    loop = While(*outside, condition=nv.Function([own[0] < limit], own), carries=2,
                 body=nv.Function([other[0] + 1, change(other[1], other[2])], other))
    return nv.Function(loop.outputs, outside)


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.float16, nv.bfloat16, nv.int8, nv.uint32, nv.int64,
                                   nv.bool_, nv.complex64])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_numbers_of_all_types(dtype, count):
    """A373, A379: also where a number takes two registers, or is carried as its bits."""
    change = {"bool": lambda x, y: ops.LogicalXor(x, y).output}.get(dtype.kind, lambda x, y: x * y + y)
    function = counting(dtype, count, change)
    arrays = [np.int64(0), *[np.asarray(entry).astype(dtype.numpy) for entry in (1, 3)]]
    found, expected, codes = both(function, arrays)
    assert [code.region.kind for code in codes] == [RegionKind.SCALAR_WHILE]
    for mine, theirs in zip(found, expected, strict=True):
        assert_same_bits(mine, theirs)


def test_a_loop_goes_on_after_a_look_for_signals():
    """A375, A379: the kernel returns now and then, with its carries in memory."""
    for count in (AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5):
        function = counting(nv.float32, count, lambda x, y: y - x)
        executable = nv.transformers.make_transformer("cpu").build(function)
        steps, value = executable([np.int64(0), np.float32(1), np.float32(5)])
        assert steps == count and value == (4 if count % 2 else 1)


def test_carries_may_change_places_and_stay():
    a, b, c, n = parameters(nv.float32, nv.float32, nv.float32, nv.int32)
    body = nv.Function([b, a, c, n + 1], [a, b, c, n])
    condition = nv.Function([ops.LogicalAnd(n < 5, a < b + 9.0).output], [a, b, c, n])
    outside = parameters(nv.float32, nv.float32, nv.float32, nv.int32)
    loop = While(*outside, condition=condition, body=body, carries=4)
    found, expected, codes = both(nv.Function(loop.outputs, outside), [1.0, 2.0, 3.0, np.int32(0)])
    assert [entry.item() for entry in found] == [entry.item() for entry in expected] == [2.0, 1.0, 3.0, 5]
    assert codes[0].region.kind is RegionKind.SCALAR_WHILE


def test_conditions_that_are_numbers():
    outside, own = parameters(nv.float32), parameters(nv.float32)
    never = nv.Function([ops.Full(False, nv.bool_, ())], own)
    loop = While(*outside, condition=never, body=nv.Function([own[0] * 2.0], own), carries=1)
    found, _, _ = both(nv.Function(loop.outputs, outside), [3.0])
    assert found[0] == 3.0


def test_what_is_more_than_numbers_runs_as_any_loop():
    """A379: rows, checks and other loops inside."""
    x = nv.placeholder((3,))
    table = nv.constant([1.0, 2.0, 3.0])
    rows = nv.while_loop(lambda s: nv.sum(s) < 10, lambda s: s * 2, x)
    checked = nv.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + table[s[0]]),
                            (nv.constant(0, dtype=nv.int64), 0.0))[1]
    nested = nv.while_loop(lambda s: s < 100, lambda s: nv.while_loop(lambda t: t < s + 3, lambda t: t + 2, s),
                           nv.sum(x))
    found = [nv.computation([rows, checked, nested], x, transformer=nv.transformers.make_transformer(name))(
        np.float32([1, 2, 3])) for name in ("cpu", "interpreter")]
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_loops(data):
    """A373: bodies of several ops, with values that conditions and carries share."""
    own = parameters(nv.int32, nv.float32, nv.float64, nv.float32)
    pools = {nv.int32: [own[0].output], nv.float32: [own[1].output, own[3].output], nv.float64: [own[2].output]}
    for _ in range(data.draw(st.integers(1, 10))):
        dtype = data.draw(st.sampled_from([nv.int32, nv.float32, nv.float64]))
        a, b = [data.draw(st.sampled_from(pools[dtype])) for _ in range(2)]
        kind = data.draw(st.sampled_from(["add", "multiply", "where", "tanh", "convert"]))
        if kind == "tanh":
            made = a if dtype is nv.int32 else ops.Tanh(a).output
        elif kind == "convert":
            made = ops.Convert(data.draw(st.sampled_from(pools[nv.int32])), dtype).output
        elif kind == "where":
            made = ops.Where(a < b, a, b).output
        else:
            made = a + b if kind == "add" else a * b
        pools[dtype].append(made)
    counter = own[0].output + 1
    news = [counter, *[data.draw(st.sampled_from(pools[dtype])) for dtype in (nv.float32, nv.float64)]]
    bound = data.draw(st.sampled_from(pools[nv.float32])) < 1e6
    condition = nv.Function([ops.LogicalAnd(own[0] < data.draw(st.integers(0, 6)), bound)], own)
    outside = parameters(nv.int32, nv.float32, nv.float64, nv.float32)
    loop = While(*outside, condition=condition, body=nv.Function(news, own), carries=3)
    found, expected, codes = both(nv.Function(loop.outputs, outside), [np.int32(0), np.float32(0.5), 0.25,
                                                                       np.float32(-1.5)])
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert codes[0].region.kind is RegionKind.SCALAR_WHILE
