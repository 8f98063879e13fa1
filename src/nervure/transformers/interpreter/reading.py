"""Reading through index maps: the elements that views show, and those that structured ops read of their operands.

Coordinates are evaluated on grids: an array has one dimension for each of the domain, of length 1 where it does not
depend on it, so that arrays broadcast against each other. A read is NumPy's indexing by such grids.

>>> from nervure.types.dim import index
>>> windows = Access((index(0) + index(1),))
>>> DomainBox((0, 0), (3, 2)).read(np.arange(4), windows).tolist()
[[0, 1], [1, 2], [2, 3]]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Unpack

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nervure.errors import ErrorParts, IndexOutOfRange, NervureError
from nervure.ir.kinds import Access, Element, coordinate_symbols
from nervure.ir.op import Op
from nervure.support.lazy import lazy
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import DimLike, bounds, evaluate_arrays, index, substitute
from nervure.types.index_map import IndexMap, index_ranges
from nervure.types.layout import Layout
from nervure.types.shape import index_at
from nervure.types.view import ComplexView, ReshapeView, SimpleView

Shape = tuple[int, ...]
Coordinates = Sequence[DimLike | Element]


class DomainBox:
    """A part of a domain that is evaluated at once: its ``starts`` and ``lengths``, one a dimension of the domain.

    The coordinates of the ``op`` whose domain it is may depend on ``operands`` and, by ``bindings``, on symbols.
    """

    def __init__(self, starts: Shape, lengths: Shape, operands: Sequence[np.ndarray] = (),
                 bindings: Mapping[str, int] | None = None, op: Op | None = None) -> None:
        self.starts, self.lengths, self._operands, self._bindings, self.op = starts, lengths, operands, bindings, op

    @lazy
    def _names(self) -> dict[str, int | np.ndarray]:
        """The values of symbols and, as grids, of the domain's indices."""
        ranges = [np.arange(start, start + length) for start, length in zip(self.starts, self.lengths, strict=True)]
        return {**(self._bindings or {}), **{f"%{d}": grid for d, grid in enumerate(np.ix_(*ranges))}}

    def fail(self, kind: type[NervureError], message: str, **parts: Unpack[ErrorParts]) -> NervureError:
        """Returns an error of the op, if one is known."""
        return kind(message, **parts) if self.op is None else self.op.fail(kind, message, **parts)

    def depends(self, coordinates: Coordinates) -> list[bool]:
        """Whether coordinates depend on each dimension."""
        names = frozenset[str]().union(*map(coordinate_symbols, coordinates))
        return [f"%{d}" in names for d in range(len(self.lengths))]

    def values(self, expression: DimLike) -> np.ndarray:
        """Returns the values of an expression over the box, as a grid of int64."""
        grid = np.asarray(evaluate_arrays(expression, self._names), np.int64)
        return grid.reshape(grid.shape or (1,) * len(self.lengths))

    def read(self, array: np.ndarray, access: Access) -> np.ndarray:
        """Returns the elements at the points of the box, of length 1 along dimensions on which the access does not
        depend.
        """
        seen = self._seen(array, access.coordinates)
        if seen is not None:
            return seen
        grids, outside = self.places(access.coordinates, array.shape, "read", may_leave=access.fill is not None)
        if outside is None:
            return np.asarray(array[tuple(grids)])
        fill = array.dtype.type(access.fill)
        if not array.size:
            return np.full(outside.shape, fill)
        inside = [np.clip(grid, 0, length - 1) for grid, length in zip(grids, array.shape, strict=True)]
        return np.where(outside, fill, array[tuple(inside)])

    def _seen(self, array: np.ndarray, coordinates: Coordinates) -> np.ndarray | None:
        """Returns the elements as a view of the array, where they are known to lie inside of it, fixed strides apart.

        Views take no memory of their own, whatever they show. Where there is none it is None.
        """
        here = {**(self._bindings or {}), **{f"%{d}": index(d) + start for d, start in enumerate(self.starts)}}
        known = tuple([substitute(entry, here) for entry in coordinates if not isinstance(entry, Element)])
        ends = [bounds(entry, index_ranges(self.lengths)) for entry in known]
        if len(known) < array.ndim or not all([low is not None and low >= 0 and high is not None and high < length
                                               for (low, high), length in zip(ends, array.shape, strict=True)]):
            return None
        used = self.depends(known)
        extents = tuple([length if used[d] else 1 for d, length in enumerate(self.lengths)])
        layout = IndexMap(extents, known).layout(Layout(array.strides))
        if layout is None:
            return None
        first = numbers(known, {f"%{d}": 0 for d in range(len(extents))})
        # NumPy takes element types by their string here, and does not find float8_e5m2 by it: hence bytes.
        start = np.asarray(array[tuple([slice(place, None) for place in first])]).view(f"V{array.itemsize}")
        return as_strided(start, extents, numbers(layout.strides, {}), writeable=False).view(array.dtype)

    def places(self, coordinates: Coordinates, shape: Shape, verb: str,
               may_leave: bool) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Returns the grid of each coordinate, and a mask of the points at which one lies outside of a tensor of
        ``shape``.

        The mask is None where none does. Unless one ``may_leave`` the tensor it is an IndexOutOfRange, which says with
        ``verb`` what is done there.
        """
        grids = [self._named(entry) if isinstance(entry, Element) else self.values(entry) for entry in coordinates]
        outside = [bad for grid, length in zip(grids, shape, strict=True)
                   if (bad := (grid < 0) | (grid >= length)).any()]
        if outside and not may_leave:
            raise self.fail(IndexOutOfRange, f"an element outside the tensor would be {verb}",
                            got=", ".join([f"{grid.min()} to {grid.max()}" for grid in grids]),
                            expected=", ".join([f"0 to {length - 1}" if length else "nothing" for length in shape]))
        return grids, functools.reduce(np.logical_or, outside) if outside else None

    def _named(self, element: Element) -> np.ndarray:
        """Returns the places that an index operand names, negative ones counted from the end once. They are all
        checked.
        """
        named = self.read(self._operands[element.operand], Access(element.coordinates))
        bound, = numbers((element.bound,), self._bindings or {})
        bad = (named < (-bound if element.from_end else 0)) | (named >= bound)
        if bad.any():
            at = index_at(int(np.argmax(bad)), bad.shape)
            point = {f"%{d}": start + k for d, (start, k) in enumerate(zip(self.starts, at, strict=True))}
            position = numbers(element.coordinates, {**(self._bindings or {}), **point})
            got = f"{named[at]} at position {position}"
            raise self.fail(IndexOutOfRange, f"index {got} is out of range", got=got, **element.refused(bound),
                            operand=None if self.op is None else self.op.operand_label(element.operand))
        places = named.astype(np.int64)
        return np.where(places < 0, places + bound, places)


def starts_and_lengths(lengths: Shape, limit: int, splittable: Sequence[int]) -> Iterator[tuple[Shape, Shape]]:
    """Cuts a domain into boxes, in row-major order, each of at most ``limit`` points where that is possible.

    Dimensions are split from the outermost on; ``splittable`` names those that may be, in ascending order.

    >>> list(starts_and_lengths((3, 4), 8, (0, 1)))
    [((0, 0), (2, 4)), ((2, 0), (1, 4))]
    """
    steps = list(lengths)
    for d in splittable:
        steps[d] = max(1, min(steps[d], steps[d] * limit // math.prod(steps)))
    for starts in product(*[range(0, length, step) for length, step in zip(lengths, steps, strict=True)]):
        yield starts, tuple([min(step, length - start)
                             for start, step, length in zip(starts, steps, lengths, strict=True)])


def view(description: SimpleView | ComplexView, operands: Sequence[np.ndarray], bindings: Mapping[str, int],
         op: Op | None = None) -> np.ndarray:
    """Returns the elements that a view shows of the operands; ``op`` is named in errors."""
    shape = numbers(description.shape, bindings)
    if isinstance(description, ReshapeView):
        return np.reshape(operands[0], shape)
    if isinstance(description, SimpleView):
        return view_through(description.index_map, operands[0], bindings, op)
    result = np.empty(shape, operands[0].dtype)
    for piece in description.pieces:
        starts, extents = numbers(piece.starts, bindings), numbers(piece.extents, bindings)
        if min(extents, default=1) > 0:
            part = tuple([slice(start, start + extent) for start, extent in zip(starts, extents, strict=True)])
            result[part] = (piece.constant if piece.index_map is None else
                            view_through(piece.index_map, operands[piece.operand or 0], bindings, op))
    return result


def view_through(index_map: IndexMap, array: np.ndarray, bindings: Mapping[str, int],
                 op: Op | None = None) -> np.ndarray:
    """Returns the elements of an array that an index map leads to; ``op`` is named in errors."""
    shape = numbers(index_map.shape, bindings)
    if 0 in shape:
        return np.empty(shape, array.dtype)
    box = DomainBox((0,) * len(shape), shape, (), bindings, op)
    return np.broadcast_to(box.read(np.asarray(array), Access(index_map.coordinates)), shape)
