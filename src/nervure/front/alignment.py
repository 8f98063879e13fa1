"""Broadcasting: operands are aligned by matching axes if they are named, else by NumPy's rules.

>>> import nervure as nv
>>> x = nv.placeholder("H=2, W=3")
>>> y = nv.placeholder("N=5, W=3")
>>> print((x + y).axes)
(H: 2, W: 3, N: 5)

The strict core sees explicit permutations and broadcasts. Two lengths that may or may not be equal become an
``AssumeShape``, which every call checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import AxisMismatch, ShapeMismatch
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.ops import AssumeShape, Broadcast, Permute, Reshape
from nervure.types.axes import Axes, make_axes
from nervure.types.axis import match, same_role
from nervure.types.dim import DimLike, equal, same_lengths
from nervure.types.shape import inverse_permutation

Shape = tuple[DimLike, ...]


def common_axes(tensors: Sequence[Tensor], op: str) -> Axes | None:
    """The axes of an elementwise result of named tensors, or None if all are anonymous.

    Raises AxisMismatch for axes of one role with different lengths, and for anonymous tensors that cannot take the
    names.
    """
    return _lent(tensors, op)[1]


def both_named(left: Tensor, right: Tensor, op: str) -> tuple[Tensor, Tensor]:
    """Returns ``left`` and ``right``, at least one of them named, with names on both. A scalar gets no axes; another
    anonymous tensor takes the names by position if it may.
    """
    tensors = []
    for own, other in ((left, right), (right, left)):
        if own.is_named:
            tensors.append(own)
        elif own.ndim == 0:
            tensors.append(Tensor(own.value, Axes()))
        else:
            common_axes([left, right], op)
            tensors.append(Tensor(own.value, other.axes))
    return tensors[0], tensors[1]


def aligned(tensors: Sequence[Tensor], op: str) -> tuple[list[Value], Axes | None, Shape]:
    """Returns core values of one shape for an elementwise op, with the axes (None: anonymous) and the shape of its
    result.
    """
    own, axes = _lent(tensors, op)
    if axes is None:
        shape = broadcast_shape([tensor.type.shape for tensor in tensors], op)
        return [broadcast_anonymous(tensor.value, shape, op) for tensor in tensors], None, shape
    values = [move_to(tensor.value, named, axes, op) for tensor, named in zip(tensors, own, strict=True)]
    return values, axes, axes.lengths


def fitted(value: Tensor, target: Tensor, op: str, position: int = 2) -> Value:
    """Returns a value on the axes of the target of an assignment; AxisMismatch if it has an axis that the target
    lacks.
    """
    if value.is_named and target.is_named:
        pairs = pairing(value.axes, target.axes)
        check_roles(target.axes, value.axes, {there: here for here, there in pairs.items()}, op, position)
        if len(pairs) < value.ndim:
            extra = [axis.label for at, axis in enumerate(value.axes) if at not in pairs]
            raise AxisMismatch(f"the target lacks {', '.join(extra)}", op=op, operand=position, got=str(value.axes),
                               expected=f"a subset of {target.axes}", help="reduce these axes, or index them")
        return move_to(value.value, value.axes, target.axes, op)
    common_axes([target, value], op)
    shape = broadcast_shape([target.type.shape, value.type.shape], op)
    if len(shape) != target.ndim or any(own == 1 and got != 1
                                        for own, got in zip(target.type.shape, shape, strict=True)):
        raise ShapeMismatch("the value has a larger shape than the target", op=op, operand=position,
                            got=str(value.shape), expected=f"what broadcasts to {target.shape}",
                            help="reduce the value, or index it")
    return broadcast_anonymous(value.value, target.type.shape, op)


def arranged(tensor: Tensor, axes: Axes, op: str, operand: str | int) -> Tensor:
    """Returns a tensor with its axes in the order of ``axes``, those of the place that it is put into, matched by
    name.

    If the tensor or the place has no names, they match by position. Raises AxisMismatch if the sets of axes differ.
    """
    if not tensor.is_named or axes.is_anonymous:
        return tensor
    pairs = pairing(axes, tensor.axes)
    check_roles(axes, tensor.axes, pairs, op, operand)
    if not len(pairs) == len(axes) == tensor.ndim:
        raise AxisMismatch("the tensor has other axes", op=op, operand=operand, got=str(tensor.axes),
                           expected=f"{axes}, in any order",
                           help="nv.map_roles(x, {old: new}) renames axes, nv.cast_axes(x, axes) goes by position")
    order = [pairs[at] for at in range(len(axes))]
    return Tensor(reordered(tensor.value, order), Axes([tensor.axes[at] for at in order]))


def move_to(value: Value, own: Axes, axes: Axes, op: str) -> Value:
    """Broadcasts a value with axes ``own``, all of which occur in ``axes``, to ``axes`` in their order."""
    if own is axes:
        return value
    pairs = pairing(own, axes)
    where = [pairs[at] for at in range(len(own))]
    value = reordered(value, inverse_permutation(where))
    missing = [position for position in range(len(axes)) if position not in set(where)]
    target = axes.lengths
    present = tuple([target[position] for position in sorted(where)])
    value = assume_shape(value, present, op)
    return Broadcast(value, target, missing).output if missing else value


def reordered(value: Value, order: Sequence[int]) -> Value:
    """Returns a core value with its dimensions in another order, or the value itself if that is the order it has."""
    return value if list(order) == list(range(value.rank)) else Permute(value, order).output


def pairing(left: Axes, right: Axes) -> dict[int, int]:
    """Maps each axis of ``left`` to the one axis of ``right`` that it matches. Certain matches are made before
    possible ones.
    """
    pairs: dict[int, int] = {}
    for wanted in (True, None):
        for here, axis in enumerate(left):
            if here in pairs:
                continue
            for there, other in enumerate(right):
                if match(axis, other) is wanted and there not in pairs.values():
                    pairs[here] = there
                    break
        if len(pairs) == len(left):
            break
    return pairs


def check_roles(left: Axes, right: Axes, pairs: dict[int, int], op: str, position: str | int) -> None:
    """Raises AxisMismatch for an axis outside ``pairs`` that has the class and the offset of an axis of the other
    operand.
    """
    alone = [(axis, right) for at, axis in enumerate(left) if at not in pairs]
    alone += [(axis, left) for at, axis in enumerate(right) if at not in pairs.values()]
    for axis, others in alone:
        other = next((other for other in others if same_role(axis, other)), None)
        if other is not None:
            got, expected = (axis, other) if others is left else (other, axis)
            raise AxisMismatch(f"axis {axis.label} has two lengths", op=op, operand=position, got=str(got),
                               expected=str(expected),
                               help="slice or pad one of them, or rename it with nv.map_roles or nv.cast_axes")


def assume_shape(value: Value, shape: Shape, op: str, reason: str = "") -> Value:
    """Returns the value with a shape that ``op`` may have to assume, or the value itself if it has that shape already.
    A ``reason`` is the message of calls for which it does not hold.
    """
    return value if value.type.shape == shape else AssumeShape(value, shape, needed_by=op, reason=reason).output


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
                                    got=str(shape), expected=f"{length} or 1 at dimension {-back}",
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
    stretched = [d for d, entry in enumerate(own) if entry == 1 and shape[lead + d] != 1]
    kept = tuple([entry for d, entry in enumerate(own) if d not in stretched])
    if stretched:
        value = Reshape(value, kept).output
    new = [*range(lead), *[lead + d for d in stretched]]
    value = assume_shape(value, tuple([entry for d, entry in enumerate(shape) if d not in new]), op)
    return Broadcast(value, shape, sorted(new)).output if new else value


def _joined(left: Axes, right: Axes, op: str, position: int) -> Axes:
    """The axes of two operands together: the larger one's where it contains the other, else left, then new ones."""
    pairs = pairing(left, right)
    check_roles(left, right, pairs, op, position)
    if len(pairs) == len(right):
        return left
    if len(pairs) == len(left):
        return right
    return Axes([*left, *[axis for at, axis in enumerate(right) if at not in pairs.values()]])


