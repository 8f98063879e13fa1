"""Images between their places: elements at coordinates that are numbers, which tensors hold.

>>> import nervure as nv
>>> x = nv.constant([[[[1., 2.], [3., 4.]]]])
>>> middle = nv.zeros((1, 1, 1, 2))
>>> nv.grid_sample(x, middle).tolist()
[[[[2.5]]]]
>>> half = nv.constant([[[0.5, 0., 0.], [0., 0.5, 0.]]])
>>> nv.grid_sample(x, nv.affine_grid(half, [2, 2])).tolist()
[[[[1.75, 2.25], [2.75, 3.25]]]]

Each of the few elements around a place is gathered; no product with a matrix of weights is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as combinations
from typing import NamedTuple

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, shown
from nervure.front import alignment
from nervure.front.argument_parsing import integer, members, one_of, positions_of, truth
from nervure.front.arranging.filled import iota
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.views import along_axis, expand_dims, permuted, reshape
from nervure.front.creation import as_tensor, read_axes
from nervure.front.evaluation_order import in_order
from nervure.front.images.sampling import cubic_weights
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    equal,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    maximum,
    multiply,
    subtract,
)
from nervure.front.pointwise.elementwise import as_floats, clip, convert, where
from nervure.front.pointwise.elementwise import round as nearest
from nervure.front.promotion import promote
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.dim import Dim, DimLike, product
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import DType, int32, int64

__all__ = ["affine_grid", "grid_sample"]

MODES = ("nearest", "linear", "cubic")
OUTSIDE = ("zeros", "border", "reflection")


@in_order
def grid_sample(x: TensorLike, grid: TensorLike, mode: str = "linear", padding: str = "zeros",
                align_corners: bool = False, places: AxesLike | None = None) -> Tensor:
    """Takes the elements of x at the coordinates in the last axis of ``grid``, which go from -1 to 1 along each axis of
    ``places``.

    The first coordinate is for the last place, as (x, y) is for (H, W). -1 and 1 are the outer edges of the first and
    the last element, or with ``align_corners`` their centres. ``mode`` is "nearest", "linear" or "cubic"; outside of x
    are "zeros", its "border" element, or its "reflection". The numbers are those of PyTorch's ``grid_sample``.

    Without names x is (N, C, places) and grid (N, lengths, coordinates); the result is (N, C, lengths). With names,
    axes that x and grid share go together, and the others of grid replace the places. Derivatives go to x and to grid.
    Raises InvalidArgument for an unknown mode, ShapeMismatch for another number of coordinates.

    >>> x = nv.constant([[1., 2., 4.]], "N=1, W=3")
    >>> nv.grid_sample(x, nv.constant([[[0.0], [0.5]]], "N=1, T=2, D=1"), places="W", align_corners=True).tolist()
    [[2.0, 3.0]]
    """
    one_of(mode, MODES, "grid_sample", "mode", "'linear' interpolates along each axis")
    one_of(padding, OUTSIDE, "grid_sample", "padding", "'zeros' is usual")
    has_ends = truth(align_corners, "grid_sample", "align_corners")
    own = as_tensor(x, "grid_sample") if mode == "nearest" else as_floats(x, "grid_sample")
    where_to = as_floats(grid, "grid_sample", 2)
    plan = _planned(own, where_to, places)
    value, points = permuted(Tensor(own.value), plan.order), permuted(Tensor(where_to.value), plan.grid_order)
    points = convert(points, promote([entry.dtype.compute for entry in (points, own) if entry.dtype.is_float]))
    lengths = [own.type.shape[at] for at in plan.places]
    coordinates = [_in_elements(points[..., len(lengths) - 1 - k], length, has_ends)
                   for k, length in enumerate(lengths)]
    found = sampled(value, plan.batch, coordinates, mode, padding, has_ends, rest_first=plan.rest_first)
    return Tensor(permuted(found, plan.result).value, plan.axes)


class _Plan(NamedTuple):
    """The dimensions of x as (batch, places, rest), those of the grid as (batch, own, coordinates), and of the result.

    The result has (batch, own, rest). Where the rest of x lies in front of its places, it does so in all of them.
    """

    batch: int
    places: list[int]
    rest_first: bool
    order: list[int]
    grid_order: list[int]
    result: list[int]
    axes: Axes | None


def _planned(x: Tensor, grid: Tensor, places: AxesLike | None) -> _Plan:
    """Returns how axes of x and of the grid go together; AxisMismatch or ShapeMismatch where that is not clear."""
    if x.is_named != grid.is_named:
        raise AxisMismatch("the tensor and the grid must both be named, or neither", op="grid_sample", operand=2,
                           got=f"{x.axes} and {grid.axes}", expected="names on both, or on none",
                           help="nv.cast_axes(x, axes) gives it names")
    if places is None and (x.is_named or x.ndim < 3):
        raise InvalidArgument("the places are missing", op="grid_sample", operand="places", got=str(x.axes),
                              expected="some of its axes", help='places=["H", "W"]; without names x is (N, C, places)')
    spatial = list(range(2, x.ndim)) if places is None else list(positions_of(x, places, "grid_sample"))
    if grid.ndim < 1 or grid.type.shape[-1] != len(spatial):
        raise ShapeMismatch("a grid has a coordinate for each place", op="grid_sample", operand="grid",
                            got=str(grid.type), expected=f"{len(spatial)} as its last length",
                            help="coordinates are the last axis: (x, y) for places (H, W)")
    others = [at for at in range(x.ndim) if at not in spatial]
    if x.is_named:
        rest = Axes([x.axes[at] for at in others])
        shared = {here: others[there] for here, there in alignment.pairing(Axes(grid.axes[:-1]), rest).items()}
    else:
        shared = {0: others[0]} if grid.ndim > 1 and others else {}
        _check_batch(x, grid, shared)
    batch = sorted(shared, key=shared.__getitem__)
    own = [at for at in range(grid.ndim - 1) if at not in shared]
    alone = [at for at in others if at not in shared.values()]
    sources = {shared[here]: [k] for k, here in enumerate(batch)}
    rest_first = bool(alone) and max(alone) < min(spatial)
    first = len(batch) + len(alone) * rest_first
    sources |= {at: [len(batch) + len(own) * (not rest_first) + k] for k, at in enumerate(alone)}
    sources[min(spatial)] = [first + k for k in range(len(own))]
    result = [source for at in range(x.ndim) for source in sources.get(at, [])]
    axes = None
    if x.is_named:
        parts = [[grid.axes[at] for at in own], [x.axes[at] for at in alone]]
        made = [x.axes[shared[here]] for here in batch] + sum(reversed(parts) if rest_first else parts, [])
        axes = Axes([made[source] for source in result])
    order = [*alone, *spatial] if rest_first else [*spatial, *alone]
    return _Plan(len(batch), spatial, rest_first, [*[shared[here] for here in batch], *order],
                 [*batch, *own, grid.ndim - 1], result, axes)


def _check_batch(x: Tensor, grid: Tensor, shared: Mapping[int, int]) -> None:
    for here, there in shared.items():
        if equal_lengths(grid.type.shape[here], x.type.shape[there]) is False:
            raise ShapeMismatch("the grid has another batch", op="grid_sample", operand="grid", got=str(grid.type),
                                expected=f"{x.type.shape[there]} as its first length",
                                help="nv.broadcast_to(grid, shape) makes one grid for all")


def affine_grid(theta: TensorLike, lengths: object, align_corners: bool = False) -> Tensor:
    """Returns the grid at which ``nv.grid_sample`` shows an image that the matrices ``theta`` map: for each place,
    ``theta`` times its coordinates and 1.

    theta is (N, d, d + 1); ``lengths`` has d lengths, as in ``[H, W]``, or maps axes to them. The result is (N,
    lengths, d). Coordinates, whose first one is for the last length, and ``align_corners`` are those of
    ``grid_sample``. With names, the last two axes of theta are the matrix.

    >>> nv.affine_grid([[[1., 0., 0.5], [0., 1., 0.]]], [1, 2]).tolist()
    [[[[0.0, 0.0], [1.0, 0.0]]]]
    """
    own, has_ends = as_floats(theta, "affine_grid"), truth(align_corners, "affine_grid", "align_corners")
    given = lengths.values() if isinstance(lengths, Mapping) else members(lengths, "affine_grid", "lengths")
    sizes = [length if isinstance(length, Dim) else integer(length, "affine_grid", "lengths", least=1)
             for length in given]
    count = len(sizes)
    if own.ndim < 2 or own.type.shape[-2:] != (count, count + 1) or not count:
        raise ShapeMismatch("a matrix has a row for each length, and a column more", op="affine_grid", operand="theta",
                            got=str(own.type), expected=f"{(count, count + 1)} as its last lengths",
                            help="the last column is the shift")
    if own.is_named != isinstance(lengths, Mapping):
        raise AxisMismatch("the lengths have names where the matrices have them", op="affine_grid", operand="lengths",
                           got=f"{shown(lengths)} and {own.axes}", expected="names on both, or on none",
                           help='lengths={"H": 8, "W": 8}')
    wide = convert(own, own.dtype.compute)
    plain = reshape(Tensor(wide.value), (*own.type.shape[:-2], *[1] * count, count, count + 1))
    found = plain[..., count]
    for k in range(count):
        at = count - 1 - k
        line = along_axis(_line(sizes[at], plain.dtype, has_ends), at, count + 1)
        found = add(found, multiply(plain[..., k], line))
    axes = None
    if own.is_named:
        assert isinstance(lengths, Mapping)
        axes = Axes([*own.axes[:-2], *read_axes(dict(zip(lengths, sizes, strict=True))), own.axes[-2]])
    return Tensor(convert(found, own.dtype).value, axes)


def _line(length: DimLike, dtype: DType, has_ends: bool) -> Tensor:
    """Returns the coordinates of the elements of an axis."""
    place, whole = convert(iota(length), dtype), convert(as_tensor(length, dtype=int64), dtype)
    if not has_ends:
        return subtract(divide(add(multiply(place, 2.0), 1.0), whole), 1.0)
    ends = subtract(whole, 1.0)
    return where(equal(ends, 0.0), 0.0, subtract(divide(multiply(place, 2.0), where(equal(ends, 0.0), 1.0, ends)), 1.0))


def _in_elements(coordinate: Tensor, length: DimLike, has_ends: bool) -> Tensor:
    """Returns a coordinate from -1 to 1 as a place among the elements of an axis, from 0 on."""
    whole, moved = convert(as_tensor(length, dtype=int64), coordinate.dtype), add(coordinate, 1.0)
    if has_ends:
        return multiply(moved, multiply(subtract(whole, 1.0), 0.5))
    return multiply(subtract(multiply(moved, whole), 1.0), 0.5)


# -- elements at coordinates ---------------------------------------------------------------------------------------


def sampled(x: Tensor, batch: int, coordinates: Sequence[Tensor], mode: str = "linear", padding: str = "zeros",
            has_ends: bool = True, rows: Tensor | None = None, rest_first: bool = False) -> Tensor:
    """Returns the elements of x, (batch, places, rest), at coordinates that count its elements: (batch, own, rest).

    There is a tensor of coordinates for each place, (batch, own), and they broadcast. With ``rows``, integers that
    broadcast with them, x is (rows, places, rest), has no batch, and its rows are chosen. ``mode`` and ``padding`` are
    those of ``nv.grid_sample``; ``has_ends`` says that a reflection is about centres. With ``rest_first`` x is (batch,
    rest, places) and the result (batch, rest, own).
    """
    elements = _Elements.of(x, batch, len(coordinates), rows is not None, rest_first)
    lengths, dtype = elements.lengths, _narrowest(elements.total)
    taps = [_taps(coordinate, length, mode, padding, has_ends, dtype)
            for coordinate, length in zip(coordinates, lengths, strict=True)]
    if rows is not None:  # the number of a row is checked before it is part of another index
        rows = convert(gather(iota(x.type.shape[batch]), rows, 0), dtype)
    result = None
    for chosen in combinations(*taps):
        index, weight, inside = rows, None, None
        for tap, length in zip(chosen, lengths, strict=True):
            index = tap.place if index is None else add(multiply(index, length), tap.place)
            weight = tap.weight if weight is None else multiply(weight, tap.weight)
            inside = tap.inside if inside is None else logical_and(inside, tap.inside)
        assert index is not None and weight is not None and inside is not None
        term = where(elements.spread(inside), elements.at(index), 0)
        if mode != "nearest":
            term = multiply(convert(term, x.dtype.compute), elements.spread(convert(weight, x.dtype.compute)))
        result = term if result is None else add(result, term)
    assert result is not None
    return convert(result, x.dtype)


class _Elements(NamedTuple):
    """The elements of a tensor with its places as one axis, of ``total`` elements, in front of the rest or behind it.

    Each order has the index that leaves elements where they lie: rows at a place, or single elements.
    """

    flat: Tensor
    batch: int
    lengths: Sequence[DimLike]
    total: DimLike
    rest: Sequence[DimLike]
    rest_first: bool

    @classmethod
    def of(cls, x: Tensor, batch: int, spatial: int, has_rows: bool, rest_first: bool) -> _Elements:
        """Reads x, (batch, places, rest) or (batch, rest, places); its rows count as a place."""
        shape, first = x.type.shape, x.ndim - spatial if rest_first else batch
        places = shape[first:first + spatial + has_rows]
        rest, count = shape[batch:first] or shape[first + len(places):], product(places)
        order = (*rest, count) if rest_first else (count, *rest)
        return cls(reshape(x, (*shape[:batch], *order)), batch, places[has_rows:], count, rest, rest_first)

    def at(self, index: Tensor) -> Tensor:
        """Returns the elements at an index, (batch, own), among the places."""
        if not self.rest_first:
            return Tensor(ops.GatherNd(self.flat.value, expand_dims(index, index.ndim).value, self.batch))
        shape, own, axis = index.type.shape, index.type.shape[self.batch:], self.flat.ndim - 1
        line = reshape(index, (*shape[:self.batch], product(own)))
        wide = (*shape[:self.batch], *self.rest, product(own))
        spread = ops.Broadcast(line.value, wide, range(self.batch, axis))
        found = Tensor(ops.GatherElements(self.flat.value, spread, axis))
        return reshape(found, (*shape[:self.batch], *self.rest, *own))

    def spread(self, x: Tensor) -> Tensor:
        """Returns a tensor, (batch, own), with axes of length 1 for the rest."""
        shape, ones = x.type.shape, [1] * len(self.rest)
        if not self.rest:
            return x
        place = self.batch if self.rest_first else x.ndim
        return reshape(x, (*shape[:place], *ones, *shape[place:]))


def _narrowest(count: DimLike) -> DType:
    """Returns the type for places among ``count`` elements. Where they fit it is half as wide, and twice as many are
    read at once.
    """
    return int32 if isinstance(count, int) and count <= int32.limits[1] else int64


class _Tap(NamedTuple):
    """One of the elements around places along an axis: where it is, its weight, and whether it is inside of x."""

    place: Tensor
    weight: Tensor
    inside: Tensor


def _taps(coordinate: Tensor, length: DimLike, mode: str, padding: str, has_ends: bool, dtype: DType) -> list[_Tap]:
    """Returns the elements that a mode takes around coordinates along one axis, with places of type ``dtype``."""
    if mode != "cubic":
        coordinate = _folded(coordinate, length, padding, has_ends)
    if mode == "nearest":
        place = nearest(coordinate)
        return [_tap(place, place, length, dtype)]
    first = floor(coordinate)
    part = subtract(coordinate, first)
    if mode == "linear":
        return [_tap(first, subtract(1.0, part), length, dtype), _tap(add(first, 1.0), part, length, dtype)]
    return [_tap(_folded(add(first, float(k - 1)), length, padding, has_ends), weight, length, dtype)
            for k, weight in enumerate(cubic_weights(part))]


def _tap(place: Tensor, weight: Tensor, length: DimLike, dtype: DType) -> _Tap:
    last = convert(as_tensor(length - 1, dtype=int64), place.dtype)
    inside = logical_and(greater_equal(place, 0.0), less_equal(place, last))
    return _Tap(clip(convert(place, dtype), 0, length - 1), where(inside, weight, 0.0), inside)


def _folded(coordinate: Tensor, length: DimLike, padding: str, has_ends: bool) -> Tensor:
    """Returns coordinates inside of x, except with zeros outside."""
    if padding == "zeros":
        return coordinate
    whole = convert(as_tensor(length, dtype=int64), coordinate.dtype)
    last = subtract(whole, 1.0)
    if padding == "reflection":
        low, span = (0.0, maximum(last, 1.0)) if has_ends else (-0.5, whole)
        moved = absolute(subtract(coordinate, low))
        turns = floor(divide(moved, span))
        over = subtract(moved, multiply(turns, span))
        is_even = equal(subtract(turns, multiply(floor(multiply(turns, 0.5)), 2.0)), 0.0)
        coordinate = add(where(is_even, over, subtract(span, over)), low)
    return held(coordinate, last)


def held(coordinate: Tensor, last: Tensor) -> Tensor:
    """Returns coordinates held between 0 and the ``last`` one, where their derivative is 0, at these two as well."""
    is_inside = logical_and(greater(coordinate, 0.0), less(coordinate, last))
    return where(is_inside, coordinate, where(greater_equal(coordinate, last), last, 0.0))


explain_keywords(globals(), __all__)
