"""Index maps: the translation f of a view, ``y[i] = x[f(i)]``.

An ``IndexMap`` has the shape of y, over which i runs, and for each dimension of x one coordinate, an expression over
``index(0), index(1), ...``. Maps compose, so a view of a view is a view.

>>> rows_reversed = IndexMap((3, 4), (2 - index(0), index(1)))
>>> transposed = IndexMap((4, 3), (index(1), index(0)))
>>> both = rows_reversed.compose(transposed)  # first index the transposition, then with that the reversed rows
>>> print(both)
(%0, %1) in (4, 3) -> (2 - %1, %0)
>>> both.layout(row_major((3, 4)))
Layout(strides=(1, -4), offset=8, sizes=None)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument
from nervure.types.dim import (
    Dim,
    DimLike,
    affine,
    equal,
    evaluate,
    evaluate_arrays,
    index,
    index_symbols,
    known_lengths,
    less_equal,
    product,
    same_lengths,
    simplify,
    substitute,
    symbols,
)
from nervure.types.frozen import frozen_dataclass
from nervure.types.layout import Layout, row_major
from nervure.types.shape import Shape, at_least

_INDICES = tuple(index(k) for k in range(16))
_ENUMERATED = 1 << 14  # positions of a domain that are visited one by one
_PROBED = 1 << 11  # positions at either end of one dimension that are searched for a collision

Ranges = dict[str, tuple[DimLike | None, DimLike | None]]
Values = int | np.ndarray


def indices(rank: int) -> tuple[Dim, ...]:
    """``index(0)`` to ``index(rank - 1)``."""
    return _INDICES[:rank] if rank <= len(_INDICES) else tuple([index(k) for k in range(rank)])


def index_ranges(shape: Sequence[DimLike]) -> Ranges:
    """Returns the values that the indices of a domain have, as ``simplify`` and ``equal`` take them."""
    return {f"%{k}": (0, length - 1) for k, length in enumerate(shape)}


class AffineForm(NamedTuple):
    """``x == sum(coefficients[k] * index(k)) + offset``."""

    coefficients: tuple[DimLike, ...]
    offset: DimLike


def affine_form(x: DimLike, shape: Sequence[DimLike]) -> AffineForm | None:
    """Returns the affine form of x over a domain, None if it has none or none is found.

    The form is read off if x is written so. Else the differences at the origin are the candidates, which must then be
    proved: ``(%0 // 4) * 4 + %0 % 4`` is ``%0``.
    """
    names = [f"%{k}" for k in range(len(shape))]
    parts = affine(x, names)
    if parts is not None:
        return AffineForm(tuple([parts[0][name] for name in names]), parts[1])
    origin: dict[str, DimLike] = dict.fromkeys(names, 0)
    offset = substitute(x, origin)
    # The guess may take symbols to be large (``1 // N`` is 0, ``1 % N`` is 1): the proof does not.
    large: Ranges = dict.fromkeys(symbols(x), (2, None))
    slopes = tuple([simplify(substitute(x, {**origin, name: 1}) - offset, large) for name in names])
    candidate = _dot(slopes, indices(len(shape)), offset)
    return AffineForm(slopes, offset) if equal(x, candidate, index_ranges(shape)) is True else None


def _dot(left: Iterable[DimLike], right: Iterable[DimLike], start: DimLike) -> DimLike:
    total = start
    for a, b in zip(left, right, strict=True):
        total = total + a * b
    return total


@frozen_dataclass(slots=True)
class IndexMap:
    """A map from each index of a domain of this shape to the coordinates of an element, one for each source dimension.

    Shape and coordinates are ints and Dims, over shape symbols and, the coordinates, ``index(k)`` for k below the rank
    of the domain. Coordinates count from 0 and must be inside; the maker of a map must ensure that.
    """

    shape: Shape
    coordinates: tuple[DimLike, ...]

    def __post_init__(self) -> None:
        known = {f"%{k}" for k in range(len(self.shape))}
        for coordinate in self.coordinates:
            if isinstance(coordinate, Dim) and not index_symbols(coordinate) <= known:
                raise InvalidArgument("a coordinate has an index that its domain lacks", op="IndexMap",
                                      got=coordinate, expected=f"indices of {len(self.shape)} dimensions")

    @classmethod
    def identity(cls, shape: Sequence[DimLike]) -> IndexMap:
        """The map from each index to itself."""
        return cls(tuple(shape), indices(len(shape)))

    @property
    def rank(self) -> int:
        """The number of dimensions of the domain."""
        return len(self.shape)

    @property
    def ranges(self) -> Ranges:
        """The values of each index, by the index symbol's name."""
        return index_ranges(self.shape)

    def __str__(self) -> str:
        left, right = (", ".join(map(str, entries)) for entries in (indices(self.rank), self.coordinates))
        return f"({left}) in {self.shape} -> ({right})"

    def simplified(self) -> IndexMap:
        """Returns the same map with coordinates simplified by the ranges of the indices."""
        ranges = self.ranges
        return IndexMap(self.shape, tuple([simplify(x, ranges) for x in self.coordinates]))

    def compose(self, inner: IndexMap) -> IndexMap:
        """Returns the map ``i -> self(inner(i))`` on the domain of ``inner``, simplified.

        If y is the view of x by ``self`` and z the view of y by ``inner``, it is the map of z as a view of x.
        """
        if len(inner.coordinates) != self.rank:
            raise InvalidArgument("the inner map leads to another rank", op="IndexMap.compose", got=inner,
                                  expected=f"{self.rank} coordinates")
        bindings = {f"%{k}": coordinate for k, coordinate in enumerate(inner.coordinates)}
        return IndexMap(inner.shape, tuple([substitute(x, bindings) for x in self.coordinates])).simplified()

    def raised(self, length: DimLike) -> IndexMap:
        """Returns the map of many tensors at once, numbered by a dimension of this ``length`` in front.

        >>> print(IndexMap((3,), (2 - index(0),)).raised(5))
        (%0, %1) in (5, 3) -> (%0, 2 - %1)
        """
        behind = {f"%{k}": index(k + 1) for k in range(self.rank)}
        coordinates = [substitute(x, behind) for x in self.coordinates]
        return IndexMap((length, *self.shape), (index(0), *coordinates))

    def evaluate(self, at: Sequence[Values], bindings: Mapping[str, int] | None = None) -> tuple[Values, ...]:
        """Returns the coordinates at one index or at many: the entries are ints, or int64 arrays that broadcast
        together.

        ``bindings`` are the values of the shape symbols; InvalidArgument names one that is missing.
        """
        if len(at) != self.rank:
            raise InvalidArgument("the index has another rank than the domain", op="IndexMap.evaluate",
                                  got=f"{len(at)} entries", expected=f"{self.rank} entries")
        values = {**(bindings or {}), **{f"%{k}": entry for k, entry in enumerate(at)}}
        return tuple([evaluate_arrays(x, values) for x in self.coordinates])

    def take(self, array: np.ndarray, bindings: Mapping[str, int] | None = None) -> np.ndarray:
        """Returns the view of an array, as a new array: the meaning of the map, element by element."""
        shape = [evaluate(length, bindings or {}) for length in self.shape]
        if 0 in shape:
            return np.empty(shape, array.dtype)
        found = self.evaluate(np.ogrid[tuple([slice(length) for length in shape])] if shape else (), bindings)
        return np.broadcast_to(array[found], shape).copy()

    def is_identity(self, source: Sequence[DimLike] | None = None) -> bool:
        """Whether every index is known to map to itself; given ``source``, the shape that is read, also whether it
        covers all of it.
        """
        if len(self.coordinates) != self.rank or source is not None and not same_lengths(self.shape, source):
            return False
        expected = indices(self.rank)
        return self.coordinates == expected or all(
            equal(a, b, self.ranges) is True for a, b in zip(self.coordinates, expected, strict=True))

    def permutes(self) -> tuple[int, ...] | None:
        """Returns the permutation p for which coordinate ``p[k]`` is ``index(k)``, None if there is none."""
        places = {coordinate: d for d, coordinate in enumerate(self.coordinates) if isinstance(coordinate, Dim)}
        if len(self.coordinates) != self.rank or set(places) != set(indices(self.rank)):
            return None
        return tuple([places[entry] for entry in indices(self.rank)])

    def affine(self) -> tuple[AffineForm, ...] | None:
        """Returns the affine form of each coordinate, None if one has none."""
        forms = []
        for coordinate in self.coordinates:
            form = affine_form(coordinate, self.shape)
            if form is None:
                return None
            forms.append(form)
        return tuple(forms)

    def layout(self, base: Layout) -> Layout | None:
        """Returns the layout of the view of a tensor with layout ``base``; None if no strides and offset describe it.

        Two coordinates that are not affine may be affine together: a flattened row-major tensor has one stride.
        """
        permutation = self.permutes()
        if permutation is not None:
            return base.permuted(permutation)
        form = affine_form(_dot(base.strides, self.coordinates, base.offset), self.shape)
        return None if form is None else Layout(form.coefficients, form.offset)

    def is_injective(self, source: Sequence[DimLike] | None = None, thorough: bool = True) -> bool | None:
        """Whether no element is visited twice: True (for all values of symbols), False (for none), or None (unknown).

        ``source``, the shape that is read, helps to decide maps with ``//`` and ``%``. If the coordinates decide
        nothing, a ``thorough`` search visits indices, which takes milliseconds.
        """
        if any(less_equal(length, 0) is True for length in self.shape):
            return True
        moving = [k for k, length in enumerate(self.shape) if less_equal(length, 1) is not True]
        forms = self.affine()
        if forms is not None and _are_determined([form.coefficients for form in forms], self.shape, moving):
            return True
        if forms is not None and any(all(form.coefficients[k] == 0 for form in forms) for k in moving):
            repeats = any(at_least(self.shape[k], 2) and all(form.coefficients[k] == 0 for form in forms)
                          for k in moving)
            return False if repeats and all(at_least(length, 1) for length in self.shape) else None
        if source is not None:
            if less_equal(product(self.shape), product(source)) is False:
                return False  # there are more indices than elements
            place = affine_form(row_major(source).place(self.coordinates), self.shape)
            if place is not None and _are_determined([place.coefficients], self.shape, moving):
                return True
        return self._is_injective_by_looking(moving) if thorough else None

    def _is_injective_by_looking(self, moving: Sequence[int]) -> bool | None:
        """Returns the verdict if every length is a number: on all indices if they are few, else on lines through 0."""
        lengths = known_lengths(self.shape)
        if lengths is None or any(symbols(x) != index_symbols(x) for x in self.coordinates):
            return None
        if np.prod(lengths, dtype=float) <= _ENUMERATED:
            return self._are_distinct(np.indices(lengths).reshape(self.rank, -1))
        for k in moving:
            line = np.arange(min(lengths[k], 2 * _PROBED))
            line[_PROBED:] += lengths[k] - len(line)
            points = np.zeros((self.rank, len(line)), np.int64)
            points[k] = line
            if not self._are_distinct(points):
                return False
        return None

    def _are_distinct(self, points: np.ndarray) -> bool:
        count = points.shape[1]
        found = [np.broadcast_to(values, count) for values in self.evaluate(tuple(points))]
        if not found:
            return count <= 1
        return np.unique(np.stack(found), axis=1).shape[1] == count


def _are_determined(rows: Sequence[Sequence[DimLike]], shape: Sequence[DimLike], moving: Sequence[int]) -> bool:
    """Whether the values of affine forms determine all moving indices: row by row, leaving out those already known."""
    unknown = set(moving)
    is_progress = True
    while unknown and is_progress:
        is_progress = False
        for row in rows:
            terms = [(row[k], shape[k]) for k in sorted(unknown) if row[k] != 0]
            if terms and _is_positional(terms):
                unknown -= {k for k in unknown if row[k] != 0}
                is_progress = True
    return not unknown


def _is_positional(terms: Sequence[tuple[DimLike, DimLike]]) -> bool:
    """Whether ``sum(coefficient * index)`` determines its indices, as digits do a number. Each coefficient must exceed
    the largest sum of all smaller terms.
    """
    sizes: list[tuple[DimLike, DimLike]] = []
    for coefficient, length in terms:
        if less_equal(0, coefficient) is True:
            sizes.append((coefficient, length))
        elif less_equal(coefficient, 0) is True:
            sizes.append((-coefficient, length))
        else:
            return False
    if all(isinstance(size, int) for size, _ in sizes):
        return _is_ascending(sorted(sizes, key=operator.itemgetter(0)))
    return _is_ascending(sizes[::-1]) or _is_ascending(sizes)


def _is_ascending(sizes: Iterable[tuple[DimLike, DimLike]]) -> bool:
    span: DimLike = 0
    for size, length in sizes:
        if less_equal(span + 1, size) is not True:
            return False
        span = span + size * (length - 1)
    return True
