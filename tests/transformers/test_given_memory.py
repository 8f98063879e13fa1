"""Memory that callers give: results are written into ``out``, and in place of arguments that are donated."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import IndexOutOfRange, InvalidArgument
from nervure.transformers.cpu.runtime import Program
from nervure.types.dim import dim, index
from nervure.types.index_map import IndexMap
from tests.transformers.build import compiled, parameter

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def made(monkeypatch):
    """Counts the arrays that programs make for results."""
    counted = []
    make = Program._made
    monkeypatch.setattr(Program, "_made", lambda program, number: counted.append(number) or make(program, number))
    return counted


def cache_of(length):
    """An append to a cache at a position that is an argument: the parameters, and the new cache."""
    cache, row = nv.Parameter(nv.float32, (length, 3)), nv.Parameter(nv.float32, (1, 3))
    position = nv.Parameter(nv.int64, (1,))
    return [cache, row, position], ops.Scatter(cache, position, row, axis=0)


# -- out ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [4, dim("n")])
def test_results_are_written_into_plain_arrays(made, length):
    """Q36: nothing is made, and nothing copied; an array in another order is filled by a copy."""
    x = nv.Parameter(nv.float32, (length, 3))
    with nv.transformers.make_transformer("cpu") as cpu:
        executable = compiled([ops.Exp(x), ops.Permute(x, (1, 0))], [x], transformer=cpu)
        for rows in (4,) if length == 4 else (4, 1, 9):
            array = np.linspace(-1, 1, 3 * rows, dtype=np.float32).reshape(rows, 3)
            expected = executable(array)
            for makes, order in ((0, "C"), (1, "F")):
                targets = [np.full((rows, 3), np.nan, np.float32), np.full((3, rows), np.nan, np.float32, order=order)]
                made.clear()
                results = executable(array, out=targets)
                assert len(made) == (makes if min(rows, 3) > 1 else 0)
                for result, target, wanted in zip(results, targets, expected, strict=True):
                    assert result is target
                    np.testing.assert_array_equal(target, wanted)


def test_a_result_before_a_failure_stays_out_of_the_given_array(transformer):
    """Q37: what is written before the last check is copied when all is well; what comes after it is not."""
    x, picked = parameter(2, 3), parameter(2, dtype=nv.int64)
    first = ops.Sum(ops.Exp(x), [1])
    both = compiled([first, ops.Gather(first, picked, 0)], [x, picked], transformer=transformer)
    targets = [np.full(2, 7, np.float32), np.full(2, 7, np.float32)]
    with pytest.raises(IndexOutOfRange):
        both(X, np.array([0, 5]), out=targets)
    assert (np.array(targets) == 7).all()
    results = both(X, np.array([1, 0]), out=targets)
    np.testing.assert_array_equal(results[1], results[0][::-1])
    assert results[0] is targets[0] and results[1] is targets[1]


def test_what_cannot_fail_any_more_is_written_where_it_shall_lie(made):
    table, picked = parameter(5, 3), parameter(2, dtype=nv.int64)
    rows = ops.Gather(table, picked, 0)
    with nv.transformers.make_transformer("cpu") as cpu:
        executable = compiled([ops.Sum(ops.MatMul(rows, ops.Permute(rows, (1, 0))), [1])], [table, picked],
                              transformer=cpu)
        target = np.empty(2, np.float32)
        executable(np.ones((5, 3), np.float32), np.array([4, 0]), out=[target])
        assert target.tolist() == [6, 6] and made == []


def test_an_array_that_a_variable_reads_is_refused():
    w, x = nv.variable((2, 3), 1.0), nv.placeholder((2, 3))
    step = nv.computation(x * w, x)
    kept = w.storage
    for keywords in ({"out": [kept]}, {"out": [kept[::-1]]}):
        with pytest.raises(InvalidArgument, match="shares memory with variable"):
            step.executable(X, **keywords)
    with pytest.raises(InvalidArgument, match="is donated and shares memory with variable"):
        step.executable(kept, donate=(0,))
    assert (kept == 1).all()


# -- donated arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [6, dim("n")])
def test_an_update_is_written_in_place_of_a_donated_argument(length):
    """Q20: a scatter, a write through an index map, and a point-by-point update change the argument's own array."""
    parameters, appended = cache_of(length)
    cache, row, _ = parameters
    second = IndexMap((1, 3), (index(0) + 1, index(1)))
    updates = {"scatter": appended, "view": ops.UpdateView(cache, row, second), "point by point": ops.Add(cache, cache)}
    for update in updates.values():
        with nv.transformers.make_transformer("cpu") as cpu:
            executable = compiled([update], parameters, transformer=cpu)
            for rows in (6,) if length == 6 else (6, 40, 3):
                array = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
                rest = np.full((1, 3), -1, np.float32), np.array([-2])
                expected, = executable(array, *rest)
                for out in (None, [array]):
                    given = array if out else array.copy()
                    result, = executable(given, *rest, out=out, donate=(0,))
                    assert result is given
                    np.testing.assert_array_equal(result, expected)


