"""Convolutions whose data lie in memory with all channels of a place side by side.

Places are the rows of a product then, filters its columns. A window at a place is a few stretches of memory, and a
table says where each place is: so strides, short rows and batches cost nothing, and nothing is computed between rows.
The filters are packed as they are multiplied, once for each of their values.

>>> import nervure as nv
>>> from nervure.ops.convolution import Geometry
>>> x, f = nv.Parameter(nv.float32, (8, 32, 28, 28)), nv.Parameter(nv.float32, (64, 32, 3, 3))
>>> slid = convolved(x, f, Geometry((2, 2), (1, 1), ((1, 1), (1, 1)), 1), (14, 14))
>>> for op in nv.Function([slid], [x, f]).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 32, 28, 28)
Parameter (64, 32, 3, 3)
Permute (8, 28, 28, 32)
Pad (8, 29, 29, 32)
IndexView (8, 14, 14, 1, 3, 3, 32)
Reshape (1, 64, 32, 3, 3)
Permute (1, 3, 3, 32, 64)
Contract (8, 14, 14, 1, 64)
Reshape (8, 14, 14, 64)
Permute (8, 64, 14, 14)

The last permutation goes down to where somebody wants it (:mod:`nervure.passes.layouts`): a chain of such convolutions
has none between them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise
from nervure.ir.leaves import Constant, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ops.contraction import Contract
from nervure.ops.convolution import Convolution, Geometry
from nervure.ops.reductions import Fold
from nervure.ops.update import FilledView, IndexView
from nervure.ops.views import Concatenate, Permute, Reverse, Slice
from nervure.passes.canonical_views import composes
from nervure.passes.rearranged import by_group, in_memory, joined, padded
from nervure.types.dim import DimLike, less_equal, product
from nervure.types.dtype import float32, float64
from nervure.types.index_map import IndexMap, indices

_GOES_ON = Elementwise, FilledView, Slice, Concatenate

LEAST_FILTERS = 48
"""Filters of a group from which on their panel is wide enough: a main tile has 64 columns."""

CROSSING = 200
"""Multiply-adds that have to become faster to make up for an element that crosses memory, to channels last or back."""


def chosen(function: Function) -> set[Value]:
    """The leaves that filters come from whose data are to have channels last: those that stay from call to call, so
    that their panels are packed once, of convolutions that gain more than it costs to bring data into that order and
    results out of it. Between two of them, and before a reduction, nothing is brought anywhere.
    """
    written = {variable for variable, _ in function.updates}
    candidates = {op for op in function.operations if isinstance(op, Convolution) and _is_candidate(op, written)}
    before, behind = _reached(function, candidates)
    found = set()
    for op in candidates:
        x, f = op.operands
        data = 0 if x in before else x.shape[1] * prod(op.strides)
        results = 0 if op.outputs[0] in behind else f.shape[0]
        if less_equal(CROSSING * (data + results), product(f.shape)) is True:
            found.add(leaf_of(f))
    return found


def described(op: Op) -> str | None:
    """That an op is the product of a convolution with channels last, and what spoke for it; None for other ops."""
    seen = op.operands[0] if isinstance(op, Contract) else None
    if seen is None or not isinstance(seen.op, IndexView) or seen.rank != 2 * seen.op.operands[0].rank - 1:
        return None
    filters = op.operands[1]
    each = product(filters.shape)
    return f"channels last: {filters.shape[0] * filters.shape[-1]} filters, {each} multiply-adds a place"


def leaf_of(f: Value) -> Value:
    """What filters are a view of."""
    while composes(f.op):
        f = f.op.operands[0]
    return f


def _is_candidate(op: Convolution, written: Collection[object]) -> bool:
    """Whether a panel of the filters lasts, and is wide enough; of a type for which there are register tiles."""
    leaf, filters = leaf_of(op.operands[1]).op, op.operands[1].shape[0]
    lasts = isinstance(leaf, Constant) or isinstance(leaf, ReadVariable) and leaf.variable not in written
    is_tiled = op.outputs[0].dtype in (float32, float64)
    return lasts and is_tiled and isinstance(filters, int) and filters >= LEAST_FILTERS * op.groups


def _reached(function: Function, candidates: Collection[Op]) -> tuple[set[Value], set[Value]]:
    """The values that follow from results of candidates, and those from which data of candidates, or reductions,
    follow, element by element, window by window or side by side.
    """
    before = {output for op in candidates for output in op.outputs}
    for op in function.operations:
        if isinstance(op, _GOES_ON) and not before.isdisjoint(op.operands):
            before.update(op.outputs)
    behind = {op.operands[0] for op in candidates}
    for op in reversed(function.operations):
        if isinstance(op, Fold) or isinstance(op, _GOES_ON) and not behind.isdisjoint(op.outputs):
            behind.update(op.operands)
    return before, behind


def convolved(x: Value, f: Value, geometry: Geometry, places: Sequence[DimLike], is_turned: bool = False) -> Value:
    """The convolution of data (N, groups*C, lengths) with filters (groups*K, C, windows) at so many places; with the
    positions of a window from the last to the first, if the filters are turned.
    """
    rank, groups = len(places), geometry.groups
    filters = Permute(by_group(f, groups, 0), (0, *range(3, 3 + rank), 2, 1)).output
    if is_turned:
        filters = Reverse(filters, range(1, 1 + rank)).output
    seen = _seen(_in_memory(x, geometry, f.shape[2:], places), geometry, filters.shape[:-1], places)
    *kept, group = range(2 + rank)
    points = range(2 + rank, seen.rank)
    product = Contract(seen, filters, (*kept, group, *points), (group, *points, seen.rank), (*kept, group, seen.rank))
    return Permute(joined(product.output, 1 + rank), (0, 1 + rank, *range(1, 1 + rank))).output


def _in_memory(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """The data (N, lengths, C) with what windows see beside them, as they lie in memory."""
    last = Permute(x, (0, *range(2, x.rank), 1)).output
    around = [(before, (place - 1) * stride + (window - 1) * dilation + 1 - before - own)
              for (before, _), place, stride, window, dilation, own in zip(
                  geometry.paddings, places, geometry.strides, windows, geometry.dilations, x.shape[2:], strict=True)]
    needs_none = all([before == 0 and isinstance(after, int) and after <= 0 for before, after in around])
    return in_memory(last) if needs_none else padded(last, [(0, 0), *around, (0, 0)])


def _seen(data: Value, geometry: Geometry, points: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """What windows see (N, places, groups, windows, C): ``points`` are the lengths of the last three."""
    groups, *windows, channels = points
    n, *rest = indices(1 + len(places) + len(points))
    at, (group, *offsets, c) = rest[:len(places)], rest[len(places):]
    positions = [place * stride + offset * dilation for place, stride, offset, dilation
                 in zip(at, geometry.strides, offsets, geometry.dilations, strict=True)]
    shape = (data.shape[0], *places, groups, *windows, channels)
    return IndexView(data, IndexMap(shape, (n, *positions, group * channels + c))).output
