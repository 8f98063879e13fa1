"""The transpose of a convolution as a layer: it makes images larger, with weights.

>>> import nervure as nv
>>> layer = nv.nn.ConvTranspose("C=16", "K=3", "H=2, W=2", strides=2)
>>> print(layer(nv.placeholder("N=n, C=16, H=8, W=8")).axes)
(N: n, K: 3, H: 16, W: 16)
"""

from __future__ import annotations

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.images.convolution import deconvolution
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
from nervure.nn.sliding import check_motion, of_a_group
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.dtype import DTypeLike


class ConvTranspose(Module):
    """The transpose of a ``Conv``, plus a bias: each element of x adds a multiple of a filter to its window.

    Named axes: ``ConvTranspose("C=16", "K=3", "H=2, W=2")`` has weights over (C, H, W, K); an axis that is input and
    output is one level lower among the inputs. Plain lengths: ``ConvTranspose(16, 3, (2, 2))`` has weights of shape
    (16, 3, 2, 2). All settings are those of ``nv.deconvolution``; with ``groups`` the weights have outputs / groups
    outputs. ``output_padding`` is added at the end.

    >>> layer = nv.nn.ConvTranspose(1, 1, 2, strides=2, weights=1.0, bias=False)
    >>> layer([[[1.0, 2.0]]]).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    weights: AssignableTensorOp
    bias: AssignableTensorOp | None

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, window: AxesLike, strides: object = 1,
                 dilations: object = 1, padding: object = 0, output_padding: object = 0, groups: int = 1,
                 bias: Initial = True, weights: Initial = None, dtype: DTypeLike | None = None) -> None:
        op = "ConvTranspose"
        into, out = one_axis(inputs, op, "inputs"), one_axis(outputs, op, "outputs")
        windows = layer_axes(window, op, "window")
        check_both_named(op, inputs=Axes([into]), outputs=Axes([out]), window=windows)
        if len(windows) > 3:
            raise InvalidArgument("a window has one to three axes", op=op, operand="window", got=str(windows),
                                  expected='"H=3, W=3", or (3, 3)', help="slide along fewer axes")
        check_motion(op, windows, True, stride=strides, dilation=dilations, padding=padding)
        self.groups = integer(groups, op, "groups", least=1)
        of_a_group(into, out, self.groups, op)
        part = out if self.groups == 1 else out.resized(count([out]) // self.groups)
        own = into.offset(-1) if into.axis_class == out.axis_class and not into.is_anonymous else into
        axes = Axes([own, part, *windows] if into.is_anonymous else [own, *windows, part])
        outer = 1 if into.is_anonymous else len(axes) - 1
        places = [at for at in range(1, len(axes)) if at != outer]
        start = evenly(count([*windows, part]))
        self.weights = parameter(axes, start if weights is None else weights, [outer], places, dtype)
        self.bias = optional(Axes([out]), bias, start, dtype)
        self.strides, self.dilations, self.padding = strides, dilations, padding
        self.output_padding = output_padding
        self._spatial = None if windows.is_anonymous else names_of(list(windows))

    def forward(self, x: TensorLike) -> Tensor:
        """Maps (N, inputs, places) to (N, outputs, more places); named axes may be in any order."""
        own = as_tensor(x, "ConvTranspose")
        check_input("ConvTranspose", own, self.weights)
        if own.ndim == self.weights.ndim and not self.weights.is_named:
            channels = count([self.weights.axes[0]])
            check_length("ConvTranspose", own, 1, channels, f"(N, {channels}, ...)")
        result = deconvolution(own, self.weights, self._spatial, self.strides, self.dilations, self.padding,
                               self.groups, output_padding=self.output_padding)
        return result if self.bias is None else add(result, for_channels(self.bias, result))
