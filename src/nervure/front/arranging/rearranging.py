"""Elements in other places: flipped, rolled and rotated, repeated as tiles, axes that change places or are added.

>>> import nervure as nv
>>> x = nv.constant([[1, 2, 3], [4, 5, 6]], axes="H=2, W=3")
>>> nv.flip(x, "W").tolist(), nv.roll(x, 1, "W").tolist()
([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]], [[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]])
>>> print(nv.swapaxes(x, "H", "W").axes)
(W: 3, H: 2)
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front import alignment
from nervure.front.argument_parsing import integer, members, position_of, positions_of
from nervure.front.arranging.filled import iota
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.indexing import slice_along_axis
from nervure.front.arranging.views import broadcast, expand_dims, flatten, matrix_transposed, permuted, reshape, reverse
from nervure.front.creation import as_tensor, expression
from nervure.front.op_functions import mod
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dim import Dim, DimLike

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "flip", "fliplr", "flipud",
           "matrix_transpose", "moveaxis", "ravel", "roll", "rot90", "swapaxes", "tile"]


# -- orders ------------------------------------------------------------------------------------------------------


def flip(x: TensorLike, axis: AxesLike | None = None) -> Tensor:
    """Returns x in reverse order along an ``axis``, several, or all.

    >>> nv.flip([[1, 2], [3, 4]]).tolist(), nv.flip([[1, 2], [3, 4]], 1).tolist()
    ([[4.0, 3.0], [2.0, 1.0]], [[2.0, 1.0], [4.0, 3.0]])
    """
    return reverse(x, axis)


def flipud(x: TensorLike) -> Tensor:
    """Returns x in reverse order along its first axis.

    >>> nv.flipud([[1, 2], [3, 4]]).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    return reverse(of_rank(x, 1, "flipud"), [0])


def fliplr(x: TensorLike) -> Tensor:
    """Returns x in reverse order along its second axis.

    >>> nv.fliplr([[1, 2], [3, 4]]).tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    """
    return reverse(of_rank(x, 2, "fliplr"), [1])


def rot90(x: TensorLike, k: int = 1, axes: AxesLike = (0, 1)) -> Tensor:
    """Turns x by 90 degrees, ``k`` times, in the plane of two ``axes``, from the first one towards the second.

    >>> nv.rot90([[1, 2], [3, 4]]).tolist(), nv.rot90([[1, 2], [3, 4]], -1).tolist()
    ([[2.0, 4.0], [1.0, 3.0]], [[3.0, 1.0], [4.0, 2.0]])
    """
    own = of_rank(x, 2, "rot90")
    plane = positions_of(own, axes, "rot90")
    if len(plane) != 2:
        raise InvalidArgument("a plane has two axes", op="rot90", operand="axes", got=f"{len(plane)}", expected="two",
                              help="axes=(0, 1) turns the first two")
    first, second = plane
    quarters = integer(k, "rot90", "k") % 4
    if quarters == 0:
        return expression(own)
    if quarters == 2:
        return reverse(own, plane)
    turned = reverse(own, [second]) if quarters == 1 else own
    swapped = permuted(turned, [{first: second, second: first}.get(at, at) for at in range(own.ndim)])
    return swapped if quarters == 1 else reverse(swapped, [second])


def roll(x: TensorLike, shift: object, axis: AxesLike | None = None) -> Tensor:
    """Moves the elements of x by ``shift`` places along an ``axis``; those that leave at the end come in at the front.

    Several axes take a shift each, or share one; it may be a length, such as n // 2. Without an axis x is rolled as one
    row of all elements.

    >>> nv.roll([1, 2, 3, 4], 1).tolist(), nv.roll([[1, 2], [3, 4]], (1, 1), (0, 1)).tolist()
    ([4.0, 1.0, 2.0, 3.0], [[4.0, 3.0], [2.0, 1.0]])
    """
    own = as_tensor(x, "roll")
    if axis is None:
        rolled = roll(reshape(own, [own.type.size]) if not own.is_named else flatten(own), shift, 0)
        return Tensor(ops.Reshape(rolled.value, own.type.shape), own._axes)
    places = positions_of(own, axis, "roll")
    shifts = members(shift, "roll", "shift", "an integer, or one for each axis") if isinstance(
        shift, (list, tuple)) else [shift] * len(places)
    if len(shifts) != len(places):
        raise InvalidArgument("each axis takes a shift", op="roll", operand="shift", got=f"{len(shifts)} shifts",
                              expected=f"{len(places)}", help="one number is the shift of all axes")
    for at, by in zip(places, shifts, strict=True):
        own = _rolled(own, by if isinstance(by, Dim) else integer(
            by, "roll", "shift", help="nv.roll(x, 2, axis) moves by two places"), at)
    return expression(own)


