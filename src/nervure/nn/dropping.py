"""Dropout of whole channels, and dropout that keeps mean and variance.

>>> import nervure as nv
>>> nv.seed(0)
>>> x = nv.nn.ChannelDropout(0.5)(nv.ones((4, 8, 3))).numpy()
>>> bool((x.min(axis=2) == x.max(axis=2)).all()), sorted(set(x.ravel().tolist()))
(True, [0.0, 2.0])
"""

from __future__ import annotations

from nervure.front.argument_parsing import fraction
from nervure.front.creation import expression
from nervure.front.networks.noise import alpha_dropout, channel_dropout, share_dropped
from nervure.front.pointwise.elementwise import as_floats
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module
from nervure.types.axes import AxisLike


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
        fraction(self.rate, "ChannelDropout", "rate", "0.5 drops every other one")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x, or in training x with channels dropped."""
        if not self.training:
            return expression(as_floats(x, "ChannelDropout"))
        return channel_dropout(x, self.rate, self.channels)


class AlphaDropout(Module):
    """In training, sets elements to SELU's lower limit with probability ``rate``, then scales all so that mean 0 and
    variance 1 stay (Klambauer et al. 2017).

    With ``channels``, an axis, whole channels of a sample are set: 1 is PyTorch's FeatureAlphaDropout. In evaluation it
    returns x.

    >>> nv.nn.AlphaDropout(0.5).eval()([1.0]).tolist(), len(set(nv.nn.AlphaDropout(0.5)(nv.ones((100,))).tolist()))
    ([1.0], 2)
    """

    rate: float = 0.5
    channels: AxisLike | None = None

    def __post_init__(self) -> None:
        share_dropped(self.rate, "AlphaDropout")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x, or in training x with elements at the limit."""
        if not self.training or self.rate == 0:
            return expression(as_floats(x, "AlphaDropout"))
        return alpha_dropout(x, self.rate, self.channels)
