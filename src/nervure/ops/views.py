"""Views: ops that move no element, ``y[i] = x[f(i)]``, where f comes from a description of :mod:`nervure.types.view`.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3, 4))
>>> Permute(x, (2, 0, 1))
f32[4, 2, 3] Permute(Parameter)
>>> Reverse(x, [1]).view.index_map.coordinates
(%0, 2 - %1, %2)

The gradient of a view is its transpose: a view again if no element is visited twice, else the sum over the places at
which an element is visited.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from nervure.errors import InvalidArgument, NervureError, ShapeMismatch
from nervure.ir import field
from nervure.ir.function import Assumption
from nervure.ir.kinds import View
from nervure.ir.leaves import fit_number
from nervure.ir.op import Gradients, Tangents, Value
from nervure.ops.checking import behind, checked_axes, checked_axis, lengths_of_results
from nervure.ops.update import IndexView, MappedView, accumulated
from nervure.types import view as views
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, dim_max, dim_min, equal, found_symbols, index
from nervure.types.index_map import IndexMap, indices
from nervure.types.shape import inverse_permutation
from nervure.types.view import ComplexView, SimpleView

Shape = tuple[DimLike, ...]


class Described(View, abstract=True):
    """A view by a description made from the operands' shapes; errors of the description become errors of this op."""

    operand_names = "x"

    def description(self, types: tuple[BasicTensorDescription, ...]) -> SimpleView | ComplexView:
        """Returns the view description."""
        raise NotImplementedError

    def describe(self, *types: BasicTensorDescription) -> SimpleView | ComplexView:
        try:
            return self.description(types)
        except NervureError as error:
            error.op, error.operand = type(self).__name__, error.operand or self.operand_label(0)
            error.got, error.location = error.got or str(types[0]), self.location
            raise

    def assumptions(self) -> list[Assumption]:
        """Assumes that no length is negative, which a call checks for symbols."""
        return lengths_of_results(self)


class Broadcast(Described):
    """Repeats x along new dimensions: the dimensions of ``shape`` that ``axes`` lists. The others are x's, in order."""

    shape = field.shape()
    axes = field.ints()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"axes": checked_axes(self, self.axes, len(self.shape))}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.BroadcastView:
        return views.BroadcastView(types[0].shape, self.shape, self.axes)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (gradient.sum(self.axes),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"shape": (length, *self.shape), "axes": behind(self.axes)}


class Permute(Described):
    """x with its dimensions in another order: dimension k of the result is dimension ``order[k]`` of x."""

    order = field.ints()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"order": checked_axes(self, self.order, len(types[0].shape), "order")}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.PermuteView:
        rank = len(types[0].shape)
        if len(self.order) != rank:
            raise self.fail(InvalidArgument, "attribute order must name every dimension", operand="order",
                            got=self.order, expected=f"{rank} dimensions, for {types[0]}",
                            help="add those that stay where they are")
        return views.PermuteView(types[0].shape, self.order)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (Permute(gradient, inverse_permutation(self.order)),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"order": (0, *behind(self.order))}


def moved_axes(x: Value, start: int, to: int, count: int = 1) -> Value:
    """Returns x with ``count`` dimensions that begin at ``start`` moved, so that they begin at ``to``."""
    if start == to:
        return x
    order = [d for d in range(x.rank) if not start <= d < start + count]
    order[to:to] = range(start, start + count)
    return Permute(x, order).output


class Reshape(Described):
    """The elements of x, in row-major order, under another shape of provably the same size."""

    shape = field.shape()

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.ReshapeView:
        return views.ReshapeView(types[0].shape, self.shape)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (Reshape(gradient, x.shape),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"shape": (length, *self.shape)}


