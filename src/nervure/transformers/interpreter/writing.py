"""Writes and accumulation of results: into slices of the output where the index map is affine, else by flat indices.

An output is a buffer in which elements add up. It takes the elements of one box at a time, over the
dimensions of the domain that its write depends on; what a write does not depend on is reduced before:

>>> from nervure.ir.kinds import Access
>>> from nervure.transformers.interpreter.box import index, whole_box
>>> add = combiner("add")
>>> output = plan_write(Access((index(0),)), (2, 3), (2,), add).start(np.dtype(np.float64), None, ())
>>> output.put(whole_box((2, 3)), add.reduce(np.ones((2, 3)), (1,), np.dtype(np.float64)))
>>> output.result.tolist()
[3.0, 3.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from types import EllipsisType
from typing import NamedTuple

import numpy as np

from nervure.ir.kinds import Access
from nervure.ir.notation import Number
from nervure.ir.op import Op
from nervure.transformers.interpreter.box import Box
from nervure.transformers.interpreter.dense import dense_rows
from nervure.transformers.interpreter.reading import (
    Coordinate,
    Line,
    as_line,
    depends,
    out_of_range,
    outside_of,
)


class Combiner(NamedTuple):
    """How writes to one place combine: a NumPy function with its unit; without a function the last write
    wins.

    ``ordered`` says that the order of writes to one place matters.
    """

    function: np.ufunc | None
    unit: Callable[[np.dtype], Number]
    ordered: bool = False

    def reduce(self, elements: np.ndarray, axes: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The elements combined along axes, in row-major order where order matters, as ``dtype``."""
        if not axes:
            return elements
        if self.function is None:
            return elements[tuple([-1 if d in axes else slice(None) for d in range(elements.ndim)])]
        if dtype.kind in "fc":
            elements, axes = dense_rows(elements, axes), (-1,)
        return self.function.reduce(elements, axis=axes, dtype=dtype, initial=self.unit(dtype))

    def into(self, target: np.ndarray, elements: np.ndarray) -> None:
        """Combines elements into a view, each into its own place."""
        if self.function is None:
            target[...] = elements
        else:
            self.function(target, elements, out=target, casting="unsafe")


def _lowest(dtype: np.dtype) -> Number:
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _highest(dtype: np.dtype) -> Number:
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


_COMBINERS = {
    None: Combiner(None, lambda dtype: 0),
    "set": Combiner(None, lambda dtype: 0, ordered=True),
    "add": Combiner(np.add, lambda dtype: 0),
    "multiply": Combiner(np.multiply, lambda dtype: 1),
    "maximum": Combiner(np.maximum, _lowest),
    "minimum": Combiner(np.minimum, _highest),
    "and": Combiner(np.bitwise_and, lambda dtype: np.invert(dtype.type(0))),
    "or": Combiner(np.bitwise_or, lambda dtype: 0),
}


def combiner(name: str | None) -> Combiner:
    """The combiner that a structure names."""
    return _COMBINERS[name]


class Output(NamedTuple):
    """A result that is being made: the memory it adds up in, the part of that which is the result (in the type in which
    it adds up), and how a box is added.
    """

    buffer: np.ndarray
    result: np.ndarray
    add: Callable[[np.ndarray, Box, np.ndarray], None]

    def put(self, box: Box, elements: np.ndarray) -> None:
        """Combines the elements of a box: one dimension for each that the write depends on, in the domain's
        order.
        """
        self.add(self.buffer, box, elements)


