"""Views: transpose, reshape, broadcast, pad; the same elements with other axes, in another order or shape.

>>> import nervure as nv
>>> x = nv.constant([[1., 2., 3.], [4., 5., 6.]], axes="H=2, W=3")
>>> nv.axes_with_order(x, ["W", "H"]).tolist()
[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
>>> print(nv.flatten(x).axes, nv.broadcast(x, "N=4, H=2, W=3").shape)
((H, W): 6) (4, 2, 3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.front import alignment
from nervure.front.alignment import reordered
from nervure.front.argument_parsing import as_integer, integer, number, one_of, position_of, positions_of
from nervure.front.creation import as_tensor, expression, read_axes
from nervure.front.tensor import Number, Tensor, TensorLike
from nervure.ir.kinds import View
from nervure.ir.op import Value
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.axis import Axis, FlattenedAxis, make_axis
from nervure.types.axis import axis as named_axis
from nervure.types.dim import Dim, DimLike, equal, product
from nervure.types.index_map import IndexMap
from nervure.types.shape import checked_dim
from nervure.types.view import FOLDS


def broadcast(x: TensorLike, axes: AxesLike) -> Tensor:
    """Repeats x along further ``axes`` (in any order), which must include its own. Anonymous: NumPy's broadcast_to.

    >>> nv.broadcast([1, 2], (2, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    own = as_tensor(x, "broadcast")
    target = read_axes(axes)
    if not own.is_named and (target.is_anonymous or own.ndim == 0):
        shape = alignment.broadcast_shape([target.lengths, own.type.shape], "broadcast")
        if len(shape) != len(target) or any([theirs == 1 != mine or equal(mine, theirs) is False
                                             for mine, theirs in zip(shape, target.lengths, strict=True)]):
            raise ShapeMismatch("the shape is smaller than the tensor's", op="broadcast", got=str(own.type),
                                expected=str(target.lengths), help="reduce the tensor, or index it")
        return Tensor(alignment.broadcast_anonymous(own.value, target.lengths, "broadcast"),
                      target if not target.is_anonymous else None)
    if not own.is_named:
        alignment.common_axes([Tensor(ops.Full(0, own.dtype, target.lengths), target), own], "broadcast")
        return Tensor(own.value, target)
    pairs = alignment.pairing(own.axes, target)
    missing = [axis for at, axis in enumerate(own.axes) if at not in pairs]
    if missing:
        raise AxisMismatch("the tensor has axes that the result lacks", op="broadcast", operand=1,
                           got=str(own.axes), expected=f"{', '.join(map(str, missing))} among {target}",
                           help="reduce them, or list them too")
    return Tensor(alignment.move_to(own.value, own.axes, target, "broadcast"), target)


def axes_with_order(x: TensorLike, axes: AxesLike) -> Tensor:
    """Reorders the axes of x: the same set, given by axes, names or positions.

    >>> print(nv.axes_with_order(nv.zeros("H=2, W=3"), ["W", "H"]).axes)
    (W: 3, H: 2)
    """
    own = as_tensor(x, "axes_with_order")
    order = positions_of(own, axes.axes if isinstance(axes, Tensor) else axes, "axes_with_order")
    if len(order) != own.ndim:
        raise InvalidArgument("the new order must have every axis once", op="axes_with_order", got=str(axes),
                              expected=str(own.axes),
                              help="nv.broadcast adds axes, nv.sum and x[...] take them away")
    return permuted(own, order)


def permuted(x: Tensor, order: Sequence[int]) -> Tensor:
    """Returns x with its axes permuted: axis ``order[i]`` moves to position i."""
    if list(order) == list(range(x.ndim)):
        return expression(x)
    return Tensor(reordered(x.value, order), Axes([x.axes[at] for at in order]) if x.is_named else None)


def transpose_method(x: Tensor, *order: object) -> Tensor:
    """NumPy's ``transpose``: reversed without an order."""
    if not order:
        return permuted(x, range(x.ndim)[::-1])
    return axes_with_order(x, order[0] if len(order) == 1 and isinstance(order[0], (list, tuple, Axes)) else order)


def transposed(x: Tensor) -> Tensor:
    """``x.T``: anonymous axes reversed; named axes keep their order and every level l becomes -1 - l."""
    if not x.is_named:
        return permuted(x, range(x.ndim)[::-1])
    return Tensor(x.value, Axes([axis.transposed() for axis in x.axes]))


def matrix_transposed(x: Tensor) -> Tensor:
    """``x.mT``: the last two axes swapped."""
    if x.ndim < 2:
        raise ShapeMismatch("a matrix has two axes", op="mT", got=str(x.type), expected="two axes or more",
                            help="x.reshape(1, -1) makes a row of a vector")
    return permuted(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def cast_axes(x: TensorLike, axes: AxesLike) -> Tensor:
    """Replaces the axes of x by others of the same lengths, position by position. Costs nothing.

    >>> print(nv.cast_axes(nv.zeros((2, 3)), "H=2, W=3").axes)
    (H: 2, W: 3)
    """
    own = as_tensor(x, "cast_axes")
    target = read_axes(axes)
    lengths = own.type.shape
    if len(target) != own.ndim or any(equal(a, b) is False for a, b in zip(lengths, target.lengths, strict=True)):
        raise AxisMismatch("the lengths must stay", op="cast_axes", got=str(target), expected=str(own.shape),
                           help="nv.broadcast, nv.pad and x[...] change lengths")
    value = alignment.assume_shape(own.value, target.lengths, "cast_axes")
    return Tensor(value, None if target.is_anonymous and len(target) else target)


def map_roles(x: TensorLike, roles: Mapping[Axis | str, Axis | str]) -> Tensor:
    """Renames axes: ``{old: new}``, each an Axis or a name. A name gives an axis of that name with the old length.

    >>> print(nv.map_roles(nv.zeros("H=2, W=3"), {"H": "N"}).axes)
    (N: 2, W: 3)
    """
    own = as_tensor(x, "map_roles")
    if not isinstance(roles, Mapping):
        raise WrongKind("map_roles takes a mapping", op="map_roles", operand=2, got=type(roles).__name__,
                        expected="{old: new}", help="nv.map_roles(x, {\"H\": \"W\"})")
    axes = list(own.axes)
    for old, new in roles.items():
        at = position_of(own, old, "map_roles")
        axes[at] = named_axis(new, own.type.shape[at]) if isinstance(new, str) else new
    return cast_axes(own, Axes(axes))


def expand_dims(x: TensorLike, axis: AxisLike | None = None, dim: object = None) -> Tensor:
    """Inserts a new ``axis`` of length 1 at position ``dim`` (absent: in front). An axis with a length of its own
    repeats x along it.

    ``expand_dims(x, 1)`` with an int is NumPy's, for anonymous tensors.

    >>> nv.expand_dims([1, 2], 1).tolist()
    [[1.0], [2.0]]
    >>> print(nv.expand_dims(nv.zeros("W=3"), "N").axes)
    (N: 1, W: 3)
    """
    own = as_tensor(x, "expand_dims")
    at, new = new_axis(own, axis, dim, "expand_dims", "dim")
    if isinstance(axis, str) and not new.has_length:
        new.length = 1
    value = ops.Broadcast(own.value, (*own.type.shape[:at], new.length, *own.type.shape[at:]), (at,))
    return Tensor(value, None if new.is_anonymous else Axes([*own.axes[:at], new, *own.axes[at:]]))


def squeeze(x: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Removes the axes of length 1, or those listed in ``axes``. A listed axis must have length 1; if it is symbolic,
    every call checks it.

    >>> nv.squeeze([[[1, 2]]]).tolist()
    [1.0, 2.0]
    """
    own = as_tensor(x, "squeeze")
    ones = [at for at, length in enumerate(own.type.shape) if isinstance(length, int) and length == 1]
    chosen = ones if axes is None else list(positions_of(own, axes, "squeeze"))
    for at in chosen:
        if equal(own.type.shape[at], 1) is False:
            raise ShapeMismatch("only an axis of length 1 can be dropped", op="squeeze",
                                got=str(own.axes[at]), expected=1,
                                help="x[...] with an integer takes an axis away, nv.sum reduces one")
    kept = [at for at in range(own.ndim) if at not in chosen]
    known = tuple([1 if at in chosen else length for at, length in enumerate(own.type.shape)])
    value = alignment.assume_shape(own.value, known, "squeeze")
    return Tensor(ops.Reshape(value, tuple([own.type.shape[at] for at in kept])),
                  Axes([own.axes[at] for at in kept]) if own.is_named else None)


def reshape(x: TensorLike, shape: AxesLike) -> Tensor:
    """Arranges the elements, in row-major order, in another shape; one length may be -1. Axes in place of lengths name
    the result.

    >>> nv.reshape([1, 2, 3, 4], (2, -1)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    own = as_tensor(x, "reshape")
    if not isinstance(shape, (int, Dim, list, tuple)):
        target = read_axes(shape)
        return Tensor(_reshaped(own, target.lengths), None if target.is_anonymous and len(target) else target)
    lengths: list[object] = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    if any(isinstance(entry, (Axis, str, tuple, list)) for entry in lengths):
        return reshape(own, read_axes(shape))
    return Tensor(_reshaped(own, _without_wildcard(own, [checked_dim(entry, "reshape") for entry in lengths])))


def _reshaped(own: Tensor, shape: Sequence[DimLike]) -> Value:
    size = product(shape)
    same = equal(own.type.size, size)
    if same is False:
        raise ShapeMismatch("the number of elements must stay", op="reshape", operand="shape",
                            got=f"{tuple(shape)} for {own.type}", expected=f"{own.type.size} elements",
                            help="one length may be -1: what is left of the elements")
    value = own.value
    if same is None:
        value = alignment.assume_shape(ops.Reshape(value, (own.type.size,)).output, (size,), "reshape")
    return ops.Reshape(value, tuple(shape)).output


def _without_wildcard(own: Tensor, lengths: list[DimLike]) -> list[DimLike]:
    """Replaces -1 by the length that is left for it."""
    wild = [at for at, entry in enumerate(lengths) if isinstance(entry, int) and entry == -1]
    if not wild:
        return lengths
    rest = product([entry for entry in lengths if not (isinstance(entry, int) and entry == -1)])
    if len(wild) > 1 or (isinstance(rest, int) and rest == 0):
        raise InvalidArgument("one length at most may be -1, and the others must say what it is", op="reshape",
                              got=str(tuple(lengths)), expected="one -1, and no 0 beside it",
                              help="write the other lengths out")
    lengths[wild[0]] = own.type.size // rest
    return lengths


def reshape_method(x: Tensor, *shape: AxesLike) -> Tensor:
    """Arranges the elements in another shape: ``x.reshape(2, 3)``, ``x.reshape((2, 3))``, ``x.reshape(-1)``."""
    return reshape(x, shape[0] if len(shape) == 1 else shape)


def along_axis(vector: Tensor, at: int, rank: int) -> Tensor:
    """Returns a vector along one axis of a tensor of this ``rank``, whose other lengths are 1."""
    return reshape(vector, [vector.type.size if d == at else 1 for d in range(rank)])


def flatten(x: TensorLike) -> Tensor:
    """Joins all axes into one, a FlattenedAxis if they are named.

    >>> print(nv.flatten(nv.zeros("H=2, W=3")).axes)
    ((H, W): 6)
    """
    own = as_tensor(x, "flatten")
    if not own.is_named:
        return reshape(own, [own.type.size])
    axis = own.axes.flatten()
    return Tensor(ops.Reshape(own.value, (axis.length,)), Axes([axis]))


def row_or_axis(x: TensorLike, axis: AxisLike | None, op: str) -> tuple[Tensor, int]:
    """Returns a tensor and the position of an ``axis``; x as one row and 0 if it is None. Errors name ``op``."""
    own = as_tensor(x, op)
    return (flatten(own), 0) if axis is None else (own, position_of(own, axis, op))


def flatten_at(x: TensorLike, index: int) -> Tensor:
    """Joins the axes into two: those before position ``index``, and the rest. At 0, or past the last, all become one.

    >>> print(nv.flatten_at(nv.zeros("N=4, H=2, W=3"), 1).axes)
    (N: 4, (H, W): 6)
    """
    own = as_tensor(x, "flatten_at")
    at = integer(index, "flatten_at", "index", help="0 and the rank flatten all axes")
    if not 0 <= at <= own.ndim:
        raise InvalidArgument("there is no such place between axes", op="flatten_at", operand="index", got=at,
                              expected=f"0 to {own.ndim}", help="0 and the rank flatten all axes")
    if at in (0, own.ndim):
        return flatten(own)
    parts = own.axes[:at], own.axes[at:]
    shape = tuple([part.size for part in parts])
    axes = Axes([part.flatten() for part in parts]) if own.is_named else None
    return Tensor(ops.Reshape(own.value, shape), axes)


def unflatten(x: TensorLike) -> Tensor:
    """Takes every flattened axis apart again.

    >>> print(nv.unflatten(nv.flatten(nv.zeros("H=2, W=3"))).axes)
    (H: 2, W: 3)
    """
    own = as_tensor(x, "unflatten")
    axes: list[Axis] = []
    for axis in own.axes:
        axes.extend(axis.parts if isinstance(axis, FlattenedAxis) else [axis])
    if len(axes) == own.ndim:
        return expression(own)
    target = Axes(axes)
    return Tensor(ops.Reshape(own.value, target.lengths), None if target.is_anonymous else target)


def pad(x: TensorLike, paddings: object, axes: AxesLike | None = None, mode: str = "constant",
        value: Number = 0) -> Tensor:
    """Adds elements to x at both ends of its axes: ``paddings`` has an int or a pair (before, after) for each;
    negative ones crop.

    ``mode`` is "constant" (``value``), "edge", "reflect", "symmetric" or "wrap". ``axes`` are those of the result.

    >>> nv.pad([1, 2], [(1, 0)], value=9).tolist(), nv.pad([1, 2, 3], 1, mode="reflect").tolist()
    ([9.0, 1.0, 2.0], [2.0, 1.0, 2.0, 3.0, 2.0])
    """
    own = as_tensor(x, "pad")
    pairs = _pairs(own, paddings)
    if one_of(mode, ("constant", *FOLDS), "pad", "mode", "'edge' repeats") == "constant":
        padded: ops.Pad | ops.FoldedPad = ops.Pad(
            own.value, pairs, number(value, "pad", "value", "nv.where puts tensors beside x"))
    else:
        padded = ops.FoldedPad(own.value, pairs, mode)
    shape = padded.shape
    if axes is not None:
        return cast_axes(Tensor(padded), axes)
    if not own.is_named:
        return Tensor(padded)
    return Tensor(padded, Axes([axis if pair == (0, 0) else axis.resized(length)
                            for axis, pair, length in zip(own.axes, pairs, shape, strict=True)]))


def _pairs(own: Tensor, paddings: object) -> tuple[tuple[object, object], ...]:
    """Returns a pair (before, after) for each axis; a dict gives them for some axes."""
    if isinstance(paddings, Mapping):
        table = {position_of(own, axis, "pad"): entry for axis, entry in paddings.items()}
        paddings = [table.get(at, 0) for at in range(own.ndim)]
    listed = list(paddings) if isinstance(paddings, (list, tuple)) else [paddings] * own.ndim
    if len(listed) != own.ndim:
        raise InvalidArgument("a padding is needed for each axis", op="pad", got=f"{len(listed)} paddings",
                              expected=f"{own.ndim} for {own.axes}",
                              help="a dict {axis: padding} names those that are padded")
    return tuple([_pair(entry) for entry in listed])


def _pair(padding: object) -> tuple[object, object]:
    before, after = padding if isinstance(padding, (list, tuple)) and len(padding) == 2 else (padding, padding)
    for amount in (before, after):
        if isinstance(amount, bool) or not (isinstance(amount, Dim) or hasattr(amount, "__index__")):
            raise WrongKind("a padding is an int or a pair of ints", op="pad", operand="paddings",
                            got=f"{padding!r:.60}", expected="an int, or (before, after)",
                            help="nv.pad(x, [(1, 1), 0]) pads the first axis")
    return before, after


def reverse(x: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Returns x with its elements in reverse order along some ``axes`` (absent: all).

    >>> nv.reverse([1, 2, 3]).tolist()
    [3.0, 2.0, 1.0]
    """
    own = as_tensor(x, "reverse")
    chosen = range(own.ndim) if axes is None else positions_of(own, axes, "reverse")
    return Tensor(ops.Reverse(own.value, tuple(sorted(chosen))), own._axes)


def base_of(value: Value, stop: Value | None = None) -> tuple[Value, IndexMap | None]:
    """Returns the base of a chain of views, and the index map from the view to it (None without a view), for writing
    through it.

    The chain ends at ``stop``, or where the views end. Raises InvalidArgument for a view that no write goes through.
    """
    index_map = None
    while value is not stop and isinstance(value.op, View):
        _check_writable(value.op)
        own = value.op.simple_view.index_map
        index_map = own if index_map is None else own.compose(index_map)
        value = value.op.operands[0]
    return value, index_map


def _check_writable(op: View) -> None:
    if not hasattr(op.view, "index_map"):
        raise InvalidArgument("a pad or a concatenation cannot be assigned", op="assign", operand=1,
                              got=f"{type(op).__name__}, built at {op.location}", expected="a view of one tensor",
                              help="assign its parts")
    if op.simple_view.is_injective() is False:
        raise InvalidArgument("this view visits an element twice, so it cannot be assigned", op="assign", operand=1,
                              got=f"{type(op).__name__}, built at {op.location}",
                              expected="a view that visits each element once", help="assign the tensor below it")


def renamed(x: Tensor, axes: AxesLike | None) -> Tensor:
    """Returns x with the axes that a user asked for as ``axes=``: its own in another order, or others of the same
    lengths.
    """
    if axes is None:
        return x
    target = read_axes(axes)
    if x.is_named and target.is_equal_set(x.axes):
        return axes_with_order(x, target)
    return cast_axes(x, target)


def new_position(x: Tensor, position: object, op: str) -> int:
    """The position of a new axis: 0 to the rank; negative counts from the end of the result."""
    place = as_integer(position)
    if place is None or not -x.ndim - 1 <= place <= x.ndim:
        raise InvalidArgument("there is no such position for a new axis", op=op, got=repr(position),
                              expected=f"{-x.ndim - 1} to {x.ndim}",
                              help="positions count from 0; negative ones from the end")
    return place % (x.ndim + 1)


def new_axis(x: Tensor, axis: object, position: object, op: str, operand: str) -> tuple[int, Axis]:
    """Returns the position and the axis that x gets: an Axis, a name, ``"N=4"``, or None for one of length 1 without a
    name. An int in place of the axis is NumPy's position; a second position, in the argument ``operand``, must equal
    it.
    """
    given = as_integer(axis)
    at = new_position(x, (0 if given is None else given) if position is None else position, op)
    if given is not None and new_position(x, given, op) != at:
        raise InvalidArgument("the position of the new axis is given twice", op=op, operand=operand,
                              got=f"{given} and {position}", expected="one position",
                              help=f'an axis is an Axis or a name, as in nv.{op}(x, "N", {operand}=1)')
    if axis is None or given is not None:
        return at, make_axis(1) if x.is_named else read_axes(1)[0]
    if isinstance(axis, (list, tuple)) and len(axis) > 1:
        raise _one_axis(axis, op)
    if isinstance(axis, str):
        axis = axis if "=" in axis else named_axis(axis)
    found = Axes([axis]) if isinstance(axis, Axis) else read_axes(axis)  # type: ignore[arg-type]  # which checks
    if len(found) != 1:
        raise _one_axis(axis, op)
    if x.ndim and found[0].is_anonymous == x.is_named:
        raise AxisMismatch("named and anonymous axes do not mix", op=op, got=f"{found} and {x.axes}",
                           expected="names on all, or on none",
                           help="nv.cast_axes gives a tensor names; without axis= the new axis has none")
    return at, found[0]


def _one_axis(axis: object, op: str) -> InvalidArgument:
    return InvalidArgument("one axis is new", op=op, operand="axis", got=f"{axis!r:.60}", expected="an Axis or a name",
                           help="one call adds one axis; x[None, ..., None] adds several")


__all__ = ["axes_with_order", "broadcast", "cast_axes", "expand_dims", "flatten",
           "flatten_at", "map_roles", "pad", "reshape", "reverse", "squeeze", "unflatten"]

explain_keywords(globals(), __all__)
