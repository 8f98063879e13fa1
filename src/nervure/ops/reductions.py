"""Reductions: a fold over some axes, which the result lacks.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3, 4))
>>> Sum(x, [0, -1]), ArgMax(x, [1])
(f32[3] Sum(Parameter), i64[2, 4] ArgMax(Parameter))

``axes`` may be negative and in any order; no axes reduce nothing. Over no elements Sum is 0, Prod 1, Any false and All
true. The others refuse an axis that is known to be empty, unless the result is empty, too; an axis that turns out to
be empty in a call is an error of the call. ``Max(x, axes, of_nothing=True)`` has -inf there, or the least number of
its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import (
    Access,
    ScalarExpression,
    Structure,
    Structured,
    identity_access,
    identity_body,
    require_admitted,
)
from nervure.ir.op import Gradients, Op, Value, same_types
from nervure.ops.checking import behind, checked_axes
from nervure.ops.comparison import Equal
from nervure.ops.conversion import converted
from nervure.ops.product_gradient import product_gradient
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.ops.selection import where
from nervure.ops.views import Broadcast
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, index
from nervure.types.dtype import DType, int64
from nervure.types.element_groups import BOOL, NUMBERS, ORDERED, REALS
from nervure.types.shape import at_least


class Reduction(Op, abstract=True):
    """The type rule of reductions. ``admits`` and ``result`` are as for elementwise ops. An op that ``needs_elements``
    refuses axes that are known to be empty, unless the result has no elements, either.
    """

    operand_names = "x"
    axes = field.ints()
    admits: ClassVar[frozenset[DType]] = NUMBERS
    result: ClassVar[DType | None] = None
    needs_elements: ClassVar[bool] = False
    help_for_nothing: ClassVar[str] = "pad the axis with what an empty one shall give, or leave it out"

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"axes": tuple(sorted(checked_axes(self, self.axes, len(types[0].shape))))}

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        x = types[0] if len(types) == 1 else same_types(self, types)
        require_admitted(self, x, self.admits)
        shape = tuple([x.shape[d] for d in self._kept(len(x.shape))])
        if self._needs_elements() and 0 not in shape and any([x.shape[axis] == 0 for axis in self.axes]):
            raise self.fail(InvalidArgument, "an empty axis has no such element", got=x,
                            operand=self.operand_label(0), expected="at least one element along each reduced axis",
                            help=self.help_for_nothing)
        return x.with_(dtype=self.result or x.dtype, shape=shape, layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        labels = next(operand.labels for operand in self.operands if operand.labels is not None)
        return (tuple([labels[d] for d in self._kept(len(labels))]),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {**self.attributes, "axes": behind(self.axes)}

    def over(self, x: Value, axes: Sequence[int]) -> Op:
        """Returns the same reduction of another tensor, over ``axes`` of it."""
        return type(self)(x, **{**self.attributes, "axes": axes})

    def _needs_elements(self) -> bool:
        return self.needs_elements

    def _kept(self, rank: int) -> list[int]:
        return [d for d in range(rank) if d not in self.axes]

    def fold(self, x: BasicTensorDescription, combine: str | ScalarExpression, body: ScalarExpression = identity_body,
             finish: ScalarExpression | None = None) -> Structure:
        """Returns the iteration over all elements of ``x``, written at the kept indices, with ``combine`` and
        ``body``.
        """
        rank = len(x.shape)
        return Structure(domain=x.shape, reads=(identity_access(rank),),
                         writes=(Access(tuple([index(d) for d in self._kept(rank)])),),
                         body=body, combine=combine, accumulate=x.dtype.compute, finish=finish)


class Fold(Reduction, Structured, abstract=True):
    """A reduction by one of the combiners of structures."""

    combine: ClassVar[str]

    def structure(self, *types: BasicTensorDescription) -> Structure:
        return self.fold(types[0], self.combine)


class Sum(Fold):
    """The sum, in the element type of x; low-precision floats add up in float32, integers wrap."""

    combine = "add"

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (spread(gradient, self.axes, x.shape),)


class Prod(Fold):
    """The product, in the element type of x; integers wrap. Its derivative is exact with any number of zeros."""

    combine = "multiply"

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        if 0 in x.shape:
            return (None,)
        partial = [x]  # the last axis first, so that the numbers of the others stay valid
        for axis in reversed(self.axes[1:]):
            partial.append(Prod(partial[-1], (axis,)).output)
        for axis, factors in zip(self.axes, reversed(partial), strict=False):
            gradient = product_gradient(gradient, factors, axis)
        return (gradient,)


class Extremum(Fold, abstract=True):
    """Max and Min: NaN if there is one. All elements that attain the extremum share the gradient equally.

    Over no elements they are an error, or with ``of_nothing`` the extreme of the element type that any element
    replaces.
    """

    of_nothing = field.boolean(False)
    admits = ORDERED
    needs_elements = True

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        shape = types[0].shape
        has_elements = all([at_least(shape[axis], 1) for axis in checked_axes(self, self.axes, len(shape))])
        return {**super().normalise(*types), "of_nothing": self.of_nothing and not has_elements}  # equal ops merge

    def structure(self, *types: BasicTensorDescription) -> Structure:
        return replace(super().structure(*types), of_nothing=self.of_nothing)

    def _needs_elements(self) -> bool:
        return not self.of_nothing

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        attained = Equal(x, spread(self.output, self.axes, x.shape)).output
        dtype = x.dtype.compute  # the count of ties may exceed a low-precision type
        ties = Sum(converted(attained, dtype), self.axes).output
        share = converted(converted(gradient, dtype) / ties, x.dtype)
        return (where(attained, spread(share, self.axes, x.shape), 0),)


class Max(Extremum):
    """The largest element; NaN if there is one. Ties share the gradient equally."""

    combine = "maximum"
    help_for_nothing = "nv.max(x, initial=number) gives the number for an empty axis"


class Min(Extremum):
    """The smallest element; NaN if there is one. Ties share the gradient equally."""

    combine = "minimum"
    help_for_nothing = "nv.min(x, initial=number) gives the number for an empty axis"


class Any(Fold):
    """Whether an element holds."""

    admits = BOOL
    combine = "or"


class All(Fold):
    """Whether all elements hold."""

    admits = BOOL
    combine = "and"


class ProductChains(Reduction, Structured):
    """Computes, for each of several factors, the sum of its products with the last operand. Products are rounded, then
    added one after the other in row-major order.

    Passes make it, after differentiation; it has no derivative.
    """

    operand_names = "*xs"
    admits = REALS
    needs_elements = True

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if len(types) < 2:
            raise self.fail(InvalidArgument, "there is nothing to multiply", operand="xs", got=f"{len(types)} operands",
                            expected="factors, and what they are multiplied by",
                            help="the last operand is the partner of the others")
        return super().normalise(*types)

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        sums = super().infer(*types)
        return (sums,) * (len(types) - 1)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (None,) * len(types)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        own, kept = identity_access(len(types[0].shape)), tuple([index(d) for d in self._kept(len(types[0].shape))])

        def products(s: ScalarNamespace[Scalar], *elements: Scalar) -> tuple[Scalar, ...]:
            *factors, partner = elements
            return tuple([s.multiply(factor, partner) for factor in factors])

        def added(s: ScalarNamespace[Scalar], left: tuple[Scalar, ...],
                  right: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
            return tuple([s.add(before, product) for before, product in zip(left, right, strict=True)])

        return Structure(domain=types[0].shape, reads=(own,) * len(types), writes=(Access(kept),) * (len(types) - 1),
                         body=products, combine=added, accumulate=types[0].dtype.compute)


class Position(Reduction, Structured, abstract=True):
    """ArgMax and ArgMin: a fold over pairs of an element and its position; the result is the position."""

    admits = ORDERED
    result = int64
    needs_elements = True

    def precedes(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        """Whether x comes before y in the order whose first element is sought."""
        raise NotImplementedError

    def structure(self, *types: BasicTensorDescription) -> Structure:
        x, = types
        place = self._place(x.shape)

        def better(s: ScalarNamespace[Scalar], left: tuple[Scalar, Scalar],
                   right: tuple[Scalar, Scalar]) -> tuple[Scalar, ...]:
            """Returns the pair on the left, unless the right one is strictly better; NaN is better than all numbers."""
            wins = s.bitwise_and(s.bitwise_or(self.precedes(s, right[0], left[0]), s.is_nan(right[0])),
                                 s.bitwise_not(s.is_nan(left[0])))
            return tuple([s.where(wins, theirs, mine) for mine, theirs in zip(left, right, strict=True)])

        return self.fold(x, better, body=lambda s, element: (element, s.index(place)), finish=lambda s, pair: pair[1])

    def _place(self, shape: tuple[DimLike, ...]) -> DimLike:
        """Returns the position within the reduced axes, flattened in row-major order."""
        place: DimLike = 0
        for axis in self.axes:
            place = place * shape[axis] + index(axis)
        return place


class ArgMax(Position):
    """The position of the largest element within the reduced axes, flattened in row-major order, as int64.

    It is the first of equal ones; NaN counts as larger than all numbers.
    """

    def precedes(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        return s.less(y, x)


class ArgMin(Position):
    """The position of the smallest element within the reduced axes, flattened in row-major order, as int64.

    It is the first of equal ones; NaN counts as smaller than all numbers.
    """

    def precedes(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        return s.less(x, y)


def spread(x: Value, axes: tuple[int, ...], shape: tuple[DimLike, ...]) -> Value:
    """Repeats x along the axes that a reduction of a tensor of this shape has removed."""
    return Broadcast(x, shape, axes).output if axes else x
