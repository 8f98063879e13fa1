"""Reductions that leave out elements that are NaN. Where nothing is left, sums are 0, products 1, and all others NaN.

>>> import numpy as np
>>> import nervure as nv
>>> x = np.array([1.0, np.nan, 3.0], np.float32)
>>> nv.nansum(x).item(), nv.nanmean(x).item(), nv.nanmax(x).item(), nv.nanargmax(x).item()
(4.0, 2.0, 3.0, 2)
"""

from __future__ import annotations

import math

from nervure.errors import NotSupported
from nervure.front.creation import as_tensor, expression
from nervure.front.op_functions import divide, equal, is_nan, sqrt, square, subtract
from nervure.front.pointwise.elementwise import as_floats, convert, logical_not, where
from nervure.front.statistics import reductions
from nervure.front.tensor import Number, Operand, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike

__all__ = ["nan_to_num", "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
           "nanvar"]


def nansum(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the sum of x along an ``axis``, of elements that are not NaN.

    >>> nv.nansum([[1.0, np.nan], [2.0, 3.0]], axis=1).tolist()
    [1.0, 5.0]
    """
    return reductions.sum(without_nan(as_tensor(x, "nansum"), 0), axis=axis, keepdims=keepdims)


def nanprod(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the product of x along an ``axis``, of elements that are not NaN.

    >>> nv.nanprod([[4.0, np.nan], [2.0, 3.0]], axis=1).tolist()
    [4.0, 6.0]
    """
    return reductions.prod(without_nan(as_tensor(x, "nanprod"), 1), axis=axis, keepdims=keepdims)


def nanmean(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the mean of x along an ``axis``, of elements that are not NaN; NaN where there are none.

    >>> nv.nanmean([[1.0, np.nan], [2.0, 3.0]], axis=1).tolist()
    [1.0, 2.5]
    """
    own = as_floats(x, "nanmean")
    return convert(_mean(convert(own, own.dtype.compute), axis, keepdims), own.dtype)


def nanvar(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Returns the variance of x along an ``axis``, of the n elements that are not NaN; divides by n - ``ddof``.

    >>> nv.nanvar([[1.0, np.nan, 3.0]], axis=1).tolist()
    [1.0]
    """
    own = as_floats(x, "nanvar")
    return convert(_variance(convert(own, own.dtype.compute), axis, keepdims, ddof), own.dtype)


def nanstd(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Returns the square root of ``nv.nanvar``, of x along an ``axis``.

    >>> nv.nanstd([1.0, np.nan, 3.0]).item()
    1.0
    """
    own = as_floats(x, "nanstd")
    return convert(sqrt(_variance(convert(own, own.dtype.compute), axis, keepdims, ddof)), own.dtype)


def nanmax(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the largest element of x along an ``axis`` that is not NaN; NaN where there is none.

    >>> nv.nanmax([[1.0, np.nan], [2.0, 3.0]], axis=1).tolist()
    [1.0, 3.0]
    """
    own = as_tensor(x, "nanmax")
    found = reductions.max(without_nan(own, -math.inf), axis=axis, keepdims=keepdims)
    return _unless_nothing(found, own, axis, keepdims, math.nan)


def nanmin(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the smallest element of x along an ``axis`` that is not NaN; NaN where there is none.

    >>> nv.nanmin([[1.0, np.nan], [2.0, 3.0]], axis=1).tolist()
    [1.0, 2.0]
    """
    own = as_tensor(x, "nanmin")
    found = reductions.min(without_nan(own, math.inf), axis=axis, keepdims=keepdims)
    return _unless_nothing(found, own, axis, keepdims, math.nan)


def nanargmax(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the place of the first largest element of x along an ``axis``; -1 where all are NaN.

    >>> nv.nanargmax([np.nan, 2.0, 3.0]).item()
    2
    """
    own = as_tensor(x, "nanargmax")
    found = reductions.argmax(without_nan(own, -math.inf), axis=axis, keepdims=keepdims)
    return _unless_nothing(found, own, axis, keepdims, -1)


def nanargmin(x: TensorLike, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the place of the first smallest element of x along an ``axis``; -1 where all are NaN.

    >>> nv.nanargmin([np.nan, 2.0, 3.0]).item()
    1
    """
    own = as_tensor(x, "nanargmin")
    found = reductions.argmin(without_nan(own, math.inf), axis=axis, keepdims=keepdims)
    return _unless_nothing(found, own, axis, keepdims, -1)


def nan_to_num(x: Operand, nan: Number = 0.0, posinf: Number | None = None, neginf: Number | None = None) -> Tensor:
    """Puts numbers in the place of NaN and of both infinities: ``posinf`` and ``neginf`` are the largest and the
    smallest finite number by default.

    >>> nv.nan_to_num(np.array([np.nan, -np.inf, 1.0], np.float32), neginf=-9.0).tolist()
    [0.0, -9.0, 1.0]
    """
    own = as_tensor(x, "nan_to_num")
    if own.dtype.is_complex:
        raise NotSupported("numbers take the place of real ones", op="nan_to_num", got=own.dtype.name,
                           expected="real numbers", help="replace those of the real and the imaginary part")
    if not own.dtype.is_float:
        return expression(own)
    smallest, largest = own.dtype.limits
    found = where(equal(own, math.inf), largest if posinf is None else posinf, own)
    found = where(equal(own, -math.inf), smallest if neginf is None else neginf, found)
    return where(is_nan(own), nan, found)


def without_nan(x: Tensor, number: float) -> Tensor:
    """Returns x with a number in place of each NaN; other than floats have none."""
    return where(is_nan(x), number, x) if _may_be_nan(x) else x


def _mean(x: Tensor, axis: AxesLike | None, keepdims: bool) -> Tensor:
    """Returns the mean of the elements that are not NaN, in a type in which arithmetic takes place."""
    return divide(nansum(x, axis, keepdims), _count(x, axis, keepdims))


def _variance(x: Tensor, axis: AxesLike | None, keepdims: bool, ddof: int) -> Tensor:
    """Returns the variance of the elements that are not NaN, in a type in which arithmetic takes place."""
    distances = where(is_nan(x), 0, subtract(x, _mean(x, axis, keepdims=True)))
    left = subtract(_count(x, axis, keepdims), ddof)
    return where(left > 0, divide(reductions.sum(square(distances), axis=axis, keepdims=keepdims), left), math.nan)


def _may_be_nan(x: Tensor) -> bool:
    return x.dtype.is_float or x.dtype.is_complex


def _count(x: Tensor, axis: AxesLike | None, keepdims: bool) -> Tensor:
    """Returns the number of floats that are not NaN, in their type."""
    return convert(reductions.count_nonzero(logical_not(is_nan(x)), axis=axis, keepdims=keepdims), x.dtype)


def _unless_nothing(found: Tensor, x: Tensor, axis: AxesLike | None, keepdims: bool, number: float) -> Tensor:
    """Returns what was found, but a number where all elements are NaN."""
    if not _may_be_nan(x):
        return found
    return where(reductions.all(is_nan(x), axis=axis, keepdims=keepdims), number, found)


explain_keywords(globals(), __all__)
