"""Diagonals of matrices: read, summed, and put into matrices of zeros.

>>> import nervure as nv
>>> x = nv.constant([[1, 2], [3, 4]], axes="H=2, W=2")
>>> nv.diagonal(x).tolist(), nv.trace(x).item(), nv.diag([1, 2]).tolist()
([1.0, 4.0], 5.0, [[1.0, 0.0], [0.0, 2.0]])
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import ShapeMismatch
from nervure.front.argument_parsing import integer, position_of, truth
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.views import flatten
from nervure.front.creation import as_tensor, received
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import floordivide, logical_and, mod
from nervure.front.pointwise.elementwise import where
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Tensor, TensorLike
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DTypeLike, as_dtype, bool_, float32, int64

__all__ = ["diag", "diagflat", "diagonal", "fill_diagonal", "trace", "tri"]


def diagonal(x: TensorLike, offset: int = 0, axis1: AxisLike = 0, axis2: AxisLike = 1) -> Tensor:
    """Returns the diagonal of the matrices in two axes of x, as one last axis: ``offset`` > 0 is above the main one.

    With names, that axis has the class of ``axis1``.

    >>> nv.diagonal([[1, 2, 3], [4, 5, 6]]).tolist(), nv.diagonal([[1, 2, 3], [4, 5, 6]], 1).tolist()
    ([1.0, 5.0], [2.0, 6.0])
    """
    own = as_tensor(x, "diagonal")
    _check_matrix(own, "diagonal")
    first, second = position_of(own, axis1, "diagonal"), position_of(own, axis2, "diagonal")
    value = ops.Diagonal(own.value, integer(offset, "diagonal", "offset"), first, second)
    if not own.is_named:
        return Tensor(value)
    kept = [axis for at, axis in enumerate(own.axes) if at not in (first, second)]
    return Tensor(value, Axes([*kept, own.axes[first].resized(value.shape[-1])]))


def trace(x: TensorLike, offset: int = 0, axis1: AxisLike = 0, axis2: AxisLike = 1) -> Tensor:
    """Returns the sum of each diagonal of x: ``offset``, ``axis1`` and ``axis2`` are those of ``nv.diagonal``.

    >>> nv.trace([[1, 2], [3, 4]]).item()
    5.0
    """
    found = diagonal(x, offset, axis1, axis2)
    return total(found, axis=[found.ndim - 1])


def diag(x: TensorLike, offset: int = 0) -> Tensor:
    """Makes a matrix with the elements of a vector on a diagonal, or gives that diagonal of a matrix.

    ``offset`` > 0 is a diagonal above the main one. A matrix that is made has no names.

    >>> nv.diag([1, 2]).tolist(), nv.diag([1], -1).tolist(), nv.diag([[1, 2], [3, 4]]).tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, 0.0]], [1.0, 4.0])
    """
    own = as_tensor(x, "diag")
    if own.ndim == 2:
        return diagonal(own, offset)
    if own.ndim != 1:
        raise ShapeMismatch("diag takes a vector or a matrix", op="diag", operand=1, got=str(own.type),
                            expected="one or two axes", help="nv.diagonal(x, axis1=, axis2=) reads many matrices")
    by = integer(offset, "diag", "offset")
    length = own.type.shape[0]
    rows = ops.Pad(own.value, ((max(by, 0), max(-by, 0)),)).output
    side = length + abs(by)
    shape = side, side
    return Tensor(ops.Where(ops.Eye(shape, by, bool_), ops.Broadcast(rows, shape, (0,)), ops.Full(0, own.dtype, shape)))


def diagflat(x: TensorLike, offset: int = 0) -> Tensor:
    """Makes a matrix with all elements of x on a diagonal.

    >>> nv.diagflat([[1], [2]]).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return diag(flatten(as_tensor(x, "diagflat")), offset)


@in_order
def fill_diagonal(x: TensorLike, number: TensorLike, wrap: bool = False) -> Tensor:
    """Returns x with ``number`` on its diagonal; a tensor of numbers is repeated along it. More than two axes have one
    length.

    With ``wrap`` the diagonal of a matrix with more rows than columns begins again below it.

    >>> nv.fill_diagonal([[1, 2], [3, 4]], 9).tolist(), nv.fill_diagonal(nv.zeros((2, 3)), [5, 6]).tolist()
    ([[9.0, 2.0], [3.0, 9.0]], [[5.0, 0.0, 0.0], [0.0, 6.0, 0.0]])
    """
    own = as_tensor(x, "fill_diagonal")
    _check_matrix(own, "fill_diagonal")
    shape, goes_on = own.type.shape, truth(wrap, "fill_diagonal", "wrap")
    if own.ndim > 2 and not all([equal(length, shape[0]) is True for length in shape]):
        raise ShapeMismatch("this diagonal lies in axes of one length", op="fill_diagonal", operand=1,
                            got=str(own.type), expected="two axes, or axes of one length",
                            help="nv.where(nv.eye(rows, columns) > 0, number, x) goes over many matrices")
    places = [Tensor(ops.Iota(shape, at, int64)) for at in range(own.ndim)]
    first, second = places[:2]
    if goes_on and own.ndim == 2:
        is_on, ordinal = mod(first - second, shape[1] + 1) == 0, floordivide(first, shape[1] + 1) * shape[1] + second
    else:
        is_on, ordinal = first == second, first
    for other in places[2:]:
        is_on = logical_and(is_on, first == other)
    given = Tensor(converted(received(number, own.dtype, "fill_diagonal", 2).value, own.dtype))
    if given.ndim:
        given = gather(flatten(given), mod(ordinal, given.type.size), 0)
    return Tensor(where(is_on, given, Tensor(own.value)).value, own._axes)


def tri(rows: DimLike, columns: DimLike | None = None, offset: int = 0, dtype: DTypeLike = float32) -> Tensor:
    """Makes a matrix with ones at and below a diagonal: ``offset`` > 0 is above the main one. ``columns`` defaults to
    ``rows``.

    >>> nv.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    shape = rows, rows if columns is None else columns
    return Tensor(ops.Tril(ops.Full(1, as_dtype(dtype), shape), integer(offset, "tri", "offset")))


def _check_matrix(x: Tensor, name: str) -> None:
    if x.ndim < 2:
        raise ShapeMismatch("a diagonal lies in two axes", op=name, operand=1, got=str(x.type),
                            expected="two axes or more", help="nv.diag(x) makes a matrix of a vector")


explain_keywords(globals(), __all__)
