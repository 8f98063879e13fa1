"""Layouts: the place in memory of each element of an l-tensor.

Memory is a tensor of one dimension. A layout maps an index to the place ``offset + sum(strides[d] * index[d])``,
counted in elements. ``sizes`` are the lengths that were allocated; past the shape they are padding, for alignment.

>>> row_major((5, 3, 2)).strides, column_major((5, 3, 2)).strides
((6, 2, 1), (1, 5, 15))
>>> padded = row_major((2, 3), sizes=(2, 4))
>>> padded.strides, padded.place((1, -1), shape=(2, 3)), padded.is_contiguous((2, 3))
((4, 1), 6, False)
>>> collapse((4, 5, 6), row_major((4, 5, 6)), row_major((4, 5, 6), sizes=(4, 5, 8)))
((0, 1), (2,))
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import mul
from typing import Literal

from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.types.dim import DimLike, equal, less_equal, product
from nervure.types.frozen import frozen_dataclass, put
from nervure.types.shape import Shape, at_least, check_index, checked_dim, checked_permutation, checked_shape


@frozen_dataclass(slots=True)
class Layout:
    """Strides and offset, in elements, and the allocated sizes.

    Entries are ints or Dims; strides may be negative or 0. ``sizes`` is None if the layout was not allocated but
    derived from another one, as that of a slice.
    """

    strides: tuple[DimLike, ...]
    offset: DimLike = 0
    sizes: Shape | None = None

    def __post_init__(self) -> None:
        put(self, "strides", _checked_strides(self.strides))
        put(self, "offset", checked_dim(self.offset, "Layout"))
        if self.sizes is None:
            return
        put(self, "sizes", checked_shape(self.sizes, op="Layout"))
        if len(self.sizes) != len(self.strides):
            raise InvalidArgument("a layout has one size and one stride a dimension", op="Layout",
                                  got=f"{len(self.sizes)} sizes", expected=f"{len(self.strides)} sizes")

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.strides)

    def __str__(self) -> str:
        offset = "" if self.offset == 0 else f", offset {self.offset}"
        return f"strides {self.strides}{offset}"

    def place(self, index: Sequence[DimLike], shape: Sequence[DimLike] | None = None) -> DimLike:
        """Returns the place of an element in memory, counted in elements.

        With ``shape`` the index is checked against it (IndexOutOfRange) and may be negative, from the end; without,
        its entries may be symbolic.
        """
        if shape is not None:
            index = check_index(index, shape)  # type: ignore[arg-type]  # it checks that the entries are ints
        self._check_rank(index, "place", "index")
        place = self.offset
        for stride, entry in zip(self.strides, index, strict=True):
            place = place + stride * entry
        return place

    def permuted(self, permutation: Iterable[int]) -> Layout:
        """Returns the layout whose dimension k is this one's ``permutation[k]``."""
        order = checked_permutation(permutation, self.rank, "Layout.permuted")
        sizes = None if self.sizes is None else tuple([self.sizes[d] for d in order])
        return Layout(tuple([self.strides[d] for d in order]), self.offset, sizes)

    def is_contiguous(self, shape: Sequence[DimLike], order: Literal["row", "column"] = "row") -> bool | None:
        """Whether a walk in row-major (``order="column"``: column-major) order goes from each place to the next.

        True, False, or None where it is unknown, or depends on symbols.
        """
        if order not in ("row", "column"):
            raise InvalidArgument("there is no such order", op="Layout.is_contiguous", operand="order",
                                  got=repr(order),
                                  expected="'row' or 'column'", help=did_you_mean(order, ["row", "column"]))
        lengths = tuple(shape)
        self._check_rank(lengths, "is_contiguous")
        dense = column_major(lengths) if order == "column" else row_major(lengths)
        return _alike(lengths, self.strides, dense.strides)

    def walks_like(self, other: Layout, shape: Sequence[DimLike]) -> bool | None:
        """Whether one walk serves both layouts, at a fixed distance between their places: True, False or None."""
        self._check_rank(shape, "walks_like")
        other._check_rank(shape, "walks_like")
        return _alike(shape, self.strides, other.strides)

    def _check_rank(self, entries: Sequence[DimLike], op: str, operand: str = "shape") -> None:
        if len(entries) != self.rank:
            raise InvalidArgument(f"the layout is for {self.rank} dimensions", op=f"Layout.{op}", operand=operand,
                                  got=tuple(entries), expected=f"{self.rank} entries")