def test_nothing_is_copied_for_a_row_of_a_cache():
    """The step that would copy the cache has nothing to do, and no time: what runs does not depend on the length."""
    parameters, appended = cache_of(1 << 16)
    with nv.transformers.make_transformer("cpu") as cpu:
        executable = compiled([appended], parameters, transformer=cpu)
        cache = np.zeros((1 << 16, 3), np.float32)
        executable(cache, np.ones((1, 3), np.float32), np.array([7]), donate=(0,))
        variant, = executable._specialised({}).others.values()
        loaded = executable._loaded
        fill, written = loaded.steps({}, {}, variant.in_place)
        assert (fill.extent, fill.nanoseconds, written.extent > 0) == (0, 0, True)
        assert loaded.steps({}, {}, {})[0].extent > 1 << 16
        assert cache.sum() == cache[7].sum() == 3


def test_what_cannot_be_in_place_has_memory_of_its_own(transformer):
    """An element that is read at another place, or after its update, keeps its value as long as it is needed."""
    x = parameter(3, 3)
    flipped = ops.Permute(x, (1, 0))
    crossed, product = ops.Subtract(x, flipped), ops.MatMul(x, x)
    after = ops.Sum(ops.Multiply(ops.Exp(x), flipped), [0])
    array = np.arange(9, dtype=np.float32).reshape(3, 3)
    for results in ([crossed], [product], [ops.Add(x, x), product], [ops.Add(x, x), ops.Multiply(x, x), x], [x, x],
                    [ops.Add(x, x), after], [ops.Softmax(x, [0]), flipped]):
        executable = compiled(results, [x], transformer=transformer)
        expected = executable(array)
        for out in (None, *[[None] * at + [0] + [None] * (len(results) - at - 1) for at in range(len(results))]):
            given = array.copy()
            shaped = None if out is None else [given if entry == 0 and wanted.shape == (3, 3) else None
                                               for entry, wanted in zip(out, expected, strict=True)]
            got = executable(given, out=shaped, donate=(0,))
            for at, (result, wanted) in enumerate(zip(got, expected, strict=True)):
                np.testing.assert_array_equal(result, wanted)
                assert not any(np.shares_memory(result, other) for other in got[:at])
                assert shaped is None or shaped[at] is None or result is given


