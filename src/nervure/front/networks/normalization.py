"""Softmax, cross entropies, and normalisation by mean and variance.

>>> import nervure as nv
>>> logits = nv.constant([[0., 1000.], [0., 0.]], axes="N=2, C=2")
>>> labels = nv.constant([[1., 0.], [1., 0.]], axes="N=2, C=2")
>>> nv.cross_entropy_multi(nv.softmax(logits), labels).tolist()
[1000.0, 0.6931471824645996]

The cross entropies look for the softmax or sigmoid that made the probabilities and start from its logits, so
that neither value nor gradient suffers where a probability rounds to 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from nervure.front import alignment
from nervure.front.alignment import reordered
from nervure.front.apply import common_dtype, is_weak
from nervure.front.argument_parsing import either, integer, positions_of, real, truth
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.images.pooling import pooling
from nervure.front.op_functions import add, divide, multiply, negative, rsqrt, square, subtract
from nervure.front.pointwise.elementwise import convert, power, safelog
from nervure.front.promotion import floating
from nervure.front.statistics.reductions import chosen_axes, mean, variance
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.ir.op import Op, Value
from nervure.ops.conversion import converted
from nervure.ops.softmax import weighed
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.dim import equal, product
from nervure.types.dtype import DType


def softmax(x: Operand, normalization_axes: AxesLike | None = None, *, axis: AxesLike | None = None) -> Tensor:
    """exp(x) over its sum along ``normalization_axes`` or ``axis``; by default along all axes but batch (N) and time
    (REC).

    An anonymous tensor with two axes or more needs the axes (InvalidArgument).

    >>> nv.softmax([[0, 0], [5, 5]], axis=1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return _normalized("softmax", ops.Softmax, x, normalization_axes, axis)


def log_softmax(x: Operand, normalization_axes: AxesLike | None = None, *, axis: AxesLike | None = None) -> Tensor:
    """The logarithm of the softmax, finite for all finite x; ``normalization_axes`` and ``axis`` are as in
    ``softmax``.

    >>> print(nv.log_softmax([0.0, 0.0]).numpy().round(4))
    [-0.6931 -0.6931]
    """
    return _normalized("log_softmax", ops.LogSoftmax, x, normalization_axes, axis)


@in_order
def cross_entropy_multi(y: Operand, t: Operand, usebits: bool = False, out_axes: AxesLike | None = None) -> Tensor:
    """``-sum(t * log(y))`` over all axes but ``out_axes`` (absent: N and REC), in nats, or in bits with ``usebits``.

    ``y`` are probabilities. A softmax is recognised and its logits are used; the result of a log_softmax is taken as
    logarithms. ``t`` are probabilities or one-hot vectors over the same axes in any order. Elements with t = 0 count
    nothing, whatever y is.

    >>> y, t = nv.softmax(nv.zeros("N=2, C=4")), nv.one_hot(nv.constant(np.array([3, 1]), "N=2"), "C=4")
    >>> nv.cross_entropy_multi(y, t, usebits=True).numpy().round(4).tolist()
    [2.0, 2.0]
    """
    own, targets, dtype = paired(y, t, "cross_entropy_multi")
    reduced, kept = chosen_axes(own, None, out_axes, "cross_entropy_multi")
    logits, axes = _logits(own.value)
    if logits is None:
        loss = Tensor(-weighed(targets, _safe_log(converted(own.value, targets.dtype))), own._axes)
    elif set(axes) <= set(reduced):
        rest = [at for at in range(own.ndim) if at not in axes]
        left = Axes([own.axes[at] for at in rest]) if own.is_named else None
        loss = Tensor(ops.SoftmaxCrossEntropy(converted(logits, targets.dtype), targets, axes), left)
        kept = tuple([rest.index(at) for at in kept])
    else:
        logarithms = ops.LogSoftmax(converted(logits, targets.dtype), axes).output
        loss = Tensor(-weighed(targets, logarithms), own._axes)
    return convert(_in_unit(sum_over(loss, out_axes=list(kept)), usebits, "cross_entropy_multi"), dtype)


@in_order
def cross_entropy_binary(y: Operand, t: Operand, usebits: bool = False, out_axes: AxesLike | None = None) -> Tensor:
    """``-sum(t * log(y) + (1 - t) * log(1 - y))`` over all axes but ``out_axes`` (absent: N and REC).

    The result is in nats, or in bits with ``usebits``. ``y`` are probabilities; a sigmoid is recognised and its logits
    are used. ``t`` has the same axes in any order.

    >>> y, t = nv.sigmoid(nv.zeros("N=2, C=3")), nv.ones("N=2, C=3")
    >>> nv.cross_entropy_binary(y, t, usebits=True).numpy().round(4).tolist()
    [3.0, 3.0]
    """
    own, targets, dtype = paired(y, t, "cross_entropy_binary")
    _, kept = chosen_axes(own, None, out_axes, "cross_entropy_binary")
    sigmoid, order = _made_by(own.value, ops.Sigmoid)
    if sigmoid is not None:
        logits = converted(reordered(sigmoid.operands[0], order), targets.dtype)
        losses = ops.SigmoidCrossEntropy(logits, targets).output
    else:
        value = converted(own.value, targets.dtype)
        losses = -(weighed(targets, _safe_log(value)) + weighed(1 - targets, _safe_log(1 - value)))
    nats = sum_over(Tensor(losses, own._axes), out_axes=list(kept))
    return convert(_in_unit(nats, usebits, "cross_entropy_binary"), dtype)


def layer_norm(x: Operand, axes: AxesLike | None = None, scale: Operand | None = None, shift: Operand | None = None,
               epsilon: float = 1e-5, *, axis: AxesLike | None = None) -> Tensor:
    """Subtracts the mean of x along ``axes`` (absent: as for softmax), divides by the deviation, multiplies by
    ``scale`` and adds ``shift``.

    ``(x - mean) / sqrt(variance + epsilon)``: Ba et al. 2016.

    >>> nv.layer_norm([1.0, 3.0], axis=0, epsilon=0.0).numpy().round(4).tolist()
    [-1.0, 1.0]
    """
    own, (scale, shift), dtype = _computing("layer_norm", x, scale, shift)
    kept = _kept(own, either(axes, axis, "layer_norm", "axes"), "layer_norm")
    return convert(_scaled(_standardized(own, kept, epsilon), scale, shift), dtype)


def rms_norm(x: Operand, axes: AxesLike | None = None, scale: Operand | None = None, epsilon: float = 1e-6, *,
             axis: AxesLike | None = None) -> Tensor:
    """Divides x by its root mean square along ``axes`` (absent: as for softmax), then multiplies by ``scale`` (Zhang
    and Sennrich 2019).

    >>> nv.rms_norm([3.0, 3.0], axis=0, epsilon=0.0).numpy().round(4).tolist()
    [1.0, 1.0]
    """
    own, (scale,), dtype = _computing("rms_norm", x, scale)
    kept = _kept(own, either(axes, axis, "rms_norm", "axes"), "rms_norm")
    size = _spread(mean, square(own), kept)
    result = multiply(own, rsqrt(add(size, epsilon)))
    return convert(result if scale is None else multiply(result, scale), dtype)


def batch_norm(x: Operand, scale: Operand | None = None, shift: Operand | None = None, mean_of: Operand | None = None,
               variance_of: Operand | None = None, channels: AxesLike | None = None, epsilon: float = 1e-5) -> Tensor:
    """Standardises x for each channel over all other axes (Ioffe and Szegedy 2015), multiplies by ``scale`` and adds
    ``shift``.

    ``channels`` are the axes of the channels (absent: C; the second of anonymous axes). ``mean_of`` and
    ``variance_of``, tensors over the channels, replace the statistics of x, as in inference. A tensor over the
    channels has their axes; for anonymous x it is reshaped to them.

    >>> nv.batch_norm(nv.constant([[1, 5], [3, 5]], "N=2, C=2")).numpy().round(4).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    own, given, dtype = _computing("batch_norm", x, mean_of, variance_of, scale, shift)
    kept = _channels(own, channels, "batch_norm")
    if (mean_of is None) != (variance_of is None):
        raise InvalidArgument("mean and variance are given both or neither", op="batch_norm", got="one of them",
                              expected="mean_of and variance_of, or none",
                              help="without them those of x itself are taken")
    centre, width, scale, shift = [None if entry is None else _over_channels(own, kept, entry) for entry in given]
    if centre is None or width is None:
        return convert(_scaled(_standardized(own, kept, epsilon), scale, shift), dtype)
    factor = _scaled(rsqrt(add(width, epsilon)), scale, None)
    moved = multiply(centre, factor)
    return convert(add(multiply(own, factor), negative(moved) if shift is None else subtract(shift, moved)), dtype)


def local_response_norm(x: TensorLike, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0,
                        channels: AxesLike | None = None) -> Tensor:
    """Divides each element by ``(k + alpha * m) ** beta``, with m the mean square of ``size`` channels around its own
    (Krizhevsky et al. 2012).

    Behind the first and the last channel are zeros, which count. ``channels`` is their axis: C, or the second one
    without names. The numbers are those of PyTorch's function of this name.

    >>> nv.local_response_norm([[3.0, 0.0]], 2, alpha=2.0, beta=1.0).tolist()
    [[0.30000001192092896, 0.0]]
    """
    own, _, dtype = _computing("local_response_norm", as_tensor(x, "local_response_norm"))
    found = _channels(own, channels, "local_response_norm")
    if len(found) != 1:
        raise InvalidArgument("channels are one axis", op="local_response_norm", operand="channels",
                              got=f"{channels!r:.60}", expected="one axis", help='as in channels="C"')
    at, = found
    width = integer(size, "local_response_norm", "size", least=1)
    means = pooling(multiply(own, own), "avg", {at: width}, 1, {at: (width // 2, (width - 1) // 2)},
                    count_padding=True)
    scale = add(multiply(means, real(alpha, "local_response_norm", "alpha")), real(k, "local_response_norm", "k"))
    return convert(divide(own, power(Tensor(scale.value, own._axes), real(beta, "local_response_norm", "beta"))), dtype)


def _normalized(name: str, core: Callable[..., Op], x: Operand, axes: AxesLike | None, axis: AxesLike | None) -> Tensor:
    own = as_tensor(x, name)
    along = _along(own, either(axes, axis, name, "normalization_axes"), name)
    return Tensor(core(converted(own.value, floating(own.dtype)), axes=along), own._axes)


def _along(x: Tensor, axes: AxesLike | None, op: str) -> tuple[int, ...]:
    """Returns the positions along which x is normalised: those given, else all but N and REC; InvalidArgument if that
    leaves the choice open.
    """
    along = tuple(sorted(chosen_axes(x, axes, None, op)[0]))
    if axes is None and x.ndim and (not along or (len(along) > 1 and not x.is_named)):
        raise InvalidArgument("along which axes has to be said", op=op, operand="axis", got=str(x.axes),
                              expected="axis=-1, or a list of axes",
                              help="axis=-1 goes along the last axis, axis=[0, 1] along two together")
    return along


def _computing(op: str, x: Operand, *others: Operand | None) -> tuple[Tensor, list[Operand | None], DType]:
    """Returns x and the others in the type in which arithmetic takes place, and the type to which the result is
    rounded.
    """
    given = [entry if entry is None or is_weak(entry) else as_tensor(entry, op, position + 2)
             for position, entry in enumerate(others)]
    own = as_tensor(x, op)
    dtype = floating(common_dtype((own, *[entry for entry in given if entry is not None]), op))
    others_in_type = [convert(entry, dtype.compute) if isinstance(entry, Tensor) else entry for entry in given]
    return convert(own, dtype.compute), others_in_type, dtype


def paired(y: Operand, t: Operand, op: str) -> tuple[Tensor, Value, DType]:
    """Returns predictions ``y``, targets ``t`` on their axes in the type in which arithmetic takes place, and the type
    of the result.
    """
    dtype = floating(common_dtype((y, t), op))
    own = as_tensor(y, op, 1, dtype)
    targets = as_tensor(t, op, 2, dtype)
    if not is_weak(t) and targets.ndim != own.ndim:
        raise AxisMismatch("the targets must have the axes of y", op=op, operand=2, got=str(targets.axes),
                           expected=str(own.axes),
                           help="nv.one_hot(labels, axis) makes vectors of class numbers")
    if targets.is_named:
        own, targets = alignment.both_named(own, targets, op)
    return own, converted(alignment.fitted(targets, own, op), dtype.compute), dtype


def _made_by(y: Value, *classes: type[Op]) -> tuple[Op | None, tuple[int, ...]]:
    """Returns the op, of one of ``classes``, that makes a value, and the order of its dimensions in the value.

    The search goes through permutations and conversions between float types.
    """
    order: tuple[int, ...] = tuple(range(y.rank))
    while isinstance(y.op, (ops.Permute, ops.Convert)) and y.dtype.is_float and y.op.operands[0].dtype.is_float:
        if isinstance(y.op, ops.Permute):
            order = tuple([y.op.order[at] for at in order])
        y = y.op.operands[0]
    return (y.op if isinstance(y.op, classes) else None), order


def _logits(y: Value) -> tuple[Value | None, tuple[int, ...]]:
    """Returns the logits of a softmax or log-softmax and the axes it goes along; None for other values."""
    softmax, order = _made_by(y, ops.Softmax, ops.LogSoftmax)
    if not isinstance(softmax, (ops.Softmax, ops.LogSoftmax)):
        return None, ()
    return reordered(softmax.operands[0], order), tuple(sorted([order.index(at) for at in softmax.axes]))


def _safe_log(x: Value) -> Value:
    return safelog(Tensor(x)).value


def _in_unit(nats: Tensor, usebits: bool, op: str) -> Tensor:
    return multiply(nats, 1 / math.log(2)) if truth(usebits, op, "usebits") else nats


def _kept(x: Tensor, axes: AxesLike | None, op: str) -> list[int]:
    along = _along(x, axes, op)
    return [at for at in range(x.ndim) if at not in along]


def _spread(reduction: Callable[..., Tensor], x: Tensor, kept: list[int]) -> Tensor:
    """Applies a reduction over all axes but ``kept``, in a form that aligns with x."""
    if x.is_named:
        return reduction(x, out_axes=kept)
    return reduction(x, axis=[at for at in range(x.ndim) if at not in kept], keepdims=True)


def _standardized(x: Tensor, kept: list[int], epsilon: Operand) -> Tensor:
    """Subtracts the mean of x along all axes but ``kept``, and divides by the deviation."""
    if isinstance(epsilon, (int, float)):
        return Tensor(ops.Standardize(x.value, [at for at in range(x.ndim) if at not in kept], epsilon), x._axes)
    centred = subtract(x, _spread(mean, x, kept))
    return multiply(centred, rsqrt(add(_spread(variance, x, kept), epsilon)))


def _scaled(x: Tensor, scale: Operand | None, shift: Operand | None) -> Tensor:
    result = x if scale is None else multiply(x, scale)
    return result if shift is None else add(result, shift)


def _channels(x: Tensor, channels: AxesLike | None, op: str) -> list[int]:
    if channels is not None:
        return list(positions_of(x, channels, op))
    if not x.is_named and x.ndim > 1:
        return [1]
    channel = x.axes.channel_axis()
    if channel is None:
        raise AxisMismatch("there is no channel axis", op=op, got=str(x.axes), expected="an axis C",
                           help="name the axes that are kept apart: channels=[...]")
    return [x.axes.index(channel)]


def _over_channels(x: Tensor, kept: list[int], entry: Operand) -> Tensor:
    """Returns a tensor over the channels, which for anonymous x gets lengths of 1 in the other places."""
    own = as_tensor(entry, "batch_norm")
    if x.is_named or own.is_named or own.ndim == 0:
        return own  # names beside an anonymous x are refused when the two are combined
    channels = product([x.type.shape[at] for at in kept])
    if equal(product(own.type.shape), channels) is False:
        raise ShapeMismatch("the channels of x are others", op="batch_norm", operand="x",
                            got=f"{channels} in {x.type.shape}", expected=str(product(own.type.shape)),
                            help="channels= says which axis they are; without names it is the second: (N, C, ...)")
    shape = [length if at in kept else 1 for at, length in enumerate(x.type.shape)]
    flat = alignment.assume_shape(ops.Reshape(own.value, (own.type.size,)).output, (channels,), "batch_norm")
    return Tensor(ops.Reshape(flat, tuple(shape)))


__all__ = ["batch_norm", "cross_entropy_binary", "cross_entropy_multi", "layer_norm", "local_response_norm",
           "log_softmax", "rms_norm", "softmax"]

explain_keywords(globals(), __all__)
