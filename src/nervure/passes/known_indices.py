"""Gathers at known indices: an index that counts positions, or that is a constant at regular steps, makes a view.

A coordinate of a gather is known if its index is computed from positions and numbers alone, by views, sums and
products. A gather whose coordinates are all known, and certainly inside, reads no index and checks none.

>>> import nervure as nv
>>> x, columns = nv.Parameter(nv.float32, (4, 9)), nv.Parameter(nv.int64, (3,))
>>> every = nv.ops.Iota((4,), 0) * 2 + 1
>>> known_indices(nv.Function([nv.ops.Gather(x, every, 1)], [x])).results
(f32[4, 4] Slice(Parameter),)

If coordinates depend on different dimensions of the result, each that is data is a gather along one axis: ``x[rows[:,
None], columns]`` takes rows, then columns of these, and reads each number once.

>>> place = nv.ops.Stack(nv.ops.Iota((4, 3), 0), nv.ops.Broadcast(columns, (4, 3), [0]), axes=[2], counts=[2])
>>> known_indices(nv.Function([nv.ops.GatherNd(x, place)], [x, columns])).results
(f32[4, 3] Gather(Parameter, Parameter),)

Known coordinates in front that count the first dimensions of both are batch dimensions of what is left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nervure.ir.function import Function
from nervure.ir.kinds import Element, View
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Op, Value
from nervure.ops.arithmetic import Add, Multiply, Negative, Subtract
from nervure.ops.conversion import Convert
from nervure.ops.indexing import Gather, GatherElements, Gathering, GatherNd
from nervure.ops.iota import Iota
from nervure.passes.canonical_views import simplest_view
from nervure.passes.fold import LIMIT
from nervure.passes.rewrite import Local, Rewriter
from nervure.passes.seen import DEEPEST, stays_inside
from nervure.types.dim import DimLike, index, index_symbols, less_equal, product, same_lengths, substitute
from nervure.types.index_map import IndexMap, Ranges, index_ranges
from nervure.types.layout import row_major_position
from nervure.types.shape import Shape
from nervure.types.view import SimpleView


class IndexRead(NamedTuple):
    """The element of an index that is data, at coordinates over the indices of a gather's domain."""

    value: Value
    coordinates: tuple[DimLike, ...]

    @property
    def dimensions(self) -> set[str]:
        """The indices of the domain that it depends on."""
        return {name for entry in self.coordinates for name in index_symbols(entry)}

    def over(self, dimensions: Sequence[int], shape: Shape) -> Value | None:
        """Returns the index as a value of these dimensions of the domain, and more lengths of 1, in the ``shape``.

        None if that is no view of it.
        """
        own = {f"%{d}": index(at) for at, d in enumerate(dimensions)}
        map = IndexMap(shape, tuple([substitute(entry, own) for entry in self.coordinates]))
        return simplest_view(self.value, map)


Coordinate = DimLike | IndexRead


def known_indices(function: Function) -> Function:
    """Returns the function with views in the place of gathers at known indices, and gathers along single axes."""
    return _rewriter(function)


def _of_gather(op: Gather | GatherElements | GatherNd) -> Value | None:
    x, indices = op.operands
    domain, places = op.places(x.type, indices.type)
    coordinates = [_coordinate(entry, indices, domain) if isinstance(entry, Element) else entry for entry in places]
    found = [entry for entry in coordinates if entry is not None]
    known = [entry for entry in found if not isinstance(entry, IndexRead)]
    if len(found) < len(coordinates):
        return None
    data = [entry for entry in found if isinstance(entry, IndexRead)]
    if not data:
        map = IndexMap(domain, tuple(known))
        return simplest_view(x, map) if stays_inside(map, x.shape) else None
    if not _are_inside(found, x.shape, domain):
        return None
    apart = _axis_by_axis(op, found, domain)
    given = [entry for entry in places if isinstance(entry, Element)]
    return _in_batches(op, found, domain) if apart is None and len(given) > len(data) == 1 else apart


