"""Losses of margins, of overlaps, and of pairs that belong together.

>>> import nervure as nv
>>> nv.nn.losses.multi_margin([[0.0, 2.0, 1.25, 0.0]], [1], reduction="none").tolist()
[0.0625]
"""

from __future__ import annotations

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import integer, real
from nervure.front.arranging.diagonals import diagonal
from nervure.front.arranging.views import expand_dims
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.matrices.matrix_products import tensordot
from nervure.front.networks.normalization import log_softmax
from nervure.front.op_functions import (
    add,
    divide,
    equal,
    log_sigmoid,
    maximum,
    multiply,
    negative,
    sigmoid,
    softplus,
    subtract,
)
from nervure.front.pointwise.elementwise import power, where
from nervure.front.statistics.reductions import L2_norm, sample_axes
from nervure.front.statistics.reductions import mean as mean_over
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.loss_parts import (
    classified,
    number_pair,
    of_classes,
    over_classes,
    positive,
    reduced,
    type_of,
    vector_axis,
)
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike

# -- margins -----------------------------------------------------------------------------------------


@in_order
def hinge_embedding(x: TensorLike, signs: TensorLike, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """Returns the distance x where its sign is 1, ``max(0, margin - x)`` where it is -1.

    ``signs`` have the axes of x.

    >>> nv.nn.losses.hinge_embedding([0.5, 0.25], [1.0, -1.0], reduction="none").tolist()
    [0.5, 0.75]
    """
    own, sign, _ = number_pair(x, signs, "hinge_embedding")
    apart = maximum(subtract(real(margin, "hinge_embedding", "margin"), own), 0.0)
    losses = where(equal(sign, 1), own, where(equal(sign, -1), apart, 0.0))
    return reduced(losses, reduction, type_of(x, "hinge_embedding"), "hinge_embedding")


@in_order
def soft_margin(scores: TensorLike, signs: TensorLike, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-sign * score))``, without overflow, for ``signs`` of 1 and -1.

    >>> nv.nn.losses.soft_margin([1000.0, 1000.0], [1.0, -1.0], reduction="none").tolist()
    [0.0, 1000.0]
    """
    own, sign, _ = number_pair(scores, signs, "soft_margin")
    return reduced(softplus(negative(multiply(sign, own))), reduction, type_of(scores, "soft_margin"), "soft_margin")


@in_order
def multi_margin(scores: TensorLike, targets: TensorLike, p: int = 1, margin: float = 1.0,
                 weights: TensorLike | None = None, axis: AxisLike | None = None, reduction: str = "mean") -> Tensor:
    """``max(0, margin - score of the target + score) ** p``, summed over the other classes, over their number (Crammer
    and Singer 2001).

    ``targets`` are class numbers, ``axis`` is that of the classes, as in ``cross_entropy``; ``weights`` has a number
    for each class. ``p`` is 1 or 2.

    >>> nv.nn.losses.multi_margin([[0.5, 0.0]], [0]).tolist()
    0.25
    """
    exponent = integer(p, "multi_margin", "p")
    if exponent not in (1, 2):
        raise InvalidArgument("the exponent is 1 or 2", op="multi_margin", operand="p", got=p, expected="1 or 2",
                              help="1 is usual")
    own, goal = classified("multi_margin", scores, targets, axis, None, 0.0, None)
    plain, at = Tensor(own.value), goal.axis  # an axis of length 1 beside one of all classes has no name
    is_target = equal(Tensor(goal.targets.value), 1.0)
    chosen = sum_over(where(is_target, plain, 0.0), reduction_axes=[at], keepdims=True)
    gaps = maximum(add(subtract(plain, chosen), real(margin, "multi_margin", "margin")), 0.0)
    gaps = where(is_target, 0.0, gaps if exponent == 1 else multiply(gaps, gaps))
    losses = divide(sum_over(gaps, reduction_axes=[at]), own.type.shape[at])
    if weights is not None:
        shares = multiply(goal.targets, over_classes(weights, own, at, "multi_margin"))
        losses = multiply(losses, sum_over(Tensor(shares.value), reduction_axes=[at]))
    return of_classes(losses.value, own, goal, reduction, "multi_margin")


@in_order
def multilabel_margin(scores: TensorLike, targets: TensorLike, axis: AxisLike | None = None,
                      reduction: str = "mean") -> Tensor:
    """``max(0, 1 - score of a label + score of no label)``, summed over all pairs of both, over the number of classes.

    ``targets`` has 1, or True, for each class that is a label, else 0; ``axis`` is that of the classes, as in
    ``cosine_similarity``.

    >>> nv.nn.losses.multilabel_margin([[0.5, 0.0]], [[1.0, 0.0]]).tolist()
    0.25
    """
    own, t, _ = number_pair(scores, targets, "multilabel_margin")
    at = vector_axis(own, axis, "multilabel_margin")
    plain, labels = Tensor(own.value), Tensor(t.value)
    gaps = maximum(add(1.0, subtract(expand_dims(plain, at), expand_dims(plain, at + 1))), 0.0)
    pairs = multiply(expand_dims(labels, at + 1), subtract(1.0, expand_dims(labels, at)))
    found = divide(sum_over(multiply(gaps, pairs), reduction_axes=[at, at + 1]), own.type.shape[at])
    rest = Axes([one for place, one in enumerate(own.axes) if place != at]) if own.is_named else None
    return reduced(Tensor(found.value, rest), reduction, type_of(scores, "multilabel_margin"), "multilabel_margin")


@in_order
def multilabel_soft_margin(logits: TensorLike, targets: TensorLike, weights: TensorLike | None = None,
                           axis: AxisLike | None = None, reduction: str = "mean") -> Tensor:
    """Returns the mean over the classes of ``-t * log(sigmoid(x)) - (1 - t) * log(1 - sigmoid(x))``, for ``targets`` t.

    ``weights`` has a number for each class; ``axis`` is that of the classes, as in ``cosine_similarity``.

    >>> print(nv.nn.losses.multilabel_soft_margin([[0.0, 0.0]], [[1.0, 0.0]]).numpy().round(4))
    0.6931
    """
    own, t, _ = number_pair(logits, targets, "multilabel_soft_margin")
    at = vector_axis(own, axis, "multilabel_soft_margin")
    terms = negative(add(multiply(t, log_sigmoid(own)), multiply(subtract(1.0, t), log_sigmoid(negative(own)))))
    if weights is not None:
        given = as_tensor(weights, "multilabel_soft_margin", 3)
        for _ in range(0 if own.is_named else own.ndim - 1 - at):
            given = expand_dims(given, given.ndim)
        terms = multiply(terms, given)
    return reduced(mean_over(terms, reduction_axes=[at]), reduction, type_of(logits, "multilabel_soft_margin"),
                   "multilabel_soft_margin")


# -- few among many, overlaps, pairs -----------------------------------------------------------------


@in_order
def focal(logits: TensorLike, targets: TensorLike, gamma: float = 2.0, alpha: float | None = 0.25,
          reduction: str = "mean") -> Tensor:
    """Returns the binary cross entropy times ``(1 - p) ** gamma``, with p the probability of what is true (Lin et al.
    2017).

    ``alpha`` is the weight of ``targets`` of 1, ``1 - alpha`` that of 0; None leaves both out.

    >>> print(nv.nn.losses.focal([0.0], [1.0], alpha=None).numpy().round(4))
    0.1733
    """
    own, t, dtype = number_pair(logits, targets, "focal")
    entropy = subtract(softplus(own), multiply(own, t))
    chance = sigmoid(own)
    missed = add(multiply(chance, subtract(1.0, t)), multiply(subtract(1.0, chance), t))
    exponent = real(gamma, "focal", "gamma")
    losses = entropy if exponent == 0 else multiply(entropy, power(missed, exponent))
    if alpha is not None:
        share = real(alpha, "focal", "alpha")
        losses = multiply(losses, add(multiply(t, share), multiply(subtract(1.0, t), 1.0 - share)))
    return reduced(losses, reduction, dtype, "focal")


@in_order
def dice(probabilities: TensorLike, targets: TensorLike, smoothing: float = 1.0, reduction: str = "mean") -> Tensor:
    """``1 - (2 * sum(p * t) + smoothing) / (sum(p) + sum(t) + smoothing)`` of each sample, for probabilities p and
    targets t.

    The sums go over all axes but N and REC, or but the first one without names. ``smoothing`` keeps empty samples from
    a division by 0.

    >>> nv.nn.losses.dice([[1.0, 0.0]], [[1.0, 0.0]]).item()
    0.0
    """
    own, t, dtype = number_pair(probabilities, targets, "dice")
    least = real(smoothing, "dice", "smoothing")
    samples = sample_axes(own)
    along = [place for place in range(own.ndim) if place not in samples]

    def whole(x: Tensor) -> Tensor:
        return sum_over(x, reduction_axes=along) if along else x
    overlap = add(multiply(2.0, whole(multiply(own, t))), least)
    return reduced(subtract(1.0, divide(overlap, add(whole(add(own, t)), least))), reduction, dtype, "dice")


@in_order
def info_nce(x: TensorLike, y: TensorLike, temperature: float = 0.1, axis: AxisLike | None = None,
             reduction: str = "mean") -> Tensor:
    """Returns the cross entropy of finding, for each vector of x, that of y in the same place (van den Oord et al.
    2018).

    x and y have two axes, of samples and of features (``axis``, as in ``cosine_similarity``); the logits are cosines
    over ``temperature``.

    >>> print(nv.nn.losses.info_nce([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], 1.0).numpy().round(4))
    0.3133
    """
    own, other, dtype = number_pair(x, y, "info_nce")
    if own.ndim != 2:
        raise ShapeMismatch("there are samples and features", op="info_nce", operand="x", got=str(own.axes),
                            expected="two axes", help="nv.flatten_at(x, 1) joins the features")
    at = vector_axis(own, axis, "info_nce")
    units = [divide(plain, maximum(L2_norm(plain, reduction_axes=[at], keepdims=True), 1e-8))
             for plain in (Tensor(own.value), Tensor(other.value))]
    logits = divide(tensordot(units[0], units[1], ([at], [at])), positive(temperature, "info_nce", "temperature"))
    losses = negative(diagonal(log_softmax(logits, axis=1)))
    return reduced(Tensor(losses.value, Axes([own.axes[1 - at]]) if own.is_named else None), reduction, dtype,
                   "info_nce")


__all__ = ["dice", "focal", "hinge_embedding", "info_nce", "multi_margin", "multilabel_margin",
           "multilabel_soft_margin", "soft_margin"]

explain_keywords(globals(), __all__)
