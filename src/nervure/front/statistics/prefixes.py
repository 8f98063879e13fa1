"""Sums, products and extremes of all elements up to each place along an axis.

The elements are combined one after the other, in their order (or from the last one on, with ``reverse=True``), so that
the bits are the same for any number of threads. Without an axis (None), all elements are one row.

>>> import nervure as nv
>>> x = nv.constant([[3., 1., 2.], [1., 3., 2.]], axes="N=2, C=3")
>>> nv.cumsum(x, "C").tolist(), nv.cummax(x, "N").tolist()
([[3.0, 4.0, 6.0], [1.0, 4.0, 6.0]], [[3.0, 1.0, 2.0], [3.0, 3.0, 2.0]])
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import NotSupported
from nervure.front.argument_parsing import truth
from nervure.front.arranging.views import row_or_axis
from nervure.front.creation import as_tensor
from nervure.front.loops.associative_scan import associative_scan
from nervure.front.op_functions import multiply
from nervure.front.pointwise.elementary import logaddexp
from nervure.front.pointwise.elementwise import convert
from nervure.front.promotion import accumulating, floating
from nervure.front.statistics.nan_reductions import without_nan
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.ops.cumulative import ADMITTED
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dtype import DType, bool_, float32, int32, uint32, uint64

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod",
           "nancumsum"]


def cumsum(x: TensorLike, axis: AxisLike | None = None, reverse: bool = False, exclusive: bool = False) -> Tensor:
    """Returns the sums of the elements of x up to each place along an ``axis``, that element included.

    ``reverse`` sums from each place to the end; ``exclusive`` leaves out the element itself, so that sums begin at 0.
    Integers have the type that ``nv.sum`` gives.

    >>> nv.cumsum([1, 2, 3]).tolist(), nv.cumsum([1, 2, 3], reverse=True, exclusive=True).tolist()
    ([1.0, 3.0, 6.0], [5.0, 3.0, 0.0])
    """
    return _prefixes(x, axis, "add", "cumsum", reverse, exclusive)


def cumprod(x: TensorLike, axis: AxisLike | None = None, reverse: bool = False, exclusive: bool = False) -> Tensor:
    """Returns the products of the elements of x up to each place along an ``axis``, that element included.

    ``reverse`` multiplies from each place to the end; ``exclusive`` leaves out the element itself, so that products
    begin at 1. Integers have the type that ``nv.prod`` gives.

    >>> nv.cumprod([1, 2, 3]).tolist(), nv.cumprod([2, 3, 4], exclusive=True).tolist()
    ([1.0, 2.0, 6.0], [1.0, 2.0, 6.0])
    """
    return _prefixes(x, axis, "multiply", "cumprod", reverse, exclusive)


def cummax(x: TensorLike, axis: AxisLike | None = None, reverse: bool = False) -> Tensor:
    """Returns the largest of the elements of x up to each place along an ``axis``; NaN from a NaN on.

    The derivative goes to the first of equal elements.

    >>> nv.cummax([1, 3, 2]).tolist(), nv.cummax([1, 3, 2], reverse=True).tolist()
    ([1.0, 3.0, 3.0], [3.0, 3.0, 2.0])
    """
    return _prefixes(x, axis, "maximum", "cummax", reverse, False)


def cummin(x: TensorLike, axis: AxisLike | None = None, reverse: bool = False) -> Tensor:
    """Returns the smallest of the elements of x up to each place along an ``axis``; NaN from a NaN on.

    The derivative goes to the first of equal elements.

    >>> nv.cummin([3, 1, 2]).tolist()
    [3.0, 1.0, 1.0]
    """
    return _prefixes(x, axis, "minimum", "cummin", reverse, False)


def cumlogsumexp(x: TensorLike, axis: AxisLike | None = None, reverse: bool = False) -> Tensor:
    """Returns log(sum(exp(x))) of the elements of x up to each place along an ``axis``, that element included.

    Pairs are joined by ``nv.logaddexp``, so nothing overflows.

    >>> [round(each, 3) for each in nv.cumlogsumexp([0, 0, 1000]).tolist()]
    [0.0, 0.693, 1000.0]
    """
    own, at = row_or_axis(x, axis, "cumlogsumexp")
    return associative_scan(logaddexp, convert(own, floating(own.dtype)), truth(reverse, "cumlogsumexp", "reverse"), at)


def cumulative_sum(x: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Returns the sums of the elements of x up to each place along an ``axis``, as ``nv.cumsum`` does.

    >>> nv.cumulative_sum([1, 2, 3]).tolist()
    [1.0, 3.0, 6.0]
    """
    return cumsum(x, axis)


