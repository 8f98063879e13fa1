"""Quantised numbers: floats as small integers, a scale and a zero point, for a tensor, each channel, or each block.

>>> import nervure as nv
>>> q = nv.quantise_linear([-1.0, 0.0, 0.26, 9.0], 0.1)
>>> q.tolist(), nv.dequantise_linear(q, 0.1).numpy().round(2).tolist()
([-10, 0, 3, 90], [-1.0, 0.0, 0.30000001192092896, 9.0])

A product of quantised numbers is one of bytes, in int32, which is exact; the scales are multiplied behind it:

>>> a, b = nv.quantise_linear([[0.5, 1.0]], 0.5), nv.quantise_linear([[2.0], [3.0]], 0.25)
>>> (nv.matmul(a, b, dtype=nv.int32) * (0.5 * 0.25)).tolist()
[[4.0]]
"""

from __future__ import annotations

import numpy as np

from nervure import ops
from nervure.errors import AxisMismatch, DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.front.alignment import reordered
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import integer, position_of
from nervure.front.arranging.found import repeat
from nervure.front.arranging.indexing import slice_along_axis
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import add, divide, multiply, subtract
from nervure.front.pointwise.elementary import rint
from nervure.front.pointwise.elementwise import as_floats, clip, convert
from nervure.front.promotion import weak_type
from nervure.front.tensor import Tensor, TensorLike
from nervure.front.traced_numbers import TracedNumber
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.axis import same_role
from nervure.types.dim import Dim
from nervure.types.dtype import DType, DTypeLike, as_dtype, float32, float64, int8, int64

__all__ = ["dequantise_linear", "quantise_linear"]


def quantise_linear(x: TensorLike, scale: TensorLike, zero_point: TensorLike | None = None,
                    dtype: DTypeLike | None = None, axis: AxisLike | None = None, block: int | None = None) -> Tensor:
    """Returns round(x / ``scale``) + ``zero_point`` as small integers of ``dtype``, saturated (ONNX's QuantizeLinear).

    Ties go to the even integer, and NaN becomes 0. Floats of 16 bits are computed with in float32, and zero points
    are added to integers of 32 bits or more in float64. ``dtype`` is that of the zero point, which is an integer, or
    int8; a float of 8 or 4 bits takes x / ``scale`` without a zero point, rounded to its nearest number, at most its
    largest. Scale and zero point are numbers, or have one axis, ``axis``, with an entry for each of x's slices along
    it; or x's axes, with an entry for each ``block`` slices along ``axis``. Named axes of a scale find those of x by
    themselves.

    >>> nv.quantise_linear([[1.0, 2.0], [30.0, 40.0]], [0.1, 1.0], axis=0).tolist()
    [[10, 20], [30, 40]]
    >>> nv.quantise_linear([300.0, -5.0], 1.0, np.uint8(10)).tolist()
    [255, 5]
    """
    own = as_floats(_real(as_tensor(x, "quantise_linear"), "quantise_linear", "x"), "quantise_linear")
    point = _zero_point(zero_point, "quantise_linear")
    chosen = _target(dtype, zero_point, point)
    factor = _real(operand_tensors((own, scale), "quantise_linear")[1], "quantise_linear", "scale")
    own = convert(own, own.dtype.compute)
    scaled = divide(own, convert(_spread(own, factor, axis, block, "quantise_linear", "scale"), own.dtype))
    if chosen.is_float:
        return convert(clip(scaled, *chosen.limits), chosen)
    whole = rint(scaled)
    if point is not None:
        exact = _exact(own.dtype, chosen, point.dtype)
        spread = _spread(own, point, axis, block, "quantise_linear", "zero_point")
        whole = add(convert(whole, exact), convert(spread, exact))
    return convert(whole, chosen)


