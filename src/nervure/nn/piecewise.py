"""Activations in pieces, and gates, as modules.

>>> import nervure as nv
>>> nv.nn.Sequential(nv.nn.LinearLayer(2, 4), nv.nn.GLU(), nv.nn.Hardtanh())[2]
Hardtanh(low=-1.0, high=1.0)
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.front import op_functions
from nervure.front.networks import nonlinearities
from nervure.front.pointwise import elementwise
from nervure.front.tensor import Operand, Tensor
from nervure.nn.module import Module
from nervure.types.axes import AxesLike, AxisLike


class CELU(Module):
    """x where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    >>> nv.nn.CELU()(nv.constant([0, 2])).tolist()
    [0.0, 2.0]
    """

    alpha: float = 1.0

    def forward(self, x: Operand) -> Tensor:
        """``nv.celu``."""
        return nonlinearities.celu(x, self.alpha)


class SELU(Module):
    """x times 1.0507 where it is positive, else ``1.7581 * (exp(x) - 1)`` (Klambauer et al. 2017).

    >>> print(nv.nn.SELU()(nv.constant([0, 2])).numpy().round(4))
    [0.     2.1014]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.selu``."""
        return op_functions.selu(x)


class ReLU6(Module):
    """x limited to the interval from 0 to 6.

    >>> nv.nn.ReLU6()(nv.constant([-1, 9])).tolist()
    [0.0, 6.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.relu6``."""
        return nonlinearities.relu6(x)


class RReLU(Module):
    """x where it is not negative, else x times a slope: drawn from ``low`` to ``high`` in training, their mean in
    evaluation.

    >>> nv.nn.RReLU(0.25, 0.75).eval()(nv.constant([-1, 2])).tolist()
    [-0.5, 2.0]
    """

    low: float = 1 / 8
    high: float = 1 / 3

    def forward(self, x: Operand) -> Tensor:
        """``nv.rrelu`` in training, else ``nv.leaky_relu``."""
        if self.training:
            return nonlinearities.rrelu(x, self.low, self.high)
        return elementwise.leaky_relu(x, (self.low + self.high) / 2)


class Hardtanh(Module):
    """x limited to the interval from ``low`` to ``high``.

    >>> nv.nn.Hardtanh()(nv.constant([-3, 0.5])).tolist()
    [-1.0, 0.5]
    """

    low: float = -1.0
    high: float = 1.0

    def forward(self, x: Operand) -> Tensor:
        """``nv.hard_tanh``."""
        return nonlinearities.hard_tanh(x, self.low, self.high)


class Hardsigmoid(Module):
    """``x / 6 + 0.5``, limited to the interval from 0 to 1.

    >>> nv.nn.Hardsigmoid()(nv.constant([-3, 0])).tolist()
    [0.0, 0.5]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.hard_sigmoid``."""
        return op_functions.hard_sigmoid(x)


class Hardswish(Module):
    """x times its hard sigmoid (Howard et al. 2019).

    >>> nv.nn.Hardswish()(nv.constant([0, 3])).tolist()
    [0.0, 3.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.hard_swish``."""
        return op_functions.hard_swish(x)


class Hardshrink(Module):
    """x where it is above ``bound`` or below ``-bound``, else 0.

    >>> nv.nn.Hardshrink()(nv.constant([-1, 0.25])).tolist()
    [-1.0, 0.0]
    """

    bound: float = 0.5

    def forward(self, x: Operand) -> Tensor:
        """``nv.hard_shrink``."""
        return nonlinearities.hard_shrink(x, self.bound)


class Softshrink(Module):
    """x moved towards 0 by ``bound``; what is nearer becomes 0.

    >>> nv.nn.Softshrink()(nv.constant([-1, 0.25])).tolist()
    [-0.5, 0.0]
    """

    bound: float = 0.5

    def forward(self, x: Operand) -> Tensor:
        """``nv.soft_shrink``."""
        return nonlinearities.soft_shrink(x, self.bound)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> nv.nn.Tanhshrink()(nv.constant([0.0])).tolist()
    [0.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.tanh_shrink``."""
        return nonlinearities.tanh_shrink(x)


class Threshold(Module):
    """x where it is above ``bound``, else ``value``.

    >>> nv.nn.Threshold(0.5, 9.0)(nv.constant([0, 2])).tolist()
    [9.0, 2.0]
    """

    bound: float
    value: float

    def forward(self, x: Operand) -> Tensor:
        """``nv.threshold``."""
        return nonlinearities.threshold(x, self.bound, self.value)


class LogSigmoid(Module):
    """The logarithm of the sigmoid of x.

    >>> print(nv.nn.LogSigmoid()(nv.constant([0.0])).numpy().round(4))
    [-0.6931]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.log_sigmoid``."""
        return op_functions.log_sigmoid(x)


class Mish(Module):
    """x times tanh(softplus(x)) (Misra 2020).

    >>> nv.nn.Mish()(nv.constant([0.0])).tolist()
    [0.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.mish``."""
        return op_functions.mish(x)


class Softsign(Module):
    r"""x / (1 + \|x\|).

    >>> nv.nn.Softsign()(nv.constant([-1, 3])).tolist()
    [-0.5, 0.75]
    """

    def forward(self, x: Operand) -> Tensor:
        """``nv.soft_sign``."""
        return nonlinearities.soft_sign(x)


class Softmin(Module):
    """exp(-x) over its sum along ``axes`` (absent: all but N and REC).

    >>> nv.nn.Softmin(-1)(nv.constant([[0, 0]])).tolist()
    [[0.5, 0.5]]
    """

    axes: AxesLike | None = None

    def forward(self, x: Operand) -> Tensor:
        """``nv.softmin``."""
        return nonlinearities.softmin(x, self.axes)


class GLU(Module):
    """The first half of x along ``axis`` times the sigmoid, or another ``gate``, of the second half.

    >>> nv.nn.GLU()(nv.constant([[2, 0]])).tolist()
    [[1.0]]
    """

    axis: AxisLike = -1
    gate: Callable[[Tensor], Tensor] = op_functions.sigmoid

    def forward(self, x: Operand) -> Tensor:
        """``nv.glu``."""
        return nonlinearities.glu(x, self.axis, self.gate)
