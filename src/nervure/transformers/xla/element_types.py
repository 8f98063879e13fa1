"""Conversions between element types over JAX's arrays: saturating, and rounded once.

>>> import numpy as np
>>> from nervure.types.dtype import int8
>>> convert(jnp.asarray(np.float32([1e9, -1.9, np.nan])), int8).tolist()
[127, -1, 0]
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from nervure.kernel.math.low_precision import format_of
from nervure.transformers.xla.functions import Array, is_float, nearest
from nervure.types.dtype import DType, as_dtype, float32, uint4


def wide(x: Array) -> Array:
    """Returns the same values in the type that is computed with: float32 for low-precision floats, bytes for 2 or 4
    bits.
    """
    dtype = as_dtype(x.dtype)
    if not dtype.is_low_precision:
        return wide_integer(x)
    made = x.astype(jnp.float32)
    if dtype.bits == 8 and dtype.is_signed and not format_of(dtype).signed_zero:  # XLA makes their NaN positive
        made = jnp.where(jnp.isnan(made), np.float32(-np.nan), made)
    return made


def wide_integer(x: Array) -> Array:
    """Returns the same values, integers of 2 or 4 bits as bytes."""
    dtype = as_dtype(x.dtype)
    return x.astype(np.dtype(f"{'i' if dtype.is_signed else 'u'}1")) if dtype.is_integer and dtype.bits < 8 else x


def convert(x: Array, dtype: DType) -> Array:
    """Converts to another element type by the rules of the scalar namespace."""
    if x.dtype == dtype.numpy:
        return x
    x = wide(x)
    if x.dtype == dtype.numpy:
        return x
    if dtype.is_low_precision and x.dtype != jnp.float32 and is_float(x):
        x = representable(x, dtype).astype(jnp.float32)
    return converted(x, dtype)


def converted(x: Array, dtype: DType) -> Array:
    """Converts a value of a wide type; a float that is narrowed to one of low precision is float32, or fits."""
    if dtype.kind == "bool":
        return x != 0
    if jnp.iscomplexobj(x) and not dtype.is_complex:
        x = x.real
    if dtype.is_integer:
        return to_integer(x, dtype)
    if dtype.is_low_precision and not is_float(x):
        return rounded_integer(x, dtype)
    return x.astype(dtype.numpy)


def wrap(x: Array, dtype: DType) -> Array:
    """Converts integer to integer modulo 2**bits; other types as ``convert`` does."""
    if not (as_dtype(x.dtype).is_integer and dtype.is_integer):
        return convert(x, dtype)
    if dtype.bits >= 8:
        return _cut(wide(x), dtype.numpy)
    rest, sign = _cut(wide(x), np.dtype(np.int8)) & np.int8((1 << dtype.bits) - 1), np.int8(1 << dtype.bits - 1)
    return ((rest ^ sign) - sign if dtype.is_signed else rest).astype(dtype.numpy)


def bitcast(x: Array, dtype: DType) -> Array:
    """Returns the same bits as another type of the same width."""
    if x.dtype == dtype.numpy:
        return x
    if dtype.bits >= 8:
        return from_word(as_word(x), dtype)
    code = _code(x) if as_dtype(x.dtype).is_float else x
    return jnp.asarray(_FOUR_BITS)[wrap(code, uint4).astype(jnp.uint8)].astype(dtype.numpy) if dtype.is_float else wrap(
        code, dtype)


_FOUR_BITS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
"""The numbers of float4_e2m1fn by their bits, which XLA does not cast."""


def _code(x: Array) -> Array:
    """Returns the bits of a float4_e2m1fn as a byte."""
    number = x.astype(jnp.float32)
    return (jnp.searchsorted(_FOUR_BITS[:8], jnp.abs(number)) + 8 * jnp.signbit(number)).astype(jnp.uint8)


def as_word(x: Array) -> Array:
    """Returns the bits as an unsigned integer."""
    if x.dtype == jnp.bool_:
        return x.astype(jnp.uint8)
    if jnp.iscomplexobj(x):
        x = jnp.stack([x.real, x.imag], axis=-1)
        return lax.bitcast_convert_type(x, jnp.uint64)  # of complex64: nothing else has 128 bits
    return lax.bitcast_convert_type(x, np.dtype(f"u{x.dtype.itemsize}"))


def from_word(word: Array, dtype: DType) -> Array:
    """Returns the type of these bits: the inverse of ``as_word``."""
    if dtype.kind == "bool":
        return word != 0
    if dtype.is_complex:
        parts = lax.bitcast_convert_type(word, jnp.float32)
        return lax.complex(parts[..., 0], parts[..., 1])
    return lax.bitcast_convert_type(word, dtype.numpy)


def to_integer(x: Array, dtype: DType) -> Array:
    """Truncates toward zero and clips to the type's range; NaN is 0."""
    low, high = dtype.minimum, dtype.maximum
    assert isinstance(low, int) and isinstance(high, int)
    if x.dtype == jnp.bool_:
        return narrow(x.astype(jnp.uint8), dtype)
    if is_float(x):
        inside = (x > float(low)) & (x < float(high + 1))
        middle = jnp.where(inside, x, 0).astype(jnp.uint64 if high >= 2**63 else jnp.int64)
        limits = jnp.where(x >= float(high + 1), np.asarray(high, middle.dtype), np.asarray(max(low, 0), middle.dtype))
        if low < 0:
            limits = jnp.where(x <= float(low), np.int64(low), limits)
        is_beyond = (x >= float(high + 1)) | (x <= float(low))
        return narrow(jnp.where(is_beyond, limits, middle), dtype)
    own = jnp.iinfo(x.dtype)
    return narrow(jnp.clip(x, np.asarray(max(low, own.min), x.dtype), np.asarray(min(high, own.max), x.dtype)), dtype)


