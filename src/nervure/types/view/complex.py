"""Complex views: tensors whose elements come from several others, ``y[i] = x[s(i)][f[s(i)](i)]``.

The selection s divides the view into boxes that do not overlap: its ``pieces``. Each has a place (``starts`` and
``extents``) and a content: an operand, through an index map over the box, or a constant.

>>> for piece in PadView((3,), ((1, 2),), value=7).pieces:
...     print(piece)
[0:1] = 7
[4:6] = 7
[1:4] = operand 0 at (%0) in (3,) -> (%0)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.support.lazy import lazy
from nervure.types.dim import DimLike, dim_max, dim_min, equal, less_equal
from nervure.types.frozen import frozen_dataclass, put
from nervure.types.index_map import IndexMap, indices
from nervure.types.shape import Shape, checked_axes
from nervure.types.view.padding import Padding, padded_shape


@frozen_dataclass(slots=True)
class Piece:
    """A box of a complex view and its content.

    For j in a domain of shape ``extents``, the view's element ``starts + j`` is ``operand``'s (a number from 0) at
    ``index_map(j)``; if ``operand`` is None it is ``constant``, and there is no map.
    """

    starts: tuple[DimLike, ...]
    extents: Shape
    operand: int | None = None
    index_map: IndexMap | None = None
    constant: complex = 0

    def __str__(self) -> str:
        box = ", ".join(f"{start}:{start + extent}" for start, extent in zip(self.starts, self.extents, strict=True))
        filling = self.constant if self.index_map is None else f"operand {self.operand} at {self.index_map}"
        return f"[{box}] = {filling}"


@frozen_dataclass()
class ComplexView:
    """The base class of complex views. ``sources`` are the shapes of the viewed tensors."""

    sources: tuple[Shape, ...]

    @lazy
    def shape(self) -> Shape:
        """The shape of the view."""
        raise NotImplementedError

    @lazy
    def pieces(self) -> tuple[Piece, ...]:
        """The boxes: together they cover the view, and no two overlap. Boxes known to be empty are left out."""
        raise NotImplementedError


@frozen_dataclass(init=False)
class PadView(ComplexView):
    """The tensor with constants around it: ``padding`` is a pair (before, after) for each dimension; negative ones cut
    off.

    Raises InvalidArgument if a length becomes negative.
    """

    padding: Padding
    value: complex

    def __init__(self, source: Shape, padding: Padding, value: complex = 0) -> None:
        put(self, "sources", (source,))
        put(self, "padding", padded_shape(source, padding)[0])
        put(self, "value", value)

    @lazy
    def shape(self) -> Shape:
        return padded_shape(self.sources[0], self.padding)[1]

    @lazy
    def pieces(self) -> tuple[Piece, ...]:
        first, last, coordinates = [], [], []
        dimensions = zip(self.shape, self.sources[0], self.padding, indices(len(self.shape)), strict=True)
        for length, own, (before, _), symbol in dimensions:
            start, stop = _within(before, length), _within(before + own, length)
            first.append(start)
            last.append(stop)
            coordinates.append(symbol + (start - before))
        extents = tuple([stop - start for start, stop in zip(first, last, strict=True)])
        inner = Piece(tuple(first), extents, 0, IndexMap(extents, tuple(coordinates)))
        borders = [Piece(starts, shape, constant=self.value) for starts, shape in _around(first, last, self.shape)]
        return tuple([piece for piece in (*borders, inner) if not _is_empty(piece.extents)])


@frozen_dataclass()
class ConcatenateView(ComplexView):
    """Tensors one after the other along ``axis``; all other lengths must be provably equal, else ShapeMismatch."""

    axis: int

    def __post_init__(self) -> None:
        if not self.sources:
            raise InvalidArgument("there is nothing to concatenate", op="Concatenate", operand="sources", got="none",
                                  expected="one tensor or more", help="an empty tensor is one, too")
        first = self.sources[0]
        if not first:
            raise ShapeMismatch("tensors without dimensions cannot be concatenated", op="Concatenate", operand=1,
                                got=first, expected="one dimension or more", help="stack them along a new dimension")
        put(self, "axis", checked_axes((self.axis,), len(first), "Concatenate")[0])
        for position, source in enumerate(self.sources):
            fits = len(source) == len(first) and all(
                d == self.axis or equal(a, b) is True for d, (a, b) in enumerate(zip(source, first, strict=True)))
            if not fits:
                raise ShapeMismatch(f"the tensors differ in more than dimension {self.axis}", op="Concatenate",
                                    operand=position + 1, got=source, expected=first,
                                    help="pad or slice them to one size, or concatenate along another dimension")

    @lazy
    def shape(self) -> Shape:
        length: DimLike = 0
        for source in self.sources:
            length = length + source[self.axis]
        first = self.sources[0]
        return (*first[:self.axis], length, *first[self.axis + 1:])

    @lazy
    def pieces(self) -> tuple[Piece, ...]:
        pieces, at = [], _zeros(self.shape)
        for number, source in enumerate(self.sources):
            if not _is_empty(source):
                pieces.append(Piece(tuple(at), source, number, IndexMap.identity(source)))
            at[self.axis] = at[self.axis] + source[self.axis]
        return tuple(pieces)


@frozen_dataclass()
class StackView(ComplexView):
    """Tensors of one shape stacked along new dimensions, at ``axes`` of the result, of lengths ``counts``. The tensors
    are numbered in row-major order over these. All shapes must be provably equal, else ShapeMismatch.

    >>> [piece.starts for piece in StackView(((5,),) * 4, (0, 2), (2, 2)).pieces]
    [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]
    """

    axes: tuple[int, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if math.prod(self.counts) != len(self.sources) or not self.sources:
            raise InvalidArgument("there are not as many tensors as places for them", op="Stack", operand="sources",
                                  got=len(self.sources), expected=f"{math.prod(self.counts)}, for {self.counts}",
                                  help="counts are the lengths of the new dimensions")
        rank = len(self.sources[0]) + len(self.axes)
        put(self, "axes", checked_axes(self.axes, rank, "Stack"))
        is_given = len(self.counts) == len(self.axes) and list(self.axes) == sorted(self.axes)
        if not is_given or any([count < 1 for count in self.counts]):
            raise InvalidArgument("each of the new dimensions, in ascending order, has a length", op="Stack",
                                  operand="counts", got=self.counts, expected=f"{len(self.axes)} lengths",
                                  help="axes count dimensions of the result")
        for position, source in enumerate(self.sources):
            if len(source) != rank - len(self.axes) or any(
                    equal(a, b) is not True for a, b in zip(source, self.sources[0], strict=True)):
                raise ShapeMismatch("only tensors of one shape can be stacked", op="Stack", operand=position + 1,
                                    got=source, expected=self.sources[0], help="pad or slice them to one shape")

    @lazy
    def shape(self) -> Shape:
        return self._with(self.counts)

    @lazy
    def pieces(self) -> tuple[Piece, ...]:
        extents, whole = self._with((1,) * len(self.counts)), indices(len(self.shape))
        part, zeros = IndexMap(extents, tuple([whole[d] for d in self._kept])), _zeros(self.sources[0])
        places = itertools.product(*[range(count) for count in self.counts])
        return () if _is_empty(extents) else tuple([
            Piece(self._with(place, zeros), extents, number, part) for number, place in enumerate(places)])

    @lazy
    def _kept(self) -> list[int]:
        return [d for d in range(len(self.sources[0]) + len(self.axes)) if d not in self.axes]

    def _with(self, new: Sequence[DimLike], old: Sequence[DimLike] | None = None) -> tuple[DimLike, ...]:
        """Arranges the entries of the new dimensions among those of the old ones (absent: the source's shape)."""
        entries: dict[int, DimLike] = dict(zip(self._kept, self.sources[0] if old is None else old, strict=True))
        entries.update(zip(self.axes, new, strict=True))
        return tuple([entries[d] for d in range(len(entries))])


def _within(position: DimLike, length: DimLike) -> DimLike:
    return dim_min(dim_max(position, 0), length)


def _around(first: Sequence[DimLike], last: Sequence[DimLike],
            shape: Shape) -> Iterator[tuple[tuple[DimLike, ...], Shape]]:
    """Yields (starts, extents) of the boxes around an inner box: for each dimension the slabs before and after it.
    They have the inner box's extent in earlier dimensions, and the whole extent in later ones.
    """
    inside = [stop - start for start, stop in zip(first, last, strict=True)]
    for d, length in enumerate(shape):
        behind = _zeros(shape[d + 1:])
        yield (*first[:d], 0, *behind), (*inside[:d], first[d], *shape[d + 1:])
        yield (*first[:d], last[d], *behind), (*inside[:d], length - last[d], *shape[d + 1:])


def _zeros(shape: Sequence[DimLike]) -> list[DimLike]:
    return [0] * len(shape)


def _is_empty(extents: Shape) -> bool:
    return any(less_equal(extent, 0) is True for extent in extents)
