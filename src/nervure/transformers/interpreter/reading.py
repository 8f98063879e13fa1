"""Reads of an operand over a domain: NumPy views where the index map allows it, else fancy indexing.

A read is planned once per shapes and then opened on arrays. What it gives has one dimension a dimension of
the domain, of length 1 where the read does not depend on it, so that the elements broadcast against each
other without copies:

>>> from nervure.ir.kinds import Access
>>> from nervure.transformers.interpreter.box import index, whole_box
>>> windows = plan_read(Access((index(0) + index(1),)), domain=(3, 2), shape=(4,))
>>> windows.open(np.arange(4), ())(whole_box((3, 2))).tolist()
[[0, 1], [1, 2], [2, 3]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nervure.errors import ErrorParts, IndexOutOfRange
from nervure.ir.kinds import Access, Element, coordinate_symbols
from nervure.ir.notation import Number
from nervure.ir.op import Op
from nervure.transformers.interpreter.box import Box
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import DimLike, affine, evaluate

Taker = Callable[[Box], np.ndarray]


class Line(NamedTuple):
    """An affine coordinate: a step for each dimension of the domain, and where it starts."""

    steps: tuple[int, ...]
    start: int

    def ends(self, domain: Sequence[int]) -> tuple[int, int]:
        """The smallest and the largest value over a domain that is not empty."""
        spans = [step * (length - 1) for step, length in zip(self.steps, domain, strict=True)]
        return (self.start + sum([span for span in spans if span < 0]),
                self.start + sum([span for span in spans if span > 0]))

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions that it depends on."""
        return tuple([d for d, step in enumerate(self.steps) if step])


def as_line(coordinate: DimLike | Element, rank: int) -> Line | None:
    """A coordinate without symbols as a line, or None where it is not affine or is data."""
    if isinstance(coordinate, int):
        return Line((0,) * rank, coordinate)
    if isinstance(coordinate, Element):
        return None
    names = [f"%{d}" for d in range(rank)]
    found = affine(coordinate, names)
    if found is None:
        return None
    start, *steps = numbers((found[1], *found[0].values()), {})  # there are no symbols: they are numbers
    return Line(tuple(steps), start)


class Read:
    """A planned read. ``dims`` are the dimensions of the domain that it depends on, as they come in it."""

    __slots__ = ("dims", "_domain")

    def __init__(self, dims: tuple[int, ...], domain: tuple[int, ...]) -> None:
        self.dims, self._domain = dims, domain

    def open(self, array: np.ndarray, operands: Sequence[np.ndarray]) -> Taker:
        """The read of an array, as a function from a box to elements. ``operands`` are all of the op's, for
        indices that are data.
        """
        raise NotImplementedError


class Padding(NamedTuple):
    """How many elements to add before and after each dimension, so that a read stays inside."""

    shape: tuple[int, ...]
    inner: tuple[slice, ...]
    fill: Number | None

    def apply(self, array: np.ndarray) -> np.ndarray:
        """A padded copy."""
        padded = np.full(self.shape, np.dtype(array.dtype).type(self.fill), array.dtype)
        padded[self.inner] = array
        return padded


class LineRead(Read):
    """A read whose coordinates are all affine: a view of the array, padded first where it reaches outside."""

    __slots__ = ("_padding", "_lines", "_slices", "_order", "_expand")

    def __init__(self, lines: Sequence[Line], domain: tuple[int, ...], padding: Padding | None) -> None:
        used = [d for line in lines for d in line.dims]
        super().__init__(tuple(dict.fromkeys(used)), domain)
        self._padding, self._lines = padding, lines
        self._slices: tuple[slice | int | EllipsisType, ...] | None = None
        if len(used) == len(self.dims) and all(len(line.dims) <= 1 for line in lines):
            self._slices = (*[_as_slice(line, domain) for line in lines], ...)
            self._order = tuple(sorted(range(len(used)), key=used.__getitem__))
            self._expand = tuple([slice(None) if d in self.dims else None for d in range(len(domain))])

    def open(self, array: np.ndarray, operands: Sequence[np.ndarray]) -> Taker:
        view = self.view(array)
        return lambda box: box.of(view)

    def view(self, array: np.ndarray) -> np.ndarray:
        """The elements over the whole domain."""
        array = np.asarray(array) if self._padding is None else self._padding.apply(array)
        if self._slices is not None:
            return array[self._slices].transpose(self._order)[self._expand]
        shape = [length if d in self.dims else 1 for d, length in enumerate(self._domain)]
        strides = [sum([line.steps[d] * stride for line, stride in zip(self._lines, array.strides, strict=True)])
                   for d in range(len(self._domain))]
        # The bounds of every coordinate were checked when this was planned: the view stays inside the array.
        first = array[tuple([slice(line.start, None) for line in self._lines])]
        return strided(first, shape, strides)


