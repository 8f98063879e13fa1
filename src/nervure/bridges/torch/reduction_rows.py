"""Rows of reductions: sums, means, variances, extremes and their positions.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.bool_, (2, 3)).output
>>> _along_axes(ops.Sum)(Parameter(nv.int64, (2, 1)).type, x, [1], True, None)
i64[2, 1] Reshape(Sum)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nervure import ops
from nervure.bridges.torch.elementwise_rows import absolute
from nervure.bridges.torch.fitting import axes_of, converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.op import Op, Value, as_value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, product

Axes = Sequence[int] | int | None


def reduced(op: type[Op], x: Value, axes: Sequence[int], shape: Sequence[Foreign], **attributes: object) -> Value:
    """Reduces x along axes; the result has ``shape``, which may keep them with length 1."""
    found = op(x, axes=list(axes), **attributes).output
    return found if found.rank == len(shape) else ops.Reshape(found, tuple(shape)).output


def _in_wide(op: type[Op], result: Type, x: Value, axes: Sequence[int], **attributes: object) -> Value:
    """Reduces x, converted to the result's element type, in the type in which that is computed."""
    value = converted(converted(x, result.dtype), result.dtype.compute)
    return converted(reduced(op, value, axes, result.shape, **attributes), result.dtype)


_TOTALS: dict[str, type[Op]] = {"sum.dim_IntList": ops.Sum, "mean.dim": ops.Mean, "prod.dim_int": ops.Prod}
"""The ops that reduce along some axes; each reduces all of them as well."""


def _along_axes(op: type[Op]) -> Callable[..., Value]:
    return lambda result, x, axes, keep, dtype: _in_wide(op, result, x, axes_of(axes, x.rank))


def _of_all(op: type[Op]) -> Callable[..., Value]:
    return lambda result, x, dtype: _in_wide(op, result, x, range(x.rank))


for _name, _op in _TOTALS.items():
    row(_name)(_along_axes(_op))
    row(f"{_name.partition('.')[0]}.default")(_of_all(_op))


@row("var.correction")
def variance(result: Type, x: Value, axes: Axes, correction: Foreign, keep: bool) -> Value:
    chosen = axes_of(axes, x.rank)
    wide = converted(x, x.dtype.compute)
    return converted(variance_of(wide, chosen, result.shape, correction), result.dtype)


def variance_of(x: Value, axes: Sequence[int], shape: Sequence[DimLike], correction: Foreign) -> Value:
    """Returns the sum of the squared distances from the mean, over the number of elements less a correction, which is
    1 if it is None.
    """
    if not x.dtype.is_float:
        raise Unsupported(f"the variance of {x.dtype.name} numbers")
    squares = reduced(ops.Sum, ops.Square(x - kept(ops.Mean, x, axes)).output, axes, shape)
    count = product([x.shape[axis] for axis in axes])
    less = 1 if correction is None else correction
    if isinstance(count, int):
        return squares / max(count - less, 0)
    exact = ops.Extent(count, squares.dtype, squares.shape).output - less
    return squares / ops.Maximum(exact, exact.full(0))


@row("linalg_vector_norm.default")
def vector_norm(result: Type, x: Value, order: float, axes: Axes, keep: bool, dtype: object) -> Value:
    if not result.dtype.is_float:
        raise Unsupported(f"the norm of {x.dtype.name} numbers")
    chosen = axes_of(axes, x.rank)
    if x.dtype.is_complex:  # the sizes have the bits that abs has in the derivative, which compares them with the norm
        size = converted(absolute(result, x), result.dtype.compute)
    else:
        size = ops.Absolute(converted(converted(x, result.dtype), result.dtype.compute)).output
    return converted(norm_of(size, order, chosen, result.shape), result.dtype)