class Slice(Described):
    """A range of positions of each dimension: ``slices`` has a (start, extent, step) for each, all positions inside x.

    Element j of a dimension is that at ``start + j * step``; a step is negative for a range that runs backwards.
    """

    slices = field.slices()

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.SliceView:
        return views.SliceView(types[0].shape, self.slices)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        if any([step not in (1, -1) for _, _, step in self.slices]):
            return (accumulated(gradient, self.simple_view.index_map, x.shape),)
        backwards = [d for d, (_, _, step) in enumerate(self.slices) if step == -1]
        paddings = []
        for (start, extent, step), length in zip(self.slices, x.shape, strict=True):
            before = start if step == 1 else start - extent + 1
            paddings.append((before, length - before - extent))
        forward = Reverse(gradient, backwards) if backwards else gradient
        return (Pad(forward, paddings),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"slices": ((0, length, 1), *self.slices)}


class Reverse(Described):
    """Reverses x along the dimensions in ``axes``."""

    axes = field.ints()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"axes": checked_axes(self, self.axes, len(types[0].shape))}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.ReverseView:
        return views.ReverseView(types[0].shape, self.axes)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (Reverse(gradient, self.axes),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"axes": behind(self.axes)}


class Pad(Described):
    """Surrounds x with a number: ``paddings`` has a pair (before, after) for each dimension; negative ones cut off."""

    paddings = field.dim_pairs()
    number = field.number(0)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"number": fit_number(self.number, types[0].dtype)}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.PadView:
        return views.PadView(types[0].shape, self.paddings, self.number)

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        return (None if tangents[0] is None else Pad(tangents[0], self.paddings),)  # the number does not move

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (Pad(gradient, [(-before, -after) for before, after in self.paddings]),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"paddings": ((0, 0), *self.paddings), "number": self.number}


class Contiguous(Described):
    """x itself, with its elements in memory in the row-major order of its own dimensions.

    Values do not change. A pass puts it where a value is read in another order than the one in which it is made, so
    that its elements move once, and not with every read.
    """

    composes = False

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.PadView:
        return views.PadView(types[0].shape, ((0, 0),) * len(types[0].shape))

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (gradient,)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {}


class FoldedPad(Described, MappedView):
    """Surrounds x with its own elements; ``paddings`` as ``Pad``'s, modes as NumPy's.

    "edge" repeats the last element; "reflect" mirrors at it, "symmetric" behind it; "wrap" starts again at the
    other end.
    """

    paddings = field.dim_pairs()
    mode = field.choice(*views.FOLDS)
    composes = False  # folded indices never become affine

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.FoldedPadView:
        return views.FoldedPadView(types[0].shape, self.paddings, self.mode)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"paddings": ((0, 0), *self.paddings), "mode": self.mode}


class Concatenate(Described):
    """Tensors one after the other along ``axis``; their other dimensions are provably equal."""

    operand_names = "*xs"
    axis = field.integer()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if not types:
            raise self.fail(InvalidArgument, "there is nothing to concatenate", operand="xs", got="no operands",
                            expected="one tensor or more", help="an empty tensor is ops.Full(0, dtype, shape)")
        return {"axis": checked_axis(self, self.axis, len(types[0].shape))} if types[0].shape else {}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.ConcatenateView:
        return views.ConcatenateView(tuple([type.shape for type in types]), self.axis)

    def vjp(self, gradient: Value, *xs: Value) -> Gradients:
        parts: list[Value] = []
        start: DimLike = 0
        for x in xs:
            slices: list[tuple[DimLike, DimLike, DimLike]] = [(0, length, 1) for length in x.shape]
            slices[self.axis] = (start, x.shape[self.axis], 1)
            parts.append(Slice(gradient, slices).output)
            start = start + x.shape[self.axis]
        return tuple(parts)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"axis": self.axis + 1}


