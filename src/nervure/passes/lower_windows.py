"""Lowering of window reductions, and of their gradients, to chains of elementwise ops, with an operand for each
position.

A window of a few elements is too short for a reduction to run along. Its places are not: so the largest element of
each window is the maximum of nine tensors that are shifted against each other, in lanes along the places, with the
surrounding ops.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1, 3, 9))
>>> pool = nv.ops.MaxPool(x, axes=(2,), windows=(3,), strides=(2,), paddings=[(1, 1)])
>>> from nervure.passes.decompose import decompose
>>> for op in lower_windows(decompose(nv.Function([pool], [x]))).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (1, 3, 9)
FilledView (1, 3, 5)
Slice (1, 3, 5)
Maximum (1, 3, 5)
FilledView (1, 3, 5)
Maximum (1, 3, 5)

The gradient of windows is gathered by the data: each element visits the windows that contain it, in the order of their
places. Sums keep the order in which reductions add.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from nervure.ir.function import Function
from nervure.ir.kinds import LANES, Elementwise
from nervure.ir.leaves import Full
from nervure.ir.op import Op, Value
from nervure.ops.conversion import converted
from nervure.ops.pooling import Windows
from nervure.ops.reductions import Fold, Max, Min, Sum
from nervure.ops.selection import Maximum, Minimum
from nervure.ops.update import AccumulateView
from nervure.ops.views import Slice
from nervure.passes.phases import Meeting, Steps, by_phases
from nervure.passes.rewrite import Local, Rewriter
from nervure.passes.seen import DEEPEST, seen
from nervure.support.machine import GENERIC, Machine
from nervure.support.product_tuning import ProductTuning
from nervure.types.dim import DimLike, affine, index
from nervure.types.index_map import IndexMap, indices
from nervure.types.shape import Shape


def lower_windows(function: Function, machine: Machine = GENERIC) -> Function:
    """Returns the function without reductions of windows that a ``machine`` computes faster otherwise, and with their
    gradients gathered.
    """
    if not any([isinstance(op, Windows | AccumulateView) for op in function.operations]):
        return function
    part, whole, reduction = [partial(rule, tuning=machine.products) for rule in (_of_part, _of_whole, _of_reduction)]
    inside = Rewriter("lower_windows", [Local("a part of what windows add up", [Slice], part)])
    outside = Rewriter("lower_windows", [Local("what windows add up", [AccumulateView], whole),
                                         Local("a reduction of windows", [*_CHAINS], reduction)])
    return outside(inside(function))


# -- reductions ------------------------------------------------------------------------------------------------------


def _of_reduction(op: Fold, tuning: ProductTuning) -> Value | None:
    x = op.operands[0]
    windows = _windows_in(x, op.axes)
    if windows is None or not _has_rows(windows, tuning.window_step):
        return None
    if not 0 < prod(windows.windows) <= LANES:  # each position is an operand of its own
        return None
    kept = op.outputs[0].shape
    every = itertools.product(*map(range, windows.windows))
    return _CHAINS[type(op)]([seen(x, IndexMap(kept, (*indices(len(kept)), *position))) for position in every])


def _windows_in(x: Value, axes: tuple[int, ...]) -> Windows | None:
    """Returns the windows whose positions are these axes of a value that is computed from them element by element."""
    pending = [(x, DEEPEST)]
    while pending:
        value, depth = pending.pop()
        op = value.op
        if isinstance(op, Windows) and axes == tuple(range(op.operands[0].rank, value.rank)):
            return op
        if isinstance(op, Elementwise) and depth:
            pending.extend([(operand, depth - 1) for operand in op.operands if operand.shape == x.shape])
    return None


def _has_rows(windows: Windows, most: int) -> bool:
    """Whether neighbouring windows, which begin ``most`` elements apart or fewer, are read in rows; else a reduction
    reads better.
    """
    last = windows.operands[0].rank - 1
    if last not in windows.axes:
        return True
    return windows.strides[windows.axes.index(last)] <= most and windows.outputs[0].shape[last] != 1


def _chain(combine: Callable[[Value, Value], Op]) -> Callable[[Sequence[Value]], Value]:
    return lambda parts: functools.reduce(lambda x, y: combine(x, y).outputs[0], parts)


def _total(parts: Sequence[Value]) -> Value:
    """Returns the sum in the order of a reduction: by halves, from zero."""
    dtype = parts[0].dtype
    lanes = [converted(part, dtype.compute) for part in parts]
    half = LANES // 2  # each lane has one point here
    while half:
        lanes = [lane + lanes[at + half] if at + half < len(lanes) else lane for at, lane in enumerate(lanes[:half])]
        half //= 2
    return converted(lanes[0] + 0, dtype)


_CHAINS: dict[type[Op], Callable[[Sequence[Value]], Value]] = {
    Max: _chain(Maximum), Min: _chain(Minimum), Sum: _total}

# -- gradients of windows ---------------------------------------------------------------------------------------------


def _of_whole(op: AccumulateView, tuning: ProductTuning) -> Value | None:
    return _gathered(op, [0] * len(op.shape), op.shape, tuning)


def _of_part(op: Slice, tuning: ProductTuning) -> Value | None:
    """Lowers a scatter of windows without its border, which is cut off."""
    inner = op.operands[0].op
    if not isinstance(inner, AccumulateView) or any([step != 1 for _, _, step in op.slices]):
        return None
    return _gathered(inner, [start for start, _, _ in op.slices], op.outputs[0].shape, tuning)


def _gathered(op: AccumulateView, starts: Sequence[DimLike], lengths: Shape, tuning: ProductTuning) -> Value | None:
    """Returns the elements from ``starts`` on of the sums that a map of windows accumulates."""
    axes = _axes_of(op.map, starts)
    if axes is None:
        return None
    x = op.operands[0]
    places, elements = [place for place, _, _ in axes], [element for _, element, _ in axes]
    steps = [entry for _, _, entry in axes]
    if prod([entry.positions for entry in steps]) > LANES:
        return None
    if prod([entry.stride for entry in steps]) > tuning.window_phases:
        return None

    def part(counts: Shape, meetings: Sequence[Meeting]) -> Value:
        total: Any = None
        for meeting in itertools.product(*meetings):
            coordinates: list[DimLike] = [0] * x.rank
            for at, (place, element, (number, moved)) in enumerate(zip(places, elements, meeting, strict=True)):
                coordinates[place] = index(at) + moved
                if element is not None:
                    coordinates[element] = number
            found = converted(seen(x, IndexMap(counts, tuple(coordinates)), 0), x.dtype.compute)
            total = found if total is None else total + found
        return Full(0, x.dtype, counts).output if total is None else converted(total + 0, x.dtype)

    return by_phases(lengths, steps, part)


Axis = tuple[int, "int | None", Steps]
"""The indices of a place and of a window's element that make up a coordinate, and the steps of both."""