def narrow(x: Array, dtype: DType) -> Array:
    """Returns an integer that fits, in its type."""
    return _cut(x, np.dtype(np.int8)).astype(dtype.numpy) if dtype.bits < 8 else _cut(x, dtype.numpy)


def _cut(x: Array, dtype: np.dtype[Any]) -> Array:
    """Returns an integer in another integer type, modulo 2**bits. One that becomes shorter and signed is unsigned
    between: XLA for CPUs crashes where ``or`` or ``and`` reads a signed integer that was cut to a shorter signed one.
    """
    if dtype.kind == "i" and x.dtype.itemsize > dtype.itemsize:
        x = x.astype(f"u{dtype.itemsize}")
    return x.astype(dtype)


def representable(x: Array, dtype: DType) -> Array:
    """Returns the nearest float of a low-precision type, ties to even, in the type of x: all steps but one are exact.
    """
    info = ml_dtypes.finfo(dtype.numpy)
    _, exponent = jnp.frexp(x)
    smallest = int(math.log2(float(info.smallest_subnormal)))
    unit = jnp.ldexp(jnp.ones_like(x), jnp.maximum(exponent - 1 - info.nmant, smallest))
    return jnp.where(jnp.isfinite(x), nearest(x / unit) * unit, x)


def rounded_integer(x: Array, dtype: DType) -> Array:
    """Returns an integer rounded to the precision of a type, ties to even, in integer arithmetic."""
    digits = ml_dtypes.finfo(dtype.numpy).nmant + 1
    x = x.astype(jnp.int64 if as_dtype(x.dtype).is_signed else jnp.uint64)
    size = jnp.where(x < 0, -x, x).astype(jnp.uint64)
    shift = jnp.maximum(64 - lax.clz(size).astype(jnp.int64) - digits, 0).astype(jnp.uint64)
    kept = lax.shift_right_logical(size, shift)
    rest, half = size - lax.shift_left(kept, shift), lax.shift_left(jnp.ones_like(shift), shift) // 2
    up = (rest > half) | ((rest == half) & (kept & 1 == 1) & (shift > 0))
    value = jnp.ldexp((kept + up.astype(jnp.uint64)).astype(jnp.float64), shift.astype(jnp.int32))
    return jnp.where(x < 0, -value, value).astype(float32.numpy).astype(dtype.numpy)
