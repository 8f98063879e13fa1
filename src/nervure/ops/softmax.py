"""Softmax over any axes, its logarithm, and the cross entropies that are safe at large logits.

>>> import nervure as nv
>>> logits, targets = nv.Parameter(nv.float32, (8, 10)), nv.Parameter(nv.float32, (8, 10))
>>> SoftmaxCrossEntropy(logits, targets, [1])
f32[8] SoftmaxCrossEntropy(Parameter, Parameter)
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

from nervure.ir.op import Gradients, Value
from nervure.ops.activation import Sigmoid, Softplus
from nervure.ops.arithmetic import Reciprocal
from nervure.ops.comparison import Equal
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.conversion import StopGradient
from nervure.ops.exponential import Exp, Log
from nervure.ops.normalization import Normalization
from nervure.ops.reductions import Max, Sum, spread
from nervure.ops.selection import where
from nervure.ops.statistics import ReductionComposite


class Shifted(Normalization, abstract=True):
    """A normalisation made of exponentials, none of which overflows."""

    def shifted(self, x: Value) -> Value:
        """Returns x less its largest element along the axes."""
        return x - spread(Max(StopGradient(x), self.axes, of_nothing=True).output, self.axes, x.shape)

    def total(self, x: Value) -> Value:
        """Returns the sum along the axes, at every element."""
        return spread(Sum(x, self.axes).output, self.axes, x.shape)


class Statistics(NamedTuple):
    """Two numbers for each row of a softmax, which is ``exp(x - shift) * factor``."""

    shift: Value
    factor: Value

    def weights(self, x: Value, axes: tuple[int, ...]) -> Value:
        """Returns the softmax of x along ``axes``."""
        return Exp(x - spread(self.shift, axes, x.shape)) * spread(self.factor, axes, x.shape)


def statistics(x: Value, axes: tuple[int, ...], masked: bool = False) -> tuple[Statistics, Value]:
    """Returns the largest elements of x along ``axes``, with one over the sums of exponentials; and the exponentials.

    With ``masked``, rows of nothing but -inf have finite ones.
    """
    shift = Max(StopGradient(x), axes, of_nothing=True).output
    if masked:
        shift = where(Equal(shift, shift.full(-math.inf)), 0, shift)
    powers = Exp(x - spread(shift, axes, x.shape)).output
    total = Sum(powers, axes).output
    # One division for all elements that share a sum, at the cost of at most one unit in the last place.
    factor = Reciprocal(where(Equal(total, total.full(0)), 1, total) if masked else total).output
    return Statistics(shift, factor), powers


class Softmax(Shifted):
    """exp(x) over its sum along the axes, without overflow."""

    masked: ClassVar[bool] = False

    def formula(self, x: Value) -> Value:
        found, powers = statistics(x, self.axes, self.masked)
        return powers * spread(found.factor, self.axes, x.shape)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (self.output * (gradient - self.total(gradient * self.output)),)


class MaskedSoftmax(Softmax):
    """The softmax, and 0 where all elements along the axes are -inf.

    Its derivative there is 0, too.
    """

    masked = True


class LogSoftmax(Shifted):
    """The logarithm of the softmax along the axes: finite for all finite logits."""

    def formula(self, x: Value) -> Value:
        shifted = self.shifted(x)
        return shifted - Log(self.total(Exp(shifted).output))

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (gradient - Exp(self.output) * self.total(gradient),)


class SoftmaxCrossEntropy(ReductionComposite):
    """``-sum(targets * log_softmax(logits))`` over the axes; a target of 0 counts 0 even if the logit is -inf.

    The derivative in the logits is ``softmax(logits) * sum(targets) - targets``.
    """

    operand_names = "logits targets"

    def formula(self, logits: Value, targets: Value) -> Value:
        return -Sum(weighed(targets, LogSoftmax(logits, self.axes).output), self.axes)

    def vjp(self, gradient: Value, logits: Value, targets: Value) -> Gradients:
        weight = spread(gradient, self.axes, logits.shape)
        mass = spread(Sum(targets, self.axes).output, self.axes, logits.shape)
        return (weight * (Softmax(logits, self.axes) * mass - targets),
                -weight * LogSoftmax(logits, self.axes))


class SigmoidCrossEntropy(ElementwiseComposite):
    """``-targets * log(sigmoid(logits)) - (1 - targets) * log(1 - sigmoid(logits))``, without overflow.

    The derivative in the logits is ``sigmoid(logits) - targets``.
    """

    operand_names = "logits targets"

    def formula(self, logits: Value, targets: Value) -> Value:
        return weighed(targets, Softplus(-logits).output) + weighed(1 - targets, Softplus(logits).output)

    def vjp(self, gradient: Value, logits: Value, targets: Value) -> Gradients:
        return gradient * (Sigmoid(logits) - targets), -gradient * logits


def weighed(weight: Value, x: Value) -> Value:
    """Returns weight * x, and 0 for a weight of 0, whatever x is."""
    return where(Equal(weight, weight.full(0)), 0, weight * x)