def _axes_of(map: IndexMap, starts: Sequence[DimLike]) -> list[Axis] | None:
    """Returns a map of windows, coordinate by coordinate, counted from ``starts``: places precede elements, in the
    order of their coordinates. None if it is another kind of map.
    """
    axes = [_axis_of(map, coordinate, start) for coordinate, start in zip(map.coordinates, starts, strict=True)]
    found = [axis for axis in axes if axis is not None]
    places = [place for place, _, _ in found]
    elements = [element for _, element, _ in found if element is not None]
    is_in_order = places == list(range(len(places))) and sorted(elements) == list(range(len(places), map.rank))
    return found if is_in_order and len(found) == len(axes) else None


def _axis_of(map: IndexMap, coordinate: DimLike, start: DimLike) -> Axis | None:
    names = [f"%{k}" for k in range(map.rank)]
    parts = affine(coordinate, names)
    if parts is None:
        return None
    used = [(k, parts[0][name]) for k, name in enumerate(names) if parts[0][name] != 0]
    strides = [step for _, step in used if isinstance(step, int) and step > 0]
    moved = parts[1] - start
    if len(strides) != len(used) or not 1 <= len(used) <= 2 or (strides[0] != 1 and not isinstance(moved, int)):
        return None
    if len(used) == 1:
        return used[0][0], None, Steps(strides[0], 0, moved, 1)
    (place, stride), (element, dilation) = zip((used[0][0], used[1][0]), strides, strict=True)
    count = map.shape[element]
    return (place, element, Steps(stride, dilation, moved, count)) if isinstance(count, int) else None
