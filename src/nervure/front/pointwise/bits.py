"""Bits: truths packed into bytes, and the products and shifts of integers as rows of bits.

>>> import nervure as nv
>>> packed = nv.packbits([True, False, True])
>>> packed.tolist(), nv.unpackbits(packed, count=3).tolist()
([160], [1, 0, 1])
>>> nv.shift_right_logical(np.int8([-1]), 6).tolist(), nv.mulhi(np.int32([2**30]), 8).tolist()
([3], [2])
"""

from __future__ import annotations

from nervure.errors import DtypeMismatch, ShapeMismatch
from nervure.front.apply import promoted_pair
from nervure.front.argument_parsing import integer, one_of, position_of
from nervure.front.arranging.filled import arange, full
from nervure.front.arranging.rearranging import moveaxis
from nervure.front.arranging.views import flatten, pad, reshape
from nervure.front.creation import as_tensor
from nervure.front.op_functions import bitwise_and, left_shift, less, multiply, not_equal, right_shift
from nervure.front.pointwise.elementwise import bitcast, convert, where
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dtype import DType, as_dtype, int64, uint8, uint64

__all__ = ["mulhi", "packbits", "shift_right_logical", "unpackbits"]


def packbits(x: TensorLike, axis: AxisLike | None = None, bitorder: str = "big") -> Tensor:
    """Packs truths, or integers that are 0 or not, into bytes along an axis, eight each; without one, all elements.

    The first is the highest bit, or the lowest with ``bitorder`` "little"; missing ones are 0. x has no names, and the
    axis has a length that is a number.

    >>> nv.packbits([[1, 0, 1], [0, 1, 1]], axis=1).tolist()
    [[160], [96]]
    """
    own, at = _bits_of(x, axis, "packbits")
    length = own.type.shape[at]
    if not isinstance(length, int):
        raise ShapeMismatch("the number of bits is a symbol", op="packbits", operand=1, got=str(own.type),
                            expected="a length that is a number", help="pad the axis to one")
    last = moveaxis(convert(not_equal(own, 0), uint8), at, -1)
    filled = pad(last, [*[0] * (own.ndim - 1), (0, -length % 8)])
    eights = reshape(filled, (*last.type.shape[:-1], -(-length // 8), 8))
    packed = total(left_shift(eights, _places(bitorder, "packbits")), axis=-1)
    return moveaxis(convert(packed, uint8), -1, at)


def unpackbits(x: TensorLike, axis: AxisLike | None = None, count: int | None = None, bitorder: str = "big") -> Tensor:
    """Returns the bits of bytes along an axis, eight for each, as 0 and 1 in uint8; without one, of all elements.

    ``count`` is how many bits are kept, or where it is negative, how many are left out at the end. ``bitorder`` is that
    of ``nv.packbits``.

    >>> nv.unpackbits(np.uint8([3, 128])).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    """
    own, at = _bits_of(x, axis, "unpackbits")
    if own.dtype is not uint8:
        raise DtypeMismatch("bits are unpacked from bytes", op="unpackbits", operand=1, got=str(own.type),
                            expected="uint8", help="nv.bitcast(x, nv.uint8) reads bytes as such")
    last = moveaxis(own, at, -1)
    spread = right_shift(reshape(last, (*last.type.shape, 1)), _places(bitorder, "unpackbits"))
    length = last.type.shape[-1] * 8
    found = reshape(bitwise_and(spread, 1), (*last.type.shape[:-1], length))
    if count is not None:
        number = integer(count, "unpackbits", "count")
        extra = (number if number < 0 else number - length)
        found = pad(found, [*[0] * (own.ndim - 1), (0, extra)])
    return moveaxis(found, -1, at)


def _places(bitorder: str, name: str) -> Tensor:
    """Returns how far each of eight bits is from the lowest one."""
    one_of(bitorder, ("big", "little"), name, "bitorder", "'big': the first bit is the highest one")
    return arange(8, dtype=uint8) if bitorder == "little" else arange(7, -1, -1, dtype=uint8)


def _bits_of(x: TensorLike, axis: AxisLike | None, name: str) -> tuple[Tensor, int]:
    own = as_tensor(x, name)
    if own.is_named and own.ndim:
        raise ShapeMismatch("bits go by positions", op=name, operand=1, got=str(own.type), expected="no names",
                            help="nv.cast_axes(x, shape) leaves the names out")
    own = flatten(own) if axis is None else own
    return own, 0 if axis is None else position_of(own, axis, name)


# -- integers as bits ------------------------------------------------------------------------------------------------


def shift_right_logical(x: Operand, y: Operand) -> Tensor:
    """Shifts the bits of integers x to the right by ``y`` places, with zeros from the left, for negative numbers too.

    >>> nv.shift_right_logical(np.int8([-128, 64]), 1).tolist()
    [64, 32]
    """
    own, by = _integers(x, y, "shift_right_logical")
    plain = _unsigned(own.dtype)
    return bitcast(right_shift(bitcast(own, plain), bitcast(by, plain)), own.dtype)


def mulhi(x: Operand, y: Operand) -> Tensor:
    """Returns the upper half of the products of integers, which have twice as many bits as x and ``y``.

    >>> nv.mulhi(np.uint8([200]), np.uint8([200])).tolist(), 200 * 200 >> 8
    ([156], 156)
    """
    own, other = _integers(x, y, "mulhi")
    dtype = own.dtype
    if dtype.bits < 64:
        wide = int64 if dtype.is_signed or dtype.bits < 32 else uint64
        return convert(right_shift(multiply(convert(own, wide), convert(other, wide)), dtype.bits), dtype, "wrap")
    a, b = [bitcast(entry, uint64) for entry in (own, other)]
    low = full((), (1 << 32) - 1, uint64)
    a0, b0, a1, b1 = bitwise_and(a, low), bitwise_and(b, low), right_shift(a, 32), right_shift(b, 32)
    middle = a1 * b0 + right_shift(a0 * b0, 32)
    upper = a1 * b1 + right_shift(middle, 32) + right_shift(bitwise_and(middle, low) + a0 * b1, 32)
    if dtype.is_signed:  # a negative number is its bits minus 2**64
        upper = upper - where(less(own, 0), b, 0) - where(less(other, 0), a, 0)
    return bitcast(upper, dtype)


def _integers(x: Operand, y: Operand, name: str) -> tuple[Tensor, Tensor]:
    """Returns two operands as integers of one type."""
    own, other = promoted_pair(x, y, name)
    if not own.dtype.is_integer:
        raise DtypeMismatch("bits are those of integers", op=name, got=str(own.dtype), expected="integers",
                            help="nv.bitcast(x, nv.int32) reads the bits of floats")
    return own, other


def _unsigned(dtype: DType) -> DType:
    return as_dtype(dtype.name if dtype.name.startswith("u") else f"u{dtype.name}")


explain_keywords(globals(), __all__)