def _coordinate(element: Element, indices: Value, domain: Shape) -> Coordinate | None:
    """Returns the coordinate that an index gives to an element of a gather; a known one is counted from the start."""
    ranges = index_ranges(domain)
    found = _read(indices, element.coordinates, ranges)
    if isinstance(found, IndexRead):
        return found
    low, high = map(int, indices.dtype.limits)
    if element.from_end and less_equal(found, -1, ranges) is True:
        return found + element.bound if less_equal(low, found, ranges) is True else None
    return found if indices.dtype.bits == 64 or less_equal(found, high, ranges) is True else None


def _are_inside(found: Sequence[Coordinate], shape: Shape, domain: Shape) -> bool:
    """Whether the known coordinates are certainly inside, and there is no place less than the data say.

    A domain without elements reads no index: none of them can then be out of range.
    """
    ranges = index_ranges(domain)
    has_elements = all([less_equal(1, length) is True for length in domain])
    return has_elements and all([
        less_equal(0, entry, ranges) is True and less_equal(entry, length - 1, ranges) is True
        for entry, length in zip(found, shape, strict=True) if not isinstance(entry, IndexRead)])


# -- along single axes -------------------------------------------------------------------------------------------------


def _axis_by_axis(op: Gathering, found: Sequence[Coordinate], domain: Shape) -> Value | None:
    """Returns a gather for each coordinate that is data, if no dimension of the result decides on two coordinates."""
    used = [entry.dimensions if isinstance(entry, IndexRead) else index_symbols(entry) for entry in found]
    names = [name for own in used for name in own]
    if len(names) != len(set(names)):
        return None
    data = {axis: entry for axis, entry in enumerate(found) if isinstance(entry, IndexRead)}
    own = {axis: [d for d in range(len(domain)) if f"%{d}" in used[axis]] for axis in data}
    wanted = product([length for d, length in enumerate(domain) if f"%{d}" in names])
    x = op.operands[0]
    places: list[tuple[DimLike, ...]] = [(0,) if isinstance(entry, IndexRead) else (entry,) for entry in found]
    for axis in sorted(data, key=lambda axis: _growth(domain, own[axis], op.operands[0].shape[axis])):
        indices = data[axis].over(own[axis], tuple([domain[d] for d in own[axis]]))
        if indices is None or type(op) is Gather and indices.rank == op.operands[1].rank:
            return None
        x = Gather(x, indices, sum(map(len, places[:axis]))).output
        places[axis] = tuple([index(d) for d in own[axis]])
        if less_equal(product(x.shape) - wanted, wanted) is not True:
            return None  # more would be gathered for nothing than for the result
    return simplest_view(x, IndexMap(domain, tuple([entry for each in places for entry in each])))


def _growth(domain: Shape, dimensions: Sequence[int], length: DimLike) -> float:
    """Returns the factor by which a gather makes an axis of a known length longer."""
    own = product([domain[d] for d in dimensions])
    return own / length if isinstance(own, int) and isinstance(length, int) and length else 1.0


def _in_batches(op: Gathering, found: Sequence[Coordinate], domain: Shape) -> Value | None:
    """Returns a gather along one axis in batches, if that coordinate alone is data and those in front count the
    batches.
    """
    x = op.operands[0]
    axis, data = next((at, entry) for at, entry in enumerate(found) if isinstance(entry, IndexRead))
    before, after = found[:axis], found[axis + 1:]
    rank = len(domain) - len(after)
    if axis > rank or [*before, *after] != [index(d) for d in (*range(axis), *range(rank, len(domain)))]:
        return None
    if not same_lengths((*domain[:axis], *domain[rank:]), (*x.shape[:axis], *x.shape[axis + 1:])):
        return None
    if any([f"%{d}" in data.dimensions for d in range(rank, len(domain))]):
        return None
    indices = data.over(range(rank), (*domain[:rank], 1))
    return None if indices is None else GatherNd(x, indices, axis).output


# -- the numbers of an index -------------------------------------------------------------------------------------------


def _read(value: Value, at: tuple[DimLike, ...], ranges: Ranges, depth: int = DEEPEST) -> Coordinate:
    """Returns the element of a value at a place, as an expression over the same indices if it is known.

    Sums and products that wrap around have the same remainder as the expression, which is inside of the type's range
    wherever it counts.
    """
    found = _known(value.op, at, ranges, depth - 1) if depth > 0 else None
    return IndexRead(value, at) if found is None else found


