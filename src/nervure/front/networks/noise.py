"""Noise in training: whole channels that are dropped, dropout that keeps mean and variance, drawn choices.

>>> import nervure as nv
>>> nv.seed(0)
>>> x = nv.channel_dropout(nv.ones((4, 8, 3)), 0.5).numpy()
>>> bool((x.min(axis=2) == x.max(axis=2)).all()), sorted(set(x.ravel().tolist()))
(True, [0.0, 2.0])
"""

from __future__ import annotations

import math

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import fraction, position_of, real, truth
from nervure.front.arranging.filled import iota, ones
from nervure.front.arranging.views import along_axis, reshape
from nervure.front.networks.normalization import softmax
from nervure.front.op_functions import add, divide, equal, log, multiply, negative, subtract
from nervure.front.pointwise.elementwise import as_floats, convert, stop_gradient, where
from nervure.front.random import bernoulli, dropout, uniform
from nervure.front.statistics.reductions import argmax, sample_axes
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike

__all__ = ["alpha_dropout", "channel_dropout", "gumbel_softmax"]

SATURATION = -1.7580993408473766
"""The limit of SELU for small numbers, ``-scale * alpha`` (Klambauer et al. 2017)."""


def channel_dropout(x: TensorLike, rate: float = 0.5, channels: AxisLike = 1) -> Tensor:
    """Sets each channel of each sample of x to 0 with probability ``rate``, and divides the others by ``1 - rate``
    (Tompson et al. 2015).

    ``channels`` is their axis; the axes N and REC, or the first axis of x without names, distinguish samples.

    >>> nv.channel_dropout([[[1.0]]], 0.0).tolist()
    [[[1.0]]]
    """
    own = as_floats(x, "channel_dropout")
    kept = _of_channels(own, channels, "channel_dropout")
    return multiply(own, _spread(dropout(ones(_axes_at(own, kept), own.dtype), rate), own, kept))


def alpha_dropout(x: TensorLike, rate: float = 0.5, channels: AxisLike | None = None) -> Tensor:
    """Sets elements of x to SELU's lower limit with probability ``rate``, then scales all so that mean 0 and variance 1
    stay (Klambauer et al. 2017).

    With ``channels``, an axis, whole channels of a sample are set, as in ``nv.channel_dropout``.

    >>> len(set(nv.alpha_dropout(nv.ones((100,)), 0.5).tolist()))
    2
    """
    own, share = as_floats(x, "alpha_dropout"), share_dropped(rate, "alpha_dropout")
    if share == 0:
        return own
    stays = 1 - share
    scale = 1 / math.sqrt(stays * (1 + share * SATURATION**2))
    places = list(range(own.ndim)) if channels is None else _of_channels(own, channels, "alpha_dropout")
    kept = _spread(bernoulli(_axes_at(own, places), stays), own, places)
    return add(multiply(where(kept, own, SATURATION), scale), -scale * share * SATURATION)


def share_dropped(rate: float, op: str) -> float:
    """Returns the ``rate`` of elements that alpha dropout sets; InvalidArgument if none would stay."""
    share = fraction(rate, op, "rate", "0.05 is usual")
    if share == 1:
        raise InvalidArgument("a share of the elements stays", op=op, operand="rate", got=rate, expected="less than 1",
                              help="0.05 is usual")
    return share


def gumbel_softmax(logits: TensorLike, temperature: float = 1.0, hard: bool = False, axis: AxisLike = -1) -> Tensor:
    """Draws shares of classes that are almost a single one, with derivatives to the ``logits`` (Jang et al. 2017).

    It is the softmax along an ``axis`` of logits plus Gumbel noise, over the ``temperature``: the lower it is, the
    nearer to a drawn class. With ``hard`` the result is 1 for the largest share and 0 for the others, with the
    derivative of the shares.

    >>> drawn = nv.gumbel_softmax(nv.zeros((5, 3)), hard=True)
    >>> nv.sum(drawn, axis=-1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    own, warmth = as_floats(logits, "gumbel_softmax"), real(temperature, "gumbel_softmax", "temperature")
    if not warmth > 0:
        raise InvalidArgument("a temperature is positive", op="gumbel_softmax", operand="temperature", got=temperature,
                              expected="more than 0", help="1.0 is usual")
    at, wide = position_of(own, axis, "gumbel_softmax"), convert(own, own.dtype.compute)
    drawn = uniform(_axes_at(own, list(range(own.ndim))), dtype=wide.dtype)
    # 1 - u is above 0, so that the inner logarithm is finite; where it is 0, the noise is that of the next number.
    rate = negative(log(subtract(1.0, drawn)))
    noise = negative(log(where(equal(rate, 0.0), 2.0**-24 if wide.dtype.itemsize < 8 else 2.0**-53, rate)))
    shares = softmax(divide(add(wide, noise), warmth), axis=at)
    if not truth(hard, "gumbel_softmax", "hard"):
        return convert(shares, own.dtype)
    plain = Tensor(shares.value)
    first = argmax(plain, axis=at, keepdims=True)
    place = along_axis(iota(own.type.shape[at]), at, own.ndim)
    chosen = convert(equal(place, first), wide.dtype)
    return convert(Tensor(add(subtract(chosen, stop_gradient(plain)), plain).value, own._axes), own.dtype)


def _of_channels(x: Tensor, channels: AxisLike, op: str) -> list[int]:
    """Returns the positions of the channels and of what distinguishes samples."""
    return sorted({position_of(x, channels, op), *sample_axes(x)})


def _axes_at(x: Tensor, places: list[int]) -> AxesLike:
    return Axes([x.axes[place] for place in places]) if x.is_named else [x.type.shape[place] for place in places]


def _spread(entries: Tensor, x: Tensor, places: list[int]) -> Tensor:
    """Returns a tensor over some axes of x with lengths of 1 in place of the others, which names do not need."""
    if x.is_named:
        return entries
    return reshape(entries, [length if place in places else 1 for place, length in enumerate(x.type.shape)])


explain_keywords(globals(), __all__)