def _rolled(x: Tensor, shift: DimLike, at: int) -> Tensor:
    """Returns x rolled along one axis: two slices side by side, or a gather where its length or shift is a symbol."""
    length = x.type.shape[at]
    if not (isinstance(length, int) and isinstance(shift, int)):
        places = mod(iota(length) - shift, x.shape[at])
        return Tensor(gather(Tensor(x.value), places, at).value, x._axes)
    if length == 0 or shift % length == 0:
        return x
    cut = length - shift % length
    end, start = slice_along_axis(x, at, slice(cut, None)), slice_along_axis(x, at, slice(0, cut))
    return Tensor(ops.Concatenate(end.value, start.value, axis=at), x._axes)


def tile(x: TensorLike, reps: object) -> Tensor:
    """Repeats all of x along each axis as often as ``reps`` says: a number for each of the last axes, or one number.

    More numbers than axes add axes in front, for anonymous tensors.

    >>> nv.tile([1, 2], 2).tolist(), nv.tile([1, 2], (2, 1)).tolist()
    ([1.0, 2.0, 1.0, 2.0], [[1.0, 2.0], [1.0, 2.0]])
    """
    own = as_tensor(x, "tile")
    listed = members(reps, "tile", "reps", "integers, or one") if isinstance(reps, (list, tuple)) else [reps]
    counts = [integer(entry, "tile", "reps", help="0 gives an empty axis", least=0) for entry in listed]
    if len(counts) > own.ndim and own.is_named:
        raise ShapeMismatch("there are more repetitions than axes", op="tile", operand="reps", got=f"{len(counts)}",
                            expected=f"at most {own.ndim}", help="nv.expand_dims(x, name) adds an axis")
    own = _with_axes_in_front(own, len(counts))
    counts = [1] * (own.ndim - len(counts)) + counts
    shape = own.type.shape
    pairs = tuple([length for pair in zip(counts, shape, strict=True) for length in pair])
    spread = ops.Broadcast(own.value, pairs, tuple(range(0, 2 * own.ndim, 2)))
    lengths = tuple([count * length for count, length in zip(counts, shape, strict=True)])
    axes = [axis.resized(length) for axis, length in zip(own.axes, lengths, strict=True)] if own.is_named else None
    return Tensor(ops.Reshape(spread, lengths), None if axes is None else Axes(axes))


# -- axes --------------------------------------------------------------------------------------------------------


