"""How operands of different axes meet: by matching axes when they are named, by NumPy's rules when they are not.

>>> import nervure as nv
>>> x = nv.placeholder("H=2, W=3")
>>> y = nv.placeholder("N=5, W=3")
>>> print((x + y).axes)
(H: 2, W: 3, N: 5)

The strict core sees explicit permutations and broadcasts. Where the equality of two lengths is not known it sees an
``AssumeShape``, which every call checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import AxisMismatch, ShapeMismatch
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.ops import AssumeShape, Broadcast, Permute, Reshape
from nervure.types.axes import Axes, make_axes
from nervure.types.axis import Axis, match, same_role
from nervure.types.dim import DimLike, equal

Shape = tuple[DimLike, ...]


def common_axes(tensors: Sequence[Tensor], op: str) -> Axes | None:
    """The axes of an elementwise result of named tensors, or None if all are anonymous.

    AxisMismatch for axes of one role and different lengths, and for anonymous tensors that names cannot be given to.
    """
    if not any(tensor.is_named for tensor in tensors):
        return None
    axes: Axes | None = None
    for position, tensor in enumerate(tensors):
        if tensor.is_named:
            axes = tensor.axes if axes is None else _joined(axes, tensor.axes, op, position + 1)
    assert axes is not None
    named = next(tensor.axes for tensor in tensors if tensor.is_named)
    for position, tensor in enumerate(tensors):
        if not tensor.is_named and tensor.ndim:
            _check_takes_names(tensor, named, op, position + 1)
    return axes


def aligned(tensors: Sequence[Tensor], op: str) -> tuple[list[Value], Axes | None, Shape]:
    """Core values of one shape for an elementwise op, with the axes (None: anonymous) and shape of its result."""
    axes = common_axes(tensors, op)
    if axes is None:
        shape = broadcast_shape([tensor.shape for tensor in tensors], op)
        return [broadcast_anonymous(tensor.value, shape, op) for tensor in tensors], None, shape
    named = next(tensor.axes for tensor in tensors if tensor.is_named)
    values = []
    for tensor in tensors:
        own = tensor.axes if tensor.is_named else named if tensor.ndim else make_axes()
        values.append(move_to(tensor.value, own, axes, op))
    return values, axes, axes.lengths


def move_to(value: Value, own: Axes, axes: Axes, op: str) -> Value:
    """A value with axes ``own``, all of which occur in ``axes``, broadcast to ``axes`` in their order."""
    where = [_position(axis, axes) for axis in own]
    order = sorted(range(len(where)), key=where.__getitem__)
    if order != list(range(len(order))):
        value = Permute(value, order).output
    missing = [position for position in range(len(axes)) if position not in set(where)]
    target = axes.lengths
    present = tuple([target[position] for position in sorted(where)])
    value = assume_shape(value, present)
    return Broadcast(value, target, missing).output if missing else value


def assume_shape(value: Value, shape: Shape) -> Value:
    """The value with a shape that may have to be assumed; itself if it has it already."""
    return value if value.type.shape == shape else AssumeShape(value, shape).output


def broadcast_shape(shapes: Sequence[Shape], op: str) -> Shape:
    """NumPy's broadcasting: aligned at the right; a literal 1 stretches; a symbolic length is never taken for 1."""
    rank = max(map(len, shapes), default=0)
    result: list[DimLike] = []
    for back in range(rank, 0, -1):
        length: DimLike = 1
        for position, shape in enumerate(shapes):
            entry = shape[-back] if len(shape) >= back else 1
            if isinstance(entry, int) and entry == 1:
                continue
            if isinstance(length, int) and length == 1:
                length = entry
            elif equal(length, entry) is False:
                raise ShapeMismatch("the shapes do not broadcast", op=op, operand=position + 1,
                                    got=_shape_text(shape), expected=f"{length} or 1 at dimension {-back}",
                                    help="reshape or broadcast one of them, or give both axis names")
            elif isinstance(entry, int):
                length = entry
        result.append(length)
    return tuple(result)


def broadcast_anonymous(value: Value, shape: Shape, op: str) -> Value:
    """A value stretched to a shape by NumPy's rules."""
    own = value.type.shape
    if own == shape:
        return value
    lead = len(shape) - len(own)
    stretched = [d for d, entry in enumerate(own) if _is_one(entry) and not _is_one(shape[lead + d])]
    kept = tuple([entry for d, entry in enumerate(own) if d not in stretched])
    if stretched:
        value = Reshape(value, kept).output
    new = [*range(lead), *[lead + d for d in stretched]]
    value = assume_shape(value, tuple([entry for d, entry in enumerate(shape) if d not in new]))
    return Broadcast(value, shape, sorted(new)).output if new else value


def _is_one(entry: DimLike) -> bool:
    return isinstance(entry, int) and entry == 1


def _shape_text(shape: Shape) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _position(axis: Axis, axes: Axes) -> int:
    """Where an axis stands in ``axes``: a known match, else one whose length has to be assumed."""
    for wanted in (True, None):
        for position, other in enumerate(axes):
            if match(axis, other) is wanted:
                return position
    raise AssertionError(f"{axis} is not among {axes}")


def _joined(left: Axes, right: Axes, op: str, position: int) -> Axes:
    """The axes of two operands together: the larger one's where it contains the other, else left, then new ones."""
    new = [axis for axis in right if not _is_among(axis, left, op, position)]
    if not new:
        return left
    if len(new) == len(right) - len(left) and all(any(match(axis, other) is not False for other in right) for axis in left):
        return right
    return Axes([*left, *new])


def _is_among(axis: Axis, axes: Axes, op: str, position: int) -> bool:
    answers = [match(axis, other) for other in axes]
    if True in answers or None in answers:
        return True
    for other in axes:
        if same_role(axis, other):
            raise AxisMismatch(f"axis {axis.label} has two lengths", op=op, operand=position, got=str(axis),
                               expected=str(other),
                               help="slice or pad one of them, or rename it with nv.map_roles or nv.cast_axes")
    return False


def _check_takes_names(tensor: Tensor, named: Axes, op: str, position: int) -> None:
    """An anonymous tensor takes names by position if ranks are equal and lengths provably so."""
    lengths = named.lengths
    if len(lengths) != tensor.ndim or not all(equal(a, b) is True for a, b in zip(tensor.shape, lengths, strict=True)):
        raise AxisMismatch(f"operand {position} has no axis names; give it axes=(...)", op=op, operand=position,
                           got=_shape_text(tensor.shape), expected=str(named),
                           help='nv.constant(value, axes="N=32, H=28"), or nv.cast_axes(x, axes)')
