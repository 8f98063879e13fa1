"""Reshapes: the same elements, in the same row-major order, under another shape.

>>> ReshapeView((2, 3, 4), (6, 4)).index_map.coordinates
(%0//3, %0 % 3, %1)
>>> FlattenView((32, 32, 128), ((32, 32), 128)).shape
(1024, 128)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nervure.errors import ShapeMismatch
from nervure.support.lazy import lazy
from nervure.types.dim import DimLike, equal, less_equal, product, same_lengths, simplify
from nervure.types.frozen import frozen_dataclass
from nervure.types.index_map import IndexMap, index_ranges, indices
from nervure.types.layout import Layout, collapse, collapsed, row_major, row_major_position
from nervure.types.shape import Shape, checked_shape
from nervure.types.view.simple import InOrderView


@frozen_dataclass()
class ReshapeView(InOrderView):
    """The elements in the same row-major order under another shape of the same size (else ShapeMismatch).

    Sizes that depend on symbols must be provably equal. Runs of corresponding dimensions are found, so that a part of
    the shape that does not change costs nothing.
    """

    target: Shape

    def __post_init__(self) -> None:
        checked_shape(self.target, op=self._name)
        if self.source == self.target:
            return
        size, wanted = product(self.source), product(self.target)
        verdict = equal(size, wanted)
        if verdict is not True:
            why = "the sizes differ" if verdict is False else "the sizes are not known to be equal"
            raise ShapeMismatch(f"{why}: {size} and {wanted} elements", op=self._name, got=self.source,
                                expected=self.target, help="the product of the lengths must stay")

    @lazy
    def shape(self) -> Shape:
        return self.target

    @lazy
    def groups(self) -> tuple[tuple[range, range], ...]:
        """Pairs of runs of dimensions, of the source and of the view, that hold the same elements."""
        return tuple(_matching_runs(self.source, self.target))

    @lazy
    def index_map(self) -> IndexMap:
        if 0 in (*self.source, *self.target):
            return IndexMap(self.target, (0,) * len(self.source))  # no index exists
        symbols, ranges = indices(len(self.target)), index_ranges(self.target)
        coordinates: list[DimLike] = []
        for ours, theirs in self.groups:
            entries = [0 if self.target[d] == 1 else symbols[d] for d in theirs]
            place = row_major_position(entries, [self.target[d] for d in theirs])
            digits = _digits(place, [self.source[d] for d in ours])
            is_simple = len(ours) == 1 or len(theirs) == 1
            coordinates += digits if is_simple else [simplify(digit, ranges) for digit in digits]
        return IndexMap(self.target, tuple(coordinates))

    def layout(self, base: Layout) -> Layout | None:
        """Returns the layout of the view; None if a run of dimensions that is divided anew does not walk as one."""
        strides: list[DimLike] = []
        for ours, theirs in self.groups:
            lengths = [self.source[d] for d in ours]
            run = Layout(tuple([base.strides[d] for d in ours]))
            if len(collapse(lengths, run)) > 1:
                return None
            _, whole = collapsed(lengths, collapse(lengths, run), run)
            step = whole.strides[0] if whole.strides else 1
            strides += [stride * step for stride in row_major([self.target[d] for d in theirs]).strides]
        return Layout(tuple(strides), base.offset)


class FlattenView(ReshapeView):
    """A reshape that joins several dimensions into one: ``nested`` is the source's shape with the joined ones as
    sub-tuples.

    >>> FlattenView((2, 3, 4), (2, (3, 4))).index_map.coordinates
    (%0, %1//4, %1 % 4)
    """

    def __init__(self, source: Shape, nested: Sequence[object]) -> None:
        entries = [entry if isinstance(entry, (tuple, list)) else (entry,) for entry in nested]
        promoted = checked_shape([length for entry in entries for length in entry], op="Flatten")
        if not same_lengths(promoted, source):
            raise ShapeMismatch("the nested shape, without its nesting, is not the tensor's shape", op="Flatten",
                                operand="nested", got=tuple(nested), expected=source,
                                help="nest the lengths that it has")
        super().__init__(source, tuple([product(entry) for entry in entries]))


def _digits(place: DimLike, lengths: Sequence[DimLike]) -> list[DimLike]:
    """Returns the index of a row-major position. The leading entry needs no remainder."""
    digits: list[DimLike] = []
    is_leading = True
    for length, stride in zip(lengths, row_major(lengths).strides, strict=True):
        if length == 1:
            digits.append(0)
            continue
        digits.append(place // stride if is_leading else place // stride % length)
        is_leading = False
    return digits


def _matching_runs(source: Shape, target: Shape) -> Iterator[tuple[range, range]]:
    """Yields the shortest runs of equal size, from the left; the last takes the rest."""
    i = j = 0
    while i < len(source) and j < len(target):
        first_i, first_j = i, j
        ours, theirs = source[i], target[j]
        i, j = i + 1, j + 1
        while ours != theirs and (i < len(source) or j < len(target)):
            if i < len(source) and (j == len(target) or _is_part(ours, theirs) or not _is_part(theirs, ours)):
                ours, i = ours * source[i], i + 1
            else:
                theirs, j = theirs * target[j], j + 1
        yield range(first_i, i), range(first_j, j)
    if i < len(source) or j < len(target):
        yield range(i, len(source)), range(j, len(target))


def _is_part(size: DimLike, other: DimLike) -> bool:
    """Whether a size is known to be the smaller one, or to divide the other."""
    if isinstance(size, int) and isinstance(other, int):
        return size < other
    return (size != 0 and other % size == 0) or less_equal(size, other) is True
