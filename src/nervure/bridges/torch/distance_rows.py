"""Rows of distances between all pairs of points, by norms of their differences.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x, y = Parameter(nv.float32, (4, 3)).output, Parameter(nv.float32, (5, 3)).output
>>> distances(Parameter(nv.float32, (4, 5)).type, x, y, 2.0, None)
f32[4, 5] Sqrt(Sum)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nervure import ops
from nervure.bridges.torch.fitting import common_shape, converted, expanded, pointwise
from nervure.bridges.torch.reduction_rows import norm_of
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.ops.selection import where
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike


@row("_cdist_forward.default")
def distances(result: Type, x: Value, y: Value, order: float, mode: object) -> Value:
    apart = _apart(x, y, result.shape)
    return norm_of(ops.Absolute(apart).output, order, [apart.rank - 1], result.shape)


@row("_cdist_backward.default")
def distances_backward(result: Type, gradient: Value, x: Value, y: Value, order: float, distance: Value) -> Value:
    apart = _apart(x, y, gradient.shape)
    found = ops.Sum(_gradient(gradient, apart, order, distance), axes=[apart.rank - 2]).output
    return found


def _apart(x: Value, y: Value, shape: Sequence[DimLike]) -> Value:
    """Returns the differences of all pairs of points, whose coordinates are the last axis."""
    whole = (*shape, x.shape[-1])
    left = ops.Reshape(x, (*x.shape[:-1], 1, x.shape[-1])).output
    right = ops.Reshape(y, (*y.shape[:-2], 1, *y.shape[-2:])).output
    return expanded(left, whole) - expanded(right, whole)


def _gradient(gradient: Value, apart: Value, order: float, distance: Value) -> Value:
    """Returns the gradients of distances for differences; that of a distance of 0 is 0."""
    last = [apart.rank - 1]
    gradient, distance = [ops.Broadcast(x, apart.shape, last).output for x in (gradient, distance)]
    if order == 0:
        return apart.full(0)
    sign, size = where(ops.IsNan(apart), apart, ops.Sign(apart).output), ops.Absolute(apart).output
    if order == 1:
        return gradient * sign
    if math.isinf(order):
        return where(ops.Equal(size, distance), gradient * sign, 0)
    is_same = ops.Equal(distance, distance.full(0)).output
    safe = where(is_same, 1, distance)
    share = apart / safe if order == 2 else sign * _power(size / safe, order - 1)
    return where(is_same, 0, gradient * share)


def _power(x: Value, exponent: float) -> Value:
    """Returns a power of numbers that are not negative; that of 0 is 0, whatever the exponent is."""
    is_zero = ops.Equal(x, x.full(0)).output
    return where(is_zero, 0, where(is_zero, 1, x) ** exponent)


@row("_pdist_forward.default")
def distances_within(result: Type, x: Value, order: float) -> Value:
    left, right = [ops.Gather(x, ops.Constant(places), 0).output for places in _pairs(x)]
    return norm_of(ops.Absolute(left - right).output, order, [1], result.shape)


@row("_pdist_backward.default")
def distances_within_backward(result: Type, gradient: Value, x: Value, order: float, distance: Value) -> Value:
    first, second = [ops.Constant(places).output for places in _pairs(x)]
    apart = ops.Gather(x, first, 0).output - ops.Gather(x, second, 0).output
    share = _gradient(gradient, apart, order, distance)
    added = ops.Scatter(x.full(0), first, share, 0, "add").output
    return ops.Scatter(added, second, -share, 0, "add").output


@row("dist.default")
def distance(result: Type, x: Value, y: Value, order: float) -> Value:
    if 0 in (*x.shape, *y.shape) or x.dtype.is_complex or y.dtype.is_complex:
        raise Unsupported(f"the distance of {x.type} and {y.type}")
    apart = pointwise(ops.Subtract, result.with_(shape=common_shape([x, y])), x, y)
    apart = converted(apart, result.dtype.compute)
    return converted(norm_of(ops.Absolute(apart).output, order, range(apart.rank), ()), result.dtype)


def _pairs(x: Value) -> tuple[np.ndarray, np.ndarray]:
    """Returns the numbers of the points of each pair, the second above the first."""
    if not isinstance(x.shape[0], int):
        raise Unsupported("the pairs of an unknown number of points")
    first, second = np.triu_indices(x.shape[0], 1)
    return first.astype(np.int64), second.astype(np.int64)
