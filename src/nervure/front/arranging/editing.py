"""Slices that are put in, taken out, or trimmed; the rest keep their order.

>>> import nervure as nv
>>> nv.delete([1, 2, 3], 1).tolist(), nv.insert([1, 2, 3], 1, 9).tolist(), nv.trim_zeros([0, 1, 2, 0]).tolist()
([1.0, 3.0], [1.0, 9.0, 2.0, 3.0], [1.0, 2.0])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nervure.errors import IndexOutOfRange, InvalidArgument, ShapeMismatch
from nervure.front.arranging.found import compress
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import broadcast, expand_dims, reverse, row_or_axis
from nervure.front.creation import as_tensor, received
from nervure.front.given_arrays import numpy_array
from nervure.front.op_functions import greater, logical_and, not_equal
from nervure.front.pointwise.elementwise import convert
from nervure.front.statistics.prefixes import cumsum
from nervure.front.tensor import Tensor, TensorLike
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dtype import int64

__all__ = ["delete", "insert", "trim_zeros"]


def delete(x: TensorLike, index: Any, axis: AxisLike | None = None) -> Tensor:
    """Returns x without the slices at ``index`` along an axis: a position, a list of them or of truths, or a slice.

    Without an axis it goes over all elements in row-major order. Positions are numbers, and so is the length.

    >>> nv.delete([[1, 2], [3, 4], [5, 6]], [0, -1], axis=0).tolist()
    [[3.0, 4.0]]
    """
    own, at, length = _along(x, axis, "delete")
    kept = _edited(lambda: np.delete(np.arange(length), _positions(index, "delete")), index, length, "delete")
    return _resized(own, at, gather(Tensor(own.value), kept, at))


def insert(x: TensorLike, index: Any, values: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Returns x with ``values`` before the positions ``index`` along an axis, as NumPy counts them.

    One position takes all values, several take one slice each. Values get the type of x, and broadcast. Without an
    axis it goes over all elements in row-major order. Positions are numbers, and so is the length.

    >>> nv.insert([[1, 2], [3, 4]], 1, 9, axis=1).tolist(), nv.insert([1, 2, 3], [0, 3], [8, 9]).tolist()
    ([[1.0, 9.0, 2.0], [3.0, 9.0, 4.0]], [8.0, 1.0, 2.0, 3.0, 9.0])
    """
    own, at, length = _along(x, axis, "insert")
    places = _edited(lambda: np.arange(length + 1)[_positions(index, "insert", length)], index, length, "insert")
    if places.ndim > 1:
        raise ShapeMismatch("positions stand in a row", op="insert", operand="index", got=places.shape,
                            expected="a position, or a list of them", help="index.ravel() puts them in a row")
    given = Tensor(converted(received(values, own.dtype, "insert", 3).value, own.dtype))
    for _ in range(own.ndim - given.ndim if places.size == 1 else 0):
        given = expand_dims(given, 0)
    if places.ndim == 0 and at:
        given = given.transpose(*[*range(1, at + 1), 0, *range(at + 1, given.ndim)])
    count = given.type.shape[at] if places.size == 1 else places.size
    if not isinstance(count, int):
        raise _symbolic(given, "insert")
    where = np.full(count, places.item()) if places.size == 1 else places
    order = np.insert(np.arange(length), where, length + np.arange(count))
    shape = [count if d == at else extent for d, extent in enumerate(own.type.shape)]
    return _resized(own, at, gather(concatenate([Tensor(own.value), broadcast(given, shape)], at), order, at))


def trim_zeros(x: TensorLike, trim: str = "fb") -> Tensor:
    """Returns the vector x without the zeros at its front ("f" in ``trim``) and at its back ("b").

    The length is found when the graph runs, unless x is a constant.

    >>> nv.trim_zeros([0, 0, 1, 0, 2, 0]).tolist(), nv.trim_zeros([0, 1, 0], "b").tolist()
    ([1.0, 0.0, 2.0], [0.0, 1.0])
    """
    own = as_tensor(x, "trim_zeros")
    if own.ndim != 1:
        raise ShapeMismatch("zeros are trimmed from a vector", op="trim_zeros", operand=1, got=str(own.type),
                            expected="one axis", help="nv.compress(condition, x, axis) takes slices of others")
    ends = trim.lower() if isinstance(trim, str) else ""
    if not ends or set(ends) - {"f", "b"}:
        raise InvalidArgument("the ends are not known", op="trim_zeros", operand="trim", got=f"{trim!r:.40}",
                              expected="'f', 'b' or 'fb'", help="f is the front, b the back")
    counts = convert(not_equal(Tensor(own.value), 0), int64)
    is_kept = greater(cumsum(counts, 0), 0) if "f" in ends else None
    if "b" in ends:
        behind = greater(reverse(cumsum(reverse(counts), 0)), 0)
        is_kept = behind if is_kept is None else logical_and(is_kept, behind)
    assert is_kept is not None
    return compress(is_kept, own, 0)


def _along(x: TensorLike, axis: AxisLike | None, name: str) -> tuple[Tensor, int, int]:
    """Returns a tensor, the position of an axis, and its length, which is a number."""
    own, at = row_or_axis(x, axis, name)
    length = own.type.shape[at]
    if not isinstance(length, int):
        raise _symbolic(own, name)
    return own, at, length


def _symbolic(x: Tensor, name: str) -> ShapeMismatch:
    return ShapeMismatch("the length is a symbol", op=name, operand=1, got=str(x.type),
                         expected="a length that is a number",
                         help="nv.concatenate([x[:n], x[n + 1:]]) leaves out the slice n, of any length")


def _positions(index: Any, name: str, length: int | None = None) -> Any:
    """Returns positions as NumPy takes them; of an insertion before the slices of a ``length``, from the front."""
    if isinstance(index, slice):
        return index if length is None else np.arange(length)[index]
    places = numpy_array(index, name)
    places = places.astype(np.int64) if places.size == 0 else places
    if length is None:
        return places
    if places.dtype == bool:
        return np.flatnonzero(places)
    return np.where(places < 0, np.where(places < -length, length + 1, places + length), places)


def _edited(edit: Any, index: Any, length: int, name: str) -> np.ndarray:
    """Returns the order of slices that NumPy makes."""
    try:
        found: np.ndarray = edit()
    except (IndexError, ValueError, TypeError):
        raise IndexOutOfRange("there is no such position", op=name, operand="index", got=f"{index!r:.60}",
                              expected=f"{-length} to {length}",
                              help="a position, a list of them, a slice, or a truth for each slice") from None
    return found


def _resized(x: Tensor, at: int, found: Tensor) -> Tensor:
    """Returns slices along an axis of x under its names."""
    if not x.is_named:
        return found
    return Tensor(found.value, x.axes.resized(at, found.type.shape[at]))


explain_keywords(globals(), __all__)
