"""Layouts: what is made with channels last stays so, until somebody reads it who needs another order.

A permutation that brings channels to the front goes below what is computed of it, element by element, at places moved
against each other or over all places. Where it meets the one that brings them to the end again both vanish: between
convolutions with channels last nothing crosses memory.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 14, 14, 64))
>>> last = nv.ops.Relu(nv.ops.Permute(x, (0, 3, 1, 2)))
>>> for op in channels_stay_last(nv.Function([nv.ops.Sum(last, [2, 3])], [x])).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 14, 14, 64)
Relu (8, 14, 14, 64)
Sum (8, 64)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise, View
from nervure.ir.leaves import Full
from nervure.ir.op import Value
from nervure.ops.reductions import Fold
from nervure.ops.update import FilledView
from nervure.ops.views import Concatenate, Pad, Permute, Reshape, Slice
from nervure.passes.canonical_views import composes, simplest_view
from nervure.passes.rewrite import Local, Rewriter
from nervure.types.dim import index, index_symbols, substitute
from nervure.types.index_map import IndexMap

Order = tuple[int, ...]


def channels_stay_last(function: Function) -> Function:
    """The function with the permutations of what has its channels last as far down as they go."""
    return _rewriter(function)


def _turn(x: Value) -> Order | None:
    """The order of a permutation that brings the last dimension to the front, behind the first."""
    order = (0, x.rank - 1, *range(1, x.rank - 1))
    return order if type(x.op) is Permute and x.rank > 2 and tuple(x.op.order) == order else None


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


# -- below what is computed ------------------------------------------------------------------------------------------


def _below_elementwise(op: Elementwise) -> Value | None:
    """Where all operands are permuted or repeat their elements, so that their order costs nothing."""
    order = next((turn for operand in op.operands if (turn := _turn(operand)) is not None), None)
    if order is None or len(op.outputs) != 1:
        return None
    if not all([_turn(operand) is not None or _repeats(operand) for operand in op.operands]):
        return None
    inner = op.with_operands([Permute(operand, _inverse(order)).output for operand in op.operands])
    return Permute(inner.outputs[0], order).output


def _repeats(x: Value) -> bool:
    """Whether a value has the same elements along some dimension."""
    if isinstance(x.op, Full):
        return True
    if not isinstance(x.op, View) or not composes(x.op):
        return False
    map = x.op.simple_view.index_map
    used = {name for coordinate in map.coordinates for name in index_symbols(coordinate)}
    return any([f"%{d}" not in used and length != 1 for d, length in enumerate(map.shape)])


def _below_moved(op: FilledView) -> Value | None:
    """Where each coordinate depends on the index of its own dimension alone."""
    x, order = op.operands[0], _turn(op.operands[0])
    names = [index_symbols(coordinate) for coordinate in op.map.coordinates]
    if order is None or op.map.rank != x.rank or not all([own <= {f"%{d}"} for d, own in enumerate(names)]):
        return None
    shape = tuple([op.map.shape[d] for d in _inverse(order)])
    coordinates = tuple([substitute(op.map.coordinates[d], {f"%{d}": index(own)})
                         for own, d in enumerate(_inverse(order))])
    return Permute(FilledView(_whole(x), IndexMap(shape, coordinates), op.number), order).output


def _below_slice(op: Slice) -> Value | None:
    """Slices of what repeats its elements go through that."""
    x, order = op.operands[0], _turn(op.operands[0])
    if order is None:
        return _through_repetition(op) if _repeats(x) else None
    return Permute(Slice(_whole(x), [op.slices[d] for d in _inverse(order)]), order).output


def _below_concatenation(op: Concatenate) -> Value | None:
    order = _turn(op.operands[0])
    if order is None or not all([_turn(operand) for operand in op.operands]):
        return None
    return Permute(Concatenate(*map(_whole, op.operands), axis=order[op.axis]), order).output


def _below_reduction(op: Fold) -> Value | None:
    """Where what is reduced and what stays keep their orders, so that no bit changes."""
    x, order = op.operands[0], _turn(op.operands[0])
    if order is None:
        return None
    axes = [order[axis] for axis in op.axes]
    kept = [place for axis, place in enumerate(order) if axis not in op.axes]
    is_in_order = axes == sorted(axes) and kept == sorted(kept)
    return op.over(_whole(x), axes).outputs[0] if is_in_order else None


def _whole(x: Value) -> Value:
    """What is permuted."""
    return x.op.operands[0]


# -- two that meet ---------------------------------------------------------------------------------------------------


def _reordered(op: Permute) -> Value | None:
    """A permutation of a permutation, or of what repeats its elements."""
    x = op.operands[0]
    if type(x.op) is Permute:
        order = [x.op.order[d] for d in op.order]
        return _whole(x) if order == list(range(x.rank)) else Permute(_whole(x), order).output
    return _through_repetition(op) if _repeats(x) else None


def _through_repetition(op: View) -> Value | None:
    """A view of what repeats its elements as a view of these."""
    inner = op.operands[0].op
    if isinstance(inner, Full):
        return Full(inner.number, inner.dtype, op.outputs[0].shape).output
    assert composes(inner)
    return simplest_view(inner.operands[0], inner.simple_view.index_map.compose(op.simple_view.index_map))


def _kept(op: Pad) -> Value | None:
    """A copy of what is computed, and so lies in memory in its own order, is not made."""
    x = op.operands[0]
    inner = x
    while type(inner.op) is Reshape:
        inner = _whole(inner)
    is_copy = all([amount == 0 for pair in op.paddings for amount in pair])
    return None if not is_copy or isinstance(inner.op, View) else x


_rewriter = Rewriter("channels_stay_last", [
    Local("two permutations", [Permute], _reordered),
    Local("a copy", [Pad], _kept),
    Local("below elementwise ops", [Elementwise], _below_elementwise),
    Local("below moved places", [FilledView], _below_moved),
    Local("below slices", [Slice], _below_slice),
    Local("below concatenations", [Concatenate], _below_concatenation),
    Local("below reductions", [Fold], _below_reduction)])
