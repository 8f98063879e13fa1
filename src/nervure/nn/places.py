"""Layers that change places without weights: padding, resizing, poolings to a number of places, pixels and channels.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.Upsample(2), nv.nn.Pad(1, "reflect"), nv.nn.AdaptiveAveragePool(3))
>>> model(nv.zeros((1, 2, 4, 4))).shape
(1, 2, 3, 3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import as_integer, integer, positions_of
from nervure.front.arranging.views import flatten_at, pad, reshape
from nervure.front.creation import as_tensor
from nervure.front.images import sampling
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module
from nervure.nn.parameters import layer_axes
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dim import Dim, product


class Pad(Module):
    """Adds elements at both ends of axes: of all from the third on, or of those that ``paddings`` maps, ``{"W": 1}``.

    ``paddings`` has an int or a pair (before, after) for all of them, or a list with one for each. ``mode`` and
    ``value`` are those of ``nv.pad``: "constant", "reflect", "edge" (PyTorch's replication), "symmetric" or "wrap"
    (its circular padding).

    >>> nv.nn.Pad(1)([[[1.0, 2.0]]]).tolist(), nv.nn.Pad({"W": (0, 2)}, "edge")(nv.constant([1, 2], "W=2")).tolist()
    ([[[0.0, 1.0, 2.0, 0.0]]], [1.0, 2.0, 2.0, 2.0])
    """

    paddings: object
    mode: str = "constant"
    value: float = 0.0

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with more places."""
        own, given = as_tensor(x, "Pad"), self.paddings
        if not isinstance(given, Mapping):
            if own.is_named:
                raise InvalidArgument("the paddings of named axes are a dict", op="Pad", operand="paddings",
                                      got=f"{given!r:.60}", expected="{axis: padding}",
                                      help='nv.nn.Pad({"H": 1, "W": 1}) pads both')
            given = [0, 0, *given] if isinstance(given, list) else [0, 0, *[given] * (own.ndim - 2)]
        return pad(own, given, mode=self.mode, value=self.value)


class Upsample(Module):
    """Makes axes longer, or shorter, as ``nv.resize``: to ``lengths``, or ``scale`` times as long.

    ``scale`` is an int for all axes from the third on, a list, or a dict from axes, as lengths are; one of both is
    given. ``mode`` is "nearest", "linear" or "cubic", ``align_corners`` as there.

    >>> nv.nn.Upsample(2)([[[1.0, 2.0]]]).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    scale: object = None
    lengths: object = None
    mode: str = "nearest"
    align_corners: bool = False

    def __post_init__(self) -> None:
        if (self.scale is None) == (self.lengths is None):
            raise InvalidArgument("the new lengths, or their multiple, are given", op="Upsample",
                                  got="both" if self.lengths is not None else "neither",
                                  expected="scale= or lengths=", help="nv.nn.Upsample(2) doubles lengths")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with other places."""
        own = as_tensor(x, "Upsample")
        lengths = self.lengths if self.scale is None else self._scaled(own)
        return sampling.resize(own, lengths, self.mode, self.align_corners)

    def _scaled(self, x: Tensor) -> object:
        """Returns the multiples of lengths, in the form in which scales are given."""
        if isinstance(self.scale, Mapping):
            places = positions_of(x, list(self.scale), "Upsample")
            return {at: x.type.shape[at] * integer(scale, "Upsample", "scale", least=1)
                    for at, scale in zip(places, self.scale.values(), strict=True)}
        scales = self.scale if isinstance(self.scale, (list, tuple)) else [self.scale] * (x.ndim - 2)
        if x.is_named or len(scales) != x.ndim - 2:
            return scales  # the function says which are needed
        return [length * integer(scale, "Upsample", "scale", least=1)
                for length, scale in zip(x.type.shape[2:], scales, strict=True)]


class _AdaptivePool(Module):
    """Poolings to a number of places, whatever the lengths of x are."""

    kind: ClassVar[str] = "max"
    lengths: object

    def forward(self, x: TensorLike) -> Tensor:
        """``nv.adaptive_pooling``."""
        return sampling.adaptive_pooling(x, self.kind, self.lengths)


class AdaptiveMaxPool(_AdaptivePool):
    """The largest element of each share, for a given number of places; ``lengths`` are those of
    ``nv.adaptive_pooling``.

    >>> nv.nn.AdaptiveMaxPool(2)([[[1.0, 2.0, 3.0, 4.0]]]).tolist()
    [[[2.0, 4.0]]]
    """


class AdaptiveAveragePool(_AdaptivePool):
    """The mean of each share, for a given number of places; ``lengths`` are those of ``nv.adaptive_pooling``.

    >>> nv.nn.AdaptiveAveragePool({"W": 1})(nv.constant([[1, 3]], "N=1, W=2")).tolist()
    [[2.0]]
    """

    kind = "avg"


class LPPool(Module):
    """The p-norm of each window, as ``nv.lp_pooling`` computes it.

    >>> nv.nn.LPPool(2, 2.0)([[[3.0, 4.0]]]).tolist()
    [[[5.0]]]
    """

    window: object
    p: float = 2.0
    strides: object = None
    padding: object = 0

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with fewer places."""
        return sampling.lp_pooling(x, cast("int | Sequence[int]", self.window), self.p, self.strides, self.padding)


class PixelShuffle(Module):
    """Moves channels to places, ``factor`` times as many along each axis, as ``nv.pixel_shuffle`` does.

    >>> nv.nn.PixelShuffle(2)(nv.zeros((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    factor: int
    channels: AxisLike = -3
    places: AxesLike = (-2, -1)

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with fewer channels and more places."""
        return sampling.pixel_shuffle(x, self.factor, self.channels, self.places)


class PixelUnshuffle(Module):
    """Moves places to channels, as ``nv.pixel_unshuffle`` does.

    >>> nv.nn.PixelUnshuffle(2)(nv.zeros((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    factor: int
    channels: AxisLike = -3
    places: AxesLike = (-2, -1)

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with more channels and fewer places."""
        return sampling.pixel_unshuffle(x, self.factor, self.channels, self.places)


class ChannelShuffle(Module):
    """Mixes the channels of ``groups``, as ``nv.channel_shuffle`` does.

    >>> nv.nn.ChannelShuffle(2)([[1.0, 2.0, 3.0, 4.0]]).tolist()
    [[1.0, 3.0, 2.0, 4.0]]
    """

    groups: int
    channels: AxisLike = 1

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with its channels in another order."""
        return sampling.channel_shuffle(x, self.groups, self.channels)


class Unfold(Module):
    """Windows as columns: ``nv.unfold``.

    >>> nv.nn.Unfold(2)(nv.zeros((1, 3, 4, 4))).shape
    (1, 12, 9)
    """

    window: int | Sequence[int]
    strides: object = 1
    dilations: object = 1
    padding: object = 0

    def forward(self, x: TensorLike) -> Tensor:
        """Maps (N, C, places) to (N, C * elements of a window, windows)."""
        return sampling.unfold(x, self.window, self.strides, self.dilations, self.padding)


class Fold(Module):
    """Columns added at their places: ``nv.fold``.

    >>> nv.nn.Fold([4, 4], 2)(nv.zeros((1, 12, 9))).shape
    (1, 3, 4, 4)
    """

    lengths: Sequence[int]
    window: int | Sequence[int]
    strides: object = 1
    dilations: object = 1
    padding: object = 0

    def forward(self, x: TensorLike) -> Tensor:
        """Maps (N, C * elements of a window, windows) to (N, C, places)."""
        return sampling.fold(x, self.lengths, self.window, self.strides, self.dilations, self.padding)


class Flatten(Module):
    """Joins all axes from position ``start`` on into one; a flattened axis if they have names.

    >>> nv.nn.Flatten()(nv.zeros((2, 3, 4))).shape
    (2, 12)
    """

    start: int = 1

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with fewer axes."""
        own = as_tensor(x, "Flatten")
        at = as_integer(self.start)
        if at is None or not 0 <= at < max(own.ndim, 1):
            raise InvalidArgument("there is no such axis", op="Flatten", operand="start", got=self.start,
                                  expected=f"0 to {max(own.ndim - 1, 0)}", help="1 keeps the axis of the batch")
        if own.is_named:
            return flatten_at(own, at)
        return reshape(own, (*own.type.shape[:at], product(own.type.shape[at:])))


class Unflatten(Module):
    """Takes one ``axis`` apart into several ``axes``, whose lengths have its length as their product.

    >>> nv.nn.Unflatten(1, (3, 4))(nv.zeros((2, 12))).shape
    (2, 3, 4)
    >>> print(nv.nn.Unflatten("F", "C=3, W=4")(nv.zeros("N=2, F=12")).axes)
    (N: 2, C: 3, W: 4)
    """

    axis: AxisLike
    axes: AxesLike

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with more axes."""
        own, parts = as_tensor(x, "Unflatten"), layer_axes(self.axes, "Unflatten", "axes")
        (at,) = positions_of(own, [self.axis], "Unflatten")
        length, whole = own.type.shape[at], product(parts.lengths)
        if not isinstance(length, Dim) and length != whole or own.is_named == parts.is_anonymous:
            raise InvalidArgument("the axes do not divide the axis", op="Unflatten", operand="axes", got=str(parts),
                                  expected=f"axes {'with' if own.is_named else 'without'} names, of {length} elements",
                                  help="the product of their lengths is the length of the axis")
        return reshape(own, Axes([*own.axes[:at], *parts, *own.axes[at + 1:]]) if own.is_named else (
            *own.type.shape[:at], *parts.lengths, *own.type.shape[at + 1:]))