def _lent(tensors: Sequence[Tensor], op: str) -> tuple[list[Axes], Axes | None]:
    """Returns the axes of each operand and of the result, from left to right; the result's are None if no operand has
    names.

    An anonymous operand takes the names of all operands before it, or those of the first named one.
    """
    axes = next((tensor.axes for tensor in tensors if tensor.is_named), None)
    if axes is None:
        return [], None
    own = []
    for position, tensor in enumerate(tensors):
        if tensor.is_named:
            own.append(tensor.axes)
            axes = axes if tensor.axes is axes else _joined(axes, tensor.axes, op, position + 1)
        elif tensor.ndim:
            _check_takes_names(tensor, axes, op, position + 1)
            own.append(axes)
        else:
            own.append(make_axes())
    return own, axes


def _check_takes_names(tensor: Tensor, named: Axes, op: str, position: int) -> None:
    """Checks that an anonymous tensor may take names by position: ranks are equal, and lengths provably so."""
    if not same_lengths(tensor.type.shape, named.lengths):
        raise AxisMismatch(f"operand {position} has no axis names; give it axes=(...)", op=op, operand=position,
                           got=str(tensor.type.shape), expected=str(named),
                           help='nv.constant(value, axes="N=32, H=28"), or nv.cast_axes(x, axes)')