class Stack(Described):
    """Stacks tensors of one shape along new dimensions: those of the result that ``axes`` lists, in ascending order,
    of lengths ``counts``. The tensors are numbered in row-major order over these.
    """

    operand_names = "*xs"
    axes = field.ints()
    counts = field.ints()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if not types:
            raise self.fail(InvalidArgument, "there is nothing to stack", operand="xs", got="no operands",
                            expected="as many tensors as places for them",
                            help="axes and counts say what the new dimensions are")
        return {"axes": checked_axes(self, self.axes, len(types[0].shape) + len(self.axes))}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.StackView:
        return views.StackView(tuple([type.shape for type in types]), self.axes, self.counts)

    def vjp(self, gradient: Value, *xs: Value) -> Gradients:
        parts = []
        for place in itertools.product(*map(range, self.counts)):
            new, old = dict(zip(self.axes, place, strict=True)), iter(indices(xs[0].rank))
            coordinates = tuple([new[d] if d in new else next(old) for d in range(gradient.rank)])
            parts.append(IndexView(gradient, IndexMap(xs[0].shape, coordinates)).output)
        return tuple(parts)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"axes": behind(self.axes), "counts": self.counts}


class Diagonal(Described, MappedView):
    """The diagonal of two dimensions, which become one at the end; ``offset`` > 0 means above the main one."""

    offset = field.integer(0)
    first = field.integer(-2)
    second = field.integer(-1)

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.IndexMapView:
        shape = types[0].shape
        first, second = checked_axes(self, (self.first, self.second), len(shape), "first, second")
        below, right = max(-self.offset, 0), max(self.offset, 0)
        length = dim_max(0, dim_min(shape[first] - below, shape[second] - right))
        kept = [d for d in range(len(shape)) if d not in (first, second)]
        coordinates: list[DimLike] = [0] * len(shape)
        for position, d in enumerate(kept):
            coordinates[d] = index(position)
        coordinates[first], coordinates[second] = index(len(kept)) + below, index(len(kept)) + right
        return views.IndexMapView(shape, IndexMap((*[shape[d] for d in kept], length), tuple(coordinates)))

    def raised(self, length: DimLike) -> Mapping[str, object]:
        first, second = checked_axes(self, (self.first, self.second), self.operands[0].rank, "first, second")
        return {"offset": self.offset, "first": first + 1, "second": second + 1}


class AssumeShape(Described):
    """x itself, with the shape that it is assumed to have, which is checked before every call unless it is certain.

    A dimension that certainly differs is a ShapeMismatch at once. ``needed_by`` names the op that needs the
    assumption; a ``reason`` is the message of a call for which it does not hold.
    """

    shape = field.shape()
    needed_by = field.string("AssumeShape")
    reason = field.string("")
    composes = False  # the Function records its assumption

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        for mine, assumed in zip(types[0].shape, self.shape, strict=False):
            if (names := found_symbols(mine) | found_symbols(assumed)) and equal(mine, assumed) is None:
                raise self._not_known(mine, assumed, names)
        return {}

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.AssumedView:
        own = types[0].shape
        if len(own) != len(self.shape) or any([equal(a, b) is False for a, b in zip(own, self.shape, strict=True)]):
            raise self.fail(ShapeMismatch, "the tensor cannot have this shape", operand=self.operand_label(0),
                            got=types[0], expected=types[0].with_(shape=self.shape),
                            help="insert ops.Reshape or ops.Broadcast to change the shape")
        return views.AssumedView(own, self.shape)

    def _not_known(self, mine: DimLike, assumed: DimLike, names: Collection[str]) -> ShapeMismatch:
        """Returns the error for lengths that are found while a call runs, when it is too late for this check."""
        two = "two masks find two lengths, even if they are equal; one mask for both finds one: m = x > 0; x[m] + y[m]"
        return ShapeMismatch(f"a length that is found while the call runs is not known to equal {assumed}",
                             op=self.needed_by, got=mine, expected=assumed,
                             help=two if len(names) > 1 else "nv.where(mask, x, y) keeps the shape")

    def assumptions(self) -> list[Assumption]:
        """Returns the pairs of dimensions that a call must find equal."""
        pairs = zip(self.operands[0].shape, self.shape, strict=True)
        return [Assumption(own, assumed, self.needed_by, self.location, self.reason) for own, assumed in pairs
                if equal(own, assumed) is not True]

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (AssumeShape(gradient, x.shape, self.needed_by, self.reason),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"shape": (length, *self.shape), "needed_by": self.needed_by, "reason": self.reason}