def strided(array: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """The read-only view of an array with another shape and other strides (in bytes), for every element type.

    NumPy's own takes types by their string, and does not find float8_e5m2 by it.
    """
    raw = as_strided(array.view(f"V{array.itemsize}"), shape, strides, writeable=False)
    return raw.view(array.dtype)


def _as_slice(line: Line, domain: Sequence[int]) -> slice | int:
    if not line.dims:
        return line.start
    d = line.dims[0]
    step = line.steps[d]
    stop = line.start + step * (domain[d] - 1) + (1 if step > 0 else -1)
    return slice(line.start, stop if stop >= 0 else None, step)


class GatherRead(Read):
    """A read by fancy indexing: coordinates that are data, or not affine."""

    __slots__ = ("_op", "_coordinates", "_fill", "_shape")

    def __init__(self, op: Op | None, access: Access, coordinates: Sequence[Coordinate], domain: tuple[int, ...],
                 shape: tuple[int, ...]) -> None:
        super().__init__(depends(access.coordinates), domain)
        self._op, self._coordinates, self._fill, self._shape = op, coordinates, access.fill, shape

    def open(self, array: np.ndarray, operands: Sequence[np.ndarray]) -> Taker:
        array = np.asarray(array)
        coordinates = [coordinate.open(operands) for coordinate in self._coordinates]

        def take(box: Box) -> np.ndarray:
            places = [coordinate(box) for coordinate in coordinates]
            outside = outside_of(places, self._shape)
            if outside is None:
                return array[tuple(places)]
            if self._fill is None:
                raise _outside(self._op, places, self._shape)
            fill = np.dtype(array.dtype).type(self._fill)
            if not array.size:
                return np.full(outside.shape, fill, array.dtype)
            inside = [np.where(outside, 0, place) for place in places]
            return np.where(outside, fill, array[tuple(inside)])
        return take


class Coordinate:
    """One coordinate over a box: an expression, or an element of an index operand (checked, wrapped once)."""

    __slots__ = ("_op", "_coordinate", "_read")

    def __init__(self, op: Op | None, coordinate: DimLike | Element, domain: tuple[int, ...],
                 shapes: Sequence[tuple[int, ...]]) -> None:
        self._op, self._coordinate = op, coordinate
        self._read = (plan_read(Access(coordinate.coordinates), domain, shapes[coordinate.operand])
                      if isinstance(coordinate, Element) else None)

    def open(self, operands: Sequence[np.ndarray]) -> Taker:
        """A function from a box to places."""
        coordinate = self._coordinate
        if not isinstance(coordinate, Element):
            return lambda box: box.values(coordinate)
        assert self._read is not None
        take = self._read.open(operands[coordinate.operand], operands)
        return lambda box: self._wrapped(coordinate, take(box), box)

    def _wrapped(self, element: Element, elements: np.ndarray, box: Box) -> np.ndarray:
        bound, = numbers((element.bound,), {})
        bad = (elements < (-bound if element.from_end else 0)) | (elements >= bound)
        if bad.any():
            raise self._out_of_range(element, elements, bad, box)
        places = elements.astype(np.int64)
        return np.where(places < 0, places + bound, places)

    def _out_of_range(self, element: Element, elements: np.ndarray, bad: np.ndarray, box: Box) -> Exception:
        assert self._op is not None
        bound, = numbers((element.bound,), {})
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        point = {f"%{d}": start + int(k) for d, (start, k) in enumerate(zip(box.starts, at, strict=True))}
        position = tuple([evaluate(entry, point) for entry in element.coordinates])
        return self._op.fail(IndexOutOfRange, f"index {elements[at]} at position {position} is out of range",
                             operand=self._op.operand_label(element.operand),
                             got=f"{elements[at]} at position {position}", **element.refused(bound))


def _outside(op: Op | None, places: Sequence[np.ndarray], shape: Sequence[int]) -> Exception:
    return out_of_range(op, "read", [(int(place.min()), int(place.max())) for place in places], shape)


def out_of_range(op: Op | None, what: str, ends: Sequence[tuple[int, int]], shape: Sequence[int]) -> Exception:
    """The error of an index map that leaves its tensor: ``ends`` are the extremes of each coordinate."""
    parts: ErrorParts = {
        "got": ", ".join([f"{low} to {high}" for low, high in ends]) or "no coordinates",
        "expected": ", ".join([f"0 to {length - 1}" if length else "nothing" for length in shape])}
    message = f"an element outside the tensor would be {what}"
    return IndexOutOfRange(message, **parts) if op is None else op.fail(IndexOutOfRange, message, **parts)


def outside_of(places: Sequence[np.ndarray], shape: Sequence[int]) -> np.ndarray | None:
    """Where any coordinate lies outside its dimension, or None where none does."""
    outside: np.ndarray | None = None
    for place, length in zip(places, shape, strict=True):
        bad = (place < 0) | (place >= length)
        if bad.any():
            outside = bad if outside is None else outside | bad
    if outside is None:
        return None
    return np.broadcast_to(outside, np.broadcast_shapes(*[place.shape for place in places]))


def depends(coordinates: Sequence[DimLike | Element]) -> tuple[int, ...]:
    """The dimensions of the domain that some coordinates depend on."""
    names = {name for entry in coordinates for name in coordinate_symbols(entry)}
    return tuple(sorted(int(name[1:]) for name in names if name.startswith("%")))


def plan_read(access: Access, domain: tuple[int, ...], shape: tuple[int, ...], op: Op | None = None,
              shapes: Sequence[tuple[int, ...]] = ()) -> Read:
    """The read of an operand of ``shape`` over a domain that is not empty; nothing in it is a symbol any
    more.

    ``op`` and ``shapes`` (of all operands) are needed where coordinates are data.
    """
    lines = [as_line(entry, len(domain)) for entry in access.coordinates]
    known = [line for line in lines if line is not None]
    if len(known) == len(lines):
        padding = _padding(op, known, domain, shape, access.fill)
        if padding is not _TOO_LARGE:
            return LineRead(_shifted(known, padding), domain, padding)
    coordinates = [Coordinate(op, entry, domain, shapes) for entry in access.coordinates]
    return GatherRead(op, access, coordinates, domain, shape)


_TOO_LARGE = Padding((), (), None)


def _padding(op: Op | None, lines: Sequence[Line], domain: Sequence[int], shape: Sequence[int],
             fill: Number | None) -> Padding | None:
    """The padding that keeps a read inside; None if it is inside, _TOO_LARGE if far more would be added
    than read.
    """
    ends = [line.ends(domain) for line in lines]
    if all(low >= 0 and high < length for (low, high), length in zip(ends, shape, strict=True)):
        return None
    if fill is None:
        raise out_of_range(op, "read", ends, shape)
    below = [max(0, -low) for low, _ in ends]
    padded = tuple([before + max(length, high + 1)
                    for before, (_, high), length in zip(below, ends, shape, strict=True)])
    if math.prod(padded) > 4 * (math.prod(domain) + math.prod(shape)):
        return _TOO_LARGE
    inner = tuple([slice(before, before + length) for before, length in zip(below, shape, strict=True)])
    return Padding(padded, inner, fill)


def _shifted(lines: Sequence[Line], padding: Padding | None) -> Sequence[Line]:
    if padding is None:
        return lines
    return [Line(line.steps, line.start + part.start) for line, part in zip(lines, padding.inner, strict=True)]
