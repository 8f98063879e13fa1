"""Sets of numbers, as the elements of tensors: what is in either, in both, or in one alone, in ascending order.

Lengths are found when the graph runs, unless all elements are constants (``nervure.front.arranging.found``).

>>> import nervure as nv
>>> nv.union1d([3, 1], [2, 1]).tolist(), nv.intersect1d([3, 1], [2, 1]).tolist(), nv.setdiff1d([3, 1], [1]).tolist()
([1.0, 2.0, 3.0], [1.0], [3.0])
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.front.apply import operand_tensors
from nervure.front.arranging.found import unique
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import flatten
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import is_nan, logical_and
from nervure.front.pointwise.elementwise import logical_not
from nervure.front.promotion import promote
from nervure.front.statistics.ranks import searchsorted
from nervure.front.statistics.sorts import sort
from nervure.front.tensor import Tensor, TensorLike
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords

__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d", "unique_all", "unique_counts", "unique_inverse",
           "unique_values"]


# -- two sets ----------------------------------------------------------------------------------------------------


def union1d(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the different elements of x and ``y`` together, in ascending order.

    >>> nv.union1d([3, 1, 1], [2, 3]).tolist()
    [1.0, 2.0, 3.0]
    """
    return unique(concatenate(_rows(x, y, "union1d"), 0))


def intersect1d(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the different elements of x that are elements of ``y`` too, in ascending order.

    >>> nv.intersect1d([3, 1, 1, 2], [5, 3, 1]).tolist()
    [1.0, 3.0]
    """
    own, other = _rows(x, y, "intersect1d")
    values = unique(own)
    return values[_is_among(values, other)]


def setdiff1d(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the different elements of x that are no elements of ``y``, in ascending order.

    >>> nv.setdiff1d([3, 1, 1, 2], [5, 3]).tolist()
    [1.0, 2.0]
    """
    own, other = _rows(x, y, "setdiff1d")
    values = unique(own)
    return values[logical_not(_is_among(values, other))]


@in_order
def setxor1d(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the different elements of x or ``y`` that are not elements of both, in ascending order.

    >>> nv.setxor1d([3, 1, 1, 2], [5, 3]).tolist()
    [1.0, 2.0, 5.0]
    """
    own, other = _rows(x, y, "setxor1d")
    return sort(concatenate([setdiff1d(own, other), setdiff1d(other, own)], 0))


def _rows(x: TensorLike, y: TensorLike, name: str) -> list[Tensor]:
    """Returns the elements of both as vectors of one type."""
    pair = operand_tensors((x, y), name)
    dtype = promote([entry.dtype for entry in pair], op=name)
    return [Tensor(converted(flatten(entry).value, dtype)) for entry in pair]


def _is_among(values: Tensor, row: Tensor) -> Tensor:
    """Returns which values are elements of a vector: NaN is equal to none."""
    ordered = sort(row)
    found = searchsorted(ordered, values, "left") < searchsorted(ordered, values, "right")
    return logical_and(found, logical_not(is_nan(values))) if values.dtype.is_float else found


# -- one set -----------------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """The results of ``nv.unique_all``."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The results of ``nv.unique_counts``."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The results of ``nv.unique_inverse``."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: TensorLike) -> UniqueAll:
    """Returns the different elements of x, where each stands first, which one each element is, and how often it occurs.

    The tuple has the names ``values``, ``indices``, ``inverse_indices`` and ``counts``. Each NaN is one of its own.

    >>> found = nv.unique_all([3, 1, 3])
    >>> found.values.tolist(), found.indices.tolist(), found.inverse_indices.tolist(), found.counts.tolist()
    ([1.0, 3.0], [1, 0], [1, 0, 1], [1, 2])
    """
    return UniqueAll(*unique(x, True, True, True, False))


def unique_counts(x: TensorLike) -> UniqueCounts:
    """Returns the different elements of x as ``values``, and how often each occurs as ``counts``.

    Each NaN is one of its own.

    >>> nv.unique_counts([3, 1, 3]).counts.tolist()
    [1, 2]
    """
    return UniqueCounts(*unique(x, False, False, True, False))


def unique_inverse(x: TensorLike) -> UniqueInverse:
    """Returns the different elements of x as ``values``, and which one each element is as ``inverse_indices``.

    Each NaN is one of its own.

    >>> nv.unique_inverse([3, 1, 3]).inverse_indices.tolist()
    [1, 0, 1]
    """
    return UniqueInverse(*unique(x, False, True, False, False))


def unique_values(x: TensorLike) -> Tensor:
    """Returns the different elements of x in ascending order; each NaN is one of its own.

    >>> nv.unique_values([3, 1, 3]).tolist()
    [1.0, 3.0]
    """
    return unique(x, equal_nan=False)


explain_keywords(globals(), __all__)
