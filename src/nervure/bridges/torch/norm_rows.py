"""Rows of softmax and of normalisation by means and variances, kept whole.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.bfloat16, (2, 3)).output
>>> softmax(x.type, x, -1, False)
bf16[2, 3] Convert(Softmax)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import axes_of, converted, expanded
from nervure.bridges.torch.reduction_rows import kept, reduced, variance_of
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Foreign
from nervure.ir.op import Op, Value
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike


@row("_softmax.default")
def softmax(result: Type, x: Value, axis: int, half_to_float: bool) -> Value:
    return _exponentials(ops.Softmax, result, x, axis)


@row("_safe_softmax.default")
def softmax_or_nothing(result: Type, x: Value, axis: int, dtype: Foreign = None) -> Value:
    """Returns the softmax along an ``axis``, and 0 where all of x is -inf."""
    return _exponentials(ops.MaskedSoftmax, result, x, axis)


@row("_log_softmax.default")
def log_softmax(result: Type, x: Value, axis: int, half_to_float: bool) -> Value:
    return _exponentials(ops.LogSoftmax, result, x, axis)


def _exponentials(op: type[Op], result: Type, x: Value, axis: int) -> Value:
    wide = converted(x, result.dtype.compute)
    return converted(op(wide, axes=axes_of(axis, x.rank)).output, result.dtype)


@row("native_layer_norm.default")
def layer_norm(result: tuple[Type, ...], x: Value, shape: Sequence[DimLike], weight: Value | None,
               bias: Value | None, epsilon: float) -> tuple[Value, ...]:
    axes = list(range(x.rank - len(shape), x.rank))
    wide = converted(x, x.dtype.compute)
    value, mean, inverse = _standardised(wide, axes, epsilon)
    value = _scaled(value, weight, bias, axes)
    return (converted(value, result[0].dtype), _as(mean, result[1]), _as(inverse, result[2]))


@row("native_group_norm.default")
def group_norm(result: tuple[Type, ...], x: Value, weight: Value | None, bias: Value | None, n: DimLike, c: DimLike,
               length: DimLike, groups: int, epsilon: float) -> tuple[Value, ...]:
    grouped = ops.Reshape(converted(x, x.dtype.compute), (n, groups, c // groups, length)).output
    value, mean, inverse = _standardised(grouped, [2, 3], epsilon)
    value = _scaled(ops.Reshape(value, x.shape).output, weight, bias, [1])
    return (converted(value, result[0].dtype), _as(mean, result[1]), _as(inverse, result[2]))


def _standardised(x: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value, Value]:
    """Returns x less its mean, times the reciprocal of its deviation, and the two without the axes."""
    mean = ops.Mean(x, axes=list(axes)).output
    centred = x - kept(ops.Mean, x, axes)
    inverse = ops.Rsqrt(ops.Mean(ops.Square(centred), axes=list(axes)).output + epsilon).output
    spread = ops.Broadcast(inverse, x.shape, list(axes)).output if axes else inverse
    return centred * spread, mean, inverse


def _scaled(x: Value, weight: Value | None, bias: Value | None, axes: Sequence[int]) -> Value:
    """Multiplies by a weight and adds a bias, both over these axes."""
    others = [d for d in range(x.rank) if d not in axes]
    for op, given in ((ops.Multiply, weight), (ops.Add, bias)):
        if given is not None:
            x = op(x, ops.Broadcast(converted(given, x.dtype), x.shape, others)).output
    return x


def _as(x: Value, result: Type) -> Value:
    """Returns a statistic in the type and the shape that PyTorch gives it, which may keep axes with length 1."""
    x = converted(x, result.dtype)
    return x if x.shape == result.shape else ops.Reshape(x, result.shape).output


@row("var_mean.correction")
def variance_and_mean(result: tuple[Type, ...], x: Value, axes: Foreign, correction: Foreign,
                      keep: bool) -> tuple[Value, ...]:
    chosen = axes_of(axes, x.rank)
    wide = converted(x, x.dtype.compute)
    return (converted(variance_of(wide, chosen, result[0].shape, correction), result[0].dtype),
            converted(reduced(ops.Mean, wide, chosen, result[1].shape), result[1].dtype))


@row("_native_batch_norm_legit_no_training.default")
def batch_norm_in_evaluation(result: tuple[Type | None, ...], x: Value, weight: Value | None, bias: Value | None,
                             mean: Value, variance: Value, momentum: float, epsilon: float) -> tuple[Value, ...]:
    wide = x.dtype.compute
    inverse = ops.Rsqrt(converted(variance, wide) + epsilon).output
    scale = inverse if weight is None else inverse * converted(weight, wide)
    others = [d for d in range(x.rank) if d != 1]

    def along(channel: Value) -> Value:
        return ops.Broadcast(channel, x.shape, others).output
    value = (converted(x, wide) - along(converted(mean, wide))) * along(scale)
    if bias is not None:
        value = value + along(converted(bias, wide))
    nothing = [ops.Full(0, each.dtype, each.shape).output for each in result[1:] if each is not None]
    return (converted(value, x.dtype), *nothing)


@row("_weight_norm_interface_backward.default")
def weight_norm_backward(result: tuple[Type, Type], gradient: Value, v: Value, g: Value, norms: Value,
                         axis: int) -> tuple[Value, Value]:
    """A weight is g * v / |v|, with a norm for each position along an axis."""
    wide = v.dtype.compute
    axes = [d for d in range(v.rank) if d != axis % v.rank]
    gradient, v, g = [converted(x, wide) for x in (gradient, v, g)]
    inverse = 1 / expanded(converted(norms, wide), v.shape)
    direction = v * inverse
    along = kept(ops.Sum, gradient * direction, axes)
    for_v = (gradient - direction * along) * expanded(g, v.shape) * inverse
    for_g = reduced(ops.Sum, gradient * direction, axes, result[1].shape)
    return converted(for_v, result[0].dtype), converted(for_g, result[1].dtype)