@in_order
def dequantise_linear(x: TensorLike, scale: TensorLike, zero_point: TensorLike | None = None,
                      axis: AxisLike | None = None, block: int | None = None,
                      dtype: DTypeLike | None = None) -> Tensor:
    """Returns (x - ``zero_point``) * ``scale`` as floats of ``dtype``, absent that of the scale (DequantizeLinear).

    Floats of 16 bits are rounded once, at the end, as is what a zero point leaves of integers of 32 bits or more.
    ``axis`` and ``block`` say which entries of scale and zero point belong to x's elements, as in
    ``nv.quantise_linear``.

    >>> nv.dequantise_linear(np.int8([[10, 20], [30, 40]]), [0.5, 1.0], axis=1).tolist()
    [[5.0, 20.0], [15.0, 40.0]]
    >>> nv.dequantise_linear(np.uint8([0, 10, 20, 30]), [1.0, 0.5], np.uint8([10, 10]), axis=0, block=2).tolist()
    [-10.0, 0.0, 5.0, 10.0]
    """
    own = _real(as_tensor(x, "dequantise_linear"), "dequantise_linear", "x")
    factor = as_floats(_real(as_tensor(scale, "dequantise_linear", 2), "dequantise_linear", "scale"),
                       "dequantise_linear", 2)
    point = _zero_point(zero_point, "dequantise_linear")
    target = factor.dtype if dtype is None else as_dtype(dtype)
    if not target.is_float or target.storage_only:
        raise DtypeMismatch("numbers are dequantised to floats", op="dequantise_linear", operand="dtype",
                            got=target.name, expected="float32, or another float type", help="leave dtype out")
    wide = convert(own, target.compute if point is None else _exact(target.compute, own.dtype, point.dtype))
    if point is not None:
        wide = subtract(wide, convert(_spread(own, point, axis, block, "dequantise_linear", "zero_point"), wide.dtype))
    spread = _spread(own, factor, axis, block, "dequantise_linear", "scale")
    return convert(multiply(wide, convert(spread, wide.dtype)), target)


def _target(dtype: DTypeLike | None, given: object, point: Tensor | None) -> DType:
    """Returns the element type of quantised numbers."""
    has_type = isinstance(given, Tensor) or hasattr(given, "dtype")
    chosen = as_dtype(dtype) if dtype is not None else point.dtype if point is not None and has_type else int8
    if not (chosen.is_integer or chosen.storage_only):
        raise DtypeMismatch("quantised numbers are integers, or floats of 8 bits or less", op="quantise_linear",
                            operand="dtype" if dtype is not None else "zero_point", got=chosen.name,
                            expected="such as int8, uint4 or float8_e4m3fn", help="leave dtype out for int8")
    if chosen.is_float and point is not None:
        raise InvalidArgument("floats have no zero point", op="quantise_linear", operand="zero_point", got="one",
                              expected="none", help="leave it out")
    return chosen


def _real(x: Tensor, op: str, operand: str) -> Tensor:
    """Returns an operand that has no complex elements."""
    if x.dtype.is_complex:
        raise DtypeMismatch("complex numbers are not quantised", op=op, operand=operand, got=x.dtype.name,
                            expected="real numbers", help="nv.real(x) and nv.imag(x) are the parts")
    return x


def _zero_point(given: TensorLike | None, op: str) -> Tensor | None:
    """Returns a zero point as integers. Numbers and lists of Python get the smallest type that holds them."""
    if given is None:
        return None
    if isinstance(given, (Dim, TracedNumber)):
        is_whole = isinstance(given, Dim) or weak_type(given) is int
        point = as_tensor(given, op, "zero_point", int64 if is_whole else None)
    else:
        point = as_tensor(given, op, "zero_point")
        if not (isinstance(given, Tensor) or hasattr(given, "dtype")):
            whole = _whole(np.array(given))
            point = as_tensor(whole, op, "zero_point") if whole.dtype.kind in "iu" else point
    if not point.dtype.is_integer:
        raise DtypeMismatch("a zero point is an integer", op=op, operand="zero_point", got=point.dtype.name,
                            expected="an integer, or integers such as those of int8",
                            help="round it, and convert it to the type of the quantised numbers")
    return point


