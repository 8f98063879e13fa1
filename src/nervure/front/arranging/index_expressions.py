"""Index expressions: the item of ``x[item]``, read into a view and index arrays that pick from it.

>>> import nervure as nv
>>> view, picks = choose(nv.zeros((4, 3, 5)), (1, slice(None, None, -2), [0, 4]))
>>> view.shape, picks.dimensions, [index.shape for index in picks.indices]
((4, 2, 5), (0, 2), [(), (2,)])

Slices, positions and new axes make a view, which a write can go through. Where there are index arrays, positions
count as arrays too, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from nervure import ops
from nervure.errors import IndexOutOfRange, InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front import alignment
from nervure.front.alignment import reordered
from nervure.front.argument_parsing import as_integer, integer, position_of
from nervure.front.arranging.found import coordinates
from nervure.front.creation import as_tensor
from nervure.front.given_arrays import numpy_array
from nervure.front.promotion import weak_type
from nervure.front.tensor import Tensor
from nervure.front.traced_numbers import TracedNumber
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.ops.statistics import length_everywhere
from nervure.types.axes import Axes
from nervure.types.axis import Axis, make_axis
from nervure.types.dim import Dim, DimLike, equal, less_equal
from nervure.types.dtype import bool_, int64
from nervure.types.foreign import is_array
from nervure.types.shape import inverse_permutation
from nervure.types.view import Range, clip

FULL = slice(None)


class Picks(NamedTuple):
    """Index arrays for some dimensions of a value: they broadcast together, and their shape replaces these dimensions.

    The new dimensions stand where the first indexed one stood if ``adjacent``, else in front: NumPy's rule.
    """

    dimensions: tuple[int, ...]
    indices: tuple[Value, ...]
    adjacent: bool = True

    def gather(self, x: Value) -> Value:
        """Returns the chosen elements of x."""
        if len(self.dimensions) == 1:
            return ops.Gather(x, self.indices[0], self.dimensions[0]).output
        picked = ops.GatherNd(reordered(x, self._in_front(x.rank)), self._positions()).output
        return reordered(picked, self._from_front(picked.rank))

    def scatter(self, x: Value, updates: Value, mode: str) -> Value:
        """Returns x with ``updates``, shaped like the result of ``gather``, written to the chosen elements."""
        if len(self.dimensions) == 1:
            return ops.Scatter(x, self.indices[0], updates, self.dimensions[0], mode).output
        order = self._in_front(x.rank)
        updates = reordered(updates, inverse_permutation(self._from_front(updates.rank)))
        written = ops.ScatterNd(reordered(x, order), self._positions(), updates, mode).output
        return reordered(written, inverse_permutation(order))

    def remaining(self, view: Tensor) -> Axes | None:
        """Returns the axes of the gathered elements. Index arrays pick from a named tensor only by single positions."""
        if not view.is_named:
            return None
        return Axes([axis for at, axis in enumerate(view.axes) if at not in self.dimensions])

    def _in_front(self, rank: int) -> list[int]:
        """The order of dimensions with the indexed ones first."""
        return [*self.dimensions, *[d for d in range(rank) if d not in self.dimensions]]

    def _from_front(self, rank: int) -> list[int]:
        """Returns the order that moves the dimensions of the index arrays from the front to their final place."""
        count = max(index.rank for index in self.indices)
        before = self.dimensions[0] if self.adjacent else 0
        rest = list(range(count, rank))
        return [*rest[:before], *range(count), *rest[before:]]

    def _positions(self) -> Value:
        """The index arrays side by side along a new last dimension."""
        shape = alignment.broadcast_shape([index.shape for index in self.indices], "x[...]")
        parts = [ops.Broadcast(alignment.broadcast_anonymous(index, shape, "x[...]"), (*shape, 1), (len(shape),))
                 for index in self.indices]
        return ops.Concatenate(*parts, axis=len(shape)).output


Entry: TypeAlias = EllipsisType | slice | int | Dim | TracedNumber | Tensor | np.ndarray | None
"""One entry of an item, after reading."""


class Choice(NamedTuple):
    """The meaning of an item: a view of the tensor, and arrays that pick from it."""

    view: Tensor
    picks: Picks


def choose(x: Tensor, item: object) -> Choice:
    """Reads an item."""
    entries = _completed([_read(entry, x) for entry in _listed(x, item)], x)
    has_arrays = any(isinstance(entry, (Tensor, np.ndarray)) for entry in entries)
    reader = _Reader(x, has_arrays)
    for entry in entries:
        reader.take(entry)
    return reader.choice()


class _Reader:
    """Reads the entries of an item, and walks the dimensions of a tensor alongside."""

    def __init__(self, x: Tensor, has_arrays: bool) -> None:
        self._x, self._has_arrays = x, has_arrays
        self._ranges: list[Range] = []
        self._shape: list[DimLike] = []
        self._axes: list[Axis] = []
        self._indices: dict[int, Value] = {}
        self._places: list[int] = []
        self._count = 0

    def take(self, entry: Entry) -> None:
        """Reads one entry of the item, for the next dimensions."""
        self._count += 1
        if entry is None:
            self._keep(1, make_axis(1) if self._x.is_named else None)
        elif entry is Ellipsis:
            pass  # consumes no dimension, but separates index arrays
        elif isinstance(entry, slice):
            self._slice(entry)
        elif isinstance(entry, (Tensor, np.ndarray)):
            pick = self._pick if _consumed(entry) else self._pick_new
            for index in self._index_arrays(entry):
                pick(index)
        elif isinstance(entry, TracedNumber):
            self._pick(entry.tensor(int64).value)
        else:
            self._position(entry)

    def choice(self) -> Choice:
        """Returns the view and the arrays, after all entries have been read."""
        x = self._x
        value = x.value
        if any(entry != (0, length, 1) for entry, length in zip(self._ranges, x.type.shape, strict=True)):
            value = ops.Slice(value, self._ranges).output
        if value.shape != tuple(self._shape):
            value = ops.Reshape(value, tuple(self._shape)).output
        view = Tensor(value, Axes(self._axes) if x.is_named else None)
        adjacent = not self._places or self._places[-1] - self._places[0] == len(set(self._places)) - 1
        return Choice(view, Picks(tuple(self._indices), tuple(self._indices.values()), adjacent))

    def _slice(self, entry: slice) -> None:
        length, axis = self._here()
        if entry == FULL or entry == slice(None, None, 1):
            self._ranges.append((0, length, 1))
            self._keep(length, axis)
            return
        found = clip(_integer_ends(entry), length)
        self._ranges.append(found)
        self._keep(found[1], None if axis is None else axis.resized(found[1]))

    def _position(self, entry: DimLike) -> None:
        """Takes a position: one that is known to be inside is part of the view; others are looked up when the graph
        runs.
        """
        length, axis = self._here()
        place = _inside(entry, length, len(self._ranges), self._x)
        if place is not None and not self._has_arrays:
            self._ranges.append((place, 1, 1))
            return
        self._pick(length_everywhere(entry, int64, ()))

    def _pick(self, index: Value) -> None:
        """Takes a whole dimension of the view, from which an index array picks."""
        length, axis = self._here()
        self._ranges.append((0, length, 1))
        self._indices[len(self._shape)] = index
        self._places.append(self._count)
        self._keep(length, axis)

    def _pick_new(self, index: Value) -> None:
        """Picks from a new dimension of length 1: a mask without dimensions keeps all or nothing."""
        self._indices[len(self._shape)] = index
        self._places.append(self._count)
        self._keep(1, None)

    def _index_arrays(self, entry: Tensor | np.ndarray) -> list[Value]:
        """Returns the index arrays of an entry: a single one, or for a mask one for each of its dimensions."""
        if not _is_mask(entry):
            return [converted(as_tensor(entry, "x[...]").value, int64)]
        mask = as_tensor(entry, "x[...]").value
        here = self._x.type.shape[len(self._ranges):len(self._ranges) + mask.rank]
        if any(equal(own, length) is not True for own, length in zip(here, mask.shape, strict=True)):
            raise ShapeMismatch("the mask has another shape than the dimensions it selects from", op="x[...]",
                                got=mask.shape, expected=tuple(here),
                                help="a mask has the lengths of the dimensions it stands for")
        return coordinates(mask)

    def _here(self) -> tuple[DimLike, Axis | None]:
        """Length and axis of the next dimension."""
        at = len(self._ranges)
        return self._x.type.shape[at], self._x.axes[at] if self._x.is_named else None

    def _keep(self, length: DimLike, axis: Axis | None) -> None:
        self._shape.append(length)
        if axis is not None:
            self._axes.append(axis)


def _listed(x: Tensor, item: object) -> list[object]:
    """The entries of an item in the order of dimensions."""
    if isinstance(item, Mapping):
        entries: list[object] = [FULL] * x.ndim
        taken: set[int] = set()
        for axis, entry in item.items():
            at = position_of(x, axis, "x[...]")
            if at in taken or entry is None or entry is Ellipsis:
                raise InvalidArgument("an axis is given twice" if at in taken
                                      else "an axis needs a position or a slice",
                                      op="x[...]", operand=str(axis), got=repr(entry),
                                      expected="{axis: position or slice}, each axis once",
                                      help="leave out what stays whole")
            taken.add(at)
            entries[at] = entry
        return entries
    return list(item) if isinstance(item, tuple) else [item]


def _read(entry: object, x: Tensor) -> Entry:
    """Reads an entry into one of its forms: None, ``...``, a slice, an int, a Dim, a tensor or an array."""
    if entry is None or entry is Ellipsis or isinstance(entry, (slice, Dim)):
        return entry
    if isinstance(entry, TracedNumber) and weak_type(entry) is int:
        return entry
    if isinstance(entry, (bool, np.bool_)):
        raise WrongKind("a truth value is no index", op="x[...]", got=entry, expected="a mask of the tensor's shape",
                        help="nv.where(condition, x, y) chooses")
    if isinstance(entry, Tensor):
        if not (entry.dtype.is_integer or entry.dtype is bool_):
            raise WrongKind("an index is of integers or bool", op="x[...]", got=str(entry.type),
                            help="convert it: index.astype(nv.int64)", expected="integers or booleans")
    elif isinstance(entry, (np.ndarray, list, range)) or (is_array(entry) and not isinstance(entry, np.generic)):
        entry = _array(entry)
    else:
        position = as_integer(entry)
        if position is not None:
            return position
        raise WrongKind("this is no index", op="x[...]", got=shown(entry),
                        expected="an integer, a slice, None, ..., an array or a mask",
                        help="a float is converted by int(i), a tensor by index.astype(nv.int64)")
    if x.is_named and not isinstance(entry, int):
        raise WrongKind("a named tensor is not indexed by a tensor", op="x[...]",
                        got=f"{type(entry).__name__} {entry.shape}", expected="integers and slices",
                        help="nv.gather(x, index, axis) says which axis is indexed")
    return entry


def is_integer(entry: object) -> bool:
    """Whether an entry is a position: a Python or NumPy integer."""
    return not isinstance(entry, (np.ndarray, Tensor)) and as_integer(entry) is not None


def _array(entry: object) -> int | np.ndarray:
    """Reads an index array; one without dimensions becomes an int."""
    array = entry if isinstance(entry, np.ndarray) else numpy_array(entry, "x[...]")
    if array.size == 0 and not isinstance(entry, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise WrongKind("an index array is of integers or bool", op="x[...]", got=str(array.dtype),
                        expected="integers, or a mask of the tensor's shape", help="convert it: index.astype(int)")
    return int(array) if array.ndim == 0 and array.dtype.kind != "b" else array


def _completed(entries: list[Entry], x: Tensor) -> list[Entry]:
    """Returns the entries with the missing slices, in place of ``...`` or at the end; InvalidArgument if there are too
    many.
    """
    dots = [at for at, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise InvalidArgument("an index has one ellipsis at most", op="x[...]", got=f"{len(dots)}",
                              expected="one", help="write : for each of the other axes")
    used = sum(_consumed(entry) for entry in entries)
    if used > x.ndim:
        raise InvalidArgument("too many indices", op="x[...]", operand="index", got=used,
                              expected=f"at most {x.ndim} for {x.axes}",
                              help="None adds an axis, ... stands for all others")
    at = dots[0] + 1 if dots else len(entries)
    return [*entries[:at], *[FULL] * (x.ndim - used), *entries[at:]]


def _consumed(entry: Entry) -> int:
    """The number of dimensions that an entry indexes."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if _is_mask(entry) else 1


