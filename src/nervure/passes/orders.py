"""Orders: what an op is when its operands lie in memory with their dimensions in another order.

An ``Ordered`` value stands for another one, of which it has all elements. What is computed of it element by element, at
places moved along single dimensions, or over whole dimensions, can be computed in that order, and its result lies in
that order again: nothing has to cross memory.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 14, 14, 64))
>>> images = nv.ops.Permute(x, (0, 3, 1, 2))
>>> laid = Ordered(x.value, channels_last(4))
>>> in_order(nv.ops.Relu(images), [laid])
Ordered(value=f32[8, 14, 14, 64] Relu(Parameter), order=(0, 2, 3, 1))
>>> in_order(nv.ops.Sum(images, [2, 3]), [laid])
Ordered(value=f32[8, 64] Sum(Parameter), order=(0, 1))
>>> in_order(nv.ops.Sum(images, [1, 2]), [laid]) is None
True

The last sum would add its elements in another order, which would change bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nervure.ir.kinds import Elementwise
from nervure.ir.leaves import Full
from nervure.ir.op import Op, Value
from nervure.ops.reductions import Fold
from nervure.ops.update import FilledView
from nervure.ops.views import Concatenate, Pad, Permute, Reverse, Slice
from nervure.passes.canonical_views import composes, simplest_view
from nervure.passes.rearranged import in_memory
from nervure.types.dim import index, index_symbols, less_equal, product, substitute
from nervure.types.index_map import IndexMap, indices
from nervure.types.shape import inverse_permutation

Order = tuple[int, ...]


class Ordered(NamedTuple):
    """A value that stands for another one: its dimension d is dimension ``order[d]`` of that one."""

    value: Value
    order: Order

    @property
    def is_plain(self) -> bool:
        """Whether its dimensions are those of what it stands for, in their order."""
        return self.order == tuple(range(len(self.order)))

    @property
    def plain(self) -> Value:
        """A view of it that has the dimensions of the original in their order."""
        return self.value if self.is_plain else Permute(self.value, inverse_permutation(self.order)).output


Operands = Sequence[Ordered | None]
"""For each operand of an op the value that stands for it, if one does."""


def channels_last(rank: int) -> Order:
    """Returns the order (N, lengths, C) of the dimensions of (N, C, lengths)."""
    return (0, *range(2, rank), 1)


def goes_on(op: Op) -> bool:
    """Whether the result of an op mostly lies in the order of its operands, and its dimensions are theirs."""
    return isinstance(op, Elementwise | FilledView | Slice | Pad | Reverse | Concatenate)


def in_order(op: Op, laid: Operands) -> Ordered | None:
    """Returns the result of ``op`` in the order of its operands, for which the values of ``laid`` stand.

    None where the op has to be computed of its own operands: else it had other bits, or elements had to move.
    """
    rule = _RULES.get(type(op))
    if rule is None:
        rule = next((entry for kind, entry in _OF_KINDS if isinstance(op, kind)), None)
    return None if rule is None or len(op.outputs) != 1 or not any(laid) else rule(op, laid)


def moved(x: Value, laid: Ordered | None, order: Order) -> Value:
    """Returns the value ``x`` in an order: as it lies, if ``laid`` stands for it so, else moved there by a permutation.
    """
    if order == tuple(range(x.rank)):
        return x
    return laid.value if laid is not None and laid.order == order else Permute(x, order).output


# -- element by element ------------------------------------------------------------------------------------------------


def _elementwise(op: Elementwise, laid: Operands) -> Ordered | None:
    """Returns an op on operands of one order, and on others that repeat their elements, so that their order costs
    nothing.
    """
    order = next(entry.order for entry in laid if entry is not None)
    operands = [_element(x, entry, order) for x, entry in zip(op.operands, laid, strict=True)]
    known = [x for x in operands if x is not None]
    return Ordered(op.with_operands(known).outputs[0], order) if len(known) == len(operands) else None


def _element(x: Value, laid: Ordered | None, order: Order) -> Value | None:
    """Returns an operand in an order; None where it would have to be moved for that."""
    return repetition(x, order) if laid is None else moved(x, laid, order)


def repetition(x: Value, order: Order) -> Value | None:
    """Returns a value in an order if its elements are the same along some dimension, else None."""
    if isinstance(x.op, Full):
        return Full(x.op.number, x.dtype, tuple([x.shape[d] for d in order])).output
    below, map = x, IndexMap(x.shape, indices(x.rank))
    while composes(below.op):
        map, below = below.op.simple_view.index_map.compose(map), below.op.operands[0]
    used = {name for coordinate in map.coordinates for name in index_symbols(coordinate)}
    if not any([f"%{d}" not in used and length != 1 for d, length in enumerate(map.shape)]):
        return None
    at = {f"%{own}": index(d) for d, own in enumerate(order)}
    shape = tuple([map.shape[own] for own in order])
    return simplest_view(*_side_by_side(below, IndexMap(shape, tuple([substitute(x, at) for x in map.coordinates]))))


def _side_by_side(x: Value, map: IndexMap) -> tuple[Value, IndexMap]:
    """Returns a value, and the map of what is seen of it, with the elements of the map's last dimension next to each
    other.

    They are moved there if they lie apart, and there are no more of them than what repeats them has.
    """
    last = index(map.rank - 1)
    if map.coordinates.count(last) != 1 or less_equal(product(x.shape), product(map.shape)) is not True:
        return x, map
    at = map.coordinates.index(last)
    if product(x.shape[at + 1:]) == 1:
        return x, map
    order = (*[d for d in range(x.rank) if d != at], at)
    near = in_memory(Permute(x, order).output)
    return near, IndexMap(map.shape, tuple([map.coordinates[d] for d in order]))


# -- at places that move along single dimensions -----------------------------------------------------------------------


def _filled_view(op: FilledView, laid: Operands) -> Ordered | None:
    (entry,), map = laid, op.map
    names = [index_symbols(coordinate) for coordinate in map.coordinates]
    if entry is None or map.rank != len(names) or not all([own <= {f"%{d}"} for d, own in enumerate(names)]):
        return None
    shape = tuple([map.shape[own] for own in entry.order])
    coordinates = tuple([substitute(map.coordinates[own], {f"%{own}": index(d)}) for d, own in enumerate(entry.order)])
    return Ordered(FilledView(entry.value, IndexMap(shape, coordinates), op.number).output, entry.order)


def _slice(op: Slice, laid: Operands) -> Ordered | None:
    return _along_dimensions(laid, lambda x, order: Slice(x, [op.slices[own] for own in order]))


def _pad(op: Pad, laid: Operands) -> Ordered | None:
    return _along_dimensions(laid, lambda x, order: Pad(x, [op.paddings[own] for own in order], op.number))


def _reverse(op: Reverse, laid: Operands) -> Ordered | None:
    return _along_dimensions(laid, lambda x, order: Reverse(x, [d for d, own in enumerate(order) if own in op.axes]))


def _along_dimensions(laid: Operands, make: Callable[[Value, Order], Op]) -> Ordered | None:
    entry, = laid
    return None if entry is None else Ordered(make(*entry).outputs[0], entry.order)


def _concatenate(op: Concatenate, laid: Operands) -> Ordered | None:
    values, orders = [entry.value for entry in laid if entry], {entry.order for entry in laid if entry}
    if len(values) < len(laid) or len(orders) != 1:
        return None
    order, = orders
    return Ordered(Concatenate(*values, axis=order.index(op.axis)).output, order)


# -- in an order of its own --------------------------------------------------------------------------------------------


def _permute(op: Permute, laid: Operands) -> Ordered | None:
    """Returns the same value, in an order that is counted from the dimensions of the result."""
    entry, = laid
    if entry is None:
        return None
    places = inverse_permutation(op.order)
    found = Ordered(entry.value, tuple([places[own] for own in entry.order]))
    return found if found.is_plain or found.order == channels_last(len(places)) else None


def _fold(op: Fold, laid: Operands) -> Ordered | None:
    """Returns a reduction whose elements, and whose results, come one after the other as before."""
    entry, = laid
    if entry is None:
        return None
    axes = [d for d, own in enumerate(entry.order) if own in op.axes]
    reduced = [entry.order[d] for d in axes]
    kept = [own for own in entry.order if own not in op.axes]
    if reduced != sorted(reduced) or kept != sorted(kept):
        return None
    return Ordered(op.over(entry.value, axes).outputs[0], tuple(range(len(kept))))


_RULES: dict[type[Op], Callable[[Any, Operands], Ordered | None]] = {
    FilledView: _filled_view, Slice: _slice, Pad: _pad, Reverse: _reverse, Concatenate: _concatenate,
    Permute: _permute}
_OF_KINDS: tuple[tuple[type[Op], Callable[[Any, Operands], Ordered | None]], ...] = (
    (Elementwise, _elementwise), (Fold, _fold))
