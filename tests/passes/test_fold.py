"""Constant folding: what is evaluated, what stays uniform, what is left alone."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.passes.fold import LIMIT, fold
from nervure.transformers.interpreter.evaluate import evaluate
from nervure.types.dtype import all_dtypes
from tests.passes.agreement import assert_agree, assert_same_bits, classes, run, special_values


def constant(*shape, dtype=np.float32):
    return ops.Constant(np.arange(np.prod(shape)).reshape(shape).astype(dtype))


def folded(*results):
    """The ops that folded results are made of, and their values, which must be what they were."""
    function = Function(list(results), [])
    after = fold(function, evaluate)
    assert_agree(function, after, [])
    return after


def test_ops_on_constants_become_constants():
    after = folded(ops.MatMul(constant(3, 4), constant(4, 2)), ops.Exp(constant(3)) + constant(3))
    assert classes(after).count("MatMul") == 1  # composites are written out first
    assert type(after.results[1].op) is ops.Constant


def test_several_outputs_are_folded():
    kernel = ops.RandomKey(ops.Full(1, nv.uint32, ()), ops.Full(2, nv.uint32, ()), ops.Full(3, nv.uint64, ()), stream=5)
    assert set(classes(folded(*kernel.outputs))) <= {"Constant", "Full"}


def test_uniform_tensors_stay_uniform():
    n = nv.dim("N")
    x = nv.Parameter(nv.float32, (n, 3))
    two = ops.Full(2, nv.float32, (n, 3))
    function = Function([x + ops.Exp(two * 3.0)], [x])
    after = fold(function, evaluate)
    assert classes(after) == ["Full", "Add"]
    assert_agree(function, after, [np.ones((2, 3), np.float32)])


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_special_values_of_every_type_survive(dtype):
    numbers = [value.item() for value in special_values(dtype)]
    moved = [ops.Convert(ops.Broadcast(ops.Full(number, dtype, ()), (3,), (0,)), wide) for number in numbers
             for wide in (nv.float64, nv.int8, nv.float16, nv.complex128)]
    assert set(classes(folded(*moved))) == {"Full"}


def test_views_of_one_number():
    full = ops.Full(1.5, nv.float32, (2, 3))
    x = nv.Parameter(nv.float32, (4, 6))
    views = [ops.Broadcast(full, (4, 2, 3), (0,)), ops.Reshape(full, (6,)), ops.Permute(full, (1, 0)),
             ops.Slice(full, ((0, 1, 1), (2, 2, -1))), ops.Pad(full, ((1, 1), (2, 1)), 1.5),
             ops.Concatenate(full, full, axis=1), ops.FoldedPad(full, ((1, 1), (2, 1)), "wrap")]
    after = fold(Function([x, *views], [x]))  # nothing has to be evaluated
    assert set(classes(after)) == {"Full"}
    assert [value.type for value in after.results[1:]] == [op.type for op in views]


def test_views_of_different_numbers_stay():
    ones, zeros = ops.Full(1, nv.float32, (2,)), ops.Full(-0.0, nv.float32, (2,))
    results = [ops.Pad(ones, ((1, 0),)), ops.Pad(zeros, ((1, 0),)), ops.Concatenate(ones, zeros, axis=0)]
    assert classes(fold(Function(results, []))) == ["Full", "Pad", "Full", "Pad", "Concatenate"]


def test_a_constant_of_one_element_is_uniform():
    after = fold(Function([ops.Constant(np.float32([[2.5]])), ops.Constant(np.float32([1, 1]))], []))
    assert classes(after) == ["Full", "Constant"]
    assert after.results[0].shape == (1, 1)


def test_a_nan_whose_bits_no_number_has_stays():
    """The one that Python makes is uniform as any number, in all types."""
    made = np.array([0x7FC1, 0x7FC0, 0xFFC0], np.uint16).view(nv.bfloat16.numpy)
    function = Function([ops.Constant(made[at:at + 1]) for at in range(3)], [])
    after = fold(function, evaluate)
    assert classes(after) == ["Constant", "Full", "Constant"]
    assert [found.tobytes() for found in run(after, [])] == [made[at].tobytes() for at in range(3)]


def test_a_view_is_folded_unless_that_takes_more_memory():
    small = constant(2, 3)
    after = folded(ops.Permute(small, (1, 0)), ops.Slice(small, ((0, 1, 1), (0, 3, 1))))
    assert set(classes(after)) == {"Constant"}
    function = Function([ops.Broadcast(small, (5, 2, 3), (0,))], [])
    assert fold(function, evaluate) is function


def test_large_results_stay_unless_an_operand_is_larger():
    big = constant(LIMIT // 4 + 1)
    function = Function([big * 1.0], [])
    assert fold(function, evaluate) is function
    assert classes(folded(ops.Sum(big, [0]))) == ["Full"]
    wide = ops.Full(1, nv.float32, (LIMIT // 4 + 1,))
    uniform = Function([ops.Sum(wide, [0])], [])
    assert fold(uniform, evaluate) is uniform  # it would have to be made large to be added up
    assert classes(folded(ops.Sum(ops.Full(1, nv.float32, (1000,)), [0]))) == ["Full"]


def test_a_nan_is_left_where_it_is_made():
    zero, nan = ops.Full(0, nv.float32, (2,)), ops.Full(float("nan"), nv.float32, (2,))
    function = Function([zero / zero, ops.Log(ops.Constant(np.float32([1, -1])))], [])
    assert fold(function, evaluate) is function
    assert classes(folded(nan * 2.0)) == ["Full"]


def test_what_fails_is_left_to_fail_at_run_time():
    table, index = constant(3), ops.Constant(np.int64([5, 0]))
    function = Function([ops.Gather(table, index, 0)], [])
    assert fold(function, evaluate) is function
    with pytest.raises(nv.IndexOutOfRange):
        run(function, [])


def test_effects_and_host_calls_are_not_folded():
    one = ops.Full(1, nv.float32, (2,))
    calls = []
    pure = ops.HostCall(one, function=lambda array: calls.append(1) or array, types=[one.type], effectful=False)
    function = Function([ops.PrintOp(one), pure], [])
    assert fold(function, evaluate) is function and not calls


def test_symbolic_shapes_are_not_evaluated():
    n = nv.dim("N")
    full = ops.Full(1, nv.float32, (n,))
    x = nv.Parameter(nv.float32, (n,))
    function = Function([ops.Sum(full, [0]), x], [x])
    assert fold(function, evaluate) is function


def test_without_an_evaluator_nothing_is_computed():
    function = Function([ops.Full(1, nv.float32, (2,)) + ops.Full(2, nv.float32, (2,)), ops.Exp(constant(3))], [])
    assert fold(function) is function


def test_the_result_does_not_share_memory_that_somebody_writes():
    array = np.arange(6, dtype=np.float32)
    after = fold(Function([ops.Reshape(ops.Constant(array), (2, 3))], []), evaluate)
    assert not after.results[0].op.array.flags.writeable
    assert_same_bits(run(after, [])[0], np.arange(6, dtype=np.float32).reshape(2, 3))


def test_an_empty_tensor_with_a_symbolic_length_is_left_as_it_is():
    empty = ops.Full(1.0, nv.float32, (0, nv.dim("n", min=1)))
    function = Function([ops.Sum(empty, [1])], [])
    assert fold(function, evaluate) is function
