"""Sliding layers: convolutions and poolings over one to three axes.

>>> import nervure as nv
>>> from nervure import nn
>>> images = nv.placeholder("N=n, C=3, H=32, W=32")
>>> model = nn.Sequential(nn.Conv("C=3", "C=16", "H=3, W=3", padding="same"), nv.relu, nn.MaxPool("H=2, W=2"))
>>> print(model(images).axes)
(N: n, C: 16, H: 16, W: 16)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer, truth
from nervure.front.creation import AssignableTensorOp, as_tensor, placeholder
from nervure.front.images.convolution import convolution
from nervure.front.images.pooling import pooling
from nervure.front.images.windows import window_settings
from nervure.front.op_functions import add
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module
from nervure.nn.parameters import (
    Initial,
    check_both_named,
    check_input,
    check_length,
    count,
    evenly,
    for_channels,
    layer_axes,
    names_of,
    one_axis,
    optional,
    parameter,
)
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.axis import Axis
from nervure.types.dtype import DTypeLike


class Conv(Module):
    """A filter that slides along the axes of its window, plus a bias.

    Named axes: ``Conv("C=3", "K=64", "H=5, W=5")`` has weights over (C, H, W, K) and a bias over K; an axis that is
    input and output, as in ``Conv("C=3", "C=64", ...)``, is one level lower among the inputs of the weights. Plain
    lengths: ``Conv(3, 64, (5, 5))`` has weights of shape (64, 3, 5, 5), for x (N, C, H, W). ``strides``, ``dilations``
    and ``padding`` are those of ``nv.convolution``; with ``groups`` the weights have inputs / groups inputs.

    >>> layer = nv.nn.Conv(1, 1, 3, padding=1, weights=1.0, bias=False)
    >>> layer(np.ones((1, 1, 4))).tolist()
    [[[2.0, 3.0, 3.0, 2.0]]]
    """

    weights: AssignableTensorOp
    bias: AssignableTensorOp | None

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, window: AxesLike, strides: object = 1,
                 dilations: object = 1, padding: object = 0, groups: int = 1, bias: Initial = True,
                 weights: Initial = None, dtype: DTypeLike | None = None) -> None:
        into, out = one_axis(inputs, "Conv", "inputs"), one_axis(outputs, "Conv", "outputs")
        windows = layer_axes(window, "Conv", "window")
        check_both_named("Conv", inputs=Axes([into]), outputs=Axes([out]), window=windows)
        if len(windows) > 3:
            raise InvalidArgument("a window has one to three axes", op="Conv", operand="window", got=str(windows),
                                  expected='"H=3, W=3", or (3, 3)', help="slide along fewer axes")
        check_motion("Conv", windows, True, stride=strides, dilation=dilations, padding=padding)
        self.groups = integer(groups, "Conv", "groups", least=1)
        axes, places = _filter(of_a_group(into, out, self.groups, "Conv"), windows, out)
        start = evenly(count([*windows, into]) // self.groups)
        outer = [0 if into.is_anonymous else len(axes) - 1]
        self.weights = parameter(axes, start if weights is None else weights, outer, places, dtype)
        self.bias = optional(Axes([out]), bias, start, dtype)
        self.strides, self.dilations, self.padding = strides, dilations, padding
        self._spatial = None if windows.is_anonymous else names_of(list(windows))

    def forward(self, x: TensorLike) -> Tensor:
        """Maps (N, inputs, places) to (N, outputs, places); named axes may be in any order."""
        own = as_tensor(x, "Conv")
        check_input("Conv", own, self.weights)
        if own.ndim == self.weights.ndim and not self.weights.is_named:
            channels = count([self.weights.axes[1]]) * self.groups
            check_length("Conv", own, 1, channels, f"(N, {channels}, ...)")
        result = convolution(own, self.weights, self._spatial, self.strides, self.dilations, self.padding, self.groups)
        return result if self.bias is None else add(result, for_channels(self.bias, result))


def of_a_group(into: Axis, out: Axis, groups: int, op: str) -> Axis:
    """Returns the inputs of one group; InvalidArgument of ``op`` if groups do not divide inputs and outputs."""
    inputs, outputs = count([into]), count([out])
    if inputs % groups or outputs % groups:
        raise InvalidArgument("groups divide the inputs and the outputs", op=op, operand="groups", got=groups,
                              expected=f"a divisor of {inputs} and {outputs}",
                              help="groups=inputs makes a depthwise convolution")
    return into if groups == 1 else into.resized(inputs // groups)


def _filter(into: Axis, windows: Axes, out: Axis) -> tuple[Axes, list[int]]:
    """Returns the axes of the weights, and the positions of the window among them."""
    if into.is_anonymous:
        return Axes([out, into, *windows]), list(range(2, 2 + len(windows)))
    own = into.offset(-1) if into.axis_class == out.axis_class else into
    return Axes([own, *windows, out]), list(range(1, 1 + len(windows)))


def check_motion(op: str, window: Axes, has_all: bool, **settings: object) -> None:
    """Checks the settings of a window when a layer is made, with the errors that its first input would raise. Only the
    input knows the axes that a dict names, and their number if the window does not have them all.
    """
    for axis in window:
        integer(axis.length, op, "window", help="a window of 1 leaves an axis as it is", least=1)
    others = 2 if window.is_anonymous else 0
    x = placeholder((*[1] * others, *window))
    for name, value in settings.items():
        for entry in _entries(value, has_all, others):
            given = {"stride": 1, "dilation": 1, "padding": 0, name: entry}
            window_settings(op, x, range(others, x.ndim), None, **given)


def _entries(value: object, has_all: bool, at: int) -> list[object]:
    """Returns a setting, or its entries, each as if it were given for one axis."""
    if isinstance(value, Mapping):
        return [{at: entry} for entry in value.values()]
    return [value] if has_all or not isinstance(value, (list, tuple)) else [{at: entry} for entry in value]


class _Pool(Module):
    """Windows that are reduced: over named axes, ``"H=2, W=2"``, or over all axes from the third on, by one length or
    a list of them.
    """

    kind: ClassVar[str] = "max"

    @explains_keywords
    def __init__(self, window: AxesLike, strides: object = None, padding: object = 0) -> None:
        own = layer_axes(window, type(self).__name__, "window")
        has_all = len(own) > 1 or not own.is_anonymous
        check_motion(type(self).__name__, own, has_all, stride=1 if strides is None else strides, padding=padding)
        self.window: object = list(own.lengths) if len(own) > 1 else own.lengths[0]
        if not own.is_anonymous:
            self.window = dict(zip(names_of(list(own)), own.lengths, strict=True))
        self.strides, self.padding = strides, padding

    def _pooled(self, x: TensorLike, count_padding: bool = False) -> Tensor:
        return pooling(x, self.kind, self.window, self.strides, self.padding, count_padding)


class MaxPool(_Pool):
    """The largest element of each ``window``. ``strides`` (absent: the window) and ``padding`` are those of
    ``nv.pooling``.

    >>> nv.nn.MaxPool("W=2")(nv.constant([[1, 3, 2, 5]], "N=1, W=4")).tolist(), nv.nn.MaxPool(2)([[[1, 3]]]).tolist()
    ([[3.0, 5.0]], [[[3.0]]])
    """

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with fewer places."""
        return self._pooled(x)

    def with_index(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        """Returns x with fewer places, and the positions of the largest elements, for ``nv.nn.MaxUnpool``.

        >>> [entry.tolist() for entry in nv.nn.MaxPool(2).with_index([[[1, 3, 5, 2]]])]
        [[[[3.0, 5.0]]], [[[1, 2]]]]
        """
        return pooling(x, "max", self.window, self.strides, self.padding, return_index=True)


class AveragePool(_Pool):
    """The mean of each window, without the padding unless ``count_padding``; all else is as in ``MaxPool``.

    >>> nv.nn.AveragePool("W=2")(nv.constant([[1, 3, 2, 5]], "N=1, W=4")).tolist()
    [[2.0, 3.5]]
    """

    kind = "avg"

    @explains_keywords
    def __init__(self, window: AxesLike, strides: object = None, padding: object = 0,
                 count_padding: bool = False) -> None:
        super().__init__(window, strides, padding)
        self.count_padding = truth(count_padding, "AveragePool", "count_padding")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x with fewer places."""
        return self._pooled(x, count_padding=self.count_padding)
