"""Picks: classes by their chances, elements of a tensor, orders.

>>> import nervure as nv
>>> sorted(nv.random.permutation(5).tolist())
[0, 1, 2, 3, 4]
"""

from __future__ import annotations

import numpy as np

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer, position_of, truth
from nervure.front.arranging.filled import full, iota
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.views import broadcast
from nervure.front.creation import as_tensor, read_axes
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import add, log, negative
from nervure.front.pointwise.elementwise import as_floats
from nervure.front.statistics.reductions import argmax
from nervure.front.statistics.sorts import argsort
from nervure.front.tensor import Tensor, TensorLike
from nervure.random.continuous import gumbel
from nervure.random.counts import randint
from nervure.random.numbers import check_chances, words
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dim import Dim, equal
from nervure.types.dtype import int64


def categorical(logits: TensorLike, axis: AxisLike = -1, axes: AxesLike = ()) -> Tensor:
    """Draws class numbers, int64, whose chances are the softmax of ``logits`` along ``axis``.

    The result has the other axes of the logits, behind ``axes``, which draw again and again. It is the position of the
    largest sum of a logit and Gumbel noise.

    >>> nv.random.categorical([[0.0, -1e9], [-1e9, 0.0]], axes=(3,)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    own = as_floats(logits, "categorical")
    at = position_of(own, axis, "categorical")
    given = read_axes(axes)
    wide = Axes([*given, *own.axes]) if len(given) else own.axes
    spread = broadcast(own, wide) if len(given) else own
    return argmax(add(spread, gumbel(wide if own.is_named or len(given) else own, dtype=own.dtype.compute)),
                  axis=at + len(given))


def permutation(x: TensorLike | int, axis: AxisLike = 0) -> Tensor:
    """Returns the elements of x along ``axis`` in random order, rows as they are; of an int n, the numbers 0 to n - 1.

    The order is that of 64 random bits for each position.

    >>> sorted(nv.random.permutation([3.0, 1.0, 2.0]).tolist())
    [1.0, 2.0, 3.0]
    """
    own = _elements(x, "permutation")
    at = position_of(own, axis, "permutation")
    return _kept(own, at, gather(Tensor(own.value), _order(own, at), at))


@in_order
def choice(x: TensorLike | int, axes: AxesLike = (), replace: bool = True, p: TensorLike | None = None,
           axis: AxisLike = 0) -> Tensor:
    """Draws elements of x along ``axis``, or numbers below an int, over ``axes``, which take the place of that axis.

    ``p`` has a chance for each element (absent: all alike). Without ``replace`` no element is drawn twice, and axes are
    no more than there are elements.

    >>> nv.random.choice([5.0, 7.0], (3,), p=[0.0, 1.0]).tolist()
    [7.0, 7.0, 7.0]
    """
    own = _elements(x, "choice")
    at, given = position_of(own, axis, "choice"), read_axes(axes)
    length = own.type.shape[at]
    if length == 0 and given.size != 0:
        raise InvalidArgument("there is no element to draw", op="choice", operand="x", got=str(own.axes),
                              expected="at least one element along the axis", help="axes of no elements draw none")
    chances = None if p is None else as_floats(p, "choice")
    if chances is not None:
        check_chances(chances, length, "choice")
    logits = None if chances is None else log(chances)
    if not truth(replace, "choice", "replace"):
        index = _without(given, own, at, logits)
    elif length == 0:
        index = full(given, 0, int64)
    elif logits is None:
        index = randint(given, 0, integer(length, "choice", "x", "a length that is a number"))
    else:
        index = categorical(logits, axes=given)
    found = gather(Tensor(own.value), Tensor(index.value), at)
    if given.is_anonymous and not own.is_named or given.is_anonymous and len(given):
        return found
    return Tensor(found.value, Axes([*own.axes[:at], *given, *own.axes[at + 1:]]))


def _elements(x: TensorLike | int, op: str) -> Tensor:
    """Returns the elements of an argument; an int stands for the numbers below it."""
    if isinstance(x, (int, np.integer, Dim)) and not isinstance(x, bool):
        return iota(int(x) if isinstance(x, np.integer) else x)
    return as_tensor(x, op)


def _without(axes: Axes, x: Tensor, at: int, logits: Tensor | None) -> Tensor:
    """Returns positions, none of them twice: the first of a random order, or those of the largest noisy logits."""
    length, number = x.type.shape[at], axes.size
    if isinstance(length, int) and isinstance(number, int) and number > length:
        raise InvalidArgument("there are fewer elements than are drawn", op="choice", operand="axes", got=str(axes),
                              expected=f"{length} elements at most", help="replace=True draws elements again")
    order = _order(x, at) if logits is None else argsort(negative(add(logits, gumbel(logits, dtype=logits.dtype))))
    return order[:number].reshape(axes.lengths)


def _order(x: Tensor, at: int) -> Tensor:
    """Returns a random order of the positions of one axis."""
    return argsort(words((x.type.shape[at],)), 0)


def _kept(x: Tensor, at: int, found: Tensor) -> Tensor:
    assert equal(x.type.shape[at], found.type.shape[at]) is not False
    return Tensor(found.value, x._axes)


__all__ = ["categorical", "choice", "permutation"]

explain_keywords(globals(), __all__)