class Write:
    """A planned write. ``dims`` are the dimensions of the domain that it depends on; the others are
    reduced.
    """

    __slots__ = ("dims", "_shape", "_combiner")

    def __init__(self, dims: tuple[int, ...], shape: tuple[int, ...], combiner: Combiner) -> None:
        self.dims, self._shape, self._combiner = dims, shape, combiner

    def start(self, dtype: np.dtype, initial: np.ndarray | None, operands: Sequence[np.ndarray]) -> Output:
        """An output that adds up in ``dtype``, from ``initial`` or from the combiner's unit."""
        raise NotImplementedError

    def buffer(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Memory that holds the combiner's unit everywhere."""
        return np.full(shape, dtype.type(self._combiner.unit(dtype)), dtype)


class LineWrite(Write):
    """A write whose coordinates are affine and share no dimension.

    In each coordinate one dimension, the longest, becomes a slice; over the others (the offsets in a
    window) there is a loop. The buffer is as large as what is written; what lies outside the output is cut
    off at the end. ``moves`` says that each place of the output is written by one point, so that the
    elements are the output, transposed.
    """

    __slots__ = ("moves", "_lines", "_mains", "_loops", "_order", "_extents", "_inner")

    def __init__(self, op: Op | None, lines: Sequence[Line], domain: tuple[int, ...], shape: tuple[int, ...],
                 combiner: Combiner, drop: bool) -> None:
        super().__init__(tuple(sorted(d for line in lines for d in line.dims)), shape, combiner)
        ends = [line.ends(domain) for line in lines]
        if not drop and any(low < 0 or high >= length for (low, high), length in zip(ends, shape, strict=True)):
            raise out_of_range(op, "written", ends, shape)
        below = [max(0, -low) for low, _ in ends]
        self._extents = tuple([before + max(length, high + 1)
                               for before, (_, high), length in zip(below, ends, shape, strict=True)])
        # The ellipsis makes a view of memory without dimensions, too, where NumPy would give a number.
        self._inner: tuple[slice | EllipsisType, ...] = (
            *[slice(before, before + length) for before, length in zip(below, shape, strict=True)], ...)
        self._lines = [Line(line.steps, line.start + before) for line, before in zip(lines, below, strict=True)]
        self._mains = [max(line.dims, key=domain.__getitem__) if line.dims else None for line in lines]
        self._loops = [d for line, main in zip(lines, self._mains, strict=True) for d in line.dims if d != main]
        order = [*self._loops, *[d for d in self._mains if d is not None]]
        self._order = tuple([self.dims.index(d) for d in order])
        self.moves = not self._loops and all([
            main is not None and line.steps[main] == 1 and line.start == 0 and domain[main] == length
            for line, main, length in zip(lines, self._mains, shape, strict=True)])

    def arranged(self, elements: np.ndarray) -> np.ndarray:
        """The elements with the loops' dimensions first and then one a coordinate."""
        return elements.transpose(self._order)

    def start(self, dtype: np.dtype, initial: np.ndarray | None, operands: Sequence[np.ndarray]) -> Output:
        buffer = self.buffer(self._extents, dtype)
        if initial is not None:
            buffer[self._inner] = initial
        return Output(buffer, buffer[self._inner], self.put)

    def put(self, buffer: np.ndarray, box: Box, elements: np.ndarray) -> None:
        """Combines the elements of a box into slices of the buffer."""
        elements = self.arranged(elements)
        shape = [1 if main is None else box.lengths[main] for main in self._mains]
        for place in product(*[range(box.lengths[d]) for d in self._loops]):
            fixed = dict(zip(self._loops, place, strict=True))
            part: tuple[slice | EllipsisType, ...] = (*[
                self._slice(line, main, box, fixed) for line, main in zip(self._lines, self._mains, strict=True)], ...)
            self._combiner.into(buffer[part], elements[place].reshape(shape))

    def _slice(self, line: Line, main: int | None, box: Box, fixed: dict[int, int]) -> slice:
        first = line.start + sum([line.steps[d] * (box.starts[d] + fixed.get(d, 0)) for d in line.dims])
        if main is None:
            return slice(first, first + 1)
        step = line.steps[main]
        stop = first + step * (box.lengths[main] - 1) + (1 if step > 0 else -1)
        return slice(first, stop if stop >= 0 else None, step)


class ScatterWrite(Write):
    """A write at places that are data, not affine, or visited by several dimensions of the domain together.
    """

    __slots__ = ("_op", "_coordinates", "_drop")

    def __init__(self, op: Op | None, coordinates: Sequence[Coordinate], dims: tuple[int, ...],
                 shape: tuple[int, ...], combiner: Combiner, drop: bool) -> None:
        super().__init__(dims, shape, combiner)
        self._op, self._coordinates, self._drop = op, coordinates, drop

    def start(self, dtype: np.dtype, initial: np.ndarray | None, operands: Sequence[np.ndarray]) -> Output:
        buffer = self.buffer(self._shape, dtype)
        if initial is not None:
            buffer[...] = initial
        coordinates = [coordinate.open(operands) for coordinate in self._coordinates]
        return Output(buffer.reshape(-1), buffer,
                      lambda flat, box, elements: self.put(flat, [place(box) for place in coordinates], box, elements))

    def put(self, buffer: np.ndarray, places: Sequence[np.ndarray], box: Box, elements: np.ndarray) -> None:
        """Combines the elements of a box into the flat buffer at the places that the coordinates name, in
        row-major order.
        """
        outside = outside_of(places, self._shape)
        if outside is not None and not self._drop:
            ends = [(int(place.min()), int(place.max())) for place in places]
            raise out_of_range(self._op, "written", ends, self._shape)
        flat = np.zeros((1,) * len(box.lengths), np.int64)
        for place, length in zip(places, self._shape, strict=True):
            flat = flat * length + place
        used = tuple([box.lengths[d] if d in self.dims else 1 for d in range(len(box.lengths))])
        flat = np.broadcast_to(flat, used).ravel()
        elements = elements.ravel()
        if outside is not None:
            inside = ~np.broadcast_to(outside, used).ravel()
            flat, elements = flat[inside], elements[inside]
        if self._combiner.function is None:
            buffer[flat] = elements  # one index array: NumPy assigns in order, so the last write stays
        else:
            self._combiner.function.at(buffer, flat, elements.astype(buffer.dtype, copy=False))


# Beyond so many slices one fancy assignment is faster.
_LOOP_LIMIT = 4096


def plan_write(access: Access, domain: tuple[int, ...], shape: tuple[int, ...], combiner: Combiner,
               op: Op | None = None, shapes: Sequence[tuple[int, ...]] = ()) -> Write:
    """The write to an output of ``shape`` over a domain that is not empty; nothing in it is a symbol any
    more.
    """
    lines = [as_line(entry, len(domain)) for entry in access.coordinates]
    known = [line for line in lines if line is not None]
    if len(known) == len(lines):
        used = [d for line in known for d in line.dims]
        loops = math.prod(domain[d] for d in used) // math.prod(
            max([domain[d] for d in line.dims], default=1) for line in known)
        if len(set(used)) == len(used) and loops <= (1 if combiner.ordered else _LOOP_LIMIT):
            return LineWrite(op, known, domain, shape, combiner, access.drop)
    coordinates = [Coordinate(op, entry, domain, shapes) for entry in access.coordinates]
    return ScatterWrite(op, coordinates, depends(access.coordinates), shape, combiner, access.drop)
