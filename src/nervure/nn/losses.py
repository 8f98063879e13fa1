"""Losses: the distance of a model's predictions from their targets, with derivatives.

>>> import nervure as nv
>>> from nervure.nn import losses
>>> logits = nv.constant([[2.0, 0.0], [0.0, 0.0]], "N=2, Y=2")
>>> print(losses.cross_entropy(logits, [0, 1], reduction="none").numpy().round(4))
[0.1269 0.6931]
>>> round(losses.mean_squared_error([1.0, 2.0], [1.0, 4.0]).item(), 4)
2.0

All of them end in a ``reduction``: "mean" (over all numbers), "sum", "batch" (the sum over the length of the batch: of
the axis N, or of the first axis of tensors without names), or "none". Predictions and targets have the same axes,
named ones in any order; a target that lacks an axis is refused, since it would be broadcast along it. A loss has the
common element type of predictions and targets (float16 and bfloat16 compute in float32 and are rounded once); signs,
weights and variances do not change it. A distance of complex numbers is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind, did_you_mean
from nervure.front import alignment
from nervure.front.apply import common_dtype, converted_to
from nervure.front.argument_parsing import position_of, real, truth
from nervure.front.creation import as_tensor
from nervure.front.elementwise import convert, where
from nervure.front.given_arrays import numpy_array
from nervure.front.normalization import paired
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    equal,
    exp,
    less_equal,
    log,
    maximum,
    multiply,
    negative,
    not_equal,
    softplus,
    sqrt,
    square,
    subtract,
)
from nervure.front.promotion import floating, promote
from nervure.front.reductions import L2_norm, batch_size
from nervure.front.reductions import mean as mean_over
from nervure.front.reductions import sum as sum_over
from nervure.front.tensor import Number, Operand, Tensor, TensorLike, is_scalar
from nervure.front.views import reshape
from nervure.ir.op import Value
from nervure.support.elsewhere import explain_keywords, unknown_layer
from nervure.types.axes import Axes, AxisLike
from nervure.types.dim import DimLike
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import DType, int64

REDUCTIONS = ("mean", "sum", "batch", "none")


# -- classes -----------------------------------------------------------------------------------------


def cross_entropy(logits: TensorLike, targets: TensorLike, axis: AxisLike | None = None,
                  weights: TensorLike | None = None, smoothing: float = 0.0, ignore_index: int | None = None,
                  reduction: str = "mean") -> Tensor:
    """``-sum(t * log_softmax(logits))`` along the axis of the classes, from logits.

    ``targets`` are class numbers, over the axes of the logits but that one, or probabilities, over all of them. The
    default ``axis`` of named logits is the one that class numbers lack, or the only one beside N and REC; that of
    others is the second (or the only one). ``weights`` has a number for each class, ``smoothing`` is the share of a
    target that is spread evenly over all classes, and positions with the class number ``ignore_index`` count nothing.
    Any other number below 0, or past the last class, is an IndexError of the run. The "mean" of class numbers is
    weighted: the sum over the weights of the positions that count.

    >>> print(nv.nn.losses.cross_entropy(nv.zeros("N=3, Y=4"), [0, 3, 2]).numpy().round(4))
    1.3863
    """
    own, goal = _classified("cross_entropy", logits, targets, axis, weights, smoothing, ignore_index)
    value = ops.SoftmaxCrossEntropy(own.value, goal.targets.value, [goal.axis]).output
    return _of_classes(value, own, goal, reduction, "cross_entropy")


def negative_log_likelihood(logarithms: TensorLike, targets: TensorLike, axis: AxisLike | None = None,
                            weights: TensorLike | None = None, ignore_index: int | None = None,
                            reduction: str = "mean") -> Tensor:
    """``-sum(t * logarithms)`` along the axis of the classes, from logarithms of probabilities, such as those of
    ``log_softmax``. All else is as in ``cross_entropy``.

    >>> nv.nn.losses.negative_log_likelihood([[-1.0, -2.0]], [1]).item()
    2.0
    """
    own, goal = _classified("negative_log_likelihood", logarithms, targets, axis, weights, 0.0, ignore_index)
    is_counted = not_equal(goal.targets, 0)
    terms = where(is_counted, multiply(own, goal.targets), 0.0)  # minus infinity times 0 counts 0
    value = ops.Sum(negative(terms).value, [goal.axis]).output
    return _of_classes(value, own, goal, reduction, "negative_log_likelihood")


def binary_cross_entropy(logits: TensorLike, targets: TensorLike, weights: TensorLike | None = None,
                         positive_weights: TensorLike | None = None, reduction: str = "mean") -> Tensor:
    """``-t * log(sigmoid(x)) - (1 - t) * log(1 - sigmoid(x))`` from ``logits`` x and ``targets`` t, without overflow.

    ``positive_weights`` multiply the first term, ``weights`` all of it.

    >>> print(nv.nn.losses.binary_cross_entropy([0.0, 1000.0], [1.0, 1.0]).numpy().round(4))
    0.3466
    """
    x, t, dtype = _pair(logits, targets, "binary_cross_entropy")
    if positive_weights is None:
        losses = Tensor(ops.SigmoidCrossEntropy(x.value, t.value), x._axes)
    else:
        positive = _read(positive_weights, "binary_cross_entropy", 4)
        weight = add(1.0, multiply(subtract(positive, 1.0), t))
        losses = add(multiply(subtract(1.0, t), x), multiply(weight, softplus(negative(x))))
    if weights is not None:
        losses = multiply(losses, _read(weights, "binary_cross_entropy", 3))
    return _reduced(losses, reduction, dtype, "binary_cross_entropy")


def kl_divergence(logarithms: TensorLike, targets: TensorLike, log_targets: bool = False,
                  reduction: str = "mean") -> Tensor:
    """``t * (log(t) - logarithms)``, from logarithms of probabilities to ``targets`` t. The targets are probabilities,
    or logarithms, too, with ``log_targets``. ``reduction="batch"`` gives the divergence by its definition. Elements
    with t = 0 count nothing.

    >>> import math
    >>> print(nv.nn.losses.kl_divergence([[math.log(0.5)] * 2], [[1.0, 0.0]], reduction="batch").numpy().round(4))
    0.6931
    """
    x, t, dtype = _pair(logarithms, targets, "kl_divergence")
    if truth(log_targets, "kl_divergence", "log_targets"):
        losses = multiply(exp(t), subtract(t, x))
    else:
        nothing = equal(t, 0)
        losses = where(nothing, 0.0, multiply(t, subtract(log(where(nothing, 1.0, t)), x)))
    return _reduced(losses, reduction, dtype, "kl_divergence")


# -- numbers -----------------------------------------------------------------------------------------


def mean_squared_error(x: TensorLike, targets: TensorLike, reduction: str = "mean") -> Tensor:
    """``(x - t)**2`` for ``targets`` t; ``|x - t|**2`` for complex numbers.

    >>> nv.nn.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0]).item()
    2.0
    """
    own, t, dtype = _pair(x, targets, "mean_squared_error")
    difference = subtract(own, t)
    return _reduced(square(absolute(difference) if dtype.is_complex else difference), reduction, dtype,
                    "mean_squared_error")


def mean_absolute_error(x: TensorLike, targets: TensorLike, reduction: str = "mean") -> Tensor:
    """``|x - t|`` for ``targets`` t.

    >>> nv.nn.losses.mean_absolute_error([1.0, 2.0], [1.0, 4.0]).item()
    1.0
    """
    own, t, dtype = _pair(x, targets, "mean_absolute_error")
    return _reduced(absolute(subtract(own, t)), reduction, dtype, "mean_absolute_error")


def huber(x: TensorLike, targets: TensorLike, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    """``d**2 / 2`` for a distance d up to ``delta``, ``delta * (d - delta / 2)`` for a larger one (Huber 1964).

    >>> nv.nn.losses.huber([0.0, 0.0], [1.0, 3.0], reduction="none").tolist()
    [0.5, 2.5]
    """
    limit = _positive(delta, "huber", "delta")
    own, t, dtype = _pair(x, targets, "huber")
    return _reduced(_huber(absolute(subtract(own, t)), limit), reduction, dtype, "huber")


def smooth_l1(x: TensorLike, targets: TensorLike, beta: float = 1.0, reduction: str = "mean") -> Tensor:
    """``d**2 / 2 / beta`` for a distance d up to ``beta``, ``d - beta / 2`` for a larger one.

    >>> nv.nn.losses.smooth_l1([0.0, 0.0], [1.0, 3.0], beta=2.0, reduction="none").tolist()
    [0.25, 2.0]
    """
    limit = _positive(beta, "smooth_l1", "beta")
    own, t, dtype = _pair(x, targets, "smooth_l1")
    return _reduced(multiply(_huber(absolute(subtract(own, t)), limit), 1 / limit), reduction, dtype, "smooth_l1")


def poisson(logarithms: TensorLike, counts: TensorLike, reduction: str = "mean") -> Tensor:
    """``exp(x) - t * x``: the negative log likelihood of counts t at rates with logarithms x, without terms that do
    not depend on x.

    >>> nv.nn.losses.poisson([0.0], [3.0]).item()
    1.0
    """
    x, t, dtype = _pair(logarithms, counts, "poisson")
    return _reduced(subtract(exp(x), multiply(t, x)), reduction, dtype, "poisson")


def gaussian(x: TensorLike, targets: TensorLike, variances: TensorLike, epsilon: float = 1e-6,
             reduction: str = "mean") -> Tensor:
    """``(log(v) + (x - t)**2 / v) / 2``: the negative log likelihood of ``targets`` t under normal distributions.
    Their means are x, their variances v, which count as ``epsilon`` at least; terms that depend on neither are left
    out.

    >>> nv.nn.losses.gaussian([1.0], [3.0], [1.0]).item()
    2.0
    """
    own, t, dtype = _pair(x, targets, "gaussian")
    width = maximum(_read(variances, "gaussian", 3), _positive(epsilon, "gaussian", "epsilon"))
    losses = multiply(0.5, add(log(width), divide(square(subtract(own, t)), width)))
    return _reduced(losses, reduction, dtype, "gaussian")


# -- distances and margins ---------------------------------------------------------------------------


def cosine_similarity(x: TensorLike, y: TensorLike, axis: AxisLike | None = None, epsilon: float = 1e-8) -> Tensor:
    """The cosine of the angle between x and y along an axis: from -1 to 1, larger for more similar vectors. The
    default ``axis`` of named tensors is the only one beside N and REC, else the last. Norms count as ``epsilon`` at
    least.

    >>> print(nv.nn.losses.cosine_similarity([[3.0, 0.0]], [[1.0, 1.0]]).numpy().round(4))
    [0.7071]
    """
    own, other, dtype = _pair(x, y, "cosine_similarity")
    at = _vector_axis(own, axis, "cosine_similarity")
    least = _positive(epsilon, "cosine_similarity", "epsilon")
    norms = [maximum(L2_norm(entry, reduction_axes=[at]), least) for entry in (own, other)]
    return convert(divide(sum_over(multiply(own, other), reduction_axes=[at]), multiply(*norms)), dtype)


def cosine_embedding(x: TensorLike, y: TensorLike, signs: TensorLike, margin: float = 0.0,
                     axis: AxisLike | None = None, reduction: str = "mean") -> Tensor:
    """``1 - c`` for a sign of 1, ``max(0, c - margin)`` for a sign of -1, for the cosines c of x and y.

    ``signs`` are over the axes of the cosines; ``axis`` is as in ``cosine_similarity``.

    >>> x, y = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]
    >>> nv.nn.losses.cosine_embedding(x, y, [1.0, -1.0], reduction="none").tolist()
    [1.0, 1.0]
    """
    similarity = cosine_similarity(x, y, axis)
    alike, sign, _ = _pair(similarity, signs, "cosine_embedding")
    apart = maximum(subtract(alike, real(margin, "cosine_embedding", "margin")), 0.0)
    losses = where(equal(sign, 1), subtract(1.0, alike), where(equal(sign, -1), apart, 0.0))
    return _reduced(losses, reduction, similarity.dtype, "cosine_embedding")


def margin_ranking(x: TensorLike, y: TensorLike, signs: TensorLike, margin: float = 0.0,
                   reduction: str = "mean") -> Tensor:
    """``max(0, margin - sign * (x - y))``: x should be larger than y for a sign of 1, smaller for a sign of -1.

    >>> nv.nn.losses.margin_ranking([1.0, 1.0], [2.0, 2.0], [1.0, -1.0], reduction="none").tolist()
    [1.0, 0.0]
    """
    left, right, dtype = _pair(x, y, "margin_ranking")
    distance, sign, _ = _pair(subtract(left, right), signs, "margin_ranking")
    losses = maximum(subtract(real(margin, "margin_ranking", "margin"), multiply(sign, distance)), 0.0)
    return _reduced(losses, reduction, dtype, "margin_ranking")


def hinge(scores: TensorLike, signs: TensorLike, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """``max(0, margin - sign * score)`` (Cortes and Vapnik 1995).

    >>> nv.nn.losses.hinge([0.5, 2.0], [1.0, 1.0], reduction="none").tolist()
    [0.5, 0.0]
    """
    own, sign, _ = _pair(scores, signs, "hinge")
    losses = maximum(subtract(real(margin, "hinge", "margin"), multiply(sign, own)), 0.0)
    return _reduced(losses, reduction, _type_of(scores, "hinge"), "hinge")


def triplet_margin(anchor: TensorLike, like: TensorLike, unlike: TensorLike, margin: float = 1.0,
                   axis: AxisLike | None = None, reduction: str = "mean") -> Tensor:
    """``max(0, |anchor - like| - |anchor - unlike| + margin)``, with distances along an ``axis``, as in
    ``cosine_similarity``. Each difference has 1e-6 added, as in PyTorch, so that equal points have a derivative: the
    distance of two equal points of n numbers is ``sqrt(n) * 1e-6``.

    >>> print(nv.nn.losses.triplet_margin([[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 5.0]]).numpy().round(4))
    1.0
    """
    (near, first), (far, second) = [_distance(anchor, entry, axis) for entry in (like, unlike)]
    losses = maximum(add(subtract(near, far), real(margin, "triplet_margin", "margin")), 0.0)
    return _reduced(losses, reduction, promote([first, second], op="triplet_margin"), "triplet_margin")


# -- shared parts -------------------------------------------------------------------------------------


class _Goal(NamedTuple):
    """Targets on the axes of the logits, multiplied by the weights, and the position of the axis of the classes.
    ``counted`` has the weights of a mean: how much each position counts, or None for all positions alike.
    """

    targets: Tensor
    axis: int
    counted: Tensor | None
    dtype: DType


def _classified(op: str, logits: TensorLike, targets: TensorLike, axis: AxisLike | None, weights: TensorLike | None,
                smoothing: float, ignore_index: int | None) -> tuple[Tensor, _Goal]:
    """Returns logits, or logarithms, in the type in which arithmetic takes place, and their targets as a ``_Goal``."""
    given = as_tensor(logits, op)
    dtype = floating(given.dtype)
    own = convert(given, dtype.compute)
    goal = as_tensor(numpy_array(targets, op) if isinstance(targets, (list, tuple)) else targets, op, 2)
    at = _class_axis(own, goal, axis, op)
    _check_targets(own, goal, at, op)
    has_numbers = goal.ndim == own.ndim - 1
    factors = [] if weights is None else [_over_classes(weights, own, at, op)]
    if has_numbers:
        goal, counts = _counting(own, _labels(own, goal, at, op), at, ignore_index)
        factors += counts
    elif ignore_index is not None:
        raise InvalidArgument("ignore_index is for class numbers", op=op, operand="ignore_index",
                              got=f"targets {goal.type}", expected="class numbers",
                              help="give the position a weight of 0 instead")
    spread = _vectors(own, goal, at) if has_numbers else _on_axes(goal, own, op)
    share = _share(smoothing, op)
    weighted = spread if share == 0 else add(multiply(spread, 1 - share), divide(share, own.type.shape[at]))
    for factor in factors:
        weighted, spread = multiply(weighted, factor), multiply(spread, factor)
    return own, _Goal(weighted, at, spread if has_numbers and factors else None, dtype)


def _labels(own: Tensor, labels: Tensor, at: int, op: str) -> Tensor:
    """Returns class numbers on the axes of the logits but that of the classes, which is at ``at``."""
    rest = [place for place in range(own.ndim) if place != at]
    template = Tensor(ops.Full(0, labels.dtype, tuple([own.type.shape[place] for place in rest])),
                      Axes([own.axes[place] for place in rest]) if own.is_named else None)
    return Tensor(alignment.fitted(labels, template, op), template._axes)


def _check_targets(own: Tensor, goal: Tensor, at: int, op: str) -> None:
    """Raises an error that names the possible shapes if targets are neither class numbers nor probabilities."""
    has_numbers = goal.ndim == own.ndim - 1
    expected = f"class numbers {_without(own, at)}, or probabilities {_without(own)}"
    if has_numbers and not goal.dtype.is_integer:
        raise WrongKind("class numbers are integers", op=op, operand="targets", got=str(goal.type), expected=expected,
                        help="convert them: targets.astype(nv.int64)")
    lengths = [length for place, length in enumerate(own.type.shape) if place != at or not has_numbers]
    if len(lengths) == goal.ndim and (own.is_named or goal.is_named or _same_lengths(lengths, goal)):
        return
    kind = ShapeMismatch if len(lengths) == goal.ndim else AxisMismatch
    raise kind("the targets do not fit the logits", op=op, operand="targets", got=str(goal.type), expected=expected,
               help=_class_help(own, goal, at))


def _class_help(own: Tensor, goal: Tensor, at: int) -> str:
    """Suggests a change for targets that do not fit: another axis of the classes, or dropping one of length 1."""
    if goal.ndim == own.ndim and equal_lengths(goal.type.shape[at], 1):
        return f"nv.squeeze(targets, {at}) drops the axis of length 1"
    shape = own.type.shape
    fitting = [place for place in range(own.ndim) if _same_lengths(shape[:place] + shape[place + 1:], goal)]
    here = repr(own.axes[at].name) if own.is_named else at
    return f"axis= says which axis has the classes, here it is axis={here}" + (
        f"; axis={fitting[0]} would fit" if fitting and goal.ndim < own.ndim and not own.is_named else "")


def _same_lengths(lengths: Sequence[DimLike], goal: Tensor) -> bool:
    """Whether a tensor may have these lengths."""
    return len(lengths) == goal.ndim and not any([equal_lengths(own, other) is False
                                                  for own, other in zip(lengths, goal.type.shape, strict=True)])


def _without(own: Tensor, at: int | None = None) -> str:
    """Describes the axes of a tensor but for one; for an anonymous tensor as NumPy writes a shape, ``(n,)``."""
    rest = [axis for place, axis in enumerate(own.axes) if place != at]
    return f"({rest[0].length},)" if len(rest) == 1 and not own.is_named else str(Axes(rest))


def _counting(own: Tensor, labels: Tensor, at: int, ignore_index: int | None) -> tuple[Tensor, list[Tensor]]:
    """Returns class numbers without the ignored ones, and 1 for those that count, 0 for others (nothing if all count).
    """
    if ignore_index is None:
        return labels, []
    kept = not_equal(labels, ignore_index)
    counts = convert(kept, own.dtype)
    if not own.is_named:
        counts = reshape(counts, (*own.type.shape[:at], 1, *own.type.shape[at + 1:]))
    return where(kept, labels, 0), [counts]


def _vectors(own: Tensor, labels: Tensor, at: int) -> Tensor:
    """Returns class numbers as one-hot vectors on the axes of the logits."""
    numbers = converted_to(labels.value, int64)
    return Tensor(ops.OneHot(numbers, own.type.shape[at], own.dtype, at, from_end=False), own._axes)


def _of_classes(value: Value, own: Tensor, goal: _Goal, reduction: str, op: str) -> Tensor:
    """Reduces the losses of classes, which are over all axes but theirs."""
    rest = Axes([axis for place, axis in enumerate(own.axes) if place != goal.axis]) if own.is_named else None
    losses = Tensor(value, rest)
    if reduction == "mean" and goal.counted is not None:
        return convert(divide(sum_over(losses, out_axes=()), sum_over(goal.counted, out_axes=())), goal.dtype)
    return _reduced(losses, reduction, goal.dtype, op)


def _class_axis(own: Tensor, goal: Tensor, axis: AxisLike | None, op: str) -> int:
    """Returns the position of the axis of the classes."""
    if axis is not None:
        return position_of(own, axis, op)
    if not own.is_named:
        if not own.ndim:
            raise ShapeMismatch("logits have an axis of classes", op=op, operand="logits", got=str(own.type),
                                expected="one axis or more", help="nv.nn.losses.binary_cross_entropy is for one logit")
        return min(1, own.ndim - 1)
    if goal.is_named and goal.ndim == own.ndim - 1:
        found = [place for place in range(own.ndim)
                 if place not in alignment.pairing(own.axes, goal.axes)]
    else:
        found = [place for place, one in enumerate(own.axes) if not (one.is_batch or one.is_recurrent)]
    if len(found) != 1:
        raise AxisMismatch("which axis has the classes has to be said", op=op, operand="axis", got=str(own.axes),
                           expected="axis=",
                           help=_last_axis(own))
    return found[0]


def _over_classes(weights: TensorLike, own: Tensor, at: int, op: str) -> Tensor:
    """Returns a number for each class in a form that aligns with the logits."""
    given = convert(as_tensor(weights, op), own.dtype)
    if given.ndim != 1:
        raise ShapeMismatch("weights have a number for each class", op=op, operand="weights", got=str(given.type),
                            expected=f"{own.type.shape[at]} numbers",
                            help="weights= is over the axis of the classes alone")
    place = Tensor(ops.Full(0, own.dtype, (own.type.shape[at],)), Axes([own.axes[at]]) if own.is_named else None)
    fitting = alignment.fitted(given, place, op)
    if own.is_named:
        return Tensor(fitting, place._axes)
    return reshape(Tensor(fitting), (-1, *[1] * (own.ndim - 1 - at)))


def _pair(x: TensorLike, t: TensorLike, op: str) -> tuple[Tensor, Tensor, DType]:
    """Returns predictions and targets on the same axes, in the type in which arithmetic takes place, and the type of
    the result.
    """
    mine, theirs = _read(x, op, 1), _read(t, op, 2)
    if isinstance(mine, Tensor) and isinstance(theirs, Tensor):
        _check_spread(mine, theirs, op)
    own, targets, dtype = paired(mine, theirs, op)
    return convert(own, dtype.compute), Tensor(targets, own._axes), dtype


def _check_spread(own: Tensor, targets: Tensor, op: str) -> None:
    """Raises AxisMismatch for targets that lack an axis, and ShapeMismatch for anonymous ones with a length of 1 in
    its place: these would be broadcast.
    """
    help = "reshape or index one of them: what lacks an axis, or has a length of 1 there, would be spread along it"
    if own.ndim != targets.ndim:
        raise AxisMismatch("the targets have other axes than the predictions", op=op, operand=2,
                           got=str(targets.axes), expected=str(own.axes), help=help)
    is_named = own.is_named or targets.is_named
    if not is_named and any([equal_lengths(a, b) is False for a, b in zip(own.type.shape, targets.type.shape)]):
        raise ShapeMismatch("the targets have other lengths than the predictions", op=op, operand=2,
                            got=str(targets.type), expected=str(own.axes), help=help)


def _read(x: TensorLike, op: str, position: int) -> Operand:
    """Reads an operand; lists become tensors."""
    return x if is_scalar(x) else as_tensor(x, op, position)


def _type_of(x: TensorLike, op: str) -> DType:
    """Returns the type of a loss of x."""
    return floating(common_dtype((_read(x, op, 1),), op))


def _on_axes(goal: Tensor, own: Tensor, op: str) -> Tensor:
    """Returns probabilities on the axes of the logits."""
    _, targets, _ = paired(own, goal, op)
    return Tensor(converted_to(targets, own.dtype), own._axes)


def _reduced(losses: Tensor, reduction: str, dtype: DType, op: str) -> Tensor:
    """Returns losses reduced by ``reduction``, in the type of the result, which is real for complex numbers."""
    dtype = losses.dtype if dtype.is_complex else dtype
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise InvalidArgument("unknown reduction", op=op, operand="reduction", got=f"{reduction!r:.60}",
                              expected=", ".join(REDUCTIONS),
                              help=did_you_mean(str(reduction), REDUCTIONS, "'none' gives the loss of each position"))
    if reduction == "none":
        return convert(losses, dtype)
    if reduction == "mean":
        return convert(mean_over(losses, out_axes=()), dtype)
    total = sum_over(losses, out_axes=())
    return convert(total if reduction == "sum" else divide(total, _batch(losses)), dtype)


def _batch(losses: Tensor) -> Operand:
    """Returns the length of the batch."""
    return batch_size(losses) if losses.is_named or not losses.ndim else losses.type.shape[0]


def _huber(distance: Tensor, limit: float) -> Tensor:
    inside = multiply(0.5, square(distance))
    return where(less_equal(distance, limit), inside, multiply(limit, subtract(distance, 0.5 * limit)))


_APART = 1e-6
"""A number added to the differences of a distance, so that equal points have a direction, too."""


def _distance(x: TensorLike, y: TensorLike, axis: AxisLike | None) -> tuple[Tensor, DType]:
    """Returns the Euclidean distance along an axis, and the type to which it is rounded in the end."""
    own, other, dtype = _pair(x, y, "triplet_margin")
    at = _vector_axis(own, axis, "triplet_margin")
    return sqrt(sum_over(square(add(subtract(own, other), _APART)), reduction_axes=[at])), dtype


def _vector_axis(x: Tensor, axis: AxisLike | None, op: str) -> int:
    """Returns the position of the axis that vectors lie along."""
    if axis is not None:
        return position_of(x, axis, op)
    found = [at for at, one in enumerate(x.axes) if not (one.is_batch or one.is_recurrent)] if x.is_named \
        else [x.ndim - 1][:x.ndim]
    if len(found) != 1:
        raise AxisMismatch("along which axis the vectors lie has to be said", op=op, operand="axis", got=str(x.axes),
                           expected="axis=", help=_last_axis(x))
    return found[0]


def _last_axis(x: Tensor) -> str:
    """Returns an example of ``axis=`` with an axis that x has."""
    last = x.axes[-1].name if x.is_named and x.ndim else -1
    return f"axis={last!r} says that it is the last one" if x.ndim else "give a tensor with an axis"


def _positive(value: Number, op: str, operand: str) -> float:
    number = real(value, op, operand)
    if not number > 0:
        raise InvalidArgument(f"{operand} is positive", op=op, operand=operand, got=value, expected="more than 0",
                              help="1.0 is usual" if operand != "epsilon" else "1e-6 is usual")
    return number


def _share(smoothing: float, op: str) -> float:
    number = real(smoothing, op, "smoothing")
    if not 0 <= number <= 1:
        raise InvalidArgument("a share is from 0 to 1", op=op, operand="smoothing", got=smoothing, expected="0 to 1",
                              help="0.1 is usual")
    return number


__all__ = ["binary_cross_entropy", "cosine_embedding", "cosine_similarity", "cross_entropy", "gaussian", "hinge",
           "huber", "kl_divergence", "margin_ranking", "mean_absolute_error", "mean_squared_error",
           "negative_log_likelihood", "poisson", "smooth_l1", "triplet_margin"]

explain_keywords(globals(), __all__)

if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module 'nervure.nn.losses' has no attribute {name!r}")
        raise unknown_layer(name, __all__, "nv.nn.losses")