def test_results_take_the_places_of_their_arguments(transformer):
    """Two caches at once, in an order that differs from that of the results, and with one that is not donated."""
    a, b, row = parameter(4, 3), parameter(4, 3), parameter(1, 3)
    first = IndexMap((1, 3), (0, index(1)))
    executable = compiled([ops.UpdateView(b, row, first), ops.UpdateView(a, row, first)], [a, b, row],
                          transformer=transformer)
    line = np.full((1, 3), 5, np.float32)
    for donate in [(0, 1), (1, 0), (0,), (1,), (2,)]:
        for out in (None, "b", "both"):
            arrays = [np.full((4, 3), number, np.float32) for number in (1, 2)]
            if out is not None and not {"b": {1}, "both": {0, 1}}[out] <= set(donate):
                continue
            targets = {None: None, "b": [arrays[1], None], "both": [arrays[1], arrays[0]]}[out]
            got = executable(*arrays, line, out=targets, donate=donate)
            assert [result[:2, 0].tolist() for result in got] == [[5, 2], [5, 1]]
            assert [np.shares_memory(got[0], arrays[1]), np.shares_memory(got[1], arrays[0])] == (
                [1 in donate, 0 in donate] if transformer.name == "cpu" or out == "both" else
                [out is not None, False])


def test_arguments_in_another_form_are_converted_as_without(transformer):
    """What a call converts or copies first is not the caller's array: it is not written, and need not be writeable."""
    x = parameter(2, 3)
    executable = compiled([ops.Add(x, x)], [x], transformer=transformer)
    strided = np.zeros((2, 6), np.float32)[:, ::2]
    strided[...] = X
    for given in (X.tolist(), strided, X.astype(np.int16), np.asfortranarray(X)):
        np.testing.assert_array_equal(executable([given], donate=(0,))[0], X * 2)
    np.testing.assert_array_equal(strided, X)


@pytest.mark.parametrize(("arrays", "donate", "message"), [
    (lambda a, b: (a, b), (0, 0), "argument 1 is donated twice"),
    (lambda a, b: (a, a), (0,), "argument 1 is donated and shares memory with argument 2"),
    (lambda a, b: (a, a[::-1]), (1, 0), "argument 2 is donated and shares memory with argument 1"),
    (lambda a, b: (np.broadcast_to(np.float32(1), (2, 3)), b), (0,), "argument 1 is donated and read-only"),
    (lambda a, b: (a, b), (2,), "a donated argument does not exist"),
    (lambda a, b: (a, b), (-1,), "a donated argument does not exist"),
])
def test_bad_donations_say_what_is_wrong(transformer, arrays, donate, message):
    """Q38."""
    p, q = parameter(2, 3), parameter(2, 3)
    executable = compiled([ops.Add(p, q)], [p, q], transformer=transformer)
    given = arrays(X.copy(), X + 1)
    kept = [array.copy() for array in given]
    with pytest.raises(InvalidArgument, match=message) as caught:
        executable(*given, donate=donate)
    assert caught.value.operand == "donate" and caught.value.location.file == __file__ and caught.value.help
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_an_argument_is_a_target_only_if_it_is_donated(transformer):
    parameters, appended = cache_of(4)
    executable = compiled([appended], parameters, transformer=transformer)
    cache, rest = np.zeros((4, 3), np.float32), (np.ones((1, 3), np.float32), np.array([2]))
    for donate in ((), (1,)):
        with pytest.raises(InvalidArgument, match=r"out\[0\] shares memory with argument 1") as caught:
            executable(cache, *rest, out=[cache], donate=donate)
        assert "donate=" in caught.value.help
    with pytest.raises(InvalidArgument, match=r"out\[0\] shares memory with argument 1"):
        executable(cache, *rest, out=[cache[::-1]], donate=(0,))
    assert not cache.any()
    assert executable(cache, *rest, out=[cache], donate=(0,))[0] is cache and cache.sum() == 3


def test_a_donated_argument_of_another_order_does_not_become_a_result(transformer):
    x = parameter(2, 3)
    executable = compiled([x, ops.Add(x, x)], [x], transformer=transformer)
    for given in (np.asfortranarray(X), np.zeros((2, 6), np.float32)[:, ::2]):
        given[...] = X
        same, double = executable(given, donate=(0,))
        assert same.flags.c_contiguous and double.flags.c_contiguous
        np.testing.assert_array_equal(same, X)
        np.testing.assert_array_equal(double, X * 2)
