"""Floats by their bits: the next one, the distance to it, and the exponent apart from the rest.

>>> import nervure as nv
>>> nv.nextafter(np.float32(1), 2).item() == 1 + 2**-23, nv.spacing(np.float32(1)).item() == 2**-23
(True, True)
>>> mantissa, exponent = nv.frexp([8.0, 0.75])
>>> mantissa.tolist(), exponent.tolist()
([0.5, 0.75], [4, 0])
"""

from __future__ import annotations

import ml_dtypes

from nervure.errors import DtypeMismatch, NotSupported, WrongKind
from nervure.front.apply import promoted_pair
from nervure.front.creation import constant, read_integers
from nervure.front.op_functions import (
    absolute,
    bitwise_and,
    equal,
    greater,
    is_nan,
    left_shift,
    less,
    logical_and,
    logical_or,
    minimum,
    multiply,
    not_equal,
    right_shift,
    subtract,
)
from nervure.front.pointwise.elementwise import as_floats, bitcast, clip, convert, stop_gradient, where
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import DType, as_dtype, int32, int64, uint64

__all__ = ["frexp", "ldexp", "nextafter", "spacing"]


def nextafter(x: Operand, y: Operand) -> Tensor:
    """Returns the next float after x in the direction of ``y``, or y where both are equal; NaN if one is.

    It has no derivative.

    >>> nv.nextafter(np.float32([1, 0]), np.float32([0, -1])).tolist() == [1 - 2**-24, -2**-149]
    True
    """
    own, other = [stop_gradient(as_floats(entry, "nextafter", at))
                  for at, entry in enumerate(promoted_pair(x, y, "nextafter"), 1)]
    word = _word(own.dtype, "nextafter")
    bits = bitcast(own, word)
    # Bits of floats of one sign are in their order; away from 0 is one more.
    is_outward = equal(less(own, other), greater(own, 0))
    moved = bitcast(where(is_outward, bits + 1, bits - 1), own.dtype)
    least = [constant(bits, dtype=word) for bits in (int(word.limits[0]) + 1, 1)]
    moved = where(equal(own, 0), bitcast(where(less(other, 0), *least), own.dtype), moved)
    moved = where(equal(own, other), other, moved)
    return where(logical_or(is_nan(own), is_nan(other)), float("nan"), moved)


def spacing(x: Operand) -> Tensor:
    """Returns the distance from x to the next float further from 0, with the sign of x; NaN for infinities.

    It has no derivative.

    >>> nv.spacing(np.float64([1.0, -1.0])).tolist() == [2**-52, -2**-52]
    True
    """
    own = stop_gradient(as_floats(x, "spacing"))
    further = where(less(own, 0), *[constant(end, dtype=own.dtype) for end in (float("-inf"), float("inf"))])
    return where(equal(absolute(own), float("inf")), float("nan"), subtract(nextafter(own, further), own))


def frexp(x: Operand) -> tuple[Tensor, Tensor]:
    """Returns numbers m with 0.5 <= abs(m) < 1 and int32 exponents e, so that x is m times 2 to the power e.

    Zeros, infinities and NaN are m themselves, with an exponent of 0. The derivative of m is 2 to the power -e.

    >>> [part.tolist() for part in nv.frexp([-3.0, 0.0])]
    [[-0.75, 0.0], [2, 0]]
    """
    own = as_floats(x, "frexp")
    word = _word(own.dtype, "frexp")
    info = ml_dtypes.finfo(own.dtype.numpy)
    digits, low = info.nmant, -int(info.minexp)
    is_small = less(absolute(own), float(info.smallest_normal))
    wide = where(is_small, multiply(own, 2.0 ** (digits + 1)), own)
    ones = (1 << own.dtype.bits - 1 - digits) - 1
    stored = bitwise_and(right_shift(bitcast(wide, word), digits), ones)
    is_number = logical_and(not_equal(stored, ones), not_equal(own, 0))
    exponent = convert(stored, int32) - low
    # Times a power of two that has a float of its own in two halves, whatever the exponent is.
    half = right_shift(exponent, 1)
    scaled = multiply(multiply(wide, _power(-half, own.dtype)), _power(half - exponent, own.dtype))
    exponent = where(is_small, exponent - (digits + 1), exponent)
    return where(is_number, scaled, own), where(is_number, exponent, 0)


def ldexp(x: Operand, exponent: Operand) -> Tensor:
    """Returns x times 2 to the power of a whole ``exponent``, rounded once: ``nv.frexp`` turned round.

    The power itself may be too large or too small for a float. The derivative in x is that power.

    >>> nv.ldexp([0.75, 3.0], [3, -1]).tolist(), nv.ldexp(1e-30, 130).item() > 1e9
    ([6.0, 1.5], True)
    """
    own, left = as_floats(x, "ldexp"), read_integers(exponent, "ldexp", 2)
    if not left.dtype.is_integer:
        raise WrongKind("an exponent is a whole number", op="ldexp", operand=2, got=str(left.type),
                        expected="integers", help="x * nv.exp2(y) takes other exponents")
    _word(own.dtype, "ldexp")
    info = ml_dtypes.finfo(own.dtype.numpy)
    lowest, highest = int(info.minexp), int(info.maxexp) - 1
    farthest = highest - lowest + info.nmant + 2
    within = minimum(left, farthest) if left.dtype is uint64 else convert(left, int64)
    left = convert(clip(convert(within, int64), -farthest, farthest), int32)
    powers = []
    for _ in range(2):
        part = clip(left, lowest, highest)
        powers.append(_power(part, own.dtype))
        left = left - part
    # The farthest power comes last: what came before it is a normal float, or of no account.
    return multiply(multiply(multiply(own, _power(left, own.dtype)), powers[1]), powers[0])


def _power(exponent: Tensor, dtype: DType) -> Tensor:
    """Returns 2 to the power of exponents that a normal float of the type has."""
    info = ml_dtypes.finfo(dtype.numpy)
    word = _word(dtype, "frexp")
    return bitcast(left_shift(convert(exponent + (1 - int(info.minexp)), word), info.nmant), dtype)


def _word(dtype: DType, op: str) -> DType:
    """Returns the integers whose bits floats of a type are."""
    if dtype.is_complex:
        raise DtypeMismatch("complex numbers have no bits of one float", op=op, operand=1, got=dtype.name,
                            expected="a float element type", help="nv.real(x) and nv.imag(x) are the two parts")
    if dtype.bits < 16:
        raise NotSupported("floats of 8 bits and less have rules of their own", op=op, operand=1, got=dtype.name,
                           expected="a float of 16 bits or more", help="nv.convert(x, nv.float32) widens them")
    return as_dtype(f"int{dtype.bits}")


explain_keywords(globals(), __all__)
