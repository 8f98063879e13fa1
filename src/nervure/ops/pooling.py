"""Pooling: a reduction over windows, by ``Windows``, a view that shows an element in each window that contains it.

So the rules of reductions hold for pooling, too: the gradient of ``MaxPool`` goes in equal shares to the largest
elements of a window, gradients of overlapping windows add up, and every derivative has derivatives.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 3, 32, 32))
>>> MaxPool(x, axes=(2, 3), windows=(3, 3), strides=(2, 2), paddings=[(1, 1), (1, 1)])
f32[8, 3, 16, 16] MaxPool(Parameter)
>>> Windows(x, axes=(2, 3), windows=(3, 3))
f32[8, 3, 30, 30, 3, 3] Windows(Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.function import Assumption
from nervure.ir.kinds import Composite, require_admitted
from nervure.ir.leaves import Full
from nervure.ir.notation import Number
from nervure.ir.op import Op, Value
from nervure.ops.checking import behind, checked_axes, fitting_windows, window_attributes, window_extent
from nervure.ops.composite import InComputeType
from nervure.ops.iota import Iota
from nervure.ops.reductions import ArgMax, Max, Sum
from nervure.ops.selection import Maximum, where
from nervure.ops.statistics import length_everywhere
from nervure.ops.update import MappedView
from nervure.ops.views import Broadcast, Pad
from nervure.types import view as views
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, index
from nervure.types.dtype import DType, int64
from nervure.types.element_groups import FLOATS, REALS
from nervure.types.index_map import IndexMap, indices


class WindowForm(Op, abstract=True):
    """Windows of ``windows`` elements along each of ``axes``.

    Their first elements are ``strides`` apart and their elements ``dilations`` (empty: ones).
    """

    operand_names = "x"
    axes = field.ints()
    windows = field.ints()
    strides = field.ints(())
    dilations = field.ints(())

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        paddings = getattr(self, "paddings", None)
        return {"axes": checked_axes(self, self.axes, len(types[0].shape)),
                **window_attributes(self, len(self.axes), self.strides, self.dilations, paddings)}

    def places(self, x: BasicTensorDescription) -> tuple[DimLike, ...]:
        """Returns x's shape with the number of the window's places in place of each of the axes."""
        if len(self.windows) != len(self.axes):
            raise self.fail(InvalidArgument, "attribute windows needs an entry for each axis", operand="windows",
                            got=self.windows, expected=f"{len(self.axes)} entries",
                            help="a window of 1 leaves an axis as it is")
        paddings = getattr(self, "paddings", ((0, 0),) * len(self.axes))
        shape = list(x.shape)
        for axis, window, *rest in zip(self.axes, self.windows, self.strides, self.dilations, paddings, strict=True):
            shape[axis] = window_extent(self, 0, x, axis, window, *rest)
        return tuple(shape)


    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {**self.attributes, "axes": behind(self.axes)}

    def assumptions(self) -> list[Assumption]:
        """Assumes that every window fits, which a call checks for symbols."""
        paddings = getattr(self, "paddings", ((0, 0),) * len(self.axes))
        lengths = [self.operands[0].shape[axis] for axis in self.axes]
        return fitting_windows(self, lengths, self.windows, self.dilations, paddings)


class Windows(WindowForm, MappedView):
    """Every window over some axes of x: these axes count its places, and dimensions at the end its positions."""

    composes = False  # it describes its elements better than an index map

    def describe(self, *types: BasicTensorDescription) -> views.IndexMapView:
        shape = self.places(types[0])
        coordinates: list[DimLike] = [*indices(len(shape))]
        for k, axis in enumerate(self.axes):
            coordinates[axis] = index(axis) * self.strides[k] + index(len(shape) + k) * self.dilations[k]
        return views.IndexMapView(types[0].shape, IndexMap((*shape, *self.windows), tuple(coordinates)))

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return ((*(self.operands[0].labels or ()), *[None] * len(self.axes)),)


class Pooling(WindowForm, abstract=True):
    """Windows over x with padding: (before, after) for each axis (empty: none; negative: elements are left out)."""

    admits: ClassVar[frozenset[DType]]

    paddings = field.dim_pairs(())

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        require_admitted(self, types[0], self.admits)
        return types[0].with_(shape=self.places(types[0]), layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (self.operands[0].labels,)

    @property
    def is_padded(self) -> bool:
        """Whether any padding is not zero."""
        return any([entry != (0, 0) for entry in self.paddings])

    def over_windows(self, reduction: type[Op], x: Value, axes: tuple[int, ...], fill: Number) -> Value:
        """Reduces each window over ``axes`` of x by ``reduction``, with ``fill`` as the padding."""
        if self.is_padded:
            paddings: list[tuple[DimLike, DimLike]] = [(0, 0)] * x.rank
            for axis, padding in zip(axes, self.paddings, strict=True):
                paddings[axis] = padding
            x = Pad(x, paddings, fill).output
        view = Windows(x, axes, self.windows, self.strides, self.dilations)
        return reduction(view, range(x.rank, view.rank)).output


class MaxPool(Pooling, Composite):
    """The largest element of each window; NaN if it contains one. Padding counts as the smallest number.

    The largest elements of a window share its gradient equally.
    """

    admits = REALS

    def decompose(self, x: Value) -> Value:
        return self.over_windows(Max, x, self.axes, x.dtype.extremes[0])


class AveragePool(Pooling, InComputeType):
    """The mean of each window: of the elements inside x, or with ``count_padding`` of all, with 0 as the padding.

    A window that lies entirely in the padding gives 0.
    """

    admits = FLOATS
    count_padding = field.boolean(False)

    def formula(self, x: Value) -> Value:
        total = self.over_windows(Sum, x, self.axes, 0)
        if self.count_padding or not self.is_padded:
            return total / prod(self.windows)
        return total / self._counts(x, total)

    def _counts(self, x: Value, total: Value) -> Value:
        """Counts the elements of each window inside x (at least 1), in the type of the result."""
        kept = sorted(self.axes)
        ones = Full(1, x.dtype, tuple([x.shape[axis] for axis in kept])).output
        count = self.over_windows(Sum, ones, tuple([kept.index(axis) for axis in self.axes]), 0)
        others = [d for d in range(x.rank) if d not in kept]
        return Broadcast(Maximum(count, count.full(1)), total.shape, others).output


def places_of_largest(shown: Value, x: Value, axes: Sequence[int], windows: Sequence[int], strides: Sequence[int],
                      dilations: Sequence[int], before: Sequence[DimLike]) -> Value:
    """Returns where the largest elements of windows lie among the elements of x over ``axes``, in row-major order.

    ``shown`` are the windows of x, with ``before`` elements of padding that are not larger than any. If a window holds
    nothing but the smallest number, it is the first of its elements inside of x.
    """
    rest = ArgMax(shown, axes=range(x.rank, shown.rank)).output
    place = rest.full(0)
    for k, axis in enumerate(axes):
        offset = rest // prod(windows[k + 1:]) % windows[k]
        pad = length_everywhere(before[k], rest.dtype, rest.shape)
        at = Iota(rest.shape, axis, int64) * strides[k] + offset * dilations[k] - pad
        missing = (-at + (dilations[k] - 1)) // dilations[k]
        at = where(at < 0, at + missing * dilations[k], at)
        place = place * length_everywhere(x.shape[axis], place.dtype, place.shape) + at
    return place
