"""Connectionist temporal classification (Graves et al. 2006): the likelihood of labels whose places are not known.

>>> import nervure as nv
>>> steps = nv.log_softmax(nv.zeros((2, 1, 3)), axis=2)
>>> print(nv.nn.losses.ctc(steps, [[1]], reduction="sum").numpy().round(4))
1.0986

Each of the two steps gives one of three classes: 1 and 1, 1 and blank, or blank and 1 spell the label, 3 of 9.
"""

from __future__ import annotations

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.front.alignment import assume_shape
from nervure.front.argument_parsing import integer, truth
from nervure.front.arranging.filled import full, iota
from nervure.front.arranging.gathering import gather_elements, within
from nervure.front.arranging.joining import concatenate, stack
from nervure.front.arranging.views import axes_with_order, broadcast, expand_dims, reshape
from nervure.front.creation import read_integers
from nervure.front.evaluation_order import in_order
from nervure.front.loops.loop_functions import scan
from nervure.front.op_functions import add, exp, greater, less, log, maximum, multiply, negative, not_equal, subtract
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.loss_parts import reduced
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import int64

NOTHING = -1e30
"""The logarithm of a probability of 0: it is finite, so that derivatives are."""


@in_order
def ctc(logarithms: TensorLike, targets: TensorLike, lengths: TensorLike | None = None,
        target_lengths: TensorLike | None = None, blank: int = 0, zero_infinity: bool = False,
        reduction: str = "mean") -> Tensor:
    """Returns the negative log likelihood of ``targets``, over all ways to spread them over the steps of
    ``logarithms``.

    ``logarithms`` of the probabilities of classes are (T, N, classes), in any order where they have names T and N;
    ``targets`` are class numbers (N, S), in any order where they have the name N, none of them ``blank``. ``lengths``
    and ``target_lengths``, over N, say how many steps and labels of each sample count (absent: all). More than there
    are, or fewer than none, is an IndexError of the run, as is a label that counts and is no class. A target that its
    steps cannot spell has an infinite loss, or with ``zero_infinity`` 0. The reduction "mean" first divides each loss
    by its number of labels, as PyTorch does.

    >>> nv.nn.losses.ctc(nv.log_softmax(nv.zeros((1, 1, 2)), axis=2), [[1, 1]]).item()
    inf
    """
    own = _in_order(as_floats(logarithms, "ctc"))
    dtype = own.dtype
    steps, batch, classes = own.type.shape
    labels = _integers(targets, "targets", 2, batch, "(N, S)")
    empty = integer(blank, "ctc", "blank")
    if not isinstance(classes, int) or not 0 <= empty < classes:
        raise InvalidArgument("blank is a class", op="ctc", operand="blank", got=blank,
                              expected=f"0 to {classes} - 1", help="0 is usual")
    longest = labels.type.shape[1]
    counted = _counts(lengths, "lengths", 3, batch, steps)
    spelled = _counts(target_lengths, "target_lengths", 4, batch, longest)
    if target_lengths is not None:  # what does not count may be any number
        labels = where(less(iota(longest), expand_dims(spelled, 1)), labels, empty)
    labels = within(labels, classes)
    chances = _chances(convert(own, dtype.compute), labels, empty, counted)
    end = multiply(spelled, 2)
    last = gather_elements(chances, expand_dims(end, 1), 1)
    ahead = gather_elements(chances, expand_dims(maximum(subtract(end, 1), 0), 1), 1)
    ahead = where(greater(expand_dims(spelled, 1), 0), ahead, NOTHING)
    losses = reshape(negative(_log_of_sum([last, ahead])), (batch,))
    is_possible = less(losses, -0.5 * NOTHING)
    losses = where(is_possible, losses, 0.0 if truth(zero_infinity, "ctc", "zero_infinity") else np.inf)
    if reduction == "mean":
        losses = losses / convert(maximum(spelled, 1), losses.dtype)
    return reduced(losses, reduction, dtype, "ctc")