def row_major_position(index: Iterable[DimLike], lengths: Iterable[DimLike]) -> DimLike:
    """Returns the number of an index in row-major order.

    >>> row_major_position((1, 2), (3, 4))
    6
    """
    position: DimLike = 0
    for entry, length in zip(index, lengths, strict=True):
        position = position * length + entry
    return position


def _checked_strides(strides: Iterable[DimLike]) -> tuple[DimLike, ...]:
    try:
        entries = tuple(strides)
    except TypeError:
        raise WrongKind("strides are a sequence", op="Layout", operand="strides", got=repr(strides),
                        expected="an int or a symbolic dimension for each dimension",
                        help="one stride is written (3,)") from None
    return tuple([entry if type(entry) is int else checked_dim(entry, "Layout") for entry in entries])


def _alike(shape: Sequence[DimLike], left: Sequence[DimLike], right: Sequence[DimLike]) -> bool | None:
    """Whether two sets of strides walk the shape alike. A dimension of one position has no steps."""
    if any(type(length) is int and length == 0 for length in shape):
        return True
    verdicts = set()
    for length, first, second in zip(shape, left, right, strict=True):
        if _is_one(length):
            continue
        verdict = equal(first, second)
        verdicts.add(None if verdict is False and not at_least(length, 2) else verdict)
    if False in verdicts and all(at_least(length, 1) for length in shape):
        return False
    return True if verdicts <= {True} else None


def _is_one(length: DimLike) -> bool:
    return type(length) is int and length == 1


def _allocated(shape: Iterable[DimLike], sizes: Iterable[DimLike] | None, op: str) -> Shape:
    lengths = checked_shape(shape, op=op)
    if sizes is None:
        return lengths
    allocated = checked_shape(sizes, op=op)
    fits = [less_equal(length, size) is True for length, size in zip(lengths, allocated, strict=False)]
    if len(allocated) != len(lengths) or not all(fits):
        raise InvalidArgument("the allocated sizes do not hold the shape", op=op, operand="sizes", got=allocated,
                              expected=f"sizes of {lengths} or more")
    return allocated


def row_major(shape: Iterable[DimLike], sizes: Iterable[DimLike] | None = None) -> Layout:
    """Returns the layout whose last index moves fastest: strides are the products of the sizes to the right.

    ``sizes`` (the shape, if absent) must be known to be at least the shape, else InvalidArgument.
    """
    allocated = _allocated(shape, sizes, "row_major")
    strides = list(accumulate(allocated[:0:-1], mul, initial=1)) if allocated else []
    return Layout(tuple(reversed(strides)), 0, allocated)


def column_major(shape: Iterable[DimLike], sizes: Iterable[DimLike] | None = None) -> Layout:
    """Returns the layout whose first index moves fastest: strides are the products of the sizes to the left; else as
    ``row_major``.
    """
    allocated = _allocated(shape, sizes, "column_major")
    strides = list(accumulate(allocated[:-1], mul, initial=1)) if allocated else []
    return Layout(tuple(strides), 0, allocated)


def dense(shape: Sequence[DimLike], order: Iterable[int]) -> Layout:
    """Returns a layout without gaps, with the dimensions in this ``order``: the last one listed moves fastest.

    >>> dense((2, 3, 5), (2, 0, 1)).strides
    (3, 1, 6)
    """
    positions = checked_permutation(order, len(shape), "dense")
    packed = row_major([shape[d] for d in positions])
    return packed.permuted([positions.index(d) for d in range(len(shape))])


