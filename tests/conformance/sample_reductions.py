"""Samples of reductions and of what is written with them: statistics, softmax, losses, pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure.types.dtype import DType
from nervure.types.element_groups import REALS
from tests.conformance.sampling import A, B, K, M, N, Operand, Sample, of


def _axes(cls: Any, dtype: DType, domain: str = "normal") -> Iterator[Sample]:
    shape = (A, B, A) if cls.needs_elements else (N, M, K)
    for axes in ([0], [1], [2, 0], [], [-1, 0, 1]):
        yield Sample(lambda at, x, axes=axes: cls(x, axes), (Operand(shape, dtype, domain),))
    yield Sample(lambda at, x: cls(x, []), (Operand((), dtype, domain),))


@of("Sum", "Prod", "Any", "All", "Max", "Min", "ArgMax", "ArgMin", "Mean", "SquaredL2", "L1Norm", "L2Norm",
    "CountNonzero", "LogSumExp", "LogMeanExp")
def reductions(cls: Any, dtype: DType) -> Iterator[Sample]:
    return _axes(cls, dtype)


@of("ProductChains", types=REALS)
def product_chains(cls: Any, dtype: DType) -> Iterator[Sample]:
    part = Operand((A, B, 2), dtype)
    yield Sample(lambda at, *xs: cls(*xs, axes=[1]), (part, part, part))
    yield Sample(lambda at, *xs: cls(*xs, axes=[1, -1]), (part, part))


@of("Variance", "Std")
def variance(cls: Any, dtype: DType) -> Iterator[Sample]:
    for axes, ddof in ([0], 0), ([1, 2], 1), ([0, 1, 2], 2):
        yield Sample(lambda at, x, axes=axes, ddof=ddof: cls(x, axes, ddof), (Operand((A + 1, B + 1, A), dtype),))


@of("Softmax", "LogSoftmax", "MaskedSoftmax")
def softmax(cls: Any, dtype: DType) -> Iterator[Sample]:
    for axes in ([0], [1, -1], [0, 1, 2]):
        yield Sample(lambda at, x, axes=axes: cls(x, axes), (Operand((A, B, A), dtype),))


@of("Standardize")
def standardize(cls: Any, dtype: DType) -> Iterator[Sample]:
    x = Operand((A + 1, B + 1, A), dtype)
    for axes, epsilon in ([0], 1e-5), ([1, -1], 0.5), ([0, 1, 2], 1e-3), ([], 1.0):
        yield Sample(lambda at, x, axes=axes, epsilon=epsilon: cls(x, axes, epsilon), (x,))


@of("SoftmaxCrossEntropy")
def cross_entropy(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = (Operand((B, A), dtype), Operand((B, A), dtype, "positive"))
    for axes in ([1], [0, 1]):
        yield Sample(lambda at, x, y, axes=axes: cls(x, y, axes), operands)


@of("MaxPool", "AveragePool")
def pooling(cls: Any, dtype: DType) -> Iterator[Sample]:
    x = Operand((2, A + 3, B + 2), dtype)
    yield Sample(lambda at, x: cls(x, [1, 2], [3, 2]), (x,))
    yield Sample(lambda at, x: cls(x, [1, 2], [3, 2], [2, 1], [1, 2], [(1, 1), (0, 1)]), (x,))
    yield Sample(lambda at, x: cls(x, [2], [2], [2], (), [(1, 0)]), (x,))
    if "count_padding" in cls.fields:
        yield Sample(lambda at, x: cls(x, [1], [3], [2], (), [(1, 1)], count_padding=True), (x,))
