"""Padding with the tensor's own elements: a simple view, whose index is folded back where it leaves the tensor.

With t the position before the padding (negative in front, n or more behind) and n the length, element t is that of

* ``edge``: ``min(max(t, 0), n - 1)``, the last element again and again;
* ``wrap``: ``t % n``, the tensor repeated;
* ``reflect``: t folded with period 2(n - 1), the mirror standing on the last element;
* ``symmetric``: t folded with period 2n, the mirror standing behind the last element.

>>> import numpy as np
>>> FoldedPadView((5,), ((2, 1),), "reflect").index_map.take(np.arange(5)).tolist()
[2, 1, 0, 1, 2, 3, 4, 3]
"""

from __future__ import annotations

from collections.abc import Iterable

from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind, did_you_mean
from nervure.support.lazy import lazy
from nervure.types.dim import DimLike, dim_max, dim_min, less_equal, simplify
from nervure.types.frozen import frozen_dataclass, put
from nervure.types.index_map import IndexMap, index_ranges, indices
from nervure.types.shape import Shape, checked_dim, checked_shape
from nervure.types.view.simple import SimpleView

Padding = tuple[tuple[DimLike, DimLike], ...]
"""(before, after) for each dimension; negative amounts cut off."""


def padded_shape(source: Shape, padding: Iterable[tuple[DimLike, DimLike]]) -> tuple[Padding, Shape]:
    """The padding as a tuple of pairs, and the shape it gives. InvalidArgument unless there is a pair a dimension,
    ShapeMismatch where a length would be negative.
    """
    try:
        pairs = tuple([(checked_dim(before, "Pad"), checked_dim(after, "Pad")) for before, after in padding])
    except (TypeError, ValueError):
        raise WrongKind("a padding is a pair (before, after) for each dimension", op="Pad", operand="padding",
                        got=padding, expected="pairs of ints",
                        help="for the same on both sides repeat it: (1, 1)") from None
    if len(pairs) != len(source):
        raise InvalidArgument("a padding has one pair a dimension", op="Pad", operand="padding",
                              got=f"{len(pairs)} pairs", expected=f"{len(source)} pairs",
                              help="(0, 0) leaves a dimension as it is")
    shape = [length + before + after for length, (before, after) in zip(source, pairs, strict=True)]
    for d, length in enumerate(shape):
        if less_equal(length, -1) is True:
            raise ShapeMismatch("more is cut off than there is", op="Pad", operand=f"dimension {d}",
                                got=f"a length of {length}: {source[d]} with a padding of {pairs[d]}",
                                expected="a length of 0 or more", help="a slice is clipped: x[1:-1]")
    return pairs, checked_shape(shape, op="Pad")


def _edge(t: DimLike, n: DimLike, is_near: bool) -> DimLike:
    return dim_min(dim_max(t, 0), n - 1)


def _wrap(t: DimLike, n: DimLike, is_near: bool) -> DimLike:
    return t % n


def _reflect(t: DimLike, n: DimLike, is_near: bool) -> DimLike:
    if n == 1:
        return 0
    back = 2 * (n - 1)
    once = dim_max(t, -t) if is_near else t % back
    return dim_min(once, back - once)


def _symmetric(t: DimLike, n: DimLike, is_near: bool) -> DimLike:
    once = dim_max(t, -t - 1) if is_near else t % (2 * n)
    return dim_min(once, 2 * n - 1 - once)


FOLDS = {"edge": _edge, "reflect": _reflect, "symmetric": _symmetric, "wrap": _wrap}
"""The places inside of x that those outside of it show, by the name of the mode."""


@frozen_dataclass()
class FoldedPadView(SimpleView):
    """The tensor with ``padding`` in each dimension, filled according to ``mode``, as NumPy's pad does.

    Negative padding cuts off. A dimension known to be empty cannot be padded: InvalidArgument.
    """

    padding: Padding
    mode: str

    def __post_init__(self) -> None:
        if self.mode not in FOLDS:
            raise InvalidArgument("there is no such mode of padding", op="Pad", operand="mode", got=repr(self.mode),
                                  expected=", ".join(FOLDS), help=did_you_mean(self.mode, [*FOLDS, "constant"]))
        padding, shape = padded_shape(self.source, self.padding)
        put(self, "padding", padding)
        for d, (length, result) in enumerate(zip(self.source, shape, strict=True)):
            if less_equal(length, 0) is True and less_equal(result, 0) is not True:
                raise InvalidArgument("an empty dimension has no elements to be padded with", op="Pad",
                                      operand=f"dimension {d}", got=self.source, expected="one element or more",
                                      help='use mode="constant"')

    @lazy
    def shape(self) -> Shape:
        return padded_shape(self.source, self.padding)[1]

    @lazy
    def index_map(self) -> IndexMap:
        ranges = index_ranges(self.shape)
        coordinates: list[DimLike] = []
        for symbol, length, pair in zip(indices(len(self.source)), self.source, self.padding, strict=True):
            if pair == (0, 0):
                coordinates.append(symbol)
                continue
            if type(length) is int and length == 0:
                coordinates.append(0)  # for no index at all
                continue
            # One mirror at either end is enough where neither padding is longer than the tensor.
            reach = length - 1 if self.mode == "reflect" else length
            is_near = all(less_equal(amount, reach) is True for amount in pair)
            coordinates.append(simplify(FOLDS[self.mode](symbol - pair[0], length, is_near), ranges))
        return IndexMap(self.shape, tuple(coordinates))