def order_of(layout: Layout, shape: Sequence[DimLike]) -> tuple[int, ...] | None:
    """Returns the order for which ``dense`` gives a shape this layout's places. None for gaps, steps backwards or an
    offset, and for symbolic strides that are neither row-major nor column-major.

    >>> order_of(column_major((2, 3)), (2, 3)), order_of(Layout((4, 1)), (2, 3))
    ((1, 0), None)
    """
    if layout.offset != 0:
        return None
    counted = range(layout.rank)
    strides = [stride for stride in layout.strides if type(stride) is int]
    orders: list[Sequence[int]] = [counted, counted[::-1]]
    if len(strides) == layout.rank:
        orders.append(sorted(counted, key=lambda d: (not _is_one(shape[d]), -strides[d])))  # one position has no steps
    return next((tuple(order) for order in orders if layout.walks_like(dense(shape, order), shape)), None)


def memory_of(layout: Layout, shape: Sequence[DimLike]) -> tuple[int, ...] | Layout | None:
    """Returns the dimensions from the slowest to the fastest in memory, or the layout with its sizes if there are
    gaps. None if some index has no element of its own.

    >>> memory_of(Layout((1, 3)), (3, 2)), memory_of(Layout((1, 4)), (3, 2)).sizes, memory_of(Layout((0,)), (3,))
    ((1, 0), (4, 2), None)
    """
    order = order_of(layout, shape)
    if order is not None and layout.sizes in (None, tuple(shape)):
        return order
    padded = padded_of(layout, shape)
    return order if padded is None else padded


def padded_of(layout: Layout, shape: Sequence[DimLike]) -> Layout | None:
    """Returns the layout with its allocated sizes if these hold the shape and each index has its own element. The
    elements of a row are adjacent, and rows may have gaps between them. None for other layouts.

    >>> padded_of(Layout((1, 4)), (3, 2)), padded_of(Layout((2,)), (3,))
    (Layout(strides=(1, 4), offset=0, sizes=(4, 2)), None)
    """
    lengths = [length for length in shape if type(length) is int]
    strides = [stride for stride in layout.strides if type(stride) is int]
    if not layout.rank == len(lengths) == len(strides) or layout.offset != 0 or 0 in lengths:
        return None
    order = sorted(range(layout.rank), key=lambda d: (-strides[d], d))
    sizes = list(lengths if layout.sizes is None else layout.sizes)
    for outer, inner in itertools.pairwise(order):
        if strides[inner] <= 0 or strides[outer] % strides[inner]:
            return None
        sizes[inner] = strides[outer] // strides[inner]
    fits = all([type(size) is int and size >= length for size, length in zip(sizes, lengths, strict=True)])
    return Layout(layout.strides, 0, tuple(sizes)) if fits and order and strides[order[-1]] == 1 else None


def collapse(shape: Sequence[DimLike], *layouts: Layout) -> tuple[tuple[int, ...], ...]:
    """Groups neighbouring dimensions that are walked as one in all layouts: a step of the outer is a whole walk of the
    inner. Dimensions of length 1 join any group. Unknown conditions count as false.

    >>> collapse((4, 1, 5), Layout((5, 77, 1)), Layout((0, 0, 0)))
    ((0, 1, 2),)
    """
    groups: list[list[int]] = []
    inner: int | None = None  # the innermost dimension of the last group whose length is not 1
    for d, length in enumerate(shape):
        is_single = _is_one(length)
        joins = is_single or inner is None or all(
            equal(layout.strides[inner], layout.strides[d] * length) is True for layout in layouts)
        if groups and joins:
            groups[-1].append(d)
        else:
            groups.append([d])
        if not is_single:
            inner = d
    return tuple([tuple(group) for group in groups])


def collapsed(shape: Sequence[DimLike], groups: Sequence[Sequence[int]], layout: Layout) -> tuple[Shape, Layout]:
    """Returns the shape and the layout in which each group of ``collapse`` is one dimension."""
    lengths: list[DimLike] = []
    strides: list[DimLike] = []
    for group in groups:
        moving = [d for d in group if not _is_one(shape[d])]
        lengths.append(product([shape[d] for d in moving]))
        strides.append(layout.strides[moving[-1]] if moving else 1)
    return tuple(lengths), Layout(tuple(strides), layout.offset)