def norm_of(size: Value, order: float, axes: Sequence[int], shape: Sequence[Foreign]) -> Value:
    """Returns the norm of some order, along axes, of numbers that are not negative."""
    def over(op: type[Op], of: Value) -> Value:
        return reduced(op, of, axes, shape)
    if math.isinf(order):
        return over(ops.Max if order > 0 else ops.Min, size)
    if order == 0:
        return over(ops.Sum, converted(ops.NotEqual(size, size.full(0)).output, size.dtype))
    if order == 1:
        return over(ops.Sum, size)
    if order == 2:
        return ops.Sqrt(over(ops.Sum, size * size)).output
    return over(ops.Sum, size ** order) ** (1 / order)


@row("var.dim")
def sample_variance(result: Type, x: Value, axes: Axes, unbiased: bool, keep: bool) -> Value:
    return variance(result, x, axes, int(unbiased), keep)


@row("amax.default")
def amax(result: Type, x: Value, axes: Axes, keep: bool) -> Value:
    return _extremum(ops.Max, result, x, axes_of(axes, x.rank))


@row("amin.default")
def amin(result: Type, x: Value, axes: Axes, keep: bool) -> Value:
    return _extremum(ops.Min, result, x, axes_of(axes, x.rank))


@row("max.default")
def maximum_of_all(result: Type, x: Value) -> Value:
    return _extremum(ops.Max, result, x, range(x.rank))


@row("min.default")
def minimum_of_all(result: Type, x: Value) -> Value:
    return _extremum(ops.Min, result, x, range(x.rank))


def _extremum(op: type[Op], result: Type, x: Value, axes: Sequence[int]) -> Value:
    if x.dtype is types.bool_:
        return reduced(ops.Any if op is ops.Max else ops.All, x, axes, result.shape)
    return reduced(op, x, axes, result.shape)


@row("any.default")
def any_of_all(result: Type, x: Value) -> Value:
    return _truths(ops.Any, result, x, range(x.rank))


@row("any.dim", "any.dims")
def any_along(result: Type, x: Value, axes: Axes, keep: bool) -> Value:
    return _truths(ops.Any, result, x, axes_of(axes, x.rank, all_if_none=False))


@row("all.default")
def all_of_all(result: Type, x: Value) -> Value:
    return _truths(ops.All, result, x, range(x.rank))


@row("all.dim", "all.dims")
def all_along(result: Type, x: Value, axes: Axes, keep: bool) -> Value:
    return _truths(ops.All, result, x, axes_of(axes, x.rank, all_if_none=False))


def _truths(op: type[Op], result: Type, x: Value, axes: Sequence[int]) -> Value:
    return converted(reduced(op, converted(x, types.bool_), axes, result.shape), result.dtype)


@row("argmax.default")
def argmax(result: Type, x: Value, axis: int | None, keep: bool) -> Value:
    return reduced(ops.ArgMax, _ordered(x), axes_of(axis, x.rank), result.shape)


@row("argmin.default")
def argmin(result: Type, x: Value, axis: int | None, keep: bool) -> Value:
    return reduced(ops.ArgMin, _ordered(x), axes_of(axis, x.rank), result.shape)


@row("max.dim")
def maximum_along(result: tuple[Type, Type], x: Value, axis: int, keep: bool) -> tuple[Value, Value]:
    return _with_position(ops.Max, ops.ArgMax, result, x, axis)


@row("min.dim")
def minimum_along(result: tuple[Type, Type], x: Value, axis: int, keep: bool) -> tuple[Value, Value]:
    return _with_position(ops.Min, ops.ArgMin, result, x, axis)


def _with_position(extremum: type[Op], position: type[Op], result: tuple[Type, Type], x: Value,
                   axis: int) -> tuple[Value, Value]:
    axes = axes_of(axis, x.rank)
    return (_extremum(extremum, result[0], x, axes), reduced(position, _ordered(x), axes, result[1].shape))


def _ordered(x: Value) -> Value:
    return converted(x, types.uint8) if x.dtype is types.bool_ else x


def kept(reduce: Callable[..., Foreign], x: Value, axes: Sequence[int], **attributes: object) -> Value:
    """Reduces x along axes and repeats the result along them: it has the shape of x."""
    found = as_value(reduce(x, axes=list(axes), **attributes))
    return ops.Broadcast(found, x.shape, list(axes)).output if axes else found
