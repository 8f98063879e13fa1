"""The contract of a call: what may be passed, what comes back, and that a call is all or nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InternalError, InvalidArgument, NotSupported, NumericError, ShapeMismatch, WrongKind
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Op
from nervure.ops.effects import Guard, HostCall
from nervure.transformers.interpreter.step_list import StepList
from tests.ir.functions import LONG
from tests.transformers.build import compiled, evaluate, parameter, read, variable

ops = nv.ops


@pytest.fixture
def x():
    return parameter(2, 3, name="x")


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_the_example_of_the_design():
    a, b, c = (nv.Parameter(nv.float32, (32, 32)) for _ in range(3))
    f = nv.Function([nv.ops.Multiply(nv.ops.Add(a, b), c)], [a, b, c])
    executable = nv.transformers.make_transformer("interpreter").compile(f)
    arrays = [np.random.default_rng(k).standard_normal((32, 32)).astype(np.float32) for k in range(3)]
    expected = (arrays[0] + arrays[1]) * arrays[2]
    for result in (executable(arrays), executable(*arrays), executable(tuple(arrays))):
        assert isinstance(result, tuple) and len(result) == 1
        np.testing.assert_array_equal(result[0], expected)


def test_one_array_may_be_two_arguments():
    a, b = parameter(3), parameter(3)
    one = np.float32([1, 2, 3])
    assert compiled([ops.Add(a, b)], [a, b])(one, one)[0].tolist() == [2, 4, 6]


def test_arguments_may_be_strided_and_are_not_written(x):
    table = np.arange(24, dtype=np.float32).reshape(4, 6)
    strided, before = table[::-2, ::2], table.copy()
    result, = compiled([ops.Add(x, x)], [x])(strided)
    np.testing.assert_array_equal(result, strided * 2)
    np.testing.assert_array_equal(table, before)


def test_results_are_new_arrays_even_where_nothing_is_computed(x):
    y = ops.Add(x, x)
    constant = nv.ops.Constant(X)
    results = compiled([x, x, y, y, ops.Permute(y, (1, 0)), constant, ops.Permute(x, (1, 0)),
                        ops.StopGradient(y)], [x])(X)
    expected = [X, X, X * 2, X * 2, X.T * 2, X, X.T, X * 2]
    for at, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(result, wanted)
        assert result.flags.c_contiguous and result.flags.writeable and result.flags.owndata
        assert not np.shares_memory(result, X)
        assert not any(np.shares_memory(result, other) for other in results[:at])


def test_a_live_result_is_not_overwritten(x):
    executable = compiled([ops.Add(x, x)], [x])
    first, = executable(X)
    kept = first.copy()
    executable(X + 1)
    np.testing.assert_array_equal(first, kept)


def test_scalars_and_empty_tensors():
    assert evaluate(lambda x: ops.Add(x, x), np.float32(2.5)).shape == ()
    assert evaluate(lambda x: ops.Add(x, x), np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert evaluate(lambda x: ops.Sum(x, (0,)), np.zeros((0, 3), np.float32)).tolist() == [0, 0, 0]
    assert evaluate(lambda x: ops.Permute(x, (1, 0)), np.zeros((0, 3), np.float32)).shape == (3, 0)


# -- out ---------------------------------------------------------------------------------------------------


def test_out_takes_the_results(x):
    executable = compiled([ops.Add(x, x), ops.Multiply(x, x)], [x])
    target = np.zeros((3, 2), np.float32).T
    results = executable(X, out=[None, target])
    assert results[1] is target
    np.testing.assert_array_equal(results[0], X * 2)
    np.testing.assert_array_equal(target, X * X)
    alone = np.zeros((2, 3), np.float32)
    assert compiled([ops.Add(x, x)], [x])(X, out=alone)[0] is alone


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda a: a, InvalidArgument, "shares memory with argument 1"),
    (lambda a: a[::-1], InvalidArgument, "shares memory with argument 1"),
    (lambda a: np.zeros((3, 2), np.float32), ShapeMismatch, "another shape"),
    (lambda a: np.zeros((2, 3), np.float64), WrongKind, "another element type"),
    (lambda a: [[0.0] * 3] * 2, WrongKind, "NumPy array"),
    (lambda a: np.broadcast_to(np.float32(0), (2, 3)), InvalidArgument, "read-only"),
])
def test_out_is_checked(x, make, kind, message):
    array = X.copy()
    with pytest.raises(kind, match=message) as caught:
        compiled([ops.Add(x, x)], [x])(array, out=[make(array)])
    assert caught.value.operand == "out[0]"
    assert caught.value.location.file == __file__
    np.testing.assert_array_equal(array, X)


def test_results_must_be_distinct(x):
    target = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"shares memory with out\[0\]"):
        compiled([x, ops.Add(x, x)], [x])(X, out=[target, target])
    with pytest.raises(InvalidArgument, match="number of result arrays"):
        compiled([x, ops.Add(x, x)], [x])(X, out=[target])


def test_a_result_array_has_an_element_for_each_index(x):
    line = np.zeros(4, np.float32)
    for strides in [(0, 4), (4, 4), (-4, 4)]:
        target = np.lib.stride_tricks.as_strided(line[1:] if strides[0] < 0 else line, (2, 3), strides)
        with pytest.raises(InvalidArgument, match="shares memory with itself"):
            compiled([ops.Add(x, x)], [x])(X, out=[target])
    assert not line.any()
    executable = compiled([ops.Add(x, x)], [x])
    for target in [np.zeros((3, 2), np.float32).T[::-1], np.zeros((4, 9), np.float32)[::-2, ::-4]]:
        np.testing.assert_array_equal(executable(X, out=[target])[0], X + X)


def test_interleaved_arrays_are_distinct():
    table = np.zeros((2, 4), np.float32)
    p = parameter(2, 2)
    result, = compiled([ops.Add(p, p)], [p])(table[:, ::2], out=[table[:, 1::2]])
    assert result.base is table


def test_out_is_untouched_by_a_call_that_fails(x):
    target = np.full((2, 3), 7, np.float32)
    guard = Guard(ops.Less(x, x), message="too large")
    with pytest.raises(InvalidArgument, match="too large"):
        compiled([ops.Add(x, x)], [x], effects=[guard])(X, out=[target])
    assert (target == 7).all()


def test_donate_is_checked(x):
    executable = compiled([ops.Add(x, x)], [x])
    np.testing.assert_array_equal(executable(X.copy(), donate=(0,))[0], X * 2)
    with pytest.raises(InvalidArgument, match="donated"):
        executable(X.copy(), donate=(1,))
    for wrong in ({"donate": 0}, {"donate": ["x"]}, {"out": 5}):
        with pytest.raises(WrongKind):
            executable(X, **wrong)


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_an_argument_stays_as_it_is_unless_it_is_donated(name):
    """Q20: results have memory of their own, though they might have that of the arguments, of which one is repeated."""
    p, q = parameter(2, 3), parameter(2, 3)
    with nv.transformers.make_transformer(name) as transformer:
        executable = compiled([ops.Add(p, q), p, ops.Add(p, p)], [p, q], transformer=transformer)
        array, other = X.copy(), X + 1
        results = executable(array, other)
        for result, expected in zip(results, (2 * X + 1, X, 2 * X), strict=True):
            np.testing.assert_array_equal(result, expected)
            assert not np.shares_memory(result, array) and not np.shares_memory(result, other)
        total, same, _ = executable(array, array)
        np.testing.assert_array_equal(total, 2 * X)
        assert not np.shares_memory(same, array)
        np.testing.assert_array_equal(array, X)


def test_an_argument_of_another_order_is_copied_for_the_call():
    """Q22: to one for an input with another order, too; what keeps its value is read where it lies."""
    array = np.ones((500, 700), np.float32)
    with nv.transformers.make_transformer("cpu") as cpu:
        x, given = nv.placeholder(array.shape), nv.make_input(array.shape, "given", order="F")
        kept = nv.variable(array.shape, array, layout="F")
        read, declared = cpu.computation(nv.sum(x), x), cpu.computation(nv.sum(given), given)
        column_major, without = np.asfortranarray(array), cpu.computation(nv.sum(kept))
        taken = [_memory(read, array), _memory(without), _memory(read, column_major), _memory(declared, column_major)]
    assert max(taken[:2]) < 10_000 < array.nbytes <= min(taken[2:])


def _memory(call, *arguments):
    """The bytes that a second call takes at most."""
    call(*arguments)
    tracemalloc.start()
    try:
        call(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- all or nothing ----------------------------------------------------------------------------------------


def test_updates_are_stored_together_at_the_end():
    a, b = variable([1, 2]), variable([3, 4])
    swap = compiled([ops.Add(read(a), read(b))], updates=[(a, read(b)), (b, read(a))])
    assert swap()[0].tolist() == [4, 6]
    assert [swap.transformer.get(entry).tolist() for entry in (a, b)] == [[3, 4], [1, 2]]


def test_an_index_out_of_range_changes_nothing():
    w, index = variable([1.0, 2, 3], "w"), parameter(2, dtype=nv.int64, name="index")
    picked = ops.Gather(read(w), index, 0)
    count = variable(0.0)
    step = compiled([picked], [index], updates=[(count, ops.Add(read(count), read(count).full(1))), (w, -read(w))])
    with pytest.raises(IndexError) as caught:
        step([[0, 3]])
    assert (caught.value.op, caught.value.got) == ("Gather", "3 at position (1,)")
    assert caught.value.location.file == __file__
    assert step.transformer.get(w).tolist() == [1, 2, 3] and step.transformer.get(count) == 0
    step([[0, -3]])
    assert step.transformer.get(count) == 1


def test_a_variable_and_a_result_do_not_share_memory():
    w = variable([1.0, 2.0])
    new = ops.Add(read(w), read(w))
    step = compiled([new, read(w)], updates=[(w, new)])
    first, before = step()
    first[:] = 99
    before[:] = 99
    assert step.transformer.get(w).tolist() == [2, 4]
    assert step()[1].tolist() == [2, 4]
    assert w.initial_value().tolist() == [1, 2]


# -- effects -----------------------------------------------------------------------------------------------


def test_effects_happen_in_order_each_run(x, capsys):
    first, second = ops.PrintOp(x, prefix="first"), ops.PrintOp(ops.Sum(x, (0, 1)), prefix="")
    run = compiled([], [x], effects=[second, first])
    run(X)
    run(X + 1)
    assert capsys.readouterr().out == f"15.0\nfirst: {X}\n21.0\nfirst: {X + 1}\n"


def test_print_passes_x_on(x, capsys):
    assert compiled([ops.PrintOp(x)], [x])(X)[0].tolist() == X.tolist()
    assert capsys.readouterr().out == f"{X}\n"


def test_a_host_call_runs_python():
    p = parameter(3)
    seen = []

    def host(array):
        seen.append(array)
        return array[::-1].astype(np.float64), array.sum()

    call = HostCall(p, function=host, types=[p.value.type, nv.BasicTensorDescription(nv.float32, ())],
                    effectful=False)
    reverse, total = compiled(list(call.outputs), [p])(np.float32([1, 2, 3]))
    assert reverse.tolist() == [3, 2, 1] and reverse.dtype == np.float32 and total == 6
    with pytest.raises(ValueError):
        seen[0][0] = 1


def test_what_a_host_call_returns_is_copied(x):
    kept = np.zeros((2, 3), np.float32)
    result, = compiled([HostCall(x, function=lambda array: kept, types=[x.value.type])], [x])(X)
    kept[:] = 9
    assert (result == 0).all()


@pytest.mark.parametrize(("returned", "kind", "message"), [
    (None, WrongKind, "None"), (np.zeros(4, np.float32), ShapeMismatch, "another shape"),
    (np.zeros((2, 3), complex), WrongKind, "does not fit"), ("text", WrongKind, "does not fit"),
])
def test_a_host_call_must_keep_its_word(x, returned, kind, message):
    call = HostCall(x, function=lambda array: returned, types=[x.value.type])
    with pytest.raises(kind, match=message) as caught:
        compiled([call], [x])(X)
    assert caught.value.op == "HostCall" and caught.value.location.file == __file__


def test_an_error_of_the_host_function_says_where(x):
    def broken(array):
        raise KeyError("mine")
    with pytest.raises(KeyError) as caught:
        compiled([HostCall(x, function=broken, types=[x.value.type])], [x])(X)
    assert "HostCall" in caught.value.__notes__[0] and __file__ in caught.value.__notes__[0]


def test_a_host_call_without_results_is_an_effect(x):
    seen = []
    compiled([], [x], effects=[HostCall(x, function=lambda array: seen.append(array.sum()), types=[])])(X)
    assert seen == [15.0]


def test_a_host_call_may_call_its_own_executable():
    p = parameter()
    inner = []

    def host(array):
        if array < 3:
            inner.append(executable(array + 1)[0])
        return array * 10

    executable = compiled([HostCall(p, function=host, types=[p.value.type])], [p])
    assert executable(np.float32(1))[0] == 10
    assert [float(entry) for entry in inner] == [30.0, 20.0]


def test_a_guard_names_its_position(x):
    guard = Guard(ops.Less(x, x.full(4)), message="x must be small", kind="numeric")
    with pytest.raises(NumericError, match="x must be small") as caught:
        compiled([], [x], effects=[guard])(X)
    assert caught.value.got == "false at position (1, 1)"


# -- NaN ---------------------------------------------------------------------------------------------------


def test_the_nan_check_names_the_first_op(x):
    y = ops.Log(x)
    executable = compiled([ops.Exp(y)], [x])
    bad = X - 1
    assert np.isnan(executable(bad)[0][0, 0])
    with flags.overriding(check_nan=True):
        with pytest.raises(FloatingPointError) as caught:
            executable(bad)
        assert np.isinf(executable(X)[0]).sum() == 0
    assert caught.value.op == "Log" and caught.value.location.file == __file__


def test_a_nan_of_the_caller_is_accepted(x):
    given = X.copy()
    given[0, 0] = np.nan
    with flags.overriding(check_nan=True):
        assert np.isnan(compiled([ops.Add(x, x)], [x])(given)[0][0, 0])


def test_nan_and_infinity_survive(x):
    given = np.float32([[np.nan, np.inf, -np.inf], [-0.0, 1e-45, 3.4e38]])
    assert compiled([x], [x])(given)[0].tobytes() == given.tobytes()


# -- compiling ---------------------------------------------------------------------------------------------


def test_an_op_without_a_meaning_is_refused(x):
    class Opaque(Op):
        """An op that says nothing about what it does."""

        operand_names = "x"

        def infer(self, *types):
            return types[0]

    with pytest.raises(NotSupported) as caught:
        compiled([Opaque(x)], [x])
    assert caught.value.op == "Opaque" and caught.value.location.file == __file__


def test_an_op_of_a_user_runs(x):
    class Cubed(Elementwise):
        """x * x * x."""

        operand_names = "x"

        def evaluate(self, s, x):
            return s.multiply(x, s.multiply(x, x))

    np.testing.assert_array_equal(compiled([Cubed(x)], [x])(X)[0], X**3)


def test_an_elementwise_op_may_be_constant(x):
    class Seven(Elementwise):
        """7 everywhere."""

        operand_names = "x"

        def evaluate(self, s, x):
            return s.constant(7, x)

    assert compiled([Seven(x)], [x])(X)[0].tolist() == [[7.0] * 3] * 2


def test_a_wrong_meaning_is_our_mistake_and_not_a_result(x, monkeypatch):
    executable = compiled([ops.Add(x, x)], [x])
    monkeypatch.setattr(StepList, "results_of", lambda self, op, operands, bindings: [np.zeros(5)])
    with pytest.raises(InternalError, match="is due"):
        executable(X)


def test_only_functions_compile(x):
    with pytest.raises(WrongKind, match="Function"):
        nv.transformers.make_transformer().compile(x)


def test_buffers_are_freed_at_their_last_use():
    p = parameter(100_000)
    value = p.value
    for _ in range(20):
        value = ops.Negative(ops.Add(value, value)).output
    executable = compiled([value, ops.Sum(value, (0,))], [p])
    array = np.zeros(100_000, np.float32)
    executable(array)
    tracemalloc.start()
    executable(array)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert array.nbytes < peak < 3 * array.nbytes  # an operand and a result, of 41


def test_a_long_chain_runs():
    p = parameter()
    value = p.value
    for _ in range(LONG):
        value = ops.Negative(value).output
    executable = compiled([value], [p])
    assert executable(np.float32(3))[0] == 3


def test_composites_inside_composites_are_decomposed(x):
    y = ops.LogSoftmax(x, (1,))
    executable = compiled([y], [x])
    kinds = {type(op).__name__ for op in executable.function.operations}
    assert "LogSoftmax" not in kinds
    expected = X - X.max(1, keepdims=True)
    expected = expected - np.log(np.exp(expected).sum(1, keepdims=True))
    np.testing.assert_allclose(executable(X)[0], expected, rtol=1e-6)
    assert all(op.location.file == __file__ for op in executable.function.operations if op.operands)
