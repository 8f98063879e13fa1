"""Activations as modules: functions of each element, and softmax.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 2), nv.nn.GELU())
>>> model[1]
GELU(approximate=False)

A function itself may stand in a sequence, too: ``nv.nn.Sequential(..., nv.relu)``.
"""

from __future__ import annotations

from nervure.errors import ShapeMismatch
from nervure.front import op_functions
from nervure.front.arranging.views import reshape
from nervure.front.creation import AssignableTensorOp, as_tensor, expression
from nervure.front.networks import normalization
from nervure.front.pointwise import elementwise
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.nn.module import Module
from nervure.nn.parameters import Initial, layer_axes, parameter
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import AxesLike
from nervure.types.dim import equal


class Identity(Module):
    """The identity: returns x itself.

    >>> nv.nn.Identity()(nv.constant([1, 2])).tolist()
    [1.0, 2.0]
    """

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x itself."""
        return expression(as_tensor(x, "Identity"))


class ReLU(Module):
    """The larger of x and 0.

    >>> nv.nn.ReLU()(nv.constant([-1, 2])).tolist()
    [0.0, 2.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.relu``."""
        return op_functions.relu(x)


class LeakyReLU(Module):
    """x where it is positive, else ``slope * x``.

    >>> nv.nn.LeakyReLU(0.5)(nv.constant([-1, 2])).tolist()
    [-0.5, 2.0]
    """

    slope: float = 0.01

    def forward(self, x: Operand) -> Tensor:
        """``nv.leaky_relu``."""
        return elementwise.leaky_relu(x, self.slope)


class PReLU(Module):
    """x where it is positive, else x times a learnt slope: a single one, or one for each element of some axes.

    ``axes`` are those of the slope: ``"C=64"``, or 64 for the second axis of x without names.

    >>> nv.nn.PReLU()(nv.constant([-1, 2])).tolist(), nv.nn.PReLU("C=3")
    ([-0.25, 2.0], PReLU(slope=f32[C=3]))
    """

    slope: AssignableTensorOp

    @explains_keywords
    def __init__(self, axes: AxesLike | None = None, slope: Initial = 0.25) -> None:
        self.slope = parameter(() if axes is None else layer_axes(axes, "PReLU", "axes"), slope)

    def forward(self, x: Operand) -> Tensor:
        """``nv.prelu``."""
        own = as_tensor(x, "PReLU")
        is_of_channels = not self.slope.is_named and self.slope.ndim == 1 and own.ndim > 2
        slope = reshape(self.slope, (-1, *[1] * (own.ndim - 2))) if is_of_channels else self.slope
        result = elementwise.prelu(own, slope)
        pairs = zip(result.type.shape, own.type.shape, strict=False)
        if result.ndim != own.ndim or any([equal(*lengths) is False for lengths in pairs]):
            raise ShapeMismatch("there are slopes for more elements than x has", op="PReLU", operand="x",
                                got=str(own.axes), expected=str(self.slope.axes),
                                help="make the layer with axes of its input")
        return result


class ELU(Module):
    """x where it is positive, else ``alpha * (exp(x) - 1)``.

    >>> nv.nn.ELU()(nv.constant([0, 2])).tolist()
    [0.0, 2.0]
    """

    alpha: float = 1.0

    def forward(self, x: Operand) -> Tensor:
        """``nv.elu``."""
        return elementwise.elu(x, self.alpha)


class GELU(Module):
    """x times the normal distribution's cumulative function at x; ``approximate="tanh"`` is the usual formula with
    tanh.

    >>> print(nv.nn.GELU()(nv.constant([0, 1])).numpy().round(4))
    [0.     0.8413]
    """

    approximate: str | bool = False

    def forward(self, x: Operand) -> Tensor:
        """``nv.gelu``."""
        return elementwise.gelu(x, self.approximate)


class SiLU(Module):
    """x times its sigmoid.

    >>> nv.nn.SiLU()(nv.constant([0.0])).tolist()
    [0.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.silu``."""
        return op_functions.silu(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> nv.nn.Sigmoid()(nv.constant([0.0])).tolist()
    [0.5]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.sigmoid``."""
        return op_functions.sigmoid(x)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> nv.nn.Tanh()(nv.constant([0.0])).tolist()
    [0.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.tanh``."""
        return op_functions.tanh(x)


class Softplus(Module):
    """log(1 + exp(x)).

    >>> print(nv.nn.Softplus()(nv.constant([0.0])).numpy().round(4))
    [0.6931]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.softplus``."""
        return op_functions.softplus(x)


class Softmax(Module):
    """exp(x) over its sum along ``axes`` (absent: all but N and REC).

    >>> nv.nn.Softmax(-1)(nv.constant([[0, 0]])).tolist()
    [[0.5, 0.5]]
    """

    axes: AxesLike | None = None

    def forward(self, x: Operand) -> Tensor:
        """``nv.softmax``."""
        return normalization.softmax(x, self.axes)


class LogSoftmax(Module):
    """The logarithm of the softmax along ``axes`` (absent: all but N and REC).

    >>> print(nv.nn.LogSoftmax(-1)(nv.constant([[0, 0]])).numpy().round(4))
    [[-0.6931 -0.6931]]
    """

    axes: AxesLike | None = None

    def forward(self, x: Operand) -> Tensor:
        """``nv.log_softmax``."""
        return normalization.log_softmax(x, self.axes)
