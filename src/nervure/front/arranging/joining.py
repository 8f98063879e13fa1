"""Joining and splitting: tensors side by side along a new axis or end to end along an existing one, and apart again.

>>> import nervure as nv
>>> x, y = nv.constant([1., 2.], axes="H=2"), nv.constant([3., 4., 5.], axes="H=3")
>>> print(nv.stack([x, x], "N").axes, nv.concat_along_axis([x, y], nv.axis("H", 2)).axes)
(N: 2, H: 2) (H: 5)
>>> [part.tolist() for part in nv.split(y, [1], "H")]
[[3.0], [4.0, 5.0]]
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.front import alignment
from nervure.front.apply import common_dtype, operand_tensors
from nervure.front.argument_parsing import as_integer, members, position_of
from nervure.front.arranging.indexing import slice_along_axis
from nervure.front.arranging.views import new_axis, permuted
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike
from nervure.types.axis import Axis
from nervure.types.dim import equal

MOST_PARTS = 1 << 16
"""``split`` makes a tensor for each part. An empty or symbolic axis could otherwise have any number of them."""


def stack(xs: Sequence[TensorLike], axis: AxisLike | None = None, pos: int | None = None) -> Tensor:
    """Puts tensors side by side along a new ``axis`` at position ``pos`` (absent: in front). Its length is their
    number. ``stack(xs, 1)`` with an int is NumPy's.

    >>> nv.stack([[1, 2], [3, 4]], 1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    >>> print(nv.stack([nv.zeros("H=2"), nv.ones("H=2")], "N").axes)
    (N: 2, H: 2)
    """
    tensors = _listed(xs, "stack")
    first = tensors[0]
    at, new = new_axis(first, axis, pos, "stack", "pos")
    if axis is None or as_integer(axis) is not None:
        new = new.resized(len(tensors))
    elif not new.has_length:
        new.length = len(tensors)
    elif equal(new.length, len(tensors)) is False:
        raise AxisMismatch("the axis has another length than there are tensors", op="stack", got=str(new),
                           expected=len(tensors), help="leave out the length: it is how many tensors there are")
    dtype = common_dtype(tuple(tensors), "stack")
    parts = [converted(_like(first, entry, "stack", position + 1), dtype) for position, entry in enumerate(tensors)]
    shape = (*first.type.shape[:at], 1, *first.type.shape[at:])
    op = ops.Concatenate(*[ops.Broadcast(part, shape, (at,)) for part in parts], axis=at)
    return Tensor(op, None if new.is_anonymous else Axes([*first.axes[:at], new, *first.axes[at:]]))


def concat_along_axis(xs: Sequence[TensorLike], axis: AxisLike) -> Tensor:
    """Puts tensors end to end along an ``axis``, found by its class in each; the lengths along it may differ.

    >>> nv.concat_along_axis([nv.zeros("H=2"), nv.ones("H=3")], "H").tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """
    tensors = _listed(xs, "concat_along_axis")
    places = [_along(entry, axis, "concat_along_axis") for entry in tensors]
    first, at = tensors[0], places[0]
    dtype = common_dtype(tuple(tensors), "concat_along_axis")
    values, lengths = [], []
    for position, (entry, place) in enumerate(zip(tensors, places, strict=True)):
        order = _order_like(first, at, entry, place, position + 1)
        values.append(converted(permuted(entry, order).value, dtype))
        lengths.append(entry.type.shape[place])
    shape = list(first.type.shape)
    for position, value in enumerate(values):
        shape[at] = lengths[position]
        values[position] = alignment.assume_shape(value, tuple(shape), "concat_along_axis")
    op = ops.Concatenate(*values, axis=at)
    if not first.is_named:
        return Tensor(op)
    joined = first.axes[at].resized(op.shape[at])
    return Tensor(op, Axes([joined if d == at else own for d, own in enumerate(first.axes)]))


def concatenate(xs: Sequence[TensorLike], axis: AxisLike = 0) -> Tensor:
    """NumPy's name for ``concat_along_axis``.

    >>> nv.concatenate([[1, 2], [3]]).tolist()
    [1.0, 2.0, 3.0]
    """
    return concat_along_axis(xs, axis)


def split(x: TensorLike, parts: object, axis: AxisLike = 0) -> list[Tensor]:
    """Cuts x along an axis: into ``parts`` equal pieces, or before each position of a list.

    >>> [part.tolist() for part in nv.split([1, 2, 3, 4], 2)], [part.tolist() for part in nv.split([1, 2, 3], [1])]
    ([[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0, 3.0]])
    """
    own = as_tensor(x, "split")
    at = position_of(own, axis, "split")
    length = own.type.shape[at]
    count = as_integer(parts)
    if count is not None:
        parts = count
        if parts > MOST_PARTS:
            raise InvalidArgument("these are too many parts for a list of tensors", op="split", operand="parts",
                                  got=parts, expected=f"at most {MOST_PARTS}",
                                  help="a reshape makes an axis of parts: x.reshape(parts, -1)")
        if parts < 1 or equal(length % parts, 0) is False:
            raise ShapeMismatch("the length does not divide into equal parts", op="split",
                                got=f"{parts} parts of {own.axes[at]}", expected="a divisor of the length",
                                help="a list of positions cuts anywhere: nv.split(x, [3, 5])")
        size = length // parts
        shape = (*own.type.shape[:at], size * parts, *own.type.shape[at + 1:])
        own = Tensor(alignment.assume_shape(own.value, shape, "split"), own._axes)
        bounds: list[object] = [size * part for part in range(parts + 1)]
    else:
        bounds = [0, *members(parts, "split", "parts", "a number of parts, or a list of positions"), length]
    return [slice_along_axis(own, at, slice(a, b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


def _listed(xs: object, op: str) -> list[Tensor]:
    if isinstance(xs, Tensor) or not isinstance(xs, (list, tuple)):
        raise WrongKind(f"{op} takes a list of tensors", op=op, got=type(xs).__name__, expected="a list",
                        help=f"write nv.{op}([x, y], ...)")
    if not xs:
        raise InvalidArgument("there is nothing to join", op=op, expected="one tensor or more",
                              got="no tensors", help="nv.zeros(axes) is an empty tensor where a length is 0")
    tensors = operand_tensors(xs, op)
    if len({entry.is_named for entry in tensors if entry.ndim}) > 1:
        raise AxisMismatch("named and anonymous tensors do not join", op=op,
                           got=", ".join(str(entry.axes) for entry in tensors),
                           help="give the anonymous ones names with nv.cast_axes",
                           expected="names on all, or on none")
    return tensors


def _like(first: Tensor, other: Tensor, op: str, position: int) -> Value:
    """The value of another tensor on the axes of the first."""
    if first.is_named:
        if len(other.axes) != len(first.axes) or len(alignment.pairing(other.axes, first.axes)) < len(first.axes):
            raise AxisMismatch("the tensors differ in axes", op=op, operand=position, got=str(other.axes),
                               expected=str(first.axes),
                               help="nv.broadcast adds axes, nv.map_roles renames them")
        return alignment.move_to(other.value, other.axes, first.axes, op)
    lengths, others = first.type.shape, other.type.shape
    if len(others) != len(lengths) or any(equal(a, b) is False for a, b in zip(lengths, others, strict=True)):
        raise ShapeMismatch("the tensors differ in shape", op=op, operand=position, got=str(other.type),
                            expected=str(first.type), help="pad, slice or broadcast them to one shape")
    return alignment.assume_shape(other.value, first.type.shape, op)


def _along(x: Tensor, axis: AxisLike, op: str) -> int:
    """Returns the position of the axis of this class in a tensor; InvalidArgument if two have it."""
    if not isinstance(axis, Axis):
        return position_of(x, axis, op)
    found = [at for at, own in enumerate(x.axes) if own.axis_class == axis.axis_class]
    if len(found) > 1:
        raise InvalidArgument(f"two axes have the class of {axis.label}", op=op, got=str(x.axes),
                              help="rename one with nv.map_roles", expected="one")
    return found[0] if found else position_of(x, axis, op)


def _order_like(first: Tensor, at: int, other: Tensor, place: int, position: int) -> list[int]:
    """Returns the positions of the first tensor's axes in another one; the joined axis ``at`` is at ``place`` there."""
    op = "concat_along_axis"
    if other.ndim != first.ndim:
        raise ShapeMismatch("the tensors differ in rank", op=op, operand=position, got=str(other.axes),
                            expected=str(first.axes), help="nv.expand_dims adds an axis")
    if not first.is_named:
        rest = [d for d in range(first.ndim) if d != at]
        if place != at or any(equal(first.type.shape[d], other.type.shape[d]) is False for d in rest):
            raise ShapeMismatch("the tensors differ in another axis", op=op, operand=position,
                                got=str(other.type), expected=str(first.type),
                                help="only the axis along which they are joined may differ: slice or pad the others")
        return list(range(first.ndim))
    rest = [d for d in range(first.ndim) if d != at]
    others = [d for d in range(first.ndim) if d != place]
    pairs = alignment.pairing(Axes([first.axes[d] for d in rest]), Axes([other.axes[d] for d in others]))
    if len(pairs) < len(rest):
        missing = next(first.axes[d] for here, d in enumerate(rest) if here not in pairs)
        raise AxisMismatch(f"axis {missing.label} is not in every tensor", op=op, operand=position,
                           got=str(other.axes), expected=str(first.axes),
                           help="nv.expand_dims(x, axis) adds it, nv.map_roles(x, {old: new}) renames one")
    where = {rest[here]: others[there] for here, there in pairs.items()}
    return [where.get(d, place) for d in range(first.ndim)]


__all__ = ["concat_along_axis", "concatenate", "split", "stack"]

explain_keywords(globals(), __all__)
