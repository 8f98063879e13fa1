"""Reading through index maps: the elements that views show, and those that structured ops read of their operands.

The coordinates of an index map are evaluated on grids: an array has one dimension for each of the domain, of length 1
where it does not depend on it, so that arrays broadcast against each other. A read is NumPy's indexing by such grids.
There is one shortcut: where strides lead to the same elements, the read is a view of the array, without a copy.

>>> from nervure.types.dim import index
>>> domain = Domain((3, 2))
>>> windows = Read((index(0) + index(1),), (4,), domain)
>>> windows.elements(np.arange(4), (), domain.whole).tolist()
[[0, 1], [1, 2], [2, 3]]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import EllipsisType
from typing import NamedTuple, Unpack

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nervure.errors import ErrorParts, IndexOutOfRange, NervureError
from nervure.ir.kinds import Element, coordinate_symbols
from nervure.ir.notation import Number
from nervure.ir.op import Op
from nervure.support.lazy import lazy
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import DimLike, affine, bounds, evaluate_arrays, substitute
from nervure.types.index_map import IndexMap, index_ranges
from nervure.types.layout import Layout
from nervure.types.view import ComplexView, ReshapeView, SimpleView

Shape = tuple[int, ...]
Index = tuple[slice | EllipsisType, ...]
Operands = Sequence[np.ndarray]


class Box:
    """A part of a domain that is evaluated at once: its ``starts`` and ``lengths``, one a dimension of the domain."""

    def __init__(self, starts: Shape, lengths: Shape, bindings: Mapping[str, int]) -> None:
        self.starts, self.lengths, self._bindings = starts, lengths, bindings

    @lazy
    def _names(self) -> dict[str, int | np.ndarray]:
        """The values of symbols and, as grids, of the domain's indices."""
        ranges = [np.arange(start, start + length) for start, length in zip(self.starts, self.lengths, strict=True)]
        return {**self._bindings, **{f"%{d}": grid for d, grid in enumerate(np.ix_(*ranges))}}

    def values(self, expression: DimLike) -> np.ndarray:
        """The values of an expression over the box, as a grid of int64."""
        grid = np.asarray(evaluate_arrays(expression, self._names), np.int64)
        return grid.reshape(grid.shape or (1,) * len(self.lengths))

    def part(self, array: np.ndarray) -> np.ndarray:
        """The part of an array over the whole domain that lies in this box."""
        return array[(*[slice(None) if extent == 1 else slice(start, start + length) for start, length, extent
                        in zip(self.starts, self.lengths, array.shape, strict=True)], ...)]