def _whole(array: np.ndarray) -> np.ndarray:
    """Returns numbers of Python as integers of the smallest type, if all of them are whole."""
    if array.dtype.kind == "f" and bool(((array == np.rint(array)) & (np.abs(array) < 2.0**63)).all()):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or not array.size:
        return array
    return array.astype(np.promote_types(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


def _exact(dtype: DType, *integers: DType) -> DType:
    """Returns the float type that sums of integers and a zero point are computed with, ``dtype`` if it has the digits.
    """
    return float64 if any([entry.is_integer and entry.bits >= 32 for entry in integers]) else dtype


def _by_names(x: Tensor, own: Tensor, axis: AxisLike | None, block: int | None, op: str, operand: str) -> Tensor:
    """Returns a scale or a zero point with names, whose axes are in x's order if it has an entry for each block."""
    places = [next((d for d, axis in enumerate(x.axes) if same_role(axis, part)), None) for part in own.axes]
    if None in places:
        raise AxisMismatch(f"{operand} has an axis that x lacks", op=op, operand=operand, got=str(own.axes),
                           expected=f"axes of {x.axes}", help="nv.map_roles(x, {old: new}) renames axes")
    if block is not None:
        return Tensor(reordered(own.value, sorted(range(own.ndim), key=lambda d: places[d] or 0)))
    if axis is not None and places != [position_of(x, axis, op)]:
        raise AxisMismatch(f"{operand} goes along other axes than axis= says", op=op, operand=operand,
                           got=str(own.axes), expected=str(x.axes[position_of(x, axis, op)]),
                           help="leave axis= out: named axes find those of x by themselves")
    return own


def _spread(x: Tensor, parts: TensorLike, axis: AxisLike | None, block: int | None, op: str, operand: str) -> Tensor:
    """Returns a scale or a zero point with an entry where x has one, or that aligns with x by its names."""
    own = as_tensor(parts, op)
    own = own if not own.dtype.storage_only else convert(own, float32)
    if own.ndim == 0:
        return own
    if own.is_named and x.is_named:
        own = _by_names(x, own, axis, block, op, operand)
        if block is None:
            return own
    if axis is None:
        raise InvalidArgument("entries belong to slices along an axis", op=op, operand="axis", got="no axis",
                              expected=f"the axis of x, {x.type.shape}, that {operand} {own.type.shape} goes along",
                              help="axis=-1; a single number serves all elements")
    at = position_of(x, axis, op)
    length = x.type.shape[at]
    if block is None:
        if own.ndim != 1 or own.type.shape[0] != length:
            raise ShapeMismatch(f"{operand} has an entry for each slice", op=op, operand=operand,
                                got=str(own.type.shape), expected=f"({length},)",
                                help="block= says how many slices share an entry")
        return Tensor(ops.Broadcast(own.value, x.type.shape, tuple(d for d in range(x.ndim) if d != at)), x._axes)
    size = integer(block, op, "block")
    rows = own.type.shape[at] if own.ndim == x.ndim else None
    others = [own.type.shape[d] == x.type.shape[d] for d in range(x.ndim) if d != at] if rows is not None else []
    fits = isinstance(length, int) and isinstance(rows, int) and size > 0 and rows == -(-length // size)
    if not fits or not all(others):
        raise ShapeMismatch(f"{operand} has x's axes, with an entry for each block", op=op, operand=operand,
                            got=f"{own.type.shape}, with block={block}", expected=f"{x.type.shape} with "
                            f"{f'{length} / {block}, rounded up,' if size > 0 else 'the blocks'} along axis {at}",
                            help="the last block may be shorter")
    whole = repeat(Tensor(own.value), size, at)
    return Tensor(slice_along_axis(whole, at, slice(0, length)).value, x._axes)


explain_keywords(globals(), __all__)
