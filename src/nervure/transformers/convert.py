"""Conversions between element types: saturating, and rounded once.

>>> import numpy as np
>>> from nervure.types.dtype import int8, bfloat16
>>> convert(np.array([1e9, -1.9, np.nan]), int8).tolist()
[127, -1, 0]

Low-precision floats are *widened* to float32 for arithmetic; the value is rounded to its own type when the op's result
is stored.
"""

from __future__ import annotations

import numpy as np

from nervure.types.dtype import DType, all_dtypes, as_dtype, float4_e2m1fn, float16, float32

# The type for arithmetic in place of a storage type.
_WIDE: dict[np.dtype, np.dtype] = {
    **{entry.numpy: float32.numpy for entry in all_dtypes if entry.is_low_precision},
    **{entry.numpy: np.dtype(f"{'i' if entry.is_signed else 'u'}1") for entry in all_dtypes
       if entry.is_integer and entry.bits < 8}}


def widen(x: np.ndarray) -> np.ndarray:
    """Returns the same values in the type for arithmetic: float32 for low-precision floats, bytes for 2 or 4 bits."""
    wide = _WIDE.get(x.dtype)
    return x if wide is None else x.astype(wide)


def convert(x: np.ndarray, dtype: DType) -> np.ndarray:
    """Converts to another element type by the rules of the scalar namespace; returns ``x`` itself if it has that type.
    """
    if x.dtype == dtype.numpy:
        return x
    x = widen(x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("=")))
    if x.dtype == dtype.numpy:
        return x
    if dtype.kind == "bool":
        return x != 0
    if x.dtype.kind == "c" and not dtype.is_complex:
        x = x.real
    if dtype.is_integer:
        return _to_integer(x, dtype)
    if dtype.is_low_precision and dtype is not float16:
        x = _exact_float32(x)
    if dtype is float4_e2m1fn:
        x = np.where(np.isnan(x), np.float32(-0.0), x)  # a type without NaN; ml_dtypes gives a zero of either sign
    return x.astype(dtype.numpy)


def wrap(x: np.ndarray, dtype: DType) -> np.ndarray:
    """Converts integer to integer modulo 2**bits; other types as ``convert`` does."""
    source = as_dtype(x.dtype)
    if not (source.is_integer and dtype.is_integer):
        return convert(x, dtype)
    x = widen(x)
    if dtype.bits >= 8:
        return x.astype(dtype.numpy)
    rest, sign = (x & (1 << dtype.bits) - 1).astype(np.int8), 1 << dtype.bits - 1
    return ((rest ^ sign) - sign if dtype.is_signed else rest).astype(dtype.numpy)


def bitcast(x: np.ndarray, dtype: DType) -> np.ndarray:
    """Returns the same bits as another type of the same width: 2 or 4 in a byte, where a type has no more."""
    if dtype.is_integer and dtype.bits < 8 and as_dtype(x.dtype).is_integer:
        return wrap(x, dtype)
    if dtype.bits < 8:
        return (np.asarray(x).view(np.uint8) & np.uint8((1 << dtype.bits) - 1)).view(dtype.numpy)
    if dtype.kind == "bool":
        return np.asarray(x).view(np.uint8) != 0  # the bits of -0.0 are not all zero
    return np.asarray(x).view(dtype.numpy)


def _to_integer(x: np.ndarray, dtype: DType) -> np.ndarray:
    """Truncates toward zero and clips to the type's range; NaN is 0."""
    if x.dtype.kind == "b":
        return x.astype(dtype.numpy)
    if x.dtype.kind == "f":
        # The upper limit plus one is a power of two, hence exact in any float; the limit itself may not be.
        minimum, maximum = limits(dtype)
        low, past = float(minimum), float(maximum + 1)
        inside = (x > low) & (x < past)
        whole = np.where(inside, x, 0).astype(np.uint64 if maximum > 2**63 else np.int64)
        limit = np.where(x >= past, np.uint64(maximum), 0)
        if minimum == 0:
            return np.where(inside, whole.astype(np.uint64), limit).astype(dtype.numpy)
        limit = np.where(x <= low, np.int64(minimum), limit.astype(np.int64))
        return np.where(inside, whole, limit).astype(dtype.numpy)
    (own_low, own_high), (low, high) = limits(as_dtype(x.dtype)), limits(dtype)
    return np.clip(x, max(own_low, low), min(own_high, high)).astype(dtype.numpy)


def limits(dtype: DType) -> tuple[int, int]:
    """Returns the smallest and the largest value of an integer type."""
    assert isinstance(dtype.minimum, int) and isinstance(dtype.maximum, int)
    return dtype.minimum, dtype.maximum


def _exact_float32(x: np.ndarray) -> np.ndarray:
    """Returns a float32 that rounds to any type of at most 22 bits of precision as ``x`` itself would.

    It is x rounded *to odd*: exact, or the neighbour whose last bit is set, so that the second rounding
    sees no false tie (S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved
    algorithms using rounding to odd", 2008).
    """
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        x = _odd_float64(x)
    if x.dtype != np.float64 and not (x.dtype.kind in "iu" and x.dtype.itemsize == 4):
        return x.astype(np.float32)
    x = np.asarray(x.astype(np.float64))
    near = np.asarray(x.astype(np.float32))
    back = near.astype(np.float64)
    even = (near.view(np.uint32) & 1) == 0
    other = np.nextafter(near, np.where(back < x, np.float32(np.inf), np.float32(-np.inf)))
    return np.where(np.isfinite(x) & (back != x) & even, other, near)


def _odd_float64(x: np.ndarray) -> np.ndarray:
    """Rounds 64-bit integers to odd at 53 bits: the 11 lowest bits become one that says whether any was set."""
    sticky = ((x >> 11) | ((x & 0x7FF) != 0)) << 11
    large = (x >= 2**53) | (x <= -(2**53)) if x.dtype.kind == "i" else x >= 2**53
    return np.where(large, sticky, x).astype(np.float64)
