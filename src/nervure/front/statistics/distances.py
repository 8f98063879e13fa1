"""Distances of vectors in pairs: of all rows of one matrix, or of the rows of two.

>>> import nervure as nv
>>> points = nv.constant([[0., 0.], [3., 4.], [0., 1.]])
>>> nv.pdist(points, 1.0).tolist(), nv.cdist(points, [[0., 0.]]).tolist()
([7.0, 1.0, 6.0], [[0.0], [5.0], [1.0]])
"""

from __future__ import annotations

import math

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import real
from nervure.front.arranging.filled import arange
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.views import expand_dims
from nervure.front.creation import as_tensor
from nervure.front.op_functions import (
    absolute,
    equal,
    floor,
    floordivide,
    greater,
    multiply,
    not_equal,
    sqrt,
    square,
    subtract,
)
from nervure.front.pointwise.elementwise import as_floats, convert, power, where
from nervure.front.statistics.reductions import max as largest
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import float64, int64

__all__ = ["cdist", "pdist"]


def pdist(x: TensorLike, p: float = 2.0) -> Tensor:
    """Returns the distances, by the ``p``-norm, of all pairs of different rows of x, (n, features): n * (n - 1) / 2.

    The pairs are in the order (0, 1), (0, 2), ..., (1, 2), ..., as PyTorch and SciPy have them; p is from 0 to
    infinity. The derivative at a distance of 0 is 0.

    >>> nv.pdist([[0.0], [1.0], [3.0]], p=1.0).tolist()
    [1.0, 3.0, 2.0]
    """
    own, exponent = as_floats(x, "pdist"), _exponent(p, "pdist")
    if own.is_named or own.ndim != 2:
        raise ShapeMismatch("pairs are of the rows of a matrix without names", op="pdist", operand="x",
                            got=str(own.axes), expected="(n, features)", help="nv.cdist takes batches, and all pairs")
    n = own.type.shape[0]
    # Row i begins at i * (count - i) / 2. The root of that is put right by one where it is rounded.
    number, count = arange(n * (n - 1) // 2, dtype=int64), as_tensor(2 * n - 1, dtype=int64)
    root = sqrt(convert(subtract(multiply(count, count), multiply(number, 8)), float64))
    first = convert(floor(multiply(subtract(convert(count, float64), root), 0.5)), int64)
    first = where(greater(_begin(first, count), number), first - 1, first)
    first = where(greater(_begin(first + 1, count), number), first, first + 1)
    second = number - _begin(first, count) + first + 1
    return _norm(subtract(gather(own, first, 0), gather(own, second, 0)), exponent)


def _begin(row: Tensor, count: Tensor) -> Tensor:
    """Returns the number of the first pair of a row."""
    return floordivide(multiply(row, subtract(count, row)), 2)


def cdist(x: TensorLike, y: TensorLike, p: float = 2.0) -> Tensor:
    """Returns the distances, by the ``p``-norm, of each row of x, (..., n, features), to each of y, (..., m, features).

    The result is (..., n, m); p and the derivatives are as for ``nv.pdist``.

    >>> nv.cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]], p=1.0).tolist()
    [[7.0, 1.0]]
    """
    own, other, exponent = as_floats(x, "cdist"), as_floats(y, "cdist", 2), _exponent(p, "cdist")
    if own.is_named or other.is_named or own.ndim < 2 or other.ndim < 2 or equal_lengths(
            own.type.shape[-1], other.type.shape[-1]) is False:
        raise ShapeMismatch("distances are of rows with one number of features, without names", op="cdist",
                            got=f"{own.axes} and {other.axes}", expected="(..., n, features) and (..., m, features)",
                            help="nv.nn.losses.pairwise_distance compares named vectors, each with one other")
    return _norm(subtract(expand_dims(own, own.ndim - 1), expand_dims(other, other.ndim - 2)), exponent)


def _norm(x: Tensor, p: float) -> Tensor:
    """Returns norms along the last axis, whose derivative is 0 where they are 0."""
    wide = absolute(convert(x, x.dtype.compute))
    if p == math.inf:
        found = largest(wide, axis=-1)
    elif p == 0:
        found = total(convert(not_equal(wide, 0.0), wide.dtype), axis=-1)
    elif p == 1:
        found = total(wide, axis=-1)
    else:
        sums = total(square(wide) if p == 2 else _power(wide, p), axis=-1)
        found = sqrt(_over_zero(sums)) if p == 2 else _power(sums, 1 / p)
        found = where(equal(sums, 0.0), 0.0, found)
    return convert(found, x.dtype)


def _power(x: Tensor, exponent: float) -> Tensor:
    return where(equal(x, 0.0), 0.0, power(_over_zero(x), exponent))


def _over_zero(x: Tensor) -> Tensor:
    return where(equal(x, 0.0), 1.0, x)


def _exponent(p: float, op: str) -> float:
    found = real(p, op, "p")
    if not found >= 0:
        raise InvalidArgument("the exponent of a norm is not negative", op=op, operand="p", got=p,
                              expected="0 or more, or infinity", help="2.0 is the usual distance")
    return found


explain_keywords(globals(), __all__)
