"""Elements in order: sorted along an axis, the first of them, and the positions that they had.

Sorts are stable: equal elements keep their order. -0.0 equals 0.0. NaN is larger than all numbers, so it comes last, or
first where the order is descending. Complex numbers go by their real and then their imaginary parts; behind them come
those with NaN in the imaginary part, in the real part and in both.

>>> import nervure as nv
>>> x = nv.constant([[3., 1., 2.], [1., 3., 2.]], axes="N=2, C=3")
>>> nv.sort(x, "C").tolist(), nv.argsort(x, "C", descending=True).tolist()
([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[0, 2, 1], [1, 2, 0]])
>>> values, positions = nv.top_k(x, 2, axis="C")
>>> values.tolist(), positions.tolist(), str(values.axes)
([[3.0, 2.0], [3.0, 2.0]], [[0, 2], [1, 2]], '(N: 2, C: 2)')
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.errors import InvalidArgument, NotSupported
from nervure.front.argument_parsing import integer, members, position_of, truth
from nervure.front.arranging.joining import stack
from nervure.front.arranging.views import permuted, renamed, row_or_axis
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.op import Value
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike
from nervure.types.dim import dim_max, found_symbols, less_equal
from nervure.types.shape import inverse_permutation

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "top_k"]


def sort(x: TensorLike, axis: AxisLike | None = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Returns the elements of x in ascending order along an ``axis``, or in ``descending`` order.

    Without an axis (None), all elements are sorted as one row. Equal elements keep their order, ``stable`` or not.

    >>> nv.sort([3, 1, 2]).tolist(), nv.sort([[3, 1], [1, 2]], axis=0).tolist()
    ([1.0, 2.0, 3.0], [[1.0, 1.0], [3.0, 2.0]])
    """
    return _Sorted(x, axis, descending, stable, "sort").values