def _is_mask(entry: object) -> TypeGuard[Tensor | np.ndarray]:
    if isinstance(entry, Tensor):
        return entry.dtype is bool_
    return isinstance(entry, np.ndarray) and entry.dtype.kind == "b"


def _inside(entry: DimLike, length: DimLike, dimension: int, x: Tensor) -> DimLike | None:
    """Returns the position counted from 0, or None if it is not known to be inside. IndexOutOfRange if it is known to
    be outside.
    """
    is_negative = less_equal(entry, -1)
    if is_negative is None:
        return None
    place = entry + length if is_negative else entry
    verdicts = [less_equal(0, place), less_equal(place, length - 1)]
    if False in verdicts:
        raise IndexOutOfRange(f"there is no position {entry}", op="x[...]",
                              operand=f"axis {x.axes[dimension].label if x.is_named else dimension}",
                              got=entry,
                              expected=f"{-length} to {length - 1}" if length != 0 else "none: the axis is empty",
                              help="a slice such as x[i:i + 1] is clipped")
    return place if verdicts == [True, True] else None


def _integer_ends(entry: slice) -> slice:
    """Returns a slice with plain integers in place of index objects (NumPy's, tensors with one element)."""
    def read(end: object) -> object:
        is_plain = end is None or isinstance(end, (int, Dim)) or not hasattr(end, "__index__")
        return end if is_plain else integer(end, "x[...]", "an end of a slice")
    return slice(read(entry.start), read(entry.stop), read(entry.step))