def swapaxes(x: TensorLike, axis1: AxisLike, axis2: AxisLike) -> Tensor:
    """Returns x with two axes in each other's place.

    >>> nv.swapaxes([[1, 2], [3, 4]], 0, 1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    own = as_tensor(x, "swapaxes")
    first, second = position_of(own, axis1, "swapaxes"), position_of(own, axis2, "swapaxes")
    return permuted(own, [{first: second, second: first}.get(at, at) for at in range(own.ndim)])


def moveaxis(x: TensorLike, source: AxesLike, destination: AxesLike) -> Tensor:
    """Moves axes of x from their places ``source`` to others, ``destination``; the rest stay in their order.

    >>> nv.moveaxis(nv.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    own = as_tensor(x, "moveaxis")
    taken, places = positions_of(own, source, "moveaxis"), positions_of(own, destination, "moveaxis")
    if len(taken) != len(places):
        raise InvalidArgument("each axis that moves has one new place", op="moveaxis", operand="destination",
                              got=f"{len(places)} places", expected=f"{len(taken)}",
                              help="nv.axes_with_order(x, order) gives the order of all axes")
    moved = dict(zip(places, taken, strict=True))
    rest = iter([at for at in range(own.ndim) if at not in taken])
    return permuted(own, [moved[at] if at in moved else next(rest) for at in range(own.ndim)])


def matrix_transpose(x: TensorLike) -> Tensor:
    """Returns x with its last two axes swapped.

    >>> nv.matrix_transpose([[1, 2], [3, 4]]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return matrix_transposed(as_tensor(x, "matrix_transpose"))


def ravel(x: TensorLike) -> Tensor:
    """Returns all elements of x along one axis, as ``nv.flatten`` does.

    >>> nv.ravel([[1, 2], [3, 4]]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return flatten(x)


def broadcast_to(x: TensorLike, shape: AxesLike) -> Tensor:
    """Repeats x along further axes, as ``nv.broadcast`` does.

    >>> nv.broadcast_to([1, 2], (2, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return broadcast(x, shape)


def broadcast_arrays(*xs: TensorLike) -> list[Tensor]:
    """Returns all tensors with the axes that they have together: by name, or by NumPy's rule without names.

    >>> [entry.tolist() for entry in nv.broadcast_arrays([1, 2], [[3], [4]])]
    [[[1.0, 2.0], [1.0, 2.0]], [[3.0, 3.0], [4.0, 4.0]]]
    """
    values, axes, _ = alignment.aligned([as_tensor(x, "broadcast_arrays", at + 1) for at, x in enumerate(xs)],
                                        "broadcast_arrays")
    return [Tensor(value, axes) for value in values]


def atleast_1d(*xs: TensorLike) -> Tensor | list[Tensor]:
    """Returns each tensor with at least one axis, and one tensor alone.

    >>> nv.atleast_1d(5.0).tolist()
    [5.0]
    """
    return _each(xs, 1, "atleast_1d")


def atleast_2d(*xs: TensorLike) -> Tensor | list[Tensor]:
    """Returns each tensor with at least two axes, new ones in front, and one tensor alone.

    >>> nv.atleast_2d([1, 2]).tolist()
    [[1.0, 2.0]]
    """
    return _each(xs, 2, "atleast_2d")


def atleast_3d(*xs: TensorLike) -> Tensor | list[Tensor]:
    """Returns each tensor with at least three axes, and one tensor alone: a vector stands in the middle, a matrix in
    front.

    >>> nv.atleast_3d([1, 2]).shape, nv.atleast_3d([[1, 2]]).shape
    ((1, 2, 1), (1, 2, 1))
    """
    return _each(xs, 3, "atleast_3d")


def _each(xs: tuple[TensorLike, ...], rank: int, name: str) -> Tensor | list[Tensor]:
    found = [with_rank(as_tensor(x, name, at + 1), rank, name) for at, x in enumerate(xs)]
    return found[0] if len(found) == 1 else found


def with_rank(x: Tensor, rank: int, name: str) -> Tensor:
    """Returns a tensor without names with at least ``rank`` axes: new ones in front, but the third one at the end.

    A named tensor, whose new axes would need names, is an InvalidArgument.
    """
    own = _unnamed(x, name)
    return expand_dims(_with_axes_in_front(own, 2), 2) if rank == 3 and own.ndim < 3 else _with_axes_in_front(own, rank)


def _unnamed(x: Tensor, name: str) -> Tensor:
    """Returns a tensor without names; InvalidArgument for one with names, whose new axes would need some."""
    if x.is_named and x.ndim:
        raise InvalidArgument("new axes of a named tensor need names", op=name, got=str(x.axes), expected="no names",
                              help="nv.expand_dims(x, name) adds an axis with a name")
    return expression(x)


def _with_axes_in_front(x: Tensor, rank: int) -> Tensor:
    """Returns x with axes of length 1 in front, up to a rank."""
    if x.ndim >= rank:
        return x
    return Tensor(ops.Reshape(x.value, (*(1,) * (rank - x.ndim), *x.type.shape)))


def of_rank(x: TensorLike, rank: int, name: str, help: str = "nv.expand_dims(x) adds an axis in front") -> Tensor:
    """Returns x as a tensor with ``rank`` axes or more; ShapeMismatch, with a ``help``, for fewer."""
    own = as_tensor(x, name)
    if own.ndim < rank:
        raise ShapeMismatch("the tensor has too few axes", op=name, operand=1, got=str(own.type),
                            expected=f"{rank} or more", help=help)
    return own


explain_keywords(globals(), __all__)
