"""Convolutions and their gradients as products of matrices, one side of which is read through windows.

The data lie in memory with zeros around them; a view shows each window's elements, and a contraction adds up their
products. Its points are numbered window position by window position, the channels of each in order; those of a filter's
gradient batch by batch, the places of each in order.

>>> import nervure as nv
>>> x, f = nv.Parameter(nv.float32, (8, 3, 32, 32)), nv.Parameter(nv.float32, (16, 3, 5, 5))
>>> slid = nv.ops.Convolution(x, f, paddings=[(2, 2), (2, 2)])
>>> for op in lower_convolutions(nv.Function([slid], [x, f])).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 3, 32, 32)
Parameter (16, 3, 5, 5)
Reshape (1, 16, 3, 5, 5)
Permute (1, 16, 5, 5, 3)
Pad (1, 16, 5, 5, 3)
Pad (8, 3, 36, 36)
Reshape (8, 3, 1, 1296)
Reshape (8, 1, 3, 1, 1296)
IndexView (8, 1, 5, 5, 3, 1148)
Contract (8, 1, 16, 1148)
Reshape (8, 16, 1148)
IndexView (8, 16, 32, 32)

Places are counted along memory where lengths are known, through the zeros between two rows, too: so long stretches of it
are columns of one product. What comes out there is left out. With strides, every phase of a stride has its own place in
memory first. The gradient for the data is a convolution of what came out, with the filters turned; strides are zeros in
between, whose products with a filter that is not finite are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ops.contraction import Contract
from nervure.ops.convolution import (
    Convolution,
    ConvolutionDataGradient,
    ConvolutionFilterGradient,
    ConvolutionForm,
    Geometry,
)
from nervure.ops.update import IndexView
from nervure.ops.views import Pad, Permute, Reshape, Reverse
from nervure.passes.rewrite import Local, Rewriter
from nervure.types.dim import DimLike, product
from nervure.types.index_map import IndexMap, indices

Lengths = Sequence[DimLike]
Coordinates = Sequence[DimLike]


def lower_convolutions(function: Function) -> Function:
    """The function without convolutions."""
    if not any([isinstance(op, ConvolutionForm) for op in function.operations]):
        return function
    rows = [(Convolution, _of_result), (ConvolutionDataGradient, _of_data), (ConvolutionFilterGradient, _of_filters)]
    return Rewriter("lower_convolutions", [Local("lower_convolutions", [kind], rule) for kind, rule in rows])(function)


def _of_result(op: Convolution) -> Value:
    x, f = op.operands
    return _convolved(x, f, op.geometry, op.outputs[0].shape[2:])


def _of_data(op: ConvolutionDataGradient) -> Value:
    """Filters that are turned go over what came out, with zeros between its places and around them."""
    r, f = op.operands
    strides, dilations, paddings, groups = op.geometry
    turned = _by_group(f, groups, 0)
    turned = Permute(turned, (0, 2, 1, *range(3, turned.rank))).output
    turned = Reverse(_joined(turned, 0), range(2, f.rank)).output
    reaches = [dilation * (window - 1) for dilation, window in zip(dilations, f.shape[2:], strict=True)]
    around = [(reach - before, length + before - stride * places) for reach, (before, _), length, stride, places
              in zip(reaches, paddings, op.lengths, strides, r.shape[2:], strict=True)]
    unit = Geometry((1,) * len(strides), dilations, tuple(around), groups)
    return _convolved(_spread(r, strides), turned, unit, op.lengths)


def _of_filters(op: ConvolutionFilterGradient) -> Value:
    """Rows are the positions of a window and its channels, columns the filters, points the batch and places."""
    x, r = op.operands
    shape, groups = op.outputs[0].shape, op.groups
    apart = (groups, *shape[2:], shape[1])
    seen = _rows_of_windows(_by_group(_padded(x, op.paddings), groups, 1), op.geometry, apart, r.shape[2:])
    rows = range(seen.rank - r.rank + 1)
    points, column = range(rows.stop, seen.rank), seen.rank
    product = Contract(seen, _by_group(r, groups, 1), (*rows, *points), (points[0], 0, column, *points[1:]),
                       (*rows, column))
    filters = product.outputs[0].shape[-1]
    whole = Reshape(product, (*apart, filters)).output
    windows = range(1, len(apart) - 1)
    return _joined(Permute(whole, (0, len(apart), len(apart) - 1, *windows)).output, 0)


def _convolved(x: Value, f: Value, geometry: Geometry, places: Lengths) -> Value:
    """The convolution of data (N, groups*C, lengths) with filters (groups*K, C, windows) at so many places."""
    groups, windows = geometry.groups, f.shape[2:]
    is_known = all([isinstance(length, int) and length > 0 for length in (*places, *windows)])
    filters = _by_group(f, groups, 0)
    filters = Permute(filters, (0, 1, *range(3, filters.rank), 2)).output
    if not all([length == 1 for length in windows]) and f.shape[1] != 1:
        filters = _in_memory(filters)
    seen, pitches = (_stretches if is_known else _places)(x, f.shape, geometry, places)
    along = range(3, 3 + seen.rank - 3 - len(windows))
    points = range(along.stop, along.stop + len(windows) + 1)
    product = Contract(filters, seen, (1, 2, *points), (0, 1, *points, *along), (0, 1, 2, *along))
    result = _joined(product.output, 1)
    return result if not pitches else _left_out(result, places, pitches)


def _places(x: Value, filters: Lengths, geometry: Geometry, places: Lengths) -> tuple[Value, Lengths]:
    """Data as windows show them: (N, groups, window positions, C, places)."""
    data = _by_group(_padded(x, geometry.paddings), geometry.groups, 1)
    n, g, *windows, c = indices(3 + len(places))
    along = indices(3 + 2 * len(places))[3 + len(places):]
    shape = (*data.shape[:2], *filters[2:], data.shape[2], *places)
    return IndexView(data, IndexMap(shape, (n, g, c, *_positions(geometry, windows, along)))).output, ()


def _stretches(x: Value, filters: Lengths, geometry: Geometry, places: Lengths) -> tuple[Value, Lengths]:
    """The same with places counted along memory, one phase of the strides after the other: (N, groups, window
    positions, C, places); and how far it is from one place to the next in each dimension.
    """
    windows = [length for length in filters[2:] if isinstance(length, int)]
    steps = list(zip(geometry.strides, geometry.dilations, windows, strict=True))
    reaches = [(window - 1) * dilation // stride for stride, dilation, window in steps]
    lengths = [place + reach for place, reach in zip(places, reaches, strict=True)]
    data, phases = _in_phases(x, geometry, lengths, [stride if window > 1 else 1 for stride, _, window in steps])
    data = Reshape(data, (*data.shape[:2], prod(phases), product(lengths))).output
    data = _by_group(data, geometry.groups, 1)
    n, g, *offsets, c, q = indices(4 + len(windows))
    pitches = [product(lengths[d + 1:]) for d in range(len(lengths))]
    phase: DimLike = 0
    start: DimLike = q
    for d, (stride, dilation, _) in enumerate(steps):
        phase = phase * phases[d] + offsets[d] * dilation % phases[d]
        start = start + offsets[d] * dilation // stride * pitches[d]
    count = sum([(place - 1) * pitch for place, pitch in zip(places, pitches, strict=True)]) + 1
    shape = (*data.shape[:2], *windows, data.shape[2], count)
    return IndexView(data, IndexMap(shape, (n, g, c, phase, start))).output, pitches


def _rows_of_windows(data: Value, geometry: Geometry, apart: Lengths, places: Lengths) -> Value:
    """Data (N, groups, C, lengths) as windows show them: (groups, window positions and C, N, places). The rows are one
    dimension where their number is known.
    """
    groups, *windows, channels = apart
    is_one = all([isinstance(length, int) and length > 0 for length in (*windows, channels)])
    rows = [product(apart[1:])] if is_one else apart[1:]
    shape = (groups, *rows, data.shape[0], *places)
    symbols = indices(len(shape))
    g, n, along = symbols[0], symbols[1 + len(rows)], symbols[2 + len(rows):]
    *offsets, c = _unravelled(symbols[1], apart[1:]) if is_one else symbols[1:1 + len(rows)]
    return IndexView(data, IndexMap(shape, (n, g, c, *_positions(geometry, offsets, along)))).output


def _unravelled(number: DimLike, lengths: Lengths) -> list[DimLike]:
    """The coordinates of the element of this number, in row-major order."""
    found: list[DimLike] = []
    for d, length in enumerate(lengths):
        found.append(number // product(lengths[d + 1:]) % length)
    return found


def _positions(geometry: Geometry, offsets: Coordinates, places: Coordinates) -> list[DimLike]:
    """Where padded data are that windows show."""
    return [place * stride + offset * dilation for place, stride, offset, dilation
            in zip(places, geometry.strides, offsets, geometry.dilations, strict=True)]


def _in_phases(x: Value, geometry: Geometry, lengths: Lengths, phases: Sequence[int]) -> tuple[Value, Sequence[int]]:
    """The padded data (N, C, phases, lengths), with the elements of a phase, a stride apart, side by side."""
    around = [(before, length * stride - before - own) for (before, _), length, stride, own
              in zip(geometry.paddings, lengths, geometry.strides, x.shape[2:], strict=True)]
    data = _padded(x, around)
    if all([stride == 1 for stride in geometry.strides]):
        return data, phases
    n, c, *rest = indices(2 + 2 * len(phases))
    number, place = rest[:len(phases)], rest[len(phases):]
    coordinates = [at * stride + phase for at, stride, phase in zip(place, geometry.strides, number, strict=True)]
    view = IndexView(data, IndexMap((*x.shape[:2], *phases, *lengths), (n, c, *coordinates)))
    return _in_memory(view.output), phases


def _padded(x: Value, paddings: Sequence[tuple[DimLike, DimLike]]) -> Value:
    """Data with zeros around their lengths."""
    return x if all([entry == (0, 0) for entry in paddings]) else Pad(x, [(0, 0), (0, 0), *paddings]).output


def _spread(x: Value, strides: Sequence[int]) -> Value:
    """The data with zeros behind each of their elements, so that they are strides apart."""
    for axis, stride in enumerate(strides, 2):
        if stride != 1:
            apart = Reshape(x, (*x.shape[:axis + 1], 1, *x.shape[axis + 1:]))
            wide = Pad(apart, [(0, stride - 1 if d == axis + 1 else 0) for d in range(x.rank + 1)]).output
            x = Reshape(wide, (*x.shape[:axis], x.shape[axis] * stride, *x.shape[axis + 1:])).output
    return x


def _in_memory(x: Value) -> Value:
    """A value that lies in memory in its own order: a padding of nothing is a copy."""
    return Pad(x, [(0, 0)] * x.rank).output


def _by_group(x: Value, groups: int, axis: int) -> Value:
    """A dimension as two: the groups, and what each has."""
    each = x.shape[axis] if groups == 1 else x.shape[axis] // groups
    return Reshape(x, (*x.shape[:axis], groups, each, *x.shape[axis + 1:])).output


def _joined(x: Value, axis: int) -> Value:
    """A dimension and the next one as one."""
    return Reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2:])).output


def _left_out(x: Value, places: Lengths, pitches: Lengths) -> Value:
    """What was counted along memory (N, K, places) without what lies between the rows."""
    shape = (*x.shape[:2], *places)
    if x.shape[2] == product(places):
        return Reshape(x, shape).output
    n, k, *along = indices(len(shape))
    place = sum([index * pitch for index, pitch in zip(along, pitches, strict=True)])
    return IndexView(x, IndexMap(shape, (n, k, place))).output