def _chances(logarithms: Tensor, labels: Tensor, empty: int, counted: Tensor) -> Tensor:
    """Returns the logarithms of the chances of all states after the last of the ``counted`` steps. The states of a
    sample are its labels, with blanks between and around them.
    """
    steps, batch, _ = logarithms.type.shape
    longest = labels.type.shape[1]
    width = 2 * longest + 1
    gap = full((batch, longest), empty, int64)
    states = concatenate([reshape(stack([gap, labels], axis=2), (batch, 2 * longest)),
                          full((batch, 1), empty, int64)], 1)
    emitted = gather_elements(logarithms, broadcast(expand_dims(states, 0), (steps, batch, width)), 2)
    may_skip = not_equal(states, empty) & not_equal(states, _shifted(states, 2, empty))
    place = iota(width)
    start = where(less(place, 1), 0.0, full((batch, width), NOTHING, logarithms.dtype))

    def advanced(chances: Tensor, slices: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[()]]:
        chance, number = slices
        one, two = _shifted(chances, 1), where(may_skip, _shifted(chances, 2), NOTHING)
        is_start = less(number, 1)  # a spelling begins in one of the first two states
        moved = where(is_start, where(less(place, 2), 0.0, NOTHING), _log_of_sum([chances, one, two]))
        is_there = expand_dims(greater(counted, number), 1)
        return where(is_there, maximum(add(moved, chance), NOTHING), chances), ()
    chances, _ = scan(advanced, start, (emitted, iota(steps)))
    return chances


def _in_order(x: Tensor) -> Tensor:
    """Returns logarithms as (T, N, classes), without names."""
    if x.ndim != 3:
        raise ShapeMismatch("logarithms are (T, N, classes)", op="ctc", operand="logarithms", got=str(x.axes),
                            expected="three axes", help="one sample is a batch of one")
    if not x.is_named:
        return x
    rest = [axis for axis in x.axes if axis.name not in ("T", "N")]
    if len(rest) != 1:
        raise ShapeMismatch("the steps are T, the samples N", op="ctc", operand="logarithms", got=str(x.axes),
                            expected="axes T, N, and one of classes", help="nv.map_roles(x, {old: new}) renames axes")
    return Tensor(axes_with_order(x, ["T", "N", rest[0]]).value)


def _integers(x: TensorLike, operand: str, position: int, batch: DimLike, axes: str) -> Tensor:
    """Returns integers of each sample as (N), or as (N, S), without names."""
    own = read_integers(x, "ctc", position)
    if not own.dtype.is_integer:
        raise WrongKind(f"{operand} are integers", op="ctc", operand=operand, got=str(own.type), expected="integers",
                        help="convert them: x.astype(nv.int64)")
    rest = [axis for axis in own.axes if axis.name != "N"]
    if own.ndim != 1 + axes.count(",") or own.is_named and len(rest) != own.ndim - 1:
        raise ShapeMismatch(f"{operand} are {axes}", op="ctc", operand=operand, got=str(own.axes), expected=axes,
                            help="pad shorter targets, and say how many labels count: target_lengths=")
    if own.is_named:
        own = axes_with_order(own, ["N", *rest])
    if equal(own.type.shape[0], batch) is False:
        raise ShapeMismatch(f"{operand} are of other samples", op="ctc", operand=operand,
                            got=f"{own.type.shape[0]} samples", expected=f"{batch}, as the logarithms have",
                            help="targets are (N, S), where the logarithms are (T, N, classes)")
    return convert(Tensor(assume_shape(own.value, (batch, *own.type.shape[1:]), "ctc")), int64)


def _counts(x: TensorLike | None, operand: str, position: int, batch: DimLike, most: DimLike) -> Tensor:
    """Returns how much of each sample counts; one below 0, or above ``most``, is an IndexOutOfRange of the run."""
    if x is None:
        return multiply(full((batch,), 1, int64), most)
    return within(_integers(x, operand, position, batch, "(N)"), most + 1)


def _shifted(x: Tensor, by: int, number: float = NOTHING) -> Tensor:
    """Returns the elements ``by`` places before those of each row; before the first there is ``number``."""
    rows, width = x.type.shape
    return concatenate([full((rows, by), number, x.dtype), x], 1)[:, :width]


def _log_of_sum(terms: list[Tensor]) -> Tensor:
    most = terms[0]
    for term in terms[1:]:
        most = maximum(most, term)
    return add(most, log(sum_over(stack([exp(subtract(term, most)) for term in terms], axis=0), axis=0)))


__all__ = ["ctc"]

explain_keywords(globals(), __all__)
