"""Simple views: tensors whose elements are those of another one, in other places. Each defines its shape and its f.

``y[i] = x[f(i)]``: a view description takes the shape of x (``source``) and gives the ``shape`` of y and the
``index_map`` f.

>>> from nervure.types.layout import row_major
>>> PermuteView((2, 3, 5), (1, 2, 0)).shape
(3, 5, 2)
>>> pooled = SliceView((8,), ((7, 4, -2),))
>>> pooled.index_map.coordinates, pooled.layout(row_major((8,)))
((7 - 2*%0,), Layout(strides=(-2,), offset=7, sizes=None))
"""

from __future__ import annotations

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.support.lazy import lazy
from nervure.types.dim import DimLike, equal, product
from nervure.types.frozen import frozen_dataclass, put
from nervure.types.index_map import IndexMap, indices
from nervure.types.layout import Layout, row_major
from nervure.types.shape import Shape, checked_axes, checked_permutation
from nervure.types.view.slicing import Range, checked_range


@frozen_dataclass()
class SimpleView:
    """The base class of simple views. ``source`` is the shape of the viewed tensor."""

    source: Shape

    @lazy
    def shape(self) -> Shape:
        """The shape of the view."""
        raise NotImplementedError

    @lazy
    def index_map(self) -> IndexMap:
        """The element of the viewed tensor at each index of the view."""
        raise NotImplementedError

    def layout(self, base: Layout) -> Layout | None:
        """Returns the layout of the view if the viewed tensor has layout ``base``; None if the view needs a copy."""
        return self.index_map.layout(base)

    def is_injective(self, thorough: bool = True) -> bool | None:
        """Whether no element is visited twice, so that the view can be written through: True, False or None (unknown).

        If ``thorough``, indices are visited one by one where that helps.
        """
        return self.index_map.is_injective(self.source, thorough)

    def is_onto(self) -> bool:
        """Whether every element is known to be visited, and none twice."""
        same_size = self.shape == self.source or equal(product(self.shape), product(self.source)) is True
        return same_size and self.is_injective(thorough=False) is True

    def keeps_order(self) -> bool:
        """Whether every element is known to be visited, in row-major order: in dense memory the view is the tensor."""
        if not self.is_onto():
            return False
        place, position = row_major(self.source).place(self.index_map.coordinates), row_major(self.shape).place(
            indices(len(self.shape)))
        return equal(place, position, self.index_map.ranges) is True

    @property
    def _name(self) -> str:
        """The op that the view describes, for errors."""
        return type(self).__name__.removesuffix("View")


class InOrderView(SimpleView):
    """The base class of views that show every element in row-major order."""

    def is_injective(self, thorough: bool = True) -> bool:
        return True

    def is_onto(self) -> bool:
        return True

    def keeps_order(self) -> bool:
        return True


@frozen_dataclass()
class AssumedView(InOrderView):
    """The tensor under the shape that it is assumed to have; the maker of the view must ensure that it has."""

    target: Shape

    @lazy
    def shape(self) -> Shape:
        return self.target

    @lazy
    def index_map(self) -> IndexMap:
        return IndexMap.identity(self.target)


@frozen_dataclass()
class IndexMapView(SimpleView):
    """The view by any index map, whose coordinates are taken to be inside the source."""

    map: IndexMap

    def __post_init__(self) -> None:
        if len(self.map.coordinates) != len(self.source):
            raise ShapeMismatch("the index map has another number of coordinates than the tensor dimensions",
                                op=self._name, operand="map", got=self.map,
                                expected=f"{len(self.source)} coordinates", help="IndexMap(shape, coordinates)")

    @lazy
    def shape(self) -> Shape:
        return self.map.shape

    @lazy
    def index_map(self) -> IndexMap:
        return self.map


