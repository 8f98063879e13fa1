"""Canonical views: a chain of views becomes one view, and a view that shows all of a tensor in place becomes that
tensor.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3, 4))
>>> turned = nv.ops.Permute(nv.ops.Permute(x, (1, 2, 0)), (2, 0, 1))
>>> canonical_views(nv.Function([turned], [x])).results
(f32[2, 3, 4] Parameter(),)

Two views of one class become one of that class. Others are composed as index maps: the result is the simplest class
that expresses it (``Permute``, ``Broadcast``, ``Reverse``, ``Slice``), else an ``IndexView``, if its coordinates are
affine. If they are not (a reshape of a transposed tensor needs divisions and remainders) the two views stay, which
express it better. So do views that do not compose: ``AssumeShape``, unless it assumes nothing, ``FoldedPad`` and
``Windows``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, TypeVar

from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.op import Op, Value
from nervure.ops.update import IndexView
from nervure.ops.views import AssumeShape, Broadcast, Concatenate, FoldedPad, Pad, Permute, Reshape, Reverse, Slice
from nervure.passes.rewrite import Local, Rewriter, Rule
from nervure.types.dim import Dim, DimLike, affine, less_equal
from nervure.types.index_map import IndexMap, indices
from nervure.types.view import SimpleView

Left = TypeVar("Left")
Right = TypeVar("Right")

# -- views that change nothing -----------------------------------------------------------------------------


def _keeps_all(op: Op) -> bool:
    """Whether a view of one tensor, of the tensor's shape, shows every element in its place."""
    shape = op.operands[0].shape
    if type(op) is Broadcast or type(op) is Reverse:
        return all([op.shape[axis] == 1 for axis in op.axes])
    if type(op) is Permute:
        return list(op.order) == list(range(len(shape)))
    if type(op) is Slice:
        return all([entry == (0, length, 1) for entry, length in zip(op.slices, shape, strict=True)])
    if type(op) is Pad or type(op) is FoldedPad:
        return all([amount == 0 for pair in op.paddings for amount in pair])
    if type(op) in (Reshape, AssumeShape, Concatenate):
        return True
    return composes(op) and op.simple_view.index_map.is_identity(shape)


def composes(op: Op) -> TypeGuard[View]:
    """Whether an op is a view of one tensor that may be merged with others into an index map."""
    return isinstance(op, View) and op.composes and isinstance(op.view, SimpleView)


def _without_identity(op: Op) -> Value | None:
    x = op.operands[0] if len(op.operands) == 1 else None
    return x if x is not None and x.shape == op.outputs[0].shape and _keeps_all(op) else None


def _cut(op: Pad) -> Op | None:
    """Replaces a padding that only cuts off by a slice."""
    if not all([less_equal(amount, 0) is True for pair in op.paddings for amount in pair]):
        return None
    starts = [-before for before, _ in op.paddings]
    return _tried(lambda x, shape: Slice(x, [(start, length, 1) for start, length in zip(starts, shape, strict=True)]),
                  op.operands[0], op.outputs[0].shape)


# -- two views of one class --------------------------------------------------------------------------------


def _permuted_twice(inner: Permute, outer: Permute) -> Op:
    return Permute(inner.operands[0], [inner.order[d] for d in outer.order])


def _broadcast_twice(inner: Broadcast, outer: Broadcast) -> Op:
    kept = [d for d in range(len(outer.shape)) if d not in outer.axes]
    return Broadcast(inner.operands[0], outer.shape, sorted([*outer.axes, *[kept[axis] for axis in inner.axes]]))


def _reversed_twice(inner: Reverse, outer: Reverse) -> Op:
    return Reverse(inner.operands[0], sorted({*inner.axes} ^ {*outer.axes}))


def _sliced_twice(inner: Slice, outer: Slice) -> Op:
    pairs = zip(inner.slices, outer.slices, strict=True)
    return Slice(inner.operands[0], [(start + first * step, extent, step * stride)
                                     for (start, _, step), (first, extent, stride) in pairs])


def _reshaped_twice(inner: Reshape, outer: Reshape) -> Op:
    return Reshape(inner.operands[0], outer.shape)