def cumulative_prod(x: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Returns the products of the elements of x up to each place along an ``axis``, as ``nv.cumprod`` does.

    >>> nv.cumulative_prod([1, 2, 3]).tolist()
    [1.0, 2.0, 6.0]
    """
    return cumprod(x, axis)


def nancumsum(x: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Returns the sums of the elements of x up to each place along an ``axis``, with 0 in the place of NaN.

    >>> nv.nancumsum([1, np.nan, 3]).tolist()
    [1.0, 1.0, 4.0]
    """
    return cumsum(without_nan(as_tensor(x, "nancumsum"), 0), axis)


def nancumprod(x: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Returns the products of the elements of x up to each place along an ``axis``, with 1 in the place of NaN.

    >>> nv.nancumprod([2, np.nan, 3]).tolist()
    [2.0, 2.0, 6.0]
    """
    return cumprod(without_nan(as_tensor(x, "nancumprod"), 1), axis)


def _prefixes(x: TensorLike, axis: AxisLike | None, kind: str, name: str, reverse: bool, exclusive: bool) -> Tensor:
    own, at = row_or_axis(x, axis, name)
    is_reverse, is_exclusive = truth(reverse, name, "reverse"), truth(exclusive, name, "exclusive")
    is_extreme = kind in ("maximum", "minimum")
    if own.dtype.is_complex and is_extreme:
        raise NotSupported("complex numbers have no largest element", op=name, operand=1, got=str(own.type),
                           expected="real numbers", help="take their magnitude: nv.absolute(x)")
    dtype = own.dtype if is_extreme else accumulating(own.dtype)
    if dtype.is_complex:
        value = _complex(own, at, kind, is_reverse)
    elif dtype is uint32 and not is_extreme:  # its bits wrap as those of int32 do
        running = ops.Cumulative(ops.Bitcast(converted(own.value, dtype), int32), axis=at, kind=kind,
                                 reverse=is_reverse)
        value = ops.Bitcast(running, uint32).output
    else:
        running = ops.Cumulative(converted(own.value, _computed(dtype)), axis=at, kind=kind, reverse=is_reverse)
        value = converted(running.output, dtype)
    if is_exclusive:
        pair = (-1, 1) if is_reverse else (1, -1)
        paddings = tuple([pair if d == at else (0, 0) for d in range(own.ndim)])
        value = ops.Pad(value, paddings, 1 if kind == "multiply" else 0).output
    return Tensor(value, own._axes)


def _complex(x: Tensor, at: int, kind: str, is_reverse: bool) -> Value:
    """Returns running values of complex numbers: sums of both parts, or products by pairs."""
    if kind == "multiply":
        return associative_scan(multiply, x, is_reverse, at).value
    return ops.Complex(*[ops.Cumulative(part(x.value), axis=at, kind=kind, reverse=is_reverse)
                         for part in (ops.Real, ops.Imaginary)]).output


def _computed(dtype: DType) -> DType:
    """Returns the type in which running values of a type are computed."""
    if dtype in ADMITTED:
        return dtype
    if dtype.is_float:
        return float32
    return int32 if dtype is bool_ or dtype.bits < 32 else uint64


explain_keywords(globals(), __all__)
