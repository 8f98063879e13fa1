"""Convolutions whose data lie in memory with all channels of a place side by side.

Places are the rows of a product then, filters its columns. A window at a place is a few stretches of memory, and a
table says where each place is: so strides, short rows and batches cost nothing, and nothing is computed between rows.
The filters are packed as they are multiplied, once for each of their values.

>>> import nervure as nv
>>> from nervure.ops.convolution import Geometry
>>> x, f = nv.Parameter(nv.float32, (8, 32, 28, 28)), nv.Parameter(nv.float32, (64, 32, 3, 3))
>>> data, geometry = nv.ops.Permute(x, order(4)).output, Geometry((2, 2), (1, 1), ((1, 1), (1, 1)), 1)
>>> slid = convolved(data, f.value, geometry, (14, 14))
>>> for op in nv.Function([slid], [x, f]).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 32, 28, 28)
Parameter (64, 32, 3, 3)
Permute (8, 28, 28, 32)
Contiguous (8, 28, 28, 32)
FilledView (8, 14, 14, 1, 3, 3, 32)
Reshape (1, 64, 32, 3, 3)
Permute (1, 3, 3, 32, 64)
Contract (8, 14, 14, 1, 64)
Reshape (8, 14, 14, 64)

What follows is computed in that order, too, as far as it can be (:mod:`nervure.passes.layouts`): between such
convolutions nothing crosses memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from nervure.ir.function import Function
from nervure.ir.leaves import Constant, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ops.contraction import Contract
from nervure.ops.convolution import Convolution, ConvolutionDataGradient, Geometry
from nervure.ops.reductions import Fold
from nervure.ops.update import FilledView, IndexView
from nervure.ops.views import Permute, Reverse
from nervure.passes import unpadded
from nervure.passes.canonical_views import composes
from nervure.passes.orders import Order, channels_last, goes_on
from nervure.passes.rearranged import by_group, in_memory, joined, padded
from nervure.support.machine import GENERIC, Machine
from nervure.support.product_tuning import ProductTuning
from nervure.types.dim import DimLike, less_equal, product
from nervure.types.dtype import float32, float64

Form = Convolution | ConvolutionDataGradient


def chosen(function: Function, machine: Machine = GENERIC) -> set[Value]:
    """Chooses the convolutions whose data have channels last on a ``machine``, and gives the leaves that their filters
    are views of.

    Their filters stay from call to call, so that panels are packed once, and they gain more than it costs to bring data
    into that order and results out of it. Between two of them, and before a reduction, no elements move: there one that
    gains nothing by itself has channels last, too.
    """
    written = {variable for variable, _ in function.updates}
    found = {op for op in function.operations if isinstance(op, Form) and _is_candidate(op, written, machine)}
    while found and (better := _better(function, found, machine)) != found:
        found = better  # its neighbours may have to bring more now
    return {leaf_of(op.operands[1]) for op in found}


def _better(function: Function, last: Collection[Form], machine: Machine) -> set[Form]:
    """Returns those of some convolutions that would be slower with channels first, if the others had them last."""
    made, wanted = _reached(function, last), _needed(function, [op.operands[0] for op in last])
    reduced = _needed(function, [op.operands[0] for op in function.operations if isinstance(op, Fold)])
    kept = _needed(function, function.roots)
    found = set()
    for op in last:
        x, result = op.operands[0], op.outputs[0]
        data, results = _elements(op)
        has_data, is_wanted = x in made, result in wanted
        is_free = (is_wanted or result in reduced) and result not in kept
        brought = (0 if has_data else data) + (0 if is_free else results)
        spared = (data if has_data else 0) + (results if is_wanted else 0)
        if less_equal(machine.crossing * brought, machine.crossing * spared + _gain(op, machine.products)) is True:
            found.add(op)
    return found


def _elements(op: Form) -> tuple[DimLike, DimLike]:
    """Returns the elements of the data and of the results for each place of a window."""
    data, results = op.operands[0].shape[1], op.outputs[0].shape[1]
    each = prod(op.strides)
    return (data * each, results) if isinstance(op, Convolution) else (data, results * each)


def _gain(op: Form, tuning: ProductTuning) -> DimLike:
    """Returns the multiply-adds of a place that are faster with channels last.

    They are where filters fill a panel, and an element is at several positions of a window.
    """
    f, columns = op.operands[1], _columns(op)
    single = (1,) * len(op.strides) if isinstance(op, Convolution) else op.strides
    is_faster = f.shape[2:] != single and less_equal(tuning.least_channels, columns) is True
    return product(f.shape) if is_faster else 0


def _columns(op: Form) -> DimLike:
    """Returns the filters of a group that a panel has side by side."""
    f = op.operands[1]
    return f.shape[0] // op.groups if isinstance(op, Convolution) else f.shape[1]


def described(op: Op) -> str | None:
    """Returns what spoke for channels last if an op is the product of a convolution with them; None for other ops."""
    seen = op.operands[0] if isinstance(op, Contract) else None
    if seen is None or not isinstance(seen.op, IndexView | FilledView) or seen.rank != 2 * seen.op.operands[0].rank - 1:
        return None
    filters = op.operands[1]
    each = product(filters.shape)
    return f"channels last: {filters.shape[0] * filters.shape[-1]} filters, {each} multiply-adds a place"


def leaf_of(f: Value) -> Value:
    """Returns the value that filters ``f`` are a view of."""
    while composes(f.op):
        f = f.op.operands[0]
    return f


def _is_candidate(op: Form, written: Collection[object], machine: Machine) -> bool:
    """Whether a panel of the filters lasts, and fills registers; of a type for which there are register tiles."""
    leaf, columns = leaf_of(op.operands[1]).op, _columns(op)
    lasts = isinstance(leaf, Constant) or isinstance(leaf, ReadVariable) and leaf.variable not in written
    is_tiled = op.outputs[0].dtype in (float32, float64)
    are_many = isinstance(columns, int) and columns >= machine.products.least_channels
    fill = isinstance(columns, int) and columns % machine.line_elements == 0 < columns
    return lasts and is_tiled and (are_many or fill)


def _reached(function: Function, ops: Collection[Op]) -> set[Value]:
    """Returns the values that follow from results of ops, element by element, moved against each other or side by side.
    """
    found = {output for op in ops for output in op.outputs}
    for op in function.operations:
        if goes_on(op) and not found.isdisjoint(op.operands):
            found.update(op.outputs)
    return found


def _needed(function: Function, values: Collection[Value]) -> set[Value]:
    """Returns the values from which others follow so."""
    found = {*values}
    for op in reversed(function.operations):
        if goes_on(op) and not found.isdisjoint(op.outputs):
            found.update(op.operands)
    return found


def order(rank: int) -> Order:
    """Returns the order of the dimensions of data (N, C, lengths)."""
    return channels_last(rank)


def convolved(x: Value, f: Value, geometry: Geometry, places: Sequence[DimLike], is_turned: bool = False) -> Value:
    """Returns the convolution of data ``x`` (N, lengths, groups*C) with filters ``f`` (groups*K, C, windows).

    The result is (N, places, groups*K). The positions of a window count from the last one if ``is_turned``.
    """
    rank, groups, lengths = len(places), geometry.groups, (f.shape[2:], places)
    filters = Permute(by_group(f, groups, 0), (0, *range(3, 3 + rank), 2, 1)).output
    if is_turned:
        filters = Reverse(filters, range(1, 1 + rank)).output
    if unpadded.are_known(x.dtype, x.shape[1:-1], geometry, f.shape[2:], places):
        seen = FilledView(in_memory(x), unpadded.windows_of(x, geometry, *lengths, "npgwc", channels_last=True)).output
    else:
        data, inside = _padded(x, geometry, f.shape[2:], places), geometry._replace(paddings=((0, 0),) * rank)
        seen = IndexView(data, unpadded.windows_of(data, inside, *lengths, "npgwc", channels_last=True)).output
    *kept, group = range(2 + rank)
    points = range(2 + rank, seen.rank)
    product = Contract(seen, filters, (*kept, group, *points), (group, *points, seen.rank), (*kept, group, seen.rank))
    return joined(product.output, 1 + rank)


def _padded(x: Value, geometry: Geometry, windows: Sequence[DimLike], places: Sequence[DimLike]) -> Value:
    """Returns the data (N, lengths, C) with zeros around them in memory."""
    around = [(before, (place - 1) * stride + (window - 1) * dilation + 1 - before - own)
              for (before, _), place, stride, window, dilation, own in zip(
                  geometry.paddings, places, geometry.strides, windows, geometry.dilations, x.shape[1:-1], strict=True)]
    needs_none = all([before == 0 and isinstance(after, int) and after <= 0 for before, after in around])
    return in_memory(x) if needs_none else padded(x, [(0, 0), *around, (0, 0)])