@frozen_dataclass()
class BroadcastView(SimpleView):
    """The tensor repeated along new dimensions: those of the result (of shape ``target``) that are listed in ``axes``.

    The other dimensions are the source's, in order, else ShapeMismatch. A new dimension has stride 0.
    """

    target: Shape
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        axes = checked_axes(self.axes, len(self.target), self._name)
        put(self, "axes", tuple(sorted(axes)))
        kept = tuple([self.target[d] for d in self._kept])
        if len(kept) != len(self.source):
            raise ShapeMismatch("the source's dimensions and the new ones are not those of the result",
                                op=self._name, got=f"{len(self.source)} and {len(axes)} dimensions",
                                expected=f"{len(self.target)} in all, for {self.target}",
                                help="axes are those dimensions of the result that are new")
        for d, (length, wanted) in enumerate(zip(self.source, kept, strict=True)):
            _require_equal(self._name, length, wanted, f"dimension {d} keeps its length when it is broadcast", d)

    @lazy
    def _kept(self) -> tuple[int, ...]:
        return tuple([d for d in range(len(self.target)) if d not in self.axes])

    @lazy
    def shape(self) -> Shape:
        return self.target

    @lazy
    def index_map(self) -> IndexMap:
        symbols = indices(len(self.target))
        return IndexMap(self.target, tuple([symbols[d] for d in self._kept]))


@frozen_dataclass()
class PermuteView(SimpleView):
    """The dimensions in another order: dimension k of the view is dimension ``permutation[k]`` of the source."""

    permutation: tuple[int, ...]

    def __post_init__(self) -> None:
        order = checked_permutation(self.permutation, len(self.source), self._name)
        put(self, "permutation", order)

    @lazy
    def shape(self) -> Shape:
        return tuple([self.source[d] for d in self.permutation])

    @lazy
    def index_map(self) -> IndexMap:
        placed = dict(zip(self.permutation, indices(len(self.source)), strict=True))
        return IndexMap(self.shape, tuple([placed[d] for d in range(len(self.source))]))

    def is_injective(self, thorough: bool = True) -> bool:
        return True

    def is_onto(self) -> bool:
        return True

    def keeps_order(self) -> bool:
        long = [d for d in self.permutation if self.source[d] != 1]
        return long == sorted(long)


@frozen_dataclass()
class SliceView(SimpleView):
    """A range of positions of each dimension: ``ranges`` has a (start, extent, step) for each. A length stands for
    that many positions from the first.

    Element j is that of position ``start + j * step``. All positions must be known to be inside, else InvalidArgument;
    ``clip`` makes ranges of slices, as Python does.

    >>> SliceView((5, 3), (2, (2, 1, 1))).ranges
    ((0, 2, 1), (2, 1, 1))
    """

    ranges: tuple[Range, ...]

    def __post_init__(self) -> None:
        if len(self.ranges) != len(self.source):
            raise InvalidArgument("a slice has one range a dimension", op=self._name, operand="ranges",
                                  got=f"{len(self.ranges)} ranges", expected=f"{len(self.source)} ranges",
                                  help="(0, length, 1) is all of a dimension")
        checked = [checked_range(entry, length, f"dimension {d}", self._name)
                   for d, (entry, length) in enumerate(zip(self.ranges, self.source, strict=True))]
        put(self, "ranges", tuple(checked))

    @lazy
    def shape(self) -> Shape:
        return tuple([extent for _, extent, _ in self.ranges])

    @lazy
    def index_map(self) -> IndexMap:
        symbols = indices(len(self.source))
        return IndexMap(self.shape, tuple([start + symbol * step for symbol, (start, _, step) in
                                           zip(symbols, self.ranges, strict=True)]))

    def is_injective(self, thorough: bool = True) -> bool:
        return True


@frozen_dataclass()
class ReverseView(SimpleView):
    """The tensor reversed along the dimensions in ``axes``."""

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        put(self, "axes", checked_axes(self.axes, len(self.source), self._name))

    @lazy
    def shape(self) -> Shape:
        return self.source

    @lazy
    def index_map(self) -> IndexMap:
        symbols = indices(len(self.source))
        return IndexMap(self.source, tuple([length - 1 - symbol if d in self.axes else symbol for d, (symbol, length)
                                            in enumerate(zip(symbols, self.source, strict=True))]))

    def is_injective(self, thorough: bool = True) -> bool:
        return True

    def is_onto(self) -> bool:
        return True

    def keeps_order(self) -> bool:
        return all([self.source[d] == 1 for d in self.axes])


def _require_equal(op: str, got: DimLike, expected: DimLike, message: str, dimension: int) -> None:
    verdict = equal(got, expected)
    if verdict is not True:
        raise ShapeMismatch(message, op=op, operand=f"dimension {dimension}", got=got, expected=expected,
                            help="drop a length of 1 by a reshape, and list it among the new dimensions"
                            if verdict is False else "for some values of the symbols they differ")