class Domain(NamedTuple):
    """The domain of an ``op``, with the ``shapes`` of its operands and the values of symbols, ``bindings``."""

    lengths: Shape
    op: Op | None = None
    shapes: Sequence[Shape] = ()
    bindings: Mapping[str, int] = {}

    def fail(self, kind: type[NervureError], message: str, **parts: Unpack[ErrorParts]) -> NervureError:
        """An error of the op, if one is known."""
        return kind(message, **parts) if self.op is None else self.op.fail(kind, message, **parts)

    @property
    def whole(self) -> Box:
        """The whole domain as one box."""
        return Box((0,) * len(self.lengths), self.lengths, self.bindings)

    def boxes(self, limit: int, groups: Sequence[Sequence[int]] | None = None,
              splittable: Iterable[int] | None = None) -> Iterator[Box]:
        """The domain in boxes, in row-major order, each of at most ``limit`` points where that is possible.

        Dimensions are split from the outermost on; ``splittable`` names those that may be (all). Where memory is
        taken not by the points of the domain but by those of some of its dimensions, ``groups`` lists these.
        """
        every, steps = range(len(self.lengths)), list(self.lengths)
        for d in every if splittable is None else sorted(splittable):
            size = max([math.prod([steps[other] for other in group]) for group in groups or [every] if d in group],
                       default=0)
            if size > limit:
                steps[d] = max(1, steps[d] * limit // size)
        for starts in product(*[range(0, length, step) for length, step in zip(self.lengths, steps, strict=True)]):
            ends = [min(start + step, length) for start, step, length in zip(starts, steps, self.lengths, strict=True)]
            yield Box(starts, tuple([end - start for start, end in zip(starts, ends, strict=True)]), self.bindings)


class PlannedAccess:
    """The places in a tensor of ``shape`` to which ``coordinates`` lead, over a domain that is not empty.

    ``dims`` are the dimensions of the domain that occur in each coordinate, ``ends`` the extremes of the coordinates.
    Unless these ``may_leave`` the tensor, one that does is an IndexOutOfRange, at once where all are affine; the error
    says with ``verb`` what is done there.
    """

    def __init__(self, coordinates: Sequence[DimLike | Element], shape: Shape, domain: Domain, verb: str,
                 may_leave: bool) -> None:
        self.shape, self.domain, self._verb, self._may_leave = shape, domain, verb, may_leave
        self.coordinates = [entry if isinstance(entry, Element) else substitute(entry, domain.bindings)
                            for entry in coordinates]
        names = [f"%{d}" for d in range(len(domain.lengths))]
        self.dims = [[d for d, name in enumerate(names) if name in coordinate_symbols(entry)]
                     for entry in self.coordinates]
        self._indices = {entry: Read(entry.coordinates, domain.shapes[entry.operand], domain._replace(op=None))
                         for entry in self.coordinates if isinstance(entry, Element)}
        known = [entry for entry in self.coordinates if not isinstance(entry, Element)]
        self.is_affine = not self._indices and all([affine(entry, names) is not None for entry in known])
        self.ends = [bounds(entry, index_ranges(domain.lengths)) for entry in known]
        self.is_inside = not self._indices and all([
            low is not None and low >= 0 and high is not None and high < length
            for (low, high), length in zip(self.ends, shape, strict=True)])
        if self.is_affine and not self.is_inside and not may_leave:
            raise self._outside(self.ends)

    @property
    def used(self) -> tuple[int, ...]:
        """The dimensions of the domain that some coordinate depends on, as they occur in the coordinates."""
        return tuple(dict.fromkeys([d for dims in self.dims for d in dims]))

    def at(self, box: Box, operands: Operands) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The grid of each coordinate, and a mask of the points at which one lies outside (None where none does)."""
        grids = [self._named(entry, box, operands) if isinstance(entry, Element) else box.values(entry)
                 for entry in self.coordinates]
        outside = [bad for grid, length in zip(grids, self.shape, strict=True)
                   if (bad := (grid < 0) | (grid >= length)).any()]
        if outside and not self._may_leave:
            raise self._outside([(int(grid.min()), int(grid.max())) for grid in grids])
        return grids, functools.reduce(np.logical_or, outside) if outside else None

    def _named(self, element: Element, box: Box, operands: Operands) -> np.ndarray:
        """The places that an index operand names, negative ones counted from the end once. They are all checked."""
        named = self._indices[element].elements(operands[element.operand], operands, box)
        bound, = numbers((element.bound,), self.domain.bindings)
        bad = (named < (-bound if element.from_end else 0)) | (named >= bound)
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), bad.shape)
            point = {f"%{d}": start + int(k) for d, (start, k) in enumerate(zip(box.starts, at, strict=True))}
            position = numbers(element.coordinates, {**self.domain.bindings, **point})
            op, got = self.domain.op, f"{named[at]} at position {position}"
            raise self.domain.fail(IndexOutOfRange, f"index {got} is out of range", got=got, **element.refused(bound),
                                   operand=None if op is None else op.operand_label(element.operand))
        places = named.astype(np.int64)
        return np.where(places < 0, places + bound, places)

    def _outside(self, ends: Sequence[tuple[int | None, int | None]]) -> NervureError:
        """The error of coordinates that leave the tensor; ``ends`` are the extremes of each."""
        message = f"an element outside the tensor would be {self._verb}"
        got = ", ".join([f"{low} to {high}" for low, high in ends]) or "no coordinates"
        expected = ", ".join([f"0 to {length - 1}" if length else "nothing" for length in self.shape])
        return self.domain.fail(IndexOutOfRange, message, got=got, expected=expected)


class Read(PlannedAccess):
    """A read of a tensor of ``shape``; outside of it lies ``fill``, unless that is None."""

    def __init__(self, coordinates: Sequence[DimLike | Element], shape: Shape, domain: Domain,
                 fill: Number | None = None) -> None:
        super().__init__(coordinates, shape, domain, "read", may_leave=fill is not None)
        self._fill = fill
        self._shortcut = Strides(self) if self.is_inside or self.is_affine else None

    def elements(self, array: np.ndarray, operands: Operands, box: Box) -> np.ndarray:
        """The elements at the points of a box, of length 1 along dimensions on which the read does not depend."""
        seen = None if self._shortcut is None else self._shortcut.view(array, self._fill)
        if seen is not None:
            return box.part(seen)
        grids, outside = self.at(box, operands)
        if outside is None:
            return np.asarray(array[tuple(grids)])
        fill = array.dtype.type(self._fill)
        if not array.size:
            return np.full(np.broadcast_shapes(*[grid.shape for grid in grids]), fill, array.dtype)
        inside = [np.clip(grid, 0, length - 1) for grid, length in zip(grids, self.shape, strict=True)]
        found = np.asarray(array[tuple(inside)])
        np.copyto(found, fill, where=outside)
        return found


class Strides:
    """The shortcut of reads whose coordinates are no data: a view of the array, or of a padded copy where affine
    coordinates leave the tensor. It is taken only where all places are known to lie inside.
    """

    def __init__(self, places: PlannedAccess) -> None:
        lengths = places.domain.lengths
        self._extents = tuple([length if d in places.used else 1 for d, length in enumerate(lengths)])
        self._margins = [(max(0, -(low or 0)), max(0, (high or 0) + 1 - length))
                         for (low, high), length in zip(places.ends, places.shape, strict=True)]
        padded = math.prod([sum(margin) + length for margin, length in zip(self._margins, places.shape, strict=True)])
        self._is_small = padded <= 4 * (math.prod(lengths) + math.prod(places.shape))
        coordinates = tuple([entry + before for entry, (before, _)
                             in zip(places.coordinates, self._margins, strict=True) if not isinstance(entry, Element)])
        first = numbers(coordinates, {f"%{d}": 0 for d in range(len(lengths))})
        self._first: Index = (*[slice(place, None) for place in first], ...)
        self._layout = functools.lru_cache(8)(IndexMap(self._extents, coordinates).layout)

    def view(self, array: np.ndarray, fill: Number | None) -> np.ndarray | None:
        """The elements over the whole domain; None where no strides lead to them, or where a copy would be far larger
        than what is read.
        """
        if any([before or after for before, after in self._margins]):
            if not self._is_small:
                return None
            array = np.pad(array, self._margins, constant_values=array.dtype.type(fill))
        layout = self._layout(Layout(array.strides))
        if layout is None:
            return None
        # NumPy takes element types by their string here, and does not find float8_e5m2 by it: hence bytes.
        start = array[self._first].view(f"V{array.itemsize}")
        return as_strided(start, self._extents, numbers(layout.strides, {}), writeable=False).view(array.dtype)


def view_taker(index_map: IndexMap, source: Shape, op: Op | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """The view by an index map without symbols, as a function of an array of shape ``source``."""
    shape = numbers(index_map.shape, {})
    if 0 in shape:
        return lambda array: np.empty(shape, array.dtype)
    domain = Domain(shape, op)
    read, box = Read(index_map.coordinates, source, domain), domain.whole

    def take(array: np.ndarray) -> np.ndarray:
        elements = read.elements(array, (), box)
        return elements if elements.shape == shape else np.broadcast_to(elements, shape)
    return take


def view_of(view: SimpleView | ComplexView, sources: Sequence[Shape], bindings: Mapping[str, int],
            op: Op | None = None) -> Callable[[Operands], np.ndarray]:
    """A view description as a function of the operands, which have these shapes; ``op`` is named in errors."""
    def taker(index_map: IndexMap, shape: Shape, operand: int) -> Callable[[np.ndarray], np.ndarray]:
        coordinates = tuple([substitute(entry, bindings) for entry in index_map.coordinates])
        return view_taker(IndexMap(shape, coordinates), sources[operand], op)

    shape = numbers(view.shape, bindings)
    if isinstance(view, ReshapeView):
        return lambda operands: np.reshape(operands[0], shape)
    if isinstance(view, SimpleView):
        see = taker(view.index_map, shape, 0)
        return lambda operands: see(np.asarray(operands[0]))
    pieces = []
    for piece in view.pieces:
        starts, extents, operand = numbers(piece.starts, bindings), numbers(piece.extents, bindings), piece.operand or 0
        if min(extents, default=1) > 0:
            part = tuple([slice(start, start + extent) for start, extent in zip(starts, extents, strict=True)])
            take = None if piece.index_map is None else taker(piece.index_map, extents, operand)
            pieces.append((part, operand, take, piece.constant))

    def assemble(operands: Operands) -> np.ndarray:
        result = np.empty(shape, operands[0].dtype)
        for part, operand, take, constant in pieces:
            result[part] = constant if take is None else take(np.asarray(operands[operand]))
        return result
    return assemble
