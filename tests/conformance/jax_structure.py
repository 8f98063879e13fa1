"""A second provider of the structured form and of views, over JAX: gathers, and folds in the order of the points.

The domain is walked as one flat list of points. Coordinates are computed for all points at once; elements move by
gathers of their bits; what is written to one place is combined one write after the other, by the functions of the
scalar namespace. Nothing is recognised: a matrix product and a scatter take the same road.

>>> from nervure.ir.kinds import Access, Structure, identity_body
>>> from nervure.types.dim import index
>>> from nervure.types.dtype import float32
>>> rows = Structure((2, 3), (Access((index(0), index(1))),), (Access((index(0),)),), identity_body, "add")
>>> evaluate_structure(rows, [np.arange(6, dtype=np.float32).reshape(2, 3)], [((2,), float32)])[0].tolist()
[3.0, 12.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from nervure.ir.kinds import Access, Element, Structure
from nervure.types.dim import DimLike, evaluate_arrays
from nervure.types.dtype import DType, as_dtype
from nervure.types.view import ComplexView
from tests.conformance.jax_scalars import JaxScalars, Vector, compiled, padded

Shape = tuple[int, ...]
Outputs = Sequence[tuple[Shape, DType]]


def padded_length(count: int) -> int:
    """The length of the vectors for so many points: one of few, so that little is compiled."""
    return 1024 if count <= 1024 else 1 << (count - 1).bit_length()


class Points:
    """All points of a domain, flat and in row-major order."""

    def __init__(self, domain: Shape) -> None:
        self.count = math.prod(domain)
        grid = np.indices(domain, np.int64).reshape(len(domain), self.count)
        self._names = {f"%{d}": values for d, values in enumerate(grid)}

    def values(self, expression: DimLike) -> np.ndarray:
        """The values of an expression over the domain's indices, one a point."""
        return np.broadcast_to(np.asarray(evaluate_arrays(expression, self._names), np.int64), (self.count,))

    def places(self, access: Access, shape: Shape, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """(flat index into a tensor of this shape, whether it is inside) for each point."""
        flat, inside = np.zeros(self.count, np.int64), np.ones(self.count, bool)
        for entry, length in zip(access.coordinates, shape, strict=True):
            at = self._elements(entry, operands) if isinstance(entry, Element) else self.values(entry)
            inside = inside & (at >= 0) & (at < length)
            flat = flat * length + at
        return np.where(inside, flat, 0), inside

    def _elements(self, entry: Element, operands: Sequence[np.ndarray]) -> np.ndarray:
        at = operands[entry.operand][tuple([self.values(part) for part in entry.coordinates])]
        at = np.broadcast_to(at.astype(np.int64), (self.count,))
        bound = int(self.values(entry.bound)[0]) if self.count else 0
        if ((at < -bound) | (at >= bound)).any():
            raise IndexError(f"an index is outside of {bound}")
        return np.where(at < 0, at + bound, at)


_take = compiled(lambda words, places: jnp.take(words, places, axis=0, mode="clip"))


def moved(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The elements of a flat array at these places, as bits: no NaN loses its payload, no denormal is flushed."""
    word = np.dtype(f"u{min(array.itemsize, 8)}")
    words = np.ascontiguousarray(array).view(word).reshape(-1, array.itemsize // word.itemsize)
    source = np.zeros((padded_length(len(words)), words.shape[1]), word)
    source[:len(words)] = words
    index = np.zeros(padded_length(len(places)), np.int64)
    index[:len(places)] = places
    taken = np.asarray(_take(source, index))[:len(places)]
    return np.ascontiguousarray(taken).view(array.dtype).reshape(-1)


def evaluate_structure(structure: Structure, operands: Sequence[np.ndarray], outputs: Outputs) -> list[np.ndarray]:
    """The outputs of an iteration without symbols, whose shapes and element types are given."""
    points = Points(structure.domain)  # type: ignore[arg-type]  # without symbols
    length = padded_length(max([points.count, *[math.prod(shape) for shape, _ in outputs]]))
    s = JaxScalars(length, points.values)
    elements = [padded(_read(points, access, operands[at], operands), length)
                for at, access in enumerate(structure.reads) if access is not None]
    values = structure.body(s, *elements)
    values = values if isinstance(values, tuple) else (values,)
    if callable(structure.combine):
        return _folded(structure, points, s, values, operands, outputs)
    results = []
    for value, write, (shape, dtype) in zip(values, structure.writes, outputs, strict=True):
        start = _start(structure, shape, dtype, operands)
        rounds = _rounds(points, write, shape, operands)
        moves = structure.combine in (None, "set")
        exact = dtype if moves else (structure.accumulate or dtype).compute
        state = s.convert(padded(start, length), exact)
        value = s.convert(value, exact)
        for present, numbers in rounds:
            after = _permuted(value, numbers)
            if not moves:
                after = _COMBINE[structure.combine](s, state, after)
            state = s.where(padded(present, length), after, state)
        results.append(_stored(s, state, shape, dtype))
    return results


_COMBINE = {
    "add": JaxScalars.add, "multiply": JaxScalars.multiply, "maximum": JaxScalars.maximum,
    "minimum": JaxScalars.minimum, "and": JaxScalars.bitwise_and, "or": JaxScalars.bitwise_or}


def _read(points: Points, access: Access, array: np.ndarray, operands: Sequence[np.ndarray]) -> np.ndarray:
    places, inside = points.places(access, array.shape, operands)
    if inside.all():
        return moved(array.reshape(-1), places) if points.count else np.empty(0, array.dtype)
    assert access.fill is not None, "a read leaves its tensor"
    filled = np.concatenate([array.reshape(-1), np.array([access.fill]).astype(array.dtype)])
    return moved(filled, np.where(inside, places, array.size))


def _start(structure: Structure, shape: Shape, dtype: DType, operands: Sequence[np.ndarray]) -> np.ndarray:
    """The initial value of an output, or the unit of its combiner."""
    if structure.initial is not None:
        return operands[structure.initial].reshape(-1)
    exact = dtype.compute
    extremes = (exact.minimum, exact.maximum) if not exact.is_float else (-np.inf, np.inf)
    unit = {"multiply": 1, "maximum": extremes[0], "minimum": extremes[1], "and": True}.get(structure.combine, 0)
    return np.full(math.prod(shape), unit, exact.numpy)


def _rounds(points: Points, write: Access, shape: Shape,
            operands: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Who writes where: for each round r, at each place, whether there is an r-th write and which point makes it."""
    places, inside = points.places(write, shape, operands)
    assert write.drop or inside.all(), "a write leaves its tensor"
    writers = np.flatnonzero(inside)
    writers = writers[np.argsort(places[writers], kind="stable")]
    targets = places[writers]
    first = np.concatenate([[True], targets[1:] != targets[:-1]]) if len(targets) else np.empty(0, bool)
    rank = np.arange(len(targets)) - np.maximum.accumulate(np.where(first, np.arange(len(targets)), 0))
    rounds = []
    for number in range(int(rank.max(initial=-1)) + 1):
        chosen = rank == number
        present, point = np.zeros(math.prod(shape), bool), np.zeros(math.prod(shape), np.int64)
        present[targets[chosen]], point[targets[chosen]] = True, writers[chosen]
        rounds.append((present, point))
    return rounds


def _permuted(value: Vector, numbers: np.ndarray) -> Vector:
    index = np.zeros(value.shape[0], np.int64)
    index[:len(numbers)] = numbers
    dtype = value.dtype
    if as_dtype(dtype).is_low_precision or as_dtype(dtype).bits == 4:
        return moved(np.asarray(value), index)
    return _take(value, index)


def _folded(structure: Structure, points: Points, s: JaxScalars, values: Sequence[Vector],
            operands: Sequence[np.ndarray], outputs: Outputs) -> list[np.ndarray]:
    """A custom combiner over tuples, applied from the left in the order of the points."""
    if not math.prod(outputs[0][0]):
        return [np.zeros(shape, dtype.numpy) for shape, dtype in outputs]
    rounds = _rounds(points, structure.writes[0], outputs[0][0], operands)
    assert rounds, "a custom combiner has no unit"
    state: Any = None
    for present, numbers in rounds:
        row = tuple([_permuted(value, numbers) for value in values])
        if state is None:
            state = row
            continue
        is_present = padded(present, s.length)
        combined = structure.combine(s, state, row)  # type: ignore[operator,misc]  # a function
        state = tuple([s.where(is_present, new, old) for new, old in zip(combined, state, strict=True)])
    finished = state if structure.finish is None else structure.finish(s, state)
    finished = finished if isinstance(finished, tuple) else (finished,)
    return [_stored(s, value, shape, dtype) for value, (shape, dtype) in zip(finished, outputs, strict=True)]


def _stored(s: JaxScalars, value: Vector, shape: Shape, dtype: DType) -> np.ndarray:
    return np.asarray(s.convert(value, dtype))[:math.prod(shape)].reshape(shape)


def evaluate_view(view: Any, operands: Sequence[np.ndarray]) -> np.ndarray:
    """Any view without symbols: each element gathered from where the description says it lies."""
    shape = view.shape
    if not isinstance(view, ComplexView):
        flat = _mapped(view.index_map, shape, operands[0].shape)
        return _gathered(operands[0].reshape(-1), flat, shape)
    dtype = operands[0].dtype
    constants = [piece.constant for piece in view.pieces if piece.index_map is None]
    everything = np.concatenate([*[operand.reshape(-1) for operand in operands],
                                 *[np.array([entry]).astype(dtype) for entry in constants]])
    starts = np.cumsum([0, *[operand.size for operand in operands]])
    flat, constant = np.full(shape, -1, np.int64), int(starts[-1])
    for piece in view.pieces:
        box = tuple([slice(start, start + extent) for start, extent in zip(piece.starts, piece.extents, strict=True)])
        if piece.index_map is None:
            flat[box], constant = constant, constant + 1
            continue
        source = operands[piece.operand].shape
        flat[box] = (starts[piece.operand] + _mapped(piece.index_map, piece.extents, source)).reshape(piece.extents)
    assert (flat >= 0).all(), "the pieces of a view leave a part of it open"
    return _gathered(everything, flat.reshape(-1), shape)


def _mapped(index_map: Any, shape: Shape, source: Shape) -> np.ndarray:
    flat, inside = Points(shape).places(Access(index_map.coordinates), source, ())
    assert inside.all(), "a view leaves its tensor"
    return flat


def _gathered(array: np.ndarray, flat: np.ndarray, shape: Shape) -> np.ndarray:
    return moved(array, flat).reshape(shape) if flat.size else np.empty(shape, array.dtype)
