"""Parts that losses share: targets of classes, pairs of numbers, vectors, reductions.

>>> import nervure as nv
>>> reduced(nv.constant([1.0, 3.0]), "mean", nv.float32, "huber").item()
2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.front import alignment
from nervure.front.apply import common_dtype
from nervure.front.argument_parsing import fraction, one_of, position_of, real
from nervure.front.arranging.filled import zeros
from nervure.front.arranging.gathering import as_index
from nervure.front.arranging.views import reshape
from nervure.front.creation import as_tensor, read_integers
from nervure.front.networks.normalization import paired
from nervure.front.op_functions import add, divide, multiply, not_equal, sqrt, square, subtract
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.promotion import floating
from nervure.front.statistics.reductions import batch_size
from nervure.front.statistics.reductions import mean as mean_over
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Number, Operand, Tensor, TensorLike, is_scalar
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.types.axes import Axes, AxisLike
from nervure.types.dim import DimLike, product
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import DType, int64

REDUCTIONS = ("mean", "sum", "batch", "none")


class Goal(NamedTuple):
    """Targets on the axes of the logits, multiplied by the weights, and the position of the axis of the classes.
    ``counted`` has the weights of a mean: how much each position counts, or None for all positions alike.
    """

    targets: Tensor
    axis: int
    counted: Tensor | None
    dtype: DType


class Numbered(NamedTuple):
    """A class ``number`` for each vector in the last axis of a tensor, one after another, and the other ``axes``."""

    number: Tensor
    axes: Axes | None


def numbered(x: Tensor, targets: TensorLike, op: str, operand: int) -> Numbered:
    """Returns ``targets``, class numbers over all axes of ``x`` but its last, in the order of its vectors.

    Raises ShapeMismatch where they have other axes.
    """
    goal, axes = as_index(targets, op, operand), Axes(x.axes[:-1]) if x.is_named else None
    place = Tensor(zeros(x.type.shape[:-1], int64).value, axes)
    if goal.ndim != place.ndim:
        raise ShapeMismatch("each vector has a class number", op=op, operand="targets", got=str(goal.type),
                            expected=str(place.type), help="integers over all axes of x but its last")
    return Numbered(reshape(Tensor(alignment.fitted(goal, place, op)), (product(place.type.shape),)), axes)


def classified(op: str, logits: TensorLike, targets: TensorLike, axis: AxisLike | None, weights: TensorLike | None,
                smoothing: float, ignore_index: int | None) -> tuple[Tensor, Goal]:
    """Returns logits, or logarithms, in the type in which arithmetic takes place, and their targets as a ``Goal``."""
    given = as_tensor(logits, op)
    dtype = floating(given.dtype)
    own = convert(given, dtype.compute)
    goal = read_integers(targets, op, 2)
    at = _class_axis(own, goal, axis, op)
    _check_targets(own, goal, at, op)
    has_numbers = goal.ndim == own.ndim - 1
    factors = [] if weights is None else [over_classes(weights, own, at, op)]
    if has_numbers:
        goal, counts = _counting(own, _labels(own, goal, at, op), at, ignore_index)
        factors += counts
    elif ignore_index is not None:
        raise InvalidArgument("ignore_index is for class numbers", op=op, operand="ignore_index",
                              got=f"targets {goal.type}", expected="class numbers",
                              help="give the position a weight of 0 instead")
    spread = _vectors(own, goal, at) if has_numbers else _on_axes(goal, own, op)
    share = fraction(smoothing, op, "smoothing", "0.1 is usual")
    weighted = spread if share == 0 else add(multiply(spread, 1 - share), divide(
        as_tensor(share, dtype=own.dtype), own.type.shape[at]))
    for factor in factors:
        weighted, spread = multiply(weighted, factor), multiply(spread, factor)
    return own, Goal(weighted, at, spread if has_numbers and factors else None, dtype)


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
    numbers = converted(labels.value, int64)
    return Tensor(ops.OneHot(numbers, own.type.shape[at], own.dtype, at, from_end=False), own._axes)


def of_classes(value: Value, own: Tensor, goal: Goal, reduction: str, op: str) -> Tensor:
    """Reduces the losses of classes, ``value``, which are over all axes of ``own`` but theirs, by ``reduction``."""
    rest = Axes([axis for place, axis in enumerate(own.axes) if place != goal.axis]) if own.is_named else None
    losses = Tensor(value, rest)
    if reduction == "mean" and goal.counted is not None:
        return convert(divide(sum_over(losses, out_axes=()), sum_over(goal.counted, out_axes=())), goal.dtype)
    return reduced(losses, reduction, goal.dtype, op)


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
        found = [place for place, one in enumerate(own.axes) if not one.is_of_samples]
    if len(found) != 1:
        raise AxisMismatch("which axis has the classes has to be said", op=op, operand="axis", got=str(own.axes),
                           expected="axis=",
                           help=_last_axis(own))
    return found[0]


def over_classes(weights: TensorLike, own: Tensor, at: int, op: str) -> Tensor:
    """Returns ``weights``, a number for each class, in a form that aligns with the logits ``own``."""
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


def number_pair(x: TensorLike, t: TensorLike, op: str) -> tuple[Tensor, Tensor, DType]:
    """Returns predictions x and targets t on the same axes, in the type in which arithmetic takes place, and the type
    of the result.
    """
    mine, theirs = read_operand(x, op, 1), read_operand(t, op, 2)
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


def read_operand(x: TensorLike, op: str, position: int) -> Operand:
    """Reads an operand x of ``op``; lists become tensors."""
    return x if is_scalar(x) else as_tensor(x, op, position)


def type_of(x: TensorLike, op: str) -> DType:
    """Returns the type of a loss of x."""
    return floating(common_dtype((read_operand(x, op, 1),), op))


def _on_axes(goal: Tensor, own: Tensor, op: str) -> Tensor:
    """Returns probabilities on the axes of the logits."""
    _, targets, _ = paired(own, goal, op)
    return Tensor(converted(targets, own.dtype), own._axes)


def require_reduction(reduction: str, op: str) -> None:
    """Raises InvalidArgument if there is no such ``reduction``."""
    one_of(reduction, REDUCTIONS, op, "reduction", "'none' gives the loss of each position")


def reduced(losses: Tensor, reduction: str, dtype: DType, op: str) -> Tensor:
    """Returns losses reduced by ``reduction``, in the type of the result, which is real for complex numbers."""
    dtype = losses.dtype if dtype.is_complex else dtype
    require_reduction(reduction, op)
    if reduction == "none":
        return convert(losses, dtype)
    if reduction == "mean":
        return convert(mean_over(losses, out_axes=()), dtype)
    total = sum_over(losses, out_axes=())
    return convert(total if reduction == "sum" else divide(total, _batch(losses)), dtype)


def _batch(losses: Tensor) -> Operand:
    """Returns the length of the batch."""
    return batch_size(losses) if losses.is_named or not losses.ndim else losses.type.shape[0]


_APART = 1e-6
"""A number added to the differences of a distance, so that equal points have a direction, too."""


def distance(x: TensorLike, y: TensorLike, axis: AxisLike | None) -> tuple[Tensor, DType]:
    """Returns the Euclidean distance of x and y along an ``axis``, and the type to which it is rounded in the end."""
    own, other, dtype = number_pair(x, y, "triplet_margin")
    at = vector_axis(own, axis, "triplet_margin")
    return sqrt(sum_over(square(add(subtract(own, other), _APART)), reduction_axes=[at])), dtype


def vector_axis(x: Tensor, axis: AxisLike | None, op: str) -> int:
    """Returns the position of the ``axis`` that vectors lie along; absent, that of the only one that it may be."""
    if axis is not None:
        return position_of(x, axis, op)
    found = [at for at, one in enumerate(x.axes) if not one.is_of_samples] if x.is_named \
        else [x.ndim - 1][:x.ndim]
    if len(found) != 1:
        raise AxisMismatch("along which axis the vectors lie has to be said", op=op, operand="axis", got=str(x.axes),
                           expected="axis=", help=_last_axis(x))
    return found[0]


def _last_axis(x: Tensor) -> str:
    """Returns an example of ``axis=`` with an axis that x has."""
    last = x.axes[-1].name if x.is_named and x.ndim else -1
    return f"axis={last!r} says that it is the last one" if x.ndim else "give a tensor with an axis"


def positive(value: Number, op: str, operand: str) -> float:
    """Returns a setting ``operand`` of ``op`` that has to be positive."""
    number = real(value, op, operand)
    if not number > 0:
        raise InvalidArgument(f"{operand} is positive", op=op, operand=operand, got=value, expected="more than 0",
                              help="1.0 is usual" if operand != "epsilon" else "1e-6 is usual")
    return number
