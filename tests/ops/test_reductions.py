"""Reductions, statistics and softmax: values against NumPy and SciPy, derivatives, empty axes, symbols, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.ir.op import registry
from nervure.ops.reductions import Reduction
from tests.ops.evaluation import check_derivatives, compute, evaluate

RNG = np.random.default_rng(9)
X = RNG.standard_normal((2, 3, 4))
T = RNG.random((2, 3, 4))
AXES = [(), (1,), (-1,), (0, 2), (2, 0), (0, 1, 2)]

NUMPY = {
    ops.Sum: np.sum, ops.Prod: np.prod, ops.Max: np.max, ops.Min: np.min, ops.Mean: np.mean, ops.Variance: np.var,
    ops.Std: np.std, ops.SquaredL2: lambda x, axis: (x * x).sum(axis), ops.L1Norm: lambda x, axis: np.abs(x).sum(axis),
    ops.L2Norm: lambda x, axis: np.sqrt((x * x).sum(axis)), ops.LogSumExp: scipy.special.logsumexp,
    ops.LogMeanExp: lambda x, axis: np.log(np.mean(np.exp(x), axis)),
    ops.CountNonzero: lambda x, axis: (x != 0).sum(axis),
}
WITHOUT_SLOPE = {ops.CountNonzero}


def name(entry: object) -> str | None:
    return entry.__name__ if isinstance(entry, type) else None


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("op", NUMPY, ids=name)
def test_values_and_derivatives(op: type, axes: tuple[int, ...]) -> None:
    result = evaluate(lambda x: op(x, axes), X)
    np.testing.assert_allclose(result, NUMPY[op](X, axis=axes), rtol=1e-13, atol=1e-14)
    if op is ops.Std and axes == ():
        assert slope(lambda x: op(x, axes), X).tolist() == np.zeros(X.shape).tolist()
    elif op not in WITHOUT_SLOPE:
        check_derivatives(lambda x: op(x, axes), X)


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_any_and_all(axes: tuple[int, ...]) -> None:
    x = X > 0
    np.testing.assert_array_equal(evaluate(lambda x: ops.Any(x, axes), x), x.any(axis=axes))
    np.testing.assert_array_equal(evaluate(lambda x: ops.All(x, axes), x), x.all(axis=axes))


@pytest.mark.parametrize("axes", AXES[1:], ids=str)
@pytest.mark.parametrize("op, reference", [(ops.ArgMax, np.argmax), (ops.ArgMin, np.argmin)], ids=name)
def test_positions_are_flattened_over_the_reduced_axes(op: type, reference: object, axes: tuple[int, ...]) -> None:
    whole = sorted(axis % 3 for axis in axes)
    kept = [d for d in range(3) if d not in whole]
    flat = X.transpose(*kept, *whole).reshape([X.shape[d] for d in kept] + [-1])
    found = evaluate(lambda x: op(x, axes), X)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, reference(flat, axis=-1))


def test_positions_take_the_first_and_nan_before_all() -> None:
    x = np.array([[1, 3, 3], [np.nan, 5, np.nan], [-np.inf, np.nan, np.inf], [0, -0., 0]])
    assert evaluate(lambda x: ops.ArgMax(x, [1]), x).tolist() == [1, 0, 1, 0]
    assert evaluate(lambda x: ops.ArgMin(x, [1]), -x).tolist() == [1, 0, 1, 0]
    assert evaluate(lambda x: ops.ArgMax(x, []), x).tolist() == np.zeros((4, 3)).tolist()


def test_extrema_propagate_nan_and_share_the_gradient_among_ties() -> None:
    x = np.array([[1., 3., 3.], [np.nan, 5., 7.]])
    assert evaluate(lambda x: ops.Max(x, [1]), x)[0] == 3 and np.isnan(evaluate(lambda x: ops.Max(x, [1]), x)[1])
    assert slope(lambda x: ops.Max(x, [1]), x[:1]).tolist() == [[0, 0.5, 0.5]]
    assert slope(lambda x: ops.Min(x, [0, 1]), -x[:1]).tolist() == [[0, 0.5, 0.5]]
    ties = np.ones(70_000, np.float16)  # more than float16 can count
    np.testing.assert_array_equal(slope(lambda x: ops.Max(x, [0]), ties), np.float16(1 / 70_000))


@pytest.mark.parametrize("op, expected", [
    (ops.Sum, 0), (ops.Prod, 1), (ops.Mean, math.nan), (ops.Variance, math.nan), (ops.L2Norm, 0)], ids=name)
def test_over_no_elements(op: type, expected: float) -> None:
    x = np.zeros((2, 0))
    np.testing.assert_array_equal(evaluate(lambda x: op(x, [1]), x), [expected] * 2)
    assert evaluate(lambda x: op(x, [0]), x).shape == (0,)
    assert slope(lambda x: op(x, [1]), x).shape == (2, 0)


@pytest.mark.parametrize("op", [ops.Max, ops.Min, ops.ArgMax, ops.ArgMin], ids=name)
def test_an_empty_axis_has_no_extremum(op: type) -> None:
    x = nv.Parameter(nv.float32, (2, 0))
    with pytest.raises(InvalidArgument, match="empty axis") as caught:
        op(x, [1])
    assert (caught.value.op, caught.value.operand, caught.value.got) == (op.__name__, "1 (x)", "f32[2, 0]")
    assert op(x, [0]).shape == (0,) and op(nv.Parameter(nv.float32, (0, 0)), [1]).shape == (0,)


@pytest.mark.parametrize("dtype", [nv.float32, nv.float16, nv.int8, nv.uint16, nv.bool_], ids=str)
def test_extrema_of_nothing(dtype: nv.DType) -> None:
    """O41: the ends of the element type, where it is asked for; a length that is never 0 needs no asking."""
    low, high = (-np.inf, np.inf) if dtype.is_float else (False, True) if dtype is nv.bool_ else dtype.limits
    for length in (0, nv.dim("n")):
        x = nv.Parameter(dtype, (2, length))
        found = [op(x, [1], of_nothing=True) for op in (ops.Max, ops.Min)]
        for transformer in ("interpreter", "cpu"):
            with nv.transformers.make_transformer(transformer) as made:
                results = made.compile(Function(found, [x]))(np.zeros((2, 0), dtype.numpy))
            assert [result.tolist() for result in results] == [[low] * 2, [high] * 2]
    for length in (3, nv.dim("n", min=1)):
        assert not ops.Max(nv.Parameter(dtype, (2, length)), [1], of_nothing=True).of_nothing
    assert ops.Max(nv.Parameter(dtype, (0, 3)), [1], of_nothing=True).of_nothing is False


@pytest.mark.parametrize("zeros", [(), (1,), (0, 3), (0, 1, 4)])
@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_prod_is_exact_with_zeros(length: int, zeros: tuple[int, ...]) -> None:
    x = RNG.standard_normal((2, length))
    x[0, [at for at in zeros if at < length]] = 0
    others = np.stack([np.prod(np.delete(x, at, axis=1), axis=1) for at in range(length)], axis=1)
    np.testing.assert_allclose(slope(lambda x: ops.Prod(x, [1]), x), others, rtol=1e-14)
    check_derivatives(lambda x: ops.Prod(x, [1]), x)
    check_derivatives(lambda x: ops.Prod(x, [0, 1]), x)


def test_prod_over_a_symbolic_axis() -> None:
    x = nv.Parameter(nv.float64, (nv.dim("N"),))
    first, = gradients([ops.Prod(x, [0])], [x], [None])
    executable = nv.transformers.make_transformer("interpreter").compile(Function([first], [x]))
    for values in ([2., 0., 3.], [5.], [], [1., 2., 3., 4., 5., 6.]):
        expected = [np.prod(np.delete(values, at)) for at in range(len(values))]
        assert executable([np.array(values)])[0].tolist() == expected


@pytest.mark.parametrize("op", [ops.Mean, ops.Variance], ids=name)
def test_symbolic_counts(op: type) -> None:
    n = nv.dim("N")
    x = nv.Parameter(nv.float32, (3, n))
    result = op(x, [1])
    step, = gradients([result], [x], [None])
    executable = nv.transformers.make_transformer("interpreter").compile(Function([result, step], [x]))
    values = RNG.standard_normal((3, 5)).astype(np.float32)
    got, slopes = executable([values])
    np.testing.assert_allclose(got, NUMPY[op](values, axis=1), rtol=1e-5)
    np.testing.assert_allclose(slopes, slope(lambda x: op(x, [1]), values), rtol=1e-6)


def test_variance_subtracts_degrees_of_freedom() -> None:
    np.testing.assert_allclose(evaluate(lambda x: ops.Variance(x, [1], 1), X), X.var(axis=1, ddof=1))
    np.testing.assert_allclose(evaluate(lambda x: ops.Std(x, [1], ddof=2), X), X.std(axis=1, ddof=2))
    assert np.isnan(evaluate(lambda x: ops.Variance(x, [0], 2), np.ones(1)))


def test_roots_have_the_derivative_0_at_0() -> None:
    for op in (ops.L2Norm, ops.Std):
        x = nv.Parameter(nv.float64, (3,))
        first, = gradients([op(x, [0])], [x], [None])
        second, = gradients([first], [x], [None])
        assert [entry.tolist() for entry in compute([first, second], [x], [np.zeros(3)])] == [[0] * 3] * 2


@pytest.mark.parametrize("x, value, gradient", [
    ([1e4, 1e4], 1e4 + math.log(2), [0.5, 0.5]),
    ([-math.inf, 2.], 2, [0, 1]),
    ([-math.inf, -math.inf], -math.inf, [0, 0]),
    ([], -math.inf, []),
    ([math.inf, 2.], math.inf, [math.nan, 0]),
    ([math.nan, 2.], math.nan, [math.nan, math.nan]),
])
def test_logsumexp_at_the_edges(x: list[float], value: float, gradient: list[float]) -> None:
    np.testing.assert_array_equal(evaluate(lambda x: ops.LogSumExp(x, [0]), np.array(x)), value)
    np.testing.assert_array_equal(slope(lambda x: ops.LogSumExp(x, [0]), np.array(x)), gradient)


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_softmax(axes: tuple[int, ...]) -> None:
    for op, reference in ((ops.Softmax, scipy.special.softmax), (ops.MaskedSoftmax, scipy.special.softmax),
                          (ops.LogSoftmax, scipy.special.log_softmax)):
        np.testing.assert_allclose(evaluate(lambda x, op=op: op(x, axes), X), reference(X, axis=axes), rtol=1e-13,
                                   atol=1e-15)
        check_derivatives(lambda x, op=op: op(x, axes), X)


def test_softmax_of_large_logits_and_of_nothing() -> None:
    x = np.array([[1e5, 0., -1e5], [-np.inf, 3., 3.]])
    assert evaluate(lambda x: ops.Softmax(x, [1]), x).tolist() == [[1, 0, 0], [0, 0.5, 0.5]]
    assert evaluate(lambda x: ops.LogSoftmax(x, [1]), x)[0].tolist() == [0, -1e5, -2e5]
    assert evaluate(lambda x: ops.Softmax(x, [1]), np.zeros((2, 0))).shape == (2, 0)


def test_masked_softmax_of_nothing_but_minus_infinity_is_0_and_so_is_its_derivative() -> None:
    """O78: other rows have the bits of a softmax; a NaN stays one."""
    x = np.array([[-np.inf, -np.inf], [0., 3.], [-np.inf, 1.], [np.nan, 1.]])
    found = evaluate(lambda x: ops.MaskedSoftmax(x, [1]), x)
    assert found[0].tolist() == [0, 0] and np.isnan(found[3]).all()
    np.testing.assert_array_equal(found[1:], evaluate(lambda x: ops.Softmax(x, [1]), x)[1:])
    weight = np.array([1., 2.])
    steps = slope(lambda x: ops.MaskedSoftmax(x, [1]).output * ops.Broadcast(nv.ops.Constant(weight), (4, 2), [0]), x)
    assert steps[0].tolist() == [0, 0] and steps[2].tolist() == [0, 0] and np.isfinite(steps[1]).all()


def test_softmax_cross_entropy_is_safe_and_its_gradient_small() -> None:
    logits, targets = nv.Parameter(nv.float64, (2, 3)), nv.Parameter(nv.float64, (2, 3))
    loss = ops.SoftmaxCrossEntropy(logits, targets, [1])
    step, = gradients([loss], [logits], [None])
    x, t = np.array([[1e5, 0., -np.inf], [1., 2., 3.]]), np.array([[0., 1., 0.], [.2, .3, .5]])
    losses, steps = compute([loss, step], [logits, targets], [x, t])
    expected = -(t[1] * scipy.special.log_softmax(x[1])).sum()
    np.testing.assert_allclose(losses, [1e5, expected], rtol=1e-14)
    np.testing.assert_allclose(steps, scipy.special.softmax(x, axis=1) - t, atol=1e-15)
    used = [type(op).__name__ for op in Function([step], [logits, targets]).operations]
    assert "Softmax" in used and "LogSoftmax" not in used and "SoftmaxCrossEntropy" not in used
    for axes in ([1], [0, 2], [1, 2]):
        check_derivatives(lambda x, t, axes=axes: ops.SoftmaxCrossEntropy(x, t, axes), X, T)


@pytest.mark.parametrize("op", [ops.Mean, ops.Variance, ops.LogSumExp, ops.L2Norm], ids=name)
def test_low_precision_is_rounded_once(op: type) -> None:
    x = (RNG.random((3, 300)) * 4).astype(nv.float16.numpy)
    wide = evaluate(lambda x: op(x, [1]), x.astype(np.float32))
    assert evaluate(lambda x: op(x, [1]), x).tobytes() == wide.astype(np.float16).tobytes()
    huge = np.full((1, 100), 60_000, np.float16)  # the sum overflows float16, the mean does not
    assert evaluate(lambda x: ops.Mean(x, [1]), huge).tolist() == [60_000]


def test_integers_wrap_and_keep_their_type() -> None:
    x = np.full((1, 3), 100, np.int8)
    assert evaluate(lambda x: ops.Sum(x, [1]), x).tolist() == [44]
    assert evaluate(lambda x: ops.Prod(x, [1]), x).tolist() == [np.int8(64)]
    assert evaluate(lambda x: ops.CountNonzero(x, [1]), x).dtype == np.int64


@pytest.mark.parametrize("op", [op for op in registry.values() if issubclass(op, Reduction) and op.arity], ids=name)
def test_type_rule(op: type) -> None:
    dtype = nv.bool_ if op in (ops.Any, ops.All) else nv.float32
    inputs = [nv.Parameter(dtype, (nv.dim("N"), 3, 4)) for _ in range(op.arity)]
    inputs[0].value.labels = ("N", None, "W")
    result = op(*inputs, [-2])
    assert result.axes == (1,) and result.shape == (nv.dim("N"), 4) and result.value.labels == ("N", "W")
    if isinstance(result, Composite):
        assert result.decompose(*result.operands).type == result.type
    for axes in ([3], [-4], [0, 0], [1, -2]):
        with pytest.raises(InvalidArgument) as caught:
            op(*inputs, axes)
        assert (caught.value.op, caught.value.operand) == (op.__name__, "axes")
    refused = nv.int4 if nv.int4 not in op.admits else nv.float8_e8m0fnu
    with pytest.raises(DtypeMismatch) as caught:
        op(*[nv.Parameter(refused, (2,))] * op.arity, [0])
    assert caught.value.location.file == __file__


def test_targets_must_be_like_the_logits() -> None:
    with pytest.raises(ShapeMismatch) as caught:
        ops.SoftmaxCrossEntropy(nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 2)), [1])
    assert caught.value.operand == "2 (targets)"


def slope(build: object, x: np.ndarray) -> np.ndarray:
    """The derivative of the sum of the results."""
    parameter = nv.Parameter(nv.as_dtype(x.dtype), x.shape)
    found, = gradients([build(parameter)], [parameter], [None])
    return np.zeros_like(x) if found is None else compute([found], [parameter], [x])[0]
