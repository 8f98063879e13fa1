"""Scalar functions over JAX's arrays, where the scalar namespace asks for more than JAX's function of that name.

>>> import numpy as np
>>> floor_divide(jnp.asarray(np.int32([7, -7, 7])), jnp.asarray(np.int32([2, 2, 0]))).tolist()
[3, -4, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any
"""An array of JAX, traced or not."""


def is_float(x: Array) -> bool:
    """Whether the elements are real floats."""
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


def sign(x: Array) -> Array:
    """Returns the sign; zeros keep theirs; of complex numbers x / |x|."""
    if jnp.iscomplexobj(x):
        size = jnp.abs(x)
        return jnp.where(size == 0, 0, x / jnp.where(size == 0, 1, size).astype(x.dtype))
    return jnp.where(x == 0, x, jnp.sign(x))


def summed(x: Array, axes: Sequence[int]) -> Array:
    """Returns the sum of x along ``axes``, one after the other.

    For processors XLA adds along one axis in short runs. Along several in one reduction a run is as long as the product
    of theirs, and a chain: claim O45 does not allow that.
    """
    for axis in sorted(axes, reverse=True):
        x = lax.reduce(x, np.zeros((), x.dtype), lax.add, [axis])
    return x


def atan2(y: Array, x: Array) -> Array:
    """Returns the angle of (x, y). For two zeros their signs decide, which XLA leaves out where it knows them."""
    flat = jnp.where(jnp.signbit(x), jnp.asarray(np.pi, x.dtype), 0)
    return jnp.where((x == 0) & (y == 0), jnp.copysign(flat, y), jnp.atan2(y, x))


def floor_divide(x: Array, y: Array) -> Array:
    """Returns the floor of x / y; integers by zero give 0."""
    if not is_float(x):
        divisor = jnp.where(y == 0, 1, y).astype(y.dtype)
        x, divisor = jnp.broadcast_arrays(x, divisor)
        quotient, rest = lax.div(x, divisor), lax.rem(x, divisor)
        down = (rest != 0) & ((rest < 0) != (divisor < 0))
        return jnp.where(y == 0, 0, jnp.where(down, quotient - 1, quotient)).astype(x.dtype)
    x, y = jnp.broadcast_arrays(x, y)
    rest = lax.rem(x, y)
    quotient = (x - rest) / y
    quotient = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    return jnp.where(y == 0, x / y, jnp.where(quotient == 0, jnp.copysign(0, x / y).astype(x.dtype), whole))


def modulo(x: Array, y: Array) -> Array:
    """x - y * floor(x / y), with the sign of y; integers by zero give 0."""
    if not is_float(x):
        divisor = jnp.where(y == 0, 1, y).astype(y.dtype)
        rest = lax.rem(*jnp.broadcast_arrays(x, divisor))
        return jnp.where(y == 0, 0, jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)).astype(x.dtype)
    x, y = jnp.broadcast_arrays(x, y)
    rest = lax.rem(x, y)
    rest = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
    return jnp.where(rest == 0, jnp.copysign(0, y).astype(x.dtype), rest)


def integer_power(x: Array, y: Array) -> Array:
    """x ** y of integers, which wraps; to a negative power 0, but of 1 and -1."""
    result, factor = jnp.ones_like(x), x
    for bit in range(x.dtype.itemsize * 8):
        chosen = (lax.shift_right_logical(y, jnp.full_like(y, bit)) & 1) == 1
        result, factor = jnp.where(chosen, result * factor, result), factor * factor
    odd = (y & 1) == 1
    negative = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(odd, x, 1), 0)).astype(x.dtype)
    return jnp.where(y < 0, negative, result)


def shift_left(x: Array, y: Array) -> Array:
    """x * 2**y; by the width or more, or by a negative amount, 0."""
    return _shifted(lax.shift_left, x, y, jnp.zeros_like(x))


def shift_right(x: Array, y: Array) -> Array:
    """x // 2**y; by the width or more, or by a negative amount, the sign: 0 or -1."""
    is_signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    beyond = jnp.where(x < 0, -1, 0).astype(x.dtype) if is_signed else jnp.zeros_like(x)
    return _shifted(lax.shift_right_arithmetic if is_signed else lax.shift_right_logical, x, y, beyond)


def _shifted(function: Callable[[Array, Array], Array], x: Array, y: Array, beyond: Array) -> Array:
    inside = (y >= 0) & (y < x.dtype.itemsize * 8)
    x, amount = jnp.broadcast_arrays(x, jnp.where(inside, y, 0).astype(y.dtype))
    return jnp.where(inside, function(x, amount), beyond)


def nearest(x: Array) -> Array:
    """Returns the nearest integer, half to even."""
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


# -- fused multiply and add ------------------------------------------------------------------------------------


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """Returns the sum, and what its rounding left over (Knuth)."""
    total = lax.add(x, y)
    part = lax.sub(total, x)
    return total, lax.add(lax.sub(x, lax.sub(total, part)), lax.sub(y, part))


def odd_sum(x: Array, y: Array) -> Array:
    """Returns the sum of float64 rounded to odd: exact, or the neighbour whose last bit is set (Boldo and Melquiond).
    """
    total, rest = two_sum(x, y)
    even = (lax.bitcast_convert_type(total, jnp.int64) & 1) == 0
    toward = jnp.where(rest > 0, jnp.inf, -jnp.inf)
    return jnp.where((rest != 0) & even & jnp.isfinite(total), jnp.nextafter(total, toward), total)


def fused32(x: Array, y: Array, z: Array) -> Array:
    """x * y + z of float32, rounded once: the product is exact in float64."""
    x, y, z = (entry.astype(jnp.float64) for entry in jnp.broadcast_arrays(x, y, z))
    return odd_sum(lax.mul(x, y), z).astype(jnp.float32)


def fused64(x: Array, y: Array, z: Array) -> Array:
    """x * y + z of float64, rounded once but near the limits (Boldo and Melquiond, "Emulation of FMA", 2008)."""
    x, y, z = jnp.broadcast_arrays(x, y, z)
    product = lax.mul(x, y)
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    rest = lax.sub(lax.mul(x_high, y_high), product)
    rest = lax.add(lax.add(rest, lax.mul(x_high, y_low)), lax.mul(x_low, y_high))
    rest = lax.add(rest, lax.mul(x_low, y_low))
    inner, inner_rest = two_sum(z, rest)
    outer, outer_rest = two_sum(product, inner)
    exact = lax.add(outer, odd_sum(inner_rest, outer_rest))
    return jnp.where(jnp.isfinite(exact), exact, lax.add(product, z))


def _halves(x: Array) -> tuple[Array, Array]:
    """Returns the upper 26 bits of a float64, and the rest (Veltkamp)."""
    scaled = lax.mul(x, jnp.full_like(x, 2**27 + 1))
    high = lax.sub(scaled, lax.sub(scaled, x))
    return high, lax.sub(x, high)
