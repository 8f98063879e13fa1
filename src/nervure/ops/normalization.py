"""Normalisation along axes: functions that keep the shape and whose elements depend on each other.

>>> import nervure as nv
>>> Standardize(nv.Parameter(nv.float32, (8, 10)), [1])
f32[8, 10] Standardize(Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.ir import field
from nervure.ir.op import Gradients, Value
from nervure.ops.arithmetic import Multiply, Square
from nervure.ops.checking import behind, checked_axes
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.exponential import Rsqrt
from nervure.ops.reductions import spread
from nervure.ops.statistics import Mean
from nervure.ops.views import Broadcast
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.element_groups import FLOATS


class Normalization(ElementwiseComposite, abstract=True):
    """A normalisation along ``axes``. Without axes, each element is normalised alone."""

    axes = field.ints()
    admits = FLOATS

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"axes": checked_axes(self, self.axes, len(types[0].shape))}

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {**self.attributes, "axes": behind(self.axes)}

    def mean(self, x: Value) -> Value:
        """Returns the mean along the axes, at every element."""
        return spread(Mean(x, self.axes).output, self.axes, x.shape)


class Standardize(Normalization):
    """``(x - mean) / sqrt(variance + epsilon)`` along the axes: the common part of layer and batch normalisation.

    Its derivative is ``(g - mean(g) - y * mean(g * y)) / sqrt(variance + epsilon)`` for a gradient g of the result y
    (Ioffe and Szegedy 2015, simplified): it needs two sums beside those of the result, and no terms that cancel. If g
    is a product with a scale for each row, the scale is applied last: the sums are then the gradients of the scale and
    of the shift.
    """

    epsilon = field.real(1e-5)

    def formula(self, x: Value) -> Value:
        centred, inverse = self._parts(x)
        return centred * inverse

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        _, factor = self._parts(x)
        scale = _scale(gradient, self.axes)
        if scale is not None:
            gradient, factor = gradient.op.operands[0], factor * scale
        slope = self.mean(gradient * self.output)
        return ((gradient - self.mean(gradient) - self.output * slope) * factor,)

    def _parts(self, x: Value) -> tuple[Value, Value]:
        """Returns x less its mean, and the reciprocal of its deviation, at every element."""
        centred = x - self.mean(x)
        variance = Mean(Square(centred), self.axes).output
        return centred, spread(Rsqrt(variance + self.epsilon).output, self.axes, x.shape)


def _scale(gradient: Value, axes: tuple[int, ...]) -> Value | None:
    """Returns the factor of a gradient, if it is a product with a factor that is constant along the axes.

    Along those of length 1 every factor is.
    """
    if not isinstance(gradient.op, Multiply):
        return None
    scale = gradient.op.operands[1]
    long = {axis for axis in axes if scale.shape[axis] != 1}
    return scale if isinstance(scale.op, Broadcast) and long <= set(scale.op.axes) else None
