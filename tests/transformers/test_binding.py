"""Arguments: conversion, ranges, shapes; symbols: solved, checked, bounded, assumed."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.ir.function import Assumption
from nervure.transformers.binding import Binder
from nervure.types.dim import dim_max
from nervure.types.dtype import all_dtypes
from tests.transformers.build import compiled, parameter

ops = nv.ops


def passed(dtype, value, *shape):
    p = parameter(*shape, dtype=dtype, name="x")
    return compiled([p], [p])([value])[0]


@pytest.mark.parametrize(("dtype", "value"), [
    (nv.float32, np.arange(3)), (nv.float32, np.arange(3.0)), (nv.float64, np.float32([1, 2, 3])),
    (nv.int32, np.arange(3)),
    (nv.int64, np.array([1, 2, 3], np.uint64)), (nv.float16, [1, 2, 3]), (nv.bfloat16, [1.5, 2, 3]),
    (nv.complex64, [1, 2, 3]),
    (nv.uint8, [1, 2, 255]), (nv.int8, np.array([True, False, True])), (nv.float32, (1, 2.5, 3)),
    (nv.int4, [7, -8, 0]),
    (nv.float32, np.arange(3, dtype=">f4")), (nv.int64, np.arange(3, dtype=">i8")), (nv.float8_e4m3fn, [1, 2, 4]),
])
def test_same_kind_converts(dtype, value):
    got = passed(dtype, value, 3)
    assert got.dtype == dtype.numpy
    np.testing.assert_array_equal(got.astype(complex), np.asarray(value).astype(complex))


@pytest.mark.parametrize(("dtype", "value"), [
    (nv.int32, np.arange(3.0)), (nv.int32, [1.0, 2, 3]), (nv.float32, np.zeros(3, complex)), (nv.bool_, np.arange(3)),
    (nv.uint8, np.array([1, 2, 3])), (nv.float32, ["a", "b", "c"]), (nv.float32, [None, None, None]),
    (nv.float32, object()),
    (nv.float32, [[1], [2, 3]]), (nv.float32, np.zeros(3, "datetime64[s]")), (nv.bool_, [1, 2, 3]),
])
def test_another_kind_is_a_type_error_that_names_the_parameter(dtype, value):
    with pytest.raises(TypeError) as caught:
        passed(dtype, value, 3)
    assert isinstance(caught.value, WrongKind)
    assert caught.value.operand == "1 (x)" and caught.value.op == "function"
    assert caught.value.location.file == __file__


def test_an_argument_that_is_too_large_once_converted_is_refused():
    for value in (np.broadcast_to(np.float64(1), 2**45), np.broadcast_to(np.array(1, ">f4"), 2**45)):
        with pytest.raises(InvalidArgument, match="more memory than there is") as caught:
            passed(nv.float32, value, 2**45)
        assert caught.value.operand == "1 (x)" and caught.value.location.file == __file__


def test_same_kind_is_numpys():
    for source in all_dtypes:
        for target in all_dtypes:
            if source.numpy.isbuiltin != 1 or target.numpy.isbuiltin != 1:
                continue
            array = np.zeros(2, source.numpy)
            if np.can_cast(source.numpy, target.numpy, "same_kind"):
                assert passed(target, array, 2).dtype == target.numpy
            else:
                with pytest.raises(WrongKind):
                    passed(target, array, 2)


@pytest.mark.parametrize(("dtype", "value", "got"), [
    (nv.int8, np.array([1, 200, 300]), "200 at position (1,)"),
    (nv.int32, np.array([0, 0, 2**31]), f"{2**31} at position (2,)"),
    (nv.uint8, [1, 2, -1], "-1 at position (2,)"), (nv.int64, np.array([1, 2, 2**63], np.uint64),
                                                    f"{2**63} at position (2,)"),
    (nv.int4, [0, 8, 0], "8 at position (1,)"),
])
def test_a_narrowed_integer_must_fit(dtype, value, got):
    with pytest.raises(ValueError) as caught:
        passed(dtype, value, 3)
    assert isinstance(caught.value, InvalidArgument)
    assert (caught.value.got, caught.value.operand) == (got, "1 (x)")


def test_a_number_that_numpy_cannot_read_is_out_of_range():
    p = parameter(dtype=nv.int64, name="x")
    with pytest.raises(InvalidArgument) as caught:
        compiled([p], [p])(2**70)
    assert caught.value.got == str(2**70)


def test_a_narrowed_float_may_overflow():
    assert passed(nv.float32, np.array([1e300, -1e300, 1]), 3).tolist() == [np.inf, -np.inf, 1]


@pytest.mark.parametrize("value", [np.zeros(4, np.float32), np.zeros((3, 1), np.float32), np.float32(0)])
def test_a_wrong_shape_names_the_parameter(value):
    with pytest.raises(ShapeMismatch) as caught:
        passed(nv.float32, value, 3)
    assert (caught.value.operand, caught.value.expected) == ("1 (x)", "f32[3]")


def test_a_wrong_number_of_arguments():
    p = parameter(3, name="x")
    for arguments in [(), (np.zeros(3), np.zeros(3)), ([],), ([1, 2, 3],)]:
        with pytest.raises(InvalidArgument, match="number of arguments"):
            compiled([p], [p])(*arguments)


# -- symbols -----------------------------------------------------------------------------------------------

N, M = nv.dim("N"), nv.dim("M")


def shapes(parameters, results=None, **more):
    """A function that returns N x M zeros, say, so that the values of the symbols can be read off."""
    zeros = [ops.Full(0, nv.float32, results)] if results is not None else []
    executable = compiled(zeros, parameters, **more)
    return lambda *lengths: executable([np.zeros(length, np.float32) for length in lengths])[0].shape


def test_symbols_are_read_off():
    assert shapes([parameter(N, M), parameter(M)], (N, M))((2, 5), 5) == (2, 5)


def test_one_program_serves_all_lengths():
    run = shapes([parameter(N)], (N,))
    assert [run(length) for length in (3, 0, 7, 3)] == [(3,), (0,), (7,), (3,)]


def test_linear_expressions_are_solved_in_any_order():
    run = shapes([parameter(2 * N + M), parameter(M - 1)], (N, M))
    assert run(11, 4) == (3, 5)
    run = shapes([parameter(N * M), parameter(N)], (N, M))
    assert run(12, 4) == (4, 3)


@pytest.mark.parametrize("lengths", [(6,), (0,)])
def test_no_solution(lengths):
    with pytest.raises(ShapeMismatch, match="no value of N"):
        shapes([parameter(2 * N + 1)], (N,))(*lengths)


def test_every_dimension_is_checked():
    run = shapes([parameter(N), parameter(N, N + 1)], (N,))
    assert run(3, (3, 4)) == (3,)
    with pytest.raises(ShapeMismatch) as caught:
        run(3, (3, 5))
    assert caught.value.operand == "2" and "N is 3" in caught.value.help
    with pytest.raises(ShapeMismatch, match="dimension 0 is not N"):
        run(3, (4, 4))
    with pytest.raises(ShapeMismatch, match="N//2"):
        shapes([parameter(N), parameter(N // 2)], (N,))(5, 3)


def test_bounds_are_checked():
    run = shapes([parameter(nv.dim("K", min=2, max=4))], (nv.dim("K"),))
    assert run(4) == (4,)
    for length in (1, 5):
        with pytest.raises(InvalidArgument, match="K is out of its bounds") as caught:
            run(length)
        assert (caught.value.got, caught.value.expected) == (f"K = {length}", "2 to 4")
    with pytest.raises(InvalidArgument, match="at least 2"):
        shapes([parameter(2 * nv.dim("K", min=2))], (nv.dim("K"),))(2)


def test_an_unbound_symbol_is_named():
    for parameters, name in [([], "N"), ([parameter(N // 2)], "N"), ([parameter(N + M)], "M"), ([parameter(M)], "N")]:
        with pytest.raises(InvalidArgument, match=f"the symbol {name} has no value") as caught:
            shapes(parameters, (N,))(*[4 for _ in parameters])
        assert caught.value.operand == name


def test_symbols_that_no_argument_tells_are_known_before_a_call():
    for lengths, unknown in [((N, N * M), set()), ((N // 2, M), {"N"}), ((N + M,), {"N", "M"}), ((3,), set())]:
        x = parameter(*lengths)
        assert Binder(nv.Function([x], [x])).unknown == unknown


def test_a_symbol_of_an_attribute_alone_needs_a_value():
    x, k = parameter(9), nv.dim("K", max=7)
    executable = compiled([ops.Slice(x, [(k, 2, 1)])], [x])
    with pytest.raises(InvalidArgument, match="the symbol K has no value"):
        executable(np.ones(9))
    y = parameter(k)
    executable = compiled([ops.Slice(x, [(k, 2, 1)])], [x, y])
    assert executable(np.arange(9.0), np.ones(3))[0].tolist() == [3, 4]


def test_a_symbol_that_any_length_would_do_for_has_no_value():
    executable = shapes([parameter(N, N * M)], (N,))
    assert executable((2, 6)) == (2,)
    with pytest.raises(InvalidArgument, match="the symbol M has no value"):
        executable((0, 0))


def test_bounds_hold_wherever_they_are_declared():
    x, large = parameter(N), nv.dim("N", min=5)
    executable = compiled([ops.Slice(x, [(large - 5, 1, 1)])], [x])
    assert executable(np.arange(7.0))[0].tolist() == [2]
    with pytest.raises(InvalidArgument, match="N is out of its bounds") as caught:
        executable(np.arange(3.0))
    assert caught.value.expected == "at least 5"


def test_assumptions_are_checked_before_anything_runs(capsys):
    x = parameter(N)
    assumption = Assumption(N, 2 * M, "Dot", x.location)
    executable = compiled([ops.PrintOp(x)], [x, parameter(M)], assumptions=[assumption])
    assert executable(np.ones(4), np.ones(2))[0].tolist() == [1] * 4
    capsys.readouterr()
    with pytest.raises(ShapeMismatch, match=r"N = 2\*M does not hold") as caught:
        executable(np.ones(4), np.ones(3))
    assert (caught.value.op, caught.value.got) == ("Dot", "N is 4, 2*M is 6")
    assert caught.value.location == x.location
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("left", "right"), [(N, 2 * M), (dim_max(N, 9), N), (0, N - 7)],
                         ids=["lengths that differ", "a bound", "a negative length"])
def test_the_reason_of_an_assumption_is_the_message(left, right):
    x = parameter(N)
    assumption = Assumption(left, right, "Dot", x.location, "there is another way")
    executable = compiled([ops.PrintOp(x)], [x, parameter(M)], assumptions=[assumption])
    with pytest.raises(ShapeMismatch, match="there is another way") as caught:
        executable(np.ones(5), np.ones(3))
    assert caught.value.op == "Dot" and f"{right} is " in caught.value.got
    assert f"{left} = {right}" in caught.value.expected and caught.value.location == x.location


def test_a_dimension_that_becomes_negative():
    x = parameter(N)
    executable = compiled([ops.Full(1, nv.float32, (N - 3,))], [x])
    assert executable(np.ones(5))[0].shape == (2,)
    with pytest.raises(ShapeMismatch, match="negative"):
        executable(np.ones(2))


def test_symbolic_graphs_compute():
    x = parameter(N, 3)
    y = ops.Sum(ops.Multiply(x, x), (0,))
    executable = compiled([y, ops.Reshape(x, (3 * N,)), ops.MatMul(ops.Permute(x, (1, 0)), x)], [x])
    for length in (4, 1, 0):
        array = np.random.default_rng(length).standard_normal((length, 3)).astype(np.float32)
        total, flat, product = executable(array)
        np.testing.assert_allclose(total, (array * array).sum(0), rtol=1e-6)
        np.testing.assert_array_equal(flat, array.ravel())
        np.testing.assert_allclose(product, array.T @ array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [dtype for dtype in all_dtypes if dtype.is_integer], ids=str)
@pytest.mark.parametrize("scalar", [np.int64, np.int8, np.uint64, np.uint8], ids=lambda kind: kind.__name__)
def test_integer_scalars_of_numpy_have_no_type_of_their_own(dtype, scalar):
    """A96: as Python's, they fit where their value does; arrays have a type, whatever their rank."""
    assert passed(dtype, scalar(1)) == 1 and passed(dtype, [scalar(1), scalar(0)], 2).tolist() == [1, 0]
    low, high = int(dtype.minimum), int(dtype.maximum)
    for value in (low - 1, high + 1):
        if np.iinfo(scalar).min <= value <= np.iinfo(scalar).max:
            with pytest.raises(InvalidArgument, match=str(value)):
                passed(dtype, scalar(value))


def test_arrays_of_signed_integers_are_no_unsigned_ones():
    """A96: not even without axes."""
    for value in (np.array(3), np.array([3])):
        with pytest.raises(WrongKind, match="int64 elements are not converted to uint8"):
            passed(nv.uint8, value, *value.shape)
    with pytest.raises(WrongKind):
        passed(nv.uint8, np.float64(3))
