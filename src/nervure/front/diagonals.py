"""Diagonals of matrices: read, summed, and put into matrices of zeros.

>>> import nervure as nv
>>> x = nv.constant([[1, 2], [3, 4]], axes="H=2, W=2")
>>> nv.diagonal(x).tolist(), nv.trace(x).item(), nv.diag([1, 2]).tolist()
([1.0, 4.0], 5.0, [[1.0, 0.0], [0.0, 2.0]])
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import ShapeMismatch
from nervure.front.argument_parsing import integer, position_of
from nervure.front.creation import as_tensor
from nervure.front.reductions import sum as total
from nervure.front.tensor import Tensor, TensorLike
from nervure.front.views import flatten
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike
from nervure.types.dtype import DTypeLike, as_dtype, bool_, float32

__all__ = ["diag", "diagflat", "diagonal", "trace", "tri"]


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


def tri(rows: int, columns: int | None = None, offset: int = 0, dtype: DTypeLike = float32) -> Tensor:
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