def argsort(x: TensorLike, axis: AxisLike | None = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Returns the positions of the elements of x in ascending order along an ``axis``, or in ``descending`` order.

    They are int64. Without an axis (None), they are positions in the row of all elements. Equal elements keep their
    order, ``stable`` or not.

    >>> nv.argsort([3, 1, 2]).tolist(), nv.argsort([3, 1, 3], descending=True).tolist()
    ([1, 2, 0], [0, 2, 1])
    """
    return _Sorted(x, axis, descending, stable, "argsort").positions


def top_k(x: TensorLike, k: int, axis: AxisLike = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """Returns the ``k`` largest elements of x along an ``axis``, in descending order, and their positions.

    With ``largest=False`` it is the smallest, in ascending order. The other elements are not sorted. Of equal elements
    the first is taken; NaN is larger than all numbers. Raises ShapeMismatch where the axis is shorter.

    >>> values, positions = nv.top_k([1, 5, 3, 5], 2)
    >>> values.tolist(), positions.tolist(), nv.top_k([1, 5, 3], 1, largest=False)[0].tolist()
    ([5.0, 5.0], [1, 3], [1.0])
    """
    own, wanted = as_tensor(x, "top_k"), integer(k, "top_k", "k")
    at, is_largest = position_of(own, axis, "top_k"), truth(largest, "top_k", "largest")
    if own.dtype.is_complex:
        raise NotSupported("complex numbers have no largest element", op="top_k", operand=1, got=str(own.type),
                           expected="real numbers", help="nv.sort orders them by real and imaginary parts")
    moved, order = _with_last(own, at)
    values, positions = ops.TopK(moved.value, k=wanted, descending=is_largest).outputs
    axes = None
    if own.is_named:
        axes = own.axes.resized(at, wanted)
    return _put_back(values, order, axes), _put_back(positions, order, axes)


def partition(x: TensorLike, kth: int | Sequence[int], axis: AxisLike | None = -1) -> Tensor:
    """Returns the elements of x with the one at ``kth``, or each of several, where sorting along ``axis`` puts it.

    Smaller elements stand before it and larger ones behind it. They happen to be sorted, too.

    >>> nv.partition([3, 1, 2], 1).tolist()
    [1.0, 2.0, 3.0]
    """
    return _partitioned(x, kth, axis, "partition").values


def argpartition(x: TensorLike, kth: int | Sequence[int], axis: AxisLike | None = -1) -> Tensor:
    """Returns the positions that the elements of ``nv.partition(x, kth, axis)`` have in x.

    >>> nv.argpartition([3, 1, 2], 1).tolist()
    [1, 2, 0]
    """
    return _partitioned(x, kth, axis, "argpartition").positions


def lexsort(keys: TensorLike | Sequence[TensorLike], axis: AxisLike = -1) -> Tensor:
    """Returns the positions that sort by the last of the ``keys`` along an ``axis``, equal ones by the one before it.

    The keys are a list of tensors, or the first axis of one.

    >>> nv.lexsort([[1, 0, 2], [5, 5, 3]]).tolist()
    [2, 1, 0]
    """
    listed = [keys[number] for number in range(len(keys))] if isinstance(keys, Tensor) else members(
        keys, "lexsort", "keys")
    if not listed:
        raise InvalidArgument("there is nothing to sort by", op="lexsort", operand="keys", got="no keys",
                              expected="one tensor or more", help="nv.argsort(x) sorts by one")
    if len(listed) == 1:
        return argsort(as_tensor(listed[0], "lexsort"), axis)
    parts = stack([as_tensor(key, "lexsort") for key in listed])
    first = as_tensor(listed[0], "lexsort")
    at = position_of(first, axis, "lexsort")
    rows = [_with_last(parts[number], at) for number in range(len(listed))]
    order = rows[0][1]
    positions = _by_all([moved.value for moved, _ in rows], False)
    return _put_back(positions, order, first.axes if first.is_named else None)


class _Sorted:
    """A tensor that is sorted along an axis: its ``values``, and the ``positions`` that they had."""

    def __init__(self, x: TensorLike, axis: AxisLike | None, descending: bool, stable: bool, name: str) -> None:
        own, at = row_or_axis(x, axis, name)
        is_descending = truth(descending, name, "descending")
        truth(stable, name, "stable")
        self._axes = own.axes if own.is_named else None
        moved, self._order = _with_last(own, at)
        if own.dtype.is_complex:
            self._positions = _by_all(_complex_keys(moved.value), is_descending)
            self._values = ops.GatherElements(moved.value, self._positions, axis=own.ndim - 1).output
        else:
            self._values, self._positions = ops.Sort(moved.value, descending=is_descending).outputs

    @property
    def values(self) -> Tensor:
        """The elements in order."""
        return _put_back(self._values, self._order, self._axes)

    @property
    def positions(self) -> Tensor:
        """The position that each of them had."""
        return _put_back(self._positions, self._order, self._axes)


def _partitioned(x: TensorLike, kth: int | Sequence[int], axis: AxisLike | None, name: str) -> _Sorted:
    own, at = row_or_axis(x, axis, name)
    length, least = own.shape[at], 0
    for each in [kth] if isinstance(kth, int) else members(kth, name, "kth"):
        place = integer(each, name, "kth")
        least = max(least, -place, place + 1)
        if less_equal(least, length) is False:
            raise InvalidArgument("there is no such place along the axis", op=name, operand="kth", got=place,
                                  expected=f"{-length} to {length - 1}", help="places count from 0")
    return _Sorted(_no_shorter(own, at, least, name), at, False, True, name)


def _no_shorter(x: Tensor, at: int, least: int, name: str) -> Tensor:
    """Returns x itself, of whose axis each call checks that it has ``least`` elements, unless a mask finds them."""
    shape = list(x.type.shape)
    if less_equal(least, shape[at]) is True or found_symbols(shape[at]):
        return x
    shape[at] = dim_max(shape[at], least)
    grown = ops.AssumeShape(x.value, shape, name)
    return Tensor(ops.AssumeShape(grown, x.type.shape, name).output, x._axes)


def _with_last(x: Tensor, at: int) -> tuple[Tensor, list[int]]:
    """Returns x with an axis last, and the order in which its axes are then."""
    order = [*[d for d in range(x.ndim) if d != at], at]
    return permuted(x, order), order


def _put_back(value: Value, order: Sequence[int], axes: Axes | None) -> Tensor:
    """Returns a value whose axes have an ``order`` as a tensor of these ``axes``."""
    return renamed(permuted(Tensor(value), inverse_permutation(order)), axes)


def _by_all(keys: Sequence[Value], descending: bool) -> Value:
    """Returns the positions that sort rows by the last of the ``keys``, equal ones by the one before it."""
    positions = ops.Sort(keys[0], descending=descending).outputs[1]
    for key in keys[1:]:
        along = key.rank - 1
        moved = ops.Sort(ops.GatherElements(key, positions, axis=along), descending=descending).outputs[1]
        positions = ops.GatherElements(positions, moved, axis=along).output
    return positions


def _complex_keys(x: Value) -> list[Value]:
    """Returns what complex numbers are sorted by: imaginary parts, real parts, and where they have NaN."""
    parts = ops.Imaginary(x).output, ops.Real(x).output
    is_nan = [ops.IsNan(part).output for part in parts]
    numbers = [ops.Where(bad, part.full(0), part).output for bad, part in zip(is_nan, parts, strict=True)]
    return [*numbers, *is_nan]


explain_keywords(globals(), __all__)
