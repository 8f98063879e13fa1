"""Dropout of whole channels, and dropout that keeps mean and variance.

>>> import nervure as nv
>>> nv.seed(0)
>>> x = nv.nn.ChannelDropout(0.5)(nv.ones((4, 8, 3))).numpy()
>>> bool((x.min(axis=2) == x.max(axis=2)).all()), sorted(set(x.ravel().tolist()))
(True, [0.0, 2.0])
"""

from __future__ import annotations

import math

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import fraction, position_of
from nervure.front.creation import expression
from nervure.front.elementwise import as_floats, where
from nervure.front.filled import ones
from nervure.front.op_functions import add, multiply
from nervure.front.random import bernoulli, dropout
from nervure.front.tensor import Tensor, TensorLike
from nervure.front.views import reshape
from nervure.nn.module import Module
from nervure.types.axes import Axes, AxisLike

HELP = "0.5 drops every other one"

SATURATION = -1.7580993408473766
"""The limit of SELU for small numbers, ``-scale * alpha`` (Klambauer et al. 2017)."""


class ChannelDropout(Module):
    """In training, sets each channel of each sample to 0 with probability ``rate``, and divides the others by ``1 -
    rate`` (Tompson et al. 2015).

    ``channels`` is their axis; the axes N and REC, or the first axis of x without names, distinguish samples. In
    evaluation it returns x. It is PyTorch's Dropout1d, Dropout2d and Dropout3d.

    >>> nv.nn.ChannelDropout(0.5).eval()([[[1.0]]]).tolist()
    [[[1.0]]]
    """

    rate: float = 0.5
    channels: AxisLike = 1

    def __post_init__(self) -> None:
        fraction(self.rate, "ChannelDropout", "rate", HELP)

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x, or in training x with channels dropped."""
        own = as_floats(x, "ChannelDropout")
        if not self.training:
            return expression(own)
        at = position_of(own, self.channels, "ChannelDropout")
        kept = [place for place, axis in enumerate(own.axes)
                if place == at or (axis.is_batch or axis.is_recurrent if own.is_named else place == 0)]
        if own.is_named:
            return multiply(own, dropout(_ones(own, kept), self.rate))
        lengths = [length if place in kept else 1 for place, length in enumerate(own.type.shape)]
        return multiply(own, reshape(dropout(_ones(own, kept), self.rate), lengths))


class AlphaDropout(Module):
    """In training, sets elements to SELU's lower limit with probability ``rate``, then scales all so that mean 0 and
    variance 1 stay (Klambauer et al. 2017).

    In evaluation it returns x.

    >>> nv.nn.AlphaDropout(0.5).eval()([1.0]).tolist(), len(set(nv.nn.AlphaDropout(0.5)(nv.ones((100,))).tolist()))
    ([1.0], 2)
    """

    rate: float = 0.5

    def __post_init__(self) -> None:
        if fraction(self.rate, "AlphaDropout", "rate", HELP) == 1:
            raise InvalidArgument("a share of the elements stays", op="AlphaDropout", operand="rate", got=self.rate,
                                  expected="less than 1", help="0.05 is usual")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x, or in training x with elements at the limit."""
        own = as_floats(x, "AlphaDropout")
        if not self.training or self.rate == 0:
            return expression(own)
        stays = 1 - self.rate
        scale = 1 / math.sqrt(stays * (1 + self.rate * SATURATION**2))
        chosen = where(bernoulli(own, stays), own, SATURATION)
        return add(multiply(chosen, scale), -scale * self.rate * SATURATION)


def _ones(x: Tensor, places: list[int]) -> Tensor:
    """Returns ones over some of the axes of x."""
    axes = Axes([x.axes[place] for place in places]) if x.is_named else [x.type.shape[place] for place in places]
    return ones(axes, x.dtype)


__all__ = ["AlphaDropout", "ChannelDropout"]
