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

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from nervure import ops
from nervure.front.argument_parsing import real, require_function, truth
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    equal,
    exp,
    less_equal,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    softplus,
    sqrt,
    square,
    subtract,
)
from nervure.front.pointwise.elementwise import convert, power, where
from nervure.front.promotion import floating, promote
from nervure.front.statistics.reductions import L2_norm
from nervure.front.statistics.reductions import max as max_over
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.ctc import ctc
from nervure.nn.linear_loss import linear_cross_entropy
from nervure.nn.loss_parts import (
    classified,
    distance,
    number_pair,
    of_classes,
    positive,
    read_operand,
    reduced,
    type_of,
    vector_axis,
)
from nervure.nn.margin_losses import (
    dice,
    focal,
    hinge_embedding,
    info_nce,
    multi_margin,
    multilabel_margin,
    multilabel_soft_margin,
    soft_margin,
)
from nervure.support.elsewhere import explain_keywords, unknown_layer
from nervure.types.axes import AxisLike
from nervure.types.dtype import DType

# -- classes -----------------------------------------------------------------------------------------


@in_order
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
    own, goal = classified("cross_entropy", logits, targets, axis, weights, smoothing, ignore_index)
    value = ops.SoftmaxCrossEntropy(own.value, goal.targets.value, [goal.axis]).output
    return of_classes(value, own, goal, reduction, "cross_entropy")


@in_order
def negative_log_likelihood(logarithms: TensorLike, targets: TensorLike, axis: AxisLike | None = None,
                            weights: TensorLike | None = None, ignore_index: int | None = None,
                            reduction: str = "mean") -> Tensor:
    """``-sum(t * logarithms)`` along the axis of the classes, from logarithms of probabilities, such as those of
    ``log_softmax``. All else is as in ``cross_entropy``.

    >>> nv.nn.losses.negative_log_likelihood([[-1.0, -2.0]], [1]).item()
    2.0
    """
    own, goal = classified("negative_log_likelihood", logarithms, targets, axis, weights, 0.0, ignore_index)
    is_counted = not_equal(goal.targets, 0)
    terms = where(is_counted, multiply(own, goal.targets), 0.0)  # minus infinity times 0 counts 0
    value = ops.Sum(negative(terms).value, [goal.axis]).output
    return of_classes(value, own, goal, reduction, "negative_log_likelihood")


@in_order
def binary_cross_entropy(logits: TensorLike, targets: TensorLike, weights: TensorLike | None = None,
                         positive_weights: TensorLike | None = None, reduction: str = "mean") -> Tensor:
    """``-t * log(sigmoid(x)) - (1 - t) * log(1 - sigmoid(x))`` from ``logits`` x and ``targets`` t, without overflow.

    ``positive_weights`` multiply the first term, ``weights`` all of it.

    >>> print(nv.nn.losses.binary_cross_entropy([0.0, 1000.0], [1.0, 1.0]).numpy().round(4))
    0.3466
    """
    x, t, dtype = number_pair(logits, targets, "binary_cross_entropy")
    if positive_weights is None:
        losses = Tensor(ops.SigmoidCrossEntropy(x.value, t.value), x._axes)
    else:
        positive = read_operand(positive_weights, "binary_cross_entropy", 4)
        weight = add(1.0, multiply(subtract(positive, 1.0), t))
        losses = add(multiply(subtract(1.0, t), x), multiply(weight, softplus(negative(x))))
    if weights is not None:
        losses = multiply(losses, read_operand(weights, "binary_cross_entropy", 3))
    return reduced(losses, reduction, dtype, "binary_cross_entropy")


@in_order
def kl_divergence(logarithms: TensorLike, targets: TensorLike, log_targets: bool = False,
                  reduction: str = "mean") -> Tensor:
    """``t * (log(t) - logarithms)``, from logarithms of probabilities to ``targets`` t. The targets are probabilities,
    or logarithms, too, with ``log_targets``. ``reduction="batch"`` gives the divergence by its definition. Elements
    with t = 0 count nothing.

    >>> import math
    >>> print(nv.nn.losses.kl_divergence([[math.log(0.5)] * 2], [[1.0, 0.0]], reduction="batch").numpy().round(4))
    0.6931
    """
    x, t, dtype = number_pair(logarithms, targets, "kl_divergence")
    if truth(log_targets, "kl_divergence", "log_targets"):
        losses = multiply(exp(t), subtract(t, x))
    else:
        nothing = equal(t, 0)
        losses = where(nothing, 0.0, multiply(t, subtract(log(where(nothing, 1.0, t)), x)))
    return reduced(losses, reduction, dtype, "kl_divergence")


# -- numbers -----------------------------------------------------------------------------------------


@in_order
def mean_squared_error(x: TensorLike, targets: TensorLike, reduction: str = "mean") -> Tensor:
    """``(x - t)**2`` for ``targets`` t; ``|x - t|**2`` for complex numbers.

    >>> nv.nn.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0]).item()
    2.0
    """
    own, t, dtype = number_pair(x, targets, "mean_squared_error")
    difference = subtract(own, t)
    return reduced(square(absolute(difference) if dtype.is_complex else difference), reduction, dtype,
                    "mean_squared_error")


