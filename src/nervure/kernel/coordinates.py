"""Coordinates of elements as expressions over loop indices.

A point is a tuple of coordinates, one for each dimension, or ``Flat``: a position in row-major order, which reshapes
preserve.

>>> from nervure.types.dim import index
>>> through(Flat(index(0)), (4, 6)), position((index(0), 3), (4, 6)), without_ones((index(0), 0), (4, 1), (1, 4))
((%0//6, %0 % 6), 6*%0 + 3, (0, %0))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.kernel.ir import Address, Scalar
from nervure.kernel.loop_index import LoopIndex
from nervure.types.dim import DimLike, affine, simplify, substitute
from nervure.types.index_map import IndexMap, Ranges, indices
from nervure.types.layout import row_major
from nervure.types.shape import Shape


class Flat(NamedTuple):
    """A position in row-major order."""

    position: DimLike


Coordinates = tuple[DimLike, ...]
Point = Coordinates | Flat


def compose(map: IndexMap, coordinates: Coordinates) -> Coordinates:
    """Maps the coordinates of a view's element to those of the viewed tensor's element."""
    if not map.coordinates:
        return ()
    whole: dict[DimLike, int] = {symbol: k for k, symbol in enumerate(indices(len(coordinates)))}
    found: list[DimLike] = []
    for entry in map.coordinates:
        found.append(coordinates[whole[entry]] if entry in whole else at_coordinates(entry, coordinates))
    return tuple(found)


def at_coordinates(x: DimLike, coordinates: Coordinates) -> DimLike:
    """Returns the value of an expression over the indices of a domain at a point of it."""
    return substitute(x, {str(symbol): entry for symbol, entry in zip(indices(len(coordinates)), coordinates,
                                                                     strict=True)})


def without_ones(coordinates: Coordinates, shape: Shape, other: Shape) -> Coordinates | None:
    """Returns the same point in a tensor of another shape, if they differ only in lengths of 1."""
    rest = [entry for entry, length in zip(coordinates, shape, strict=True) if length != 1]
    if [length for length in shape if length != 1] != [length for length in other if length != 1]:
        return None
    remaining = iter(rest)
    return tuple([0 if length == 1 else next(remaining) for length in other])


def reshaped(point: Point, shape: Shape, other: Shape) -> Point:
    """Returns where the element at a point of a ``shape`` lies in a tensor that is reshaped to another one."""
    if isinstance(point, Flat) or shape == other:
        return point
    same = without_ones(point, shape, other)
    return Flat(position(point, shape)) if same is None else same


def position(point: Point, shape: Shape) -> DimLike:
    """Returns the position of a point in row-major order."""
    if isinstance(point, Flat):
        return point.position
    total: DimLike = 0
    for entry, stride in zip(point, row_major(shape).strides, strict=True):
        total = total + entry * stride
    return total


def through(point: Point, shape: Shape, ranges: Ranges | None = None) -> Coordinates:
    """Returns the coordinates of a point in a tensor of this shape."""
    if not isinstance(point, Flat):
        return point
    if 0 in shape:
        return (0,) * len(shape)  # no point exists
    found: list[DimLike] = []
    for axis, (length, stride) in enumerate(zip(shape, row_major(shape).strides, strict=True)):
        if length == 1:
            found.append(0)
            continue
        digit = point.position // stride
        if any([entry != 1 for entry in shape[:axis]]):
            digit = digit % length
        found.append(digit if ranges is None else simplify(digit, ranges))
    return tuple(found)


def address(offset: DimLike, indices: Sequence[LoopIndex], ranges: Ranges,
            extra: tuple[tuple[DimLike, Scalar], ...] = ()) -> Address:
    """Returns an offset in elements as an address: affine in the loop indices if that is possible."""
    if isinstance(offset, int) or not (used := [index for index in indices if index.occurs_in(offset)]):
        return Address(offset, (), extra)
    names = [index.name for index in used]
    parts = affine(offset, names)
    if parts is None:
        offset = simplify(offset, ranges)
        parts = affine(offset, names)
    if parts is None:
        return Address(offset, (), extra)
    steps = tuple([(index, parts[0][index.name]) for index in used if parts[0][index.name] != 0])
    return Address(parts[1], steps, extra)
