"""Means, norms and counts: composites over the reductions.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3))
>>> Variance(x, [1], ddof=1), L2Norm(x, [0, 1])
(f32[2] Variance(Parameter), f32[] L2Norm(Parameter))
"""

from __future__ import annotations

import math

from nervure.ir import field
from nervure.ir.kinds import Composite, Structure, Structured, identity_access
from nervure.ir.leaves import Full
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.arithmetic import Absolute, Square
from nervure.ops.comparison import Equal, IsFinite, NotEqual
from nervure.ops.composite import InComputeType
from nervure.ops.conversion import Convert, StopGradient
from nervure.ops.exponential import Exp, Log, Sqrt
from nervure.ops.reductions import Max, Reduction, Sum, spread
from nervure.ops.selection import where
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, dim_max, product
from nervure.types.dtype import DType, float64, int64
from nervure.types.element_groups import ANY, COMPLEX, FLOATS, REALS
from nervure.types.shape import Shape


class Extent(Structured):
    """A number that is known once the symbols are: an expression over them, at every index, in an element type."""

    signature = "-> x:dtype[~shape]"
    length = field.dimension()
    dtype = field.dtype()
    shape = field.shape()

    def structure(self, *types: BasicTensorDescription) -> Structure:
        length, dtype = self.length, self.dtype
        return Structure(domain=self.shape, reads=(), writes=(identity_access(len(self.shape)),),
                         body=lambda s: s.convert(s.index(length), dtype))


def length_everywhere(length: DimLike, dtype: DType, shape: Shape) -> Value:
    """Returns a length at every index of a shape, whether it is a number or an expression over symbols."""
    return (Full if isinstance(length, int) else Extent)(length, dtype, shape).output


class ReductionComposite(Reduction, InComputeType, abstract=True):
    """A reduction that is written in terms of other ops."""

    admits = FLOATS


class Mean(ReductionComposite):
    """The sum over the number of elements; NaN for no elements."""

    admits = FLOATS | COMPLEX

    def formula(self, x: Value) -> Value:
        return _per(Sum(x, self.axes).output, _count(x, self.axes))


class Variance(ReductionComposite):
    """The mean square of the distance from the mean, divided by ``count - ddof`` in place of the count."""

    ddof = field.integer(0)

    def formula(self, x: Value) -> Value:
        return self._per_count(SquaredL2(self._centred(x), self.axes).output)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        # The mean moves, too, but the sum of the distances from it stays 0.
        return (self._centred(x) * spread(self._per_count(gradient * 2), self.axes, x.shape),)

    def _centred(self, x: Value) -> Value:
        return x - spread(Mean(x, self.axes).output, self.axes, x.shape)

    def _per_count(self, total: Value) -> Value:
        return _per(total, dim_max(_count(self.operands[0], self.axes) - self.ddof, 0))


class Std(ReductionComposite):
    """The square root of the variance. Its derivative is 0 at a variance of 0."""

    ddof = field.integer(0)

    def formula(self, x: Value) -> Value:
        return _root(Variance(x, self.axes, self.ddof).output)


class SquaredL2(ReductionComposite):
    """The sum of the squares."""

    admits = REALS

    def formula(self, x: Value) -> Operand:
        return Sum(Square(x), self.axes)


class L2Norm(ReductionComposite):
    """The square root of the sum of the squares. Its derivative at 0 is 0."""

    def formula(self, x: Value) -> Value:
        return _root(SquaredL2(x, self.axes).output)


class L1Norm(ReductionComposite):
    """The sum of the magnitudes."""

    admits = REALS

    def formula(self, x: Value) -> Operand:
        return Sum(Absolute(x), self.axes)


class CountNonzero(Reduction, Composite):
    """The number of elements that are not 0, int64; NaN counts."""

    admits = ANY
    result = int64

    def decompose(self, x: Value) -> Operand:
        return Sum(Convert(NotEqual(x, x.full(0)), int64), self.axes)


class LogSumExp(ReductionComposite):
    """log(sum(exp(x))), without overflow; -inf for no elements. Its derivative is the softmax, or 0 if all elements
    are -inf.
    """

    def formula(self, x: Value) -> Value:
        largest = Max(StopGradient(x), self.axes, of_nothing=True).output
        shift = where(IsFinite(largest), largest, 0)
        total = Sum(Exp(x - spread(shift, self.axes, x.shape)), self.axes).output
        nothing = Equal(total, total.full(0))  # the logarithm reads 1 there: 0 times its slope at 0 would be NaN
        return where(nothing, float("-inf"), Log(where(nothing, 1, total)).output) + shift


class LogMeanExp(ReductionComposite):
    """log(mean(exp(x))), without overflow; NaN for no elements."""

    def formula(self, x: Value) -> Value:
        total, count = LogSumExp(x, self.axes).output, _count(x, self.axes)
        if isinstance(count, int):
            return total - (math.log(count) if count else float("-inf"))
        share = Log(Extent(count, float64, total.shape)).output  # it is rounded once, as that of a number
        return total - (share if total.dtype is float64 else Convert(share, total.dtype).output)


def _count(x: Value, axes: tuple[int, ...]) -> DimLike:
    return product([x.shape[axis] for axis in axes])


def _per(total: Value, count: DimLike) -> Value:
    """Returns a total over a count, which may be symbolic."""
    if isinstance(count, int):
        return total / count
    return total / Extent(count, total.dtype, total.shape)


def _root(x: Value) -> Value:
    """Returns the square root with the derivative 0 at 0: there the root reads 1, since 0 times its infinite slope is
    NaN.
    """
    zero = Equal(x, x.full(0))
    return where(zero, 0, Sqrt(where(zero, 1, x)).output)