@in_order
def mean_absolute_error(x: TensorLike, targets: TensorLike, reduction: str = "mean") -> Tensor:
    """``|x - t|`` for ``targets`` t.

    >>> nv.nn.losses.mean_absolute_error([1.0, 2.0], [1.0, 4.0]).item()
    1.0
    """
    own, t, dtype = number_pair(x, targets, "mean_absolute_error")
    return reduced(absolute(subtract(own, t)), reduction, dtype, "mean_absolute_error")


@in_order
def huber(x: TensorLike, targets: TensorLike, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    """``d**2 / 2`` for a distance d up to ``delta``, ``delta * (d - delta / 2)`` for a larger one (Huber 1964).

    >>> nv.nn.losses.huber([0.0, 0.0], [1.0, 3.0], reduction="none").tolist()
    [0.5, 2.5]
    """
    limit = positive(delta, "huber", "delta")
    own, t, dtype = number_pair(x, targets, "huber")
    return reduced(_huber(absolute(subtract(own, t)), limit), reduction, dtype, "huber")


@in_order
def smooth_l1(x: TensorLike, targets: TensorLike, beta: float = 1.0, reduction: str = "mean") -> Tensor:
    """``d**2 / 2 / beta`` for a distance d up to ``beta``, ``d - beta / 2`` for a larger one.

    >>> nv.nn.losses.smooth_l1([0.0, 0.0], [1.0, 3.0], beta=2.0, reduction="none").tolist()
    [0.25, 2.0]
    """
    limit = positive(beta, "smooth_l1", "beta")
    own, t, dtype = number_pair(x, targets, "smooth_l1")
    return reduced(multiply(_huber(absolute(subtract(own, t)), limit), 1 / limit), reduction, dtype, "smooth_l1")


@in_order
def poisson(logarithms: TensorLike, counts: TensorLike, reduction: str = "mean") -> Tensor:
    """``exp(x) - t * x``: the negative log likelihood of counts t at rates with logarithms x, without terms that do
    not depend on x.

    >>> nv.nn.losses.poisson([0.0], [3.0]).item()
    1.0
    """
    x, t, dtype = number_pair(logarithms, counts, "poisson")
    return reduced(subtract(exp(x), multiply(t, x)), reduction, dtype, "poisson")


@in_order
def gaussian(x: TensorLike, targets: TensorLike, variances: TensorLike, epsilon: float = 1e-6,
             reduction: str = "mean") -> Tensor:
    """``(log(v) + (x - t)**2 / v) / 2``: the negative log likelihood of ``targets`` t under normal distributions.
    Their means are x, their variances v, which count as ``epsilon`` at least; terms that depend on neither are left
    out.

    >>> nv.nn.losses.gaussian([1.0], [3.0], [1.0]).item()
    2.0
    """
    own, t, dtype = number_pair(x, targets, "gaussian")
    width = maximum(read_operand(variances, "gaussian", 3), positive(epsilon, "gaussian", "epsilon"))
    losses = multiply(0.5, add(log(width), divide(square(subtract(own, t)), width)))
    return reduced(losses, reduction, dtype, "gaussian")


# -- distances and margins ---------------------------------------------------------------------------


@in_order
def cosine_similarity(x: TensorLike, y: TensorLike, axis: AxisLike | None = None, epsilon: float = 1e-8) -> Tensor:
    """Returns the cosine of the angle between x and y along an axis: from -1 to 1, larger for more similar vectors. The
    default ``axis`` of named tensors is the only one beside N and REC, else the last. Norms count as ``epsilon`` at
    least.

    >>> print(nv.nn.losses.cosine_similarity([[3.0, 0.0]], [[1.0, 1.0]]).numpy().round(4))
    [0.7071]
    """
    own, other, dtype = number_pair(x, y, "cosine_similarity")
    at = vector_axis(own, axis, "cosine_similarity")
    least = positive(epsilon, "cosine_similarity", "epsilon")
    norms = [maximum(L2_norm(entry, reduction_axes=[at]), least) for entry in (own, other)]
    return convert(divide(sum_over(multiply(own, other), reduction_axes=[at]), multiply(*norms)), dtype)


@in_order
def pairwise_distance(x: TensorLike, y: TensorLike, p: float = 2.0, axis: AxisLike | None = None,
                      epsilon: float = 1e-6) -> Tensor:
    """Returns the p-norm of ``x - y + epsilon`` along an ``axis``, as in ``cosine_similarity``.

    >>> nv.nn.losses.pairwise_distance([[0.0, 3.0]], [[4.0, 0.0]], epsilon=0.0).tolist()
    [5.0]
    """
    exponent = positive(p, "pairwise_distance", "p")
    own, other, dtype = number_pair(x, y, "pairwise_distance")
    at = vector_axis(own, axis, "pairwise_distance")
    apart = absolute(add(subtract(own, other), real(epsilon, "pairwise_distance", "epsilon")))
    if exponent == math.inf:
        return convert(max_over(apart, reduction_axes=[at]), dtype)
    sums = sum_over(power(apart, exponent), reduction_axes=[at])
    return convert(sqrt(sums) if exponent == 2 else power(sums, 1 / exponent), dtype)


@in_order
def cosine_embedding(x: TensorLike, y: TensorLike, signs: TensorLike, margin: float = 0.0,
                     axis: AxisLike | None = None, reduction: str = "mean") -> Tensor:
    """``1 - c`` for a sign of 1, ``max(0, c - margin)`` for a sign of -1, for the cosines c of x and y.

    ``signs`` are over the axes of the cosines; ``axis`` is as in ``cosine_similarity``.

    >>> x, y = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]
    >>> nv.nn.losses.cosine_embedding(x, y, [1.0, -1.0], reduction="none").tolist()
    [1.0, 1.0]
    """
    similarity = cosine_similarity(x, y, axis)
    alike, sign, _ = number_pair(similarity, signs, "cosine_embedding")
    apart = maximum(subtract(alike, real(margin, "cosine_embedding", "margin")), 0.0)
    losses = where(equal(sign, 1), subtract(1.0, alike), where(equal(sign, -1), apart, 0.0))
    return reduced(losses, reduction, similarity.dtype, "cosine_embedding")


@in_order
def margin_ranking(x: TensorLike, y: TensorLike, signs: TensorLike, margin: float = 0.0,
                   reduction: str = "mean") -> Tensor:
    """``max(0, margin - sign * (x - y))``: x should be larger than y for a sign of 1, smaller for a sign of -1.

    >>> nv.nn.losses.margin_ranking([1.0, 1.0], [2.0, 2.0], [1.0, -1.0], reduction="none").tolist()
    [1.0, 0.0]
    """
    left, right, dtype = number_pair(x, y, "margin_ranking")
    distance, sign, _ = number_pair(subtract(left, right), signs, "margin_ranking")
    losses = maximum(subtract(real(margin, "margin_ranking", "margin"), multiply(sign, distance)), 0.0)
    return reduced(losses, reduction, dtype, "margin_ranking")


@in_order
def hinge(scores: TensorLike, signs: TensorLike, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """``max(0, margin - sign * score)`` (Cortes and Vapnik 1995).

    >>> nv.nn.losses.hinge([0.5, 2.0], [1.0, 1.0], reduction="none").tolist()
    [0.5, 0.0]
    """
    own, sign, _ = number_pair(scores, signs, "hinge")
    losses = maximum(subtract(real(margin, "hinge", "margin"), multiply(sign, own)), 0.0)
    return reduced(losses, reduction, type_of(scores, "hinge"), "hinge")


@in_order
def triplet_margin(anchor: TensorLike, like: TensorLike, unlike: TensorLike, margin: float = 1.0,
                   axis: AxisLike | None = None, reduction: str = "mean",
                   metric: Callable[[Tensor, Tensor], Tensor] | None = None, swap: bool = False) -> Tensor:
    """``max(0, |anchor - like| - |anchor - unlike| + margin)``, with distances along an ``axis``, as in
    ``cosine_similarity``. Each difference has 1e-6 added, as in PyTorch, so that equal points have a derivative: the
    distance of two equal points of n numbers is ``sqrt(n) * 1e-6``.

    A ``metric``, a function of two tensors, takes the place of the distance. With ``swap`` the second distance is that
    from unlike to like, if it is smaller (Balntas et al. 2016).

    >>> print(nv.nn.losses.triplet_margin([[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 5.0]]).numpy().round(4))
    1.0
    """
    if metric is not None:
        require_function(metric, "triplet_margin", "metric")

    def apart(x: TensorLike, y: TensorLike) -> tuple[Tensor, DType]:
        if metric is None:
            return distance(x, y, axis)
        found = as_tensor(metric(as_tensor(x, "triplet_margin"), as_tensor(y, "triplet_margin")), "triplet_margin")
        return convert(found, found.dtype.compute), floating(found.dtype)
    (near, first), (far, second) = [apart(anchor, entry) for entry in (like, unlike)]
    if truth(swap, "triplet_margin", "swap"):
        far = minimum(far, apart(like, unlike)[0])
    losses = maximum(add(subtract(near, far), real(margin, "triplet_margin", "margin")), 0.0)
    return reduced(losses, reduction, promote([first, second], op="triplet_margin"), "triplet_margin")


def _huber(distance: Tensor, limit: float) -> Tensor:
    inside = multiply(0.5, square(distance))
    return where(less_equal(distance, limit), inside, multiply(limit, subtract(distance, 0.5 * limit)))


__all__ = ["binary_cross_entropy", "cosine_embedding", "cosine_similarity", "cross_entropy", "ctc", "dice",
           "focal", "gaussian", "hinge", "hinge_embedding", "huber", "info_nce", "kl_divergence",
           "linear_cross_entropy", "margin_ranking",
           "mean_absolute_error", "mean_squared_error", "multi_margin", "multilabel_margin",
           "multilabel_soft_margin", "negative_log_likelihood", "pairwise_distance", "poisson", "smooth_l1",
           "soft_margin", "triplet_margin"]

explain_keywords(globals(), __all__)

if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_layer(name, __all__, "nv.nn.losses")

