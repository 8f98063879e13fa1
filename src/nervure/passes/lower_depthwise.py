"""Depthwise convolutions as chains of fused multiply-adds: they contain no matrix that a register tile could use.

If a group has one channel and a few filters, each element of the result is a sum over the positions of a window, which
are equally many tensors shifted against each other. So lanes run along places, nothing is packed, and later ops are
part of the same loops.

>>> import nervure as nv
>>> x, f = nv.Parameter(nv.float32, (8, 32, 28, 28)), nv.Parameter(nv.float32, (32, 1, 1, 2))
>>> slid = nv.ops.Convolution(x, f, groups=32)
>>> for op in lower_depthwise(nv.Function([slid], [x, f])).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 32, 28, 28)
Parameter (32, 1, 1, 2)
Slice (8, 32, 28, 27)
IndexView (8, 32, 28, 27)
Slice (8, 32, 28, 27)
IndexView (8, 32, 28, 27)
Full (8, 32, 28, 27)
Fma (8, 32, 28, 27)
Fma (8, 32, 28, 27)

The order of addition is that of all convolutions, except in the gradient for filters. There a chain would run through
all places; instead one runs down the rows of all images, a lane for each column.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from math import prod

from nervure.ir.function import Function
from nervure.ir.leaves import Full
from nervure.ir.op import Value
from nervure.ops.arithmetic import Fma
from nervure.ops.conversion import converted
from nervure.ops.convolution import (
    CHAINED_FILTERS,
    CHAINED_POSITIONS,
    Convolution,
    ConvolutionDataGradient,
    ConvolutionFilterGradient,
    ConvolutionForm,
)
from nervure.ops.reductions import ProductChains, Sum
from nervure.ops.views import Pad, Reshape, Stack
from nervure.passes.phases import Meeting, by_phases, steps_over
from nervure.passes.rewrite import Local, Rewriter
from nervure.passes.seen import shown
from nervure.support.machine import GENERIC, Machine
from nervure.types.dim import DimLike, less_equal
from nervure.types.index_map import IndexMap, indices
from nervure.types.shape import Shape


def lower_depthwise(function: Function, machine: Machine = GENERIC) -> Function:
    """Returns the function without convolutions of one channel a group, which are no products on any ``machine``."""
    if not any([isinstance(op, ConvolutionForm) for op in function.operations]):
        return function
    return Rewriter("lower_depthwise", [
        Local("result", [Convolution], _of_result), Local("data", [ConvolutionDataGradient], _of_data),
        Local("filters", [ConvolutionFilterGradient], partial(_of_filters, machine=machine))])(function)


def _filters_of_channel(op: ConvolutionForm, filters: Shape) -> int | None:
    """Returns the number of filters of each channel, if a group is one channel with a few filters of a few positions.
    """
    count, channels, *windows = filters
    lengths = [window for window in windows if isinstance(window, int)]
    if not isinstance(count, int) or channels != 1 or len(lengths) < len(windows) or op.outputs[0].dtype.kind == "bool":
        return None
    is_small = 0 < count <= CHAINED_FILTERS * op.groups and 0 < prod(lengths) <= CHAINED_POSITIONS
    return count // op.groups if is_small else None


def _of_result(op: Convolution) -> Value | None:
    x, f = op.operands
    each = _filters_of_channel(op, f.shape)
    if each is None:
        return None
    shape = op.outputs[0].shape
    n, k, *places = indices(len(shape))
    terms = []
    for offsets in _positions(f.shape[2:]):
        position = [op.geometry.position(d, place, offsets[d]) for d, place in enumerate(places)]
        terms.append((shown(x, IndexMap(shape, (n, k // each, *position))),
                      shown(f, IndexMap(shape, (k, 0, *offsets)))))
    return _chain(terms, op.outputs[0], shape)


def _of_data(op: ConvolutionDataGradient) -> Value | None:
    """Computes each element of the data from the places whose windows contain it, one phase of the strides after the
    other.
    """
    r, f = op.operands
    each, steps = _filters_of_channel(op, f.shape), steps_over(op.geometry, f.shape[2:])
    if each is None or steps is None:
        return None

    def part(shape: Shape, meetings: Sequence[Meeting]) -> Value:
        n, c, *own = indices(len(shape))
        terms = []
        for met in itertools.product(*meetings[2:]):
            places = [entry + moved for entry, (_, moved) in zip(own, met, strict=True)]
            for filter in range(each):
                row = c * each + filter
                terms.append((shown(r, IndexMap(shape, (n, row, *places))),
                              shown(f, IndexMap(shape, (row, 0, *[element for element, _ in met])))))
        return _chain(terms, op.outputs[0], shape)

    return by_phases(op.outputs[0].shape, steps, part)


def _of_filters(op: ConvolutionFilterGradient, machine: Machine) -> Value | None:
    """Computes, for each position of a window, a chain down the rows of all images, for each column; then sums these.
    """
    x, r = op.operands[0], _with_an_image(op.operands[1])
    filters, dtype = op.outputs[0].shape, r.dtype
    each = _filters_of_channel(op, filters)
    if each is None:
        return None
    n, k, *places = indices(r.rank)
    data = []
    for offsets in _positions(filters[2:]):
        position = [op.geometry.position(d, place, offsets[d]) for d, place in enumerate(places)]
        seen = shown(x, IndexMap(r.shape, (n, k // each, *position)))
        data.append(converted(seen, dtype.compute))
    columns = Stack(*_columns(data, converted(r, dtype.compute), machine.chains), axes=[1], counts=[len(data)])
    total = Sum(columns, [2])
    return converted(Reshape(total, filters).output, dtype)


def _with_an_image(r: Value) -> Value:
    """Adds an image of zeros, if there may be none, since a chain begins with a product. It changes no sum."""
    return r if less_equal(1, r.shape[0]) is True else Pad(r, [(0, 1), *[(0, 0)] * (r.rank - 1)]).output


def _columns(data: Sequence[Value], r: Value, most: int) -> list[Value]:
    """Returns the products with r, summed over images and all places except those of the last dimension, ``most`` side
    by side. Complex ones have no chains.
    """
    rows = [0, *range(2, r.rank - 1)]
    if r.dtype.is_complex:
        return [Sum(entry * r, rows).outputs[0] for entry in data]
    parts = -(-len(data) // most)
    groups = [data[len(data) * part // parts:len(data) * (part + 1) // parts] for part in range(parts)]
    return [column for group in groups for column in ProductChains(*group, r, axes=rows).outputs]


def _positions(windows: Sequence[DimLike]) -> list[tuple[int, ...]]:
    """Returns the positions of a window in row-major order."""
    return list(itertools.product(*[range(window) for window in windows if isinstance(window, int)]))


def _chain(terms: Sequence[tuple[Value, Value]], result: Value, shape: Shape) -> Value:
    """Returns the sum of products of one block of points: a chain of fused multiply-adds from zero."""
    dtype = result.dtype.compute
    total = Full(0, dtype, shape).output
    for pair in terms:
        x, y = [converted(entry, dtype) for entry in pair]
        total = total + x * y if dtype.is_complex else Fma(x, y, total).output
    return converted(total, result.dtype)
