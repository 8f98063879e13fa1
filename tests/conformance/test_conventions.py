"""Derivatives at the points where mathematics leaves them open: the conventions of docs/ops.md, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import NotSupported, WrongKind
from nervure.ir.function import Function
from nervure.ir.op import as_value
from nervure.types.dtype import as_dtype
from tests.conformance.differences import derivatives
from tests.conformance.running import TRANSFORMERS, run

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)
INF = math.inf


def slopes(transformer: str, build: Callable[..., Any], *arrays: Any, order: int = 1) -> list[Any]:
    """The gradients of the sum of the result (order 2: of the sum of those) with respect to each float operand."""
    arrays = tuple([np.asarray(array, np.float64) if np.asarray(array).dtype.kind == "f" else np.asarray(array)
                    for array in arrays])
    parameters = [nv.Parameter(as_dtype(array.dtype), array.shape) for array in arrays]
    targets = [entry.value for entry in parameters if entry.dtype.is_float]
    outputs = [as_value(build(*parameters))]
    for _ in range(order):
        outputs = derivatives(outputs, [output.full(1) for output in outputs], targets)
    return [result.tolist() for result in run(transformer, Function(outputs, parameters), arrays)]


def test_ties_of_reductions(transformer):
    """O53: equal shares for all that attain the extremum."""
    assert slopes(transformer, lambda x: ops.Max(x, [0]), [3.0, 1.0, 3.0, 3.0]) == [[1 / 3, 0, 1 / 3, 1 / 3]]
    assert slopes(transformer, lambda x: ops.Min(x, [0, 1]), [[2.0, 2.0], [5.0, 9.0]]) == [[[0.5, 0.5], [0, 0]]]
    assert slopes(transformer, lambda x: ops.MaxPool(x, [0], [2]), [1.0, 1.0, 0.0]) == [[0.5, 1.5, 0]]
    index = np.array([0, 0, 1])
    found = slopes(transformer, lambda x, i, u: ops.Scatter(x, i, u, 0, "maximum"), [2.0, 0.0], index, [2.0, 1.0, 0.0])
    assert found == [[0.5, 0.5], [0.5, 0, 0.5]]


def test_ties_of_two(transformer):
    """O54: half to each."""
    for op in (ops.Maximum, ops.Minimum):
        assert slopes(transformer, op, [1.0], [1.0]) == [[0.5], [0.5]]
    assert slopes(transformer, ops.Maximum, [1.0, 2.0], [2.0, 1.0]) == [[0, 1], [1, 0]]


def test_kinks_at_zero(transformer):
    """O55: 0 in the kink."""
    for op in (ops.Absolute, ops.Sign, ops.Relu):
        assert slopes(transformer, op, [0.0, -0.0]) == [[0, 0]]
    assert slopes(transformer, ops.Absolute, [-2.0, 2.0]) == [[-1, 1]]
    assert slopes(transformer, ops.Relu, [-2.0, 2.0]) == [[0, 1]]


def test_roots_at_zero(transformer):
    """O56: norms are 0 at 0, the square root itself is infinite."""
    assert slopes(transformer, lambda x: ops.L2Norm(x, [0]), [0.0, 0.0]) == [[0, 0]]
    found, = slopes(transformer, lambda x: ops.L2Norm(x, [1]), [[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8]], rtol=1e-15)
    assert slopes(transformer, lambda x: ops.Std(x, [0]), [2.0, 2.0]) == [[0, 0]]
    assert slopes(transformer, ops.Hypot, [0.0], [0.0]) == [[0], [0]]
    assert slopes(transformer, ops.Sqrt, [0.0, 4.0]) == [[INF, 0.25]]


@pytest.mark.parametrize("factors", [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [5.0], [0.0]])
def test_products_with_zeros(factors, transformer):
    """O57: the product of the others, and of the others but one."""
    others = [math.prod(factors[:k] + factors[k + 1:]) for k in range(len(factors))]
    assert slopes(transformer, lambda x: ops.Prod(x, [0]), factors) == [others]
    pairs = [[0 if j == k else math.prod(x for at, x in enumerate(factors) if at not in (j, k))
              for j in range(len(factors))] for k in range(len(factors))]
    assert slopes(transformer, lambda x: ops.Prod(x, [0]), factors, order=2) == [np.sum(pairs, axis=0).tolist()]


def test_power_and_divide_at_zero(transformer):
    """O58: safe at 0."""
    base, exponent = [0.0, 0.0, 0.0, 0.0, -2.0], [2.0, 1.0, 0.0, 3.0, 3.0]
    in_base, in_exponent = slopes(transformer, ops.Power, base, exponent)
    assert in_base == [0, 1, 0, 0, 12]
    assert in_exponent[:4] == [0, 0, 0, 0] and math.isnan(in_exponent[4])
    assert slopes(transformer, lambda x: x.value ** 2.0, [0.0, 3.0], order=2) == [[2, 2]]
    assert slopes(transformer, lambda x: x.value ** 3.0, [0.0, -1.0], order=2) == [[0, -6]]
    assert slopes(transformer, ops.Divide, [0.0], [4.0]) == [[0.25], [0]]


def test_gradients_of_reads_add_up(transformer):
    """O59: gathers, windows and overlapping views."""
    rows = np.array([[1, 1], [0, -1]])
    assert slopes(transformer, lambda x, i: ops.Gather(x, i, 0), [5.0, 6.0, 7.0], rows) == [[1, 2, 1]]
    assert slopes(transformer, lambda x, i: ops.LookupTable(x, i), [[1.0], [2.0]], np.array([1, 1, 1])) == [[[0], [3]]]
    assert slopes(transformer, lambda x: ops.Windows(x, [0], [2]), [1.0, 2.0, 3.0]) == [[1, 2, 1]]
    assert slopes(transformer, lambda x: ops.AveragePool(x, [0], [2]), [1.0, 2.0, 3.0]) == [[0.5, 1, 0.5]]
    assert slopes(transformer, lambda x: ops.FoldedPad(x, [(2, 1)], "edge"), [1.0, 2.0]) == [[3, 2]]
    assert slopes(transformer, lambda x: ops.Broadcast(x, (3, 2), [0]), [1.0, 2.0]) == [[3, 3]]


def test_steps(transformer):
    """O60: flat everywhere."""
    for op in (ops.Floor, ops.Ceil, ops.Round, ops.Truncate, ops.Sign):
        assert slopes(transformer, op, [0.5, -1.0, 2.25]) == [[0, 0, 0]]
    assert slopes(transformer, ops.FloorDivide, [5.0], [2.0]) == [[0], [0]]
    assert slopes(transformer, lambda x: ops.Bitcast(ops.Bitcast(x, nv.int64), nv.float64), [5.0]) == [[0]]
    assert slopes(transformer, lambda x: ops.Convert(ops.Less(x, x.value * 2.0), nv.float64), [5.0]) == [[0]]
    assert slopes(transformer, lambda x: ops.Convert(ops.Convert(x, nv.int32), nv.float64), [5.5]) == [[0]]


def test_stop_gradient(transformer):
    """O61: x times x, one of them stopped."""
    assert slopes(transformer, lambda x: x.value * ops.StopGradient(x).output, [3.0]) == [[3]]
    assert slopes(transformer, lambda x: x.value * ops.StopGradient(x).output, [3.0], order=2) == [[0]]

    def straight(x):
        return ops.StraightThrough(x.value * x.value, x.value).output * x.value

    assert slopes(transformer, straight, [3.0]) == [[9 + 3]]
    assert slopes(transformer, straight, [3.0], order=2) == [[1 + 1]]


def test_softmax_and_losses(transformer):
    """O62: sums of a softmax are 1, so that its derivative is 0; huge logits are safe."""
    logits = np.array([[1e4, -1e4, 0.0], [-700.0, 700.0, 710.0]])
    for op in (ops.Softmax, ops.LogSoftmax):
        for axes in ([1], [0, 1]):
            found, = slopes(transformer, lambda x, op=op, axes=axes: op(x, axes), logits)
            assert np.isfinite(found).all()
    np.testing.assert_allclose(slopes(transformer, lambda x: ops.Softmax(x, [1]), logits)[0], 0, atol=1e-15)
    targets = np.eye(3)[[1, 2]]
    found, _ = slopes(transformer, lambda x, t: ops.SoftmaxCrossEntropy(x, t, [1]), logits, targets)
    np.testing.assert_allclose(found, [[1, -1, 0], [0, 4.5397868702e-5, -4.5397868702e-5]], atol=1e-14)
    found, _ = slopes(transformer, ops.SigmoidCrossEntropy, [1000.0, -1000.0], [0.0, 1.0])
    assert found == [1, -1]
    per_column, = slopes(transformer, lambda x: ops.Max(ops.Softmax(x, [0]), [0]), logits)
    np.testing.assert_allclose(np.sum(per_column, axis=0), 0, atol=1e-15)


def test_clip(transformer):
    """O63: at a bound the gradient is still x's."""
    found = slopes(transformer, ops.Clip, [-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0] * 5, [1.0] * 5)
    assert found == [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


def test_logsumexp_of_nothing(transformer):
    """O64: no NaN where all are -inf."""
    found, = slopes(transformer, lambda x: ops.LogSumExp(x, [1]), [[-INF, -INF], [0.0, -INF]])
    assert found == [[0, 0], [1, 0]]


def test_overwritten_updates(transformer):
    """O65: the last update of a place has the gradient."""
    index = np.array([1, 1])
    found = slopes(transformer, lambda x, i, u: ops.Scatter(x, i, u, 0, "set"), [1.0, 2.0, 3.0], index, [7.0, 8.0])
    assert found == [[1, 0, 1], [0, 1]]
    found = slopes(transformer, lambda x, i: ops.LookupTable(x, i, pad_idx=-1), [[1.0], [2.0]], np.array([1, 0, 1]))
    assert found == [[[1], [0]]]


def test_what_has_no_derivative(transformer):
    """O52: the error names the op, and integers are a TypeError."""
    x, i = nv.Parameter(nv.float64, (2,)), nv.Parameter(nv.int64, (2,))
    with pytest.raises(NotSupported, match="HostCall"):
        gradients([ops.HostCall(x, function=abs, types=[x.type], effectful=False)], [x], [None])
    scattered = ops.Scatter(x, i, x, 0, "multiply")
    with pytest.raises(NotSupported, match="Scatter"):
        gradients([scattered], [x], [None])
    with pytest.raises(WrongKind) as caught:
        gradients([x], [i], [None])
    assert isinstance(caught.value, TypeError)