def _known(op: Op, at: tuple[DimLike, ...], ranges: Ranges, depth: int) -> Coordinate | None:
    match op:
        case Full():
            return op.number if isinstance(op.number, int) else None
        case Constant():
            return _of_array(op, at)
        case Iota():
            return row_major_position(at, op.shape) if op.axis is None else at[op.axis]
        case Add() | Subtract() | Multiply() | Negative():
            sides = [_read(operand, at, ranges, depth) for operand in op.operands]
            known = [entry for entry in sides if not isinstance(entry, IndexRead)]
            return _ARITHMETIC[type(op)](*known) if len(known) == len(sides) else None
        case Convert():
            return _of_conversion(op, at, ranges, depth)
        case View():
            return _of_view(op, at, ranges, depth)
    return None


_ARITHMETIC: Mapping[type[Op], Callable[..., DimLike]] = {
    Add: operator.add, Subtract: operator.sub, Multiply: operator.mul, Negative: operator.neg}


def _of_view(op: View, at: tuple[DimLike, ...], ranges: Ranges, depth: int) -> Coordinate | None:
    view = op.view
    if isinstance(view, SimpleView):
        return _read(op.operands[0], _through(view.index_map, at), ranges, depth)
    for piece in view.pieces:
        inner = [entry - start for entry, start in zip(at, piece.starts, strict=True)]
        if piece.operand is not None and piece.index_map is not None and all([
                less_equal(0, entry, ranges) is True and less_equal(entry, extent - 1, ranges) is True
                for entry, extent in zip(inner, piece.extents, strict=True)]):
            return _read(op.operands[piece.operand], _through(piece.index_map, inner), ranges, depth)
    return None


def _through(map: IndexMap, at: Sequence[DimLike]) -> tuple[DimLike, ...]:
    places = {f"%{d}": entry for d, entry in enumerate(at)}
    return tuple([substitute(entry, places) for entry in map.coordinates])


def _of_conversion(op: Convert, at: tuple[DimLike, ...], ranges: Ranges, depth: int) -> DimLike | None:
    """Returns the element at a place if both types have it."""
    x = op.operands[0]
    if not x.dtype.is_integer or not op.dtype.is_integer:
        return None
    found = _read(x, at, ranges, depth)
    if isinstance(found, IndexRead):
        return None
    lows, highs = zip(x.dtype.limits, op.dtype.limits, strict=True)
    is_kept = less_equal(int(max(lows)), found, ranges) is True and less_equal(found, int(min(highs)), ranges) is True
    return found if is_kept else None


def _of_array(op: Constant, at: tuple[DimLike, ...]) -> Coordinate | None:
    """Returns the element at a place: an expression if numbers have regular steps, else a read of what differs."""
    if not 0 < op.array.nbytes <= LIMIT or not op.dtype.is_integer:
        return None
    fixed = [entry if isinstance(entry, int) else slice(None) for entry in at]
    array, free = op.array[tuple(fixed)].astype(np.int64), [entry for entry in at if not isinstance(entry, int)]
    first = array[(0,) * array.ndim]
    expression: DimLike = int(first)
    regular: np.ndarray = np.array(first)
    for d, entry in enumerate(free):
        line = array[tuple([slice(None) if axis == d else 0 for axis in range(array.ndim)])]
        step = line[1] - line[0] if len(line) > 1 else line[0] * 0
        expression = expression + int(step) * entry
        regular = regular[..., None] + step * np.arange(len(line))
    if np.array_equal(regular, array):
        return expression
    alike = iter([bool((array == array.take([0], d)).all()) for d in range(array.ndim)])
    return IndexRead(op.outputs[0], tuple([entry if isinstance(entry, int) or not next(alike) else 0 for entry in at]))


RULES = (Local("a gather at known indices", [Gather, GatherElements, GatherNd], _of_gather),)

_rewriter = Rewriter("known_indices", RULES)