def _assumed_twice(inner: AssumeShape, outer: AssumeShape) -> Op:
    return AssumeShape(inner.operands[0], outer.shape, outer.needed_by, outer.reason)


_TWICE: dict[type[Op], Callable[[Any, Any], Op]] = {
    Permute: _permuted_twice, Broadcast: _broadcast_twice, Reverse: _reversed_twice, Slice: _sliced_twice,
    Reshape: _reshaped_twice, AssumeShape: _assumed_twice}


def _of_same_class(op: Op) -> Op | None:
    inner = op.operands[0].op
    if type(inner) is not type(op):
        return None
    return _tried(_TWICE[type(op)], inner, op)


# -- two views of any classes ------------------------------------------------------------------------------


def _of_other_class(op: Op) -> Value | None:
    inner = op.operands[0].op
    if not (composes(op) and composes(inner)):
        return None
    composed = inner.simple_view.index_map.compose(op.simple_view.index_map)
    return simplest_view(inner.operands[0], composed)


def simplest_view(x: Value, map: IndexMap) -> Value | None:
    """Returns x seen through an index map, by the simplest op that expresses it; None if the map is not affine."""
    if map.shape == x.shape and map.coordinates == indices(map.rank):
        return x
    names = [f"%{k}" for k in range(map.rank)]
    if not all([affine(coordinate, names) is not None for coordinate in map.coordinates]):
        return None
    for attempt in (_as_permute, _as_broadcast, _as_slice):
        found = _tried(attempt, x, map)
        if found is not None and found.shape == map.shape:
            return found.output
    return IndexView(x, map).output


def _as_permute(x: Value, map: IndexMap) -> Op | None:
    order = map.permutes()
    return None if order is None else Permute(x, order)


def _as_broadcast(x: Value, map: IndexMap) -> Op | None:
    """Returns a Broadcast if the coordinates are indices in ascending order."""
    places = {symbol: d for d, symbol in enumerate(indices(map.rank))}
    kept = [places.get(entry, -1) if isinstance(entry, Dim) else -1 for entry in map.coordinates]
    if -1 in kept or kept != sorted(set(kept)):
        return None
    return Broadcast(x, map.shape, [d for d in range(map.rank) if d not in kept])


def _as_slice(x: Value, map: IndexMap) -> Op | None:
    """Returns a Slice if each coordinate is affine in the index of its own dimension; reversing whole dimensions is a
    Reverse.
    """
    if map.rank != x.rank:
        return None
    ranges: list[tuple[DimLike, DimLike, DimLike]] = []
    for d, (coordinate, extent) in enumerate(zip(map.coordinates, map.shape, strict=True)):
        parts = affine(coordinate, [f"%{k}" for k in range(map.rank)])
        if parts is None or any([k != d and parts[0][f"%{k}"] != 0 for k in range(map.rank)]):
            return None
        step = parts[0][f"%{d}"]
        ranges.append((parts[1], extent, 1 if step == 0 and extent == 1 else step))
    forward = [(0, length, 1) for length in x.shape]
    backward = [(length - 1, length, -1) for length in x.shape]
    if all([entry in pair for entry, pair in zip(ranges, zip(forward, backward, strict=True), strict=True)]):
        return Reverse(x, [d for d, entry in enumerate(ranges) if entry != forward[d]])
    return Slice(x, ranges)


def _tried(build: Callable[[Left, Right], Op | None], left: Left, right: Right) -> Op | None:
    """Returns the result of ``build``, or None if a type rule cannot prove facts that the chain of two could."""
    try:
        return build(left, right)
    except NervureError:
        return None


class _Composition(Local):
    """A rule for a view directly above another one."""

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        is_on_view = any([issubclass(entry, View) for entry in operand_classes])
        return is_on_view and super().may_apply(op_class, operand_classes)


RULES: tuple[Rule, ...] = (
    Local("a view that changes nothing", [View], _without_identity),
    Local("a padding that cuts off", [Pad], _cut),
    _Composition("two views of one class", _TWICE, _of_same_class),
    _Composition("a view of a view", [View], _of_other_class),
)

_rewriter = Rewriter("canonical_views", RULES)


def canonical_views(function: Function) -> Function:
    """Returns the function with every chain of views as short as possible."""
    return _rewriter(function)
